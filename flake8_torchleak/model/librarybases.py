"""Datasets whose base class in a library holds an index of all annotations: torchvision's `CocoDetection`.

By torchvision 0.29.1 (`datasets/coco.py`): its constructor sets `self.coco = COCO(annFile)`, which `__getitem__` asks
for every sample by `_load_image` and `_load_target`. No file of the project shows it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.state import Read, Use
from flake8_torchleak.model.values import Kind, Size, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

INDEX = "coco"
"""The attribute that holds the index."""
_BASES = frozenset({"CocoDetection", "CocoCaptions"})
_READS = frozenset({"_load_image", "_load_target", "__getitem__"})
"""Methods of the base that ask the index."""


def index_of(module: Module, dataset: DatasetFacts) -> tuple[ast.AST, Value, Read] | None:
    """Where a class of this file makes its base's index, what that is, and where samples read it; None if it has none.

    A class that derives from such a class of the project is left to that.
    """
    node = dataset.facts.node
    base = next((each for each in node.bases if _is_index(module, each)), None)
    if base is None or not module.tree.is_own(node):
        return None
    read = next(_reads(module, dataset), None)
    if read is None:
        return None
    made = dataset.facts.own_methods.get("__init__")
    calls = module.tree.calls(made) if made is not None else []
    place = next((each for each in calls if last_name(each.func) == "__init__"), base)
    why = ((base, f"`{last_name(base)}` of torchvision indexes every annotation of its file"),)
    return place, Value(Kind.INDEX, size=Size.GROWS, why=why), read


def _is_index(module: Module, base: ast.expr) -> bool:
    package, _, name = module.names.qualname(base).rpartition(".")
    return name in _BASES and package.startswith("torchvision.datasets")


def _reads(module: Module, dataset: DatasetFacts) -> Iterator[Read]:
    """What samples ask the index, themselves or by the base's methods."""
    for function in dataset.calls_in:
        for node in module.tree.within(function):
            if isinstance(node, ast.Attribute) and (node.attr == INDEX or _is_of_base(node)):
                yield Read(node, Use.LOOKUP, None, function)


def _is_of_base(node: ast.Attribute) -> bool:
    """`super().__getitem__`, `self._load_target`."""
    if node.attr not in _READS:
        return False
    return node.attr != "__getitem__" or (isinstance(node.value, ast.Call) and last_name(node.value.func) == "super")
