"""What is around a node, found by climbing: no step is taken twice, however deep the tree."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Generic, TypeVar

from flake8_torchleak.model.tree import Tree

T = TypeVar("T")


class Climb(Generic[T]):
    """For each node, what `here` finds there and further up, innermost first: tuples shared by all that are equal."""

    def __init__(self, tree: Tree, here: Callable[[ast.AST], T | None]) -> None:
        self._tree, self._here = tree, here
        self._known: dict[ast.AST, tuple[T, ...]] = {}

    def __call__(self, node: ast.AST) -> tuple[T, ...]:
        """What is at a node and around it."""
        known, parents = self._known, self._tree.parents
        passed: list[ast.AST] = []
        found: tuple[T, ...] = ()
        up: ast.AST | None = node
        while up is not None:
            if up in known:
                found = known[up]
                break
            passed.append(up)
            up = parents.get(up)
        for each in reversed(passed):
            here = self._here(each)
            if here is not None:
                found = (here, *found)
            known[each] = found
        return found
