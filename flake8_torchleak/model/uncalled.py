"""Methods that nothing in a program runs: what names one, outside of comments, is a method or function of that kind.

Names alone tell: a method is taken for used wherever something of its name is, in any file, setting, script or
notebook. A package's users are not in sight; a file that gets attributes by names it works out may get any.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.decorating import may_register
from flake8_torchleak.model.firstparty import holds, text_of, whole
from flake8_torchleak.model.getting import GETTING, gets_by_name
from flake8_torchleak.model.importers import files_below
from flake8_torchleak.model.kin import ClassName, is_class, kin_of
from flake8_torchleak.model.leftover import is_written
from flake8_torchleak.model.mentions import Naming, functions_naming, mentioning
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.reading import made
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.unused import BARE, may_be_called_unnamed

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_FILES = 600
"""Files of a project whose texts are searched."""
_MOST_LEVELS = 4
"""Methods that name the method that names it, and so on."""


def is_uncalled(module: Module, node: ast.AST) -> bool:
    """Whether nothing in the project runs the method around a node, as far as names tell."""
    project = module.project
    if project is None or not project.is_program:
        return False
    method = _method(module, node)
    owner = module.tree.class_of(method) if method is not None else None
    if method is None or owner is None or may_be_called_unnamed(module, method):
        return False
    own = os.path.abspath(str(module.path))
    others = [each for each in files_below(project.top) if each != own]
    if len(others) >= _MOST_FILES or gets_by_name(module.root, module.source.text):
        return False
    if any(_gets_by_name(each, project.top) for each in others) or not _is_used(module, owner.name, others):
        return False
    return _Search(module.root, own, others, project.top).is_unused(method, owner)


class _Search:
    """One question, through the files of a project."""

    def __init__(self, root: ast.Module, own: str, others: list[str], top: str) -> None:
        self._root, self._own, self._others, self._top = root, own, others, top

    def is_unused(self, method: FunctionNode, owner: ast.ClassDef) -> bool:
        """Whether nothing names a method of a class but what nothing names itself."""
        asked: list[tuple[FunctionNode, ast.ClassDef | None, str]] = [(method, owner, self._own)]
        names = {method.name}
        for function, around, path in asked:
            if is_written(self._top, function.name):
                return False
            kin = self._kin_of(path, around.name) if around is not None else None
            for user, naming in self._naming(function.name, kin):
                if naming.function is None or self._may_be_run(naming.function, naming.owner):
                    return False
                if len(asked) == _MOST_LEVELS:
                    return False
                if naming.function.name not in names:
                    names.add(naming.function.name)
                    asked.append((naming.function, naming.owner, user))
        return True

    def _naming(self, name: str, kin: frozenset[ClassName] | None) -> Iterator[tuple[str, Naming]]:
        """What names a function, and in which file: of a method, nothing that objects of no kin say of themselves."""
        for user in (self._own, *(each for each in self._others if holds(each, self._top, name))):
            root = self._root if user == self._own else _root(user, self._top)

            def is_apart(owner: ast.ClassDef, user: str = user) -> bool:
                return kin is not None and ClassName(user, owner.name) not in kin

            found = functions_naming(root, name, is_apart) if root is not None else [Naming(None, None)]
            yield from ((user, each) for each in found)

    def _kin_of(self, path: str, name: str) -> frozenset[ClassName]:
        return kin_of(ClassName(path, name), [self._own, *self._others], self._top)

    def _may_be_run(self, function: FunctionNode, owner: ast.ClassDef | None) -> bool:
        """Whether Python, a framework or a registry may run a function, or method of a class, that nothing names."""
        if may_register(function) or _is_special(function):
            return True
        return owner is not None and not all(last_name(each) in BARE or self._is_own(each) for each in owner.bases)

    def _is_own(self, base: ast.expr) -> bool:
        """Whether a base is a class of the project, as far as names tell."""
        return is_class(last_name(base), [self._own, *self._others], self._top)


@made(_MOST_FILES)
def _gets_by_name(path: str, top: str) -> bool:
    """Whether a file gets attributes by names that it works out."""
    if not any(holds(path, top, word) for word in GETTING):
        return False
    root = _root(path, top)
    return root is None or gets_by_name(root, text_of(path, top) or "")


def _is_used(module: Module, name: str, others: list[str]) -> bool:
    """Whether something names a class: of one that nothing does the users are not in sight, or `leftover` tells."""
    assert module.project is not None
    named = any(holds(each, module.project.top, name) for each in others)
    return named or any(True for _ in mentioning(module.root, name))


def _method(module: Module, node: ast.AST) -> FunctionNode | None:
    """The method of a class at module level that a node is in, or is."""
    parents = module.tree.parents
    for each in (node, *module.tree.ancestors(node)):
        owner = parents.get(each) if isinstance(each, FUNCTIONS) else None
        if isinstance(each, FUNCTIONS) and isinstance(owner, ast.ClassDef) and parents[owner] is module.root:
            return each
    return None


def _root(path: str, top: str) -> ast.Module | None:
    found = whole(path, top)
    return found[1] if found is not None else None


def _is_special(function: FunctionNode) -> bool:
    """Whether Python, or a framework, may call a function by itself."""
    return function.name == "forward" or (function.name.startswith("__") and function.name.endswith("__"))
