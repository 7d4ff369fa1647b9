"""What sample functions give out: views and stored objects of the Dataset."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.names import last_name, mentions
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import UNKNOWN, Kind, OriginKind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_IMMUTABLE = frozenset({Kind.NONE, Kind.NUMBER, Kind.STRING, Kind.PATH})
_LEAVES = _IMMUTABLE | {Kind.ARRAY, Kind.TENSOR, Kind.JSON}


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A part of a sample that is the Dataset's own memory or object."""

    node: ast.expr
    value: Value
    function: FunctionNode


def is_stored(value: Value) -> bool:
    """Whether a value is (part of) what a Dataset's attribute holds."""
    return is_reached(value) and not (value.origin is not None and value.origin.copied)


def is_reached(value: Value) -> bool:
    """The same, and what is in an entry of a copy that is not a deep one."""
    return value.origin is not None and value.origin.kind is OriginKind.STATE and value.origin.element


def are_passed_on(module: Module) -> bool:
    """Whether a loader of the file may hand on the samples of one of its Datasets as they are."""
    return any(module.loaders.passes_through(each.facts.node) for each in module.datasets.all)


def given_out(module: Module, dataset: DatasetFacts) -> Iterator[Given]:
    """Parts of the samples that a Dataset returns or yields which still belong to its state."""
    queue: list[FunctionNode] = list(dataset.entries)
    seen: set[ast.AST] = set(queue)
    while queue:
        function = queue.pop(0)
        if function.name.startswith("__iter"):
            continue
        for node in module.tree.within(function):
            if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None:
                for part in _parts(module, node.value):
                    helper = dataset.resolve(part) if isinstance(part, ast.Call) else None
                    if helper is not None:
                        if helper not in seen and helper in dataset.calls_in:
                            seen.add(helper)
                            queue.append(helper)
                    elif part not in seen:
                        seen.add(part)
                        value = module.infer.value(part)
                        if value.kind is Kind.JSON and _is_record(module, part):
                            value = value.but(kind=Kind.DICT)
                        if is_stored(value):
                            yield Given(part, value, function)


def _is_record(module: Module, part: ast.expr) -> bool:
    """Whether a variable that came out of a parsed file is subscripted by a string: a dict."""
    return isinstance(part, ast.Name) and any(
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == part.id
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        for node in module.tree.within(module.tree.scope(part))
    )


def is_immutable(module: Module, value: Value) -> bool:
    """Whether an object's class (named tuple, frozen dataclass, enum, or one of another file) rules out edits."""
    if value.kind is not Kind.INSTANCE:
        return False
    facts = module.classes.all.get(value.made) if isinstance(value.made, ast.ClassDef) else None
    if facts is None or facts.has_base("NamedTuple", "Enum", "tuple"):
        return True
    return any(mentions(d, "frozen") for d in facts.node.decorator_list)


def is_cache(module: Module, value: Value) -> bool:
    """Whether a method of an object's class, `__init__` aside, sets an attribute of it."""
    facts = module.classes.all.get(value.made) if isinstance(value.made, ast.ClassDef) else None
    return facts is not None and any(
        key.startswith(f"{self_name(function)}.")
        for name, function in facts.methods.items()
        if name not in ("__init__", "__post_init__")
        for key in module.flow.definitions(function)
    )


def is_plain(value: Value) -> bool:
    """Whether it is made of containers, text, numbers, arrays and tensors only, as far down as it goes.

    A tensor with a history cannot be copied deeply: torch raises.
    """
    if value.kind is Kind.TENSOR:
        return value.graph is False
    if value.kind in _LEAVES:
        return True
    inner = [*value.items, *(each for _, each in value.fields)] or [value.element or UNKNOWN]
    return value.kind in (Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.SET, Kind.DEQUE) and all(map(is_plain, inner))


def is_flat(value: Value) -> bool:
    """Whether nothing in a container can be edited in place: a copy of the container alone is a copy of it all."""
    inner = [*value.items, *(each for _, each in value.fields)] or [value.element or UNKNOWN]
    return all(each.kind in _IMMUTABLE for each in inner)


def _parts(module: Module, node: ast.expr) -> Iterator[ast.expr]:
    """The expressions a returned display is made of; local variables are followed to helpers of the file."""
    stack = [node]
    seen: set[ast.expr] = set()
    while stack:
        each = stack.pop()
        if each in seen:
            continue
        seen.add(each)
        if isinstance(each, (ast.Tuple, ast.List)):
            stack += each.elts
        elif isinstance(each, ast.Dict):
            stack += [value for key, value in zip(each.keys, each.values, strict=True) if key is not None]
        elif isinstance(each, ast.IfExp):
            stack += [each.body, each.orelse]
        elif isinstance(each, ast.Starred):
            continue
        elif isinstance(each, ast.Call) and last_name(each.func) == "dict":
            stack += [k.value for k in each.keywords if k.arg]
        elif isinstance(each, ast.Name):
            values = [d.value for d in module.flow.reaching(each.id, each) if d.value is not None and not d.path]
            displays = [v for v in values if isinstance(v, (ast.Tuple, ast.Dict, ast.List))]
            calls = [v for v in values if isinstance(v, ast.Call) and module.classes.callee(v) is not None]
            if len(values) == 1 and (displays or calls):
                stack += displays or calls
            else:
                yield each
        else:
            yield each
