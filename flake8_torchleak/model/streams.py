"""Streams: what an IterableDataset goes over to make its samples, and whether its workers share that out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.drawing import gone_over
from flake8_torchleak.model.names import last_name, mentions
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS, FunctionNode
from flake8_torchleak.model.values import CONTAINERS, Kind, Size

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PLAIN_BASES = frozenset({"IterableDataset", "TorchIterableDataset", "Dataset", "Generic", "ABC", "object"})
_DIVISIONS = ("worker", "shard", "rank", "num_replicas", "world_size")
"""Words of code that gives each process its part."""
_ENDLESS = frozenset({"cycle", "count", "repeat"})
_STORED = CONTAINERS | {Kind.ARRAY, Kind.TENSOR, Kind.PICKLE, Kind.OBJECTS}
_INDICES = frozenset({Kind.RANGE, Kind.LIST, Kind.ARRAY, Kind.TENSOR})
_READ = frozenset({Kind.FILE, Kind.ITERATOR})


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """An IterableDataset whose every iterator goes over all of `source`."""

    dataset: DatasetFacts
    entry: FunctionNode
    source: ast.expr
    function: FunctionNode
    indices: bool
    """Whether it goes over the numbers of samples, in whatever order."""
    shuffled: bool
    """Whether each worker puts them into an order of its own first."""


def undivided(module: Module) -> Iterator[Stream]:
    """The streams of stored data or files that nothing in their class divides among workers.

    Endless streams, and those of something unknown (which may divide itself), are left out.
    """
    for dataset in module.datasets.all:
        entry = dataset.facts.methods.get("__iter__")
        if entry is None or not _is_iterable(dataset) or _divides(module, dataset):
            continue
        found = next(_sources(module, dataset), None)
        if found is not None:
            yield Stream(dataset, entry, *found, _counts(module, found[0]), _is_shuffled(module, *found))


def _is_iterable(dataset: DatasetFacts) -> bool:
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in dataset.facts.outer_bases]
    qualnames = [dataset.module.names.qualname(base) for base in bases]
    names = {
        qualname.rpartition(".")[2] if qualname.startswith("torch.") else last_name(base)
        for base, qualname in zip(bases, qualnames, strict=True)
    }
    return any(name.endswith("IterableDataset") for name in names) and names <= _PLAIN_BASES


def _divides(module: Module, dataset: DatasetFacts) -> bool:
    """Whether the class, a helper or a worker_init_fn may give each worker its part, or the stream never ends."""
    if any(k.arg == "worker_init_fn" for site in module.loaders.sites for k in site.call.keywords):
        return True
    bodies: list[ast.AST] = [each.node for each in dataset.facts.lineage]
    bodies += [function for function in dataset.calls_in if module.classes.around(function) is None]
    if any(mentions(each, word) for body in bodies for each in _statements(body) for word in _DIVISIONS):
        return True
    return any(_takes_a_part(node) for body in bodies for node in ast.walk(body))


def _statements(body: ast.AST) -> Iterator[ast.AST]:
    """The statements of a class or function, without docstrings: what those say divides nothing."""
    for each in ast.iter_child_nodes(body):
        if isinstance(each, (ast.ClassDef, *FUNCTIONS)):
            yield from _statements(each)
        elif not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
            yield each


def _takes_a_part(node: ast.AST) -> bool:
    """Whether a node takes every n-th element, skips by remainder, or goes on for ever."""
    if isinstance(node, ast.While):
        return isinstance(node.test, ast.Constant) and not _is_left(node)
    if isinstance(node, ast.Slice):
        return node.step is not None and not isinstance(node.step, (ast.Constant, ast.UnaryOp))
    if isinstance(node, ast.Call):
        return last_name(node.func) in _ENDLESS or (last_name(node.func) == "islice" and len(node.args) > 3)
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


def _is_left(loop: ast.While) -> bool:
    """Whether a loop has a `break` of its own, or the function ends in it."""
    stack: list[tuple[ast.AST, bool]] = [(each, True) for each in loop.body]
    while stack:
        node, own = stack.pop()
        if isinstance(node, ast.Return) or (own and isinstance(node, ast.Break)):
            return True
        if not isinstance(node, (*FUNCTIONS, ast.Lambda)):
            own = own and not isinstance(node, LOOPS)
            stack += [(each, own) for each in ast.iter_child_nodes(node)]
    return False


def _sources(module: Module, dataset: DatasetFacts) -> Iterator[tuple[ast.expr, FunctionNode]]:
    """What sample functions go over whole to give out its elements."""
    for function in dataset.calls_in:
        for node in module.tree.within(function):
            if isinstance(node, (ast.For, ast.While)) and _gives(node):
                over = gone_over(module.flow, node)
                if over is not None and _is_data(module, over, not module.tree.loops(node)):
                    yield over, function
            elif isinstance(node, ast.With) and _yields_in_loop(node):
                for item in node.items:
                    if module.infer.value(item.context_expr).kind is Kind.FILE:
                        yield item.context_expr, function
            elif isinstance(node, ast.YieldFrom) and not module.tree.loops(node):
                for each in _iterated(node.value):
                    if _is_data(module, each, True):
                        yield each, function
            elif isinstance(node, ast.Return) and node.value is not None and function.name == "__iter__":
                for each in _iterated(node.value):
                    if each is not node.value and _is_data(module, each, True):
                        yield each, function


def _yields_in_loop(block: ast.With) -> bool:
    loops = [node for each in block.body for node in ast.walk(each) if isinstance(node, LOOPS)]
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for loop in loops for node in ast.walk(loop))


def _gives(loop: ast.For | ast.While) -> bool:
    """Whether a loop yields something made of its own variable."""
    inside = [node for each in loop.body for node in ast.walk(each)]
    if isinstance(loop, ast.While):
        return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in inside)
    names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)} - {"_"}
    used = any(isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load) for n in inside)
    return used and any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in inside)


def _iterated(value: ast.expr) -> list[ast.expr]:
    """What `iter(x)`, `map(f, x)`, `zip(x, y)` and a generator expression go over."""
    if isinstance(value, ast.GeneratorExp):
        return [value.generators[0].iter]
    if isinstance(value, ast.Call) and last_name(value.func) in ("iter", "map", "zip", "enumerate"):
        inner = value.args[1:] if last_name(value.func) == "map" else value.args
        return [part for each in inner for part in _iterated(each)]
    return [value]


def _is_data(module: Module, node: ast.expr, outermost: bool) -> bool:
    """Whether an iterable is a file, or (in an outermost loop) a container of the data or all its indices."""
    value = module.infer.value(node)
    if outermost and _is_handed(module, node):
        return True
    if value.kind is Kind.FRAME or (value.kind in _READ and value.size is Size.GROWS):
        return True
    if not outermost or value.size is Size.SMALL:
        return False
    if value.kind in _STORED and (value.size is Size.GROWS or value.origin is not None):
        return True
    return value.kind in _INDICES and _counts(module, node)


def _is_handed(module: Module, node: ast.expr) -> bool:
    """Whether an attribute is what the constructor is handed as any iterable, by its annotation, or an iterator of it.

    By their names, other Datasets are left out: they may divide themselves.
    """
    seen: set[ast.expr] = set()
    while node not in seen:
        seen.add(node)
        while isinstance(node, ast.Call) and last_name(node.func) == "iter" and node.args:
            node = node.args[0]
        owned = module.classes.self_attribute(node)
        found = owned[0].attributes.get(f"self.{owned[1]}", []) if owned is not None else []
        if isinstance(node, ast.Name):
            found = module.flow.reaching(node.id, node)
        values = [each for each in found if not (isinstance(each.value, ast.Constant) and each.value.value is None)]
        if len(values) != 1 or hints.is_dataset(values[0].key.rpartition(".")[2]):
            return False
        parameter, value = values[0].node, values[0].value
        if isinstance(parameter, ast.arg):
            return parameter.annotation is not None and _is_iterable_type(parameter.annotation)
        if value is None:
            return False
        node = value
    return False


def _is_iterable_type(annotation: ast.expr) -> bool:
    whole = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return last_name(whole) in ("Iterable", "Iterator", "Generator")


def _counts(module: Module, node: ast.expr) -> bool:
    """Whether indices go up to the length of something: `range(len(self))`, also through a variable."""
    if isinstance(node, ast.Name):
        values = [each.value for each in module.flow.reaching(node.id, node)]
        return bool(values) and all(each is not None and _measures(each) for each in values)
    return _measures(node)


def _is_shuffled(module: Module, source: ast.expr, function: FunctionNode) -> bool:
    """Whether a variable is handed to a `shuffle` before it is gone over."""
    calls = [call for call in module.tree.calls(function) if last_name(call.func) == "shuffle" and call.args]
    return isinstance(source, ast.Name) and source.id in [key_of(call.args[0]) for call in calls]


def _measures(node: ast.expr) -> bool:
    return any(isinstance(call, ast.Call) and last_name(call.func) == "len" for call in ast.walk(node))
