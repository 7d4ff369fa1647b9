"""Lists that live for one call, over a few tasks that are trained one after the other, and are joined at its end."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.infer import WRAPPERS
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_JOINS = frozenset({"stack", "cat", "concat", "hstack", "vstack", "sum", "mean", "len"})
_STEPPING = frozenset({"backward", "step", "manual_backward"})


def is_of_tasks(module: Module, key: str, node: ast.AST) -> bool:
    """Whether a list is made anew in each call, gets one entry for each of the tasks that are handed in, and is joined.

    An iteration is no step of training but calls what takes several; how many tasks there are, nothing shows.
    """
    scope, loops = module.tree.scope(node), module.loops.step_loops(node)
    if not isinstance(scope, FUNCTIONS) or len(loops) != 1 or not isinstance(loops[0], ast.For):
        return False
    loop = loops[0]
    if not _is_handed_in(module, loop.iter) or any(
        last_name(call.func) in _STEPPING and module.tree.inside(call, loop) for call in module.tree.calls(scope)
    ):
        return False
    made = module.flow.definitions(scope).get(key, [])
    anew = all(isinstance(each.value, ast.List) and not each.value.elts and not each.path for each in made)
    return bool(made) and anew and _is_joined(module, key, node)


def _is_handed_in(module: Module, iterable: ast.expr) -> bool:
    """Whether a loop goes over parameters of the function, and no loader."""
    if module.infer.loader_of(iterable) is not None:
        return False
    if isinstance(iterable, ast.Call):
        wrapped = last_name(iterable.func) in WRAPPERS and bool(iterable.args)
        return wrapped and all(_is_handed_in(module, each) for each in iterable.args)
    if not isinstance(iterable, ast.Name):
        return False
    reaching = module.flow.reaching(iterable.id, iterable)
    return bool(reaching) and all(each.how is How.PARAMETER for each in reaching)


def _is_joined(module: Module, key: str, node: ast.AST) -> bool:
    """Whether a variable is read, but for the statement that fills it, where its entries become one value."""
    own = module.tree.statement(node)
    reads = [
        each
        for each in module.tree.within(module.tree.scope(node))
        if isinstance(each, ast.Name) and each.id == key and isinstance(each.ctx, ast.Load)
    ]
    others = [each for each in reads if not module.tree.inside(each, own)]
    calls = [module.tree.parents[each] for each in others]
    return bool(others) and all(isinstance(each, ast.Call) and last_name(each.func) in _JOINS for each in calls)
