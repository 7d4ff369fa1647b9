"""What a Dataset's container owes to its base class in another file, and what to the class itself."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.abstract import refuses
from flake8_torchleak.model.bindings import GROWING, Definition, Mutation
from flake8_torchleak.model.env import NO_ENV
from flake8_torchleak.model.loader import SAMPLE_METHODS
from flake8_torchleak.model.names import parameters
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module
    from flake8_torchleak.model.state import StateFacts


def is_of_base(module: Module, state: StateFacts) -> bool:
    """Whether a base class in another file makes the container and reads it for samples: the finding is that file's.

    A class that fills it here, too, or hands over what it is made of, has a share of its own.
    """
    if any(module.tree.is_own(change.node) for change in _filling(state)) or not state.bindings:
        return False
    values = ((each, module.infer.definition(each, NO_ENV)) for each in state.bindings)
    makes = (
        (value.is_container or value.kind is Kind.PICKLE) and not _is_for_who_asks(module, each)
        for each, value in values
    )
    elsewhere = not any(module.tree.is_own(each.statement) for each in state.bindings)
    return elsewhere and any(makes) and any(not module.tree.is_own(each.node) for each in state.reads)


def _is_for_who_asks(module: Module, binding: Definition) -> bool:
    """Whether a parameter of the function around decides whether a binding is made: the class may have handed it."""
    function = module.tree.function(binding.statement)
    taken = {each.arg for each in parameters(function)[1:]} if function is not None else set()
    tests = [each.test for each in module.tree.ancestors(binding.statement) if isinstance(each, ast.If)]
    return any(isinstance(each, ast.Name) and each.id in taken for test in tests for each in ast.walk(test))


def changes_of(state: StateFacts) -> list[Mutation]:
    """What the class, and its bases, may change of the container in place."""
    return state.dataset.facts.mutations.get(f"self.{state.attr}", [])


def _filling(state: StateFacts) -> list[Mutation]:
    """Changes that put something in; a call of another method is a change as well, as nobody knows what it does."""
    return [change for change in changes_of(state) if change.method in GROWING or change.method == "augment"]


def own_share(module: Module, state: StateFacts) -> ast.AST | None:
    """Where a class of this file fills what a base in another file binds: in place, or by what it hands to it.

    Where a class of this file alone makes samples, it is the class: nobody is told at the base.
    """
    filled = [change.node for change in _filling(state)]
    made = state.dataset.facts.own_methods.get("__init__")
    filled += [
        call
        for call in (module.tree.calls(made) if made is not None else ())
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"
    ]
    share = next((node for node in filled if module.tree.is_own(node)), None)
    if share is not None or any(_makes_samples(module, each) for each in state.bindings):
        return share
    facts = state.dataset.facts
    return facts.node if any(each in facts.own_methods for each in SAMPLE_METHODS) else None


def _makes_samples(module: Module, binding: Definition) -> bool:
    """Whether the class that binds something makes samples itself: it is told of it where it stands."""
    owner = next((each for each in module.tree.ancestors(binding.statement) if isinstance(each, ast.ClassDef)), None)
    methods = module.classes.all[owner].methods if owner is not None else {}
    return any(each in methods and not refuses(methods[each]) for each in SAMPLE_METHODS)
