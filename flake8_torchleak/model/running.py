"""Which calls run a network: itself, by a helper of the file, or by what it wraps."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.attributes import is_called
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.classfacts import self_name
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.modes import is_false
from flake8_torchleak.model.names import last_name, network_of
from flake8_torchleak.model.networks import is_bare_layer
from flake8_torchleak.model.rounds import ROUNDS, iterables
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Scope
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_WRAPPED = 8
"""Definitions of a model and of what wraps it that are looked at."""
_MOST_CALLED = 30
"""Functions that a forward pass leads to that are looked into."""


def is_forward(module: Module, scope: Scope) -> bool:
    """A method of a network: whoever calls the network decides about gradients.

    One that goes over batches, or puts its own network in evaluation mode, is none.
    """
    if not isinstance(scope, FUNCTIONS):
        return False
    owner = module.tree.class_of(scope)
    facts = module.classes.all[owner] if owner is not None else None
    if scope.name == "forward" or facts is None or "forward" not in facts.methods:
        return scope.name == "forward"
    if any(switches_own(each, scope) for each in module.tree.calls(scope)):
        return False
    rounds = (each for each in module.tree.within(scope) if isinstance(each, ROUNDS))
    return not any(module.loops.gives_batches(over) for each in rounds for over in iterables(each))


def switches_own(call: ast.Call, method: FunctionNode) -> bool:
    """Whether a method puts its own object in evaluation mode: `self.eval()`, `self.train(False)`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or key_of(func.value) != self_name(method):
        return False
    return (func.attr == "eval" and not call.args) or (func.attr == "train" and is_false(call))


def helper_runs_model(module: Module, call: ast.Call) -> bool:
    """Whether the call runs a helper of the file that calls a model with gradients on and does not train.

    What is a step of a forward pass for another one, `self.encode(x)`, runs the network for all others.
    """
    helper = module.classes.callee(call)
    if helper is None or module.loops.trains(helper) or module.loops.modes.contradicted(helper):
        return False
    if is_handed_to_others(module, helper):
        return False
    if is_forward(module, helper) and is_forward(module, module.tree.scope(call)):
        return False
    return any(runs_model(module, c) and module.grad.at(c) is Grad.ON for c in module.tree.calls(helper))


def is_handed_to_others(module: Module, function: FunctionNode) -> bool:
    """Whether a decorator that is given something gets the function, and may train: `@captured(model, optimizer)`."""
    unknown = function.decorator_list[: len(function.decorator_list) - module.grad.plain_wrappers(function)]
    return any(isinstance(each, ast.Call) and (each.args or each.keywords) for each in unknown)


def runs_model(module: Module, call: ast.Call) -> bool:
    """Whether the call is `model(...)`, or `model.forward(...)`: of a value that is a module, with arguments."""
    func = network_of(call)
    if (
        not (call.args or call.keywords)
        or module.infer.calls.is_construction(call)
        or module.loops.modes.gives_network(call)
    ):
        return False
    owned = module.classes.self_attribute(func)
    method = owned[0].methods.get(owned[1]) if owned is not None else None
    if (method is not None and is_called(method)) or hints.is_layer(last_name(func)):
        return False
    modes = module.loops.modes
    if modes.of(key_of(func), call) is None and any(modes.of(key_of(each), call) for each in call.args):
        return False  # it is given a network that is evaluated: a function, which may run it
    if isinstance(func, ast.Attribute) and not isinstance(func.value, ast.Name):
        if module.classes.self_attribute(func.value) is None and not isinstance(func.value, ast.Attribute):
            return False
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and owned is None:
        base = module.infer.value(func.value)
        imported = any(isinstance(each, ast.alias) for each in module.names.bound(func.value.id, func))
        if imported or (
            base.kind is not Kind.MODULE
            and func.value.id not in ("args", "opt", "trainer", "state", "context", "ctx", "engine")
            and not module.loops.modes.is_switched(call)
        ):
            return False
    if isinstance(func, ast.Attribute) and module.loops.modes.is_switched(call):
        return True
    kind = module.infer.called(func).kind
    if kind is Kind.MODULE or (kind is Kind.UNKNOWN and _is_proven(module, func)):
        return not is_bare_layer(module.flow, module.names, func)
    return _is_wrapped(module, call)


def _is_proven(module: Module, func: ast.expr) -> bool:
    """Whether what else is done with an object shows that it is a network: its parameters are asked for, or loaded."""
    return isinstance(func, (ast.Name, ast.Attribute)) and module.proof.networks.is_network(func)


def _is_wrapped(module: Module, call: ast.Call) -> bool:
    """Whether what is called is in evaluation mode, and what something made of itself: `net = Parallel(net)`."""
    if not isinstance(call.func, ast.Name) or not module.loops.modes.is_switched(call):
        return False
    name = call.func.id
    made = (each.value for each in module.flow.reaching(name, call.func))
    args = (arg for value in made if isinstance(value, ast.Call) for arg in value.args)
    return any(isinstance(arg, ast.Name) and arg.id == name for arg in args)


def _is_ever_off(module: Module, function: FunctionNode) -> bool:
    """Whether a function, or what it calls, runs anything with gradients off."""
    queue = [function]
    for each in queue:
        for call in module.tree.calls(each):
            if module.grad.turned_off(call):
                return True
            helper = module.classes.callee(call)
            if helper is not None and helper not in queue and len(queue) < _MOST_CALLED:
                queue.append(helper)
    return False


def switches_itself(module: Module, call: ast.Call) -> bool:
    """Whether the class of the model that is called switches gradients off in its forward, or in what that calls."""
    queue = list(module.flow.reaching(key_of(call.func), call.func))
    for each in queue:
        made = each.value.func if isinstance(each.value, ast.Call) else None
        found = module.names.definition(made, True) if made is not None else None
        facts = module.classes.all[found] if isinstance(found, ast.ClassDef) else None
        if facts is not None and "forward" in facts.methods and _is_ever_off(module, facts.methods["forward"]):
            return True
        wrapped = each.value.args[:1] if facts is None and isinstance(each.value, ast.Call) else []
        for inner in wrapped:  # `net = accelerator.prepare(net)`
            if isinstance(inner, ast.Name) and inner.id == each.key and len(queue) < _MOST_WRAPPED:
                queue += module.flow.reaching(inner.id, inner)
    return False
