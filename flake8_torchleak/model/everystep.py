"""What runs at every step: once per batch, not now and then, and not once per epoch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.names import mentions
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS, FunctionNode, Loop

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_CONDITIONS = (ast.If, ast.IfExp, ast.ExceptHandler, ast.Match, ast.Lambda)


def every_step(module: Module, node: ast.AST) -> Loop | FunctionNode | None:
    """The loop over batches (or the step method) that runs `node` in each of its rounds, if there is one."""
    return _around(module, node, True)


def _around(module: Module, node: ast.AST, outward: bool) -> Loop | FunctionNode | None:
    for up in module.tree.ancestors(node):
        if isinstance(up, _CONDITIONS) and not (isinstance(up, ast.If) and _asks_for_cuda(up.test)):
            return None
        if isinstance(up, LOOPS) and up in module.tree.loops(node):
            return up if _is_innermost(module, up) else None
        if isinstance(up, FUNCTIONS):
            if module.tree.class_of(up) is not None and up.name in hints.STEP_METHODS:
                return up
            called = outward and not _has_steps(module, up)
            called = called and any(_around(module, call, False) for call in module.classes.calls_of(up))
            return up if called else None
    return None


def _is_innermost(module: Module, loop: Loop) -> bool:
    """Whether it is a step loop, not one over epochs, folds or tasks with the step loop inside."""
    if not module.loops.why_step(loop) or _has_steps(module, loop):
        return False
    callees = {module.classes.callee(each) for each in module.tree.within(loop) if isinstance(each, ast.Call)}
    return not any(_has_steps(module, each) for each in callees if each is not None)


def _has_steps(module: Module, outer: ast.AST) -> bool:
    """Whether a step loop stands inside: what is around it runs less often."""
    return any(isinstance(inner, LOOPS) and module.loops.why_step(inner) for inner in module.tree.within(outer))


def _asks_for_cuda(test: ast.expr) -> bool:
    """`if torch.cuda.is_available():`, without more conditions."""
    return not isinstance(test, ast.BoolOp) and mentions(test, "cuda")
