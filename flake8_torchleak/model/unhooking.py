"""Hooks that are removed for sure when a block ends: torch's handles are context managers, whose exit removes them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.names import last_name

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_ENTERS = frozenset({"enter_context", "push"})
"""Methods of contextlib's exit stacks that leave a context manager at the end. (`closing` asks for a `close`.)"""
_MOST_CALLERS = 3
"""Functions that hand a handle on, one to the other."""


def is_removed(module: Module, handle: ast.expr, callers: int = _MOST_CALLERS) -> bool:
    """Whether `with` or an exit stack removes a hook.

    handle: the call that registers it, or what else gives its handle. A function that returns it leaves that to its
    callers in the file, all of which must do so.
    """
    parent = module.tree.parents[handle]
    if isinstance(parent, ast.withitem):
        return True
    if isinstance(parent, ast.Call):
        return last_name(parent.func) in _ENTERS and _is_on_stack(module, parent)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        return _is_name_removed(module, parent.targets[0], callers)
    function = module.tree.function(handle)
    if not isinstance(parent, ast.Return) or function is None or not callers:
        return False
    calls = module.classes.calls_of(function)
    return bool(calls) and all(is_removed(module, call, callers - 1) for call in calls)


def _is_name_removed(module: Module, target: ast.Name, callers: int) -> bool:
    """The same of a handle that is given a name: whether one of its uses removes it."""
    for node in module.tree.within(module.tree.scope(target)):
        if not isinstance(node, ast.Name) or node.id != target.id or isinstance(node.ctx, ast.Store):
            continue
        parent = module.tree.parents[node]
        later = module.tree.parents[parent]
        if isinstance(parent, ast.Attribute) and parent.attr == "remove" and isinstance(later, ast.Call):
            if last_name(later.func) == "callback" and _is_on_stack(module, later):
                return True
        elif not isinstance(parent, ast.Assign) and is_removed(module, node, callers):
            return True
    return False


def _is_on_stack(module: Module, call: ast.Call) -> bool:
    """Whether a method is called on an exit stack that `with` closes in every step."""
    stack = call.func.value if isinstance(call.func, ast.Attribute) else None
    found = module.flow.reaching(stack.id, stack) if isinstance(stack, ast.Name) else []
    steps = module.loops.step_loops(call)
    blocks = [each.statement for each in found if each.how is How.ENTER]
    inside = (module.tree.inside(loop, block) for block in blocks for loop in steps)
    return bool(blocks) and len(blocks) == len(found) and not any(inside)
