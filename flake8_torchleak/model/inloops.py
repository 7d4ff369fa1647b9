"""Evaluations in the loops of a function, or of the top of a module, as its text shows them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.again import loop_around
from flake8_torchleak.model.elsewhere import are_switching, is_called_without
from flake8_torchleak.model.evaluated import SWITCHED_ELSEWHERE, Evaluation, is_left_out, outermost, part_of
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.modes import SWITCHED
from flake8_torchleak.model.ofoutputs import works_on_outputs
from flake8_torchleak.model.onepass import switched_before
from flake8_torchleak.model.passes import is_supposed, passes
from flake8_torchleak.model.rounds import Round, comprehensions, iterables, targets
from flake8_torchleak.model.running import switches_itself
from flake8_torchleak.model.shown import evidence_of, is_given, over_batches
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, Scope
from flake8_torchleak.model.unneeded import may_be_read, may_train_unseen, unneeded

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

ALSO = "this builds a graph as well"
"""What a note says of the other networks that a function runs."""
_MOST_OTHERS = 3
"""Others that are shown."""


class InLoops:
    """The evaluations in the loops of a scope."""

    def __init__(self, module: Module, scope: Scope, by_use: bool) -> None:
        self.module, self.scope, self.by_use = module, scope, by_use
        self.is_left_out = False
        """Whether a look at the first of them showed that the scope needs gradients, or is never run with them."""

    def shown(self) -> list[Evaluation]:
        """One for the scope, or for each loop of it that trains nothing; those that only their use shows come last."""
        found = [*self._passing()]
        if self.is_left_out or not found:
            return []
        # In their order, but for those that less shows.
        found.sort(key=lambda each: (each.by_use, is_supposed(self.module, each.call)))
        if not self.module.loops.trains(self.scope):
            others = tuple((each.call, ALSO) for each in found[1 : _MOST_OTHERS + 1])
            return [replace(found[0], evidence=(*found[0].evidence, *others))]
        around = [outermost(self.module, each.call) or each.loop for each in found]
        firsts = dict(zip(reversed(around), reversed(found), strict=True))
        return [each for each, loop in zip(found, around, strict=True) if firsts[loop] is each]

    def _passing(self) -> Iterator[Evaluation]:
        module, scope = self.module, self.scope
        parts: dict[ast.AST, bool] = {}
        for call in module.tree.calls(scope):
            around = _around(module, call)
            if around is None or module.grad.at(call) is not Grad.ON:
                continue
            if self.by_use and not (passes(module, call) and may_be_read(module, call)):
                continue
            part = part_of(module, scope, call)
            if part not in parts:
                parts[part] = is_left_out(module, scope, call)
            if parts[part]:
                self.is_left_out = not module.loops.trains(scope)
                if self.is_left_out:
                    return
                continue
            if (not self.by_use and not passes(module, call)) or works_on_outputs(module, call):
                continue
            found = _of_call(module, scope, call, around)
            if found is None or module.loops.modes.contradicted(scope) or switches_itself(module, call):
                continue
            if found.function is not None and is_called_without(module, found.function, call):
                self.is_left_out = True
                return
            yield found


def _of_call(module: Module, scope: Scope, call: ast.Call, around: Round) -> Evaluation | None:
    """What shows that a call of a network in a loop evaluates: its mode, names, or what becomes of what it gives."""
    over = over_batches(module, call, around)
    function = scope if isinstance(scope, FUNCTIONS) else None
    evidence = evidence_of(module, scope, call, around, over)
    if evidence and _is_of_step(module, around, evidence[0][0]):
        evidence = ()
    use: tuple[tuple[ast.AST, str], ...] = ()
    if not evidence:
        use = unneeded(module, scope, call, over or around)
        before = switched_before(module, call) if use else None
        evidence = ((before, SWITCHED),) if before is not None else ()
    named = function is not None and hints.is_evaluation(function.name)
    if not evidence and not use and over is None and not named:
        return None
    if function is not None and module.loops.modes.evaluates(call) is None and are_switching(module, function, call):
        evidence = ((function, SWITCHED_ELSEWHERE), *evidence)
    if not evidence and not use:
        return None
    return Evaluation(call, around, function, evidence or use, not evidence)


def _is_of_step(module: Module, around: Round, shown: ast.AST) -> bool:
    """Whether a loop is a part of a training step: in a loop that itself differentiates, which goes on in it.

    Not where it goes over a loader, or the loop around puts the network in evaluation mode itself: it validates now and
    then. shown: what shows that it evaluates.
    """
    if any(map(module.loops.gives_batches, iterables(around))):
        return False
    calls = module.classes.own_calls("backward", "manual_backward")
    steps = {loop for each in calls for loop in module.tree.loops(each)[:1]}
    return any(loop in steps and not module.tree.inside(shown, loop) for loop in module.tree.loops(around))


def _around(module: Module, call: ast.Call) -> Round | None:
    """The innermost loop around a call of more than a few rounds, or else a comprehension: one that may evaluate."""
    rounds = [loop_around(module, call), *comprehensions(module.tree, call)]
    return next((each for each in rounds if each is not None and _may_evaluate(module, call, each)), None)


def _may_evaluate(module: Module, call: ast.Call, around: Round) -> bool:
    """Whether a loop of more than a few rounds trains nothing; a comprehension gives the call what it goes over.

    One that sets gradients back was copied from training, perhaps: if nothing that nobody can see may train in it.
    """
    loops = module.loops
    if loops.trains(around) or loops.is_short(around) or loops.differentiates(around):
        return False
    if loops.prepares(around) and (not passes(module, call) or may_train_unseen(module, call, around)):
        return False
    return not isinstance(around, COMPREHENSIONS) or is_given(targets(around), module, call)
