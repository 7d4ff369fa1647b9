"""What helpers of the file give: evaluated with the values that they are called with."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.env import NO_ENV, Env
from flake8_torchleak.model.names import parameters
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import NONE, UNKNOWN, Kind, Value, join

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer

_MOST_CALLS = 3
"""Helpers of helpers that are followed."""


class Returns:
    """Values of calls of the file's functions."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer
        self._depth = 0

    def value(self, function: FunctionNode, env: Env) -> Value:
        """What calling a function of the file gives: the join of its returns (an iterator if it yields)."""
        infer = self.infer
        if self._depth >= _MOST_CALLS or function in infer.active:
            if function not in infer.active:
                # Of how deep a program goes, not of how much a file holds: a note, as what leads too far elsewhere.
                infer.flow.behind.setdefault(function, f"it is called through more than {_MOST_CALLS} functions")
            infer.cuts += 1
            return UNKNOWN
        # A nested function sees more than its own parameters.
        seen = env if infer.tree.function(function) is not None else parameters(function)
        question = (function, self._depth, *((each, env.get(each)) for each in seen))
        known = infer.memo.get(question) or infer.provisional.get(question)
        if known is not None:
            return known
        cuts, outermost = infer.cuts, not infer.active
        infer.active.add(function)
        self._depth += 1
        try:
            found = self._returned(function, env)
        finally:
            self._depth -= 1
            infer.active.discard(function)
        infer.keep(question, found, NO_ENV, cuts, outermost)
        return found

    def _returned(self, function: FunctionNode, env: Env) -> Value:
        infer = self.infer
        returns: list[Value] = []
        yielded: list[Value] = []
        for given, by_yield in self._given(function):
            (yielded if by_yield else returns).append(infer.value(given, env))
        if yielded:
            return Value(Kind.ITERATOR, element=join(yielded))
        if len(returns) > 1 and all(v.items for v in returns) and len({len(v.items) for v in returns}) == 1:
            columns = tuple(join([v.items[i] for v in returns]) for i in range(len(returns[0].items)))
            return returns[0].but(items=columns)
        if not returns and isinstance(function.body[-1], ast.Raise):
            return UNKNOWN  # a class below this one says what it gives
        return join(returns) if returns else NONE

    @remembered
    def _given(self, function: FunctionNode) -> list[tuple[ast.expr, bool]]:
        """The expressions that a function returns or yields, in source order, and whether it is by `yield`."""
        return [
            (node.value, not isinstance(node, ast.Return))
            for node in self.infer.tree.within(function)
            if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and node.value is not None
        ]
