"""Evaluation beside training: a loop over data for evaluation that runs the very model another loop there trains."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.outline import is_over_evaluation_data
from flake8_torchleak.model.release.fate import Fate
from flake8_torchleak.model.rounds import ROUNDS, Round
from flake8_torchleak.model.tree import FUNCTIONS, Scope

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def may_be_beside(module: Module, scope: Scope) -> bool:
    """Whether a scope trains, and has a loop over data for evaluation as well."""
    if not module.loops.trains(scope):
        return False
    loops = (node for node in module.tree.within(scope) if isinstance(node, ROUNDS))
    return any(is_over_evaluation_data(each) and not module.loops.trains(each) for each in loops)


def trained_beside(module: Module, scope: Scope, call: ast.Call, over: Round | None) -> tuple[tuple[ast.AST, str], ...]:
    """That a loop over data for evaluation runs a model, and where another loop trains that; () if it is not so.

    over: the loop, or the comprehension, over batches that the call is in.
    """
    if over is None or not is_over_evaluation_data(over) or module.loops.trains(over):
        return ()
    called = key_of(call.func)
    if not called or not _learns(module, scope, called):
        return ()
    for other in module.tree.calls(scope):
        loops = module.tree.loops(other)
        if other is call or not loops or key_of(other.func) != called:
            continue
        is_trained = module.loops.trains(loops[0])
        if is_trained and module.release.escapes.of_value(call).fate is not Fate.DIFFERENTIATED:
            return ((over, "it iterates over evaluation data, by its name"), (other, "the same model is trained here"))
    return ()


def _learns(module: Module, scope: Scope, called: str) -> bool:
    """Whether a scope asks for a model's parameters, puts it in training mode, or is given it: no fixed transform."""
    if isinstance(scope, FUNCTIONS) and any(each.arg == called.partition(".")[0] for each in scope.args.args):
        return True
    uses = (each.func for each in module.tree.calls(scope) if isinstance(each.func, ast.Attribute))
    return any(use.attr in ("parameters", "train") and key_of(use.value) == called for use in uses)
