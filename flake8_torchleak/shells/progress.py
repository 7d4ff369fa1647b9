"""How far a long run is: one line on the terminal, written over itself and gone in the end."""

from __future__ import annotations

import math
import os
import stat
import sys
from time import monotonic

from flake8_torchleak.shells.process import complain
from flake8_torchleak.shells.report import width
from flake8_torchleak.wording import printable

DELAY = 1.0
"""Seconds before the line shows: most runs are over by then."""
INTERVAL = 0.1
"""Seconds between two versions of it."""


class Progress:
    """Nothing at all where `wanted` is false, stderr is no terminal, or stdout is a pipe: a pager has the screen."""

    def __init__(self, wanted: bool, total: int = 0) -> None:
        self._next = monotonic() + DELAY if wanted and _on_screen() else math.inf
        self._files, self._total = 0, total
        self._shown = False

    def at(self, path: str) -> None:
        """The next file is looked at."""
        self._files += 1
        now = monotonic()
        if now < self._next:
            return
        self._next = now + INTERVAL
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        self._write(_cut(f"{self._files}/{self._total} files: {printable(path)}", columns))
        self._shown = True

    def clear(self) -> None:
        """Make room for other lines; `at` brings the line back."""
        if self._shown:
            self._write("")
            self._shown = False

    def _write(self, line: str) -> None:
        complain(f"\r\x1b[K{line}")


def _on_screen() -> bool:
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return False
    return not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)


def _cut(line: str, columns: int) -> str:
    """As much of `line` as fits without touching the last column, where terminals differ."""
    while sum(width(char) for char in line) >= columns:
        line = line[:-1]
    return line
