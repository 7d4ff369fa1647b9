"""Hooks for one run of a module: registered, the module is run, and they stay when the function is over."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How, key_of
from flake8_torchleak.model.hooks import functions_around, wholes
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_RUNS_ITSELF = frozenset({"__init__", "forward", "__call__"})
"""Methods that other questions of hooks are about: what builds an object, and what runs in every step."""
_MOST_PARTS = 20


def one_run(module: Module, call: ast.Call) -> ast.Call | None:
    """Where a function runs the module that it hooks once, behind that; the module is its caller's, and lives on.

    The next call of the function adds the hooks again; but tests are over soon. A function that runs the module in a
    loop is a program of its own, as a rule, and hooks it once.
    """
    around = functions_around(module, call)
    if module.is_test or not around or not isinstance(call.func, ast.Attribute) or around[-1].name in _RUNS_ITSELF:
        return None
    found = _run_in(module, around[-1], call.func.value, call)
    if found is not None:
        return found
    for outer in module.classes.calls_of(around[-1]):  # a helper hooks what its caller runs
        caller, given = module.tree.function(outer), _handed(module, call.func.value, around[-1], outer)
        if caller is not None and caller.name not in _RUNS_ITSELF and given is not None:
            found = _run_in(module, caller, given, outer)
            if found is not None:
                return found
    return None


def may_be_called_with_others(module: Module, call: ast.Call) -> bool:
    """Whether who calls a function by what its decorator makes of it may hand it another module each time.

    A registry of measures, as searches for architectures have it: each gets a copy of the network of its own.
    """
    function = functions_around(module, call)[-1]
    return bool(function.decorator_list) and not module.classes.calls_of(function)


def is_of_one_run(module: Module, call: ast.Call) -> bool:
    """Whether a program's own statements hook a module, and call it by its name, outside of every loop."""
    root = key_of(call.func.value).partition(".")[0] if isinstance(call.func, ast.Attribute) else ""
    if not root or module.tree.function(call) is not None or module.tree.loops(call):
        return False
    runs = [each for each in module.tree.all(ast.Call) if isinstance(each.func, ast.Name) and each.func.id == root]
    return bool(runs) and not any(module.tree.function(each) or module.tree.loops(each) for each in runs)


def _handed(module: Module, node: ast.expr, helper: FunctionNode, call: ast.Call) -> ast.expr | None:
    """What a call hands a helper for the module that this hooks."""
    root = _root(module, node, helper)
    parameter = next((each for each in parameters(helper) if each.arg == root), None)
    return module.classes.argument(call, parameter, helper) if parameter is not None else None


def _run_in(module: Module, function: FunctionNode, hooked: ast.expr, call: ast.Call) -> ast.Call | None:
    """Where a function runs what it is handed, or has, behind a call that hooks it."""
    root = _root(module, hooked, function)
    if not root or _is_guarded(module, call, root):
        return None
    for each in module.tree.calls(function):
        target = each.func
        if isinstance(target, ast.Attribute) and target.attr == "forward":
            target = target.value
        if key_of(target) == root and each.lineno > call.lineno and not module.tree.loops(each):
            return each
    return None


def _root(module: Module, node: ast.expr, function: FunctionNode) -> str:
    """The parameter of a function, or the attribute of its object, that a module comes from; "" if neither."""
    stack = [node]
    for _ in range(_MOST_PARTS):
        if not stack:
            break
        each = stack.pop()
        if module.classes.self_attribute(each) is not None:
            return key_of(each)
        if not isinstance(each, ast.Name):
            stack += wholes(each)
            continue
        for definition in module.flow.reaching(each.id, each):
            if isinstance(definition.node, ast.arg):
                if definition.node in parameters(function):
                    return definition.node.arg
                stack += _applied(module, definition.node)
            elif definition.value is not None and definition.how in (How.ASSIGN, How.ITERATE):
                stack.append(definition.value)
    return ""


def _applied(module: Module, parameter: ast.arg) -> list[ast.expr]:
    """The modules whose `apply` calls the function of a parameter with each module inside."""
    inner = module.tree.function(parameter)
    found: list[ast.expr] = []
    for call in module.classes.own_calls("apply"):
        if isinstance(call.func, ast.Attribute) and len(call.args) == 1:
            if inner is not None and module.names.definition(call.args[0]) is inner:
                found.append(call.func.value)
    return found


def _is_guarded(module: Module, call: ast.Call, root: str) -> bool:
    """Whether a condition about the module, or the object, may let it be hooked the first time only."""
    owner = root.partition(".")[0]
    for up in module.tree.ancestors(call):
        if isinstance(up, FUNCTIONS) and up.name in _RUNS_ITSELF:
            return True
        for node in ast.walk(up.test) if isinstance(up, ast.If) else ():
            if isinstance(node, ast.Call) and last_name(node.func) in ("hasattr", "getattr"):
                return True
            if isinstance(node, ast.Attribute) and key_of(node).partition(".")[0] == owner:
                return True
    return False
