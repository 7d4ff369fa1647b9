"""Where a container that a Dataset holds is filled, or else bound: by the source of its class and module.

What a worker copies or piles up was made in another process, or before the recording: no operation of torch tells it.
"""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from flake8_torchleak.recorder import frames
from flake8_torchleak.recorder.result import Site

_FILLS = frozenset(("add", "append", "appendleft", "extend", "extendleft", "insert", "setdefault", "update"))
_MOST = 3
"""Lines that are told of one container."""
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Lines:
    """The places at which one name is bound, and those at which what it names is filled later."""

    bound: tuple[Site, ...] = ()
    filled: tuple[Site, ...] = ()


def attribute(kind: type, name: str) -> Lines:
    """Of an attribute of a class's objects, or of the class: in the first-party classes that it derives from."""
    found: list[tuple[str, Site]] = []
    for base in kind.__mro__:
        for path, node in _definition(base):
            for owner, function, each in _statements(node, base.__qualname__):
                if function is None:
                    does = _does(each, partial(_is_name, name=name)) or _defines(each, name)
                else:
                    first = function.args.args[0].arg if function.args.args else "cls"
                    does = _does(each, partial(_is_attribute, owners=(first, base.__name__), name=name))
                found.append((does, Site(path, each.lineno, owner)))
    return _lines(found)


def variable(kind: type, name: str) -> Lines:
    """Of a global of the module that a class stands in."""
    found: list[tuple[str, Site]] = []
    for path, _ in _definition(kind):
        for owner, _, each in _statements(_tree(path), ""):
            does = _does(each, partial(_is_name, name=name))
            if owner == "":
                does = does or _defines(each, name)
            elif does == "binds":
                continue  # a local of the same name
            found.append((does, Site(path, each.lineno, owner)))
    return _lines(found)


def _lines(found: list[tuple[str, Site]]) -> Lines:
    places = {what: tuple(dict.fromkeys(site for does, site in found if does == what)) for what in ("binds", "fills")}
    return Lines(places["binds"][:_MOST], places["fills"][:_MOST])


def _definition(kind: type) -> Iterator[tuple[str, ast.AST]]:
    """The file and the statement of a first-party class, found by the code of its methods; nothing if it has none."""
    for each in vars(kind).values():
        code = getattr(each, "__code__", None)
        if code is None or frames.owner(code) != frames.OWN:
            continue
        for node in ast.walk(_tree(code.co_filename)):
            if isinstance(node, ast.ClassDef) and node.name == kind.__name__ and _spans(node, code.co_firstlineno):
                yield code.co_filename, node
                return


def _spans(node: ast.ClassDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _tree(path: str) -> ast.AST:
    try:
        with tokenize.open(path) as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _statements(node: ast.AST, owner: str, function: Any = None) -> Iterator[tuple[str, Any, Any]]:
    """All statements and calls below a node, with the name of what they stand in and the function around them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.Call)):
            yield owner, function, child
        if isinstance(child, (*_FUNCTION, ast.ClassDef)):
            inner = f"{owner}.{child.name}" if owner else child.name
            yield from _statements(child, inner, child if isinstance(child, _FUNCTION) else function)
        else:
            yield from _statements(child, owner, function)


def _does(node: ast.AST, is_it: Callable[[ast.AST], bool]) -> str:
    """Whether a statement or call "binds" or "fills" what `is_it` knows; else empty."""
    if isinstance(node, ast.Call):
        method = node.func
        fills = isinstance(method, ast.Attribute) and method.attr in _FILLS and is_it(_base(method.value))
        return "fills" if fills else ""
    if isinstance(node, ast.AugAssign):
        return "fills" if is_it(_base(node.target)) else ""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        for each in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            if is_it(_base(each)):
                return "fills" if isinstance(each, ast.Subscript) else "binds"
    return ""


def _defines(node: ast.AST, name: str) -> str:
    """Whether a statement is the function of a name: one with a cache, as it holds something."""
    return "binds" if isinstance(node, _FUNCTION) and node.name == name else ""


def _base(node: ast.AST) -> ast.AST:
    """What elements are taken of: `self.rows` of `self.rows[1]["x"]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_attribute(node: ast.AST, owners: tuple[str, ...], name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and any(_is_name(node.value, each) for each in owners)
