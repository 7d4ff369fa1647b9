"""What a project has left behind: a function or class that nothing names, in a module that is used without it."""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from flake8_torchleak.model.firstparty import holds
from flake8_torchleak.model.importers import importers
from flake8_torchleak.model.reading import reader
from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PACKAGING = {"setup.py": "setup(", "setup.cfg": "[metadata]", "pyproject.toml": "[project]"}
"""What stands in the files of a project that others install: who uses its names is not in sight."""


def is_left_over(module: Module, node: ast.AST) -> bool:
    """Whether nothing in the project names the function or class at module level around a node.

    Only where its module is run as a program, or other files import it, so that its use would be seen; never for what
    is decorated, which may be registered, nor in a project that is packaged for others.
    """
    project = module.project
    definition = _outermost(module, node) if project is not None else None
    if project is None or definition is None or definition.decorator_list:
        return False
    name = definition.name
    if len(re.findall(rf"\b{re.escape(name)}\b", module.source.text)) > 1:
        return False
    if _is_packaged(project.top) or os.path.basename(str(module.path)) == "__init__.py":
        return False
    path = os.path.abspath(str(module.path))
    if importers(path, (name,), 1) != ([], True):
        return False
    return "__main__" in module.source.text or bool(importers(path, (), 1)[0])


def _is_packaged(top: str) -> bool:
    return any(
        reader().has(top, name) and holds(os.path.join(top, name), top, word) for name, word in _PACKAGING.items()
    )


def _outermost(module: Module, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
    """The function or class at module level that a node is, or is in."""
    for each in module.root.body:
        if isinstance(each, (*FUNCTIONS, ast.ClassDef)) and module.tree.inside(node, each):
            return each
    return None
