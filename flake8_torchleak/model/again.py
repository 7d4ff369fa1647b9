"""Functions that are called again and again: in a loop or by a framework, from this file or from others of the
project."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchleak.model import hints
from flake8_torchleak.model.elsewhere import answers_elsewhere
from flake8_torchleak.model.gradmode import HOOKS_WITHOUT_GRAD
from flake8_torchleak.model.tree import FunctionNode, Loop

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_HOOKS = HOOKS_WITHOUT_GRAD | hints.STEP_METHODS | hints.STEP_HOOKS | {"on_train_epoch_end", "on_epoch_end"}
_MOST_LEVELS = 3
"""Callers of callers that are asked."""


class Again(NamedTuple):
    """What shows that a function is called again and again. where: a place in its own file."""

    where: ast.AST
    why: str


Settles = Callable[["Module", ast.Call], bool]
"""Whether the function around a call in a module takes care of what is asked for."""


def called_again(module: Module, function: FunctionNode, settles: Settles, levels: int = _MOST_LEVELS) -> Again | None:
    """What shows that a function is called again and again by somebody who does not settle the matter."""
    if function.name in _HOOKS and module.tree.class_of(function) is not None:
        return Again(function, "a framework calls this again and again")
    owner = module.classes.around(function)
    for base in owner.outer_bases if owner is not None else ():
        module.names.definition(base)  # have it looked up: it may call what the class overrides
    for call in module.classes.calls_of(function):
        found = None if module.tree.inside(call, function) or settles(module, call) else _at(module, call, levels)
        if found is not None:
            return found

    def found_by(user: Module, call: ast.Call) -> Again | None:
        found = None if settles(user, call) else _at(user, call, levels)
        if found is None:
            return None
        line, file = getattr(found.where, "lineno", 1), user.attached.files.get(user.tree.module_of(found.where))
        name = PurePath(str(user.path if file is None else file.path)).name
        return Again(function, f"called again and again, by way of {name}, line {line}")

    answers = answers_elsewhere(module, function, found_by) if levels else ()
    return next((each for each in answers if each is not None), None)


def loop_around(module: Module, call: ast.Call) -> Loop | None:
    """The innermost loop of more than a few rounds around a call in its function."""
    return next((each for each in module.tree.loops(call) if not module.loops.is_short(each)), None)


def _at(module: Module, call: ast.Call, levels: int) -> Again | None:
    loop = loop_around(module, call)
    if loop is not None:
        return Again(loop, "called in each iteration")
    outer = module.tree.function(call)
    if outer is None or not levels:
        return None
    return called_again(module, outer, lambda *_: False, levels - 1)
