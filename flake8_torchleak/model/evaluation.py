"""Evaluations that run a network with gradients on: those that the text shows, and what speaks against one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.again import loop_around
from flake8_torchleak.model.beside import may_be_beside
from flake8_torchleak.model.bounds import quietly
from flake8_torchleak.model.classfacts import self_name
from flake8_torchleak.model.effects import FORWARDS
from flake8_torchleak.model.elsewhere import calls_elsewhere, is_called_without
from flake8_torchleak.model.evaluated import MADE_SO, Evaluation, is_left_out, is_test
from flake8_torchleak.model.fed import goes_over_batches
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.inloops import InLoops
from flake8_torchleak.model.modes import SWITCHED
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.ofoutputs import works_on_outputs
from flake8_torchleak.model.onepass import networks_of, one_pass
from flake8_torchleak.model.passes import passes
from flake8_torchleak.model.rounds import ROUNDS, Round, targets
from flake8_torchleak.model.running import is_forward, switches_itself
from flake8_torchleak.model.shown import is_given
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, LOOPS, FunctionNode, Scope
from flake8_torchleak.model.unneeded import may_be_unneeded, may_train_unseen
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def unguarded_evaluations(module: Module) -> Iterator[Evaluation]:
    """The first of every function, and of the module; in what trains as well, the first of every loop that does not.

    Where nobody is told of notes, those that cannot be more may be missing: those in no loop, and those that only their
    use shows in functions that go over no batches.
    """
    told = dict.fromkeys(_candidates(module))
    for scope in told:
        found = [*_evaluations(module, scope, by_use=False)]
        if found and not _trains_elsewhere(module, scope):
            yield from found
    for scope in dict.fromkeys(each for each in may_be_unneeded(module) if each not in told):
        if not module.notes and not goes_over_batches(module, scope):
            continue
        with quietly(module):
            found = [*_evaluations(module, scope, by_use=True)]
        yield from found  # all who get what it gives were asked


def _trains_elsewhere(module: Module, scope: Scope) -> bool:
    """Whether another file differentiates what a function gives. Asked last: the other files are read for it."""
    return isinstance(scope, FUNCTIONS) and module.release.callers.train_elsewhere(scope)


def _candidates(module: Module) -> list[Scope]:
    """Scopes that mean to turn gradients off, put a model in evaluation mode, evaluate beside training, or say so."""
    found: dict[Scope, None] = dict.fromkeys([*module.grad.without_effect, *_switching(module)])
    for function in module.tree.all(*FUNCTIONS):
        if hints.is_evaluation(function.name):
            found[function] = None
    scopes = (module.tree.function(loop) or module.root for loop in module.tree.all(*ROUNDS))
    found.update(dict.fromkeys(each for each in dict.fromkeys(scopes) if may_be_beside(module, each)))
    return list(found)


def _switching(module: Module) -> Iterator[Scope]:
    """The functions that set a network's mode, and those that call something by such a network's name."""
    called: set[str] = set()  # each name's calls are gone through once, however often its mode is set
    for switch in module.classes.own_calls("eval", "train"):
        if not isinstance(switch.func, ast.Attribute) or (not switch.args) != (switch.func.attr == "eval"):
            continue
        yield module.tree.function(switch) or module.root
        names = {last_name(each): None for each in networks_of(module, switch)}
        for name in names:
            if name and name not in called:
                called.add(name)
                yield from (module.tree.function(each) or module.root for each in module.classes.own_calls(name))


def _evaluations(module: Module, scope: Scope, by_use: bool) -> Iterator[Evaluation]:
    """The first of a scope, with the others as evidence: one decorator is the remedy for all of them. Where the scope
    trains as well, the first of each loop that does not.

    What the text shows at once is asked first: in most loops gradients are off, or something is trained.
    by_use: whether only what becomes of the outputs can show an evaluation.
    """
    at_once = scope if module.notes and isinstance(scope, FUNCTIONS) else None
    has_loops = any(isinstance(node, ROUNDS) for node in module.tree.within(scope))
    if has_loops:
        if is_test(module, scope) or is_forward(module, scope):
            return
        in_loops = InLoops(module, scope, by_use)
        shown = in_loops.shown()
        if shown or in_loops.is_left_out:
            yield from shown
            return
    if at_once is not None:
        with quietly(module):
            found = _at_once(module, at_once)
        if found is not None and not (has_loops and is_left_out(module, scope, found.call)):
            yield found


def followed(module: Module, call: ast.Call, loop: Round, switched: ast.AST, is_whole: bool) -> Evaluation | None:
    """What following the program shows to be an evaluation, unless what the text shows speaks against it.

    is_whole: whether all was followed, and so shows better than the text whether what is called in the loop trains.
    """
    scope = module.tree.function(call) or module.root
    if module.grad.at(call) is not Grad.ON or module.loops.is_short(loop) or module.loops.differentiates(loop):
        return None
    if module.loops.prepares(loop) and may_train_unseen(module, call, loop):
        return None
    if not is_whole and module.loops.trains(loop):
        return None
    if isinstance(loop, COMPREHENSIONS) and not is_given(targets(loop), module, call):
        return None
    if is_test(module, scope) or is_left_out(module, scope, call):
        return None
    if is_forward(module, scope) and not _is_own(module, switched, scope):
        return None
    if module.loops.modes.contradicted(scope) or switches_itself(module, call) or works_on_outputs(module, call):
        return None
    function = scope if isinstance(scope, FUNCTIONS) else None
    if function is not None and is_called_without(module, function, call):
        return None
    if _trains_elsewhere(module, scope):
        return None
    is_made = isinstance(switched, ast.Call) and last_name(switched.func) == "from_pretrained"
    evidence = ((switched, MADE_SO if is_made else SWITCHED),) if switched in module.tree.parents else ()
    return Evaluation(call, loop, function, evidence, followed=True)


def _is_own(module: Module, switched: ast.AST, scope: Scope) -> bool:
    """Whether a method puts its own object in evaluation mode: it is no part of a forward pass."""
    if switched not in module.tree.parents or module.tree.scope(switched) is not scope:
        return False
    base = switched.func.value if isinstance(switched, ast.Call) and isinstance(switched.func, ast.Attribute) else None
    return isinstance(scope, FUNCTIONS) and isinstance(base, ast.Name) and base.id == self_name(scope)


def _at_once(module: Module, scope: FunctionNode) -> Evaluation | None:
    """A function that runs a network outside of all loops: over everything, beside training, or once a call."""
    found = _whole_set(module, scope)
    if found is not None or is_forward(module, scope) or is_test(module, scope):
        return found
    passed = one_pass(module, scope)
    if passed is None or module.loops.trains(scope) or switches_itself(module, passed[0]):
        return None
    if is_left_out(module, scope, passed[0]) or is_called_without(module, scope, passed[0]):
        return None
    if any(loop_around(user, call) is not None and passes(user, call) for user, call in calls_elsewhere(module, scope)):
        return None  # it is told where that loop is
    return Evaluation(passed[0], None, scope, passed[1], all(text != SWITCHED for _, text in passed[1]))


def _whole_set(module: Module, scope: FunctionNode) -> Evaluation | None:
    """A function that evaluates everything at once (itself or by a helper), called from a training loop of the file."""
    if not hints.is_evaluation(scope.name) or module.grad.function(scope) is not Grad.ON:
        return None
    calls = module.classes.calls_of(scope)
    caller = next((c for c in calls if _in_training(module, c) and module.grad.at(c) is Grad.ON), None)
    if caller is None or any(_is_in_every_step(module, each) for each in calls):
        return None
    for call in module.tree.calls(scope):
        if (
            passes(module, call)
            and not _is_dropped(module, call)
            and not module.loops.modes.contradicted(scope)
            and module.grad.at(call) is Grad.ON
            and not module.loops.trains(scope)
        ):
            return Evaluation(call, None, scope, ((caller, "called in the training loop"),))
    return None


def _is_dropped(module: Module, call: ast.Call) -> bool:
    """Whether nobody takes what a method of a network gives: `net.save(path)`. A pass may be run for its hooks."""
    if not isinstance(module.tree.parents[call], ast.Expr) or not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr not in FORWARDS and module.infer.value(call.func).kind is not Kind.MODULE


def _in_training(module: Module, call: ast.Call) -> bool:
    return any(module.loops.trains(loop) for loop in module.tree.loops(call))


def _is_in_every_step(module: Module, call: ast.Call) -> bool:
    """Whether a call gives something in each round of the very loop that differentiates: it is a part of training."""
    if isinstance(module.tree.parents[call], ast.Expr):
        return False
    for up in module.tree.ancestors(call):
        if isinstance(up, LOOPS):
            return module.loops.trains(up)
        if isinstance(up, (ast.If, *FUNCTIONS)):
            break
    return False
