"""Which of some lines ran: those that a static finding stands on.

Only functions that have such a line are traced, and only until all of theirs were hit: what a step costs does not
change after the first. A debugger or a coverage tool that traces already is left alone; then nothing is known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from flake8_torchleak.recorder import frames

LinesOf = Callable[[str], set[int]]
"""The lines to watch in a file, by its path; asked once for each first-party file, when its code first runs."""


class Lines:
    """hit: pairs of path and line that ran. watching: whether lines are traced at all.

    get, put: how the interpreter's trace function is asked for and set.
    """

    def __init__(
        self,
        lines_of: LinesOf,
        get: Callable[[], Any] = sys.gettrace,
        put: Callable[[Any], None] = sys.settrace,
    ) -> None:
        self._lines_of = lines_of
        self._get, self._put = get, put
        self._pending: dict[str, set[int]] = {}
        self._codes: dict[CodeType, set[int]] = {}
        self.hit: set[tuple[str, int]] = set()
        self.watching = False

    def start(self) -> None:
        if self._get() is None:
            self.watching = True
            self._put(self._called)

    def stop(self) -> None:
        if self.watching and getattr(self._get(), "__self__", None) is self:
            self._put(None)

    def settle(self) -> None:
        """Stop tracing if no line is left to wait for: what was imported so far is all there is."""
        if not any(self._pending.values()):
            self.stop()

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        waiting = self._codes.get(code)
        if waiting is None:
            waiting = self._codes[code] = self._waiting(code)
        return self._ran if waiting else None

    def _waiting(self, code: CodeType) -> set[int]:
        if frames.owner(code) != frames.OWN:
            return set()
        path = code.co_filename
        if path not in self._pending:
            self._pending[path] = self._lines_of(path)
        return {line for _, _, line in code.co_lines() if line in self._pending[path]}

    def _ran(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        waiting = self._codes[code]
        if frame.f_lineno in waiting:
            waiting.discard(frame.f_lineno)
            self._pending[code.co_filename].discard(frame.f_lineno)
            self.hit.add((code.co_filename, frame.f_lineno))
        return self._ran if waiting else None
