"""Walks over the syntax tree that leave out what holds no name and no call: contexts, operators, plain fields."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Node = TypeVar("Node", bound=ast.AST)
T = TypeVar("T")

_LEAVES = frozenset({"ctx", "op", "ops", "type_comment", "type_ignores", "kind", "id", "attr", "names", "kwd_attrs"})
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


def below(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below another one, in order."""
    kind = node.__class__
    fields = _fields.get(kind)
    if fields is None:
        fields = _fields[kind] = tuple(each for each in kind._fields if each not in _LEAVES)
    found: list[ast.AST] = []
    for field in fields:
        value = getattr(node, field, None)
        if value.__class__ is list:
            found += value  # a None in it stands for a default, or a key, that is not there
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """A node and all that is below it, in no order."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.__class__ is ast.Name or node.__class__ is ast.Constant:
            yield node
        elif node is not None:
            yield node
            stack += below(node)
