"""Datasets whose base class in torchvision holds what grows with the data (`libraryheld.py`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.libraryheld import Held, held_by
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.state import Read, Use
from flake8_torchleak.model.values import Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def held_by_base(module: Module, dataset: DatasetFacts) -> tuple[ast.AST, str, Value, Read] | None:
    """Where a class of this file has its base make that, the attribute, what it is, and where samples read it.

    None where it has no such base, or sets the attribute itself. A class that derives from such a class of the project
    is left to that.
    """
    node = dataset.facts.node
    found = next(((each, held) for each in node.bases if (held := held_by(module.names, each)) is not None), None)
    if found is None or not module.tree.is_own(node) or f"self.{found[1].attribute}" in dataset.facts.attributes:
        return None
    base, held = found
    read = next(_reads(module, dataset, held), None)
    if read is None:
        return None
    made = dataset.facts.own_methods.get("__init__")
    calls = module.tree.calls(made) if made is not None else []
    place = next((each for each in calls if last_name(each.func) == "__init__"), base)
    why = ((base, f"`{last_name(base)}` of torchvision {held.does}"),)
    return place, held.attribute, held.value.but(why=why), read


def _reads(module: Module, dataset: DatasetFacts, held: Held) -> Iterator[Read]:
    """What samples read of it, themselves or by the base's methods."""
    for function in dataset.calls_in:
        for node in module.tree.within(function):
            if isinstance(node, ast.Attribute) and (node.attr in held.reads or _is_of_base(node)):
                yield Read(node, Use.LOOKUP, None, function)


def _is_of_base(node: ast.Attribute) -> bool:
    """`super().__getitem__`."""
    return node.attr == "__getitem__" and isinstance(node.value, ast.Call) and last_name(node.value.func) == "super"
