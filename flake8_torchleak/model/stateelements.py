"""What the elements of a Dataset's container are: tensors, entries of records, numbers, a few objects many times."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.few import are_few_objects
from flake8_torchleak.model.inherited import changes_of
from flake8_torchleak.model.state import StateFacts
from flake8_torchleak.model.values import UNKNOWN, Kind, Size, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def holds_tensors(state: StateFacts) -> bool:
    """Whether the elements are tensors, in tuples or dicts too, or what `torch.load` gave for one file each."""
    value = state.value
    if not value.is_container or value.kind in (Kind.JSON, Kind.INDEX):
        return False
    element = value.element or UNKNOWN
    parts = [element, element.element or UNKNOWN, *element.items, *(each for _, each in element.fields)]
    if any(part.kind is Kind.TENSOR for part in parts):
        return True
    return any(_is_loaded(state.module, each) for each in put_in(state))


def _is_loaded(module: Module, node: ast.expr, depth: int = 3) -> bool:
    """`torch.load(path)`, by way of a variable or of a helper too."""
    if isinstance(node, ast.Name):
        values = [d.value for d in module.flow.reaching(node.id, node)]
        return len(values) == 1 and isinstance(values[0], ast.Call) and _is_loaded(module, values[0], depth)
    if not isinstance(node, ast.Call) or not depth:
        return False
    given = module.classes.gives(node)
    return module.names.qualname(node.func) == "torch.load" or (
        bool(given) and all(_is_loaded(module, each, depth - 1) for each in given)
    )


def put_in(state: StateFacts) -> Iterator[ast.expr]:
    """The expressions whose values become elements, as far as they stand beside the container."""
    for binding in state.bindings:
        if isinstance(binding.value, ast.ListComp):
            yield binding.value.elt
        elif isinstance(binding.value, ast.DictComp):
            yield binding.value.value
    for change in changes_of(state):
        yield from change.elements


def is_entry(module: Module, node: ast.expr) -> bool:
    """Whether an expression is `record["key"]`, `row[1]` or `record.get("key")`, by way of a variable too."""
    if isinstance(node, ast.Name):
        values = [each.value for each in module.flow.reaching(node.id, node) if each.is_plain]
        return len(values) == 1 and isinstance(values[0], (ast.Subscript, ast.Call)) and is_entry(module, values[0])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        key: ast.AST | None = node.args[0] if node.args else None
    else:
        key = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(key, ast.Constant)


def is_element_of(module: Module, node: ast.expr, attr: str) -> bool:
    """Whether an expression is an element of an attribute of the object: `[self.rows[i] for i in chosen]`."""
    owned = module.classes.self_attribute(node.value) if isinstance(node, ast.Subscript) else None
    return owned is not None and owned[1] == attr


def is_cheap(value: Value) -> bool:
    """Elements that cost nothing to read: shared constants are a few objects."""
    if value.element is not None and value.element.kind in (
        Kind.MODULE,
        Kind.DATASET,
        Kind.LOADER,
        Kind.FILE,
        Kind.NONE,
        Kind.SHARED,
    ):
        return True
    if value.element is not None and value.element.kind is Kind.NUMBER and value.element.size is Size.SMALL:
        return True
    if value.element is not None and value.element.kind is Kind.ARRAY:
        return not value.grows
    return False


def are_few_numbers(state: StateFacts) -> bool:
    """Whether the elements are numbers of which there are few different ones, by name: Python shares small ones."""
    value = state.value
    if value.kind in (Kind.DICT, Kind.INDEX) or not hints.counts_few(state.attr):
        return False
    return value.element is None or value.element.kind in (Kind.NUMBER, Kind.UNKNOWN, Kind.JSON)


def are_repeated(state: StateFacts) -> bool:
    """Whether it is a list or tuple of a few objects, each many times: reading them all writes to a few pages."""
    if state.value.kind not in (Kind.LIST, Kind.TUPLE):
        return False
    return are_few_objects(state.module, state.bindings, changes_of(state))


def are_records(state: StateFacts) -> bool:
    """Whether samples read an element by a key that is text: then it is a record."""
    for read in state.reads:
        parent = state.module.tree.parents[read.node]
        outer = state.module.tree.parents.get(parent)
        if (
            isinstance(outer, ast.Subscript)
            and isinstance(outer.slice, ast.Constant)
            and isinstance(outer.slice.value, str)
        ):
            return True
    return False
