"""What a class hands to the constructor of its base: `super().__init__(...)`, and `Base.__init__(self, ...)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.env import NO_ENV, Env
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer


def given(infer: Infer, facts: ClassFacts, definition: Definition) -> Env:
    """The values of the parameters with which the constructor of a base runs that makes a definition, for a class."""
    found = call_of(infer, facts, definition)
    if found is None:
        return NO_ENV
    call, function = found
    owner = infer.tree.class_of(function)
    explicit = owner is not None and last_name(getattr(call.func, "value", call)) == owner.name
    values = {}
    for at, parameter in enumerate(parameters(function)):
        if explicit and not call.keywords and 0 < at < len(call.args):
            values[parameter] = infer.value(call.args[at])
            continue
        argument = infer.classes.argument(call, parameter, function) if not explicit else None
        if argument is not None:
            values[parameter] = infer.value(argument)
    return Env(values) if values else NO_ENV


def call_of(infer: Infer, facts: ClassFacts, definition: Definition) -> tuple[ast.Call, FunctionNode] | None:
    """Where the constructor of a class calls that of its base in which a definition stands, and that constructor."""
    function, own = infer.tree.function(definition.node), facts.own_methods.get("__init__")
    if own is None or function is None or function is own or function.name != "__init__":
        return None
    above = next((each.own_methods["__init__"] for each in facts.lineage[1:] if "__init__" in each.own_methods), None)
    if function is not above:
        return None
    called = ((call, call.func) for call in infer.tree.calls(own))
    return next(
        ((call, function) for call, func in called if isinstance(func, ast.Attribute) and func.attr == "__init__"), None
    )
