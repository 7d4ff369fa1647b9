"""Where names stand: which definitions of a file mention one, and which names stand in a project's other texts."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from flake8_torchleak.model.firstparty import listing, text_of
from flake8_torchleak.model.importers import SKIPPED
from flake8_torchleak.model.reading import reader
from flake8_torchleak.model.tree import FUNCTIONS

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_MOST_TEXTS = 400
"""Texts of a project that are looked into; past that, any name may stand in them."""
_SETTINGS = (".bash", ".cfg", ".gin", ".ini", ".ipynb", ".json", ".jsonnet", ".sh", ".slurm", ".toml", ".yaml", ".yml")
"""What names a program's modules and classes beside its code."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_BY_TEXT = re.compile(
    r"(?<!def )(?<![\w.])(?:eval|exec|globals|__import__)\("
    r"|\b(?:import_module|__subclasses__|getmembers|sys\.modules)\b"
)
"""How a program gets at what is defined in a module without naming it."""


def looks_up(root: ast.Module, text: str) -> bool:
    """Whether a file gets at definitions by names that it works out, as `getattr(models, args.model)` does."""
    if _BY_TEXT.search(text):
        return True
    if "getattr(" not in text:
        return False
    modules = {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(root)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
        and len(node.args) > 1
        and not isinstance(node.args[1], ast.Constant)
        and any(isinstance(each, ast.Name) and each.id in modules for each in ast.walk(node.args[0]))
        for node in ast.walk(root)
    )


def mentioning(root: ast.Module, name: str) -> Iterator[Definition | None]:
    """The definitions of a file that mention a name, None for its other statements.

    Left out: what defines the name itself, imports that let it keep its name, and `__all__`.
    """
    for statement in root.body:
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            if statement.name != name and _mentions(statement, name):
                yield statement
        elif not _is_list_of_names(statement) and _mentions(statement, name):
            yield None


def _mentions(statement: ast.stmt, name: str) -> bool:
    return any(_is_named(node, name) for node in ast.walk(statement))


def _is_named(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name
    if isinstance(node, ast.Attribute):
        return node.attr == name
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and name in _NAME.findall(node.value)
    return isinstance(node, ast.alias) and node.name == name and node.asname not in (None, name)


def _is_list_of_names(statement: ast.stmt) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    return any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets)


def stands_beside(top: str, name: str) -> bool:
    """Whether a name stands in a text of the project that is no Python, or may do so."""
    return bool(reader().row(names_beside, (top, ""), name) != ())


def names_beside(top: str, _: str) -> dict[str, tuple[str, ...]] | None:
    """Every name in the settings and scripts below a folder; None for too many."""
    found: set[str] = set()
    count, folders = 0, [top]
    while folders:
        folder = folders.pop()
        for name in sorted(listing(folder)):
            place = os.path.join(folder, name)
            if name.endswith(_SETTINGS):
                count += 1
                if count > _MOST_TEXTS:
                    return None
                found.update(_NAME.findall(text_of(place, top) or ""))
            elif "." not in name and name not in SKIPPED and reader().is_folder(place):
                folders.append(place)
    return dict.fromkeys(found, ("",))
