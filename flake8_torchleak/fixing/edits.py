"""Edits put into a text, and where its places are afterwards."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from flake8_torchleak.finding import Edit, Fix
from flake8_torchleak.source import Source


class Replacement(NamedTuple):
    """An edit by offsets: `text` for what stands between `start` and `end`."""

    start: int
    end: int
    text: str

    @property
    def is_line(self) -> bool:
        """Whether whole lines are inserted: they change nothing of the statements around them."""
        return self.start == self.end and self.text.endswith(("\n", "\r"))


class Offsets:
    """Places of a text as offsets in code points."""

    def __init__(self, source: Source) -> None:
        lines = source.lines
        self._starts = [0, *accumulate(map(len, lines))]
        open_ended = bool(lines) and not lines[-1].endswith(("\n", "\r"))
        self._last = len(lines) + (not open_ended)

    def at(self, line: int, col: int) -> int:
        """The offset of a 1-based line and a 0-based column; the line after the last is the end of the text."""
        return self._starts[line - 1] + col

    def line(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return min(bisect_right(self._starts, offset), self._last)

    def ends(self, edit: Edit) -> tuple[int, int]:
        """Where an edit's span begins and ends."""
        span = edit.span
        return self.at(span.line, span.col), self.at(span.end_line, span.end_col)


class Batch:
    """Fixes that can be applied together, as one list of edits in order of place."""

    def __init__(self, offsets: Offsets) -> None:
        self._offsets = offsets
        self._edits: dict[tuple[int, int], list[Edit]] = {}
        self._places: list[tuple[int, int]] = []
        """Where edits are, in order: they do not touch each other."""

    def add(self, fix: Fix) -> bool:
        """Take in a fix; False (and nothing taken) if it would touch what another one of the batch touches.

        Two fixes may share whole lines that they insert (an import), or all of their edits: then they are one.
        """
        mine: dict[tuple[int, int], list[Edit]] = {}
        for edit in fix.edits:
            mine.setdefault(self._offsets.ends(edit), []).append(edit)
        same = all(self._edits.get(place) == edits for place, edits in mine.items())
        for place, edits in mine.items():
            known = self._edits.get(place)
            shared = known == edits and (same or all(each.text.endswith(("\n", "\r")) for each in edits))
            if not shared and self._touches(place):
                return False
        for place in mine:
            if place not in self._edits:
                insort(self._places, place)
        self._edits.update(mine)
        return True

    def _touches(self, place: tuple[int, int]) -> bool:
        """Whether a stretch shares a character with an edit, or is an insertion where one is."""
        at = bisect_left(self._places, place)
        return any(_touch(place, other) for other in self._places[max(at - 1, 0) : at + 1])

    def __iter__(self) -> Iterator[Replacement]:
        """The edits in order of place."""
        for start, end in self._places:
            yield Replacement(start, end, "".join(edit.text for edit in self._edits[start, end]))


def _touch(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two stretches share a character, or two insertions a place."""
    return one == other or (one[0] < other[1] and other[0] < one[1])


class Edited:
    """A text with edits put into it. `text` is the result."""

    def __init__(self, text: str, edits: Iterable[Replacement]) -> None:
        parts, position, shift = [], 0, 0
        self._places: list[int] = []
        self._shifts = [0]
        self._starts: list[int] = []
        for start, end, new in edits:
            parts += [text[position:start], new]
            position = end
            shift += len(new) - (end - start)
            self._places.append(start)
            self._starts.append(start + self._shifts[-1])
            self._shifts.append(shift)
        self.text = "".join([*parts, text[position:]])

    def moved(self, offset: int) -> set[int]:
        """Where what stood at an offset stands now: before or behind what was inserted right there."""
        before, behind = bisect_left(self._places, offset), bisect_right(self._places, offset)
        return {offset + self._shifts[before], offset + self._shifts[behind]}

    def was(self, offset: int) -> int:
        """Where in the old text stood what stands at an offset of the new one; of what was inserted, where that was."""
        at = bisect_right(self._starts, offset)
        return max(offset - self._shifts[at], self._places[at - 1] if at else 0)
