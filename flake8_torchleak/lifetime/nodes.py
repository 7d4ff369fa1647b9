"""Walks over the syntax tree that leave out what holds no name and no call: contexts, operators, plain fields."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Node = TypeVar("Node", bound=ast.AST)
T = TypeVar("T")

_LEAVES = frozenset(
    {
        *("ctx", "op", "ops", "type_comment", "type_ignores", "kind", "id", "attr", "names", "kwd_attrs"),
        *("name", "rest", "arg", "module", "level", "simple", "is_async", "conversion", "asname"),
    }
)
_fields: dict[type[ast.AST], tuple[str, ...]] = {}


def of_node(function: Callable[[Node], T]) -> Callable[[Node], T]:
    """A function of a node, worked out once for each: what it gives is forgotten with the node, and keeps none."""
    known: WeakKeyDictionary[ast.AST, T] = WeakKeyDictionary()

    @wraps(function)
    def answer(node: Node) -> T:
        try:
            return known[node]
        except KeyError:
            pass
        found = known[node] = function(node)
        return found

    return answer


def _fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    fields = _fields[kind] = tuple(each for each in kind._fields if each not in _LEAVES)
    return fields


def below(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below another one, in order."""
    kind = node.__class__
    found: list[ast.AST] = []
    for field in _fields.get(kind) or _fields_of(kind):
        value = getattr(node, field, None)
        if value.__class__ is list:
            found += value  # a None in it stands for a default, or a key, that is not there
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """A node and all that is below it, in no order."""
    stack: list[ast.AST | None] = [root]
    while stack:
        node = stack.pop()
        if node is None:
            continue
        yield node
        kind = node.__class__
        if kind is ast.Name or kind is ast.Constant:
            continue
        for field in _fields.get(kind) or _fields_of(kind):
            value = getattr(node, field, None)
            if value.__class__ is list:
                stack += value
            elif isinstance(value, ast.AST):
                stack.append(value)


def has_fewer(root: ast.AST, count: int) -> bool:
    """Whether a node and all that is below it are fewer than that: all nodes count, as `ast.walk` gives them."""
    stack = [root]
    found = 1
    while stack and found < count:
        node = stack.pop()
        for field in node._fields:
            value = getattr(node, field, None)
            for each in value if value.__class__ is list else (value,):
                if isinstance(each, ast.AST):
                    found += 1
                    if each._fields:
                        stack.append(each)
    return found < count
