"""Large scopes, evaluated in source order: no question about them is nested deeply, and none is answered twice.

The evaluator asks from use to definition, and so on. Where a function has hundreds of definitions that depend on each
other, that is too deep a nest of questions, and where they go round in a loop, far too many. Then all definitions of
the scope are evaluated once, from its first to its last, so that each finds the ones above it known; those that loops
bring from below are unknown in a first pass, and what the first pass found in a second one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.env import NO_ENV
from flake8_torchleak.model.tree import Scope
from flake8_torchleak.model.values import UNKNOWN, Value
from flake8_torchleak.stopping import pause

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer

MOST_DEPTH = 80
"""Questions within questions."""
_MOST_STEPS = 3000
"""Steps of one question, those within it included, before its scopes are evaluated in order."""
_LARGE = 30
"""Definitions of a scope from which on that pays."""


class TooDeep(Exception):
    """A question that is to be asked again, once the scopes it goes through are evaluated in order."""


class InOrder:
    """Evaluates the definitions of large scopes in order, where a question needs it."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer
        self._scopes: list[Scope] = []
        self._done: set[Scope] = set()
        self._restarts = False
        self._most_steps = 0
        self._pending: set[Definition] = set()
        self._guesses: dict[Definition, Value] = {}

    def answer(self, question: Callable[[], Value]) -> Value:
        """The answer to a question that is not asked within another."""
        pause()
        while True:
            self._restarts, self._most_steps = True, self.infer.steps + _MOST_STEPS
            try:
                return question()
            except TooDeep:
                self.infer.provisional.clear()
                self._restarts = False
                for scope in self._scopes:
                    self._evaluate(scope)
            finally:
                self._restarts = False

    def is_over(self) -> bool:
        """Whether questions are nested too deeply to ask another. Raises TooDeep where that can be helped."""
        deep = len(self.infer.active) > MOST_DEPTH
        if self._restarts and (deep or self.infer.steps > self._most_steps):
            self._scopes = self._large_scopes()
            if self._scopes:
                raise TooDeep
            self._most_steps = self.infer.steps + _MOST_STEPS
        return deep

    def _large_scopes(self) -> list[Scope]:
        """The scopes of the questions under way that are large and were not evaluated yet."""
        tree, flow = self.infer.tree, self.infer.flow
        places = [each.node if isinstance(each, Definition) else each for each in self.infer.active]
        scopes = {tree.scope(each) for each in places if isinstance(each, ast.AST)} - self._done
        found = [each for each in scopes if sum(map(len, flow.definitions(each).values())) > _LARGE]
        return sorted(found, key=tree.number)

    def _evaluate(self, scope: Scope) -> None:
        infer = self.infer
        self._done.add(scope)
        definitions = [d for each in infer.flow.definitions(scope).values() for d in each]
        definitions = [d for d in definitions if d.how is not How.PARAMETER and d not in infer.memo]
        definitions.sort(key=lambda each: (infer.tree.number(each.statement), each.effect))
        self._pending = set(definitions)
        circular = []
        for each in definitions:
            self._pending.discard(each)
            if not self._find(each):
                circular.append(each)
        infer.provisional.clear()
        for each in circular:
            self._find(each)
        infer.provisional.clear()
        for each, found in self._guesses.items():
            infer.memo[each] = found
        self._guesses.clear()

    def _find(self, definition: Definition) -> bool:
        """Evaluate a definition, and keep the value: for good if no circle cut it short, else as a guess."""
        infer, cuts = self.infer, self.infer.cuts
        infer.active.add(definition)
        try:
            found = infer.bound(definition, NO_ENV)
        finally:
            infer.active.discard(definition)
        whole = cuts == infer.cuts
        self._guesses.pop(definition, None)
        (infer.memo if whole else self._guesses)[definition] = found
        return whole

    def guess(self, definition: Definition) -> Value | None:
        """What is to be taken for a definition while its scope is evaluated; None if it is to be worked out."""
        if definition in self._pending:
            return UNKNOWN
        return self._guesses.get(definition)
