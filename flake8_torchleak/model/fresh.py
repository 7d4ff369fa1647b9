"""The bindings that start a variable anew, by where they stand."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right

from flake8_torchleak.model.bindings import Definition
from flake8_torchleak.model.climb import Climb
from flake8_torchleak.model.flow import Flow, Span
from flake8_torchleak.model.tree import LOOPS, Tree


class Fresh:
    """Some definitions of a variable: places and stretches are numbers of the tree."""

    def __init__(self, definitions: list[Definition], tree: Tree, flow: Flow) -> None:
        self._tree = tree
        statements = self.statements = {each.statement for each in definitions}
        self._numbers = sorted(map(tree.number, statements))
        by_block: dict[Span, list[int]] = {}
        for number, statement in sorted((tree.number(each), each) for each in statements):
            for block in flow.blocks_passed(statement):
                by_block.setdefault(block, []).append(number)

        def here(node: ast.AST) -> list[int] | None:
            """What is passed on the way to what comes after a node in its block, or in it if it is a loop."""
            found = by_block.get(tree.block(node), []) if node in tree.blocks else []
            if isinstance(node, LOOPS) and node in statements:
                found = sorted({*found, tree.number(node)})
            return found or None

        self._passed = Climb(tree, here)

    def within(self, start: int, end: int, own: int) -> bool:
        """Whether there is one after `start` and before `end`, other than the statement of the number `own`."""
        return _between(self._numbers, start, end, own)

    def is_passed(self, own: ast.stmt, start: int, end: int) -> bool:
        """Whether every way to the statement `own` passes one, other than itself, after `start` and before `end`."""
        number = self._tree.number(own)
        return any(_between(numbers, start, end, number) for numbers in self._passed(own))


def _between(numbers: list[int], start: int, end: int, own: int) -> bool:
    count = bisect_left(numbers, end) - bisect_right(numbers, start)
    if start < own < end:
        count -= bisect_right(numbers, own) - bisect_left(numbers, own)
    return count > 0
