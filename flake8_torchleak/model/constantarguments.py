"""What a call sets a function's parameters to, where that is a constant, and what of the function it leaves out so."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.conditions import Setting, constants, guards_of, is_left_out
from flake8_torchleak.model.names import defaults, parameters
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def leaves_out(module: Module, user: Module, function: FunctionNode, call: ast.Call, run: ast.Call | None) -> bool:
    """Whether a call of a function says by constants that another call, in that function, is not run.

    user: the module of the first call; run: the second, if there is one.
    """
    if run is None or not module.tree.inside(run, function):
        return False
    guards = guards_of(module, run, function)
    return bool(guards) and all(is_left_out(module, guards, each) for each in settings(module, user, function, call))


def settings(module: Module, user: Module, function: FunctionNode, call: ast.Call) -> Iterator[Setting]:
    """What a call sets a function's parameters to, where these are constants: a setting for each of several values."""
    setting: Setting = {}
    standard = defaults(function)
    given = [*call.args, *(each.value for each in call.keywords)]
    is_whole = not any(isinstance(each, ast.Starred) for each in given) and all(each.arg for each in call.keywords)
    several: dict[str, list[object]] = {}
    for parameter in parameters(function):
        value = module.classes.argument(call, parameter, function)
        if value is None and is_whole:
            value = standard.get(parameter)
        found = _values(user, value) if value is not None else []
        if len(found) == 1:
            setting[parameter.arg] = found[0]
        elif found:
            several[parameter.arg] = found
    if not several:
        yield setting
    yield from ({**setting, name: each} for name, values in several.items() for each in values)


def _values(module: Module, value: ast.expr) -> list[object]:
    """The constants that an argument may be: it is one, or goes over some; none if it may be anything else."""
    if isinstance(value, ast.Constant):
        return [value.value]
    if not isinstance(value, ast.Name) or value not in module.tree.parents:
        return []
    found = module.flow.reaching(value.id, value)
    if len(found) != 1 or found[0].how is not How.ITERATE or found[0].path or found[0].value is None:
        return []
    return constants(module, found[0].value)
