"""A generated program: its files, the choices it is made of, and the lines that may be named for what it retains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.training.program import Files, joined

KEEP, HOLDER, STEP = "keep", "holder", "step"
"""Marks: statements that keep a value or route it there, those that make the holder, and headers of steps."""
QUESTIONS = ("kind", "holder", "form", "release", "where", "loop", "ending")
"""What a cell answers: see `generate.py`."""

Place = tuple[str, int]
"""A path and a line of it."""


@dataclass(frozen=True)
class Case:
    """One program. cell: the choice made for each question; marks: places by mark, in `files` as they stand.

    planted: the program with `#@` marks still in it, for who wants to change it by text.
    """

    number: int
    files: Files
    cell: Mapping[str, str]
    marks: Mapping[str, frozenset[Place]]
    planted: Files

    @property
    def text(self) -> str:
        """All files, one after the other."""
        return joined(self.files)

    @property
    def key(self) -> tuple[str, str, str]:
        """The cell that figures are made of: kind, holder, form."""
        return self.cell["kind"], self.cell["holder"], self.cell["form"]


def mark(line: str, *marks: str) -> str:
    """A line of a program, to be known by these marks."""
    return line + "".join(f"  #@{each}" for each in marks)


def marked(lines: Iterable[str], *marks: str) -> list[str]:
    """Each of the lines with these marks."""
    return [mark(each, *marks) for each in lines]


def case(number: int, planted: Files, cell: Mapping[str, str]) -> Case:
    """A program out of its marked text."""
    marks: dict[str, set[Place]] = {KEEP: set(), HOLDER: set(), STEP: set()}
    files: dict[str, str] = {}
    for path, text in planted.items():
        lines = text.split("\n")
        for at, line in enumerate(lines):
            for name in _MARK.findall(line):
                marks[name].add((path, at + 1))
            lines[at] = _MARK.sub("", line)
        files[path] = "\n".join(lines)
    return Case(number, files, dict(cell), {name: frozenset(places) for name, places in marks.items()}, dict(planted))


_MARK = re.compile(r"[ \t]*#@(\w+)")
