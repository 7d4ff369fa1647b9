"""Loops over batches whose networks build graphs that nobody needs: all that is made of the outputs is only read."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.release.fate import Fate
from flake8_torchleak.model.rounds import Round
from flake8_torchleak.model.tree import FUNCTIONS, Scope

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def may_be_unneeded(module: Module, scope: Scope) -> bool:
    """Whether a function goes over batches and differentiates nothing."""
    if not isinstance(scope, FUNCTIONS) or module.loops.trains(scope):
        return False
    loops = (each for each in module.tree.within(scope) if isinstance(each, (ast.For, ast.AsyncFor)))
    return any(module.loops.why_step(each) for each in loops)


def unneeded(module: Module, scope: Scope, call: ast.Call, over: Round | None) -> tuple[tuple[ast.AST, str], ...]:
    """That what a network gives for a batch is only turned into numbers; () if it may be differentiated, or is dropped.

    over: the loop over batches that the call is in. A network in training mode may be run for its statistics.
    """
    if over is None or not may_be_unneeded(module, scope) or not _is_used(module, scope, call):
        return ()
    if any(last_name(each.func) == "train" for each in module.tree.calls(scope)):
        return ()
    escapes = module.release.escapes
    if escapes.of_value(call).fate is not Fate.READ or escapes.of_frame(scope).fate is not Fate.READ:
        return ()
    return ((over, "nothing needs the gradients of what this loop makes: it is only read"),)


def _is_used(module: Module, scope: Scope, call: ast.Call) -> bool:
    """Whether anything is made of what a call gives."""
    statement = module.tree.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        bound = {each.id for target in statement.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        reads = (each for each in module.tree.within(scope) if isinstance(each, ast.Name))
        return any(each.id in bound and module.tree.number(each) > module.tree.number(call) for each in reads)
    return not (isinstance(statement, ast.Expr) and statement.value is call)
