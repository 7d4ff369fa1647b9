"""What a statement or a call puts where: the forms in which a container or a sum gets something."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import container_of, key_of, spread
from flake8_torchleak.model.sums import additions, same

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PUTS = frozenset({"append", "appendleft", "extend", "insert", "add", "put", "put_nowait", "setdefault"})


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """One value that goes into what a variable holds: `value` into `holder`, which is the variable `key` or in it."""

    node: ast.expr | ast.stmt
    key: str
    holder: ast.expr
    value: ast.expr
    spread: bool = False
    """The container takes the value's elements (`extend`, `+=`), not the value itself."""
    sums: bool = False
    """The value is added to what is there."""

    @property
    def elements(self) -> list[ast.expr]:
        """What becomes elements of the container, as far as it stands there."""
        return spread(self.value) if self.spread else [self.value]


def added(node: ast.AST, target: ast.expr | None) -> Store | None:
    """What a statement adds to a sum: to this very one, if it adds to several."""
    if not isinstance(node, (ast.AugAssign, ast.Assign)):
        return None
    found = [Store(node, key_of(container_of(to)[0]), to, value, sums=True) for to, value in additions(node)]
    return next((each for each in found if target is not None and same(each.holder, target)), None)


def stored(node: ast.AST) -> Store | None:
    """What `c.append(v)` and its like, `c[k] = v`, `c += [v]` and `c = c + [v]` put into a container."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _PUTS and node.args:
            return _into(node, node.func.value, node.args[-1], node.func.attr == "extend")
    elif isinstance(node, ast.Assign):
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            return _into(node, node.targets[0].value, node.value, False)
        for holder, value in additions(node):
            return _into(node, holder, value, True)
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return _into(node, node.target, node.value, True)
    return None


def handed(module: Module, call: ast.Call) -> Iterator[Store]:
    """What a function puts into a container that it is handed: `put(kept, value)`."""
    for changes in module.flow.mutations(module.tree.scope(call)).values():
        for each in changes:
            if each.node is call and each.target is not None and each.value is not None:
                if each.method in _PUTS or each.method == "setitem":
                    yield Store(call, each.key, each.target, each.value, each.method == "extend")


def _into(node: ast.expr | ast.stmt, holder: ast.expr, value: ast.expr, spread: bool) -> Store | None:
    key = key_of(container_of(holder)[0])
    return Store(node, key, holder, value, spread) if key else None


def evidence(module: Module, store: Store) -> tuple[tuple[ast.AST, str], ...]:
    """What makes the graph of the value, and where the holder starts, as far as it is a variable that is assigned."""
    notes = list(module.infer.value(store.value).why[:2])
    assigned = module.flow.assigned(module.tree.scope(store.node), store.key)
    start = next((each.statement for each in assigned if each.statement is not store.node), None)
    if start is not None:
        notes.append((start, f"`{store.key}` is set here, and outlives the step"))
    return tuple(notes)


def is_bounded(module: Module, key: str, holder: ast.AST) -> bool:
    """Whether the deque was made with a maxlen."""
    owned = module.classes.self_attribute(holder)
    definitions = owned[0].attributes.get(f"self.{owned[1]}", []) if owned else module.flow.reaching(key, holder)
    return any(
        isinstance(d.value, ast.Call) and (len(d.value.args) > 1 or any(k.arg == "maxlen" for k in d.value.keywords))
        for d in definitions
    )
