"""Copies that are not deep: an entry of one is the stored object itself, until something else is put there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How, Mutation
from flake8_torchleak.model.sums import same
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.env import Env
    from flake8_torchleak.model.module import Module

_MOST_NAMES = 5
"""Variables between a copy and what is changed."""
_READING = frozenset({"get", "keys", "values", "items", "index", "count", "copy"})
_ASKING = frozenset({"len", "print", "str", "repr", "isinstance", "type", "id", "sorted", "enumerate", "zip"})


def is_replaced(module: Module, target: ast.expr, env: Env) -> bool:
    """Whether what a copy's entry holds may be another object than the one stored, by what the function does with it.

    target: what is changed: an entry of the copy, a part of one, or a variable that is bound to such. env: what the
    function is handed, for which its caller has asked `is_touched`.
    """
    for _ in range(_MOST_NAMES):
        copy, key = _entry(target)
        if not isinstance(copy, ast.Name):
            return not isinstance(copy, (ast.Call, ast.Dict))
        found = module.flow.reaching(copy.id, copy)
        if len(found) != 1 or (key is not None and (_puts(module, copy, key) or _is_handed_on(module, copy))):
            return True
        bound = found[0].value
        if bound is None:
            return found[0].node not in env
        if found[0].how is not How.ASSIGN or found[0].path:
            named = (each for each in ast.walk(bound) if isinstance(each, ast.Name))
            return any(module.infer.value(each, env).is_shallow for each in named)  # something may be put into it
        if not isinstance(bound, (ast.Subscript, ast.Name)) or _is_slice(bound):
            return False
        target = bound
    return True


def is_touched(module: Module, given: ast.expr, env: Env) -> bool:
    """Whether something may have been put into a copy before a call is handed it. env: what its own function is."""
    for _ in range(_MOST_NAMES):
        if not isinstance(given, ast.Name):
            return False
        if _puts(module, given, None) or _is_handed_on(module, given):
            return True
        bound = _bound(module, given)
        if bound is None:
            return not any(each.node in env for each in module.flow.reaching(given.id, given))
        given = bound
    return True


def made_at(module: Module, target: ast.expr) -> ast.expr | None:
    """The call or display that makes the copy of which something is changed; None if that is not seen."""
    made, _ = _entry(target)
    while isinstance(made, ast.Name):
        bound = _bound(module, made)
        if bound is None or _is_slice(bound):
            return bound
        made, _ = _entry(bound)
    return made


def _bound(module: Module, name: ast.Name) -> ast.expr | None:
    """What a variable is bound to, by one plain assignment; None for others."""
    found = module.flow.reaching(name.id, name)
    if len(found) != 1 or found[0].how is not How.ASSIGN or found[0].path:
        return None
    return found[0].value


def _is_slice(node: ast.expr) -> bool:
    """Whether an expression is a slice, which of a list is a copy."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


def _entry(node: ast.expr) -> tuple[ast.expr, ast.expr | None]:
    """What is under subscripts, a variable as a rule, and the innermost of these, if there is one."""
    key: ast.expr | None = None
    while isinstance(node, ast.Subscript):
        key = node.slice
        node = node.value
    return node, key


def _puts(module: Module, copy: ast.Name, key: ast.expr | None) -> bool:
    """Whether the function may put something else into an entry; None for any."""
    changes = (each for scope in _scopes(module, copy) for each in module.flow.mutations(scope).get(copy.id, []))
    return any(not each.depth and _may_put(each, key) for each in changes)


def _scopes(module: Module, name: ast.Name) -> set[FunctionNode]:
    """The function that a variable is read in, and the one that binds it."""
    own, binding = module.tree.function(name), module.names.scope_of(name.id, name)
    return {each for each in (own, binding) if isinstance(each, FUNCTIONS)}


def _may_put(change: Mutation, key: ast.expr | None) -> bool:
    if change.method in _READING:
        return False
    if change.method not in ("setitem", "augitem", "del"):
        return True
    other = change.index
    if change.method != "setitem" or other is None:
        return False
    return not (isinstance(key, ast.Constant) and isinstance(other, ast.Constant)) or same(key, other)


def _is_handed_on(module: Module, copy: ast.Name) -> bool:
    """Whether the function hands the copy to somebody before, who may put something else into it."""
    tree = module.tree
    return any(
        isinstance(given, ast.Name) and given.id == copy.id and module.names.called(call.func) not in _ASKING
        for scope in _scopes(module, copy)
        for call in tree.calls(scope)
        for given in (*call.args, *(each.value for each in call.keywords))
        if (tree.number(call) < tree.number(copy) or tree.function(copy) is not scope) and not tree.inside(copy, call)
    )
