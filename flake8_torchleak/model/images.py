"""Images that PIL has opened and not read: each holds its file open until its pixels are asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import container_of, key_of
from flake8_torchleak.model.drawing import gone_over
from flake8_torchleak.model.env import NO_ENV
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.stores import handed
from flake8_torchleak.model.tree import COMPREHENSIONS, FunctionNode
from flake8_torchleak.model.values import Size

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_CALLS = 3
"""Helpers of helpers that an image goes through."""
_MOST_CALLERS = 20
_PUTS = frozenset({"append", "appendleft", "insert", "add", "setdefault"})


@dataclass(frozen=True, slots=True, eq=False)
class Unloaded:
    """`call` opens an image, which the container `name` keeps unread."""

    call: ast.Call
    name: str
    kept: bool
    """The container is an attribute: it lives as long as its object."""


def unloaded(module: Module) -> Iterator[Unloaded]:
    """`Image.open(...)` whose result goes into a container unread, once for each of many files.

    Of an attribute it is enough that it is not small; a local container is filled from a listing of files.
    """
    for call in module.tree.all(ast.Call):
        if module.names.qualname(call.func) != "PIL.Image.open":
            continue
        put = _put(module, call)
        if put is None:
            continue
        holder, _ = container_of(put[0])
        kept = module.classes.self_attribute(holder) is not None
        if key_of(holder) and (put[1] is Size.GROWS or (kept and put[1] is not Size.SMALL)):
            yield Unloaded(call, key_of(holder), kept)


def may_keep_images(outline: Outline) -> bool:
    """Whether what some `open` gives is bound, or put anywhere, as it is: what `unloaded` looks into."""
    if "PIL" not in outline.packages:
        return False
    values = [each.value for each in outline.all(ast.Assign)] + [each.value for each in outline.all(ast.Expr)]
    values += [each.value for each in outline.all(ast.AugAssign)]
    values += [one for each in outline.all(ast.Expr) if isinstance(each.value, ast.Call) for one in each.value.args]
    for each in values:  # it grows as it is gone through
        if isinstance(each, (ast.Tuple, ast.List)):
            values += each.elts
        elif isinstance(each, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            values.append(each.elt)
        elif isinstance(each, ast.DictComp):
            values.append(each.value)
        elif isinstance(each, ast.Call) and last_name(each.func) == "open":
            return True
        elif isinstance(each, ast.Call) and last_name(each.func) in _PUTS:
            values += each.args
    return False


def _put(module: Module, value: ast.expr, depth: int = _MOST_CALLS) -> tuple[ast.expr, Size] | None:
    """What a value is put into (`c.append(value)`, `c[k] = value`, `c = [value for ...]`), and how large that gets."""
    tree = module.tree
    parent = tree.parents[value]
    if isinstance(parent, ast.Return):
        function = tree.function(parent)
        calls = _calls(module, function) if function is not None and depth else []
        return next((put for each in calls if (put := _put(module, each, depth - 1)) is not None), None)
    if isinstance(parent, (ast.Tuple, ast.List)) or value in module.classes.record(parent):
        assert isinstance(parent, ast.expr)
        value, parent = parent, tree.parents[parent]
    if isinstance(parent, ast.Call):
        func = parent.func
        if isinstance(func, ast.Attribute) and func.attr in _PUTS and value in parent.args:
            return _of_caller(module, value) or (func.value, _looped(module, parent))
        stores = (each for each in handed(module, parent) if each.value is value)
        return next(((each.holder, _looped(module, parent)) for each in stores), None)
    if isinstance(parent, COMPREHENSIONS):
        outer = tree.parents[parent]
        if isinstance(outer, ast.Call) and isinstance(outer.func, ast.Attribute) and outer.func.attr == "extend":
            return outer.func.value, module.infer.value(parent).size
        targets = outer.targets if isinstance(outer, ast.Assign) and not isinstance(parent, ast.GeneratorExp) else []
        return (targets[0], module.infer.value(parent).size) if targets else None
    if isinstance(parent, ast.AugAssign) and isinstance(value, (ast.List, ast.Tuple)):
        return parent.target, _looped(module, parent)
    if not isinstance(parent, ast.Assign):
        return None
    target = parent.targets[0]
    if isinstance(target, ast.Subscript):
        if isinstance(target.slice, ast.Constant):
            return None
        return _of_caller(module, value) or (target.value, _looped(module, parent))
    reads = _reads(module, target) if isinstance(target, ast.Name) else []
    return _put(module, reads[0], depth) if len(reads) == 1 else None


def _of_caller(module: Module, value: ast.expr) -> tuple[ast.expr, Size] | None:
    """The caller's container that a function puts a value into, where it is handed one, and how large that gets."""
    function = module.tree.function(value)
    for call in _calls(module, function) if function is not None else ():
        for store in handed(module, call):
            if store.value is value:
                return store.holder, _looped(module, call)
    return None


def _calls(module: Module, function: FunctionNode) -> list[ast.Call]:
    calls = module.classes.calls_of(function)[:_MOST_CALLERS]
    return [each for each in calls if module.classes.callee(each) is function]


def _reads(module: Module, target: ast.Name) -> list[ast.Name]:
    nodes = module.tree.within(module.tree.scope(target))
    return [n for n in nodes if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load)]


def _looped(module: Module, node: ast.AST) -> Size:
    """How often a statement runs: the sizes of what the loops around it go over."""
    function = module.tree.function(node)
    over = [each for loop in module.tree.loops(node) if (each := gone_over(module.flow, loop)) is not None]
    if not module.tree.loops(node) and (function is None or function.name == "__init__"):
        return Size.SMALL
    sizes = {module.infer.growth.iteration([each], NO_ENV)[0] for each in over}
    if Size.GROWS in sizes:
        return Size.GROWS
    return Size.SMALL if sizes == {Size.SMALL} else Size.UNKNOWN
