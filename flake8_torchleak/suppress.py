"""`# noqa` comments, with the meaning flake8 gives them, for the shells that run without flake8.

The two expressions and the line map follow flake8 7 (`defaults.py`, `processor.py`, `violation.py`); a property
test holds them equal. Two things are easily missed: a comment anywhere in a statement part joined by a multi-line
string or by backslashes covers all its lines, and `# flake8: noqa: CODES` hides the whole file, whatever the codes.
"""

from __future__ import annotations

import io
import re
import tokenize
from functools import cached_property

_INLINE = re.compile(r"# noqa(?::[\s]?(?P<codes>([A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
_FILE = re.compile(r"\s*# flake8[:=]\s*noqa", re.IGNORECASE)


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
        match = _INLINE.search(self._annotated(line))
        if match is None:
            return False
        codes = match["codes"]
        # As in flake8, codes are compared as written: in lower case they parse, and hide nothing.
        return codes is None or code.startswith(tuple(filter(None, re.split(r"[,\s]", codes))))

    @cached_property
    def _any(self) -> bool:
        """Whether the word occurs at all: most files need no more than this."""
        return "noqa" in self._text.lower()

    @cached_property
    def _whole_file(self) -> bool:
        return any(_FILE.match(line) for line in self._lines)

    @cached_property
    def _lines(self) -> list[str]:
        """The lines with their ends turned into \\n, as flake8 reads a file."""
        return io.StringIO(self._text, newline=None).readlines()

    def _annotated(self, line: int) -> str:
        """The text in which a comment counts for `line`: its physical line, or the lines joined with it."""
        start, end = self._joined.get(line, (line, line))
        return "".join(self._lines[start - 1 : end])

    @cached_property
    def _joined(self) -> dict[int, tuple[int, int]]:
        """First and last line of the token run that each line belongs to; empty where the text has no tokens."""
        joined: dict[int, tuple[int, int]] = {}
        start = end = 0
        try:
            for kind, _, (first, _), (last, _), _ in tokenize.generate_tokens(iter(self._lines).__next__):
                if kind in (tokenize.ENDMARKER, tokenize.DEDENT):
                    continue
                start = min(start or first, first)
                end = max(end, last)
                if kind in (tokenize.NL, tokenize.NEWLINE):
                    joined.update(dict.fromkeys(range(start, end + 1), (start, end)))
                    start = end = 0
        except (tokenize.TokenError, SyntaxError):
            return {}
        return joined
