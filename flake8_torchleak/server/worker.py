"""One thread that does all analysis, the most urgent first: the model keeps what it reads, and is no more than one.

What nobody waits for any more is stopped, and what nobody is looking at makes room for what is urgent.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from enum import IntEnum
from functools import partial
from itertools import count
from typing import Any, Generic, TypeVar

from flake8_torchleak.stopping import Stopped, stopped_if

T = TypeVar("T")

_STACK = 64 << 20
"""Bytes of stack: deep code is nested deep on every platform, and some give a thread little."""
_REST = 0.3
"""Seconds without a job after which there is nothing to do: what was done is shown by then."""


class Urgency(IntEnum):
    """What goes first: what somebody waits for, what is being typed, what follows from it, all the rest."""

    ASKED = 0
    TYPED = 1
    FOLLOWS = 2
    ALL = 3


class Job(Future[T], Generic[T]):
    """Some work, and what it gives. Cancelling it takes it back, or stops it at the next place where it can stop."""

    def __init__(self, urgency: Urgency, work: Callable[[], T]) -> None:
        super().__init__()
        self.urgency, self._work = urgency, work
        self.is_unwanted = False

    def cancel(self) -> bool:
        self.is_unwanted = True
        return super().cancel()

    def run(self, makes_room: Callable[[], bool]) -> bool:
        """Do the work; whether that is done, or need not be. makes_room: whether something else is to be done first."""
        if not self.running() and not self.set_running_or_notify_cancel():
            return True
        try:
            with stopped_if(lambda: self.is_unwanted or makes_room()):
                self.set_result(self._work())
        except Stopped:
            if not self.is_unwanted:
                return False
            self.set_exception(CancelledError())
        except BaseException as error:  # a job must not end the others
            self.set_exception(error)
        return True


class Worker:
    """Does jobs one at a time."""

    def __init__(self, tidy: Callable[[bool], None]) -> None:
        """tidy: what is done after a job, and again where there was none for a moment: it is told which."""
        self._tidy = tidy
        self._jobs: list[tuple[int, int, Job[Any]]] = []
        self._numbers = count()
        self._there = threading.Condition()
        self._ends = False
        before = threading.stack_size(_STACK)
        self._thread = threading.Thread(target=self._work, name="torchleak", daemon=True)
        self._thread.start()
        threading.stack_size(before)

    def submit(self, urgency: Urgency, work: Callable[[], T]) -> Job[T]:
        """Have some work done. What is stopped to make room is begun anew: all of it, later."""
        job = Job(urgency, work)
        with self._there:
            heapq.heappush(self._jobs, (urgency, next(self._numbers), job))
            self._there.notify()
        return job

    def end(self) -> None:
        """Do no more, and wait until what has begun has stopped."""
        with self._there:
            self._ends = True
            self._there.notify()
        self._thread.join(10)

    def _work(self) -> None:
        wait: float | None = None
        while True:
            with self._there:
                there = self._there.wait_for(lambda: self._jobs or self._ends, wait)
                if self._ends:
                    return
                first = heapq.heappop(self._jobs) if there else None
            if first is None:
                self._tidy(True)
                wait = None
                continue
            wait, job = _REST, first[-1]
            if not job.run(partial(self._makes_room, job.urgency)):
                with self._there:
                    heapq.heappush(self._jobs, first)
            self._tidy(False)
            del first, job

    def _makes_room(self, urgency: Urgency) -> bool:
        """Whether what is done, and nobody looks at, is to wait: something more urgent is there, or the end."""
        if self._ends:
            return True
        waiting = self._jobs[:1]
        return urgency >= Urgency.FOLLOWS and any(first < urgency and not job.is_unwanted for first, _, job in waiting)
