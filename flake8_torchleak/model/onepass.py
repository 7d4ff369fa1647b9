"""Functions that run a network once a call, in evaluation mode, and record a graph: predictors, request handlers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.modes import SWITCHED
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.passes import passes
from flake8_torchleak.model.rounds import ROUNDS
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.unneeded import is_used, may_be_read, unneeded

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_ONCE = "main"
"""The function that a program runs once."""


def one_pass(module: Module, function: FunctionNode) -> tuple[ast.Call, tuple[tuple[ast.AST, str], ...]] | None:
    """The first call of a network in evaluation mode with gradients on, outside of all loops, and what shows the mode.

    Who says by its name that it evaluates, and only reads what the network gives, evaluates as well.
    """
    if function.name == _ONCE or module.loops.modes.contradicted(function):
        return None
    for call in module.tree.calls(function):
        if module.grad.at(call) is not Grad.ON or _is_repeated(module, function, call):
            continue
        switched = module.loops.modes.of(key_of(call.func), call)
        if (switched is None and not may_be_read(module, call)) or not passes(module, call):
            continue
        if switched is not None and is_used(module, call):
            return call, ((switched, SWITCHED),)
        switched = switched_before(module, call)
        evidence = unneeded(module, function, call, None)
        if evidence:
            return call, ((switched, SWITCHED),) if switched is not None else evidence
    return None


def _is_repeated(module: Module, function: FunctionNode, call: ast.Call) -> bool:
    """Whether a call stands in a loop or a comprehension of its function."""
    rounds = (up for up in module.tree.ancestors(call) if isinstance(up, ROUNDS))
    return any(module.tree.inside(each, function) for each in rounds)


def switched_before(module: Module, call: ast.Call) -> ast.Call | None:
    """What put the network of a call in evaluation mode before its function is called, if nothing in the file tells
    that to train: for an attribute another method, for a variable of the module the module."""
    owned = module.classes.self_attribute(call.func)
    if owned is None and not (isinstance(call.func, ast.Name) and _is_of_module(module, call.func)):
        return None
    found = None
    for each in module.classes.own_calls("eval", "train"):
        for network in networks_of(module, each):
            if owned is not None:
                is_same = module.classes.self_attribute(network) == owned
            else:
                is_same = key_of(network) == key_of(call.func) and _is_of_module(module, network)
            if is_same and last_name(each.func) == "train":
                return None
            if is_same:
                found = each
    return found


def _is_of_module(module: Module, name: ast.expr) -> bool:
    """Whether a variable is one of the module, whoever asks."""
    return isinstance(name, ast.Name) and module.names.scope_of(name.id, name) is module.root


def networks_of(module: Module, switch: ast.Call) -> list[ast.expr]:
    """What a call of `eval` or `train` sets the mode of: `self.net.eval()`, `self.net = Net().eval()`."""
    if not isinstance(switch.func, ast.Attribute):
        return []  # Python's own
    statement = module.tree.statement(switch)
    return [switch.func.value, *(statement.targets if isinstance(statement, ast.Assign) else [])]
