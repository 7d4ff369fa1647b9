"""What is put on a GPU, and where that happens in a worker."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.loader import Site, Workers
from flake8_torchleak.model.names import last_name, mentions
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


@dataclass(frozen=True, slots=True, eq=False)
class Transfer:
    """The first call of a function that puts something on a GPU in the workers of `site`."""

    call: ast.Call
    told: ast.AST
    """The part of the call that tells: its function (`.cuda`), an argument or a keyword."""
    function: FunctionNode
    site: Site
    notes: tuple[tuple[ast.AST, str], ...]


def transfers(module: Module) -> Iterator[Transfer]:
    """Calls in sample and collate functions that use CUDA, where the file shows a loader with workers for them."""
    for function, site, notes in _served(module):
        if mentions(function, "get_worker_info"):
            continue
        found = ((each, cuda_part(module, each)) for each in module.tree.calls(function))
        call, told = next((pair for pair in found if pair[1] is not None), (None, None))
        if call is not None and told is not None and not module.reach.has_no_workers(site):
            yield Transfer(call, told, function, site, notes)


def _served(module: Module) -> Iterator[tuple[FunctionNode, Site, tuple[tuple[ast.AST, str], ...]]]:
    """Functions that run in the workers of a loader of the file, once each."""
    found: dict[FunctionNode, tuple[Site, tuple[tuple[ast.AST, str], ...]]] = {}
    for dataset in module.holdings:
        site = _with_workers(module, module.loaders.serving(dataset.owner.facts.node))
        if site is not None:
            for function in dataset.calls_in:
                found.setdefault(function, (site, tuple(dataset.chain(function))))
    for collate, sites in module.workers.collates.items():
        site = _with_workers(module, sites)
        if site is not None:
            text = f"`{collate.name}` puts batches together in the workers"
            called = map(module.classes.callee, module.tree.calls(collate))
            for ran in (collate, *(each for each in called if each is not None)):
                found.setdefault(ran, (site, ((site.call, text),)))
    for each, (server, how) in found.items():
        yield each, server, how


def _with_workers(module: Module, sites: list[Site]) -> Site | None:
    """The loader with workers; None if one of them has none: code for both is a choice of its user."""
    if any(site.workers is Workers.NO for site in sites):
        return None
    shown = [site for site in sites if "num_workers" in site.arguments and module.loaders.assumed(site.workers)]
    return next((site for site in shown if site.workers is Workers.YES), shown[0] if shown else None)


def cuda_part(module: Module, call: ast.Call) -> ast.AST | None:
    """The part of a call that puts its result on a GPU, if any: `.cuda`, `"cuda"` of `.to("cuda")`, `device="cuda"`."""
    func = call.func
    if isinstance(func, ast.Attribute):
        if func.attr == "cuda":
            return func
        if func.attr == "to" and any(is_cuda(module, each) for each in call.args[:1]):
            return call.args[0]
    named = (k for k in call.keywords if k.arg == "device" and is_cuda(module, k.value))
    return next(named, None) if last_name(func) != "device" else None


def is_cuda(module: Module, node: ast.expr) -> bool:
    """Whether an expression names a GPU, in one of the cases at least: "cuda:0", `torch.device("cuda")`, a variable."""
    stack, seen = [node], {node}
    while stack:
        each = stack.pop()
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.startswith("cuda"):
            return True
        stack += [part for part in _may_be(module, each) if part not in seen]
        seen.update(stack)
    return False


def _may_be(module: Module, node: ast.expr) -> list[ast.expr]:
    """The expressions by one of which a device is named."""
    if isinstance(node, ast.JoinedStr):
        return node.values[:1]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Call):
        return node.args[:1] if module.names.qualname(node.func) == "torch.device" else []
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return []
    owned = module.classes.self_attribute(node)
    definitions = owned[0].attributes.get(f"self.{owned[1]}", []) if owned else module.flow.reaching(key_of(node), node)
    return [each.value for each in definitions if each.value is not None and each.is_plain]
