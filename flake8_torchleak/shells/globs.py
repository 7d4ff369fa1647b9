"""The globs of settings (`exclude`, `per-file-ignores`): gitignore patterns, each relative to a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby
from typing import NamedTuple

from flake8_torchleak.shells.gitignore import Patterns


class Glob(NamedTuple):
    """A pattern, and the absolute folder that it is relative to."""

    pattern: str
    folder: str


class Globs:
    """Some globs; the last one that matches decides, as in a `.gitignore` file."""

    def __init__(self, globs: Iterable[Glob]) -> None:
        groups = groupby(globs, key=lambda glob: glob.folder)
        self._groups = [(folder, Patterns("\n".join(pattern for pattern, _ in group))) for folder, group in groups][
            ::-1
        ]

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """True where the absolute `path` itself is matched, False where a pattern with "!" takes it back, else None."""
        for folder, patterns in self._groups:
            name = relative(path, folder)
            # What the pattern's folder lies in is not its business, whatever it is called.
            if name.rpartition("/")[2] not in (os.curdir, os.pardir):
                verdict = patterns.verdict(name, is_folder)
                if verdict is not None:
                    return verdict
        return None

    def cover(self, path: str, is_folder: bool = False) -> bool:
        """Whether the absolute `path`, or a folder that it lies in, is matched."""
        chain = [(path, is_folder)]
        while (above := os.path.dirname(path)) != path:
            chain.append((above, True))
            path = above
        # From the top: as for git, what lies in a folder that is left out is not taken back in.
        return any(self.verdict(*each) for each in reversed(chain))


def relative(path: str, folder: str) -> str:
    """The absolute `path` as seen from the absolute `folder`, with "/"; as it is where no way leads there."""
    inside = os.path.join(folder, "")
    if path.startswith(inside):
        path = path[len(inside) :]
    else:
        with suppress(ValueError):  # another drive
            path = os.path.relpath(path, folder)
    return path.replace(os.sep, "/")
