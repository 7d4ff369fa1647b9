"""Whether code in reach edits what it is handed: then a copy is no longer the same program, only a better one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.finding import FixLevel
from flake8_torchleak.model.bindings import How, Mutation
from flake8_torchleak.model.edits import edits, may_change
from flake8_torchleak.model.env import NO_ENV
from flake8_torchleak.model.tree import FUNCTIONS, Scope
from flake8_torchleak.model.values import Kind, OriginKind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_HANDED = (How.PARAMETER, How.ITERATE, How.REST)
_OWN = frozenset({Kind.NUMBER, Kind.STRING, Kind.METRIC, Kind.MODULE, Kind.NONE})


class Sharing:
    """Edits in one module of what somebody else made."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def edits_samples(self) -> ast.AST | None:
        """The first place that edits something it was handed, looked up or iterated over, if there is one.

        It may be a sample, and whoever edits samples on purpose reads them again. What Datasets do to their own
        elements has rules of its own (TLK203).
        """
        own = {function for each in self.module.datasets.all for function in each.facts.methods.values()}
        scopes: list[Scope] = [self.module.root, *self.module.tree.everywhere(*FUNCTIONS)]
        for scope in scopes:
            if scope in own or getattr(scope, "name", "") == "__init__":
                continue
            for key, changes in self.module.flow.mutations(scope).items():
                for change in filter(may_change, changes):
                    if self._is_handed(key, change):
                        return change.node
        return None

    def level(self) -> FixLevel:
        """How safe it is to hand out a copy instead of the stored object."""
        if self.edits_samples is not None:
            return FixLevel.UNSAFE
        edited = any(True for dataset in self.module.datasets.all for _ in edits(self.module, dataset))
        return FixLevel.UNSAFE if edited else FixLevel.SAFE

    def _is_handed(self, key: str, change: Mutation) -> bool:
        if "." in key:
            return False
        reaching = self.module.flow.reaching(key, change.node)
        if change.method == "augment" and all(
            self.module.infer.definition(each, NO_ENV).kind in _OWN for each in reaching
        ):
            return False
        for each in reaching:
            looked_up = isinstance(each.value, ast.Subscript) and each.how is How.ASSIGN
            if each.how in _HANDED or looked_up or isinstance(each.value, ast.Name) or each.path:
                return True
        return False

    def edits_batches(self, scope: Scope) -> ast.AST | None:
        """The first place in a function that edits what shares a batch's memory, if there is one."""
        for change in self._changes(scope):
            for each in self.module.flow.reaching(change.key, change.node):
                origin = self.module.infer.definition(each, NO_ENV).origin
                if origin is not None and origin.kind is OriginKind.BATCH:
                    return change.node
        return None

    def _changes(self, scope: Scope) -> Iterator[Mutation]:
        for changes in self.module.flow.mutations(scope).values():
            yield from filter(may_change, changes)
