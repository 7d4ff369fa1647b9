"""Networks whose outputs are only used without their graph, while something is trained: of a target network, for a
critic, to choose what to do next. `target(x).max(1)[0].detach()`, `net(x).argmax(1)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.fed import rounds_over_batches
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.passes import methods_of, passes
from flake8_torchleak.model.running import switches_itself
from flake8_torchleak.model.tree import LOOPS
from flake8_torchleak.model.unneeded import is_hooked, is_only_read, is_used, may_be_read

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_CUTS = frozenset({"detach", "data"})
"""What takes a tensor out of its graph: the method, and the attribute."""
_NUMBERS = frozenset({"item", "numpy", "tolist", "argmax"})
"""Methods that take numbers out of it: in functions that train, of which the rest is no evaluation."""
_MOST_LEVELS = 3
"""Variables between what is cut off and the network."""


def detached(module: Module) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls of networks with gradients on whose outputs nothing else is made of, each with what takes them out of
    their graph, or itself if that is in a function which it is handed to.

    The network may be frozen. Where nobody wants notes, those that go over batches alone.
    """
    seen: set[ast.Call] = set()
    for cut in module.tree.all(ast.Attribute):
        if not _takes_out(module, cut) or (_is_for_keeps(module, cut) and not _is_apart(module, cut)):
            continue
        for call in _made_of(module, cut.value, _MOST_LEVELS):
            is_wanted = call not in seen and (module.notes or bool(rounds_over_batches(module, call)))
            if is_wanted and _is_in_vain(module, call):
                yield call, cut
            seen.add(call)
    for call in _in_training(module):
        if call not in seen and may_be_read(module, call) and _is_in_vain(module, call):
            yield call, call


def _in_training(module: Module) -> Iterator[ast.Call]:
    """The calls in what trains of networks themselves, whose outputs other functions of the project get, or draws."""
    scopes = dict.fromkeys(module.tree.function(each) or module.root for each in module.tree.all(*LOOPS))
    for scope in scopes:
        if not module.loops.trains(scope) or module.loops.modes.contradicted(scope):
            continue
        for call in module.tree.calls(scope):
            over = module.tree.loops(call) if module.notes else rounds_over_batches(module, call)
            if not over or not (call.args or call.keywords) or module.names.qualname(call.func):
                continue
            if module.classes.callee(call) is None and any(_takes(module, each) for each in _takers(module, call)):
                yield call


def _takers(module: Module, call: ast.Call) -> Iterator[ast.Call]:
    """The calls that get what a call gives, there or by the variables that it is bound to."""
    uses: list[ast.expr] = [call]
    statement = module.tree.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        bound = {each.id for target in statement.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        uses += [each for name in sorted(bound) for each in module.release.escapes.reads(name, module.tree.scope(call))]
    for use in uses:
        up = module.tree.parents[use]
        if isinstance(up, ast.Call) and use in up.args:
            yield up


def _takes(module: Module, taker: ast.Call) -> bool:
    """Whether what a call gets is a distribution's, from which is drawn, or a function's of the project: one that does
    not only keep it, cut off from its graph, as other messages advise."""
    if module.names.qualname(taker.func).startswith("torch.distributions."):
        return True
    helper = module.classes.callee(taker)
    functions = [helper] if helper is not None else methods_of(module, taker)
    cuts = [
        each
        for function in functions
        for each in module.tree.within(function)
        if isinstance(each, ast.Attribute) and each.attr in _CUTS
    ]
    return bool(functions) and not (cuts and all(_is_for_keeps(module, each) for each in cuts))


def _takes_out(module: Module, cut: ast.Attribute) -> bool:
    """Whether something is taken out of a graph: numbers count only where something is trained."""
    if cut.attr in _NUMBERS:
        scope = module.tree.function(cut) or module.root
        return module.loops.trains(scope) and not module.loops.modes.contradicted(scope)
    return cut.attr in _CUTS and isinstance(cut.ctx, ast.Load)


def _is_for_keeps(module: Module, cut: ast.Attribute) -> bool:
    """Whether what is cut off is only kept, logged or added up where it stands: `outputs.append(out.detach())`.

    That is what other messages advise. Numbers that a function returns are somebody else's.
    """
    statement = module.tree.statement(cut)
    if isinstance(statement, ast.Assign):
        bound = {each.id for each in statement.targets if isinstance(each, ast.Name)}
        value = statement.value
        sides = (
            [value.left, value.right]
            if isinstance(value, ast.BinOp)
            else value.args
            if isinstance(value, ast.Call)
            else []
        )
        if any(isinstance(each, ast.Name) and each.id in bound for each in sides):
            return True
        return not all(isinstance(each, (ast.Name, ast.Tuple)) for each in statement.targets)
    if isinstance(statement, ast.Return):
        return cut.attr in _NUMBERS or isinstance(statement.value, ast.BinOp)
    return isinstance(statement, (ast.Expr, ast.AugAssign))


def _is_apart(module: Module, cut: ast.Attribute) -> bool:
    """Whether it stands in a loop over batches in which nothing is trained."""
    rounds = rounds_over_batches(module, cut)
    return bool(rounds) and not any(map(module.loops.trains, rounds))


def _made_of(module: Module, value: ast.expr, levels: int) -> Iterator[ast.Call]:
    """The calls that an expression is made of, there or where its variables are bound."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            yield node
        elif isinstance(node, ast.Name) and levels:
            for each in module.flow.reaching(node.id, node):
                if each.value is not None:
                    yield from _made_of(module, each.value, levels - 1)


def _is_in_vain(module: Module, call: ast.Call) -> bool:
    return (
        module.grad.at(call) is Grad.ON
        and is_used(module, call)
        and is_only_read(module, call)
        and passes(module, call)
        and not switches_itself(module, call)
        and not is_hooked(module, call)
    )
