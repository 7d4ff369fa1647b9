"""Handles that are opened on first use, where the first use is not in a worker: in `__init__`, or in `__len__`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from flake8_torchleak.model.attributes import is_property
from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.holdings import Holding, asked
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.opening import Handle, opened
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_IN_MAIN = ("__init__", "__len__")
"""What runs before the workers start; samplers ask for the length."""
_MOST_FUNCTIONS = 30
_MOST_STEPS = 200
"""Calls of methods that are replayed, one after the other."""
_Step = tuple[tuple[int, int, int], FunctionNode | bool]
"""A method that is called, or whether it is open from there on, by where that ends: changes are made behind calls."""


@dataclass(frozen=True, slots=True, eq=False)
class Early:
    """An attribute that a function of the main process opens for the workers, too. call: the way there.

    function: what opens it.
    """

    dataset: DatasetFacts
    name: str
    handle: Handle
    place: ast.AST
    function: FunctionNode
    entry: FunctionNode
    call: ast.AST

    @property
    def is_property(self) -> bool:
        """Whether a property opens it that is worked out once, and kept under its name."""
        return self.function.name == self.name.removeprefix("self.")


def early(module: Module) -> Iterator[Early]:
    """Every handle of a Dataset that is opened if it is not open, and that the main process opens first."""
    for dataset in module.holdings:
        if not module.loaders.may_have_workers(dataset.owner.facts.node) or _asks_process(module, dataset):
            continue
        told: set[str] = set()
        ways = list(_ways(module, dataset))
        for entry, way, reached in ways:
            # An object is asked by the Dataset's own methods, one after the other.
            run = [next(iter(each)) for _, _, each in ways] if way is not None else [entry]
            for function, call in reached.items():
                for attr, handle, place in _opened_in(module, dataset, function):
                    if attr in told or not _Replay(module, dataset, attr).leaves_open(run):
                        continue
                    if _is_left_open(module, dataset, attr) and attr not in _renewed(module):
                        told.add(attr)
                        yield Early(dataset, f"self.{attr}", handle, place, function, entry, way or call)


def _ways(
    module: Module, dataset: DatasetFacts
) -> Iterator[tuple[FunctionNode, ast.AST | None, dict[FunctionNode, ast.AST]]]:
    """Functions of the main process, how they ask an object that the Dataset holds, if so, and what that runs."""
    outer = dataset.outer if isinstance(dataset, Holding) else dataset
    for name in _IN_MAIN:
        entry = outer.facts.methods.get(name)
        reached = _reached(module, outer, entry) if entry is not None else {}
        if entry is None or not isinstance(dataset, Holding):
            yield from [(entry, None, reached)] if entry is not None else ()
            continue
        for function in reached:
            for held, method, node in asked(outer, function):
                if held.facts is dataset.facts:
                    yield entry, node, dict.fromkeys(_reached(module, dataset, method), method)


def _reached(module: Module, dataset: DatasetFacts, entry: FunctionNode) -> dict[FunctionNode, ast.AST]:
    """A function of the main process, and the methods that it calls -> the call in it that leads there."""
    found: dict[FunctionNode, ast.AST] = {entry: entry}
    queue = [entry]
    while queue and len(found) < _MOST_FUNCTIONS:
        function = queue.pop(0)
        called = [(dataset.resolve(call), call) for call in module.tree.calls(function)]
        for callee, call in (*called, *_properties(module, dataset, function)):
            if callee is not None and callee not in found and callee in dataset.facts.all_functions:
                found[callee] = call if function is entry else found[function]
                queue.append(callee)
    return found


def _properties(
    module: Module, dataset: DatasetFacts, function: FunctionNode
) -> Iterator[tuple[FunctionNode, ast.Attribute]]:
    """The properties that a method reads, with where it does."""
    for name, nodes in module.classes.self_uses(function).items():
        found = dataset.facts.methods.get(name)
        if found is not None and is_property(found):
            yield from ((found, node) for node in nodes if isinstance(node.ctx, ast.Load))


def _opened_in(module: Module, dataset: DatasetFacts, function: FunctionNode) -> Iterator[tuple[str, Handle, ast.AST]]:
    for key, definitions in dataset.facts.attributes.items():
        for each in definitions:
            if each.how is How.ASSIGN and each.value is not None and module.tree.function(each.node) is function:
                handle = opened(module, each.value)
                if handle is not None:
                    yield key.removeprefix("self."), handle, each.statement
    for node, handle in _kept_by(module, function):
        yield function.name, handle, node


def _kept_by(module: Module, function: FunctionNode) -> Iterator[tuple[ast.Return, Handle]]:
    """What a property opens that is worked out once, and kept under its name."""
    if any(last_name(each) == "cached_property" for each in function.decorator_list):
        for node in module.tree.within(function):
            handle = opened(module, node.value) if isinstance(node, ast.Return) and node.value is not None else None
            if isinstance(node, ast.Return) and handle is not None:
                yield node, handle


class _Replay:
    """What a run of methods does to an attribute that holds a handle, statement by statement, as they stand."""

    def __init__(self, module: Module, dataset: DatasetFacts, attr: str) -> None:
        self._module, self._dataset, self._attr = module, dataset, attr
        self._is_open = False
        self._running: list[FunctionNode] = []
        self._left = _MOST_STEPS

    def leaves_open(self, functions: Iterable[FunctionNode]) -> bool:
        """Whether it is open when these methods have run, one after the other."""
        for each in functions:
            self._run(each)
        return self._is_open

    def _run(self, function: FunctionNode) -> None:
        if function in self._running or not self._left:
            return
        self._left -= 1
        self._running.append(function)
        for _, step in sorted([*self._called(function), *self._changed(function)], key=lambda each: each[0]):
            if isinstance(step, bool):
                self._is_open = step
            else:
                self._run(step)
        self._running.pop()

    def _called(self, function: FunctionNode) -> Iterator[_Step]:
        own = self._dataset.facts.all_functions
        found = [(self._dataset.resolve(call), call) for call in self._module.tree.calls(function)]
        for callee, node in (*found, *_properties(self._module, self._dataset, function)):
            if callee is not None and callee in own:
                yield (*_end(node), 0), callee

    def _changed(self, function: FunctionNode) -> Iterator[_Step]:
        module = self._module
        if function.name == self._attr:
            yield from (((*_end(node), 1), True) for node, _ in _kept_by(module, function))
        for node in module.classes.self_uses(function).get(self._attr, ()):
            if any(isinstance(up, ast.ExceptHandler) for up in module.tree.ancestors(node)):
                continue  # where something failed
            statement, parent = module.tree.statement(node), module.tree.parents[node]
            value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
            if isinstance(node.ctx, ast.Del) or (isinstance(parent, ast.Attribute) and parent.attr == "close"):
                yield (*_end(node), 0), False
            elif isinstance(node.ctx, ast.Store) and value is not None:
                is_none = isinstance(value, ast.Constant)
                if is_none or opened(module, value) is not None:
                    yield (*_end(statement), 1), not is_none


def _end(node: ast.AST) -> tuple[int, int]:
    """Where something ends: what a call is given ends, and is worked out, before it."""
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


def _is_left_open(module: Module, dataset: DatasetFacts, attr: str) -> bool:
    """Whether sample functions use it, and open it only where it is not open yet."""
    functions = dict.fromkeys(dataset.calls_in)
    for function in dataset.calls_in:
        functions.update((each, None) for each, _ in _properties(module, dataset, function))
    uses = {function: module.classes.self_uses(function).get(attr, ()) for function in functions}
    if not any(_is_use(module, node) for found in uses.values() for node in found):
        return False
    opens = any(each.name == attr for each in functions)  # a property that opens it
    for function, found in uses.items():
        stores = [node for node in found if isinstance(node.ctx, ast.Store) and not _is_picked(module, node)]
        calls = [c for f in dataset.calls_in for c in module.tree.calls(f) if dataset.resolve(c) is function]
        opens = opens or bool(stores)
        if all(_is_first(module, each, attr) for each in stores):
            continue
        if not calls or not all(_is_first(module, each, attr) for each in calls):
            return False
    return opens


def _is_picked(module: Module, node: ast.Attribute) -> bool:
    """Whether it is set to one of several that there are: none is opened by that."""
    value = getattr(module.tree.statement(node), "value", None)
    return isinstance(value, ast.Subscript) and opened(module, value) is None


def _is_use(module: Module, node: ast.Attribute) -> bool:
    """Whether it is read other than by a condition."""
    up: ast.AST = node
    while not isinstance(up, ast.stmt):
        up = module.tree.parents[up]
    return isinstance(node.ctx, ast.Load) and not isinstance(up, ast.If)


def _is_first(module: Module, node: ast.AST, attr: str) -> bool:
    """Whether a condition about the attribute is around: `if self.file is None:`."""
    for up in takewhile(lambda each: not isinstance(each, FUNCTIONS), module.tree.ancestors(node)):
        if isinstance(up, ast.If):
            for each in ast.walk(up.test):
                if isinstance(each, ast.Attribute) and each.attr == attr:
                    return True
                if isinstance(each, ast.Constant) and each.value == attr:
                    return True  # hasattr(self, "file")
    return False


def _renewed(module: Module) -> set[str]:
    """Attributes that a worker_init_fn of the file sets."""
    return {
        node.attr
        for function in module.workers.initialisers
        for node in module.tree.within(function)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del))
    }


def _asks_process(module: Module, dataset: DatasetFacts) -> bool:
    """Whether the class asks which process, or worker, it is in."""
    asked = {"getpid", "get_worker_info", "current_process"}
    return any(
        isinstance(node, (ast.Name, ast.Attribute)) and (node.id if isinstance(node, ast.Name) else node.attr) in asked
        for function in dataset.facts.all_functions
        for node in module.tree.within(function)
    )
