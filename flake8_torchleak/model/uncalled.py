"""Methods that nothing in a program runs: what names one, outside of comments, is a method or function of that kind.

Names alone tell: a method is taken for used wherever something of its name is, in any file, setting, script or
notebook. A package's users are not in sight; a file that gets attributes by names it works out may get any.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.firstparty import text_of, whole
from flake8_torchleak.model.importers import files_below
from flake8_torchleak.model.leftover import is_written
from flake8_torchleak.model.mentions import mentioning, names
from flake8_torchleak.model.published import is_published
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.unused import may_be_called_unnamed

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_FILES = 600
"""Files of a project whose texts are searched."""
_MOST_LEVELS = 4
"""Methods that name the method that names it, and so on."""
_BY_NAME = re.compile(
    r"\b(?:getattr|attrgetter|methodcaller)\((?!\s*[\w.\[\]]+\s*,\s*[\"'])|(?<!def )(?<![\w.])(?:eval|exec)\("
)
"""How a program gets an attribute by a name that it works out."""
_PLAIN = frozenset({"staticmethod", "classmethod"})
"""Decorators that leave it to others to call the method."""


def is_uncalled(module: Module, node: ast.AST) -> bool:
    """Whether nothing in the project runs the method around a node, as far as names tell."""
    project = module.project
    if project is None or not project.is_marked or is_published(project.top):
        return False
    method = _method(module, node)
    owner = module.tree.class_of(method) if method is not None else None
    if method is None or owner is None or may_be_called_unnamed(module, method, _PLAIN):
        return False
    own = os.path.abspath(str(module.path))
    paths = [each for each in files_below(project.top) if each != own]
    if len(paths) >= _MOST_FILES:
        return False
    texts = {own: module.source.text, **{each: text_of(each, project.top) or "" for each in paths}}
    if any(map(_BY_NAME.search, texts.values())) or not _is_used(module, owner.name, texts, own):
        return False
    asked = [method.name]
    for name in asked:
        if is_written(project.top, name):
            return False
        word = re.compile(rf"\b{re.escape(name)}\b")
        for path in (each for each, text in texts.items() if word.search(text)):
            root = module.root if path == own else _root(path, project.top)
            for holder in _holders(root, name) if root is not None else [None]:
                if holder is None or holder.decorator_list or _is_special(holder) or len(asked) == _MOST_LEVELS:
                    return False
                asked += [holder.name] if holder.name not in asked else []
    return True


def _is_used(module: Module, name: str, texts: dict[str, str], own: str) -> bool:
    """Whether something names a class: of one that nothing does the users are not in sight, or `leftover` tells."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return any(word.search(text) for path, text in texts.items() if path != own) or any(
        True for _ in mentioning(module.root, name)
    )


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


def _holders(root: ast.Module, name: str) -> Iterator[FunctionNode | None]:
    """The functions and methods that mention a name, but those of this name; None for what is in none."""
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, FUNCTIONS):
            if node.name != name and any(names(each, name) for each in ast.walk(node)):
                yield node
        elif names(node, name):
            yield None
        else:
            stack += ast.iter_child_nodes(node)


def _is_special(function: FunctionNode) -> bool:
    """Whether Python, or a framework, may call a function by itself."""
    return function.name == "forward" or (function.name.startswith("__") and function.name.endswith("__"))
