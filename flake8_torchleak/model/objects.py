"""Tables and arrays that look packed and are Python objects inside: each element has a reference count all the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.state import READS, Read, StateFacts
from flake8_torchleak.model.values import Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_ARRAYS = frozenset({
    "numpy.array", "numpy.asarray", "numpy.asanyarray", "numpy.empty", "numpy.full", "numpy.fromiter", "numpy.zeros",
})  # fmt: skip
_MADE = frozenset({"numpy.array", "numpy.asarray", "numpy.asanyarray"})
_WORDS = {
    Kind.DICT: "dicts", Kind.PATH: "Path objects", Kind.SET: "sets", Kind.INSTANCE: "objects",
}  # fmt: skip
"""Elements that `np.array` has no type for."""
_UNPACKS = frozenset({"to_pylist", "to_pydict"})
_KEEPS = frozenset({"sorted", "list", "numpy.sort"})
_MOST_DEPTH = 8
_ROWS = frozenset({"iloc", "loc", "iat", "at"})
_ROW_METHODS = frozenset({"take", "xs", "iterrows", "itertuples"})
_PACKED_OPTIONS = frozenset({"dtype_backend", "types_mapper"})


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """An attribute of a Dataset that is bound to objects at `place`: `why` says what makes them so, at `node`."""

    dataset: DatasetFacts
    name: str
    place: ast.AST
    node: ast.AST
    why: str
    read: Read


def arrays(module: Module) -> Iterator[Objects]:
    """Arrays of dtype object, and Arrow columns turned into Python lists, that sample functions read."""
    seen: set[ast.AST] = set()
    for dataset, attr, state, binding in _states(module):
        read = state.read
        found = _objects(module, binding.value, _MOST_DEPTH) if read is not None else None
        if read is None or found is None or binding.statement in seen:
            continue
        if module.reach.is_read(dataset, attr):
            seen.add(binding.statement)
            yield Objects(dataset, f"self.{attr}", binding.statement, *found, read)


def frames(module: Module) -> Iterator[Objects]:
    """Tables read from files whose rows sample functions read, and which nothing shows to be packed."""
    seen: set[ast.AST] = set()
    for dataset, attr, state, binding in _states(module):
        if state.value.kind is not Kind.FRAME:
            continue
        read = next((each for each in state.reads if _reads_row(module, each)), None)
        made = _table(module, binding.value, _MOST_DEPTH)
        if read is None or made is None or binding.statement in seen:
            continue
        if module.reach.is_read(dataset, attr):
            seen.add(binding.statement)
            yield Objects(dataset, f"self.{attr}", binding.statement, made, "a table from a file", read)


def _states(module: Module) -> Iterator[tuple[DatasetFacts, str, StateFacts, Definition]]:
    """What may be in workers: attributes of Datasets with the bindings that last; one of a base for each class."""
    for dataset in module.datasets.all:
        if not module.loaders.may_have_workers(dataset.facts.node):
            continue
        for key in dataset.facts.attributes:
            attr = key.removeprefix("self.")
            state = StateFacts(module, dataset, attr)
            for binding in state.bindings:
                if binding.how is How.ASSIGN and not binding.path:
                    yield dataset, attr, state, binding


def _objects(module: Module, node: ast.expr | None, depth: int) -> tuple[ast.AST, str] | None:
    """What makes the value of an expression an array or list of objects: (where, in words)."""
    if isinstance(node, ast.Name) and depth:
        values = [d.value for d in module.flow.reaching(node.id, node) if d.is_plain]
        return _objects(module, values[0], depth - 1) if len(values) == 1 else None
    if not isinstance(node, ast.Call) or not depth:
        return None
    qualname = module.names.qualname(node.func)
    if qualname in _KEEPS and node.args:
        return _objects(module, node.args[0], depth - 1)
    given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "dtype")]
    if qualname in _ARRAYS:
        if any(_is_object(each) for each in given):
            return node, "dtype=object"
        if qualname in _MADE and not given and node.args:
            return _of_elements(node, module.infer.value(node.args[0]))
    if isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name == "astype" and node.args and _is_object(node.args[0]):
            return node, "astype(object)"
        if name in _UNPACKS:
            return node, f"`.{name}()` of a packed column"
        if name == "to_numpy" and not node.args and not node.keywords and _is_text_column(module, node.func.value):
            return node, "`.to_numpy()` of strings"
        if name in ("copy", "ravel", "flatten", "reshape"):
            return _objects(module, node.func.value, depth - 1)
    return None


def _of_elements(node: ast.Call, value: Value) -> tuple[ast.AST, str] | None:
    element = value.element.kind if value.is_container and value.element is not None else None
    grows = value.grows and element in _WORDS
    return (node, f"np.array of {_WORDS[element]}: dtype=object") if grows and element is not None else None


def _is_object(node: ast.expr) -> bool:
    return last_name(node) in ("object", "object_") or getattr(node, "value", None) in ("object", "O")


def _is_text_column(module: Module, node: ast.expr) -> bool:
    """`df["path"]` of a table."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return False
    return module.infer.value(node.value).kind is Kind.FRAME and hints.is_text(str(node.slice.value))


def _table(module: Module, node: ast.expr | None, depth: int) -> ast.Call | None:
    """The call that reads a table from a file, with no option that packs its strings; None for other tables."""
    if not depth or node is None:
        return None
    if isinstance(node, ast.Name):
        values = [d.value for d in module.flow.reaching(node.id, node) if d.is_plain]
        return next((t for each in values if (t := _table(module, each, depth - 1)) is not None), None)
    if isinstance(node, ast.Subscript):
        return _table(module, node.value, depth - 1)
    if not isinstance(node, ast.Call):
        return None
    if module.names.qualname(node.func).rpartition(".")[2].startswith("read_"):
        packed = any(k.arg in _PACKED_OPTIONS for k in node.keywords)
        return None if packed or module.infer.value(node).kind is not Kind.FRAME else node
    if isinstance(node.func, ast.Attribute) and node.func.attr not in ("astype", "convert_dtypes"):
        return _table(module, node.func.value, depth - 1)
    return None


def _reads_row(module: Module, read: Read) -> bool:
    """Whether a use reads rows of a table: `.iloc[i]`, `df["path"][i]`, `itertuples`."""
    parent = module.tree.parents[read.node]
    if isinstance(parent, ast.Attribute):
        return parent.attr in _ROWS or parent.attr in _ROW_METHODS
    outer = module.tree.parents[parent]
    if isinstance(outer, ast.Attribute):
        return outer.attr in _ROWS or outer.attr == "values"
    return read.use in READS and isinstance(outer, ast.Subscript)
