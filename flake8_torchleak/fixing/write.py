"""Writing a file: the old content or the new one is on disk at any moment, never a part of either.

The new content goes to a temporary file in the same folder, which then takes the old file's name in one step.
Killed in between by a signal that nobody can catch, the old file is whole; `.torchleak-*.tmp` may be left beside it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from flake8_torchleak.disk import read


class WriteError(Exception):
    """The file was left as it was; the message is one line for the user, without the path."""


def replace(path: str, old: bytes, new: bytes) -> None:
    """Replace the content of the file at `path`, which was read as `old`, by `new`.

    A symbolic link stays one: the file it leads to is replaced. Permissions are kept; owner, access lists and other
    extended attributes as far as the platform and the user's rights allow; times are not, the content is newer.

    Raises WriteError when the file is gone, is no regular file, is read-only, no longer holds `old`, or cannot be
    written (no space, no right to create files in its folder, ...); it is then as it was, without a temporary file.
    """
    try:
        real = os.path.realpath(path, strict=True)
        status = os.stat(real)
        if not stat.S_ISREG(status.st_mode):
            raise WriteError("is not a regular file; left alone")
        # Renaming needs no right to write the file itself, and root may write any: ask, and look, before.
        if not status.st_mode & 0o222 or not os.access(real, os.W_OK):
            raise WriteError("is read-only; left alone")
        # A hard link is cut here, and the file's other names keep the old content. Writing in place would keep it,
        # but would not be atomic, and would change files that nobody named: package managers link what they install
        # to a cache that other environments share.
        _exchange(real, status, old, new)
    except FileNotFoundError as error:
        dangling = os.path.islink(path)
        what = "is a symbolic link to nothing; left alone" if dangling else "vanished while it was being fixed"
        raise WriteError(what) from error
    except OSError as error:
        raise WriteError(f"cannot be written: {error.strerror or error}; left alone") from error
    _sync_folder(os.path.dirname(real))


def check(path: str) -> None:
    """Raise WriteError, as `put` would, where `put` could not write: nothing is changed."""
    real, status = _own(path)
    with _said():
        if status is not None and not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        probe = _beside(real)
        os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(probe)


def put(path: str, new: bytes) -> None:
    """Make `new` the content of the file at `path`, of our own making, whether there is one or not.

    Permissions and the like of an old one are kept, as far as `replace` keeps them.

    Raises WriteError where it cannot be written, is no regular file, or is a link, or reached through one, that a
    repository may hold: who names a file does not know where they lead. All is then as it was.
    """
    real, status = _own(path)
    with _said():
        if status is not None and status.st_size == len(new) and read(real) == new:
            return
        _exchange(real, status, None, new)
    _sync_folder(os.path.dirname(real))


def _own(path: str) -> tuple[str, os.stat_result | None]:
    """Where a file of our own lies, and what is there. Raises WriteError, as `put` does."""
    whole = os.path.abspath(path) if path else ""
    link = next((each for each in _upwards(whole) if os.path.islink(each) and (each == whole or _is_brought(each))), "")
    if link:
        raise WriteError("is a symbolic link" if link == whole else f"lies behind a symbolic link, {link}")
    with _said():
        try:
            status = os.lstat(whole or os.curdir)
        except FileNotFoundError:
            return whole, None
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(status.st_mode):
            raise WriteError("is not a regular file")
        if not status.st_mode & 0o222:
            raise WriteError("is read-only")
    return whole, status


def _upwards(path: str) -> Iterator[str]:
    """A path and the folders that it lies in, but for the root."""
    while path != os.path.dirname(path):
        yield path
        path = os.path.dirname(path)


def _is_brought(link: str) -> bool:
    """Whether a link may have come with a checkout: it lies in a repository, or below the current folder."""
    folder = os.path.realpath(os.path.dirname(link))
    here = os.path.realpath(os.curdir)
    return any(each == here or os.path.exists(os.path.join(each, ".git")) for each in _upwards(folder))


@contextmanager
def _said() -> Iterator[None]:
    """What the system refuses, as WriteError."""
    try:
        yield
    except OSError as error:
        raise WriteError(error.strerror or str(error)) from error


def _beside(real: str) -> str:
    # Short, for any name that fits can stand beside a name of full length, and of a kind no tool takes for Python.
    return os.path.join(os.path.dirname(real), f".torchleak-{os.urandom(6).hex()}.tmp")


def _exchange(real: str, status: os.stat_result | None, old: bytes | None, new: bytes) -> None:
    """status: of the file that is there, if there is one; old: what it has to hold, if that counts."""
    # Chosen before the file is made: whatever interrupts us from here on, there is a name to remove.
    temporary = _beside(real)
    try:
        with open(temporary, "xb", opener=_private if status else None) as file:
            file.write(new)
            file.flush()
            if status:
                _copy_attributes(real, file.fileno())
                _copy_permissions(status, file.fileno())
            os.fsync(file.fileno())
        if old is not None and read(real) != old:
            raise WriteError("changed while it was being fixed; left alone")
        os.replace(temporary, real)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _private(path: str, flags: int) -> int:
    # Until it has the permissions of the file it replaces, nobody else reads it.
    return os.open(path, flags, 0o600)


def _copy_attributes(real: str, descriptor: int) -> None:
    if not hasattr(os, "listxattr"):  # Linux alone has them in the standard library.
        return
    with suppress(OSError):  # Not every file system has them.
        names = set(os.listxattr(real))
        # A folder's default access list is inherited by new files: it may name people whom the file's own does not.
        for name in set(os.listxattr(descriptor)) - names:
            with suppress(OSError):
                os.removexattr(descriptor, name)
        for name in names:
            with suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(real, name))


def _copy_permissions(status: os.stat_result, descriptor: int) -> None:
    if not hasattr(os, "fchown"):  # Windows: being read-only is all the mode there is, and such a file was refused.
        return
    mode = status.st_mode & 0o777  # Not setuid and its like: the system drops them too when a file is written.
    try:
        os.fchown(descriptor, status.st_uid, status.st_gid)
    except OSError:
        # Somebody else's file, which we may write: keep at least the group through which that is usually so.
        try:
            os.fchown(descriptor, -1, status.st_gid)
        except OSError:
            # The file will be of our group, which was promised no more than everybody.
            mode &= 0o707 | (mode & 0o007) << 3
    os.fchmod(descriptor, mode)


def _sync_folder(folder: str) -> None:
    # So that the rename outlives a power cut. The file is replaced: where folders cannot be synced (Windows, some
    # file systems, a folder that may not be listed) there is nothing to tell.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
