"""The files of the project around one module, found as Python would find them, without importing anything.

Relative and absolute imports, packages with and without `__init__.py`, `src` layouts, and names that are re-exported.
Files are parsed once per process; links out of the project are not followed.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeVar

from flake8_torchleak.model.files import File, imported
from flake8_torchleak.model.reading import Imports, forget, made, reader
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tops import found_top, roots
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.source import Source, parse

__all__ = ["Finder", "forget", "holds", "importing", "listing", "parsed", "real", "text_of", "whole"]

M = TypeVar("M")

_MOST_FILES = 40
"""Other files that are read for one module."""
_MOST_PARSED = 48
"""Files whose trees are kept, for the modules of the same project that ask next."""


class Finder:
    """Where a module's first-party imports lead."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._files: dict[str, File | None] = {}
        self._resolved: dict[tuple[str, str, bool], tuple[File, str] | None] = {}
        self._asked: set[tuple[str, str, bool]] = set()
        self.left_out = ""
        """What was not looked at, if anything, in words for a message."""

    def resolve(self, importer: str, qualname: str, assigned: bool = False) -> tuple[File, str] | None:
        """The file and top-level name that a dotted name stands for in the file `importer`, re-exports followed.

        assigned: not only functions and classes, also what is assigned there, or imported from a library.
        """
        key = importer, qualname, assigned
        if key in self._resolved:
            return self._resolved[key]
        if key in self._asked:
            return None  # modules that hand on each other's names
        outermost = not self._asked
        self._asked.add(key)
        found = self._find(importer, qualname, assigned)
        if found is not None or outermost:
            self._resolved[key] = found
        if outermost:
            self._asked.clear()
        return found

    def exports(self, importer: str, qualname: str) -> bool:
        """Whether a module gives a name to who imports all of its names."""
        home = self._home(importer, qualname)
        return home is not None and home[0].exports(home[1])

    def _find(self, importer: str, qualname: str, assigned: bool) -> tuple[File, str] | None:
        home = self._home(importer, qualname)
        return self._defined(*home, assigned) if home is not None else None

    def _home(self, importer: str, qualname: str) -> tuple[File, str] | None:
        """The module that a dotted name says has it, and the name there."""
        level = len(qualname) - len(qualname.lstrip("."))
        parts = qualname[level:].split(".")
        if not level and (parts[0] in sys.stdlib_module_names or not self.is_near(parts[0])):
            return None
        for root in [upwards(importer, level)] if level else self.homes(parts[0]):
            for count in range(len(parts) - 1, -1, -1):
                file = self._module(os.path.join(root, *parts[:count])) if count or level else None
                if file is not None and count == len(parts) - 1:
                    return file, parts[count]
                if file is not None:
                    return None
        return None

    def _defined(self, file: File, name: str, assigned: bool) -> tuple[File, str] | None:
        """Where a name of a module is defined: there, or where it is imported from."""
        if file.deletes(name):
            return None
        for statement in reversed(file.binding(name)):
            if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                return self._starred(file, name, assigned, statement.lineno) or (file, name)
            if assigned and isinstance(statement, (ast.Assign, ast.AnnAssign)):
                return file, name
            if isinstance(statement, ast.ImportFrom):
                alias = next(each for each in statement.names if (each.asname or each.name) == name)
                target = imported(statement, alias)
                if assigned and self._is_library(target):
                    return file, name
                return self.resolve(file.path, target, assigned)
            if assigned and isinstance(statement, ast.Import):
                return file, name
            if assigned and isinstance(statement, (ast.If, ast.Try)):
                return file, name
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and not _wraps(statement, name):
                return None
        return self._starred(file, name, assigned)

    def _starred(self, file: File, name: str, assigned: bool, behind: int = 0) -> tuple[File, str] | None:
        """Where a name is defined that a file may have by importing all names of a module, behind a line."""
        for star in reversed(file.stars):
            path = f"{'.' * star.level}{star.module or ''}.{name}"
            if star.lineno > behind and self.exports(file.path, path):
                found = self.resolve(file.path, path, assigned)
                if found is not None:
                    return found
        return None

    def outside(self, importer: str, qualname: str) -> tuple[str, str]:
        """A dotted name, or what it starts with, that a library defines and a module of the project hands on.

        How far it goes, and the library's dotted name for that; ("", "") if there is none.
        """
        level = len(qualname) - len(qualname.lstrip("."))
        parts = qualname[level:].split(".")
        for count in range(len(parts), 0, -1):
            start = qualname[:level] + ".".join(parts[:count])
            target = self.resolve(importer, start, assigned=True)
            found = target[0].handed_on(target[1]) if target is not None else ""
            if found and self._is_library(found):
                return start, found
        return "", ""

    def _is_library(self, target: str) -> bool:
        """Whether a name is imported from no module of the project."""
        head = target.partition(".")[0]
        return bool(head) and (head in sys.stdlib_module_names or not self.is_near(head))

    def imports(self, statements: Sequence[ast.Import | ast.ImportFrom]) -> list[str]:
        """The files of the modules that imports of this module name, without reading any."""
        found: dict[str, None] = {}
        for statement in statements:
            for alias in statement.names:
                name = imported(statement, alias) if isinstance(statement, ast.ImportFrom) else alias.name
                level = len(name) - len(name.lstrip("."))
                parts = name[level:].split(".")
                for root in [upwards(self.path, level)] if level else self._roots:
                    whole, holder = os.path.join(root, *parts), os.path.join(root, *parts[:-1])
                    found.update(dict.fromkeys(files_of(whole) or (files_of(holder) if len(parts) > 1 else ())))
        return list(found)

    def _module(self, place: str) -> File | None:
        """The module at a path without its ending: a file, or a package's `__init__`."""
        return next((self._read(path) for path in files_of(place)), None)

    def _read(self, path: str) -> File | None:
        if path not in self._files:
            if real(path) == real(self.path):
                return None
            if len(self._files) >= _MOST_FILES:
                self.left_out = f"it uses more than {_MOST_FILES} other files of its project"
                return None
            self._files[path] = parsed(path, self.top)
        return self._files[path]

    @cached_property
    def top(self) -> str:
        """The project's folder: the nearest above with a marker or papers, else what holds the outermost package."""
        return found_top(os.path.dirname(self.path))[0]

    @property
    def is_marked(self) -> bool:
        """Whether `top` is known to be a project's folder."""
        return found_top(self._folder)[1]

    @cached_property
    def _folder(self) -> str:
        return os.path.dirname(self.path)

    @cached_property
    def _roots(self) -> tuple[str, ...]:
        """Folders that absolute imports can start from, nearest first: no package's own, up to the project's top."""
        return roots(self._folder)

    @remembered
    def homes(self, head: str) -> list[str]:
        """Those of the folders that absolute imports can start from that hold a module or folder of this name.

        If there is none, the one that a program lies in: Python looks there first, be it a package's folder or not.
        """
        has = reader().has
        found = [root for root in self._roots if has(root, f"{head}.py") or has(root, head)]
        if not found and has(self._folder, f"{head}.py") and reader().holds(self.path, "__main__"):
            found = [self._folder]
        return found

    def packages(self, head: str) -> list[str]:
        """The folders that hold a package of this name; none if a module, or a bare folder, is called so as well."""
        homes = self.homes(head)
        return homes if all(reader().has(os.path.join(root, head), "__init__.py") for root in homes) else []

    def is_within(self, head: str) -> bool:
        """Whether the module lies in a package, or bare folder, of this name, from which imports can start."""
        return any(self.path.startswith(os.path.join(root, head, "")) for root in self.homes(head))

    def is_near(self, head: str) -> bool:
        """Whether a top-level name is a module of the project (or the import is relative)."""
        return head == "" or bool(self.homes(head))


def upwards(importer: str, level: int) -> str:
    """The folder that a relative import starts from."""
    folder = importer
    for _ in range(level):
        folder = os.path.dirname(folder)
    return folder


@made(8192)
def files_of(place: str) -> tuple[str, ...]:
    """The files that a module at a path without its ending may be, those that exist."""
    paths = (f"{place}.py", os.path.join(place, "__init__.py"))
    return tuple(path for path in paths if reader().has(*os.path.split(path)))


def listing(folder: str) -> frozenset[str]:
    """The names in a folder; empty if it cannot be read."""
    return reader().names(folder)


def real(path: str) -> str:
    """A path without links."""
    return reader().real(path)


def _inside(path: str, top: str) -> str:
    """Where a file is, if that is inside the project; else ""."""
    place = real(path)
    return place if place.startswith(os.path.join(real(top), "")) else ""


def text_of(path: str, top: str) -> str | None:
    """The text of a file inside the project; None if it is too large, elsewhere, no file, or cannot be read."""
    place = _inside(path, top)
    return reader().text(place) if place else None


def holds(path: str, top: str, word: str) -> bool:
    """Whether a word stands in a file inside the project."""
    place = _inside(path, top)
    return bool(place) and reader().holds(place, word)


def importing(path: str, top: str) -> Imports:
    """The words of the import statements of a file inside the project."""
    place = _inside(path, top)
    return reader().imports(place) if place else ()


@made(_MOST_PARSED)
def parsed(path: str, top: str) -> File | None:
    """The file at a path inside the project; None if it cannot be read or parsed."""
    return _made(path, top, lambda text: File(path, text))


@made(16)
def whole(path: str, top: str) -> tuple[Source, ast.Module] | None:
    """All of the file at a path inside the project; None if it cannot be read or parsed."""
    return _made(path, top, lambda text: (Source(text), parse(text)))


def _made(path: str, top: str, make: Callable[[str], M]) -> M | None:
    """What is made of the text of a file inside the project."""
    text = text_of(path, top)
    try:
        return make(text) if text is not None else None
    except SyntaxError:
        return None


def _wraps(statement: ast.Assign | ast.AnnAssign, name: str) -> bool:
    """Whether a name is bound anew to what is made of itself: `step = timed(step)`."""
    value = statement.value
    return value is None or any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))
