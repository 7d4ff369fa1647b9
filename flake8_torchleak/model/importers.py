"""Which files of a project import a module: told from the words of their import statements, without parsing them."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from flake8_torchleak.model.firstparty import Finder, holds, importing, listing
from flake8_torchleak.model.reading import Imports, forget, reader

__all__ = ["SKIPPED", "files_below", "forget", "importers", "naming", "statements"]

_MOST_FILES = 3000
"""Files of a project whose imports are listed: past that, none is."""
_MOST_READ = 200
"""Files that seem to import a module and are looked at to be sure."""
_HOPS = 2
"""Modules that import what imports the module."""
SKIPPED = frozenset({"build", "dist", "node_modules", "site-packages", "venv"})
"""Folders whose files are not the project's own."""
_NAME = re.compile(r"\w+")


def importers(path: str, words: tuple[str, ...], most: int) -> tuple[list[str], bool]:
    """The files that import the module at `path`, themselves or through another, the nearest first; and if that is all.

    words: what must stand in a file for it to be of use; one through which the module is imported need not hold them.
    most: how many are of use.
    """
    finder = Finder(path)
    found: list[str] = []
    queue, seen, read = [(finder.path, _HOPS)], {finder.path}, 0
    while queue:
        target, hops = queue.pop(0)
        named = _naming(finder, _module_name(target))
        if named is None:
            return [], False
        for each in _nearest(named, target):
            if each in seen:
                continue
            useful = all(holds(each, finder.top, word) for word in words)
            if not useful and hops == 1:
                continue
            if read == _MOST_READ:
                return found, False
            read += 1
            if _leads_to(each, importing(each, finder.top), target):
                seen.add(each)
                queue += [(each, hops - 1)] if hops > 1 else []
                if useful and len(found) == most:
                    return found, False
                found += [each] * useful
    return found, True


def naming(path: str, name: str) -> tuple[str, ...]:
    """The files of a module's project in whose import statements a name stands; none in too large a project."""
    return _naming(Finder(path), name) or ()


def _naming(finder: Finder, name: str) -> tuple[str, ...] | None:
    found: tuple[str, ...] | None = reader().row(by_name, (finder.top, "marked" if finder.is_marked else ""), name)
    return found


def _leads_to(path: str, words: Imports, target: str) -> bool:
    """Whether those imports of a file lead to a module, as folders lie, or where they lead nowhere, by its path.

    A script that adds a folder to `sys.path` imports what lies below that: `core.train` is `lib/core/train.py`.
    """
    found, finder = _statements(words, _module_name(target)), Finder(path)
    if target in finder.imports(found):
        return True
    stem = os.path.splitext(target)[0]
    ends = stem.removesuffix(f"{os.sep}__init__")
    return any(
        isinstance(each, ast.ImportFrom)
        and not each.level
        and any(ends.endswith(os.sep + os.path.join(*parts)) for parts in _parts(each))
        and not finder.imports([each])
        for each in found
    )


def _parts(statement: ast.ImportFrom) -> Iterator[list[str]]:
    """The modules that a statement may import, each as two names or more: one alone is too common."""
    parts = (statement.module or "").split(".")
    yield from ([*parts, *rest] for rest in ([], *([each.name] for each in statement.names)) if len(parts + rest) > 1)


def statements(path: str, top: str) -> list[ast.Import | ast.ImportFrom]:
    """The imports of a file of the project, as its text shows them."""
    return _statements(importing(path, top), "")


def _statements(words: Imports, name: str) -> list[ast.Import | ast.ImportFrom]:
    """Those imports of a file in which a name stands; all for no name."""
    found: list[ast.Import | ast.ImportFrom] = []
    for module, names, modules in words:
        dotted = [each.split()[0] for each in modules.split(",") if each.strip()]
        if module and (not name or name in (*_NAME.findall(module)[-1:], *_NAME.findall(names))):
            bare = module.lstrip(".")
            aliases = [ast.alias(each) for each in _NAME.findall(names)] or [ast.alias("*")]
            found.append(ast.ImportFrom(bare or None, aliases, len(module) - len(bare)))
        elif dotted and (not name or any(name in each.split(".") for each in dotted)):
            found.append(ast.Import([ast.alias(each) for each in dotted]))
    return found


def _module_name(path: str) -> str:
    """The last part of a module's dotted name."""
    folder, name = os.path.split(os.path.abspath(path))
    stem = os.path.splitext(name)[0]
    return os.path.basename(folder) if stem == "__init__" else stem


def _nearest(paths: tuple[str, ...], target: str) -> list[str]:
    """Paths, those that share most folders with the target first, and of these the least deep."""
    parts = target.split(os.sep)
    above = [os.sep.join([*parts[:depth], ""]) for depth in range(len(parts) - 1, 0, -1)]

    def key(path: str) -> tuple[int, int, str]:
        # Most files of a project come by here again and again: `os.path.commonpath` would split both paths each time.
        upwards = next((steps for steps, folder in enumerate(above) if path.startswith(folder)), len(above))
        return upwards, path.count(os.sep), path

    return sorted(paths, key=key)


def by_name(top: str, marked: str) -> dict[str, tuple[str, ...]] | None:
    """Every name that stands in an import of a file below `top` -> those files; None for too large a project.

    marked: empty unless `top` is known to be a project's folder; of any other, only the files right in it are read.
    """
    paths = _files(top, bool(marked))
    if len(paths) > _MOST_FILES:
        return None
    found: dict[str, dict[str, None]] = {}
    for path in paths:
        for module, names, modules in importing(path, top):
            for name in [*_NAME.findall(module)[-1:], *_NAME.findall(names + modules)]:
                found.setdefault(name, {})[path] = None
    return {name: tuple(files) for name, files in found.items()}


def files_below(top: str) -> list[str]:
    """The Python files of a project's folder, those past a bound left out."""
    return _files(top, True)


def _files(top: str, below: bool) -> list[str]:
    """The Python files of a folder and, if asked for, of those below it; hidden and built ones are left out."""
    found: list[str] = []
    folders = [top]
    while folders and len(found) <= _MOST_FILES:
        folder = folders.pop()
        for name in sorted(listing(folder)):
            place = os.path.join(folder, name)
            if name.endswith(".py"):
                found.append(place)
            elif below and "." not in name and name not in SKIPPED and reader().is_folder(place):
                folders.append(place)
    return found
