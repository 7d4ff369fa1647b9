"""What the model reads when an editor asks: the texts that are open there, and behind them the disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

from flake8_torchleak.model.reading import Reader
from flake8_torchleak.source import SourceError, decode, encode

Stamp = tuple[int, int, int]


class Overlay(Reader):
    """Unsaved texts count. What was made of files that have not changed is kept from check to check."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        super().__init__(notes=True)

    def forget(self) -> None:
        super().forget()
        self._stamps: dict[str, Stamp | None] = {}
        """Of all files and folders that were read from disk, as they were then."""

    def content(self, path: str) -> bytes:
        if path not in self._texts:
            self._stamps[path] = stamp_of(path)
            return super().content(path)
        text = self._texts[path]
        try:
            return encode(text, text.encode("utf-8"))
        except (SyntaxError, UnicodeError) as error:
            raise OSError(errno.EILSEQ, str(error)) from error

    def entries(self, folder: str) -> list[str]:
        self._stamps[folder] = stamp_of(folder)
        unsaved = [os.path.basename(path) for path in self._texts if os.path.dirname(path) == folder]
        try:
            return [*super().entries(folder), *unsaved]
        except OSError:
            if unsaved:
                return unsaved
            raise

    def lines_of(self, path: str) -> str:
        """The text of a file, as it is open or on disk; "" where it cannot be read."""
        with suppress(OSError, SourceError):
            return decode(self.content(path))
        return ""

    def show(self, texts: Mapping[str, str]) -> frozenset[str]:
        """Take these for the texts that are open; gives what has changed with it, as `changed` does."""
        differ = {path for path in {*texts, *self._texts} if texts.get(path) != self._texts.get(path)}
        before = {path: self._current(path) for path in differ}
        self._texts = dict(texts)
        now = {path: self._current(path) for path in differ}
        differ = {path for path in differ if now[path] != before[path]}
        # A file that is nowhere but in the editor is in its folder, too.
        return self.changed(differ | {os.path.dirname(each) for each in differ if None in (before[each], now[each])})

    def _current(self, path: str) -> str | None:
        """What is to be read at a path; None where there is nothing."""
        if path in self._texts:
            return self._texts[path]
        return self.lines_of(path) if os.path.exists(path) else None

    def changed(self, paths: Iterable[str]) -> frozenset[str]:
        paths = frozenset(paths)
        for path in paths:
            self._stamps.pop(path, None)
        return super().changed(paths)

    def behind(self) -> frozenset[str]:
        """What has changed on disk since it was read: files, folders, and what came into those or went."""
        found: set[str] = set()
        for path, stamp in self._stamps.items():
            if path in self._texts or stamp_of(path) == stamp:
                continue
            names: frozenset[str] | None = self._answers.get(("", path))
            found.add(path)
            if names is not None:
                with suppress(OSError):
                    found.update(os.path.join(path, name) for name in names ^ set(os.listdir(path)))
        return frozenset(found)


def stamp_of(path: str) -> Stamp | None:
    """What changes with a file, as far as the file system tells; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
