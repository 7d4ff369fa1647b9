"""Networks that build graphs which nobody needs, in a loop or once a call: all that is made of the outputs is only
read."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.release.fate import Fate
from flake8_torchleak.model.rounds import ROUNDS, Round
from flake8_torchleak.model.tree import FUNCTIONS, Scope
from flake8_torchleak.words import holds_any

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def may_be_unneeded(module: Module, scope: Scope) -> bool:
    """Whether a function differentiates nothing, and goes over batches, or through any loop: see `is_unaware`."""
    if not isinstance(scope, FUNCTIONS) or module.loops.trains(scope):
        return False
    if is_unaware(module):
        return any(isinstance(each, ROUNDS) for each in module.tree.within(scope))
    loops = (each for each in module.tree.within(scope) if isinstance(each, (ast.For, ast.AsyncFor)))
    return any(module.loops.why_step(each) for each in loops)


def is_unaware(module: Module) -> bool:
    """Whether a file loads weights, and knows of no way to turn gradients off."""
    text = module.source.text
    return holds_any(text, hints.LOADS) and not holds_any(text, hints.KNOWS_GRAD)


def unneeded(module: Module, scope: Scope, call: ast.Call, over: Round | None) -> tuple[tuple[ast.AST, str], ...]:
    """That what a network gives is only turned into numbers; () if it may be differentiated, or is dropped.

    over: the loop that the call is in; None for one pass. A network in training mode may be run for its statistics.
    """
    if not isinstance(scope, FUNCTIONS) or module.loops.trains(scope) or not is_used(module, scope, call):
        return ()
    if any(last_name(each.func) == "train" for each in module.tree.calls(scope)):
        return ()
    escapes = module.release.escapes
    if escapes.of_value(call).fate is not Fate.READ or escapes.of_frame(scope).fate is not Fate.READ:
        return ()
    if over is None:
        return ((call, "nothing needs the gradients of what it gives: that is only read"),)
    return ((over, "nothing needs the gradients of what this loop makes: it is only read"),)


def is_used(module: Module, scope: Scope, call: ast.Call) -> bool:
    """Whether anything is made of what a call gives."""
    statement = module.tree.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        bound = {each.id for target in statement.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        reads = (each for each in module.tree.within(scope) if isinstance(each, ast.Name))
        return any(each.id in bound and module.tree.number(each) > module.tree.number(call) for each in reads)
    return not (isinstance(statement, ast.Expr) and statement.value is call)
