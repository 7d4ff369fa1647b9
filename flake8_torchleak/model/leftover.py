"""What a project has left behind: a function or class that nothing names but what is left behind itself.

What is decorated may be registered, a package's users are not in sight, and names that a program works out, or that
stand in settings and scripts, are uses: there the answer is no.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from flake8_torchleak.model.firstparty import Finder, holds, whole
from flake8_torchleak.model.importers import files_below, importers, naming
from flake8_torchleak.model.mentions import (
    BY_TEXT,
    IMPORTING,
    OF_MODULE,
    OF_OBJECT,
    Definition,
    gets_by_text,
    looks_up,
    mentioning,
    names_used,
    programs,
    stands_beside,
)
from flake8_torchleak.model.reading import reader
from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PACKAGING = {"setup.py": "setup(", "setup.cfg": "[metadata]", "pyproject.toml": "[project]"}
"""What stands in the files of a project that others install: who uses its names is not in sight."""
_MOST_USERS = 40
"""Files that import a module, itself or through another."""
_MOST_OTHERS = 600
"""Files whose texts are searched for what imports by names that it works out."""
_READ = ("README.md", "README.rst", "README.txt", "README", "readme.md", "Readme.md")
"""What tells people which file to run."""
_PLAIN_BASES = frozenset({"object", "abc.ABC", "torch.nn.Module", "torch.utils.data.Dataset"})
_OF_TORCH = frozenset({
    "forward", "train", "eval", "apply", "to", "cpu", "cuda", "extra_repr", "parameters", "named_parameters",
    "state_dict", "load_state_dict",
})  # fmt: skip
"""Methods that torch calls, by names that a program need not have."""
_KNOWN = "left over"
_MOST_LEVELS = 4
"""Definitions that name the definition that names it, and so on."""


def is_left_over(module: Module, node: ast.AST) -> bool:
    """Whether nothing in the project runs the function or class at module level around a node, as far as names tell.

    Only where its module is run as a program, lies among programs, or other files import it: its use would be seen. Or
    among programs that do not name it, or the method that the node is in, whoever imports what.
    """
    project = module.project
    definition = _outermost(module, node) if project is not None else None
    if project is None or definition is None or definition.decorator_list:
        return False
    path = os.path.abspath(str(module.path))
    if os.path.basename(path) == "__init__.py" or is_packaged(project.top):
        return False
    method = _method(module, node, definition)
    known = module.shared.setdefault(_KNOWN, {})
    assert isinstance(known, dict)
    for each in (definition, *([method] if method is not None else [])):
        if each not in known:
            known[each] = _is_left_over(module, path, project.top, each, each is definition)
        if known[each]:
            return True
    return False


def _is_left_over(module: Module, path: str, top: str, definition: Definition, is_outermost: bool) -> bool:
    if is_outermost and _Search(top).is_unused(path, module.root, module.source.text, definition.name):
        return True
    return bool(reader().row(programs, (top, ""), "")) and _is_named_nowhere(module, definition)


def is_never_run(module: Module, node: ast.AST) -> bool:
    """The same, and no file of the project gets at modules by names that it works out."""
    project = module.project
    return project is not None and is_left_over(module, node) and not gets_modules(project.top)


def is_named_nowhere(module: Module, node: ast.ClassDef) -> bool:
    """Whether a program's files, settings and scripts name a class, and what names it, nowhere but where it stands.

    Then it does not matter who imports its module, or how; not where some file gets at modules by names it works out.
    """
    definition = _outermost(module, node)
    return definition is not None and _is_named_nowhere(module, definition)


def _is_named_nowhere(module: Module, definition: Definition) -> bool:
    project = module.project
    if project is None or not project.is_marked or is_packaged(project.top) or gets_by_text(module.source.text):
        return False
    path = os.path.abspath(str(module.path))
    is_method = module.tree.class_of(definition) is not None
    ways = (BY_TEXT, OF_OBJECT if is_method else OF_MODULE)
    if any(reader().row(names_used, (project.top, ""), way) != () for way in ways):
        return False
    asked = [definition]
    for each in asked:
        found: tuple[str, ...] = reader().row(names_used, (project.top, ""), each.name)
        if each.decorator_list or stands_beside(project.top, each.name) or not set(found) <= {path}:
            return False
        for holder in mentioning(module.root, each.name):
            if holder is None or len(asked) == _MOST_LEVELS:
                return False
            asked += [holder] if holder not in asked else []
    return True


def gets_modules(top: str) -> bool:
    """Whether some file of a project imports modules by names that it works out, or there are too many to tell."""
    files = files_below(top)
    return len(files) > _MOST_OTHERS or any(holds(each, top, word) for each in files for word in IMPORTING)


class _Search:
    """One question, through the files of a project."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._asked: set[tuple[str, str]] = set()

    def is_unused(self, path: str, root: ast.Module, text: str, name: str) -> bool:
        users, complete = importers(path, (), _MOST_USERS)
        if not complete or looks_up(root, text) or self._may_be_loaded(path, users):
            return False
        if not users and "__main__" not in text and not self._is_beside_programs(path):
            return False
        self._asked.add((path, name))
        files = [(path, root, text)]
        for each in users:
            found = whole(each, self._top)
            if found is None or looks_up(found[1], found[0].text):
                return False
            files.append((each, found[1], found[0].text))
        return not stands_beside(self._top, name) and all(
            self._is_unused_too(*file, holder)
            for file in files
            if name in file[2]
            for holder in mentioning(file[1], name, Finder(file[0]).is_near)
        )

    def _is_beside_programs(self, path: str) -> bool:
        """Whether a module that nothing imports, and that is no program, lies among programs, and no text names it.

        Else it may be all that there is, for others to copy; or its users lie above what is taken for the project.
        """
        top, stem = self._top, _stem(path)
        if not Finder(path).is_marked:
            return False
        read = (each for each in _READ if reader().has(top, each))
        if stands_beside(top, stem) or any(holds(os.path.join(top, each), top, stem) for each in read):
            return False
        return bool(reader().row(programs, (top, ""), ""))

    def _is_unused_too(self, path: str, root: ast.Module, text: str, holder: Definition | None) -> bool:
        """Whether what mentions a name is left over itself."""
        if holder is None or holder.decorator_list or os.path.basename(path) == "__init__.py":
            return False
        if (path, holder.name) in self._asked:
            return True
        return len(self._asked) < _MOST_LEVELS and self.is_unused(path, root, text, holder.name)

    @staticmethod
    def _may_be_loaded(path: str, users: list[str]) -> bool:
        """Whether another file imports a module of this name: one that is run where it lies finds those beside it."""
        return not set(naming(path, _stem(path))) <= {path, *users}


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def is_packaged(top: str) -> bool:
    """Whether a project is one that others install."""
    return any(
        reader().has(top, name) and holds(os.path.join(top, name), top, word) for name, word in _PACKAGING.items()
    )


def _method(module: Module, node: ast.AST, definition: Definition) -> Definition | None:
    """The method that a node is in, of a class whose methods no library calls by their names; None for any other."""
    facts = module.classes.all.get(definition) if isinstance(definition, ast.ClassDef) else None
    if facts is None or not {module.names.qualname(each) for each in facts.outer_bases} <= _PLAIN_BASES:
        return None
    own = (each for each in facts.own_methods.values() if module.tree.inside(node, each))
    method = next(own, None)
    if method is None or method.decorator_list or method.name in _OF_TORCH or method.name.startswith("__"):
        return None
    return method


def _outermost(module: Module, node: ast.AST) -> Definition | None:
    """The function or class at module level that a node is, or is in."""
    for each in module.root.body:
        if isinstance(each, (*FUNCTIONS, ast.ClassDef)) and module.tree.inside(node, each):
            return each
    return None
