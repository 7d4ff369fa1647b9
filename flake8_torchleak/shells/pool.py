"""Files that are linted by several processes at once, ahead of the one that reports on them in their order.

A worker is given a few files at a time, tells of each as soon as it is done, and is then given the next. What it tells
is plain data, as it is kept from run to run. A worker that ends of itself costs the file that it was at; another one
takes its place.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from flake8_torchleak.shells.process import ENDING

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_AT_A_TIME = 8
"""Files that a worker is given at once: neighbours, which look at the same other files."""
_START = "fork" if sys.platform == "linux" else "spawn"
"""How a worker starts: as a copy of this process, which costs nothing, where that is safe."""

_WAITING = {signal.SIGINT, *ENDING}
"""The signals that wait until a worker that starts is known."""

Job = tuple[str, str]
"""Path of a file, and what is looked for in it."""
Work = Callable[[Job], object]
"""What a worker does with a file; it gives plain data."""


class Told(NamedTuple):
    """What became of a file. worker: the number of the one that was at it; data: None if it ended there."""

    worker: int
    data: Any
    why: str = ""


class _Worker:
    def __init__(self, number: int, process: BaseProcess, line: Connection) -> None:
        self.number, self.process, self.line = number, process, line
        self.left: deque[Job] = deque()
        """What it was given and has not told of."""


class Pool:
    """Workers, at most `most`. start: makes what they do; it is called in each of them."""

    def __init__(self, jobs: Sequence[Job], most: int, start: Callable[[], Work]) -> None:
        self._waiting = deque(jobs)
        self._start = start
        self._told: dict[str, Told] = {}
        self._open = {path for path, _ in jobs}
        self._workers: dict[Connection, _Worker] = {}
        self._started = 0
        for _ in range(min(most, -(-len(jobs) // _AT_A_TIME))):
            self._begin()

    def result(self, path: str) -> Told | None:
        """What became of a file, once; None for one that is not among the jobs. Waits for it."""
        while path in self._open and path not in self._told:
            self._listen()
        self._open.discard(path)
        return self._told.pop(path, None)

    def end(self) -> None:
        """End at once what still runs."""
        for worker in self._workers.values():
            worker.process.kill()
        for line, worker in self._workers.items():
            worker.process.join()
            line.close()
        self._workers.clear()
        self._open.clear()

    def _begin(self) -> None:
        from multiprocessing import get_context

        context: Any = get_context(_START)
        line, theirs = context.Pipe()
        # A copy of this process has our ends of all lines open as well, and would never see that nobody is there.
        ours = [line, *self._workers] if _START == "fork" else []
        process = context.Process(target=_serve, args=(theirs, self._start, ours), daemon=True)
        with _uninterrupted():
            process.start()
        theirs.close()
        worker = self._workers[line] = _Worker(self._started, process, line)
        self._started += 1
        self._give(worker)

    def _give(self, worker: _Worker) -> None:
        jobs = [self._waiting.popleft() for _ in range(min(_AT_A_TIME, len(self._waiting)))]
        worker.left.extend(jobs)
        with suppress(OSError):  # it has ended, which is seen when it is listened to
            worker.line.send_bytes(json.dumps(jobs).encode())

    def _listen(self) -> None:
        from multiprocessing.connection import wait

        for line in wait(list(self._workers)):
            worker = self._workers[line]  # type: ignore[index]
            try:
                data = json.loads(worker.line.recv_bytes())
            except (EOFError, OSError):
                self._bury(worker)
                continue
            self._told[worker.left.popleft()[0]] = Told(worker.number, data)
            if len(worker.left) < _AT_A_TIME and self._waiting:
                self._give(worker)

    def _bury(self, worker: _Worker) -> None:
        """A worker has ended: its file is lost, the others go to another one."""
        worker.process.join()
        del self._workers[worker.line]
        worker.line.close()
        if worker.left:
            path, _ = worker.left.popleft()
            self._told[path] = Told(worker.number, None, _reason(worker.process.exitcode))
        self._waiting.extendleft(reversed(worker.left))
        if self._waiting:
            self._begin()


def _reason(status: int | None) -> str:
    if status is not None and status < 0:
        return f"signal {-status}"
    return f"exit status {status}"


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Keep the signals that end a run waiting: one that came between a worker's start and the note of its number, at
    whose end Python ends what was started, would leave the worker behind. The worker starts with them waiting, too."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(line: Connection, start: Callable[[], Work], ours: Sequence[Connection] = ()) -> None:
    """What a worker does: it ends when nobody gives it anything any more. ours: what it is to close first."""
    for each in ours:
        each.close()
    # An interrupt is for the process that reports, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in ENDING:
        # Python ends it by SIGTERM, if nobody else does; a hangup that `nohup` has ignored stays so.
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAITING)
    work = start()
    while True:
        try:
            jobs = json.loads(line.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)  # without writing out what the process that it is a copy of has not written
        for path, wanted in jobs:
            told = json.dumps(work((path, wanted))).encode()
            try:
                line.send_bytes(told)
            except OSError:
                os._exit(0)
