"""Which arguments a method of a class of the file keeps, with their graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import GROWING, Mutation, container_of, key_of
from flake8_torchleak.model.classes import ClassFacts, self_name
from flake8_torchleak.model.env import Env
from flake8_torchleak.model.names import parameters
from flake8_torchleak.model.stores import is_bounded
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import UNKNOWN, Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def keeps(module: Module, facts: ClassFacts, name: str, call: ast.Call) -> Iterator[tuple[ast.expr, ast.AST]]:
    """(argument, where it is kept) for the arguments of `object.name(...)` that the method sums or stores.

    The method is evaluated with a graph-carrying tensor for one argument at a time, numbers for the rest.
    """
    method = facts.methods.get(name)
    if method is None:
        return
    expected = parameters(method)[1:]
    by_name = {p.arg: p for p in expected}
    bound = [(p, a) for p, a in zip(expected, call.args, strict=False) if not isinstance(a, ast.Starred)]
    for keyword in call.keywords:
        parameter = by_name.get(keyword.arg or "", method.args.kwarg)
        if parameter is not None:
            bound.append((parameter, keyword.value))
    owner = self_name(method)
    for parameter, argument in bound:
        if module.infer.value(argument).graph is not True:
            continue
        given: dict[ast.arg, Value] = dict.fromkeys(expected, UNKNOWN)
        tensor = Value(Kind.TENSOR, graph=True)
        given[parameter] = Value(Kind.DICT, graph=True, element=tensor) if parameter is method.args.kwarg else tensor
        place = _kept(module, method, owner, Env(given))
        if place is not None:
            yield argument, place


def _kept(module: Module, method: FunctionNode, owner: str, env: Env) -> ast.AST | None:
    for key, changes in module.flow.mutations(method).items():
        if not key.startswith(f"{owner}."):
            continue
        for change in changes:
            grows = change.method in GROWING or change.method in ("augment", "augitem")
            if change.method == "setitem" and isinstance(change.index, ast.Constant):
                continue
            if change.method in ("augment", "augitem") and module.grad.off(change.node):
                continue
            if is_bounded(module, key, _holder(change)):
                continue
            if grows and change.value is not None and module.infer.value(change.value, env).graph:
                return change.node
    for key, definitions in module.flow.definitions(method).items():
        for each in definitions:
            if key.startswith(f"{owner}.") and isinstance(each.value, ast.BinOp) and _reads(each.value, key):
                if module.infer.value(each.value, env).graph and not module.grad.off(each.statement):
                    return each.statement
    return None


def _holder(change: Mutation) -> ast.AST:
    """The container expression of a change: `self.x` of `self.x.append(v)`."""
    node: ast.AST = change.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    elif isinstance(node, ast.Assign):
        node = node.targets[0]
    elif isinstance(node, ast.AugAssign):
        node = node.target
    return container_of(node)[0]


def _reads(node: ast.expr, key: str) -> bool:
    return any(isinstance(n, ast.Attribute) and key_of(n) == key for n in ast.walk(node))
