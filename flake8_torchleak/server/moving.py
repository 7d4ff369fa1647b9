"""Where what stood in a text stands in a later one, and the edits that make the one of the other: line by line."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from flake8_torchleak.finding import Edit, Span
from flake8_torchleak.source import Source

_MOST_COMPARED = 2000
"""Lines between the first and the last that differ which are compared one by one; of more, none is the same."""


class _Block(NamedTuple):
    """Lines of the old text, `start` to `end`, in whose place are lines of the new one (0-based, half open)."""

    start: int
    end: int
    new_start: int
    new_end: int


def _blocks(old: list[str], new: list[str]) -> Iterator[_Block]:
    """What differs, in order."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    tail = 0
    while tail < min(len(old), len(new)) - same and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle, new_middle = old[same : len(old) - tail], new[same : len(new) - tail]
    if max(len(middle), len(new_middle)) > _MOST_COMPARED:
        yield _Block(same, len(old) - tail, same, len(new) - tail)
        return
    for kind, start, end, new_start, new_end in SequenceMatcher(None, middle, new_middle, False).get_opcodes():
        if kind != "equal":
            yield _Block(start + same, end + same, new_start + same, new_end + same)


class Moved:
    """What has become of the places of a text."""

    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = Source(old).lines, Source(new).lines
        self._blocks = list(_blocks(self._old, self._new))

    def span(self, span: Span) -> Span | None:
        """Where a span stands now; None where a line of it is gone."""
        start, end = self._place(span.line, span.col), self._place(span.end_line, span.end_col)
        return None if start is None or end is None else Span(*start, *max(start, end))

    def _place(self, line: int, col: int) -> tuple[int, int] | None:
        shift = 0
        for block in self._blocks:
            if line - 1 < block.start:
                break
            if line - 1 < block.end:
                now = block.new_start + line - 1 - block.start
                # Lines were exchanged one for one: this one was edited.
                if block.end - block.start != block.new_end - block.new_start:
                    return None
                return now + 1, _column(self._old[line - 1], self._new[now], col)
            shift = block.new_end - block.end
        return line + shift, col


def _column(old: str, new: str, col: int) -> int:
    """A column of a line in what the line has become."""
    before, behind = _same(old, new)
    if col <= before:
        return col
    return max(len(new) - (len(old) - col), before) if len(old) - col <= behind else before


def _same(old: str, new: str) -> tuple[int, int]:
    """How many characters two texts begin with alike, and then end with alike; no line end is cut in two."""
    before = _begin(old, new)
    while before and "\r\n" in (old[before - 1 : before + 1], new[before - 1 : before + 1]):
        before -= 1
    behind = _begin(old[before:][::-1], new[before:][::-1])
    while behind and "\r\n" in (old[-behind - 1 :][:2], new[-behind - 1 :][:2]):
        behind -= 1
    return before, behind


def _begin(one: str, other: str) -> int:
    return next((at for at, (mine, its) in enumerate(zip(one, other)) if mine != its), min(len(one), len(other)))


def edits(old: str, new: str) -> Iterator[Edit]:
    """What makes `new` of `old`, in order of place, as little as lines and what they begin and end with tell."""
    lines, others = Source(old).lines, Source(new).lines
    for block in _blocks(lines, others):
        text, other = "".join(lines[block.start : block.end]), "".join(others[block.new_start : block.new_end])
        before, behind = _same(text, other)
        start = _after(block.start, text[:before])
        end = _after(block.start, text[: len(text) - behind])
        yield Edit(Span(*start, *end), other[before : len(other) - behind])


def _after(line: int, text: str) -> tuple[int, int]:
    """The 1-based line, and the column, where a text ends that begins the 0-based line."""
    lines = Source(text).lines
    if not lines or lines[-1].endswith(("\n", "\r")):
        return line + len(lines) + 1, 0
    return line + len(lines), len(lines[-1])
