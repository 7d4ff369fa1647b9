"""Whether code in reach edits what it is handed: then a copy is no longer the same program, only a better one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.finding import FixLevel
from flake8_torchleak.model.bindings import Definition, How, Mutation, container_of
from flake8_torchleak.model.edits import edits, may_change
from flake8_torchleak.model.env import NO_ENV
from flake8_torchleak.model.release.trail import compares_identity
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, Scope
from flake8_torchleak.model.values import Kind, OriginKind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_HOPS = 6
"""Variables and calls that a sample is followed through."""
_NONE = frozenset({Kind.NUMBER, Kind.STRING, Kind.METRIC, Kind.MODULE, Kind.NONE, Kind.PATH, Kind.FILE})
_ASKS = frozenset({
    "shares_memory", "may_share_memory", "_base", "data_ptr", "storage", "untyped_storage", "is_set_to", "_is_view",
})  # fmt: skip
"""What tells whose memory a tensor or an array is."""
_OF_ARRAYS = frozenset({"augment", "augitem", "fill", "sort", "resize", "partition", "itemset", "put"})


class Sharing:
    """Edits in one module of what somebody else made."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @remembered
    def edits_samples(self, of_array: bool) -> ast.AST | None:
        """The first place that edits what may be a sample, if there is one: an array (or tensor), or a container.

        Whoever edits samples on purpose reads them again. What Datasets do to their own elements has rules of its own
        (TLK203).
        """
        own = {function for each in self.module.datasets.all for function in each.facts.methods.values()}
        scopes: list[Scope] = [self.module.root, *self.module.tree.everywhere(*FUNCTIONS)]
        for scope in scopes:
            if scope in own or getattr(scope, "name", "") == "__init__":
                continue
            for key, changes in self.module.flow.mutations(scope).items():
                for change in changes if "." not in key else ():
                    edits_it = _edits_array(change) if of_array else may_change(change)
                    if edits_it and self._may_be_a_sample(change.key, change.node, _MOST_HOPS):
                        return change.node
        return None

    @remembered
    def level(self, of_array: bool) -> FixLevel:
        """How safe it is to hand out a copy instead of the stored array, or container."""
        if self.edits_samples(of_array) is not None:
            return FixLevel.UNSAFE
        if self.asking() is FixLevel.UNSAFE:
            return FixLevel.UNSAFE
        edited = any(True for dataset in self.module.datasets.all for _ in edits(self.module, dataset))
        return FixLevel.UNSAFE if edited else FixLevel.SAFE

    @remembered
    def _may_be_a_sample(self, key: str, use: ast.AST, hops: int) -> bool:
        """Whether a variable may stand for what somebody got of a Dataset: all but what is made or found here."""
        return not hops or any(self._may_give_samples(each, hops - 1) for each in self.module.flow.reaching(key, use))

    @remembered
    def _may_give_samples(self, definition: Definition, hops: int) -> bool:
        value = definition.value
        if self.module.infer.definition(definition, NO_ENV).kind in _NONE:
            return False
        if definition.how is How.PARAMETER:
            return self._may_be_handed_samples(definition, hops)
        if value is None:
            return False
        if definition.how is How.ASSIGN and not isinstance(value, (ast.Name, ast.Subscript)):
            return bool(definition.path) and not isinstance(value, (ast.Tuple, ast.List))
        if definition.how is How.AUGMENT:
            return False  # what it was before is another definition
        return self._may_hold_samples(value, hops)

    def _may_hold_samples(self, value: ast.expr, hops: int) -> bool:
        """Whether what is iterated over or looked into may be a loader, a Dataset, a batch."""
        while isinstance(value, ast.Subscript):
            value = value.value
        found = self.module.infer.value(value)
        if found.kind in (Kind.LOADER, Kind.DATASET) or found.made in self._datasets:
            return True
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return bool(hops) and any(self._may_hold_samples(each, hops - 1) for each in value.args)
        return isinstance(value, ast.Name) and self._may_be_a_sample(value.id, value, hops)

    @cached_property
    def _datasets(self) -> frozenset[ast.AST | None]:
        return frozenset(each.facts.node for each in self.module.datasets.all)

    def _may_be_handed_samples(self, definition: Definition, hops: int) -> bool:
        """Whether a parameter may get samples: from calls that show it, or where no call shows anything."""
        function, parameter = definition.statement, definition.node
        if not isinstance(function, FUNCTIONS) or not isinstance(parameter, ast.arg):
            return True
        if parameter.arg in ("self", "cls"):
            return False
        given = [
            self.module.classes.argument(call, parameter, function) for call in self.module.classes.calls_of(function)
        ]
        return not given or any(each is None or self._may_hold_samples(each, hops) for each in given)

    @remembered
    def asking(self) -> FixLevel:
        """How safe a copy is where code may ask what shares its memory with what: it sees the difference."""
        tree = self.module.tree
        asked = any(node.attr in _ASKS for node in tree.all(ast.Attribute)) or any(
            compares_identity(each) or getattr(each.left, "attr", "") == "base" for each in tree.all(ast.Compare)
        )
        return FixLevel.UNSAFE if asked else FixLevel.SAFE

    @remembered
    def edits_content(self, key: str, node: ast.AST) -> bool:
        """Whether what a container holds is edited in place through it (`kept[-1][0] = 0`)."""
        changes = self.module.flow.mutations(self.module.tree.scope(node)).get(key, [])
        return any(may_change(each) and (each.depth or each.method == "augitem") for each in changes)

    @remembered
    def edits_batches(self, scope: Scope) -> ast.AST | None:
        """The first place in a function that edits what shares a batch's memory, if there is one."""
        for change in self._changes(scope):
            for each in self.module.flow.reaching(change.key, change.node):
                origin = self.module.infer.definition(each, NO_ENV).origin
                if origin is not None and origin.kind is OriginKind.BATCH:
                    return change.node
        return self._edits_element(scope)

    def edits_arrays(self, key: str, scope: Scope) -> bool:
        """Whether a function edits an array or tensor, other than by putting something into the variable `key`."""
        for change in self._changes(scope):
            reaching = self.module.flow.reaching(change.key, change.node)
            kinds = {self.module.infer.definition(each, NO_ENV).kind for each in reaching}
            if change.key != key and _edits_array(change) and not kinds <= _NONE:
                return True
        return self._edits_element(scope) is not None

    def _edits_element(self, scope: Scope) -> ast.AST | None:
        """The first place that sets an element of what a call gives: of a list of what is kept, perhaps."""
        for node in self.module.tree.within(scope):
            if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                if isinstance(container_of(node)[0], ast.Call):
                    return node
        return None

    def _changes(self, scope: Scope) -> Iterator[Mutation]:
        for changes in self.module.flow.mutations(scope).values():
            yield from filter(may_change, changes)


def _edits_array(change: Mutation) -> bool:
    """Whether a change may be one of an array or a tensor: no entry of a dict, no growth of a list."""
    if change.method == "setitem":
        return not (isinstance(change.index, ast.Constant) and isinstance(change.index.value, str))
    in_place = change.method.endswith("_") and not change.method.startswith("_")
    return change.method in _OF_ARRAYS or (in_place and change.method not in ("requires_grad_", "detach_"))
