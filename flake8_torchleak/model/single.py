"""Variables that a function uses as one number: an array of more would raise there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.names import last_name

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_OF_ONE = frozenset({"int", "float", "range"})
"""Functions that take one number; so do those of `math`."""


def is_one_number(module: Module, variable: ast.expr) -> bool:
    """Whether the function around uses a variable as only one number can be used: `math.floor(t / 1000)`, `a[t:]`."""
    if not isinstance(variable, ast.Name):
        return False
    scope = module.tree.scope(variable)
    return any(
        isinstance(each, ast.Name) and each.id == variable.id and _is_used_as_one(module, each)
        for each in module.tree.within(scope)
    )


def _is_used_as_one(module: Module, name: ast.Name) -> bool:
    used: ast.AST = name
    up = module.tree.parents[used]
    while isinstance(up, (ast.BinOp, ast.UnaryOp)):
        used, up = up, module.tree.parents[up]
    if isinstance(up, ast.Call):
        return used in up.args and (last_name(up.func) in _OF_ONE or module.names.qualname(up.func).startswith("math."))
    return isinstance(up, ast.Slice)
