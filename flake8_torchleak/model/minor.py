"""Evaluations that cost little, or perhaps: of one item, of what no loader gives, away from all training, or frozen."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.frozen import is_frozen
from flake8_torchleak.model.tree import LOOPS, FunctionNode, Loop

if TYPE_CHECKING:
    from flake8_torchleak.model.evaluation import Evaluation
    from flake8_torchleak.model.module import Module

_MOST_LEVELS = 3
"""Callers of callers that are asked whether they train."""


def is_minor(module: Module, evaluation: Evaluation) -> bool:
    """Whether nothing shows that an evaluation without `no_grad` costs more than some time.

    It goes over a loader, and not once only, or is run beside training; and its network is not frozen.
    """
    loop, function = evaluation.loop, evaluation.function
    if is_frozen(module, evaluation.call.func):
        return True
    if loop is None:
        return False
    if evaluation.by_use:
        return True  # the network may be frozen elsewhere
    if _ends_at_once(loop):
        return True
    if isinstance(loop, (ast.For, ast.AsyncFor)) and module.loops.gives_batches(loop.iter):
        return False
    return function is None or not _is_beside_training(module, function, _MOST_LEVELS)


def _ends_at_once(loop: Loop) -> bool:
    """Whether a loop is left at the end of its first round."""
    return isinstance(loop.body[-1], (ast.Break, ast.Return))


def _is_beside_training(module: Module, function: FunctionNode, levels: int) -> bool:
    """Whether a function trains as well, or is called in a loop that does, itself or by who calls it."""
    if module.loops.trains(function):
        return True
    for call in module.classes.calls_of(function) if levels else ():
        outer = module.tree.function(call)
        if any(module.loops.trains(loop) for loop in module.tree.ancestors(call) if isinstance(loop, LOOPS)):
            return True
        if outer is not None and outer is not function and _is_beside_training(module, outer, levels - 1):
            return True
    return False
