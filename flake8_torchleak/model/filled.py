"""When a container that samples add to is filled: only for who asks for that, or before there are workers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Mutation
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.names import defaults
from flake8_torchleak.model.tree import COMPREHENSIONS, LOOPS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_CALLED = 40
"""Methods that one calls."""


def is_chosen(module: Module, dataset: DatasetFacts, change: Mutation) -> bool:
    """Whether a flag of the object decides, that its constructor sets from an argument that is off by default."""
    tests = [up.test for up in module.tree.ancestors(change.node) if isinstance(up, ast.If)]
    read = [module.classes.self_attribute(each) for test in tests for each in ast.walk(test)]
    return any(_is_option(module, dataset, attr) for _, attr in filter(None, read))


def _is_option(module: Module, dataset: DatasetFacts, attr: str) -> bool:
    """Whether an attribute is set once, to a parameter whose default is False or None."""
    definitions = dataset.facts.attributes.get(f"self.{attr}", [])
    value = definitions[0].value if len(definitions) == 1 else None
    function = module.tree.function(definitions[0].node) if definitions else None
    if not isinstance(value, ast.Name) or function is None:
        return False
    default = next((each for given, each in defaults(function).items() if given.arg == value.id), None)
    return isinstance(default, ast.Constant) and default.value in (False, None)


def is_filled(module: Module, dataset: DatasetFacts, function: FunctionNode, change: Mutation) -> bool:
    """Whether the constructor runs what adds to it in a loop, itself or by methods; or a method that something calls.

    function: the one that samples run, in which it is added to.
    """
    adding = {function, *(module.tree.function(each) for each in change.within)}
    methods = (each for each in dataset.facts.methods.values() if each not in dataset.calls_in)
    return any(_fills(module, each, adding) and _is_run(module, each) for each in methods)


def _fills(module: Module, method: FunctionNode, adding: set[FunctionNode | None]) -> bool:
    """Whether a method runs one of some functions in a loop, itself or by methods that it calls."""
    waiting = [(method, False)]
    for caller, looped in waiting:
        for call in module.tree.calls(caller):
            callee = module.classes.callee(call)
            again = looped or any(isinstance(up, (*LOOPS, *COMPREHENSIONS)) for up in module.tree.ancestors(call))
            if callee is not None and again and callee in adding:
                return True
            if callee is not None and (callee, again) not in waiting and len(waiting) < _MOST_CALLED:
                waiting.append((callee, again))
    return False


def _is_run(module: Module, method: FunctionNode) -> bool:
    """Whether a method is the constructor, or something calls one of its name, in this file or in one that uses it."""
    if method.name == "__init__":
        return True
    own = (each for each in module.classes.calls_of(method) if not module.tree.inside(each, method))
    return any(True for _ in own) or bool(module.users.paths(f".{method.name}("))
