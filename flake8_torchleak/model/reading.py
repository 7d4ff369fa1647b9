"""The one way in which the model asks for what lies around a module: other files, folders, and where links lead.

A reader remembers its answers for as long as it lives, and can note every question that was asked, those too to which
nothing was found: whoever keeps findings (`shells/cache/`) asks them again to learn whether the findings still hold.
A subclass that answers `content` and `entries` in another way shows the model other texts than those on disk.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

from flake8_torchleak.disk import read
from flake8_torchleak.model.signs import Seen, digest, signed, status
from flake8_torchleak.source import SourceError, decode

F = TypeVar("F", bound=Callable[..., Any])

Question = tuple[str, ...]
"""What was asked: one of the methods of Reader, by name, and its arguments; or a row of a table (`Reader.row`)."""
Imports = tuple[tuple[str, str, str], ...]

_LARGEST = 400_000
"""Bytes of a file that is still read."""
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+\(?([^#\n]*)|import[ \t]+([^#\n]+))", re.MULTILINE)
_LINKS_ARE_SIMPLE = os.name == "posix"
"""Whether a path leads through a link only where one of its parts is one."""


_OF_PATHS = frozenset({"", "text", "holds", "imports", "names", "is_folder", "real"})
"""The questions about one path, their first argument. All others but "has" are rows of tables of what is imported."""
IMPORTS = "imports"
"""Stands, among the paths of what has changed, for what the project imports."""


def about(question: Question) -> str:
    """The path that a question is about, or IMPORTS."""
    if question[0] == "has":
        return os.path.join(question[1], question[2])
    return question[1] if question[0] in _OF_PATHS else IMPORTS


def concerns(asked: Iterable[Question], changed: frozenset[str]) -> bool:
    """Whether the answers to some questions may be others since something has changed."""
    return any(about(each) in changed for each in asked)


def _is_cache(name: str) -> bool:
    """Whether a folder is what Python, or a tool, makes beside the sources, and nobody imports: ours comes and goes."""
    return name == "__pycache__" or (name[:1] == "." and name.endswith("_cache"))


class Reader:
    """Reads from disk. notes: whether questions are noted, for `noted`; it costs a digest of what is read."""

    def __init__(self, notes: bool = False) -> None:
        self.notes = notes
        self._noted: dict[Question, None] = {}
        self.forget()

    def forget(self) -> None:
        """Forget what was read: it may have changed."""
        self.files: dict[str, Seen] = {}
        """What was read, by path without links; only if questions are noted."""
        self.folders: dict[str, Seen] = {}
        """What was listed; only if questions are noted."""
        self.tables: dict[Question, tuple[Question, ...]] = {}
        """The tables that rows were asked of, each with the questions whose answers it is made of."""
        self._rows: dict[Question, dict[str, Any] | None] = {}
        self._answers: dict[Question, Any] = {}
        self.marks: dict[str, str] = {}
        """The digest of each file's imports; only if questions are noted."""
        self._imports: dict[str, Imports] = {}
        self._states: dict[str, os.stat_result | None] = {}
        self._plain: dict[str, bool] = {}
        self._made: dict[object, dict[tuple[object, ...], tuple[Any, tuple[Question, ...]]]] = {}

    # -- What a subclass may answer in another way ------------------------------------------------------------

    def content(self, path: str) -> bytes:
        """The content of a file. Raises OSError for what cannot be read or is too large."""
        return read(path, _LARGEST)

    def entries(self, folder: str) -> list[str]:
        """The names in a folder. Raises OSError for what cannot be listed."""
        return os.listdir(folder)

    # -- Questions --------------------------------------------------------------------------------------------

    def names(self, folder: str) -> frozenset[str]:
        """The names in a folder; empty if it cannot be read."""
        found: frozenset[str] = self._kept(("names", folder), self._listed, folder)
        return found

    def has(self, folder: str, name: str) -> bool:
        """Whether a name is in a folder: an answer that other names do not change."""
        self._note("has", folder, name)
        return name in self._listed(folder)

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder, and no link to one."""
        found: bool = self._kept(("is_folder", path), self._is_folder, path)
        return found

    def real(self, path: str) -> str:
        """A path without links."""
        found: str = self._kept(("real", path), self._real, path)
        return found

    def text(self, path: str) -> str | None:
        """The text of a file; None if it is too large or cannot be read. Texts are large: none is remembered."""
        self._note("text", path)
        return self._text(path)

    def holds(self, path: str, word: str) -> bool:
        """Whether a word stands in a file: few do, and many modules ask."""
        found: bool = self._kept(("holds", path, word), lambda *_: word in (self._text(path) or ""))
        return found

    def imports(self, path: str) -> Imports:
        """The words of the import statements of a file: (module, names), or modules."""
        self._note("imports", path)
        found = self._imports.get(path)
        if found is None:
            found = self._imports[path] = tuple(_IMPORT.findall(self._text(path) or ""))
            if self.notes:
                self.marks[path] = digest(repr(found))
        return found

    # -- What is made of the answers --------------------------------------------------------------------------

    def made(self, make: Callable[..., Any], arguments: tuple[Any, ...], most: int) -> Any:
        """What a function makes of answers, and of nothing else: worked out once for the same arguments.

        most: how many such things are kept.
        """
        kept = self._made.setdefault(make, {})
        found = kept.pop(arguments, None)
        if found is None:
            with self.noted() as asked:
                value = make(*arguments)
            found = value, tuple(asked)
            if len(kept) >= most:
                del kept[next(iter(kept))]
        kept[arguments] = found
        if self.notes:
            self._noted.update(dict.fromkeys(found[1]))
        return found[0]

    def row(self, make: Callable[..., dict[str, Any] | None], arguments: tuple[str, ...], key: str) -> Any:
        """One row of a table, () if it has none; None if there is no table. All that is noted is the row itself.

        make: makes the table, by row, of the answers to many questions; its name is the table's.
        """
        table = (make.__name__, *arguments)
        if table not in self._rows:
            before, self._noted = self._noted, {}
            try:
                self._rows[table] = make(*arguments)
                self.tables[table] = tuple(self._noted)
            finally:
                self._noted = before
        rows = self._rows[table]
        self._note(*table, key)
        return None if rows is None else rows.get(key, ())

    @contextmanager
    def noted(self) -> Iterator[dict[Question, None]]:
        """The questions that are asked meanwhile, in order; empty if none are noted."""
        before, self._noted = self._noted, {}
        try:
            yield self._noted
        finally:
            before.update(self._noted)
            self._noted = before

    # -- What has changed -------------------------------------------------------------------------------------

    def changed(self, paths: Iterable[str]) -> frozenset[str]:
        """Forget what was made of some files, and of the names in some folders; the rest is kept.

        Gives the paths, and IMPORTS among them if what the project imports may have changed: see `concerns`.
        """
        paths = frozenset(paths)
        if not paths:
            return paths
        for question in [each for each in self._answers if about(each) in paths]:
            del self._answers[question]
        for kept in self._made.values():
            for key in [key for key, (_, asked) in kept.items() if concerns(asked, paths)]:
                del kept[key]
        before = {path: self._imports.pop(path) for path in paths if path in self._imports}
        said: tuple[dict[str, Any], ...] = (self.files, self.folders, self.marks, self._states, self._plain)
        for path in paths:
            for each in said:
                each.pop(path, None)
        with self.noted():
            differs = frozenset(path for path, imports in before.items() if self.imports(path) != imports)
        rows = [
            table
            for table, asked in self.tables.items()
            if any(about(each) in (differs if each[0] == IMPORTS else paths) for each in asked)
        ]
        for table in rows:
            del self._rows[table], self.tables[table]
        return paths | {IMPORTS} if rows else paths

    # -- Inside -----------------------------------------------------------------------------------------------

    def _note(self, *question: str) -> None:
        if self.notes:
            self._noted[question] = None

    def _kept(self, question: Question, work: Callable[..., Any], *arguments: str) -> Any:
        if self.notes:
            self._noted[question] = None
        if question in self._answers:
            return self._answers[question]
        answer = self._answers[question] = work(*arguments)
        return answer

    def _listed(self, folder: str) -> frozenset[str]:
        found: frozenset[str] | None = self._answers.get(("", folder))
        if found is None:
            sign = signed(status(folder)) if self.notes else ""
            try:
                found = frozenset(each for each in self.entries(folder) if not _is_cache(each))
            except OSError:
                found = frozenset()
            self._answers["", folder] = found
            if self.notes:
                self.folders[folder] = Seen(sign, digest("\0".join(sorted(found))))
        return found

    def _real(self, path: str) -> str:
        folder, name = os.path.split(path)
        if _LINKS_ARE_SIMPLE and name not in ("", os.curdir, os.pardir) and self._is_plain(folder):
            state = self.state(path)
            if state is None or not stat.S_ISLNK(state.st_mode):
                return path
        return os.path.realpath(path)

    def state(self, path: str) -> os.stat_result | None:
        """What the file system says of a path, not of what a link there leads to; None if there is none. Asked once."""
        if path not in self._states:
            try:
                self._states[path] = os.lstat(path)
            except (OSError, ValueError):
                self._states[path] = None
        return self._states[path]

    def _is_folder(self, path: str) -> bool:
        state = self.state(path)
        return state is not None and stat.S_ISDIR(state.st_mode)

    def _is_plain(self, folder: str) -> bool:
        """Whether a folder is reached through no link."""
        found = self._plain.get(folder)
        if found is None:
            above, name = os.path.split(folder)
            found = folder == os.sep or (
                name not in ("", os.curdir, os.pardir) and self._is_folder(folder) and self._is_plain(above)
            )
            self._plain[folder] = found
        return found

    def _text(self, path: str) -> str | None:
        sign = signed(self.state(path)) if self.notes else ""
        raw: bytes | None = None
        try:
            raw = self.content(path)
            return decode(raw)
        except (OSError, SourceError):
            return None
        finally:
            if self.notes:
                self._saw(path, Seen(sign, digest(raw) if raw is not None else ""))

    def _saw(self, path: str, seen: Seen) -> None:
        known = self.files.setdefault(path, seen)
        if known.digest != seen.digest:
            self.files[path] = Seen("", "?")  # it changed while we looked: of no use to anybody later


_reader: ContextVar[Reader] = ContextVar("reader", default=Reader())  # noqa: B039


def reader() -> Reader:
    """The reader that is asked."""
    return _reader.get()


@contextmanager
def reading(by: Reader) -> Iterator[Reader]:
    """Ask this reader."""
    before = _reader.set(by)
    try:
        yield by
    finally:
        _reader.reset(before)


def forget() -> None:
    """Forget what was read: for processes that outlive changes on disk."""
    reader().forget()


def made(most: int) -> Callable[[F], F]:
    """A function of answers, and of its arguments: a reader works it out once. most: see `Reader.made`."""

    def decorated(function: F) -> F:
        @wraps(function)
        def answer(*arguments: object) -> object:
            return _reader.get().made(function, arguments, most)

        return answer  # type: ignore[return-value]

    return decorated
