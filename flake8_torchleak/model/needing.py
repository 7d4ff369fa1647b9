"""What needs gradients although nothing is trained: forces that are derivatives, attacks, saliency, penalties."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.networkclasses import classes_of
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_ATTACKS = re.compile(r"attack|adversar|(?:^|_)(?:pgd|fgsm|deepfool)(?:_|$)|saliency|grad_?cam", re.IGNORECASE)
"""Names of what needs gradients of a model that is evaluated."""
_DIFFERENTIATES = frozenset({"enable_grad", "retain_grad", "jacobian", "hessian", "vjp", "jvp"})
_DEEPEST = 3
"""Calls within calls that are looked into."""


def needs_grad(module: Module, scope: ast.AST) -> bool:
    """Whether a function, or a loop, asks for gradients itself, by what it calls, or by the network that it runs."""
    for node in module.tree.within(scope):
        if isinstance(node, ast.Attribute) and node.attr == "requires_grad" and isinstance(node.ctx, ast.Store):
            if not (_may_freeze(module, node) and module.loops.trains(scope)):
                return True  # where something is trained, what is frozen, or learns by an option, is a part
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            if name == "requires_grad_" or _ATTACKS.search(key_of(node.func) or name) or _asks(module, node):
                return True
    calls = module.tree.calls(scope)
    return any(
        _helper_asks(module, call, _DEEPEST) or _network_asks(module, call) or _helper_sets(module, call)
        for call in calls
    )


def _may_freeze(module: Module, node: ast.Attribute) -> bool:
    """Whether a statement sets `requires_grad` to False, or to what an option says: `p.requires_grad = args.learn`."""
    value = getattr(module.tree.parents[node], "value", None)
    return not (isinstance(value, ast.Constant) and value.value is True)


def _helper_sets(module: Module, call: ast.Call) -> bool:
    """Whether a call runs a function that does nothing but say whether what it is handed requires gradients."""
    helper = module.classes.callee(call)
    if helper is None or len(helper.body) > 1 or not isinstance(helper.body[0], ast.Expr):
        return False
    value = helper.body[0].value
    return isinstance(value, ast.Call) and last_name(value.func) == "requires_grad_"


def _asks(module: Module, call: ast.Call) -> bool:
    """Whether a call is one that only what has gradients on is made for."""
    name = last_name(call.func)
    if name == "requires_grad_":  # of a network's parameters, it may freeze them
        given = [*call.args, *(each.value for each in call.keywords)]
        return not (given and isinstance(given[0], ast.Constant) and given[0].value is False)
    if name in _DIFFERENTIATES:
        return True
    return name == "grad" and module.names.qualname(call.func).endswith("autograd.grad")


def _helper_asks(module: Module, call: ast.Call, depth: int) -> bool:
    """Whether a call runs a function of the project that differentiates, itself or by what it calls in turn."""
    helper = module.classes.callee(call)
    return helper is not None and _differentiates(module, helper, depth)


def _differentiates(module: Module, function: FunctionNode, depth: int) -> bool:
    calls = module.tree.calls(function)
    if any(_asks(module, call) for call in calls):
        return True
    return depth > 0 and any(
        _helper_asks(module, call, depth - 1)
        or any(_differentiates(module, each, depth - 1) for each in _passes_of_parts(module, call))
        for call in calls
    )


def _network_asks(module: Module, call: ast.Call) -> bool:
    """Whether what is called is a network whose forward pass differentiates."""
    for facts in classes_of(module, call.func):
        forward = facts.methods.get("forward")
        if forward is not None and (_differentiates(module, forward, _DEEPEST) or _adapts(module, forward, _DEEPEST)):
            return True
    return False


def _adapts(module: Module, function: FunctionNode, depth: int) -> bool:
    """Whether a forward pass, or what it calls, trains its network."""
    calls = module.tree.calls(function)
    if any(isinstance(call.func, ast.Attribute) and call.func.attr == "backward" for call in calls):
        return True
    helpers = [module.classes.callee(call) for call in calls] if depth else []
    parts = [each for call in calls for each in _passes_of_parts(module, call)] if depth else []
    return any(each is not None and _adapts(module, each, depth - 1) for each in (*helpers, *parts))


def _passes_of_parts(module: Module, call: ast.Call) -> Iterator[FunctionNode]:
    """The forward passes that a call in a forward pass may run, of a part of the network: `self.encoder(x)`."""
    func = call.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and module.classes.callee(call) is None:
        for facts in classes_of(module, func):
            yield from [facts.methods["forward"]] if "forward" in facts.methods else []
