"""What a method of a Dataset changes in place, under one name, whatever it is called there."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Mutation, container_of
from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def changed_in(module: Module, dataset: DatasetFacts, function: FunctionNode) -> dict[str, list[Mutation]]:
    """What a function changes in place: `self.cache`, whatever name that has there, `Scans.cache`, `CACHE`."""
    found: dict[str, list[Mutation]] = {}
    for key, changes in module.flow.mutations(function).items():
        for change in changes:
            held = _held(module, dataset, function, change)
            found.setdefault(held or key, []).extend(_by_key(change))
    return found


def _held(module: Module, dataset: DatasetFacts, function: FunctionNode, change: Mutation) -> str:
    """The attribute that a change is made of, or one of several: `self.cache`, `Scans.cache`; "" for what is none."""
    holder = container_of(change.target or change.node)[0]
    if isinstance(holder, ast.Name):
        values = [each.value if each.is_plain else None for each in module.flow.reaching(holder.id, holder)]
        ways = ([each.body, each.orelse] if isinstance(each, ast.IfExp) else [each] for each in values)
        found = [_attribute(dataset, function, each) for way in ways for each in way]
        return found[0] if all(found) and found else ""
    return _attribute(dataset, function, holder)


def _attribute(dataset: DatasetFacts, function: FunctionNode, node: ast.AST | None) -> str:
    if not isinstance(node, ast.Attribute):
        return ""
    own = self_name(function)
    if own and isinstance(node.value, ast.Name) and node.value.id == own:
        return f"self.{dataset.facts.aliases.get(node.attr, node.attr)}"
    classes = {each.node.name for each in dataset.facts.lineage} | {"cls", f"{own}.__class__", f"type({own})"}
    return f"{dataset.name}.{node.attr}" if ast.unparse(node.value) in classes else ""


def _by_key(change: Mutation) -> list[Mutation]:
    """A change, entry by entry: `cache.update({key: value})` sets what it names."""
    given = change.value
    if change.method != "update" or not isinstance(given, ast.Dict):
        return [change]
    pairs = zip(given.keys, given.values, strict=True)
    return [replace(change, method="setitem", index=key, value=value) for key, value in pairs if key is not None]
