"""One walk over a subtree: its nodes in order, the parent and kind of each, and what encloses what, all by number.

The walk is iterative (a 3,000-term sum is 3,000 levels deep) and table-driven: fields that never hold
a node with a position (contexts, operators) are not visited.
"""

from __future__ import annotations

import ast
from typing import TypeVar

_LEAF_FIELDS = frozenset({"ctx", "op", "ops", "type_comment", "type_ignores", "kind", "id", "attr", "n", "s"})
_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
HOLDERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_HOLDERS = frozenset(HOLDERS)
_fields: dict[type[ast.AST], tuple[str, ...]] = {}

N = TypeVar("N", bound=ast.AST)
M = TypeVar("M", bound=ast.AST)


def count(root: ast.AST) -> int:
    """How many nodes the index of a subtree would have, without making one."""
    found = 0
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        found += 1
        for name in _fields_of(node.__class__):
            value = getattr(node, name, None)
            if value is None:
                continue
            for child in value if value.__class__ is list else (value,):
                below = child.__class__
                if below is ast.Name or below is ast.Constant:
                    found += 1
                elif isinstance(child, ast.AST):
                    stack.append(child)
    return found


def holds(root: ast.AST, wanted: type[ast.AST]) -> bool:
    """Whether a node of a kind, that has others below it, stands in a subtree; an index is not made."""
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind is wanted:
            return True
        for name in _fields_of(kind):
            value = getattr(node, name, None)
            for child in value if value.__class__ is list else (value,):
                below = child.__class__
                if below is not ast.Name and below is not ast.Constant and isinstance(child, ast.AST):
                    stack.append(child)
    return False


def _fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields that may hold nodes of interest."""
    found = _fields.get(kind)
    if found is None:
        found = _fields[kind] = tuple(f for f in kind._fields if f not in _LEAF_FIELDS)
    return found


class Index:
    """The nodes of one subtree, numbered from 0. It knows nothing of what is around: many trees may share it."""

    __slots__ = ("above", "blocks", "ends", "holders", "kinds", "order")

    def __init__(self, root: ast.AST) -> None:
        """Number every node: a parent, its leaves, then its other children with all that is below each.

        Names and constants are half of all nodes and have nothing below: they never see the stack.
        """
        self.order: list[ast.AST] = []
        self.above: list[int] = []
        """By number: the parent (the root's own is no more than itself)."""
        self.holders: list[int] = []
        """By number: the innermost def, class or module around the node; -1 if there is none."""
        self.kinds: dict[type[ast.AST], list[ast.AST]] = {}
        self.blocks: dict[ast.AST, str] = {}
        """For a statement (or handler, or case): the field of its parent whose list it stands in."""
        order, above, holders, kinds, blocks = self.order, self.above, self.holders, self.kinds, self.blocks
        names, constants = kinds.setdefault(ast.Name, []), kinds.setdefault(ast.Constant, [])
        stack: list[tuple[ast.AST, int, int]] = [(root, 0, -1)]
        while stack:
            node, parent, holder = stack.pop()
            kind = node.__class__
            here = len(order)
            order.append(node)
            above.append(parent)
            holders.append(holder)
            if kind in kinds:
                kinds[kind].append(node)
            else:
                kinds[kind] = [node]
            fields = _fields.get(kind) or _fields_of(kind)
            if kind in _HOLDERS:
                holder = here
            inner: list[tuple[ast.AST, int, int]] = []
            for name in fields:
                value = getattr(node, name, None)
                if value is None:
                    continue
                for child in value if value.__class__ is list else (value,):
                    below = child.__class__
                    if below is ast.Name or below is ast.Constant:
                        order.append(child)
                        above.append(here)
                        holders.append(holder)
                        (names if below is ast.Name else constants).append(child)
                    elif isinstance(child, ast.AST):
                        inner.append((child, here, holder))
                        if name in _BLOCKS and value.__class__ is list:  # a lambda's body is none
                            blocks[child] = name
            inner.reverse()
            stack += inner
        sizes = [1] * len(above)
        for i in range(len(above) - 1, 0, -1):
            sizes[above[i]] += sizes[i]
        self.ends = [i + size for i, size in enumerate(sizes)]
        """By number: one past the last node below."""

    def all(self, kind: type[N]) -> list[N]:
        """Every node of a kind, in order."""
        return self.kinds.get(kind, [])  # type: ignore[return-value]

    def by_depth(self, one: type[N], two: type[M]) -> list[N | M]:
        """The nodes of two kinds, those nearest to the root first."""
        depths: list[int] = []
        for i, parent in enumerate(self.above):
            depths.append(depths[parent] + 1 if i else 0)
        wanted = {one, two}
        found = [(depths[i], i) for i, node in enumerate(self.order) if node.__class__ in wanted]
        return [self.order[i] for _, i in sorted(found)]  # type: ignore[misc]
