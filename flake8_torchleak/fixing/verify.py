"""The second opinion on a fix: does libcst find the old statements, whole, in the new ones?

Edits are worked out from `ast` positions. libcst parses each statement that was edited on its own, before and after,
and keeps every parenthesis, comment and blank; the new tree must be the old one with nodes only added: around a node
(`x` in `x.detach()`), or between those of a list. A return tuple that became two arguments, an operator that now
binds otherwise, or a comment that was swallowed is found out here. What no edit touches is the same bytes anyway, so
it is not parsed: libcst takes 70 ms for 1,000 lines.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache

import libcst

from flake8_torchleak.fixing.edits import Edited, Offsets, Replacement
from flake8_torchleak.source import Source, parse

_DEEPEST = 300
"""Levels of nesting that are handed to libcst: its parser takes the square of them, and some thousands crash it."""
_WRAPPING = 10
"""Levels that a fix puts around a node."""
_LAYOUT = frozenset({"leading_lines", "lines_after_decorators", "header", "footer"})
"""Blank lines and comments between statements: they belong to whatever follows, and are compared apart."""
_MOST_WORK = 60
"""Comparisons per node of the old tree; a fix that needs more is no fix."""


class Witness:
    """libcst's view of one text, asked about edits of it."""

    def __init__(self, source: Source, tree: ast.Module, offsets: Offsets) -> None:
        self._source, self._tree, self._offsets = source, tree, offsets
        self._inner: dict[ast.AST, tuple[list[ast.AST], list[int]]] = {}
        self._units: dict[int, tuple[int, int] | None] = {}
        self._judged: dict[tuple[int, int, tuple[Replacement, ...]], bool] = {}

    def keeps_whole(self, edits: Sequence[Replacement]) -> bool:
        """Whether every statement that the edits touch stands whole in what becomes of it, and libcst can tell."""
        return not self.broken(edits)

    def broken(self, edits: Sequence[Replacement]) -> list[list[Replacement]]:
        """The edits, in order of place, by which a statement does not stand whole: those of each such statement."""
        text = self._source.text
        found = [[each] for each in edits if each.start < each.end and not _is_constant(text[each.start : each.end])]
        inside = [each for each in edits if not self._is_line(each)]
        inside += [each for each in edits if each.is_line and self._splits(each.start)]
        units: dict[tuple[int, int], None] = {}
        for each in inside:
            unit = self._unit(each.start)
            if unit is None:
                found.append([each])
            else:
                units[unit] = None
        starts = [each.start for each in edits]
        for start, end in units:
            mine = edits[bisect_left(starts, start) : bisect_right(starts, end)]
            mine = [
                each for each in mine if each.end <= end and not (self._is_line(each) and each.start in (start, end))
            ]
            if not self._same(start, end, mine):
                found.append(mine)
        return found

    def _is_line(self, edit: Replacement) -> bool:
        """Whether an edit adds lines of its own, also below a last line that is not ended."""
        return edit.is_line or (edit.start == len(self._source.text) and edit.text.startswith(("\n", "\r")))

    def _splits(self, offset: int) -> bool:
        """Whether a line begins at an offset in the middle of a simple statement."""
        line = self._offsets.line(offset)
        around = self.around(line)
        return bool(around) and not hasattr(around[-1], "body") and _first(around[-1]) < line

    def around(self, line: int) -> list[ast.stmt]:
        """The statements that a line belongs to, from the outside in."""
        found: list[ast.stmt] = []
        each: ast.AST = self._tree
        while True:
            inner, ends = self._below(each)
            at = bisect_left(ends, line)
            if at == len(inner) or _first(inner[at]) > line:
                return found
            each = inner[at]
            if isinstance(each, ast.stmt):
                found.append(each)

    def _below(self, node: ast.AST) -> tuple[list[ast.AST], list[int]]:
        """The statements and handlers that stand in the blocks of a node, and the last line of each."""
        known = self._inner.get(node)
        if known is None:
            inner = [child for name in _BLOCKS for child in getattr(node, name, ())]
            known = self._inner[node] = inner, [each.end_lineno for each in inner]
        return known

    def _unit(self, offset: int) -> tuple[int, int] | None:
        """Where the lines of the smallest statement around an offset begin and end that libcst can parse alone."""
        line = self._offsets.line(offset)
        if line not in self._units:
            around = reversed(self.around(line))
            places = ((_first(each), (each.end_lineno or each.lineno) + 1) for each in around)
            spans = ((self._offsets.at(first, 0), self._offsets.at(end, 0)) for first, end in places)
            self._units[line] = next((span for span in spans if _parsed(self._source.text[slice(*span)])), None)
        return self._units[line]

    def _same(self, start: int, end: int, edits: Sequence[Replacement]) -> bool:
        """Whether the text between two offsets is kept whole by the edits in it."""
        key = start, end, tuple(edits)
        if key not in self._judged:
            text = self._source.text[start:end]
            mine = [Replacement(each.start - start, each.end - start, each.text) for each in edits]
            old = _parsed(Edited(text, [each for each in mine if each.start < each.end]).text)
            new = _parsed(Edited(text, mine).text)
            try:
                self._judged[key] = old is not None and new is not None and only_grown(old, new)
            except RecursionError:
                self._judged[key] = False
        return self._judged[key]


_BLOCKS = ("body", "handlers", "orelse", "finalbody")


def _first(node: ast.AST) -> int:
    """The first line of a statement, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([each.lineno for each in decorators], default=getattr(node, "lineno", 0))


def _is_constant(text: str) -> bool:
    """Whether a text is one number, string, True, False or None: all that an edit may take away."""
    try:
        return isinstance(ast.parse(text, mode="eval").body, ast.Constant)
    except SyntaxError:
        return False


def _is_flat(tree: ast.AST) -> bool:
    """Whether a tree is flat enough for libcst."""
    level = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False


def _parsed(text: str) -> libcst.Module | None:
    """libcst's tree of whole lines, indented or not; None if they are no statements, or too deep for libcst."""
    text = text.lstrip("\f")
    if text[:1].isspace():
        text = f"if 1:\n{text}"
    try:
        return libcst.parse_module(text) if _is_flat(parse(text)) else None
    except (libcst.ParserSyntaxError, SyntaxError, RecursionError, ValueError):
        return None


def only_grown(old: libcst.Module, new: libcst.Module) -> bool:
    """Whether the old module stands whole in the new one, with its comments in the same order."""
    old_comments, nodes = _comments(old)
    new_comments, _ = _comments(new)
    return old_comments == new_comments and _Comparison(nodes * _MOST_WORK).found(old, new)


def _comments(root: libcst.Module) -> tuple[list[str], int]:
    """Its comments in the order of the text, and the number of its nodes."""
    found: list[str] = []
    stack: list[libcst.CSTNode] = [root]
    count = 0
    while stack:
        node = stack.pop()
        count += 1
        if isinstance(node, libcst.Comment):
            found.append(node.value)
        stack += reversed(node.children)
    return found, count


class _Comparison:
    def __init__(self, work: int) -> None:
        self._left = work

    def found(self, old: libcst.CSTNode, new: libcst.CSTNode) -> bool:
        """Whether `new` is `old`, grown inside, or is wrapped around it."""
        if self._same(old, new):
            return True
        old = self._bare(old, new)
        kind = type(old)
        return any(type(each) is kind and self._same(old, each) for each in _below(new, _WRAPPING) if each is not new)

    def _bare(self, old: libcst.CSTNode, new: libcst.CSTNode) -> libcst.CSTNode:
        """`old` without the outer parentheses that `new` has: libcst takes `(x.detach())` for a call that has them."""
        left, right = getattr(new, "lpar", ()), getattr(new, "rpar", ())
        count, kept = len(left), len(getattr(old, "lpar", ())) - len(left)
        if not count or kept < 0:
            return old
        mine_left, mine_right = getattr(old, "lpar", ()), getattr(old, "rpar", ())
        if not (self._in_order(mine_left[:count], left) and self._in_order(mine_right[kept:], right)):
            return old
        return old.with_changes(lpar=mine_left[count:], rpar=mine_right[:kept])

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
    """A node and those below it, level by level."""
    queue = deque([(node, levels)])
    while queue:
        each, left = queue.popleft()
        yield each
        if left:
            queue.extend((child, left - 1) for child in each.children)
