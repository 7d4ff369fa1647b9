"""Where names stand: which definitions of a file mention one, and which names stand in a project's other texts."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from flake8_torchleak.model.firstparty import holds, listing, text_of
from flake8_torchleak.model.getting import without_own
from flake8_torchleak.model.importers import SKIPPED, files_below
from flake8_torchleak.model.reading import reader
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_MOST_TEXTS = 400
"""Texts of a project that are looked into; past that, any name may stand in them."""
IMPORTING = ("import_module", "__import__", "LightningCLI(")
"""What imports modules by names that a program works out, or is given on its command line."""
_MOST_PROGRAMS = 600
"""Files that are asked whether they are programs."""
_SETTINGS = (".bash", ".cfg", ".gin", ".ini", ".ipynb", ".json", ".jsonnet", ".sh", ".slurm", ".toml", ".yaml", ".yml")
"""What names a program's modules and classes beside its code."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_IMPORTS = re.compile(r"^[ \t]*from[ \t]+\S+[ \t]+import[ \t]+(?:\([^()]*\)|(?![^\n]*\bas\b)[^\n(]*)$", re.MULTILINE)
"""Imports that let what they import keep its name."""
_IMPORTED = re.compile(r"\b(?:from|import)[ \t]+([\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+)*)")
"""Modules that imports name, a few in one line among them."""
_RUNNING = re.compile(
    r"^[ \t]*(?:!|%+(?:run|load|bash|sh|time|timeit|prun)\b)"
    r"|\b(?:import_module|__import__|runpy|run_path|subprocess)\b|(?<![\w.])(?:exec|eval)\(|\bos\.system\(",
    re.MULTILINE,
)
"""How a notebook runs what it does not import: by commands, which may be of its shell, and by words that say so."""
_BY_TEXT = re.compile(
    r"(?<!def )(?<![\w.])(?:eval|exec|globals|__import__)\("
    r"|\b(?:import_module|__subclasses__|getmembers|sys\.modules)\b"
)
"""How a program gets at what is defined in a module without naming it."""


def looks_up(root: ast.Module, text: str) -> bool:
    """Whether a file gets at definitions by names that it works out, as `getattr(models, args.model)` does."""
    if gets_by_text(text):
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


def gets_by_text(text: str) -> bool:
    """Whether a file gets at modules, or at all that is in one, by words that say so."""
    return _BY_TEXT.search(text) is not None and _BY_TEXT.search(without_own(text)) is not None


def mentioning(
    root: ast.Module, name: str, is_near: Callable[[str], bool] = lambda _: True
) -> Iterator[Definition | None]:
    """The definitions of a file that mention a name, None for its other statements.

    Left out: what defines the name itself, imports that let it keep its name, `__all__`, and parts of modules that are
    not near, which have a name of their own: `datasets.ImageFolder` is torchvision's.
    """
    far = _far(root, is_near)

    def is_mentioned(statement: ast.stmt) -> bool:
        return any(_is_named(node, name) and not _is_of(node, far) for node in ast.walk(statement))

    for statement in root.body:
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            if statement.name != name and is_mentioned(statement):
                yield statement
        elif not _is_list_of_names(statement) and is_mentioned(statement):
            yield None


class Naming(NamedTuple):
    """A function, or method of a class, that mentions a name; None for what is in no function."""

    function: FunctionNode | None
    owner: ast.ClassDef | None


def functions_naming(
    root: ast.Module, name: str, is_apart: Callable[[ast.ClassDef], bool] = lambda _: False
) -> Iterator[Naming]:
    """What in a file mentions a name, but for the functions that are called so.

    is_apart: whether the objects of a class are none that is meant: what they get of themselves does not count.
    """
    stack: list[tuple[ast.AST, ast.ClassDef | None]] = [(root, None)]
    while stack:
        node, owner = stack.pop()
        if isinstance(node, FUNCTIONS):
            own = node.args.args[0].arg if owner is not None and node.args.args and is_apart(owner) else ""
            said = (each for each in ast.walk(node) if _is_named(each, name))
            if node.name != name and not all(_is_got_of(each, own) for each in said):
                yield Naming(node, owner)
        elif _is_named(node, name):
            yield Naming(None, None)
        else:
            inner = node if isinstance(node, ast.ClassDef) else owner
            stack += [(each, inner) for each in ast.iter_child_nodes(node)]


def _is_got_of(node: ast.AST, name: str) -> bool:
    """Whether it is an attribute of a variable."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name


def _far(root: ast.Module, is_near: Callable[[str], bool]) -> set[str]:
    """The names under which a file imports modules, or parts of them, of other projects."""
    found: set[str] = set()
    for node in ast.walk(root):
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            module = ("." * node.level + (node.module or "")) if isinstance(node, ast.ImportFrom) else alias.name
            if not is_near(module.partition(".")[0]):
                found.add(alias.asname or alias.name.partition(".")[0])
    return found


def _is_of(node: ast.AST, names: set[str]) -> bool:
    """Whether an attribute is one of these names'."""
    while isinstance(node, ast.Attribute):
        node = node.value
        if isinstance(node, ast.Name):
            return node.id in names
    return False


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


def programs(top: str, _: str) -> dict[str, tuple[str, ...]] | None:
    """Under "", whether some file below a folder says what it does as a program, and none works out what it imports.

    None for too many files.
    """
    files = files_below(top)
    if len(files) > _MOST_PROGRAMS:
        return None
    if any(holds(each, top, word) for each in files for word in IMPORTING):
        return {}
    return {"": ("",)} if any(holds(each, top, "__main__") for each in files) else {}


def names_beside(top: str, _: str) -> dict[str, tuple[str, ...]] | None:
    """Every name in the settings and scripts below a folder; None for too many."""
    texts = texts_beside(top)
    if texts is None:
        return None
    modules = _modules(top) if any(each.endswith(".ipynb") for each in texts) else frozenset()
    said = (_said(path, text_of(path, top) or "", modules) for path in texts)
    return dict.fromkeys((name for text in said for name in _NAME.findall(text)), ("",))


def _modules(top: str) -> frozenset[str]:
    """What the files below a folder, and the folders that they lie in, are called: what may be imported of them."""
    places = (os.path.relpath(os.path.splitext(each)[0], os.path.dirname(top)) for each in files_below(top))
    return frozenset(name for each in places for name in each.split(os.sep))


def _said(path: str, text: str, modules: frozenset[str]) -> str:
    """The part of a text that may run something by its name: of a notebook the code, without what it only imports.

    Nothing of one that runs no program, and imports nothing by the name of a module, of the project.
    """
    if not path.endswith(".ipynb"):
        return text
    import json  # most projects have no notebook

    try:
        notebook = json.loads(text)
    except ValueError:
        return text
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        return text  # of another version, or no notebook
    code = (each.get("source") for each in cells if isinstance(each, dict) and each.get("cell_type") == "code")
    lines = ["".join(each) if isinstance(each, list) else str(each) for each in code]
    imported = {name for each in lines for path in _IMPORTED.findall(each) for name in _NAME.findall(path)}
    if modules.isdisjoint(imported) and not any(map(_RUNNING.search, lines)):
        return ""
    return "\n".join(_IMPORTS.sub("", each) for each in lines)


def texts_beside(top: str) -> list[str] | None:
    """The settings, scripts and notebooks below a folder; None for too many."""
    found: list[str] = []
    folders = [top]
    while folders:
        folder = folders.pop()
        for name in sorted(listing(folder)):
            place = os.path.join(folder, name)
            if name.endswith(_SETTINGS):
                found.append(place)
                if len(found) > _MOST_TEXTS:
                    return None
            elif "." not in name and name not in SKIPPED and reader().is_folder(place):
                folders.append(place)
    return found
