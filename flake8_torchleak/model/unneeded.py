"""Networks that build graphs which nobody needs, in a loop or once a call: all that is made of the outputs is only
read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.alike import is_used_as_tensor
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.classfacts import self_name
from flake8_torchleak.model.effects import CUTS
from flake8_torchleak.model.elsewhere import calls_elsewhere
from flake8_torchleak.model.freezing import may_freeze_here
from flake8_torchleak.model.gradless import differentiates_nothing
from flake8_torchleak.model.modes import is_false
from flake8_torchleak.model.names import last_name, network_of
from flake8_torchleak.model.passes import innermost, passes, run_behind
from flake8_torchleak.model.release.fate import Fate
from flake8_torchleak.model.rounds import ROUNDS, Round
from flake8_torchleak.model.tree import FUNCTIONS, Scope
from flake8_torchleak.model.values import Kind
from flake8_torchleak.words import holds_any

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_HOOKING = "register_forward"
"""How the methods begin that register hooks of forward passes."""
_HARMLESS = frozenset({"eval", "train", "zero_grad", "to", "cuda", "cpu", "parameters", "named_parameters", "forward"})
"""What may be asked of a network in a loop that trains nothing."""


def may_be_unneeded(module: Module) -> Iterator[Scope]:
    """The functions that go over batches; in files that know no way to have no graph, those that cut something off; all
    that has a loop in a program that differentiates nothing."""
    rounds = module.tree.all(*ROUNDS)
    if rounds and differentiates_nothing(module):
        yield from (module.tree.function(each) or module.root for each in rounds)
    for loop in module.tree.all(ast.For, ast.AsyncFor):
        function = module.tree.function(loop)
        if function is not None and module.loops.why_step(loop) and not module.loops.trains(function):
            yield function
    if holds_any(module.source.text, hints.KNOWS_GRAD):
        return
    for node in module.tree.all(ast.Attribute):
        function = module.tree.function(node) if node.attr in CUTS else None
        if function is not None:
            yield function


def may_be_read(module: Module, call: ast.Call) -> bool:
    """Whether what a call gives is only read, as far as its function shows."""
    if not is_used(module, call):
        return False
    if differentiates_nothing(module) and _gives_tensor(module, call):
        return True
    return not is_hooked(module, call) and module.release.escapes.of_this_value(call).fate <= Fate.RETURNED


def _gives_tensor(module: Module, call: ast.Call) -> bool:
    """Whether what a network gives is used as a tensor, there or in the functions that run it."""
    return any(is_used_as_tensor(module, each) for each in (call, *innermost(module, call)))


def _is_given_with_network(module: Module, call: ast.Call) -> bool:
    """Whether code that nobody sees gets what a network gives, and a network: it may train."""
    taker = module.release.escapes.of_this_value(call).node
    if not isinstance(taker, ast.Call):
        return False
    given = [*taker.args, *(each.value for each in taker.keywords)]
    return any(module.infer.value(each).kind is Kind.MODULE for each in given)


def is_hooked(module: Module, call: ast.Call) -> bool:
    """Whether a hook may keep what a network makes on the way, and differentiate that: of an object, or set beside."""
    if _HOOKING not in module.source.text:
        return False
    scope = module.tree.scope(call)
    hooking = (each for each in module.tree.all(ast.Attribute) if each.attr.startswith(_HOOKING))
    around = {module.tree.scope(each) for each in hooking}
    return scope in around or any(module.tree.class_of(each) is not None for each in around)


def may_train_unseen(module: Module, call: ast.Call, around: ast.AST) -> bool:
    """Whether code that nobody can see may train in a loop that sets gradients back, with what a network gives there.

    It gets the output, an optimizer steps, or what is called may reach both: a method of the same object, or of the
    network itself.
    """
    ending = module.release.escapes.of_this_value(call)
    if ending.fate > Fate.OPEN or not (ending.fate is Fate.READ or _is_rebound(ending.node)):
        return True
    return any(_may_step(module, each, call) for each in module.tree.calls(around) if each is not call)


def _is_rebound(node: ast.AST | None) -> bool:
    """Whether a variable of the function's own is bound anew of what it held: `rows = torch.cat(rows)`."""
    if not isinstance(node, ast.Assign) or not all(isinstance(each, ast.Name) for each in node.targets):
        return False
    names = {each.id for each in node.targets if isinstance(each, ast.Name)}
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node.value))


def _may_step(module: Module, call: ast.Call, network: ast.Call) -> bool:
    """Whether a call steps an optimizer, or runs the object whose method this is, or more of a network than a pass."""
    func, function = call.func, module.tree.function(call)
    if not isinstance(func, ast.Attribute):
        return isinstance(func, ast.Name) and function is not None and func.id == self_name(function)
    if func.attr == "step" or module.classes.self_attribute(func) is not None:
        return True
    return key_of(func.value) == key_of(network_of(network)) and func.attr not in _HARMLESS


def is_only_read(module: Module, call: ast.Call) -> bool:
    """Whether what a call gives is only read, by whoever gets it, and so is what networks give behind the call.

    What a function returns is told where that is called, if the call is seen to run a network.
    """
    fate = module.release.escapes.of_this_value
    if not module.release.callers.only_read(call) or _is_seen_by_callers(module, call):
        return False
    behind = [*run_behind(module, call)]
    parts = [each for each in behind if module.classes.self_attribute(network_of(each)) is not None]
    ends = map(fate, behind)  # `return self.head(self.body(x))`: what a part of the same object gets is read by that
    return all(each.fate <= Fate.RETURNED or (each.fate is Fate.HANDED and each.node in parts) for each in ends)


def _is_seen_by_callers(module: Module, call: ast.Call) -> bool:
    """Whether a function returns what a call gives, and is called where that is seen to run a network."""
    function = module.tree.function(call)
    if function is None or module.release.escapes.of_this_value(call).fate is not Fate.RETURNED:
        return False
    if any(passes(module, each) for each in module.classes.calls_of(function)):
        return True
    return any(passes(user, each) for user, each in calls_elsewhere(module, function))


def unneeded(module: Module, scope: Scope, call: ast.Call, over: Round | None) -> tuple[tuple[ast.AST, str], ...]:
    """That what a network gives is only turned into numbers; () if it may be differentiated, or is dropped.

    over: the loop that the call is in; None for one pass. A network in training mode may be run for its statistics.
    """
    if differentiates_nothing(module) and is_used(module, call) and _gives_tensor(module, call):
        if may_freeze_here(module, call) or _is_given_with_network(module, call):
            return ()
        return ((over or call, "nothing that this program runs differentiates"),)
    if not isinstance(scope, FUNCTIONS) or module.loops.trains(over or scope) or not is_used(module, call):
        return ()
    if any(last_name(each.func) == "train" and not is_false(each) for each in module.tree.calls(scope)):
        return ()
    if module.release.escapes.of_frame(scope).fate is not Fate.READ or not is_only_read(module, call):
        return ()
    if may_freeze_here(module, call):
        return ()
    if over is None:
        return ((call, "nothing needs the gradients of what it gives: that is only read"),)
    return ((over, "nothing needs the gradients of what this loop makes: it is only read"),)


def is_used(module: Module, call: ast.Call) -> bool:
    """Whether anything is made of what a call gives."""
    statement = module.tree.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        bound = {each.id for target in statement.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        reads = (each for each in module.tree.within(module.tree.scope(call)) if isinstance(each, ast.Name))
        return any(each.id in bound and module.tree.number(each) > module.tree.number(call) for each in reads)
    return not (isinstance(statement, ast.Expr) and statement.value is call)
