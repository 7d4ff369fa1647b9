"""How code is quoted in messages."""

from __future__ import annotations

import ast

_LONGEST = 40


def short(node: ast.expr) -> str:
    """An expression's text on one line, cut to what fits a message."""
    try:
        text = " ".join(ast.unparse(node).split())
    except RecursionError:  # a sum of thousands of terms
        return "..."
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def released(node: ast.expr) -> str:
    """The expression with `.detach()`, in parentheses where precedence asks for them."""
    text = short(node)
    primary = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    return f"{text}.detach()" if primary else f"({text}).detach()"
