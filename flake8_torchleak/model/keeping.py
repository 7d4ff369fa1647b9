"""What a function keeps of what it is given, with its graph: in an attribute, or in a variable of the module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import GROWING, container_of, key_of
from flake8_torchleak.model.classes import ClassFacts, self_name
from flake8_torchleak.model.env import Env
from flake8_torchleak.model.names import parameters
from flake8_torchleak.model.stores import is_bounded
from flake8_torchleak.model.sums import additions
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import UNKNOWN, Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


@dataclass(frozen=True, slots=True, eq=False)
class Keeping:
    """One place where a function adds `value` to a sum or container that outlives its call, the variable `key`."""

    key: str
    value: ast.expr
    node: ast.expr | ast.stmt
    sums: bool


def keeps(module: Module, facts: ClassFacts, name: str, call: ast.Call) -> tuple[ast.expr, Keeping] | None:
    """(argument, how it is kept) of the first argument of `object.name(...)` that the method sums or stores.

    The method is evaluated with a graph-carrying tensor for one argument at a time, numbers for the rest.
    """
    method = facts.methods.get(name)
    if method is None:
        return None
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
        env = Env(given)
        for kept in keepings(module, method, f"{owner}."):
            if module.infer.value(kept.value, env).graph:
                return argument, kept
    return None


def keepings(module: Module, function: FunctionNode, holders: str) -> Iterator[Keeping]:
    """Where a function adds to variables that begin with `holders` (`self.`): sums with gradients on, containers."""
    for key, changes in module.flow.mutations(function).items():
        for change in changes if key.startswith(holders) else ():
            sums = change.method in ("augment", "augitem")
            if change.value is None or not (sums or change.method in GROWING):
                continue
            if change.method == "setitem" and isinstance(change.index, ast.Constant):
                continue
            holder = container_of(change.target or change.node)[0]
            if (sums and module.grad.off(change.node)) or is_bounded(module, key, holder):
                continue
            for element in change.elements or [change.value]:
                for value in module.classes.record(element) or [element]:
                    yield Keeping(key, value, change.node, sums)
    for key, definitions in module.flow.definitions(function).items():
        for each in definitions if key.startswith(holders) else ():
            statement = each.statement
            if not isinstance(statement, (ast.Assign, ast.AugAssign)) or module.grad.off(statement):
                continue
            if isinstance(each.value, ast.BinOp) and _reads(each.value, key):
                added = (value for to, value in additions(statement) if key_of(to) == key)
                yield Keeping(key, next(added, each.value), statement, True)


def _reads(node: ast.expr, key: str) -> bool:
    return any(isinstance(n, ast.Attribute) and key_of(n) == key for n in ast.walk(node))
