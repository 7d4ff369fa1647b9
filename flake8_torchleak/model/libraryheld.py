"""What the Dataset classes of torchvision hold that grows with the data: an index of annotations, a list of files.

By torchvision 0.29.1: the constructor of `CocoDetection` (`datasets/coco.py`) sets `self.coco = COCO(annFile)`, which
`__getitem__` asks for every sample by `_load_image` and `_load_target`; that of `DatasetFolder` (`datasets/folder.py`)
sets `self.samples`, a list of paths with their classes' numbers, which is `self.imgs` in an `ImageFolder` as well. No
file of the project shows it.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from flake8_torchleak.model.names import Names
from flake8_torchleak.model.values import Kind, Size, Value

_COCO = Value(Kind.INDEX, size=Size.GROWS)
_FILES = Value(Kind.LIST, size=Size.GROWS, element=Value(Kind.TUPLE, items=(Value(Kind.STRING), Value(Kind.NUMBER))))
READS = frozenset({"_load_image", "_load_target"})
"""Methods of `CocoDetection` that ask its index, beside `__getitem__`."""


class Held(NamedTuple):
    """What a base class holds: the attribute, what it is, what the base does for it, and by which names it is read."""

    attribute: str
    value: Value
    does: str
    reads: frozenset[str]


_INDEX = Held("coco", _COCO, "indexes every annotation of its file", READS | {"coco"})
_LIST = Held("samples", _FILES, "lists every file of its folder", frozenset({"samples", "imgs"}))
_BASES = {"CocoDetection": _INDEX, "CocoCaptions": _INDEX, "DatasetFolder": _LIST, "ImageFolder": _LIST}


def held_by(names: Names, base: ast.expr) -> Held | None:
    """What a base class of torchvision holds."""
    package, _, name = names.qualname(base).rpartition(".")
    return _BASES.get(name) if package.startswith("torchvision.datasets") else None
