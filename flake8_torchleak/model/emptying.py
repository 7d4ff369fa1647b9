"""Containers whose own containers are emptied one by one: `for each in self.kept.values(): each.clear()`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.names import last_name

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def empties_parts(module: Module, key: str) -> bool:
    """Whether any loop of the file goes over what a variable or attribute of this name holds, and clears it."""
    name = key.rpartition(".")[2]
    return any(_over(loop).rpartition(".")[2] == name and _clears(loop) for loop in module.tree.all(ast.For))


def _over(loop: ast.For) -> str:
    """What a loop goes over the elements or the values of."""
    over = loop.iter
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in ("values", "items"):
        over = over.func.value
    return key_of(over)


def _clears(loop: ast.For) -> bool:
    names = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    calls = [node for each in loop.body for node in ast.walk(each) if isinstance(node, ast.Call)]
    cleared = [
        call.func.value for call in calls if last_name(call.func) == "clear" and isinstance(call.func, ast.Attribute)
    ]
    return any(isinstance(each, ast.Name) and each.id in names for each in cleared)
