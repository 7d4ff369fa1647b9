"""Functions that are handed over inside of something that only calls them: what is run in the end."""

from __future__ import annotations

import ast

from flake8_torchleak.model.names import last_name


def unwrapped(node: ast.expr) -> tuple[ast.expr, list[str]]:
    """A function that is called with one thing, and the names of the parameters that get something else.

    `f` of `partial(f, size=3)`, and of `lambda batch: f(batch, size=3)`; what they call, of two in each other.
    """
    given: list[str] = []
    while True:
        inner = _of_partial(node) if isinstance(node, ast.Call) else _of_lambda(node)
        if inner is None:
            return node, given
        node, more = inner
        given += more


def _of_partial(call: ast.Call) -> tuple[ast.expr, list[str]] | None:
    if last_name(call.func) != "partial" or len(call.args) != 1:
        return None
    return call.args[0], [each.arg for each in call.keywords if each.arg is not None]


def _of_lambda(node: ast.expr) -> tuple[ast.expr, list[str]] | None:
    """What a lambda does no more than to call, with its first argument as the first, or by its name."""
    call = node.body if isinstance(node, ast.Lambda) else None
    if not isinstance(node, ast.Lambda) or not isinstance(call, ast.Call) or not node.args.args:
        return None
    name = node.args.args[0].arg
    named = [each.arg for each in call.keywords if each.arg is not None and not _is(each.value, name)]
    handed = _is(call.args[0], name) if call.args else len(named) < len(call.keywords)
    return (call.func, named) if handed else None


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
