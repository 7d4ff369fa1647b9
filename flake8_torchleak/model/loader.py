"""DataLoader sites: which dataset they serve, with how many workers, and how batches are put together."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from flake8_torchleak.config import Config
from flake8_torchleak.model.bindings import Definition
from flake8_torchleak.model.env import NO_ENV
from flake8_torchleak.model.importers import importers
from flake8_torchleak.model.infer import WRAPPERS, Infer
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.project import Project
from flake8_torchleak.model.tree import FUNCTIONS, Tree
from flake8_torchleak.model.values import UNKNOWN, Kind
from flake8_torchleak.model.wrapped import unwrapped

SAMPLE_METHODS = ("__getitem__", "__getitems__", "__iter__")
"""The methods that a loader calls for samples."""
_POSITIONS = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn")

_WORKERS = "workers"

_STACKING = frozenset({"stack", "cat", "concatenate", "vstack", "pad_sequence", "default_collate"})

_REGROUPING = frozenset(
    {"list", "tuple", "zip", "dict", "append", "extend", "items", "keys", "values", "enumerate", "len"}
)
"""Functions that put the same objects into other containers."""


class Workers(Enum):
    """Whether a loader has worker processes."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One DataLoader(...) call. Arguments that are not given are None."""

    call: ast.Call
    dataset: ast.expr | None
    workers: Workers
    collate: ast.expr | None
    batches: bool
    """Whether samples are collated into batches (batch_size is not None)."""
    arguments: Mapping[str, ast.expr]
    """What the call gives, by parameter."""


class Loaders:
    """The DataLoader sites of a module."""

    def __init__(self, tree: Tree, infer: Infer, config: Config, project: Project | None, path: str | None) -> None:
        self.tree, self.infer, self.config, self.project, self.path = tree, infer, config, project, path

    @cached_property
    def sites(self) -> list[Site]:
        """Every DataLoader(...) call, in source order."""
        return [self.site(c) for c in self.tree.all(ast.Call) if self._makes(c)]

    def _makes(self, call: ast.Call) -> bool:
        return self.infer.names.called(call.func).endswith("DataLoader")

    def site(self, call: ast.Call) -> Site:
        """What a call that makes a loader, or hands on to its constructor, gives it."""
        given: dict[str, ast.expr] = dict(zip(_POSITIONS, call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg}
        open_ended = any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args)
        size = given.get("batch_size")
        return Site(
            call=call,
            dataset=given.get("dataset"),
            workers=self._workers(given.get("num_workers"), open_ended),
            collate=given.get("collate_fn"),
            batches=not (isinstance(size, ast.Constant) and size.value is None),
            arguments=given,
        )

    def _workers(self, number: ast.expr | None, open_ended: bool) -> Workers:
        if number is None:
            return Workers.UNKNOWN if open_ended else Workers.NO
        value = self._constant(number)
        if value is None:
            return Workers.UNKNOWN
        return Workers.YES if value > 0 else Workers.NO

    def _constant(self, node: ast.expr) -> int | None:
        if isinstance(node, ast.Constant):
            return int(node.value) if isinstance(node.value, (int, bool)) else None
        if isinstance(node, ast.Name):
            values = [d.value for d in self.infer.flow.reaching(node.id, node)]
            constants = [v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, int)]
            return max(constants) if constants and len(constants) == len(values) else None
        return None

    @cached_property
    def without_workers(self) -> bool:
        """Whether the file builds loaders and none of them can have workers."""
        return bool(self.sites) and all(s.workers is Workers.NO for s in self.sites)

    def assumed(self, workers: Workers) -> bool:
        """Whether workers are to be reckoned with, by the configuration where the source leaves it open."""
        choice = self.config.assume_workers
        if choice == "yes" or workers is Workers.YES:
            return True
        if workers is Workers.NO or choice == "no":
            return False
        return not self.without_workers

    def behind(self, iterable: ast.expr) -> bool:
        """Whether the loader that is iterated here is taken to have workers."""
        site = self._made(iterable)
        if site is None and self.config.assume_workers == "auto" and self._is_from_elsewhere(iterable):
            return False
        return self.assumed(site.workers if site is not None else Workers.UNKNOWN)

    @property
    def _shows_workers(self) -> bool:
        """Whether a loader of the file is made with workers, or the file, or one that imports it, speaks of them."""
        return any(map(_asks_for_workers, self.sites)) or self._speaks_of_workers or self._is_used_with_workers

    def gives_to_workers(self, node: ast.ClassDef) -> bool:
        """Whether a loader of the file that is made with workers is given an instance of this Dataset class."""
        return self.config.assume_workers == "yes" or any(map(_asks_for_workers, self.serving(node)))

    def shows_workers_for(self, node: ast.ClassDef) -> bool:
        """Whether anything speaks for workers that get this Dataset class: its own loaders, if any is in sight."""
        return self.gives_to_workers(node) or (not self.serving(node) and self._shows_workers)

    def _made(self, iterable: ast.expr) -> Site | None:
        """Where the loader that is iterated here is made: in the file, or in a function of another one."""
        loader = self.infer.loader_of(iterable)
        made: ast.AST | None = loader.made if loader is not None else None
        if made is None:
            made = self._made_by_method(iterable)
        if not isinstance(made, ast.Call):
            return None
        return next((s for s in self.sites if s.call is made), None) or self.site(made)

    def _made_by_method(self, node: ast.expr) -> ast.AST | None:
        """The DataLoader(...) that a variable or attribute gets from a method of an object, or as a part of a tuple."""
        while isinstance(node, ast.Call) and node.args and last_name(node.func) in WRAPPERS:
            node = node.args[0]
        definitions = self.infer.flow.reaching(node.id, node) if isinstance(node, ast.Name) else []
        owned = self.infer.classes.self_attribute(node)
        if owned is not None:
            definitions = owned[0].attributes.get(f"self.{owned[1]}", [])
        made = {self._given(each) for each in definitions}
        return made.pop() if len(made) == 1 else None

    def _given(self, definition: Definition) -> ast.AST | None:
        """The DataLoader(...) that a call gives to a variable, as a whole or as the part that it is unpacked to."""
        call = definition.value
        if not isinstance(call, ast.Call):
            return None
        if last_name(call.func) in WRAPPERS:
            return self._made_by_method(call)
        function = self.infer.classes.callee(call)
        if function is None and isinstance(call.func, ast.Attribute):
            made = self.infer.value(call.func.value).made
            facts = self.infer.classes.all.get(made) if isinstance(made, ast.ClassDef) else None
            function = facts.methods.get(call.func.attr) if facts is not None else None
        if function is None:
            return None
        value = self.infer.returned(function, NO_ENV)
        for place in definition.path:
            value = value.items[place] if 0 <= place < len(value.items) else UNKNOWN
        return value.made if value.kind is Kind.LOADER else None

    @cached_property
    def _speaks_of_workers(self) -> bool:
        """Whether the file hands on, reads or asks for a number of workers that is not said to be 0."""
        given = [k.value for c in self.tree.all(ast.Call) for k in c.keywords if _WORKERS in (k.arg or "")]
        if any(self._constant(each) != 0 for each in given):
            return True
        read = [each.id for each in self.tree.all(ast.Name)] + [each.attr for each in self.tree.all(ast.Attribute)]
        constants = [each.value for each in self.tree.all(ast.Constant)]
        texts = [each for each in constants if isinstance(each, str) and " " not in each]  # keys and options: no prose
        return any(_WORKERS in each for each in (*read, *texts))

    @cached_property
    def _is_used_with_workers(self) -> bool:
        """Whether a file that imports this one speaks of workers; none is parsed."""
        if self.project is None or self.path is None:
            return False
        return bool(importers(self.path, (_WORKERS,), 1)[0])

    def _is_from_elsewhere(self, iterable: ast.expr) -> bool:
        """Whether the loader comes from a function of another file, and this file says nothing of workers."""
        while isinstance(iterable, ast.Call) and iterable.args:
            iterable = iterable.args[0]
        if not isinstance(iterable, ast.Name):
            return False
        made_here = [
            d for d in self.infer.flow.reaching(iterable.id, iterable)
            if isinstance(d.value, ast.Call) and isinstance(d.value.func, ast.Name)
        ]  # fmt: skip
        return bool(made_here) and not any(
            "workers" in (k.arg or "") for c in self.tree.all(ast.Call) for k in c.keywords
        )

    def serving(self, node: ast.ClassDef) -> list[Site]:
        """The sites that are given an instance of this Dataset class, as far as the file shows.

        An instance of a class that reads samples by the methods of this one is an instance of it, too.
        """
        classes = self.infer.classes
        kinds = {each.node for each in classes.running(classes.all[node], *SAMPLE_METHODS)}
        return [s for s in self.sites if s.dataset is not None and self._serves(s.dataset, kinds)]

    def _serves(self, dataset: ast.expr, kinds: set[ast.ClassDef]) -> bool:
        called = last_name(dataset.func) if isinstance(dataset, ast.Call) else ""
        return self.infer.value(dataset).made in kinds or any(each.name == called for each in kinds)

    def may_have_workers(self, node: ast.ClassDef) -> bool:
        """Whether instances of this class are to be reckoned with in worker processes."""
        sites = self.serving(node)
        if sites:
            return any(self.assumed(s.workers) for s in sites)
        alone = self.config.assume_workers == "auto" and self.project is not None and self.project.is_served_alone
        return not alone and self.assumed(Workers.UNKNOWN)

    def copies_batches(self, node: ast.ClassDef) -> bool:
        """Whether every loader that the file gives this class copies its samples at once (default collate)."""
        sites = self.serving(node) or self.sites
        return bool(sites) and all(self.is_default(s.collate) and s.batches for s in sites)

    def copies_arrays(self, node: ast.ClassDef) -> bool:
        """Whether every such loader copies at least arrays and tensors: by a collate function that stacks them."""
        sites = self.serving(node) or self.sites
        return bool(sites) and all(s.batches and (self.is_default(s.collate) or self._stacks(s.collate)) for s in sites)

    def passes_through(self, node: ast.ClassDef) -> bool:
        """Whether some loader of the file gives this class a collate function that may pass samples on, or no batches.

        One of the file that does more than to regroup them is seen not to, or TLK206 tells that it edits them.
        """
        return any(not s.batches or self._may_pass_on(s.collate) for s in self.serving(node))

    def _may_pass_on(self, collate: ast.expr | None) -> bool:
        if collate is None or self.is_default(collate):
            return False
        return self._passes_on(collate) or not isinstance(self.infer.names.definition(unwrapped(collate)[0]), FUNCTIONS)

    def hands_on(self, node: ast.ClassDef) -> Site | None:
        """A loader with workers that is given this class and sends its samples on as they are, for all to see.

        By `batch_size=None`, or by a collate function of the file that makes no new array or tensor.
        """
        for site in self.serving(node):
            shown = "num_workers" in site.arguments and self.assumed(site.workers)
            if shown and (self._passes_on(site.collate) if site.collate is not None else not site.batches):
                return site
        return None

    def _passes_on(self, collate: ast.expr) -> bool:
        """Whether a collate function is seen to compute nothing: `list`, a lambda or a function without such calls."""
        collate = unwrapped(collate)[0]
        if isinstance(collate, ast.Name) and self.infer.names.qualname(collate) in ("list", "tuple"):
            return True
        found = collate if isinstance(collate, ast.Lambda) else self.infer.names.definition(collate)
        if not isinstance(found, (ast.Lambda, *FUNCTIONS)):
            return False
        calls = [last_name(call.func) for call in ast.walk(found) if isinstance(call, ast.Call)]
        return all(name in _REGROUPING for name in calls)

    def _stacks(self, collate: ast.expr | None) -> bool:
        """Whether a collate function of the file puts samples into new arrays."""
        function = self.infer.names.definition(unwrapped(collate)[0]) if collate is not None else None
        if not isinstance(function, FUNCTIONS):
            return False
        return any(last_name(call.func) in _STACKING for call in self.tree.calls(function))

    @staticmethod
    def is_default(collate: ast.expr | None) -> bool:
        """Whether samples are put together by torch's own function."""
        default = collate is None or (isinstance(collate, ast.Constant) and collate.value is None)
        return default or (collate is not None and last_name(collate) == "default_collate")


def _asks_for_workers(site: Site) -> bool:
    """Whether a loader is made with a number of workers that is not 0."""
    return site.workers is not Workers.NO and "num_workers" in site.arguments
