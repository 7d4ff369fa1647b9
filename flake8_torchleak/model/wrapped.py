"""Functions that are handed over inside of something that only calls them: what is run in the end."""

from __future__ import annotations

import ast

from flake8_torchleak.model.names import last_name


def unwrapped(node: ast.expr) -> ast.expr:
    """`f` of `partial(f, size=3)` and of `lambda batch: f(batch, 3)`, which hands on first what it is given first."""
    while True:
        inner = _of_partial(node) if isinstance(node, ast.Call) else _called_by(node)
        if inner is None:
            return node
        node = inner


def _of_partial(call: ast.Call) -> ast.expr | None:
    return call.args[0] if last_name(call.func) == "partial" and call.args else None


def _called_by(node: ast.expr) -> ast.expr | None:
    """What a lambda does no more than to call, with its first argument as the first."""
    body = node.body if isinstance(node, ast.Lambda) else None
    if not isinstance(node, ast.Lambda) or not isinstance(body, ast.Call) or not body.args or not node.args.args:
        return None
    first = body.args[0]
    return body.func if isinstance(first, ast.Name) and first.id == node.args.args[0].arg else None
