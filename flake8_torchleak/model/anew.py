"""What no later sample is made of: queues, what is made anew for each epoch, logs that are only written."""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import EDITING_METHODS, Mutation
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.model.values import Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_ENTERING = frozenset({"append", "appendleft", "extend", "extendleft"})
_LEAVING = frozenset({"pop", "popleft", "remove", "clear", "del"})


def is_queue(module: Module, change: Mutation, value: Value) -> bool:
    """Whether an element is a queue of the class, whose methods both fill and empty the elements there."""
    owner = module.tree.class_of(module.tree.function(change.node) or module.root)
    facts = module.classes.all[owner] if owner is not None else None
    if facts is None or change.method not in _ENTERING | _LEAVING or value.kind not in (Kind.LIST, Kind.DEQUE):
        return False
    methods: set[str] = set()
    for function in facts.all_functions:
        for key, changes in module.flow.mutations(function).items():
            for each in changes:
                if each.method in _ENTERING | _LEAVING and each.target is not None:
                    origin = module.infer.value(each.target).origin
                    if origin is not None and value.origin is not None and origin.name == value.origin.name:
                        methods.add(each.method)
                elif _puts_empty(each) and value.origin is not None and key == value.origin.name:
                    methods.add("clear")
    return not (methods.isdisjoint(_ENTERING) or methods.isdisjoint(_LEAVING))


def _puts_empty(change: Mutation) -> bool:
    """Whether an element gives way to an empty list: `self.rows[0] = []`."""
    value = change.value
    return change.method == "setitem" and isinstance(value, ast.List) and not value.elts


def is_made_anew(module: Module, dataset: DatasetFacts, value: Value) -> bool:
    """Whether sample functions bind the attribute itself anew, always: it holds one item, or what an epoch needs."""
    name = value.origin.name if value.origin is not None else ""
    for each in dataset.facts.attributes.get(name, []):
        function = module.tree.function(each.node)
        if each.is_plain and function is not None and function in dataset.calls_in:
            above = takewhile(lambda up: not isinstance(up, FUNCTIONS), module.tree.ancestors(each.node))
            if not any(isinstance(up, (ast.If, ast.Try)) for up in above):
                return True
    return False


def is_log(module: Module, dataset: DatasetFacts, value: Value) -> bool:
    """Whether the class only ever adds to what an attribute holds: counts and times for who asks for them later."""
    name = (value.origin.name if value.origin is not None else "").removeprefix("self.")
    uses = [
        each
        for each in module.tree.all(ast.Attribute)
        if each.attr == name and isinstance(each.ctx, ast.Load) and _is_of(module, dataset, each)
    ]
    return bool(uses) and all(_is_written(module, each) for each in uses)


def _is_of(module: Module, dataset: DatasetFacts, node: ast.Attribute) -> bool:
    owner = module.classes.self_attribute(node)
    return owner is not None and owner[0] in dataset.facts.lineage


def _is_written(module: Module, node: ast.expr) -> bool:
    """Whether a use only puts something in: `self.log[key].append(x)` as a statement, `self.log[key] += 1`."""
    up = module.tree.parents[node]
    while isinstance(up, ast.Subscript) and up.value is node and isinstance(up.ctx, ast.Load):
        node, up = up, module.tree.parents[up]
    if isinstance(up, ast.Subscript):
        return up.value is node
    call = module.tree.parents[up] if isinstance(up, ast.Attribute) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(up, ast.Attribute)
        and (up.attr in EDITING_METHODS and isinstance(module.tree.parents[call], ast.Expr))
    )
