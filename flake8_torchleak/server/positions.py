"""Places in a text as editors count them: lines from 0, and columns in UTF-16 units unless both sides agree otherwise.

A line ends as it does for `ast` and for the protocol: with \\n, \\r\\n or \\r. Form feeds, which `str.splitlines` takes
for an end as well, are part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from lsprotocol import types

from flake8_torchleak.finding import Span
from flake8_torchleak.source import Source


def units(text: str, encoding: str) -> int:
    """The length of a text in the units of an encoding: "utf-8", "utf-16" or "utf-32"."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(char > "\uffff" for char in text)


def column(line: str, character: int, encoding: str) -> int:
    """The code points of a line before a column in units; inside of a character, its begin, and never past the end."""
    body = line.rstrip("\r\n")
    if encoding == "utf-32" or body.isascii():
        return min(character, len(body))
    passed = 0
    for at, char in enumerate(body):
        passed += units(char, encoding)
        if passed > character:
            return at
    return len(body)


class Lines:
    """The lines of a text, with their ends, and places in it."""

    def __init__(self, lines: Sequence[str], encoding: str) -> None:
        self.lines, self._encoding = lines, encoding

    @classmethod
    def of(cls, text: str, encoding: str) -> Lines:
        """Those of a text."""
        return cls(Source(text).lines, encoding)

    def position(self, line: int, col: int) -> types.Position:
        """Of a 1-based line and a column in code points."""
        text = self.lines[line - 1][:col] if line <= len(self.lines) else ""
        return types.Position(line - 1, units(text, self._encoding))

    def range(self, span: Span) -> types.Range:
        """Of a span."""
        return types.Range(self.position(span.line, span.col), self.position(span.end_line, span.end_col))

    def place(self, position: types.Position) -> tuple[int, int]:
        """The 1-based line and the column in code points of a position; one behind the end of the text is its end."""
        if position.line < len(self.lines):
            return position.line + 1, column(self.lines[position.line], position.character, self._encoding)
        return len(self.lines) + 1, 0


def applied(text: str, changes: Sequence[types.TextDocumentContentChangeEvent], encoding: str) -> str:
    """A text with the changes that an editor told, one after the other."""
    for change in changes:
        if isinstance(change, types.TextDocumentContentChangePartial):
            lines = Lines.of(text, encoding)
            starts = [0, *accumulate(map(len, lines.lines))]
            (first, left), (last, right) = lines.place(change.range.start), lines.place(change.range.end)
            begin = min(starts[first - 1] + left, len(text))
            text = text[:begin] + change.text + text[max(min(starts[last - 1] + right, len(text)), begin) :]
        else:
            text = change.text
    return text
