"""Loops that set every entry of what they go over: `for key in batch: batch[key] = batch[key].to(device)`."""

from __future__ import annotations

import ast

from flake8_torchleak.model.names import last_name

_COPIES = ("list", "tuple", "sorted", "set")
"""What is gone over in place of the container, so that it may be changed meanwhile."""


def is_every_entry(loop: ast.AST, target: ast.Subscript) -> bool:
    """Whether an entry that a loop's body sets is, by its key, each entry of a container in turn.

    Entries that a condition on their kind leaves out (`if torch.is_tensor(value)`) hold nothing that is asked for; any
    other condition may leave out anything.
    """
    if not isinstance(loop, (ast.For, ast.AsyncFor)) or not isinstance(target.slice, ast.Name):
        return False
    shown = ast.dump(target.value)
    over, bound = _over(loop)
    if over is None or ast.dump(over) != shown or bound != target.slice.id:
        return False
    return any(_sets(statement, target) for statement in loop.body)


def _over(loop: ast.For | ast.AsyncFor) -> tuple[ast.expr | None, str]:
    """The container that a loop goes over, and the variable that holds the key of its entries."""
    iterated, bound = loop.iter, loop.target
    while isinstance(iterated, ast.Call) and last_name(iterated.func) in _COPIES and len(iterated.args) == 1:
        iterated = iterated.args[0]
    if isinstance(iterated, ast.Call):
        name = last_name(iterated.func)
        if isinstance(iterated.func, ast.Attribute) and not iterated.args and name in ("keys", "items"):
            key = bound if name == "keys" else _first(bound)
            return iterated.func.value, key.id if isinstance(key, ast.Name) else ""
        if name == "enumerate" and iterated.args:
            key = _first(bound)
            return iterated.args[0], key.id if isinstance(key, ast.Name) else ""
        if name == "range" and len(iterated.args) == 1:
            counted = iterated.args[0]
            if isinstance(counted, ast.Call) and last_name(counted.func) == "len" and len(counted.args) == 1:
                return counted.args[0], bound.id if isinstance(bound, ast.Name) else ""
        return None, ""
    return iterated, bound.id if isinstance(bound, ast.Name) else ""


def _first(bound: ast.expr) -> ast.expr:
    return bound.elts[0] if isinstance(bound, ast.Tuple) and len(bound.elts) == 2 else bound


def _sets(statement: ast.stmt, target: ast.Subscript) -> bool:
    """Whether a statement sets the entry, whatever it is, or if it is of the kind that has a device."""
    if isinstance(statement, ast.If):
        return _asks_kind(statement.test) and any(_sets(each, target) for each in statement.body)
    return isinstance(statement, ast.Assign) and any(each is target for each in statement.targets)


def _asks_kind(test: ast.expr) -> bool:
    return isinstance(test, ast.Call) and last_name(test.func) in ("isinstance", "is_tensor", "hasattr")
