"""What the operating system hands to the command: standard streams, which may be closed or broken, and signals."""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO

_STREAMS = (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))
"""Name and mode of each, in the order of their numbers; and how the number is taken where it is closed, so that no file
of ours gets it: reading stdin and writing stdout then fail as they do in other programs, and stderr goes nowhere."""
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows has no SIGHUP
"""The signals that end a run, beside the interrupt, which Python tells of itself."""


class Unwritable(Exception):
    """Stdout takes no more; the message is one line for the user."""


class Terminated(BaseException):
    """A signal ended the run: nothing catches it on the way, and all that cleans up does so. number: the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def open_streams() -> None:
    """Give what was closed before we began a stream of its own."""
    for name, mode, flags in _STREAMS:
        if getattr(sys, name) is None:
            # The lowest number that is free is given out, so each gets its own.
            descriptor = os.open(os.devnull, flags)
            stream = os.fdopen(descriptor, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
            setattr(sys, name, stream)


def settle() -> None:
    """Write out what is left in stdout and stderr. What can no longer be written must not fail when Python ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, stream.fileno())
                os.close(null)


def complain(text: str) -> None:
    """Write to stderr; where that cannot be written there is nobody to tell, and the exit status says it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def is_read(stream: TextIO) -> bool:
    """Whether a person reads a stream as it is: on a terminal, or in the log of a continuous integration.

    A regular file never is; a pipe is the log, as far as one can tell, where the environment says that there is one.
    """
    if stream.isatty():
        return True
    logged = any(os.environ.get(name, "").lower() not in ("", "0", "false") for name in ("CI", "GITHUB_ACTIONS"))
    try:
        return logged and not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # no file at all
        return logged


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn the signals that end a run into Terminated, so that no half-written file is left. Others' ways are kept."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in ENDING:
            # What was set before us stays so: `nohup` has SIGHUP ignored.
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number in before:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    # Once is enough: a second one must not stop the cleaning up.
    signal.signal(number, signal.SIG_IGN)
    raise Terminated(number)
