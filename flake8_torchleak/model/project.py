"""What other modules of the project say: the definitions behind a module's first-party imports, read from disk.

Only what was asked for is read: a module is looked at alone first, and once more with the definitions that its
questions named. Of each file only those definitions and what they use are kept. Files are parsed once per process,
never imported or executed; links out of the project are not followed, and everything is bounded.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from flake8_torchleak.model.files import File, imported
from flake8_torchleak.model.firstparty import Finder, holds, listing, parsed, text_of, whole
from flake8_torchleak.model.importers import importers
from flake8_torchleak.model.index import Index
from flake8_torchleak.model.names import BY_STAR, last_name
from flake8_torchleak.model.published import is_published
from flake8_torchleak.model.reading import made, reader
from flake8_torchleak.model.tree import FUNCTIONS, Tree

Links = dict[tuple[ast.Module, str], ast.AST]

_MOST_LINES = 3000
"""Lines of other files that are looked into for one module."""
_MOST_DEPTH = 6
"""Definitions of definitions in yet other files."""
_GUARD = re.compile(r"^(?:\w+\.)?setNumThreads\(\s*0\s*\)", re.MULTILINE)
_CALLED = re.compile(r"^([A-Za-z_]\w*)\(", re.MULTILINE)
_SCRIPTS = ("", "tools", "scripts")
_MOST_SCRIPTS = 200
_MOST_NEIGHBOURS = 200
_WORKERS_PLACE = 5
"""Where num_workers stands among a DataLoader's arguments."""


@dataclass(eq=False)
class Attached:
    """Parts of other files: `modules` to index beside the module, `links` to them, and the file behind each."""

    modules: list[ast.Module] = field(default_factory=list)
    links: Links = field(default_factory=dict)
    files: dict[ast.Module, File] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)
    """What the module imports of its project and a library defines -> the library's dotted name."""

    def indexed(self) -> Iterator[tuple[ast.Module, list[Index]]]:
        """The modules with the indexes of their statements."""
        for module, file in self.files.items():
            yield module, [file.indexed(each) for each in module.body]


class Project:
    """The files around one module."""

    def __init__(self, path: str) -> None:
        self._finder = Finder(path)
        self._lines = 0
        self.left_out = ""
        """What of other files was not looked at, if anything, in words for a message."""

    def names(self, tree: Tree) -> frozenset[str]:
        """The names that a module's imports bind to modules of the project, or to what those define."""
        found: set[str] = set()
        for each in tree.all(ast.Import):
            near = (a for a in each.names if self._is_near(a.name.partition(".")[0]))
            found.update(a.asname or a.name.partition(".")[0] for a in near)
        for statement in tree.all(ast.ImportFrom):
            if statement.level or self._is_near((statement.module or "").partition(".")[0]):
                found.update(a.asname or a.name for a in statement.names)
                if statement.names[0].name == "*":
                    found.add(f"*{'.' * statement.level}{statement.module or ''}")
        return frozenset(found)

    def imported(self, tree: Tree) -> list[str]:
        """The files of the project that a module's imports name."""
        return self._finder.imports(tree.all(ast.Import, ast.ImportFrom))

    def text_behind(self, qualname: str) -> str:
        """The text of the file that defines what a dotted name stands for in the module; "" if none does."""
        found = self._finder.resolve(self._finder.path, qualname.removeprefix(BY_STAR))
        return found[0].source.text if found is not None else ""

    def _is_near(self, head: str) -> bool:
        return head not in sys.stdlib_module_names and self._finder.is_near(head)

    def attach(self, tree: Tree, wanted: Iterable[str]) -> Attached:
        """The definitions in other files that these dotted names stand for in the module, and what those need."""
        found: dict[File, dict[str, None]] = {}
        own: dict[str, tuple[File, str]] = {}
        outside: dict[str, str] = {}
        for asked in wanted:
            qualname = asked.lstrip("*")
            target = self._asked(asked, qualname)
            if target is not None:
                own[qualname] = target
                found.setdefault(target[0], {})[target[1]] = None
            elif (handed := self._finder.outside(self._finder.path, qualname))[0]:
                outside[handed[0]] = handed[1]
        attached = self._collect(tree.root, own, found)
        attached.outside = outside
        return attached

    def _asked(self, asked: str, qualname: str) -> tuple[File, str] | None:
        """Where something is defined that was asked for; not of what came with a star, if it may be a library's."""
        if asked != qualname and (
            not asked.startswith(BY_STAR) or not self._finder.exports(self._finder.path, qualname)
        ):
            return None
        return self._finder.resolve(self._finder.path, qualname)

    def _collect(
        self, root: ast.Module, own: dict[str, tuple[File, str]], found: dict[File, dict[str, None]]
    ) -> Attached:
        attached = Attached()
        parts: dict[File, ast.Module] = {}
        inner: list[tuple[File, str, tuple[File, str]]] = []
        queue = [(file, names, 0) for file, names in found.items()]
        chosen: dict[File, dict[ast.stmt, None]] = {}
        while queue:
            file, wanted, depth = queue.pop(0)
            statements = self._closure(file, wanted, chosen.setdefault(file, {}))
            if statements and depth >= _MOST_DEPTH:
                self.left_out = f"what it uses goes through more than {_MOST_DEPTH} other files"
            for statement in statements if depth < _MOST_DEPTH else ():
                for qualname in file.mentioned(statement):
                    target = self._finder.resolve(file.path, qualname)
                    if target is not None:
                        inner.append((file, qualname, target))
                        if target[1] not in found.setdefault(target[0], {}):
                            found[target[0]][target[1]] = None
                            queue.append((target[0], {target[1]: None}, depth + 1))
        for file, kept in chosen.items():
            if kept:
                body = sorted(kept, key=lambda each: each.lineno)
                parts[file] = ast.Module(body=body, type_ignores=[])
                attached.modules.append(parts[file])
                attached.files[parts[file]] = file
        for qualname, target in own.items():
            self._link(attached, parts, root, qualname, target)
        for file, qualname, target in inner:
            self._link(attached, parts, parts[file], qualname, target)
        return attached

    @staticmethod
    def _link(
        attached: Attached, parts: dict[File, ast.Module], at: ast.Module, qualname: str, target: tuple[File, str]
    ) -> None:
        file, name = target
        kept = parts[file].body if file in parts else ()
        definitions = [s for s in kept if isinstance(s, (*FUNCTIONS, ast.ClassDef)) and s.name == name]
        if definitions:
            attached.links[at, qualname] = definitions[-1]

    def _closure(self, file: File, wanted: dict[str, None], chosen: dict[ast.stmt, None]) -> list[ast.stmt]:
        """The top-level statements that bind these names, and those that bind what they use; new ones are returned."""
        queue, new = list(wanted), []
        while queue:
            if self._lines >= _MOST_LINES:
                self.left_out = f"what it uses of other files has more than {_MOST_LINES} lines"
                break
            for statement in file.binding(queue.pop()):
                if statement in chosen:
                    continue
                chosen[statement] = None
                new.append(statement)
                self._lines += (statement.end_lineno or statement.lineno) - statement.lineno + 1
                queue += [name for name in file.names(statement) if file.binds(name)]
        return new

    @property
    def unread(self) -> str:
        """What of other files was not looked at, in words for a message; "" if nothing."""
        return self.left_out or self._finder.left_out

    # -- OpenCV ---------------------------------------------------------------------------------------------

    def limits_opencv(self, tree: Tree) -> bool:
        """Whether importing a module, its packages, who uses it or a script of the project, limits OpenCV's threads."""
        own, top = self._finder.path, self._finder.top
        folder = os.path.dirname(own)
        paths = self.imported(tree)
        packages: list[str] = []
        while reader().has(folder, "__init__.py") and os.path.dirname(folder) != folder:
            packages.append(os.path.join(folder, "__init__.py"))
            folder = os.path.dirname(folder)
        paths += packages
        for name in _SCRIPTS:
            place = os.path.join(top, name)
            paths += [os.path.join(place, each) for each in sorted(listing(place)) if each.endswith(".py")]
        if len(paths) > _MOST_SCRIPTS:
            self.left_out = f"its project has more than {_MOST_SCRIPTS} scripts"
        guarding = [path for path in paths[:_MOST_SCRIPTS] if path != own and holds(path, top, "setNumThreads")]
        guarding += importers(own, ("setNumThreads", "DataLoader("), _MOST_SCRIPTS)[0]
        if any(limits_opencv(text_of(path, top) or "") for path in guarding):
            return True
        return any(path != own and _runs_guard(path, top) for path in packages)

    @property
    def top(self) -> str:
        """The project's folder."""
        return self._finder.top

    @property
    def is_marked(self) -> bool:
        """Whether that folder is known to be a project's, so that all its files are in sight."""
        return self._finder.is_marked

    @property
    def is_published(self) -> bool:
        """Whether others install it, so that who uses its names is not in sight."""
        return is_published(self._finder.top)

    @property
    def is_program(self) -> bool:
        """Whether all of its files are in sight, and with them all who use its names."""
        return self.is_marked and not self.is_published

    @cached_property
    def is_test(self) -> bool:
        """Whether the module lies in a folder of tests."""
        inside = os.path.dirname(self._finder.path).removeprefix(self._finder.top)
        return "tests" in inside.split(os.sep)

    @cached_property
    def is_served_alone(self) -> bool:
        """Whether modules nearby build loaders with what this module defines, and none of those can have workers."""
        own, top = self._finder.path, self._finder.top
        name = os.path.splitext(os.path.basename(own))[0]
        folder = os.path.dirname(own)
        near = [folder] if folder == top else [folder, os.path.dirname(folder)]
        paths = [os.path.join(place, each) for place in near for each in sorted(listing(place)) if each.endswith(".py")]
        if len(paths) > _MOST_NEIGHBOURS:
            self.left_out = f"there are more than {_MOST_NEIGHBOURS} files beside it"
        found = [_loads(path, own, name, top) for path in paths[:_MOST_NEIGHBOURS] if path != own]
        return True in found and False not in found


def _loads(path: str, module: str, name: str, top: str) -> bool | None:
    """Whether all DataLoaders of the file at `path` are without workers; None if it has none, or uses not `module`."""
    text = text_of(path, top) if holds(path, top, "DataLoader(") else None
    if text is None or not re.search(rf"^\s*(?:from|import)\b.*\b{re.escape(name)}\b", text, re.M):
        return None
    files, workers = _loading(path, top)
    return not any(workers) if module in files and workers else None


@made(256)
def _loading(path: str, top: str) -> tuple[frozenset[str], tuple[bool, ...]]:
    """The files that a file imports at its top, and of each DataLoader that it makes whether it may have workers."""
    found = whole(path, top)
    root = found[1] if found is not None else ast.Module([], [])
    statements = [each for each in root.body if isinstance(each, (ast.Import, ast.ImportFrom))]
    calls = (node for node in ast.walk(root) if isinstance(node, ast.Call))
    workers = tuple(_may_have_workers(call) for call in calls if last_name(call.func) == "DataLoader")
    return frozenset(Finder(path).imports(statements)), workers


def _may_have_workers(call: ast.Call) -> bool:
    if len(call.args) > _WORKERS_PLACE or any(k.arg is None for k in call.keywords):
        return True
    given = next((k.value for k in call.keywords if k.arg == "num_workers"), ast.Constant(0))
    return getattr(given, "value", None) != 0


def _runs_guard(path: str, top: str) -> bool:
    """Whether a package calls a function at its import, by name, that calls `cv2.setNumThreads(0)`."""
    called = _CALLED.findall(text_of(path, top) or "")
    file = parsed(path, top) if called else None
    statements = [(name, each) for name in called for each in file.binding(name)] if file is not None else []
    for name, statement in statements:
        if not isinstance(statement, ast.ImportFrom):
            continue
        for alias in statement.names:
            same = (alias.asname or alias.name) == name
            found = Finder(path).resolve(path, imported(statement, alias)) if same else None
            bodies = found[0].binding(found[1]) if found is not None else []
            if any("setNumThreads(0)" in ast.unparse(each) for each in bodies):
                return True
    return False


def limits_opencv(text: str) -> bool:
    """Whether a module calls `cv2.setNumThreads(0)` when it is imported: told from its text alone."""
    return _GUARD.search(text) is not None
