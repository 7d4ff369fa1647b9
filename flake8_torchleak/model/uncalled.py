"""Methods that nothing in a program runs: what names one, outside of comments, is a method or function of that kind.

Names alone tell: a method is taken for used wherever something of its name is, in any file, setting, script or
notebook. A package's users are not in sight; a file that gets attributes by names it works out may get any.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from flake8_torchleak.model.firstparty import holds, text_of, whole
from flake8_torchleak.model.importers import files_below
from flake8_torchleak.model.leftover import is_written
from flake8_torchleak.model.mentions import GETTING, functions_naming, gets_by_name, mentioning
from flake8_torchleak.model.reading import made
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.unused import may_be_called_unnamed

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_FILES = 600
"""Files of a project whose texts are searched."""
_MOST_LEVELS = 4
"""Methods that name the method that names it, and so on."""
_PLAIN = frozenset({"staticmethod", "classmethod"})
"""Decorators that leave it to others to call the method."""


def is_uncalled(module: Module, node: ast.AST) -> bool:
    """Whether nothing in the project runs the method around a node, as far as names tell."""
    project = module.project
    if project is None or not project.is_program:
        return False
    method = _method(module, node)
    owner = module.tree.class_of(method) if method is not None else None
    if method is None or owner is None or may_be_called_unnamed(module, method, _PLAIN):
        return False
    own = os.path.abspath(str(module.path))
    others = [each for each in files_below(project.top) if each != own]
    if len(others) >= _MOST_FILES or gets_by_name(module.source.text):
        return False
    if any(_gets_by_name(each, project.top) for each in others) or not _is_used(module, owner.name, others):
        return False
    asked = [method.name]
    for name in asked:
        if is_written(project.top, name):
            return False
        roots = [module.root, *(_root(each, project.top) for each in others if holds(each, project.top, name))]
        for root in roots:
            for holder in functions_naming(root, name) if root is not None else [None]:
                if holder is None or holder.decorator_list or _is_special(holder) or len(asked) == _MOST_LEVELS:
                    return False
                asked += [holder.name] if holder.name not in asked else []
    return True


@made(_MOST_FILES)
def _gets_by_name(path: str, top: str) -> bool:
    """Whether a file gets attributes by names that it works out."""
    return any(holds(path, top, word) for word in GETTING) and gets_by_name(text_of(path, top) or "")


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
