"""Collate functions and transforms of the file: whose samples they are given, and what they change in them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.changed import Edit, root
from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.edits import edits_through
from flake8_torchleak.model.env import Env
from flake8_torchleak.model.loader import Site
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.samplecalls import is_transform
from flake8_torchleak.model.samples import is_stored
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import MUTABLE, Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


_HOLDS = frozenset({"append", "extend", "insert", "len", "print", "isinstance"})
"""Functions that are handed an object and leave it as it is."""
_MOST_VARIABLES = 5


@dataclass(frozen=True, slots=True, eq=False)
class Handed:
    """A function of the file that is handed a Dataset's samples; `env` has what is known of them."""

    function: FunctionNode
    dataset: DatasetFacts
    env: Env
    given: ast.AST
    """Where the sample comes from: the return of a sample function, or the call of a transform."""
    by: ast.expr | None = None
    """What hands it over in this file: the call of a transform, a `collate_fn`, an argument of the Dataset's class."""


def edited_samples(module: Module) -> Iterator[tuple[Edit, Handed]]:
    """Changes in place that reach an object which the Dataset keeps."""
    for handed in (*_collates(module), *_transforms(module), *_transforms_given(module)):
        for edit in edits_through(module, handed.function, handed.env, partial(_run_by, module)):
            if not module.tree.is_own(edit.place):
                edit = replace(edit, call=handed.by, given=handed.by)
            yield edit, handed


def _run_by(module: Module, call: ast.Call) -> list[FunctionNode]:
    found = module.classes.callee(call)
    return [found] if found is not None else []


def _collates(module: Module) -> Iterator[Handed]:
    for function, datasets in _collate_functions(module).items():
        expected = parameters(function)[1 if self_name(function) and module.tree.class_of(function) else 0 :]
        by = next((site.collate for site in module.workers.collates.get(function, ())), None)
        for dataset in datasets if expected else ():
            for node, value in _samples(module, dataset):
                if any(map(is_stored, (value, *value.items, *(each for _, each in value.fields)))):
                    yield Handed(function, dataset, Env({expected[0]: Value(Kind.LIST, element=value)}), node, by)


def _collate_functions(module: Module) -> dict[FunctionNode, list[DatasetFacts]]:
    """Collate functions -> the Datasets whose samples they are given: by a loader of the file, else by their name."""
    found: dict[FunctionNode, list[DatasetFacts]] = {}
    for function, sites in module.workers.collates.items():
        served = [d for d in module.datasets.all if any(site in sites for site in module.loaders.serving(d.facts.node))]
        served += [dataset for dataset, _ in _from_elsewhere(module, sites)]
        found[function] = served or [d for d in module.datasets.all if not module.loaders.serving(d.facts.node)]
    for dataset in module.datasets.all:
        for name, function in dataset.facts.methods.items():
            if "collate" in name:
                found.setdefault(function, [dataset])
    return found


def _from_elsewhere(module: Module, sites: Iterable[Site]) -> Iterator[tuple[DatasetFacts, ast.Call]]:
    """Datasets of other files that loaders of this one are given, and the calls that make them."""
    for site in sites:
        made = site.dataset
        if isinstance(made, ast.Name):
            found = module.flow.reaching(made.id, made)
            made = found[0].value if len(found) == 1 and found[0].is_plain else None
        facts = module.classes.of(made.func) if isinstance(made, ast.Call) else None
        if facts is not None and not module.tree.is_own(facts.node) and module.datasets.is_dataset(facts):
            assert isinstance(made, ast.Call)
            yield DatasetFacts(module, facts), made


def _samples(module: Module, dataset: DatasetFacts) -> Iterator[tuple[ast.expr, Value]]:
    """What a sample function returns, return by return."""
    for function in dataset.entries:
        for node in module.tree.within(function):
            if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None:
                value = module.infer.value(node.value)
                yield node.value, value.element or value if function.name == "__getitems__" else value


def _transforms(module: Module) -> Iterator[Handed]:
    """Callable classes of the file, where a Dataset hands `self.transform(...)` an object that it keeps."""
    for dataset in module.datasets.all:
        for call, values in _transformed(module, dataset):
            for facts in module.classes.all.values():
                method = facts.own_methods.get("__call__")
                if method is not None and not facts.has_base("Module", "Loss"):
                    yield from _handed(method, dataset, values, call, call)


def _transforms_given(module: Module) -> Iterator[Handed]:
    """Callable objects that this file gives to a Dataset of another one, which hands them what it keeps."""
    for dataset, made in _from_elsewhere(module, module.loaders.sites):
        start = dataset.facts.methods.get("__init__")
        for call, values in _transformed(module, dataset) if start is not None else ():
            for each in dataset.facts.attributes.get(f"self.{last_name(call.func)}", []):
                for parameter in parameters(start) if start is not None else ():
                    given = module.classes.argument(made, parameter, start) if start is not None else None
                    facts = module.classes.of(given.func) if isinstance(given, ast.Call) else None
                    if isinstance(each.value, ast.Name) and each.value.id == parameter.arg and facts is not None:
                        method = facts.methods.get("__call__")
                        if method is not None:
                            yield from _handed(method, dataset, values, call, given)


def _transformed(module: Module, dataset: DatasetFacts) -> Iterator[tuple[ast.Call, list[Value]]]:
    """The calls of transforms by which a Dataset hands on what it keeps, and what that is."""
    for function in dataset.calls_in:
        for call in module.tree.calls(function):
            if is_transform(dataset, call):
                values = [module.infer.value(argument) for argument in call.args]
                if any(is_stored(value) and value.kind in MUTABLE for value in values):
                    yield call, values


def _handed(
    method: FunctionNode, dataset: DatasetFacts, values: list[Value], call: ast.Call, by: ast.expr | None
) -> Iterator[Handed]:
    expected = parameters(method)[1:]
    if len(expected) == len(values):
        yield Handed(method, dataset, Env(dict(zip(expected, values, strict=True))), call, by)


def copied_variable(module: Module, edit: Edit) -> tuple[Definition, bool] | None:
    """The variable that is the edited object, bound once, and whether its nested contents change too.

    None unless a copy under the same name would do: nothing reads the object by another way.
    """
    name = root(edit.target)
    reaching = module.flow.reaching(name.id, edit.target) if isinstance(name, ast.Name) else []
    if len(reaching) != 1 or len(module.flow.definitions(edit.function).get(reaching[0].key, [])) != 1:
        return None
    variable = reaching[0]
    nested = _changes_nested(module, edit.function, variable.key)
    if variable.how is How.PARAMETER:
        # Who hands it over to a helper may read it afterwards.
        alone = not module.classes.calls_of(edit.function)
        return (variable, nested) if alone and _is_returned(module, edit.function, variable.key) else None
    before = variable
    for _ in range(_MOST_VARIABLES):  # each variable on the way from the parameter is read for this alone
        source = before.value
        named = isinstance(source, ast.Name) and len(_reads(module, edit.function, source.id)) == 1
        reaching = module.flow.reaching(source.id, source) if named and isinstance(source, ast.Name) else []
        if len(reaching) != 1:
            return None
        before = reaching[0]
        if before.how is How.PARAMETER:
            return variable, nested
    return None


def _changes_nested(module: Module, function: FunctionNode, name: str) -> bool:
    """Whether what is inside a variable may be changed too: through it, by a part with a name, or by a helper."""
    mutations = module.flow.mutations(function)
    if any(change.depth for change in mutations.get(name, [])):
        return True
    for key, definitions in module.flow.definitions(function).items():
        parts = [root(each.value) for each in definitions if isinstance(each.value, ast.Subscript)]
        if key in mutations and any(isinstance(part, ast.Name) and part.id == name for part in parts):
            return True
    return any(
        isinstance(argument, ast.Name) and argument.id == name and last_name(call.func) not in _HOLDS
        for call in module.tree.calls(function)
        for argument in call.args
    )


def _reads(module: Module, function: FunctionNode, name: str) -> list[ast.Name]:
    nodes = module.tree.within(function)
    return [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]


def _is_returned(module: Module, function: FunctionNode, name: str) -> bool:
    returns = [n for n in module.tree.within(function) if isinstance(n, ast.Return) and n.value is not None]
    return bool(returns) and all(isinstance(n.value, ast.Name) and n.value.id == name for n in returns)
