"""Where values are put into containers that may outlive a step."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import container_of, key_of
from flake8_torchleak.model.sums import additions
from flake8_torchleak.model.values import Kind
from flake8_torchleak.wording import short

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PUTS = frozenset({"append", "appendleft", "extend", "insert", "add", "put", "put_nowait", "setdefault"})


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """One value put into a container: `value` into the variable `key`, shown to the user as `name`."""

    node: ast.expr | ast.stmt
    key: str
    name: str
    value: ast.expr
    spread: bool
    """The container takes the value's elements (`extend`, `+=`), not the value itself."""


def stores(module: Module) -> Iterator[Store]:
    """Every store into a container that keeps what it gets: calls, `c[k] = v` with changing k, `c += [v]`."""
    for call in module.loops.steps(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _PUTS and call.args:
            if module.names.qualname(call.func).startswith("numpy."):
                continue  # `np.append` gives a new array
            yield from _into(module, call, call.func.value, call.args[-1], call.func.attr == "extend")
    for node in module.loops.steps(ast.Assign):
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript) and not any(additions(node)):
            target = node.targets[0]
            if (
                not module.tree.loops(node)
                or isinstance(target.slice, (ast.Constant, ast.Slice))
                or not module.retention.varies(target.slice)
            ):
                continue
            kept = module.infer.value(target.value)
            if kept.kind in (Kind.LIST, Kind.DICT, Kind.DEQUE):
                yield from _into(module, node, target.value, node.value, False)
            elif kept.kind is Kind.TENSOR and module.infer.value(node.value).graph and not module.grad.off(node):
                yield Store(node, key_of(container_of(target)[0]), short(target.value), node.value, False)
    for aug in module.loops.steps(ast.AugAssign):
        if isinstance(aug.op, ast.Add) and module.tree.loops(aug):
            display = isinstance(aug.value, (ast.List, ast.Tuple))
            if display or module.infer.value(aug.target).kind is Kind.LIST:
                yield from _into(module, aug, aug.target, aug.value, True)


def _into(
    module: Module, node: ast.expr | ast.stmt, container: ast.expr, value: ast.expr, spread: bool
) -> Iterator[Store]:
    holder, _ = container_of(container)
    key = key_of(holder)
    if not key or module.retention.outlives(key, node, stored=True) is None:
        return
    kept = module.infer.value(container)
    if kept.kind is Kind.DEQUE and is_bounded(module, key, holder):
        return
    if kept.kind in (Kind.TENSOR, Kind.ARRAY, Kind.MODULE, Kind.METRIC, Kind.INSTANCE):
        return
    yield Store(node, key, short(container), value, spread)


def is_bounded(module: Module, key: str, holder: ast.AST) -> bool:
    """Whether the deque was made with a maxlen."""
    owned = module.classes.self_attribute(holder)
    definitions = owned[0].attributes.get(f"self.{owned[1]}", []) if owned else module.flow.reaching(key, holder)
    return any(
        isinstance(d.value, ast.Call) and (len(d.value.args) > 1 or any(k.arg == "maxlen" for k in d.value.keywords))
        for d in definitions
    )
