"""What nothing in a project names or imports: a note on what is in there says so, as perhaps nobody runs it.

Shown as evidence, and for nothing else: a library may call a method by its name, and a program may make names up.
"""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from flake8_torchleak.model.decorating import may_register
from flake8_torchleak.model.firstparty import holds, text_of
from flake8_torchleak.model.importers import files_below
from flake8_torchleak.model.leftover import is_written
from flake8_torchleak.model.mentions import gets_by_text
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_FILES = 600
"""Files of a project whose texts are searched; past that, any name may stand in them."""
_DEFINING = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign,
    ast.If, ast.Try,
)  # fmt: skip
"""Statements at the top of a module that other files import."""
BARE = frozenset({"object", "Module", "Dataset", "IterableDataset", "Function", "Enum", "ABC", "NamedTuple"})
"""Base classes, by their last name, that call no methods but those below."""
_CALLED = frozenset({"forward", "backward", "setup_context", "extra_repr", "vmap", "jvp"})
"""Methods that such a class calls."""


def unused(module: Module, node: ast.AST) -> str:
    """That nothing in sight names the function or class around a node, or its module, in words.

    The innermost one, or the node's own. "" where something does, and where users are not in sight: of a package, of a
    file in no project, in a project of many files.
    """
    project = module.project
    if project is None or not project.is_program:
        return ""
    own = os.path.abspath(str(module.path))
    others = [each for each in files_below(project.top) if each != own]
    if len(others) >= _MOST_FILES:
        return ""
    around = (each for each in (node, *module.tree.ancestors(node)) if isinstance(each, (*FUNCTIONS, ast.ClassDef)))
    for each in around:
        if not may_be_called_unnamed(module, each) and not _is_named(module, each.name, own, others, project.top):
            return f"no Python file or setting in sight names `{each.name}`"
    return "no Python file in sight names the module" if _is_for_import(module, own, others, project.top) else ""


def _is_for_import(module: Module, own: str, others: list[str], top: str) -> bool:
    """Whether a module does nothing by itself, and no other file names it, or seeks modules by other means."""
    root, stem = module.root, os.path.splitext(os.path.basename(own))[0]
    made = {each.name for each in root.body if isinstance(each, (*FUNCTIONS, ast.ClassDef))}
    if "__main__" in module.source.text or not all(_defines(each, made) for each in root.body) or stem == "__init__":
        return False
    if _is_in(stem, own, others, top) or is_written(top, stem):
        return False
    return not any(gets_by_text(text_of(each, top) or "") for each in others)


def _defines(statement: ast.stmt, made: set[str]) -> bool:
    """Whether a statement at the top of a module is no work of a program: `sys.path.append(...)` is none.

    made: the functions and classes of the module: `fire.Fire(main)` runs one.
    """
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        names = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name)}
        return isinstance(statement.value.func, ast.Attribute) and names.isdisjoint(made)
    return isinstance(statement, (ast.Expr, *_DEFINING))


def may_be_called_unnamed(module: Module, node: ast.AST) -> bool:
    """Whether who defines something need not name it again: it is registered, or a class above it calls it."""
    if not isinstance(node, (*FUNCTIONS, ast.ClassDef)) or may_register(node):
        return True
    if isinstance(node, ast.ClassDef):
        return bool(node.keywords)
    owner = module.tree.parents[node]
    if not isinstance(owner, ast.ClassDef):
        return False
    if node.name in _CALLED or (node.name.startswith("__") and node.name.endswith("__")):
        return True
    return not all(last_name(base) in BARE for base in module.classes.all[owner].outer_bases)


def _is_named(module: Module, name: str, own: str, others: list[str], top: str) -> bool:
    """Whether a name stands anywhere but where it is defined: in code or comments, in settings, in what people read."""
    return bool(_use_of(name).search(module.source.text)) or _is_in(name, own, others, top) or is_written(top, name)


def _use_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!def )(?<!class )\b{re.escape(name)}\b")


def _is_in(name: str, own: str, others: list[str], top: str) -> bool:
    """Whether a name stands in one of the other Python files, but where it is defined. The nearest are asked first."""
    word = _use_of(name)
    near = sorted(others, key=lambda path: (-len(os.path.commonpath([path, own])), path))
    return any(word.search(text_of(each, top) or "") for each in near if holds(each, top, name))
