"""Datasets whose base class in torchvision holds what grows with the data: an index of annotations, a list of files.

By torchvision 0.29.1: the constructor of `CocoDetection` (`datasets/coco.py`) sets `self.coco = COCO(annFile)`, which
`__getitem__` asks for every sample by `_load_image` and `_load_target`; that of `DatasetFolder` (`datasets/folder.py`)
sets `self.samples`, a list of paths with their classes' numbers, which is `self.imgs` in an `ImageFolder` as well. No
file of the project shows it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.state import Read, Use
from flake8_torchleak.model.values import Kind, Size, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_COCO = Value(Kind.INDEX, size=Size.GROWS)
_FILES = Value(Kind.LIST, size=Size.GROWS, element=Value(Kind.TUPLE, items=(Value(Kind.STRING), Value(Kind.NUMBER))))
_READS = frozenset({"_load_image", "_load_target"})
"""Methods of `CocoDetection` that ask its index, beside `__getitem__`."""


class Held(NamedTuple):
    """What a base class holds: the attribute, what it is, what the base does for it, and by which names it is read."""

    attribute: str
    value: Value
    does: str
    reads: frozenset[str]


_INDEX = Held("coco", _COCO, "indexes every annotation of its file", _READS | {"coco"})
_LIST = Held("samples", _FILES, "lists every file of its folder", frozenset({"samples", "imgs"}))
_BASES = {"CocoDetection": _INDEX, "CocoCaptions": _INDEX, "DatasetFolder": _LIST, "ImageFolder": _LIST}


def held_by_base(module: Module, dataset: DatasetFacts) -> tuple[ast.AST, str, Value, Read] | None:
    """Where a class of this file has its base make that, the attribute, what it is, and where samples read it.

    None where it has no such base, or sets the attribute itself. A class that derives from such a class of the project
    is left to that.
    """
    node = dataset.facts.node
    found = next(((each, held) for each in node.bases if (held := _held(module, each)) is not None), None)
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


def _held(module: Module, base: ast.expr) -> Held | None:
    package, _, name = module.names.qualname(base).rpartition(".")
    return _BASES.get(name) if package.startswith("torchvision.datasets") else None


def _reads(module: Module, dataset: DatasetFacts, held: Held) -> Iterator[Read]:
    """What samples read of it, themselves or by the base's methods."""
    for function in dataset.calls_in:
        for node in module.tree.within(function):
            if isinstance(node, ast.Attribute) and (node.attr in held.reads or _is_of_base(node)):
                yield Read(node, Use.LOOKUP, None, function)


def _is_of_base(node: ast.Attribute) -> bool:
    """`super().__getitem__`."""
    return node.attr == "__getitem__" and isinstance(node.value, ast.Call) and last_name(node.value.func) == "super"
