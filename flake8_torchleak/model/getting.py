"""How a program gets attributes of objects by names that it works out: then any method may be run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchleak.model.names import last_name

GETTING = ("getattr(", "attrgetter(", "methodcaller(", "eval(", "exec(")
_BY_NAME = re.compile(
    r"\b(?:getattr|attrgetter|methodcaller)\((?!\s*[\w.\[\]]+\s*,\s*[\"'])|(?<!def )(?<![\w.])(?:eval|exec)\("
)
"""How a program gets an attribute by a name that it works out: with one of the words above."""
_BY_OTHERS = re.compile(r"\b(?:attrgetter|methodcaller)\((?!\s*[\"'])|(?<!def )(?<![\w.])(?:eval|exec)\(")
"""The same, but for `getattr`."""


def gets_by_name(root: ast.Module, text: str) -> bool:
    """Whether a file gets attributes of objects by names that it works out.

    Not of modules, which are no objects of a class, nor by the words of a tuple or list, which stand in the file.
    """
    if _BY_NAME.search(text) is None:
        return False
    known = set(_imported(root))
    return _BY_OTHERS.search(text) is not None or any(
        isinstance(node, ast.Call)
        and last_name(node.func) == "getattr"
        and len(node.args) > 1
        and not (isinstance(node.args[0], ast.Name) and node.args[0].id in known)
        and not _is_of_words(root, node.args[1])
        for node in ast.walk(root)
    )


def _imported(root: ast.Module) -> Iterator[str]:
    """The names that `import` gives to modules."""
    for node in ast.walk(root):
        if isinstance(node, ast.Import):
            yield from ((each.asname or each.name).partition(".")[0] for each in node.names)


def _is_of_words(root: ast.Module, name: ast.expr) -> bool:
    """Whether an expression is a string, or a variable that goes over a tuple or list of them."""
    if isinstance(name, ast.Constant):
        return True
    if not isinstance(name, ast.Name):
        return False
    words = [each for each in ast.walk(root) if _binds(each, name.id)]
    return bool(words) and all(
        isinstance(each, (ast.For, ast.comprehension))
        and isinstance(each.target, ast.Name)
        and _are_words(root, each.iter)
        for each in words
    )


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a node binds a variable, or a parameter, of that name, in any scope."""
    if isinstance(node, ast.arg):
        return node.arg == name
    if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node.target))
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        targets = [getattr(node, "optional_vars", None)]
    return any(
        isinstance(each, ast.Name) and each.id == name
        for target in targets
        if target is not None
        for each in ast.walk(target)
    )


def _are_words(root: ast.Module, value: ast.expr) -> bool:
    """Whether an expression is a tuple or list of strings, or a variable that is bound once, to one."""
    if isinstance(value, ast.Name):
        bound = [each for each in ast.walk(root) if _binds(each, value.id)]
        only = bound[0] if len(bound) == 1 else None
        return isinstance(only, ast.Assign) and not isinstance(only.value, ast.Name) and _are_words(root, only.value)
    return isinstance(value, (ast.Tuple, ast.List)) and all(isinstance(each, ast.Constant) for each in value.elts)
