"""How far the run is: one line on the terminal's stderr, by rich; nothing where stderr is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class Live:
    """Shows steps while it is entered. limit: how many there will be; 0: not known."""

    def __init__(self, limit: int) -> None:
        console = Console(file=sys.stderr)
        columns = (TextColumn("recording"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"), TimeElapsedColumn())
        # The program's own prints go where they go.
        self._progress = Progress(
            *columns,
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not console.is_terminal,
            auto_refresh=False,
        )
        self._task = self._progress.add_task("steps", total=limit or None)
        self._shown = 0

    def __enter__(self) -> Live:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.stop()

    def step(self, count: int) -> None:
        """So many steps are done."""
        if count % max(1, self._shown // 20) == 0:
            self._shown = count
            self._progress.update(self._task, completed=count, refresh=True)
