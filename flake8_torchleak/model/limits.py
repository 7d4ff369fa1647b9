"""What the length of a container is compared with where something is put into it: a bound, which may be a large one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Mutation, key_of
from flake8_torchleak.model.few import MANY, numbers
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def limits(module: Module, function: FunctionNode, change: Mutation) -> Iterator[ast.expr]:
    """What a container's length is compared with in the function that adds to it, or in those that do so for it."""
    for adding, key in _adding(module, function, change):
        for node in module.tree.within(adding):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                others = [each for each in sides if not _measures(each, key)]
                yield from others if len(others) < len(sides) else ()


def is_large(module: Module, limit: ast.expr) -> bool:
    """Whether a bound is a number that holds most of a Dataset."""
    found = numbers(module, limit)
    return bool(found) and all(each >= MANY for each in found)


def _adding(module: Module, function: FunctionNode, change: Mutation) -> Iterator[tuple[FunctionNode, str]]:
    """The function that adds to a container, and those that do so for this one, each with what it calls it."""
    yield function, change.key
    for node in change.within:
        home = module.tree.function(node)
        assert home is not None
        for changes in module.flow.mutations(home).values():
            yield from ((home, each.key) for each in changes if each.node is node)


def _measures(node: ast.expr, key: str) -> bool:
    """`len(self.cache)`."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "len":
        return False
    return [key_of(each) for each in node.args] == [key]
