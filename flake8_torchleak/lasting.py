"""Statements in steps whose container outlives the step, as far as following the calls shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.lifetime.follow import followed
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.stores import Store, handed, stored
from flake8_torchleak.model.tree import COMPREHENSIONS
from flake8_torchleak.model.values import Kind


def lasting_stores(module: Module) -> Iterator[Store]:
    """Statements in steps that put something into a container, but where that is shown to be emptied or bounded.

    Comprehensions over batches, too, which hold what each of them gives.
    """
    yield from _gathered(module)
    keeper = followed(module).run.keeper
    nodes: list[ast.AST] = [*module.loops.steps(ast.Call), *module.loops.steps(ast.Assign)]
    for node in (*nodes, *module.loops.steps(ast.AugAssign)):
        if keeper.contained.get(node, False):
            continue
        store = stored(node)
        if store is None and isinstance(node, ast.Call):
            store = next(handed(module, node), None)
        if store is not None and _grows(module, node, store):
            yield store


def _gathered(module: Module) -> Iterator[Store]:
    """Comprehensions over batches, under what they are bound to, and generators over them that a container takes."""
    for node in module.tree.all(*COMPREHENSIONS):
        assert isinstance(node, COMPREHENSIONS)
        if not module.loops.goes_over_batches(node):
            continue
        up = module.tree.parents[node]
        if isinstance(node, ast.GeneratorExp):
            store = stored(up)
            if store is not None and store.value is node:
                yield store
            continue
        target = up.targets[0] if isinstance(up, ast.Assign) else node
        yield Store(node, key_of(target), target, node.value if isinstance(node, ast.DictComp) else node.elt)


def _grows(module: Module, node: ast.AST, store: Store) -> bool:
    """Whether a statement adds an entry: not a number to a sum, nor rows to what has its size already."""
    kind = module.infer.value(store.holder).kind
    if isinstance(node, ast.AugAssign):
        return kind is Kind.LIST or isinstance(store.value, (ast.List, ast.Tuple))
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        is_slot = isinstance(target, ast.Subscript) and isinstance(target.slice, (ast.Constant, ast.Slice))
        return kind in (Kind.LIST, Kind.DICT, Kind.DEQUE) and not is_slot
    return kind not in (Kind.TENSOR, Kind.ARRAY, Kind.MODULE, Kind.METRIC, Kind.INSTANCE)
