"""Which networks are layers that stand behind others: what their forward pass is given has history."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.nodes import walk
from flake8_torchleak.lifetime.values import INPUT, Atom, Graph, Kind, Value, is_marked, objects
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.tree import FunctionNode


def is_inside(info: ClassInfo, instance: Value) -> bool:
    """Whether a network stands behind layers that learn: what is no more than a layer does, with its own parameters."""
    if any("Norm" in name for name in info.foreign):
        return True
    held = _held(instance)
    return any(atom.graph is Graph.LEAF for atom in held) and all(atom.kind is not Kind.NETWORK for atom in held)


def may_normalize(function: FunctionNode, instance: Value) -> bool:
    """Whether a network may be a layer like batch norm: it learns nothing, has buffers, and does more in training."""
    held = _held(instance)
    has_buffers = any(atom.kind is Kind.TENSOR and atom.graph is Graph.NO for atom in held)
    if not has_buffers or any(atom.kind is Kind.NETWORK for atom in held):
        return False
    return any(isinstance(node, ast.Attribute) and node.attr == "training" for node in walk(function))


def take_back(found: Iterable[Kept], results: list[Atom], instance: Value) -> None:
    """Keep nothing of the input of what gives, in training, what it made of earlier inputs.

    Batch norm uses the statistics of the batch in training, and its buffers only later. What uses its buffers at once
    may as well stand before all layers, and normalise the data.
    """
    buffers = {atom.site for atom in _held(instance) if atom.graph is Graph.YES}
    if any(atom.past or not buffers.isdisjoint(atom.parts) for atom in results):
        for each in found:
            each.dead = each.dead or any(is_marked(site, INPUT) for site in each.value.parts)


def _held(instance: Value) -> list[Atom]:
    return [atom for made in objects(instance) for value in made.fields.values() for atom in value]
