"""Imports of a program's own modules that fail: of a module that is not there, or of a name that is not in it."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.firstparty import Finder, files_of, holds, listing, parsed, upwards
from flake8_torchleak.model.importers import files_below
from flake8_torchleak.model.reading import made, reader

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_SUBMODULES = ".gitmodules"
_MOST_FILES = 3000
_MOST_IMPORTED = 30
"""Modules that are looked into, one imported by the other."""
_SOURCES = (
    ".c", ".cc", ".cpp", ".cu", ".pyx", ".pyf", ".f90", ".i", "setup.py", "build.py", "CMakeLists.txt", "Makefile",
)  # fmt: skip
"""Of what modules are built."""
_BINDING = ("import *", "__getattr__", "globals(", "locals(", "exec(", "sys.modules", "setattr(", "__dict__")
"""What may bind names of a module that do not stand in it."""


def is_broken(module: Module) -> bool:
    """Whether importing a module fails: what it imports first, of its own project, is not there.

    Itself, or a module of the project that it imports. Not where another repository, or a build, may put it there.
    """
    project = module.project
    if project is None or not project.is_marked:
        return False
    known = module.shared.get(_KNOWN)
    if known is None:
        known = module.shared[_KNOWN] = _fails(os.path.abspath(str(module.path)), module.root.body, project.top)
    return bool(known)


_KNOWN = "imports that fail"


def _fails(path: str, body: Iterable[ast.stmt], top: str) -> bool:
    if reader().has(top, _SUBMODULES):
        return False
    found = _looked_at(path, body, top)
    seen, waiting = {path}, [] if found is None else found
    while found is not None and waiting:
        file = waiting.pop()
        if file not in seen and len(seen) < _MOST_IMPORTED:
            seen.add(file)
            found = _looked_into(file, top)
            waiting = [*waiting, *(found or ())]
    return found is None


@made(_MOST_FILES)
def _looked_into(path: str, top: str) -> list[str] | None:
    """The files of the project that one imports first; None if that fails. Many files import the same ones."""
    file = parsed(path, top)
    return _looked_at(path, file.statements, top) if file is not None else []


def _looked_at(path: str, body: Iterable[ast.stmt], top: str) -> list[str] | None:
    imports = [each for each in body if isinstance(each, (ast.Import, ast.ImportFrom))]
    if any(_leads_nowhere(path, each, top) for each in imports):
        return None
    return [file for each in imports for file in _imported(path, each)]


def _leads_nowhere(path: str, statement: ast.Import | ast.ImportFrom, top: str) -> bool:
    """Whether an import names a module of the project, or a name in one, that there is not."""
    if isinstance(statement, ast.Import):
        return any(_is_nowhere(path, each.name, top) for each in statement.names)
    if not statement.module:
        return False
    if statement.level:
        is_missing = not _is_built(statement.module.split(".")) and _is_missing(path, statement, top)
    else:
        is_missing = _is_nowhere(path, statement.module, top)
    return is_missing or any(_is_unbound(path, statement, each.name, top) for each in statement.names)


def _is_missing(path: str, statement: ast.ImportFrom, top: str) -> bool:
    """Whether a relative import names a module that is no file, folder or extension where it would have to be."""
    folder = upwards(path, statement.level)
    if os.path.commonpath((folder, top)) != top:
        return _is_repository(top)
    return _ends_at(folder, (statement.module or "").split("."))


def _is_repository(top: str) -> bool:
    """Whether a folder is one, and no submodule of another, whose `.git` is a file: nothing above it is its own."""
    return reader().is_folder(os.path.join(top, ".git"))


def _is_nowhere(path: str, name: str, top: str) -> bool:
    """Whether an absolute import names a module in a package of the project, and no file anywhere has such a path.

    Scripts add folders to `sys.path`.
    """
    head, *rest = name.split(".")
    finder = Finder(path)
    homes = finder.homes(head) if rest else []
    if not homes or _is_built(rest):
        return False
    if not all(_ends_at(os.path.join(home, head), rest) for home in homes):
        return False
    if not finder.packages(head) and not _is_imported_from(homes, head, top):
        return False
    return _ending(top, [head, *rest]) == []


def _is_imported_from(homes: list[str], head: str, top: str, apart: str = "") -> bool:
    """Whether some file of the project names a module that lies in a bare folder: no library of that name is meant.

    apart: a file that does not count.
    """
    if any(reader().has(home, f"{head}.py") for home in homes):
        return False
    files = [each for each in files_below(top) if each != apart]
    inside = [each for home in homes for each in listing(os.path.join(home, head)) if each.endswith(".py")]
    words = [f"{head}.{each[: -len('.py')]}" for each in inside]
    return len(files) <= _MOST_FILES and any(holds(file, top, word) for file in files for word in words)


def _ending(top: str, parts: list[str]) -> list[str] | None:
    """The files of the project whose path ends like a module's; None where there are too many to look at."""
    files, place = files_below(top), os.sep + os.path.join(*parts).casefold()
    ends = (f"{place}.py", os.path.join(place, "__init__.py"))
    return [each for each in files if each.casefold().endswith(ends)] if len(files) <= _MOST_FILES else None


def _is_unbound(path: str, statement: ast.ImportFrom, name: str, top: str) -> bool:
    """Whether a name stands in none of the files that a module may be, nor is it a module below it.

    An import of one word may mean a library that is called as something of the project, unless that lies beside a
    script.
    """
    files = list(_imported(path, statement)) or _in_folders(path, statement, top)
    if name == "*" or not files or _is_built([name]):
        return False
    folders = {os.path.dirname(each) for each in files if os.path.basename(each) == "__init__.py"}
    if any(each.partition(".")[0] == name for folder in folders for each in listing(folder)):
        return False
    words = (name, *_BINDING)
    if any(holds(each, top, word) for each in files for word in words):
        return False
    # Programs add folders to `sys.path`: another module of that path may be meant.
    others = [] if statement.level else _ending(top, (statement.module or "").split("."))
    return others is not None and not any(holds(each, top, word) for each in others for word in words)


def _in_folders(path: str, statement: ast.ImportFrom, top: str) -> list[str]:
    """The files that an absolute import of a module in a bare folder of the project may mean."""
    head, *rest = (statement.module or "").split(".")
    homes = Finder(path).homes(head) if rest and not statement.level else []
    if not homes or not _is_imported_from(homes, head, top, path):
        return []
    return [file for home in homes for file in files_of(os.path.join(home, head, *rest))]


def _imported(path: str, statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The files of the project that an import may run, as far as that is certain."""
    if isinstance(statement, ast.ImportFrom) and statement.level:
        yield from files_of(os.path.join(upwards(path, statement.level), *(statement.module or "").split(".")))
        return
    names = [each.name for each in statement.names] if isinstance(statement, ast.Import) else [statement.module or ""]
    for name in names:
        parts, finder = name.split("."), Finder(path)
        if len(parts) > 1 and (finder.packages(parts[0]) or finder.is_within(parts[0])):
            yield from (file for home in finder.homes(parts[0]) for file in files_of(os.path.join(home, *parts)))
        elif len(parts) == 1 and name not in sys.stdlib_module_names:
            folder = os.path.dirname(path)
            yield from () if reader().has(folder, "__init__.py") else files_of(os.path.join(folder, name))


def _is_built(parts: list[str]) -> bool:
    """Whether a module may be written by a build: extensions, versions, protocol buffers."""
    return any(each.startswith("_") or each == "version" or each.endswith("_pb2") for each in parts)


def _ends_at(folder: str, parts: list[str]) -> bool:
    """Whether a path of folders and a module breaks off below a folder, where nothing is built.

    Some file systems know no capitals.
    """
    for part in parts:
        names = listing(folder)
        if part not in names:
            known = {each.partition(".")[0].casefold() for each in names}
            return bool(names) and part.casefold() not in known and not any(each.endswith(_SOURCES) for each in names)
        folder = os.path.join(folder, part)
    return False
