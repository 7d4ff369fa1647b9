"""Handles that a Dataset opens for its workers: they keep a position or a lock that processes cannot share."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.opening import HIERARCHIES, PARTS, SLIDE, Handle, opened
from flake8_torchleak.model.state import Read, StateFacts, Use
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_BUILDERS = frozenset({"__init__", "__post_init__", "load_data_list"})
"""What runs when a Dataset is built; the last by mmengine's constructor."""
_OTHER_USES = frozenset({"close", "filename", "name", "mode", "closed"})


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """A Dataset's attribute, or a variable of its module, that is opened before the workers start and used by them."""

    dataset: DatasetFacts
    name: str
    place: ast.AST
    handle: Handle
    read: Read
    is_handed: bool = False
    """Whether who makes the Dataset hands it over."""
    at_import: bool = False
    """Whether it is opened when the module is imported: workers that are not forked open it anew."""


def is_only_read(module: Module, dataset: DatasetFacts, handle: Handle) -> bool:
    """Whether what is opened is only read, and forked workers can: HDF5 files, slides, and databases without locks.

    HDF5 reads each part at its own place (`pread`): no position is shared. A Python file that it is given has one.
    OpenSlide opens the file anew for each read.
    """
    if handle.what == SLIDE:
        return True
    given = {each.arg: getattr(each.value, "value", None) for each in handle.call.keywords}
    if handle.what in HIERARCHIES:
        args = handle.call.args
        mode = given.get("mode", getattr(args[1], "value", None) if len(args) > 1 else None)
        own = given.get("driver") in (None, "sec2") and not any(
            module.infer.value(each).kind is Kind.FILE for each in args[:1]
        )
        return own and (mode is None or mode == "r")
    if given.get("lock") is not False:
        return False
    if given.get("readonly") is True:
        return True
    calls = (call for function in dataset.facts.all_functions for call in module.tree.calls(function))
    return not any(_may_write(call) for call in calls)


def _may_write(call: ast.Call) -> bool:
    """Whether a call starts a transaction that writes: `env.begin(write=True)`."""
    given = [each.value for each in call.keywords if each.arg == "write"]
    given += call.args[2:3] if last_name(call.func) == "begin" else []
    return any(getattr(each, "value", True) is not False for each in given)


def shared(module: Module) -> Iterator[Shared]:
    """Every handle that a Dataset opens when it is built and its sample functions use."""
    seen: set[ast.AST] = set()
    for dataset in module.holdings:
        if not module.loaders.may_have_workers(dataset.owner.facts.node):
            continue
        building = _building(module, dataset)
        kept = (_kept(module, dataset, key.removeprefix("self."), building) for key in dataset.facts.attributes)
        for found in (*kept, *_of_module(module, dataset)):
            if found is not None and found.handle.call not in seen:
                seen.add(found.handle.call)
                yield found


def _of_module(module: Module, dataset: DatasetFacts) -> Iterator[Shared]:
    """Handles in variables of the module, bound once, that samples use."""
    for function in dataset.calls_in:
        for node in module.tree.within(function):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
                continue
            if module.names.scope_of(node.id, node) is not module.root:
                continue
            bound = module.flow.definitions(module.root).get(node.id, [])
            handle = (
                opened(module, bound[0].value) if len(bound) == 1 and bound[0].is_plain and bound[0].value else None
            )
            read = Read(node, Use.OTHER, None, function)
            if handle is not None and _uses(module, read) and not _opens_too(module, dataset, handle):
                yield Shared(dataset, node.id, bound[0].statement, handle, read, at_import=True)


def _building(module: Module, dataset: DatasetFacts) -> list[FunctionNode]:
    """`__init__` and the methods it calls, those that run for samples too left out."""
    found = [each for each in dataset.facts.all_functions if each.name in _BUILDERS]
    for function in found:
        for call in module.tree.calls(function):
            callee = dataset.resolve(call)
            if callee is not None and callee in dataset.facts.all_functions and callee not in found:
                found.append(callee)
    return [each for each in found if each not in dataset.calls_in]


def _kept(module: Module, dataset: DatasetFacts, attr: str, building: list[FunctionNode]) -> Shared | None:
    state = StateFacts(module, dataset, attr)
    if attr in dataset.rebound:
        return None
    bindings = state.bindings
    places = [(each.statement, each.value) for each in bindings if _is_built(module, each, building)]
    at_import = len(bindings) == 1 and bindings[0].is_plain and module.tree.function(bindings[0].node) is None
    places += [(bindings[0].statement, bindings[0].value)] if at_import else []
    for function in building:
        changes = module.flow.mutations(function).get(f"{self_name(function)}.{attr}", [])
        if any(change.method == "close" for change in changes):
            return None
        places += [(change.node, each) for change in changes for each in change.elements]
    for place, value in places:
        handle = opened(module, value, dataset) if value is not None else None
        read = next((each for each in state.reads if _uses(module, each)), None)
        if handle is not None and read is not None and not _opens_too(module, dataset, handle):
            own = module.tree.function(handle.call) in building
            place = module.tree.statement(handle.call) if own else place
            is_handed = isinstance(value, ast.Name) and _is_parameter(module, value)
            return Shared(dataset, f"self.{attr}", place, handle, read, is_handed, at_import)
    return None


def _is_parameter(module: Module, name: ast.Name) -> bool:
    return any(each.how is How.PARAMETER for each in module.flow.reaching(name.id, name))


def _is_built(module: Module, binding: Definition, building: list[FunctionNode]) -> bool:
    return binding.is_plain and module.tree.function(binding.node) in building


def _uses(module: Module, read: Read) -> bool:
    """Whether a use touches what the handle is open on."""
    parent = module.tree.parents[read.node]
    if isinstance(parent, ast.Attribute):
        return parent.attr not in _OTHER_USES
    return read.use is not Use.WRITE and not isinstance(parent, (ast.Compare, ast.If, ast.UnaryOp))


def _opens_too(module: Module, dataset: DatasetFacts, handle: Handle) -> bool:
    """Whether sample functions open such a handle too: for workers, where the Dataset tells them apart."""
    calls = (call for function in dataset.calls_in for call in module.tree.calls(function))
    found = (opened(module, call, dataset) for call in calls if last_name(call.func) not in (*PARTS, "get"))
    runs = module.tree.function(handle.call) in dataset.calls_in  # or a method gives a part of what is open already
    return any(
        each is not None and each.what == handle.what and (runs or each.call is not handle.call) for each in found
    )
