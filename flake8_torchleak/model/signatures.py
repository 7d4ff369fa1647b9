"""Whether a call fits what it calls: who calls a function with too little, or too much, gets a TypeError."""

from __future__ import annotations

import ast
from collections.abc import Collection


def refuses(taken: ast.arguments, by_position: int, by_name: Collection[str]) -> bool:
    """Whether a function that takes this cannot be called with so many arguments by position, and these by name.

    A method's object counts as the first by position.
    """
    rows = [*taken.posonlyargs, *taken.args]
    needed = rows[by_position : len(rows) - len(taken.defaults)]
    needed += [each for each, default in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if default is None]
    if any(each.arg not in by_name for each in needed) or (taken.vararg is None and by_position > len(rows)):
        return True
    known = {each.arg for each in (*rows, *taken.kwonlyargs)}
    return taken.kwarg is None and not all(name in known for name in by_name)


def spreads(call: ast.Call) -> bool:
    """Whether a call hands over a number of things that its text does not tell."""
    return any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)
