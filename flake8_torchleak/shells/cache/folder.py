"""Where findings are kept, and whether what lies there may be read: what came with a checkout is not ours."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

from flake8_torchleak.disk import read
from flake8_torchleak.model.tops import MARKERS

NAME = ".torchleak_cache"
_FILE = re.compile(r"findings-[0-9a-f]{8}\.json|\.torchleak-[0-9a-f]{12}\.tmp")
_GIT_IGNORES = b"# Made by torchleak: findings of earlier runs.\n*\n"
_MOST_FILES = 8
"""Files of findings: one for each set of settings."""


def beside(settings: str) -> str:
    """The folder for the project here; "" where there is none. settings: its file of settings, if it has one."""
    if settings:
        return os.path.join(os.path.dirname(settings), NAME)
    path = os.getcwd()
    while not any(os.path.lexists(os.path.join(path, each)) for each in MARKERS):
        if os.path.dirname(path) == path:
            return ""
        path = os.path.dirname(path)
    return os.path.join(path, NAME)


def is_ours(folder: str) -> bool:
    """Whether a folder is one, no link, belongs to this user, and is not part of a repository."""
    try:
        state = os.lstat(folder)
    except OSError:
        return False
    if not stat.S_ISDIR(state.st_mode) or (hasattr(os, "geteuid") and state.st_uid != os.geteuid()):
        return False
    return not _is_tracked(folder)


def make(folder: str) -> bool:
    """Make the folder, if there is none; whether it may be written to. Git leaves it out."""
    try:
        os.mkdir(folder)
    except FileExistsError:
        return is_ours(folder)
    except OSError:
        return False
    with suppress(OSError), open(os.path.join(folder, ".gitignore"), "xb") as file:
        file.write(_GIT_IGNORES)
    return is_ours(folder)


def tidy(folder: str) -> None:
    """Leave only so many files, the newest."""
    with suppress(OSError):
        found = sorted(_files(folder), key=lambda path: -os.lstat(path).st_mtime_ns)
        for path in found[_MOST_FILES:]:
            os.unlink(path)


def clear(folder: str) -> bool:
    """Remove what we put there, and the folder if it is empty then; False if there is none of ours."""
    if not is_ours(folder):
        return False
    for path in _files(folder):
        os.unlink(path)
    ignore = os.path.join(folder, ".gitignore")
    with suppress(OSError):
        if read(ignore, len(_GIT_IGNORES), links=False) == _GIT_IGNORES:
            os.unlink(ignore)
        os.rmdir(folder)
    return True


def _files(folder: str) -> list[str]:
    return [os.path.join(folder, name) for name in os.listdir(folder) if _FILE.fullmatch(name)]


def _is_tracked(folder: str) -> bool:
    """Whether git's index has something in a folder, or may have."""
    path = os.path.realpath(folder)
    names = []
    while not os.path.lexists(os.path.join(path, ".git")):
        path, name = os.path.split(path)
        names.append(name)
        if not name:
            return False
    inside = os.fsencode("/".join(reversed(names)) + "/")
    try:
        git = _git(os.path.join(path, ".git"))
        indexes = [name for name in os.listdir(git) if name == "index" or name.startswith("sharedindex.")]
        return any(_may_hold(read(os.path.join(git, name)), inside) for name in indexes)
    except (OSError, ValueError):
        return True


def _git(path: str) -> str:
    """The folder of a checkout's index: `.git`, or what a file of that name tells. Raises OSError, ValueError."""
    if os.path.isdir(path):
        return path
    start, _, place = os.fsdecode(read(path, 10_000)).strip().partition(": ")
    if start != "gitdir" or not place:
        raise ValueError("no checkout")
    return os.path.join(os.path.dirname(path), place)


def _may_hold(index: bytes, inside: bytes) -> bool:
    """Whether a path that begins so may stand in an index. From version 4 on only the ends of paths do."""
    return inside in index or int.from_bytes(index[4:8], "big") > 3
