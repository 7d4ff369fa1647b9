"""Which function of the project a call runs, for sure: what a SAFE fix may look into."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PLAIN = frozenset({"staticmethod", "classmethod"})
"""Decorators that leave a function's body and result as they are."""


def runs(module: Module, call: ast.Call, helper: FunctionNode) -> bool:
    """Whether the call runs the body of `helper`, its callee: nothing around it, beside it or below it takes its place.

    A decorator may skip it, a second `def` of the name or a method of a subclass may run instead.
    """
    if any(last_name(each) not in _PLAIN for each in helper.decorator_list):
        return False
    func = call.func
    if isinstance(func, ast.Name):
        return len(module.names.bound(func.id, func)) <= 1
    owner = module.tree.class_of(helper)
    return not any(
        helper.name in facts.own_methods and facts.own_methods[helper.name] is not helper
        for facts in module.classes.all.values()
        if any(each.node is owner for each in facts.lineage)
    )


def part_of(value: ast.expr | None, path: tuple[int, ...]) -> ast.expr | None:
    """The part of a tuple that is unpacked at `path`, the value itself where the path is empty."""
    for index in path:
        if not isinstance(value, ast.Tuple) or has_rest(value) or index >= len(value.elts):
            return None
        value = value.elts[index]
    return value


def has_rest(display: ast.AST) -> bool:
    """Whether entries of a display stand at other places than they are written at: `first, *rest, last`."""
    return isinstance(display, (ast.Tuple, ast.List)) and any(isinstance(each, ast.Starred) for each in display.elts)
