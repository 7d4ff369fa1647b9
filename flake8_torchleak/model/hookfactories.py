"""Hooks that a factory makes: what it is handed for the container that they fill."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import container_of, key_of
from flake8_torchleak.model.effects import CUTS
from flake8_torchleak.model.gradmode import turns_off
from flake8_torchleak.model.names import parameters
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def handed_over(module: Module, hook: FunctionNode | ast.Lambda, key: str, value: ast.expr) -> list[str] | None:
    """The variables that a factory is handed for what its hook fills; none if that is no parameter of a factory.

    None where nobody in the file hands it a variable or a new container: who empties it is not in sight; and where what
    has no graph is read behind all loops alone: then what they leave there is what it is for.
    """
    scope = module.names.scope_of(key.partition(".")[0], hook)
    if not isinstance(scope, FUNCTIONS):
        return []
    parameter = next((each for each in parameters(scope) if each.arg == key), None)
    if parameter is None:
        return []
    calls = module.classes.calls_of(scope)
    given = [each for call in calls if (each := module.classes.argument(call, parameter, scope)) is not None]
    if not calls or any(isinstance(each, ast.Call) for each in given):
        return None
    holders = [container_of(each)[0] for each in given]
    variables = [each for each in holders if isinstance(each, (ast.Name, ast.Attribute))]
    read = [node for each in variables if isinstance(each, ast.Name) for node in _reads(module, each)]
    read = [each for each in read if each not in variables]
    if read and not any(map(module.tree.loops, read)) and _has_no_graph(module, value, calls):
        return None
    return [key_of(each) for each in variables]


def _reads(module: Module, variable: ast.Name) -> list[ast.Name]:
    return module.release.escapes.reads(variable.id, module.names.scope_of(variable.id, variable))


def _has_no_graph(module: Module, value: ast.expr, calls: list[ast.Call]) -> bool:
    """Whether what a hook keeps has no graph: it is cut off, or who registers it speaks of gradients off."""
    if any(isinstance(each, ast.Attribute) and each.attr in CUTS for each in ast.walk(value)):
        return True
    return all(turns_off(module.tree.function(call) or module.root) for call in calls)
