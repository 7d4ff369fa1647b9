"""The verdict on a Dataset's state: is it a Python container that grows with the data and is read in workers?

TLK101 reports those whose type is known, TLK901 those whose type nothing in the file tells.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.attributes import is_property
from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.handed import call_of, given
from flake8_torchleak.model.headers import holds_arrays
from flake8_torchleak.model.inherited import is_of_base, own_share
from flake8_torchleak.model.librarybases import held_by_base
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.state import Read, StateFacts
from flake8_torchleak.model.stateelements import (
    are_few_numbers,
    are_records,
    are_repeated,
    holds_tensors,
    is_cheap,
    is_element_of,
    is_entry,
    put_in,
)
from flake8_torchleak.model.unnoticed import is_unnoticed
from flake8_torchleak.model.values import Kind, Size, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PROXY = frozenset({Kind.PICKLE, Kind.UNKNOWN})


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """One attribute that is copied into workers: where it is bound, what it is, and the proof."""

    place: ast.AST
    name: str
    dataset: DatasetFacts
    value: Value
    read: Read
    notes: tuple[tuple[ast.AST, str], ...]
    known: bool
    """Whether its type is known to be a Python container (else: a constructor argument of unknown type)."""
    of_parts: bool
    """Whether each element is one entry of a record: a name, a number, most likely."""
    arrays: bool
    """Whether samples use its elements, or parts of them, as arrays."""
    per_sample: bool
    """Whether a sample reads an element by its index, or by what is made of that, and `__len__` counts no other one."""


def containers(
    module: Module,
    wanted: Callable[[DatasetFacts], bool] = lambda _: True,
    told: Callable[[Container], bool] = lambda _: True,
) -> Iterator[Container]:
    """Every such attribute of every Dataset of the file that is wanted, each binding once.

    What a base class binds may count for one of those that derive from it.
    told: what of it is worth asking whether workers read it, which takes longest.
    """
    return _all(module, False, wanted, told)


def tensor_containers(module: Module) -> Iterator[Container]:
    """Lists and dicts of tensors that grow with the data: cheap in forked workers, a descriptor each in others."""
    return _all(module, True, lambda _: True, lambda _: True)


def _all(
    module: Module, tensors: bool, wanted: Callable[[DatasetFacts], bool], told: Callable[[Container], bool]
) -> Iterator[Container]:
    seen: set[ast.AST] = set()
    untold: dict[ast.AST, list[tuple[DatasetFacts, str]]] = {}
    for dataset in module.holdings:
        if not module.loaders.may_have_workers(dataset.owner.facts.node) or dataset.elsewhere:
            continue
        if not wanted(dataset):
            continue
        held = None if tensors else held_by_base(module, dataset)
        if held is not None:
            place, attribute, value, read = held
            notes = (*value.why, *dataset.chain(read.function), (read.node, _read_in(read)))
            yield Container(place, f"self.{attribute}", dataset, value, read, notes, True, False, False, False)
        for attr in _attributes(dataset):
            state = StateFacts(module, dataset, attr)
            found = _judge(module, dataset, state, tensors)
            if found is None or found.place in seen or is_of_base(module, state):
                continue
            if not told(found):
                untold.setdefault(found.place, []).append((dataset, attr))
                continue
            if any(module.reach.is_read(*each) for each in untold.pop(found.place, ())):
                seen.add(found.place)
            elif module.reach.is_read(dataset, attr):
                seen.add(found.place)
                yield found


def _read_in(read: Read) -> str:
    return f"read for every sample in `{read.function.name}`"


def _attributes(dataset: DatasetFacts) -> list[str]:
    found = [key[5:] for key in dataset.facts.attributes]
    found += [
        n for n, m in dataset.facts.methods.items() if any(last_name(d) == "cached_property" for d in m.decorator_list)
    ]
    return found


def _judge(module: Module, dataset: DatasetFacts, state: StateFacts, tensors: bool) -> Container | None:
    read = state.read
    if read is None or (hints.is_dataset(state.attr) and state.value.kind in (Kind.UNKNOWN, Kind.DATASET)):
        return None
    value = state.value
    if not (value.is_container or value.kind in _PROXY) or holds_tensors(state) is not tensors:
        return None
    if not tensors and (is_cheap(value) or are_few_numbers(state) or are_repeated(state)):
        return None
    if dataset.is_serialised or _rebound_per_sample(state) or is_unnoticed(state):
        return None
    known = value.is_container
    proof = None
    if not known:
        if state.used_as_array:
            return None
        proof = state.used_as_python
        known = proof is not None
    if known and not _is_large(dataset, state, value, read, proof):
        return None
    if not known and not (state.indexed and state.counted and _is_argument(state)):
        if not (value.kind is Kind.PICKLE and state.indexed and (state.counted or are_records(state))):
            return None
        known = True
    notes = list(value.why[:3])
    if proof is not None:
        notes.append((proof, "used as a Python container of objects"))
    notes += dataset.chain(read.function)
    notes.append((read.node, _read_in(read)))
    place = _place(module, state)
    notes += [(each, "it is bound here as well") for each in _other_places(module, state, place)]
    elements = [each for each in put_in(state) if not is_element_of(module, each, state.attr)]
    of_parts = bool(elements) and all(is_entry(module, each) for each in elements)
    name, arrays = f"self.{state.attr}", holds_arrays(state)
    by_sample = state.indexed is not None or (read.key is not None and dataset.derives(read.key))
    per_sample = by_sample and (state.counted or "__len__" not in dataset.facts.methods)
    return Container(place, name, dataset, value, read, tuple(notes), known, of_parts, arrays, per_sample)


def _is_large(dataset: DatasetFacts, state: StateFacts, value: Value, read: Read, proof: ast.AST | None) -> bool:
    """Whether the container grows with the data, by how it is built or by how it is indexed and counted."""
    per_sample = state.indexed is not None and (state.counted or not hints.is_small(state.attr))
    if value.grows:
        return not hints.is_small(state.attr) or state.indexed is not None or state.counted
    if value.size is Size.SMALL:
        return False
    if proof is not None and not value.is_container:
        return (per_sample and state.counted) or (
            _is_argument(state)
            and read.key is not None
            and dataset.derives(read.key)
            and not hints.is_small(state.attr)
        )
    if state.counted and state.indexed is not None:
        return True
    if _is_argument(state):
        nested = value.element is not None and value.element.is_container
        return not hints.is_small(state.attr) and (
            per_sample or (value.kind is Kind.DICT and nested and (read.key is None or dataset.derives(read.key)))
        )
    return per_sample or (state.counted and read is not None)


def _is_argument(state: StateFacts) -> bool:
    """Whether the attribute is a constructor argument, stored as it is."""
    for each in state.bindings:
        if isinstance(each.statement, ast.AnnAssign) and isinstance(
            state.module.tree.scope(each.statement), ast.ClassDef
        ):
            return True
        if isinstance(each.value, ast.Name):
            reaching = state.module.flow.reaching(each.value.id, each.value)
            if any(d.how is How.PARAMETER for d in reaching):
                return True
    return False


def _rebound_per_sample(state: StateFacts) -> bool:
    """Whether sample functions overwrite the attribute as a whole (it holds one item, not the data)."""
    for each in state.dataset.facts.attributes.get(f"self.{state.attr}", []):
        function = state.module.tree.function(each.node)
        if function in state.dataset.calls_in and function is not None:
            if not is_property(function) and not _lazily(state, each.statement):
                return True
    return False


def _lazily(state: StateFacts, statement: ast.AST) -> bool:
    """Whether an assignment is guarded by a test of the attribute (`if self.x is None:`)."""
    for up in state.module.tree.ancestors(statement):
        if isinstance(up, ast.If) and any(
            isinstance(n, ast.Attribute) and n.attr == state.attr for n in ast.walk(up.test)
        ):
            return True
    return False


def _other_places(module: Module, state: StateFacts, place: ast.AST) -> list[ast.AST]:
    """The other assignments of this file that give it a container that grows, in their order."""
    facts, found = state.dataset.facts, []
    for each in state.bindings:
        value = module.infer.definition(each, given(module.infer, facts, each))
        if value.is_container and value.grows and each.statement is not place and each.node is not place:
            found.append(each.statement)
    own = (each for each in found if module.tree.is_own(each) and not module.tree.inside(place, each))
    return sorted(dict.fromkeys(own), key=module.tree.number)


def _place(module: Module, state: StateFacts) -> ast.AST:
    """The binding to report: the one that makes the container, or a cached_property's return."""

    facts = state.dataset.facts

    def makes(binding: Definition) -> tuple[bool, bool]:
        value = module.infer.definition(binding, given(module.infer, facts, binding))
        is_made = value.is_container or value.kind is state.value.kind
        return is_made and binding.how is not How.AUGMENT, is_made

    bindings = sorted(state.bindings, key=makes, reverse=True)
    if bindings:
        first = bindings[0]
        handed = call_of(module.infer, facts, first) if isinstance(first.value, ast.Name) else None
        if handed is not None and module.infer.definition(first, given(module.infer, facts, first)).grows:
            return handed[0]
        place = first.node if first.path else first.statement
        return place if module.tree.is_own(place) else own_share(module, state) or place
    method = state.dataset.facts.methods[state.attr]
    return next((node for node in module.tree.within(method) if isinstance(node, ast.Return)), method)
