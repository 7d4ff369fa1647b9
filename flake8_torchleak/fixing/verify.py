"""The second opinion on a fix: does libcst find the old module, whole, in the new one?

Edits are worked out from `ast` positions. libcst parses both texts on its own and keeps every parenthesis, comment
and blank; the new tree must be the old one with nodes only added: around a node (`x` in `x.detach()`), or between the
statements, decorators and parentheses of a list. A return tuple that became two arguments, an operator that now binds
otherwise, or a comment that was swallowed is found out here.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache

import libcst

_DEEPEST = 300
"""Levels of nesting that are handed to libcst: its parser takes the square of them, and some thousands crash it."""
_WRAPPING = 10
"""Levels that a fix puts around a node."""
_LAYOUT = frozenset({"leading_lines", "lines_after_decorators", "header", "footer"})
"""Blank lines and comments between statements: they belong to whatever follows, and are compared apart."""
_MOST_WORK = 60
"""Comparisons per node of the old tree; a fix that needs more is no fix."""


class Unreadable(Exception):
    """libcst cannot parse the text: one line that says why."""


def read(text: str, tree: ast.Module) -> libcst.Module:
    """libcst's tree of a text. `tree` is Python's own, which tells how deep it is. Raises Unreadable."""
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise Unreadable("too deeply nested for libcst")
    try:
        return libcst.parse_module(text)
    except (libcst.ParserSyntaxError, RecursionError, ValueError) as error:
        raise Unreadable(f"libcst cannot parse it: {str(error).splitlines()[0]}") from error


def only_grown(old: libcst.Module, new: libcst.Module) -> bool:
    """Whether the old module stands whole in the new one, with its comments in the same order."""
    old_comments, nodes = _comments(old)
    new_comments, _ = _comments(new)
    return old_comments == new_comments and _Comparison(nodes * _MOST_WORK).found(old, new)


def _comments(root: libcst.Module) -> tuple[list[str], int]:
    found, count = [], 0
    for node in _below(root, 10**9):
        count += 1
        if isinstance(node, libcst.Comment):
            found.append(node.value)
    return found, count


class _Comparison:
    def __init__(self, work: int) -> None:
        self._left = work

    def found(self, old: libcst.CSTNode, new: libcst.CSTNode) -> bool:
        """Whether `new` is `old`, grown inside, or is wrapped around it."""
        if self._same(old, new):
            return True
        kind = type(old)
        return any(type(each) is kind and self._same(old, each) for each in _below(new, _WRAPPING) if each is not new)

    def _same(self, old: libcst.CSTNode, new: libcst.CSTNode) -> bool:
        """Whether both are the same node, their parts the same or grown."""
        self._left -= 1
        if self._left < 0 or type(old) is not type(new):
            return False
        for name in _parts(type(old)):
            mine, theirs = getattr(old, name), getattr(new, name)
            if isinstance(mine, libcst.CSTNode):
                if not isinstance(theirs, libcst.CSTNode) or not self.found(mine, theirs):
                    return False
            elif isinstance(mine, (list, tuple)):
                if not self._in_order(mine, theirs):
                    return False
            elif mine != theirs:
                return False
        return True

    def _in_order(self, old: Sequence[libcst.CSTNode], new: Sequence[libcst.CSTNode]) -> bool:
        """Whether the one list is found in the other, in order."""
        rest = iter(new)
        return all(any(self.found(each, other) for other in rest) for each in old)


@cache
def _parts(kind: type[libcst.CSTNode]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name not in _LAYOUT)


def _below(node: libcst.CSTNode, levels: int) -> Iterator[libcst.CSTNode]:
    """The nodes below, level by level."""
    queue = deque([(node, levels)])
    while queue:
        each, left = queue.popleft()
        yield each
        if left:
            queue.extend((child, left - 1) for child in each.children)
