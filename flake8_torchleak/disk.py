"""How a file is read: only what is a regular file is ever opened, and no more of it than fits.

A checkout may hold pipes, sockets, devices and links to them under any name. Opening one can block for ever, or do
something; reading one need not end.
"""

from __future__ import annotations

import errno
import os
import stat

MOST = 100_000_000
"""Bytes of a file that a run was asked to read; GitHub takes no larger file into a repository."""
MOST_SETTINGS = 1_000_000
"""Bytes of a file of settings or of patterns."""


def read(path: str, most: int = MOST, links: bool = True) -> bytes:
    """The content of a file.

    links: whether a symbolic link is followed. Raises OSError, its `strerror` for the user, for what cannot be read, is
    no regular file, or has more than `most` bytes.
    """
    if "\0" in path:
        raise OSError(errno.EINVAL, "is not a possible file name")
    _check(os.stat(path, follow_symlinks=links), most)
    # It may have been exchanged since: opening a pipe does not wait, and what was opened is looked at again.
    flags = os.O_RDONLY | _flag("O_BINARY") | _flag("O_NONBLOCK") | _flag("O_NOCTTY")
    descriptor = os.open(path, flags if links else flags | _flag("O_NOFOLLOW"))
    with open(descriptor, "rb") as file:
        _check(os.fstat(file.fileno()), most)
        raw = file.read(most + 1)  # files of the system say that they have 0 bytes
    if len(raw) > most:
        raise _too_large(most)
    return raw


def _check(status: os.stat_result, most: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file")
    if status.st_size > most:
        raise _too_large(most)


def _too_large(most: int) -> OSError:
    return OSError(errno.EFBIG, f"is larger than {most:,} bytes")


def _flag(name: str) -> int:
    """A flag of `open` that not every platform has."""
    return getattr(os, name, 0)
