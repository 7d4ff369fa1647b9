"""The list of checkouts that a scan reads, and what git knows of each."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from flake8_torchleak.config import ConfigError
from flake8_torchleak.disk import read
from flake8_torchleak.source import SourceError, decode

_REMOTE = re.compile(r"[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?\Z")


class Repository(NamedTuple):
    """A checkout. name: what to call it, of which there is one in a scan; commit: empty where git knows none."""

    name: str
    path: str
    commit: str


def repositories(file: str) -> list[Repository]:
    """The checkouts that a file lists: a folder a line, which a name and a tab may precede; `#` begins a comment.

    A name that is not given is that of the remote `origin`, or else the folder. Raises ConfigError, one line, for a
    file that cannot be read, lists nothing, or gives one name to two folders.
    """
    try:
        text = decode(read(file))
    except (OSError, SourceError) as error:
        raise ConfigError(f"scan: {file}: {getattr(error, 'strerror', None) or error}") from None
    found: dict[str, Repository] = {}
    for number, given, path in _lines(text):
        name = given or _remote(path) or path
        if name in found:
            raise ConfigError(
                f"scan: {file}:{number}: {name!r} is {found[name].path!r} already: put another name and a tab before it"
            )
        found[name] = Repository(name, path, _git(path, "rev-parse", "--verify", "HEAD"))
    if not found:
        raise ConfigError(f"scan: {file}: lists no folder")
    return list(found.values())


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Number, name (or nothing) and folder of each line that has one."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            name, _, path = line.rpartition("\t")
            yield number, name.strip(), path.strip()


def _remote(path: str) -> str:
    """ "owner/name" of the remote `origin`; empty where there is none."""
    found = _REMOTE.search(_git(path, "remote", "get-url", "origin"))
    return found[1] if found else ""


def _git(path: str, *arguments: str) -> str:
    """What git says about a checkout; empty where it says nothing, or `path` is in a checkout and none itself."""
    if not os.path.lexists(os.path.join(path, ".git")):
        return ""
    try:
        # A checkout's own settings may name programs to run: none of these questions starts any, but for this one.
        done = subprocess.run(
            ["git", "-C", path, "-c", "core.fsmonitor=false", *arguments], capture_output=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
