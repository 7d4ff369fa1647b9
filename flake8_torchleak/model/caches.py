"""What sample functions add to, sample by sample, and never take from: caches and logs.

A worker adds to its own copy: the main process never sees it, and all workers together hold as many.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How, Mutation, container_of
from flake8_torchleak.model.contents import holds_file, is_decoded
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.env import NO_ENV
from flake8_torchleak.model.filled import is_chosen, is_filled
from flake8_torchleak.model.inplace import changed_in
from flake8_torchleak.model.limits import is_large, limits
from flake8_torchleak.model.memos import follows
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.opening import opened
from flake8_torchleak.model.present import is_present
from flake8_torchleak.model.state import StateFacts
from flake8_torchleak.model.stores import is_bounded
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_ADDS = frozenset({"append", "appendleft", "extend", "insert", "augment"})
_KEYED = frozenset({"setitem", "setdefault"})
_TAKES = frozenset({"pop", "popitem", "popleft", "clear", "remove", "del", "move_to_end"})
_HOLDERS = frozenset({Kind.LIST, Kind.DICT, Kind.DEQUE, Kind.JSON})
_SMALL = frozenset({Kind.NUMBER, Kind.NONE, Kind.STRING, Kind.PATH, Kind.FILE, Kind.SHARED, Kind.MODULE})
"""Entries that cost next to nothing, and handles: opening those lazily is the remedy of another rule."""
_DATA = frozenset({Kind.ARRAY, Kind.TENSOR, Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.JSON, Kind.PICKLE})


@dataclass(frozen=True, slots=True, eq=False)
class Growing:
    """A container that a sample function adds to: `name`, at `place`; it is made at `bound`."""

    place: ast.expr | ast.stmt
    name: str
    function: FunctionNode
    dataset: DatasetFacts
    kind: str
    """Of the container, in a word."""
    keyed: bool
    bound: ast.AST
    chosen: bool
    """Whether it is filled only for who asks for that by an argument that is off by default."""
    filled: bool
    """Whether the constructor may have filled it: it runs the same function, in a loop."""
    limited: bool
    """Whether its length is compared with a number, which holds most of a Dataset."""


def growing(module: Module) -> Iterator[Growing]:
    """Every container that some Dataset's sample functions fill for good, each place once."""
    seen: set[ast.AST] = set()
    for dataset in module.holdings:
        if not module.loaders.may_have_workers(dataset.owner.facts.node):
            continue
        changed = {function: changed_in(module, dataset, function) for function in dataset.calls_in}
        every = [
            (function, key, change)
            for function, found in changed.items()
            for key, changes in found.items()
            for change in changes
            if change.method in _ADDS | _KEYED
        ]
        for function, key, change in sorted(every, key=lambda each: bool(each[2].within)):
            if not seen.isdisjoint((change.node, *change.within)):
                continue  # a method that is told of where it adds
            changes = [each for found in changed.values() for each in found.get(key, [])]
            holder = _Holder(module, dataset, function, change, key, changes)
            if holder.grows:
                seen.add(change.node)
                keyed = change.method in _KEYED
                chosen = is_chosen(module, dataset, change)
                filled = keyed and is_filled(module, dataset, function, change)
                shown = (function, dataset, holder.kind, keyed, holder.bound, chosen, filled, holder.is_limited)
                yield Growing(change.node, holder.shown, *shown)


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class _Holder:
    """The container that one change of a sample function goes into."""

    def __init__(
        self,
        module: Module,
        dataset: DatasetFacts,
        function: FunctionNode,
        change: Mutation,
        name: str,
        changes: list[Mutation],
    ) -> None:
        self.module, self.dataset, self.function, self.change = module, dataset, function, change
        self.name, self.key = name, change.key
        self.changes = changes
        """What sample functions do to it."""
        head, _, self.attr = name.rpartition(".")
        self.of_self, self.of_class = head == "self", head == dataset.name

    @property
    def grows(self) -> bool:
        """Whether it gains an entry for each sample and loses none."""
        value = self.value
        kinds = {self.module.infer.definition(d, NO_ENV).kind for d in self._definitions()}
        if value is None or Kind.SHARED in kinds or not self._is_container(value) or not self._is_followed_by_index():
            return False
        if self._is_small() or self._is_taken_from() or self._is_replaced():
            return False
        return not self._is_capped()

    @property
    def kind(self) -> str:
        """A list, a dict, or what else it may be."""
        if self.change.depth:
            return "dict" if self.change.method in _KEYED else "list"
        kinds = {self.module.infer.definition(d, NO_ENV).kind for d in self._definitions()}
        return next((each.value for each in (Kind.DICT, Kind.LIST, Kind.DEQUE) if each in kinds), "container")

    @property
    def shown(self) -> str:
        """What grows, in words of the source: it, or a part."""
        part = self.change.target
        return f"{self.name}[{ast.unparse(part.slice)}]" if isinstance(part, ast.Subscript) else self.name

    @property
    def bound(self) -> ast.AST:
        """Where it is made."""
        return self._definitions()[0].statement

    @property
    def value(self) -> Value | None:
        """What it is, if it outlives the sample: an attribute, a class's, a module's variable."""
        if self.of_self or self.of_class:
            return self.module.infer.attributes.built(self.dataset.facts, self.attr)
        if "." in self.name or not self._is_global():
            return None
        definitions = self._definitions()
        values = [self.module.infer.definition(d, NO_ENV) for d in definitions]
        return values[0] if len(values) == 1 else None

    def _is_global(self) -> bool:
        scope = self.module.names.scope_of(self.key, self.change.node)
        return scope is not None and scope is self.module.tree.module_of(self.function)

    def _definitions(self) -> list[Definition]:
        if self.of_self or self.of_class:
            return self.dataset.facts.attributes.get(f"self.{self.attr}", [])
        scope = self.module.names.scope_of(self.key, self.change.node)
        return self.module.flow.definitions(scope).get(self.key, []) if scope is not None else []

    def _is_container(self, value: Value) -> bool:
        """A list, dict or deque of the process's own; `[None] * n` is a list whatever n is."""
        slots = [d.value for d in self._definitions() if isinstance(d.value, ast.BinOp)]
        if any(isinstance(s.op, ast.Mult) and isinstance(side, ast.List) for s in slots for side in (s.left, s.right)):
            return True
        holder = container_of(self.change.target or self.change.node)[0]
        if value.kind is Kind.DEQUE and is_bounded(self.module, self.key, holder):
            return False
        return value.kind in _HOLDERS

    def _is_followed_by_index(self) -> bool:
        """Whether each sample makes its own entry: by a key that follows the index, or an append that always runs."""
        change, module = self.change, self.module
        if change.method in _KEYED:
            key = change.index
            return (
                (change.depth == 0 or self._is_in_a_part())
                and key is not None
                and not isinstance(key, ast.Slice)
                and follows(module, self.dataset, key)
            )
        if change.depth and not self._is_in_a_part():
            return False
        places: list[ast.AST] = [change.node]
        called: FunctionNode | None = self.function
        while called is not None and (call := self.dataset.calls_in.get(called)) is not None:
            places.append(call)
            called = module.tree.function(call)
        return not any(self._runs_once(up) for place in places for up in module.tree.ancestors(place))

    def _is_in_a_part(self) -> bool:
        """Whether the change is made in a container inside, which stays there: `self.cache["x"][i] = x`.

        Of lists, in any: `self.of_label[label].append(i)`.
        """
        change = self.change
        if change.depth != 1 or any(each.method in _KEYED and not each.depth for each in self.changes):
            return False
        if all(map(_is_empty, (each.value for each in self._definitions()))):
            return False  # there is no such part, but for who makes it
        within = change.target.slice if isinstance(change.target, ast.Subscript) else None
        return isinstance(within, ast.Constant) or change.method not in _KEYED

    def _runs_once(self, up: ast.AST) -> bool:
        """Whether what stands below runs for the first sample only (`if self.index is None:`), or in a failure."""
        if isinstance(up, ast.ExceptHandler):
            return True
        if not isinstance(up, ast.If):
            return False
        asked = [
            c for c in ast.walk(up.test) if isinstance(c, ast.Compare) and isinstance(c.ops[0], (ast.In, ast.NotIn))
        ]
        members = {each for compare in asked for each in compare.comparators}
        read = (each for each in ast.walk(up.test) if self.module.classes.self_attribute(each) is not None)
        return any(each not in members for each in read)

    def _has_its_entries(self) -> bool:
        """Whether it is a list that was filled elsewhere: an entry takes the place of another one."""
        filled = [
            each.value
            for each in self.dataset.facts.mutations.get(f"self.{self.attr}", [])
            if each.method == "append" and not each.depth and each not in self.changes
        ]
        return bool(filled) and not any(_is_none(each) or _is_empty(each) for each in filled)

    def _is_small(self) -> bool:
        """Whether the entries are numbers, names or handles, or elements that the container holds already."""
        change = self.change
        if change.value is None or change.method not in _KEYED:
            return False
        if change.method == "setitem" and not change.depth and self._has_its_entries():
            return True
        slot = f"{self.key}[{ast.unparse(change.index)}]" if change.index is not None else ""
        if slot and (self._is_in(change.value, slot) or self._is_present(slot)):
            return True
        value = self.module.infer.value(change.value)
        if holds_file(self.module, change.value):
            return False
        if value.kind in _SMALL or opened(self.module, change.value) is not None:
            return True
        if not self._is_per_sample() and value.kind not in _DATA and not is_decoded(self.module, change.value):
            return True  # looked up with the sample, such as the file it is in: there may be few, and handles
        return value.origin is not None and value.origin.name == self.name

    @staticmethod
    def _is_in(value: ast.expr, slot: str) -> bool:
        """Whether an entry is made of what is there already: `self.parts[i] = iter(self.parts[i])`."""
        return any(isinstance(each, ast.Subscript) and ast.unparse(each) == slot for each in ast.walk(value))

    def _is_present(self, slot: str) -> bool:
        """Whether the entry of a dict is read above, so that there is one; others than plain dicts may make it."""
        plain = all(isinstance(each.value, (ast.Dict, ast.DictComp)) for each in self._definitions())
        return plain and is_present(self.module, self.function, slot, self.change.node)

    def _is_per_sample(self) -> bool:
        """Whether the key is the sample's index, and not a name or path that many samples may have in common."""
        key = self.change.index
        if isinstance(key, ast.Name) and any(d.path for d in self.module.flow.reaching(key.id, key)):
            return False  # `file, row = self.index[i]`
        return key is not None and (self.dataset.is_index(key) or self._is_one_each(key))

    def _is_one_each(self, key: ast.expr) -> bool:
        """Whether it is looked up with the index in what the Dataset's length counts: one for each sample."""
        found = self.module.flow.reaching(key.id, key) if isinstance(key, ast.Name) else []
        values = [d.value if d.how is How.ASSIGN else None for d in found] or [key]
        for value in values:
            if not isinstance(value, ast.Subscript) or not self.dataset.is_index(value.slice):
                return False
            table = self.module.classes.self_attribute(value.value)
            if table is None or not StateFacts(self.module, self.dataset, table[1]).counted:
                return False
        return True

    def _is_taken_from(self) -> bool:
        """Whether sample functions take entries out, or overwrite them with None."""
        for change in self.changes:
            if change.method in _TAKES:
                return True
            if change.method == "setitem" and (_is_none(change.value) or isinstance(change.index, ast.Slice)):
                return True
        return False

    def _is_replaced(self) -> bool:
        """Whether sample functions bind it anew, other than on first use."""
        for each in self._definitions():
            function = self.module.tree.function(each.node)
            if function is None or function not in self.dataset.calls_in or each.how is How.AUGMENT:
                continue
            if not any(self._runs_once(up) for up in self.module.tree.ancestors(each.statement)):
                return True
        return False

    def _is_capped(self) -> bool:
        """Whether its length is compared with a bound that is not known to be large, here or by who adds for it."""
        return not all(is_large(self.module, each) for each in self._limits())

    @property
    def is_limited(self) -> bool:
        """Whether there is a bound all the same."""
        return next(self._limits(), None) is not None

    def _limits(self) -> Iterator[ast.expr]:
        return limits(self.module, self.function, self.change)


def _is_empty(node: ast.expr | None) -> bool:
    """`{}`, `[]`, `dict()`."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in ("dict", "list", "OrderedDict") and not (node.args or node.keywords)
    return (isinstance(node, ast.Dict) and not node.keys) or (isinstance(node, ast.List) and not node.elts)
