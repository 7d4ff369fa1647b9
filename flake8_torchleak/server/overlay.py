"""What the model reads when an editor asks: the texts that are open there, and behind them the disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

from flake8_torchleak.model.reading import Imports, Question, Reader
from flake8_torchleak.source import SourceError, decode, encode

_CONTENT = frozenset({"text", "holds", "imports"})
"""The questions that the content of a file answers."""
_PLACES = frozenset({"names", "has", "is_folder", "real"})
"""Those that folders answer. All others are rows of tables of what is imported."""
IMPORTS, NAMES = "imports", "names"
"""Among the paths of what has changed: what the project imports; and which files there are, and which are links."""

Stamp = tuple[int, int, int]


class Overlay(Reader):
    """Unsaved texts count. What was made of files that have not changed is kept from check to check."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        super().__init__(notes=True)

    def forget(self) -> None:
        super().forget()
        self._imports: dict[str, Imports] = {}
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

    def imports(self, path: str) -> Imports:
        self._note("imports", path)
        if path not in self._imports:
            with self.noted():
                self._imports[path] = super().imports(path)
        return self._imports[path]

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
        differ = {path for path in differ if self._current(path) != before[path]}
        return self.changed(differ, any(before[path] is None or self._current(path) is None for path in differ))

    def _current(self, path: str) -> str | None:
        """What is to be read at a path; None where there is nothing."""
        if path in self._texts:
            return self._texts[path]
        return self.lines_of(path) if os.path.exists(path) else None

    def changed(self, paths: Iterable[str], names: bool = False) -> frozenset[str]:
        """Forget what was made of some files. names: files came or went, or were exchanged for links.

        Gives the paths, and IMPORTS and NAMES among them if these may have changed.
        """
        paths = frozenset(paths)
        if names:
            self.forget()
            return paths | {IMPORTS, NAMES}
        if not paths:
            return paths
        before = {path: self._imports.pop(path, None) for path in paths}
        for question in [each for each in self._answers if each[0] in _CONTENT and each[1] in paths]:
            del self._answers[question]
        for kept in self._made.values():
            stale = [key for key, (_, asked) in kept.items() if any(_is_about(each, paths) for each in asked)]
            for key in stale:
                del kept[key]
        for path in paths:
            self._stamps.pop(path, None)
            self.files.pop(path, None)
        with self.noted():
            imports = any(known is not None and known != self.imports(path) for path, known in before.items())
        if imports:
            self._rows.clear()
            self.tables.clear()
        return paths | {IMPORTS} if imports else paths

    def behind(self) -> tuple[frozenset[str], bool]:
        """The files and folders that have changed on disk since they were read; and whether some came or went."""
        gone = {path for path, stamp in self._stamps.items() if path not in self._texts and stamp_of(path) != stamp}
        return frozenset(gone), any(os.path.isdir(each) or not os.path.exists(each) for each in gone)

    def concerns(self, asked: Iterable[Question], changed: frozenset[str]) -> bool:
        """Whether the answers to some questions may be others since something has changed."""
        return any(
            _is_about(each, changed)
            or (NAMES if each[0] in _PLACES else "" if each[0] in _CONTENT else IMPORTS) in changed
            for each in asked
        )


def _is_about(question: Question, paths: frozenset[str]) -> bool:
    return question[0] in _CONTENT and question[1] in paths


def stamp_of(path: str) -> Stamp | None:
    """What changes with a file, as far as the file system tells; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
