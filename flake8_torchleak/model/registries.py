"""Tables of functions, which whoever looks one up there calls: `METRICS[name](options)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.names import parameters
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

_ENTRY = "[]"
"""What stands behind the name of a table where an entry of it is meant."""


def entry_called(func: ast.expr) -> str:
    """The table of which an entry is called, as a name for entries of it; "" for any other call."""
    table = ""
    if isinstance(func, ast.Subscript):
        table = key_of(func.value)
    elif isinstance(func, ast.Call) and isinstance(func.func, ast.Attribute) and func.func.attr == "get":
        table = key_of(func.func.value)
    return table and table + _ENTRY


def registered(functions: Iterable[FunctionNode], assignments: Iterable[ast.Assign]) -> dict[str, set[str]]:
    """The name of a function -> what entries of the tables are called that it is put in.

    By a display, `METRICS = {"loss": loss_of}`, or by a decorator, whose body puts what it gets into a table.
    """
    found: dict[str, set[str]] = {}
    for statement in assignments:
        tables = {key_of(target) + _ENTRY for target in statement.targets if key_of(target)}
        for name in _displayed(statement.value):
            found.setdefault(name, set()).update(tables)
    functions = list(functions)
    filled = {each.name: _filled(each) for each in functions}
    for function in functions:
        for decorator in function.decorator_list:
            made = decorator.func if isinstance(decorator, ast.Call) else decorator
            found.setdefault(function.name, set()).update(filled.get(key_of(made), ()))
    return found


def _displayed(value: ast.expr) -> list[str]:
    """The names that are the values of a dict's display."""
    return [each.id for each in value.values if isinstance(each, ast.Name)] if isinstance(value, ast.Dict) else []


def _filled(function: FunctionNode) -> set[str]:
    """What entries of the tables are called into which a function, or one in it, puts what that is handed."""
    handed = {arg.arg for each in ast.walk(function) if isinstance(each, FUNCTIONS) for arg in parameters(each)}
    return {
        key_of(target.value) + _ENTRY
        for each in ast.walk(function)
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Name) and each.value.id in handed
        for target in each.targets
        if isinstance(target, ast.Subscript) and key_of(target.value)
    }
