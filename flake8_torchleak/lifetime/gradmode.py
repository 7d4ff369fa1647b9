"""What turns gradients off and on: context managers, decorators and switches."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import PLAIN, Atom, Kind, Value, constant
from flake8_torchleak.lifetime.world import Place
from flake8_torchleak.model import hints
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FunctionNode


def _mode_of(run: Run, node: ast.expr, place: Place) -> bool | None:
    """What a decorator does to gradients: on, off, or nothing (None)."""
    made = node.func if isinstance(node, ast.Call) else node
    if hints.turns_grad_off(last_name(made)):
        return False
    value = run.functions.at_top(made, place) if isinstance(made, (ast.Name, ast.Attribute)) else ()
    return mode(value, node)


def mode(value: Value, node: ast.expr) -> bool | None:
    """What a context manager does to gradients: on, off, or nothing (None); at times off is not off."""
    found = {_of(atom) for atom in value}
    if True in found:
        return True
    if found == {False}:
        return False
    called = node.func if isinstance(node, ast.Call) else node
    return False if hints.turns_grad_off(last_name(called)) else None


def _of(atom: Atom) -> bool | None:
    """What one alternative does."""
    path = atom.made.removesuffix("()") if atom.kind is Kind.LIBRARY and isinstance(atom.made, str) else ""
    if path in table.GRAD_ON:
        return True
    return False if path in table.GRAD_OFF or path == "torch.set_grad_enabled" else None


def decorated_off(run: Run, node: FunctionNode, place: Place) -> bool:
    """Whether a decorator of a function turns gradients off."""
    followed = run.functions.wrapping
    return any(_mode_of(run, each, place) is False for each in node.decorator_list if each not in followed)


def switch(path: str, args: list[Value], node: ast.expr) -> Value:
    """`torch.no_grad()` as a value; `no_grad(f)` as the function."""
    if args and path != "torch.set_grad_enabled":
        return args[0]
    if path == "torch.set_grad_enabled" and args and constant(args[0]) is True:
        return (Atom(Kind.LIBRARY, node, made="torch.enable_grad()"),)
    if path == "torch.set_grad_enabled" and constant(args[0] if args else PLAIN) is not False:
        return PLAIN  # on at times
    return (Atom(Kind.LIBRARY, node, made=path + "()"),)
