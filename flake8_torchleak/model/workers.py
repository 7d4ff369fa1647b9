"""Functions that run in a worker process: sample methods, collate functions, transforms, and what they call."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.loader import Site, Workers
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.wrapped import unwrapped

if TYPE_CHECKING:
    from flake8_torchleak.model.dataset import DatasetFacts
    from flake8_torchleak.model.module import Module

_MODES = frozenset({"eval", "train"})


class WorkerSide:
    """The worker-side code of a module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def initialisers(self) -> set[FunctionNode]:
        """Functions of the file that are some loader's worker_init_fn."""
        found = set()
        for site in self.module.loaders.sites:
            for keyword in site.call.keywords:
                if keyword.arg == "worker_init_fn":
                    found.update(self.named(keyword.value))
        return found

    @cached_property
    def collates(self) -> dict[FunctionNode, list[Site]]:
        """Functions of the file that are some loader's collate_fn, and those loaders."""
        found: dict[FunctionNode, list[Site]] = {}
        for site in self.module.loaders.sites:
            for function in self.named(site.collate) if site.collate is not None else ():
                found.setdefault(function, []).append(site)
        return found

    def named(self, node: ast.expr) -> list[FunctionNode]:
        """The functions that an argument stands for: by name, as a method, in `partial` or a lambda, as an object."""
        if isinstance(node, ast.Call) and last_name(node.func) == "partial" and node.args:
            node = node.args[0]
        node, _ = unwrapped(node)
        definition = self.module.names.definition(node)
        if isinstance(definition, FUNCTIONS):
            return [definition]
        if isinstance(node, ast.Attribute):
            return [f for c in self.module.classes.all.values() for n, f in c.own_methods.items() if n == node.attr]
        facts = self.module.classes.of(node.func) if isinstance(node, ast.Call) else None
        return [facts.methods["__call__"]] if facts is not None and "__call__" in facts.methods else []

    @cached_property
    def functions(self) -> dict[FunctionNode, str]:
        """Worker-side functions -> how they come to run there (words for a note), as far as this file shows."""
        return self._functions(lambda dataset: False)

    @cached_property
    def within_reach(self) -> dict[FunctionNode, str]:
        """Those that are left when the whole project is asked whether it has workers: for findings."""
        return self._functions(lambda dataset: self.module.reach.is_out(dataset.owner))

    def _functions(self, is_apart: Callable[[DatasetFacts], bool]) -> dict[FunctionNode, str]:
        module = self.module
        found: dict[FunctionNode, str] = {}
        for dataset in module.holdings:
            if module.loaders.may_have_workers(dataset.owner.facts.node) and not is_apart(dataset):
                for function in dataset.calls_in:
                    found.setdefault(function, f"runs for every sample of `{dataset.owner.name}`")
        for function, sites in self.collates.items():
            if any(module.loaders.assumed(site.workers) and site.workers is not Workers.NO for site in sites):
                found.setdefault(function, "is the collate function of a DataLoader")
        if found:
            for facts in module.classes.all.values():
                method = facts.own_methods.get("__call__")
                if method is not None and not facts.has_base("Module", "Loss") and not self._evaluates(method):
                    found.setdefault(method, "is a transform")
        queue = list(found)
        for function in queue:
            for call in module.tree.calls(function):
                callee = module.classes.callee(call)
                if callee is not None and callee not in found and callee.name != "__init__":
                    found[callee] = f"is called by `{function.name}`"
                    queue.append(callee)
        return found

    def _evaluates(self, method: FunctionNode) -> bool:
        """Whether a method makes a loader or sets a network's mode: a hook of the training, which no worker runs."""
        calls = self.module.tree.calls(method)
        modes = any(
            isinstance(each.func, ast.Attribute) and each.func.attr in _MODES and not each.args for each in calls
        )
        return modes or any(site.call in calls for site in self.module.loaders.sites)
