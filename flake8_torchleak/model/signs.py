"""What tells that a file or folder is as it was: what the file system says of it, and its content in short."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

Sign = str
"""What a file system says of a file: device, number, size, times of change of its content and of what is said of it.

Empty where that may be the same after a change.
"""

_SETTLED = 2_000_000_000
"""Nanoseconds, of the clock that tells times worst, after which a file that is changed again gets another time."""
_HAS_TIME_OF_CHANGE = os.name == "posix"


class Seen(NamedTuple):
    """A file or folder as it was read. digest: of the file's bytes ("" if it has none), or of the folder's names."""

    sign: Sign
    digest: str


def status(path: str) -> os.stat_result | None:
    """What the file system says of a path, or of what a link there leads to; None if there is none."""
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def signed(state: os.stat_result | None) -> Sign:
    """The sign of a file or folder, or of none; empty where it does not tell whether that is changed later."""
    return "" if state is not None and not is_settled(state) else sign(state)


def sign(status: os.stat_result | None) -> Sign:
    """What the file system says of a file, as one text; that there is none is told too."""
    if status is None:
        return "none"
    return f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def is_settled(status: os.stat_result) -> bool:
    """Whether a later change shows in what the file system says.

    Not where the last one was just now (within one tick of the clock there can be another), or will be, by its time;
    nor where the system keeps no time of change that programs cannot set.
    """
    past = time.time_ns() - _SETTLED
    recent = past < status.st_mtime_ns < past + 2 * _SETTLED
    return _HAS_TIME_OF_CHANGE and status.st_ctime_ns < past and not recent


def digest(content: bytes | str) -> str:
    """A short name of a content, which no other has."""
    import hashlib  # only here: it loads a library of its own

    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.blake2b(raw, digest_size=16).hexdigest()
