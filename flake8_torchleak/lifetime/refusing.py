"""Calls that raise for what they are given, values that are taken apart into too many names, and what that ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flake8_torchleak.lifetime.frames import Function
from flake8_torchleak.lifetime.nodes import below, of_node, walk
from flake8_torchleak.lifetime.values import Atom, Keywords, Kind, Obj, Value
from flake8_torchleak.lifetime.world import ClassInfo, binding
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.signatures import refuses, spreads
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.lifetime.run import Run
    from flake8_torchleak.lifetime.seen import Seen

_PERHAPS = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Expressions that may leave out a part of themselves."""
_LEAVING = (ast.Return, ast.Raise)
_YIELDS = (ast.Yield, ast.YieldFrom)


def is_refused(atom: Atom, args: Sequence[Value], keywords: Keywords, node: ast.expr) -> bool:
    """Whether calling something with these fails: of several alternatives, it is another one that is called then."""
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


def note_parts(run: Run, value: Value, target: ast.Tuple | ast.List, call: ast.expr | None) -> None:
    """What a call gives was taken apart: whether it has as many parts, whichever function it is that gives it."""
    if any(isinstance(each, ast.Starred) for each in target.elts):
        return
    counts = {_count(atom) for atom in value}
    if not counts or not counts.isdisjoint({None, len(target.elts)}) or not _gives(run, value, call):
        run.seen.fitting.add(target)
    else:
        run.seen.failing.add(target)


def _count(atom: Atom) -> int | None:
    """How many parts a tuple has that the program makes as a whole; None for anything else."""
    made = atom.made
    if not isinstance(made, Obj) or made.kind != "tuple" or made.fields.keys() != set(range(len(made.fields))):
        return None
    return len(made.fields)


def _gives(run: Run, value: Value, call: ast.expr | None) -> bool:
    """Whether it is just what the functions return that a call is of: no decorator, or class below, is between."""
    if not isinstance(call, ast.Call):
        return False
    callee = run.evaluate(call.func)
    functions = [found[0] for atom in callee if _is_certain(atom, call) and (found := _taking(atom)) is not None]
    if not callee or len(functions) < len(callee):
        return False
    if any(isinstance(each, (ast.Lambda, ast.AsyncFunctionDef)) or each.decorator_list for each in functions):
        return False
    returned = {node.value for each in functions for node in walk(each) if isinstance(node, ast.Return)}
    return all(isinstance(atom.made, Obj) and atom.made.node in returned for atom in value)


def failing(seen: Seen) -> frozenset[ast.AST]:
    """The calls, and the names that a value is taken apart into, that fail each time that they are followed."""
    return frozenset(seen.failing - seen.fitting)


def _is_certain(atom: Atom, call: ast.Call) -> bool:
    """Whether it is just this that is called, under its own name.

    No method that a class below may have, or that is bound anew in its class; no function that a decorator made.
    """
    made = atom.made
    if isinstance(made, ClassInfo):
        return last_name(call.func) == made.name
    if isinstance(made, Function):
        name = getattr(made.node, "name", "")
        if made.closure is not None or last_name(call.func) != name:
            return False
        if made.owner is not None and not made.receiver:
            return False  # of another class, perhaps: who gets it from an object is given that
        owners = (each.made for each in made.receiver if isinstance(each.made, Obj))
        return all(each.born and _has_one(each, name) for each in owners)
    if not isinstance(made, Obj) or not made.born:
        return False
    return all(name not in made.fields and _has_one(made, name) for name in ("__call__", "forward"))


def _has_one(made: Obj, name: str) -> bool:
    """Whether the classes of an object bind a name to methods alone, each at most once."""
    for each in made.cls.order if isinstance(made.cls, ClassInfo) else ():
        bound = _bound(each.node).get(name, [])
        if bound and bound != [each.own.get(name)]:
            return False
        if each.shared is not None and name in each.shared.fields:
            return False
    return True


@of_node
def _bound(cls: ast.ClassDef) -> dict[str, list[ast.stmt]]:
    return binding(cls.body)


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
        found = _constructor(made)
        return (found, True) if found is not None else None
    if isinstance(made, Obj) and isinstance(made.cls, ClassInfo):
        method = made.cls.method("__call__") or (made.cls.method("forward") if made.cls.is_network else None)
        return (method[1], True) if method is not None else None
    return None


def _constructor(cls: ClassInfo) -> FunctionNode | None:
    """The `__init__` that a class is called by, where nothing else may come before it."""
    found = cls.method("__init__")
    if found is None or cls.method("__new__") is not None or not is_in_line(cls):
        return None
    return found[1] if _has_one(Obj("instance", None, 0, cls), "__init__") else None


_PLAIN_BASES = frozenset({
    "object", "Module", "Dataset", "IterableDataset", "Sampler", "Exception", "ABC", "LightningModule",
    "LightningDataModule",
})  # fmt: skip
"""Classes of libraries, by their last names, that leave it to `type` how a class below is called."""


def is_in_line(cls: ClassInfo) -> bool:
    """Whether a class and all above it are one below the other, and none is decorated, or of another kind."""
    plain = all(not each.node.keywords and not each.node.decorator_list and _is_single(each) for each in cls.order)
    return plain and all(name.rpartition(".")[2] in _PLAIN_BASES for name in cls.foreign)


def _is_single(cls: ClassInfo) -> bool:
    return len(cls.node.bases) <= 1 and len(cls.bases) <= 1


@of_node
def _come_to(function: FunctionNode) -> tuple[ast.expr, ...]:
    """What of a function may fail and is evaluated whenever it is called, as its statements show."""
    if isinstance(function, ast.AsyncFunctionDef) or any(isinstance(each, _YIELDS) for each in walk(function)):
        return ()
    return tuple(_calls(function.body))


def _calls(body: list[ast.stmt]) -> Iterator[ast.expr]:
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


def _evaluated(node: ast.AST) -> Iterator[ast.expr]:
    stack: list[ast.AST | None] = [node]
    while stack:
        each = stack.pop()
        if each is None or isinstance(each, _PERHAPS):
            continue
        if isinstance(each, (ast.Call, ast.Tuple, ast.List)):
            yield each
        stack += below(each)
