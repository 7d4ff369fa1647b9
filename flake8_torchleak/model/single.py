"""Variables that a function uses as one number: an array of more would raise there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_OF_ONE = frozenset({"int", "float", "range"})
"""Functions that take one number; so do those of `math`."""


def is_one_number(module: Module, variable: ast.expr) -> bool:
    """Whether the function around uses a variable as only one number can be used: `math.floor(t / 1000)`, `a[t:]`.

    Asked where the variable is changed in place: of what it holds there, and behind it.
    """
    return isinstance(variable, ast.Name) and _is_one(module, variable)


def _is_one(module: Module, variable: ast.Name) -> bool:
    changed = {module.tree.statement(variable), *(each.statement for each in _ways(module, variable))}
    return any(
        isinstance(each, ast.Name)
        and each.id == variable.id
        and _is_used_as_one(module, each)
        and any(way.statement in changed for way in _ways(module, each))
        for each in module.tree.within(module.tree.scope(variable))
    )


def _ways(module: Module, name: ast.Name) -> list[Definition]:
    return module.flow.reaching(name.id, name)


def _is_used_as_one(module: Module, name: ast.Name) -> bool:
    used: ast.AST = name
    up = module.tree.parents[used]
    while isinstance(up, (ast.BinOp, ast.UnaryOp)):
        used, up = up, module.tree.parents[up]
    if isinstance(up, ast.Call):
        is_plain = isinstance(up.func, ast.Name) and up.func.id in _OF_ONE
        return used in up.args and (is_plain or module.names.qualname(up.func).startswith("math."))
    return isinstance(up, ast.Slice)
