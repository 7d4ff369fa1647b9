"""Calls that raise a TypeError for what they are given, and calls of functions that such a call ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from flake8_torchleak.lifetime.frames import Function
from flake8_torchleak.lifetime.nodes import below, of_node, walk
from flake8_torchleak.lifetime.values import Atom, Keywords, Kind, Obj, Value
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.signatures import refuses, spreads
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.lifetime.seen import Seen

_PERHAPS = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Expressions that may leave out a part of themselves."""
_LEAVING = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom)


def is_refused(atom: Atom, args: Sequence[Value], keywords: Keywords, node: ast.expr) -> bool:
    """Whether calling one of several alternatives fails: then it is another one that is called."""
    if atom.kind is Kind.NUMBER and atom.made is None:
        return True
    if not isinstance(node, ast.Call) or spreads(node):
        return False
    found = _taking(atom)
    if found is None or (not isinstance(found[0], ast.Lambda) and found[0].decorator_list):
        return False
    return refuses(found[0].args, len(args) + found[1], keywords)


def note(seen: Seen, callee: Value, args: Sequence[Value], keywords: Keywords, node: ast.expr) -> None:
    """A call was followed: whether it fails, whichever of these it is that is called."""
    if not isinstance(node, ast.Call) or len(args) != len(node.args) or len(keywords) != len(node.keywords):
        return  # it is another call that this one leads to
    if callee and all(_is_certain(each, node) and _fails(each, args, keywords, node, seen) for each in callee):
        seen.failing.add(node)
    else:
        seen.fitting.add(node)


def failing(seen: Seen) -> frozenset[ast.AST]:
    """The calls that fail each time that they are followed."""
    return frozenset(seen.failing - seen.fitting)


def _is_certain(atom: Atom, call: ast.Call) -> bool:
    """Whether it is just this that is called: no method that a class below may have, no decorator's function."""
    made = atom.made
    if isinstance(made, ClassInfo):
        return last_name(call.func) == made.name
    if isinstance(made, Function):
        objects = [each.made for each in made.receiver if isinstance(each.made, Obj)]
        return made.closure is None and all(each.born for each in objects)
    return isinstance(made, Obj) and bool(made.born)


def _fails(atom: Atom, args: Sequence[Value], keywords: Keywords, node: ast.Call, seen: Seen) -> bool:
    """Whether a call of this raises, or comes to a call that does, whatever happens."""
    found = _taking(atom)
    if found is None or isinstance(found[0], ast.Lambda) or found[0].decorator_list:
        return False
    return is_refused(atom, args, keywords, node) or (
        bool(seen.failing) and any(each in seen.failing and each not in seen.fitting for each in _come_to(found[0]))
    )


def _taking(atom: Atom) -> tuple[FunctionNode | ast.Lambda, bool] | None:
    """What takes the arguments where something is called, and whether they go behind an object's own."""
    made = atom.made
    if isinstance(made, Function):
        return (made.node, bool(made.receiver)) if made.node and not made.args and not made.keywords else None
    if isinstance(made, ClassInfo):
        found = constructor(made)
        return (found, True) if found is not None else None
    if isinstance(made, Obj) and isinstance(made.cls, ClassInfo):
        method = made.cls.method("__call__") or (made.cls.method("forward") if made.cls.is_network else None)
        return (method[1], True) if method is not None else None
    return None


def constructor(cls: ClassInfo) -> FunctionNode | None:
    """The `__init__` that a class is called by, where nothing else may come before it."""
    found = cls.method("__init__")
    if found is None or cls.method("__new__") is not None or not is_in_line(cls, found[0]):
        return None
    return found[1]


def is_in_line(cls: ClassInfo, owner: ClassInfo) -> bool:
    """Whether no other class may stand between a class and one that it inherits from."""
    below_it = takewhile(lambda each: each is not owner, cls.order)
    plain = (each for each in (*below_it, owner))
    return all(not each.node.keywords and not each.node.decorator_list for each in plain) and all(
        len(each.node.bases) == len(each.bases) == 1 for each in takewhile(lambda each: each is not owner, cls.order)
    )


@of_node
def _come_to(function: FunctionNode) -> tuple[ast.Call, ...]:
    """The calls of a function that are evaluated whenever it runs, as its statements show."""
    return tuple(_calls(function.body))


def _calls(body: list[ast.stmt]) -> Iterator[ast.Call]:
    for statement in body:
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(statement, (ast.If, ast.While)):
            yield from _evaluated(statement.test)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            yield from _evaluated(statement.iter)
        elif isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)):
            yield from _evaluated(statement)
        if any(isinstance(each, _LEAVING) for each in walk(statement)):
            return


def _evaluated(node: ast.AST) -> Iterator[ast.Call]:
    stack: list[ast.AST | None] = [node]
    while stack:
        each = stack.pop()
        if each is None or isinstance(each, _PERHAPS):
            continue
        if isinstance(each, ast.Call):
            yield each
        stack += below(each)
