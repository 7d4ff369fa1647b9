"""Who calls a function in the other files of the project: with gradients off, with a network that is frozen or in
evaluation mode."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.constantarguments import leaves_out
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

Answer = TypeVar("Answer")

_MOST_LEVELS = 3
"""Callers of callers, each perhaps in a file of its own, that are asked."""


def is_called_without(module: Module, function: FunctionNode, run: ast.Call | None = None) -> bool:
    """Whether nobody is seen to call a function but with gradients off: there, or by who calls that in turn.

    Who says by constants that the network is not run there does not count.

    run: the call of a network in the function: one that is a parameter may be frozen before it is handed over.
    """
    elsewhere = _is_called_elsewhere_without(module, function, run, _MOST_LEVELS)
    if elsewhere is not None:
        return elsewhere
    own = [each for each in module.classes.calls_of(function) if not module.tree.inside(each, function)]
    own = [each for each in own if not leaves_out(module, module, function, each, run)]
    return bool(own) and all(_runs_without(module, each, _MOST_LEVELS) for each in own)


def _is_called_elsewhere_without(
    module: Module, function: FunctionNode, run: ast.Call | None, levels: int
) -> bool | None:
    """The same of the calls in other files; None if there are none."""
    called: bool | None = None
    for user, call in calls_elsewhere(module, function):
        if leaves_out(module, user, function, call, run):
            continue
        given = _given(module, function, call, run) if run is not None else ""
        if not _runs_without(user, call, levels) and not (given and _is_frozen(user, given, call)):
            return False
        called = True
    return called


def _runs_without(module: Module, call: ast.Call, levels: int) -> bool:
    """Whether gradients are off at a call, in this file or by who calls what it stands in."""
    mode = module.grad.at(call)
    if mode is not Grad.ON:
        return mode is Grad.OFF
    around = module.tree.function(call)
    if around is None or not levels:
        return False
    own = [each for each in module.classes.calls_of(around) if not module.tree.inside(each, around)]
    if own:
        return all(_runs_without(module, each, levels - 1) for each in own)
    return bool(_is_called_elsewhere_without(module, around, None, levels - 1))


def are_switching(module: Module, function: FunctionNode, run: ast.Call) -> bool:
    """Whether all who call a function, in other files, put the network that they hand over in evaluation mode before.

    run: the call of that network in the function.
    """
    switched = False
    for user, call in calls_elsewhere(module, function):
        if user.grad.off(call):
            continue
        given = _given(module, function, call, run)
        if not given or user.loops.modes.of(given, call) is None:
            return False
        switched = True
    return switched


def calls_elsewhere(module: Module, function: FunctionNode) -> Iterator[tuple[Module, ast.Call]]:
    """The calls of a function in other files, by its name, with their files."""
    return answers_elsewhere(module, function, lambda user, call: (user, call))


def answers_elsewhere(
    module: Module, function: FunctionNode, question: Callable[[Module, ast.Call], Answer]
) -> Iterator[Answer]:
    """What the other files say to a question of each call of a function there; they look up in more files for it."""
    owner = module.tree.class_of(function)
    name, of = function.name, owner.name if owner is not None else ""
    if name == "__init__":  # it is called by its class
        name, of = of, ""

    def answered(user: Module) -> list[Answer]:
        return [question(user, each) for each in _named(user, name, of)]

    for answers in module.users.answers(answered, f"{name}("):
        yield from answers[1]


def _named(user: Module, name: str, owner: str) -> list[ast.Call]:
    """The calls of what another file defines under a name. owner: the class whose method it is."""
    calls = []
    for call in user.classes.own_calls(name):
        own = user.classes.callee(call)
        if (own is None or not user.tree.is_own(own)) and not (owner and _is_of_another(user, call, owner)):
            calls.append(call)
    return calls


def _is_of_another(user: Module, call: ast.Call, owner: str) -> bool:
    """Whether a method is called on an object that is seen to be of a class by another name."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    found = user.flow.reaching(receiver.id, receiver) if isinstance(receiver, ast.Name) else []
    made = [last_name(each.value.func) if isinstance(each.value, ast.Call) else "" for each in found]
    return bool(made) and all(name[:1].isupper() and name != owner for name in made)


def _given(module: Module, function: FunctionNode, call: ast.Call, run: ast.Call) -> str:
    """What the network that a function runs is called by who hands it over; "" if it is none of its parameters."""
    called = {key_of(run.func), key_of(run.func.value) if isinstance(run.func, ast.Attribute) else ""}
    parameter = next((each for each in parameters(function) if each.arg in called), None)
    value = module.classes.argument(call, parameter, function) if parameter is not None else None
    return key_of(value) if value is not None else ""


def _is_frozen(user: Module, network: str, call: ast.Call) -> bool:
    """Whether all parameters of a network are frozen in the function around a call, above it."""
    for node in user.tree.within(user.tree.scope(call)):
        if getattr(node, "lineno", call.lineno) >= call.lineno:
            continue
        if isinstance(node, ast.Call) and last_name(node.func) == "requires_grad_" and _is_of(node, network):
            if [getattr(each, "value", None) for each in node.args] == [False]:
                return True
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and _is_of(node.iter, network):
            if last_name(node.iter.func) in ("parameters", "named_parameters") and _freezes(node.body[0]):
                return True
    return False


def _is_of(call: ast.Call, network: str) -> bool:
    """Whether a method of a network is called."""
    return isinstance(call.func, ast.Attribute) and key_of(call.func.value) == network


def _freezes(statement: ast.stmt) -> bool:
    """`parameter.requires_grad = False`."""
    return (
        isinstance(statement, ast.Assign)
        and last_name(statement.targets[0]) == "requires_grad"
        and getattr(statement.value, "value", None) is False
    )
