"""Loops in which somebody answers what a network gave: a game, a robot, one observation at a time."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.names import last_name

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_CUTS = frozenset({"item", "numpy", "tolist", "argmax", "multinomial", "sample"})
"""What makes a number of an output: an action. A value with its graph would go on through the loop."""


def is_answered(module: Module, call: ast.Call, loop: ast.AST) -> bool:
    """Whether what a network is given in a loop was made of the answer to what it gave in an earlier iteration.

    `state = env.step(net(state).argmax().item())`: it waits for each answer, so that it is given one observation.
    """
    bound = [
        (target, _names(target), each.value) for each in module.tree.below(loop, ast.Assign) for target in each.targets
    ]
    given = {key for each in (*call.args, *(each.value for each in call.keywords)) for key in _names(each)}
    for _, names, value in reversed(bound * 2):  # what is read further down was bound in the round before
        if names & given:
            given |= _names(value)
    outputs: set[str] = set()
    is_number = False
    for target, names, value in bound * 2:
        if not (_holds(value, call) or _names(value) & outputs):
            continue
        is_number = (
            is_number
            or _is_step(target, value)
            or any(isinstance(each, ast.Call) and last_name(each.func) in _CUTS for each in ast.walk(value))
        )
        if is_number and any(_is_asked(module, each, call, outputs) for each in ast.walk(value)):
            if names & given:
                return True
        else:
            outputs |= names
    return False


def _is_step(target: ast.expr, value: ast.expr) -> bool:
    """Whether it is a step of an environment, as Gym has them: `state, reward, done, info = env.step(action)`.

    Source: the API of gym 0.26 and gymnasium (five parts), and of gym before (four).
    """
    parts = len(target.elts) if isinstance(target, ast.Tuple) else 0
    return parts in (4, 5) and isinstance(value, ast.Call) and last_name(value.func) == "step"


def _is_asked(module: Module, node: ast.AST, call: ast.Call, outputs: set[str]) -> bool:
    """Whether a method of an object that is no output itself is handed one."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node is call:
        return False
    owner = node.func.value
    if _names(owner) & outputs or _holds(owner, call) or module.names.qualname(node.func):
        return False
    return any(_names(each) & outputs or _holds(each, call) for each in node.args)


def _holds(node: ast.AST, part: ast.AST) -> bool:
    return any(each is part for each in ast.walk(node))


def _names(node: ast.AST) -> set[str]:
    """The variables, and attributes of objects, that stand in an expression."""
    return {key for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute)) if (key := key_of(each))}
