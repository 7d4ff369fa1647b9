"""One thread that does all analysis, the most urgent first: the model keeps what it reads, and is no more than one."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from concurrent.futures import Future
from enum import IntEnum
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")

_STACK = 64 << 20
"""Bytes of stack: deep code is nested deep on every platform, and some give a thread little."""


class Urgency(IntEnum):
    """What goes first: what somebody waits for, what is being typed, what follows from it, all the rest."""

    ASKED = 0
    TYPED = 1
    FOLLOWS = 2
    ALL = 3


class Worker:
    """Does jobs one at a time. Cancelling the Future of one that has not begun takes it back."""

    def __init__(self) -> None:
        self._jobs: list[tuple[int, int, Future[Any], Callable[[], Any]]] = []
        self._numbers = count()
        self._there = threading.Condition()
        self._ends = False
        before = threading.stack_size(_STACK)
        self._thread = threading.Thread(target=self._work, name="torchleak", daemon=True)
        self._thread.start()
        threading.stack_size(before)

    def submit(self, urgency: Urgency, work: Callable[[], T]) -> Future[T]:
        """Have some work done."""
        future: Future[T] = Future()
        with self._there:
            heapq.heappush(self._jobs, (urgency, next(self._numbers), future, work))
            self._there.notify()
        return future

    def end(self) -> None:
        """Do no more than what has begun, and wait for that."""
        with self._there:
            self._ends = True
            self._there.notify()
        self._thread.join(10)

    def _work(self) -> None:
        while True:
            with self._there:
                self._there.wait_for(lambda: self._jobs or self._ends)
                if self._ends:
                    return
                _, _, future, work = heapq.heappop(self._jobs)
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # a job must not end the others
                    future.set_exception(error)
            del future, work
