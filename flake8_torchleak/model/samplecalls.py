"""What the calls of sample functions run: methods of the objects that a Dataset holds, functions that it was given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.few import default_of
from flake8_torchleak.model.holdings import asked
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST = 4
"""Functions that one attribute may be."""


def is_transform(dataset: DatasetFacts, call: ast.Call) -> bool:
    """Whether a call is `self.transform(...)`, of what the Dataset was given."""
    name = last_name(call.func).lower()
    owned = dataset.module.classes.self_attribute(call.func)
    return owned is not None and dataset.resolve(call) is None and ("transform" in name or "augment" in name)


class SampleCalls:
    """The calls of one Dataset."""

    def __init__(self, module: Module, dataset: DatasetFacts) -> None:
        self.module, self.dataset = module, dataset

    def by(self, call: ast.Call) -> list[FunctionNode]:
        """The functions that a call may run."""
        known = self.dataset.resolve(call) or self._held.get(call)
        return [known] if known is not None else list(dict.fromkeys(self._given(call)))[:_MOST]

    @cached_property
    def _held(self) -> dict[ast.AST, FunctionNode]:
        """Calls of methods of objects that it holds: `self.augmentor.apply(record)`."""
        return {
            node: method
            for function in self.dataset.calls_in
            for _, method, node in asked(self.dataset, function)
            if not (isinstance(node, ast.Call) and is_transform(self.dataset, node))  # told as what it does to samples
        }

    def _given(self, call: ast.Call) -> Iterator[FunctionNode]:
        """The functions that `self.augment(points)` may be: by default, and by what the calls of the file hand over."""
        owned = self.module.classes.self_attribute(call.func)
        if owned is None or owned[0] not in self.dataset.facts.lineage:
            return
        for each in self.dataset.facts.attributes.get(f"self.{owned[1]}", []):
            if each.is_plain and isinstance(each.value, ast.Name):
                yield from self._named(each.value)

    def _named(self, name: ast.Name) -> Iterator[FunctionNode]:
        for each in self.module.flow.reaching(name.id, name):
            for value in self._values(each) if each.how is How.PARAMETER else ():
                found = self.module.names.definition(value, True)
                if isinstance(found, FUNCTIONS):
                    yield found
        found = self.module.names.definition(name, True)
        if isinstance(found, FUNCTIONS):
            yield found

    def _values(self, parameter: Definition) -> Iterator[ast.expr]:
        """What a parameter is: by default, and in each call of the file."""
        function, node, default = parameter.statement, parameter.node, default_of(parameter)
        if default is not None:
            yield default
        assert isinstance(function, FUNCTIONS)
        assert isinstance(node, ast.arg)
        for call in self.module.classes.calls_of(function):
            given = self.module.classes.argument(call, node, function)
            if given is not None:
                yield given
