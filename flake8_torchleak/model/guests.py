"""Guests: objects that hook themselves onto a module that they were handed, and leave the hook there."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.hooks import giver, handed_on, method_behind
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.tree import LOOPS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_LIVE_WITH_MODEL = ("Module", "Model", "Net", "Optimizer", "Callback", "Trainer", "Hook", "Plugin", "Strategy")
"""Bases of objects that live as long as the model that they are given, or are it."""
_MOST_HELPERS = 3
"""Functions, one called by the other, that hand a module on to where it is hooked."""


@dataclass(frozen=True, slots=True, eq=False)
class Guest:
    """An object that hooks itself onto a module of its maker's. parameter: by which it was handed the module."""

    owner: ClassFacts
    parameter: ast.arg


def guest(module: Module, call: ast.Call) -> Guest | None:
    """The object whose constructor hooks a module that it was handed, and throws the handle away.

    The hook stays on the module when the object is gone, and holds what it needs of it. None for what is a module
    itself, or lives as long as the model (optimizers, trainers, callbacks).
    """
    if not isinstance(call.func, ast.Attribute):
        return None
    found = _in_class(module, call, call.func.value)
    if found is None:
        return None
    owner, at, hooked = found
    if not isinstance(module.tree.parents[call], ast.Expr):
        return None
    # What a class without a constructor hooks is hooked by those below it, whose object it is.
    makers = [owner] if "__init__" in owner.methods else module.classes.below.get(owner, ())
    guests = (_made_by(module, each, at, hooked) for each in makers)
    return next((each for each in guests if each is not None), None)


def is_made_again(module: Module, owner: ClassFacts) -> bool:
    """Whether the file shows an object of the class made in a loop, or in a function that is called in one."""
    calls = list(module.classes.callers.get(owner.node.name, ()))
    around = [function for call in calls if (function := module.tree.function(call)) is not None]
    calls += [call for function in around for call in module.classes.callers.get(function.name, ())]
    return any(isinstance(up, LOOPS) for call in calls for up in module.tree.ancestors(call))


def _made_by(module: Module, owner: ClassFacts, at: ast.Call, hooked: ast.expr) -> Guest | None:
    """The object of a class whose constructor leads to the call that hooks a module that it was handed."""
    builder = owner.methods.get("__init__")
    if builder is None or module.tree.function(at) not in _building(module, owner, builder):
        return None
    outer = [last_name(base) for base in owner.outer_bases]
    if any(name.endswith(_LIVE_WITH_MODEL) for name in [*outer, *(each.node.name for each in owner.lineage)]):
        return None
    # The first parameter is the object: what hooks itself is a module, whatever its bases.
    given = giver(module, hooked)
    return Guest(owner, given) if given is not None and given in parameters(builder)[1:] else None


def _in_class(module: Module, call: ast.Call, hooked: ast.expr) -> tuple[ClassFacts, ast.Call, ast.expr] | None:
    """The class whose method registers a hook, the call there that does so, and what it hooks.

    What a function registers that one method calls, or through one more, is registered by that method.
    """
    for _ in range(_MOST_HELPERS):
        owner, function = module.classes.around(call), module.tree.function(call)
        if owner is not None or function is None:
            return (owner, call, hooked) if owner is not None else None
        given = giver(module, hooked)
        handed = handed_on(module, function, given) if given is not None else None
        if handed is None:
            return None
        call, hooked = handed
    return None


def _building(module: Module, owner: ClassFacts, builder: FunctionNode) -> list[FunctionNode]:
    """`__init__` and the methods that it calls."""
    found = [builder]
    for function in found:
        calls = module.tree.calls(function)
        callees = (module.classes.callee(call) or method_behind(module, call.func) for call in calls)
        found += [each for each in callees if each in owner.all_functions and each not in found]
    return found
