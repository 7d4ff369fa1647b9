"""`# noqa` comments, with the meaning flake8 gives them, for the shells that run without flake8.

The two expressions and the line map follow flake8 7 (`defaults.py`, `processor.py`, `violation.py`); a property
test holds them equal. Two things are easily missed: a comment anywhere in a statement part joined by a multi-line
string or by backslashes covers all its lines, and `# flake8: noqa: CODES` hides the whole file, whatever the codes.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

INLINE = re.compile(r"# noqa(?::[\s]?(?P<codes>([A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
WHOLE_FILE = re.compile(r"\s*# flake8[:=]\s*noqa", re.IGNORECASE)


class Comment(NamedTuple):
    """A `# noqa` comment, and the 1-based lines, `first` to `last`, that it decides for.

    It is on the last of them: begins is the column of the whole comment, match what INLINE finds in that line.
    """

    first: int
    last: int
    begins: int
    match: re.Match[str]


def _hides(match: re.Match[str], code: str) -> bool:
    """Whether a comment, as INLINE finds it, hides a code."""
    # As in flake8, codes are compared as written: in lower case they parse, and hide nothing.
    codes = match["codes"]
    return codes is None or code.startswith(tuple(filter(None, re.split(r"[,\s]", codes))))


class Suppressions:
    """The `# noqa` comments of one module, read when first asked."""

    def __init__(self, text: str) -> None:
        self._text = text

    def hides(self, code: str, line: int) -> bool:
        """Whether a finding of `code` on the 1-based `line` is suppressed."""
        if not self._any:
            return False
        if self._whole_file:
            return True
        if not any(_hides(match, code) for match in self._matches):
            return False  # the tokens of a text, which take long, tell only for which lines a comment counts
        match = INLINE.search(self._annotated(line))
        return match is not None and _hides(match, code)

    def comments(self) -> Iterator[Comment]:
        """Each comment that decides for some lines, in order; none where the whole file is hidden."""
        if self._any and not self._whole_file:
            for line in sorted({last for _, last, begins in self._joined.values() if begins is not None}):
                found = self.comment(line)
                if found is not None:
                    yield found

    def comment(self, line: int) -> Comment | None:
        """The comment that decides for the 1-based `line`."""
        first, last, begins = self._joined.get(line, (line, line, None))
        if begins is None or INLINE.search(self._before(first, last, begins)):
            return None
        match = INLINE.search(self._lines[last - 1], begins)
        return Comment(first, last, begins, match) if match else None

    def place(self, line: int) -> int | None:
        """The line at whose end a new comment would decide for `line`; None where there is none.

        That is so where one decides already, be it in a string.
        """
        first, last, _ = self._joined.get(line, (0, 0, None))
        return last if first and not INLINE.search(self._before(first, last, None)) else None

    def _before(self, first: int, last: int, column: int | None) -> str:
        """The text from the begin of a line to a column of another; to its end for None."""
        return "".join([*self._lines[first - 1 : last - 1], self._lines[last - 1][:column]])

    @cached_property
    def _any(self) -> bool:
        """Whether the word occurs at all: most files need no more than this."""
        return "noqa" in self._text.lower()

    @cached_property
    def _matches(self) -> list[re.Match[str]]:
        """What may be found in any run of lines.

        The codes of a comment may go on in the next line, if that is joined with it: they are at most those that are
        found in the whole text, and there are none only where there are none in the line.
        """
        found = list(INLINE.finditer("".join(self._lines)))
        return found + [match for line in self._lines if "noqa" in line.lower() for match in INLINE.finditer(line)]

    @cached_property
    def _whole_file(self) -> bool:
        return any(WHOLE_FILE.match(line) for line in self._lines)

    @cached_property
    def _lines(self) -> list[str]:
        """The lines with their ends turned into \\n, as flake8 reads a file."""
        return io.StringIO(self._text, newline=None).readlines()

    def _annotated(self, line: int) -> str:
        """The text in which a comment counts for `line`: its physical line, or the lines joined with it."""
        first, last, _ = self._joined.get(line, (line, line, None))
        return "".join(self._lines[first - 1 : last])

    @cached_property
    def _joined(self) -> dict[int, tuple[int, int, int | None]]:
        """Of the token run that each line belongs to: first and last line, and the column of the comment that ends it.

        Empty where the text has no tokens.
        """
        joined: dict[int, tuple[int, int, int | None]] = {}
        start = end = 0
        comment = None
        try:
            for kind, _, (first, column), (last, _), _ in tokenize.generate_tokens(iter(self._lines).__next__):
                if kind in (tokenize.ENDMARKER, tokenize.DEDENT):
                    continue
                start = min(start or first, first)
                end = max(end, last)
                if kind == tokenize.COMMENT:
                    comment = column
                if kind in (tokenize.NL, tokenize.NEWLINE):
                    joined.update(dict.fromkeys(range(start, end + 1), (start, end, comment)))
                    start = end = 0
                    comment = None
        except (tokenize.TokenError, SyntaxError):
            return {}
        return joined
