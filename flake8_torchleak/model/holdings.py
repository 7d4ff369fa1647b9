"""Objects that a Dataset holds and its samples use: readers, backends, the steps of a pipeline.

Each is copied into the workers with the Dataset, and what its methods open, or keep, for samples is opened or kept in
every worker. Their classes are looked at as Datasets are, with the methods that samples call in the place of
`__getitem__`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.dataset import Asked, DatasetFacts
from flake8_torchleak.model.values import UNKNOWN, Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.classfacts import ClassFacts
    from flake8_torchleak.model.module import Module
    from flake8_torchleak.model.tree import FunctionNode

_MOST_LEVELS = 3
"""Objects in objects in objects."""


class Holding(DatasetFacts):
    """The class of an object that a Dataset holds.

    asked: the methods that samples run, with where they do; bound: the statement that gives the Dataset the object.
    """

    def __init__(
        self, outer: DatasetFacts, facts: ClassFacts, asked: dict[FunctionNode, Asked], bound: ast.AST
    ) -> None:
        super().__init__(outer.module, facts)
        self.outer, self.asked, self._bound = outer, asked, bound

    @property
    def owner(self) -> DatasetFacts:
        return self.outer.owner

    def _called(self) -> dict[FunctionNode, Asked | None]:
        return dict(self.asked)

    def _indices(self) -> dict[FunctionNode, frozenset[str]]:
        return dict(self.outer.indices)

    def place(self, node: ast.AST, function: FunctionNode) -> ast.AST:
        first = self.module.tree.function(self._bound)
        if self.module.tree.is_own(node) or first is None:
            return node
        return self.outer.place(self._bound, first)

    @property
    def elsewhere(self) -> str:
        return "" if self.module.tree.is_own(self.facts.node) else self.name

    def chain(self, function: FunctionNode) -> list[tuple[ast.AST, str]]:
        own = super().chain(function)
        first = self.module.tree.function(own[0][0]) if own else None
        return [*(self.outer.chain(first) if first is not None else ()), *own]


def with_holdings(module: Module) -> Iterator[DatasetFacts]:
    """Every Dataset of a module, each followed by what it holds."""
    for dataset in module.datasets.all:
        yield dataset
        yield from _held(dataset, _MOST_LEVELS)


def _held(dataset: DatasetFacts, levels: int) -> Iterator[Holding]:
    found: dict[ClassFacts, Holding] = {}
    for function in dataset.calls_in:
        for held, method, node in asked(dataset, function):
            holding = found.setdefault(held.facts, Holding(dataset, held.facts, {}, held.bound))
            holding.asked.setdefault(method, node)
    for holding in found.values():
        yield holding
        yield from _held(holding, levels - 1) if levels > 1 else ()


class Held(NamedTuple):
    """The class of an object, and the statement that binds the attribute which holds it."""

    facts: ClassFacts
    bound: ast.AST


def asked(dataset: DatasetFacts, function: FunctionNode) -> Iterator[tuple[Held, FunctionNode, Asked]]:
    """What a function asks of objects that a Dataset holds: of which, the method, and the call or subscript."""
    for node in dataset.module.tree.within(function):
        if not isinstance(node, (ast.Call, ast.Subscript)):
            continue
        receiver, name = _asks(node)
        held = _held_by(dataset, receiver) if receiver is not None else None
        if held is None and isinstance(node, ast.Call):
            held, name = _held_by(dataset, node.func), "__call__"
        method = held.facts.methods.get(name) if held is not None else None
        if held is not None and method is not None and not dataset.module.datasets.is_dataset(held.facts):
            yield held, method, node


def _asks(node: ast.Call | ast.Subscript) -> tuple[ast.expr | None, str]:
    if isinstance(node, ast.Subscript):
        return (node.value if isinstance(node.ctx, ast.Load) else None), "__getitem__"
    if isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
        return node.args[0], "__len__"
    return (node.func.value, node.func.attr) if isinstance(node.func, ast.Attribute) else (None, "")


def _held_by(dataset: DatasetFacts, node: ast.expr) -> Held | None:
    """The object that `self.reader` is, or a variable of it, or an element of `self.steps`."""
    attr, value = _stored(dataset, node)
    if not attr and isinstance(node, ast.Name):
        for each in dataset.module.flow.reaching(node.id, node):
            attr, value = _stored(dataset, each.value) if each.value is not None and not each.path else ("", UNKNOWN)
            if each.how is How.ITERATE:
                value = value.element or UNKNOWN
    facts = dataset.module.classes.all.get(value.made) if isinstance(value.made, ast.ClassDef) else None
    if facts is None or value.kind is not Kind.INSTANCE:
        return None
    return Held(facts, dataset.module.infer.attributes.final_bindings(dataset.facts, attr)[0].statement)


def _stored(dataset: DatasetFacts, node: ast.expr) -> tuple[str, Value]:
    """An attribute of the object, and what it holds since it was made; "" for what samples bind, and for all else."""
    owned = dataset.module.classes.self_attribute(node)
    if owned is None or owned[0] not in dataset.facts.lineage or owned[1] in dataset.rebound:
        return "", UNKNOWN
    return owned[1], dataset.module.infer.attributes.built(dataset.facts, owned[1])
