"""Networks that are frozen: no operation records a graph for what needs no gradient, until one is used that does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How, key_of
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS, Scope

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_LEVELS = 4
"""Values that an expression may come from, one after the other: a copy of what a caller handed in."""


def is_frozen(module: Module, network: ast.expr, levels: int = _MOST_LEVELS) -> bool:
    """Whether a network's parameters are frozen: where it is used, where its class sets it, or by all who hand it in.

    Parts of it may be trained again, or put in the place of others: what is recorded then is less than of the whole.
    """
    key = key_of(network)
    if not key or not levels:
        return False
    owned = module.classes.self_attribute(network)
    scopes: list[Scope] = [module.tree.scope(network), module.root]
    if owned is not None:
        scopes += owned[0].all_functions
    if any(_freezes(module, scope, key) for scope in dict.fromkeys(scopes)):
        return True
    reaching = module.flow.reaching(key, network) if owned is None else []
    if len(reaching) == 1 and reaching[0].how is How.PARAMETER and isinstance(reaching[0].node, ast.arg):
        function = reaching[0].statement
        assert isinstance(function, FUNCTIONS)
        calls = module.classes.calls_of(function)
        given = [module.classes.argument(each, reaching[0].node, function) for each in calls]
        return bool(given) and all(each is not None and is_frozen(module, each, levels - 1) for each in given)
    copies = (each.value for each in reaching if isinstance(each.value, ast.Call) and each.is_plain)
    return any(
        last_name(copy.func) == "deepcopy" and bool(copy.args) and is_frozen(module, copy.args[0], levels - 1)
        for copy in copies
    )


def _freezes(module: Module, scope: Scope, key: str) -> bool:
    """Whether a scope freezes all parameters of what a variable or attribute holds."""
    for call in module.tree.calls(scope):
        if isinstance(call.func, ast.Attribute) and key_of(call.func.value) == key and _is_off(call):
            return True
    loops = (each for each in module.tree.within(scope) if isinstance(each, ast.For))
    return any(_goes_over(loop.iter, key) and any(_frees(loop)) for loop in loops)


def _is_off(node: ast.AST) -> bool:
    """Whether it is `x.requires_grad_(False)`."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "requires_grad_":
        return False
    given = [*node.args, *(each.value for each in node.keywords)]
    return bool(given) and getattr(given[0], "value", None) is False


def _goes_over(iterable: ast.expr, key: str) -> bool:
    """Whether a loop goes over a network's parameters."""
    if not isinstance(iterable, ast.Call) or not isinstance(iterable.func, ast.Attribute):
        return False
    return iterable.func.attr in ("parameters", "named_parameters") and key_of(iterable.func.value) == key


def _frees(loop: ast.For) -> Iterator[bool]:
    """Whether statements of a loop, on every way through it, let what it goes over need no gradient."""
    for each in loop.body:
        if isinstance(each, ast.Assign):
            off = getattr(each.value, "value", None) is False
            yield off and any(last_name(target) == "requires_grad" for target in each.targets)
        elif isinstance(each, ast.Expr):
            yield _is_off(each.value)
