"""What an expression opens, if anything: files, archives, databases and videos, and what is a part of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.counting import given
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.names import mentions

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

SLIDE = "slide"
OPENS = {
    "h5py.File": "HDF5 file", "tables.open_file": "HDF5 file", "tables.openFile": "HDF5 file",
    "lmdb.open": "LMDB environment", "lmdb.Environment": "LMDB environment",
    "zipfile.ZipFile": "zip archive", "tarfile.open": "tar archive", "tarfile.TarFile": "tar archive",
    "sqlite3.connect": "SQLite connection", "shelve.open": "shelf",
    "zarr.ZipStore": "zip archive", "zarr.storage.ZipStore": "zip archive",
    "open": "file", "io.open": "file", "gzip.open": "file", "bz2.open": "file", "lzma.open": "file",
    "soundfile.SoundFile": "sound file", "decord.VideoReader": "video", "cv2.VideoCapture": "video", "av.open": "video",
    "openslide.OpenSlide": SLIDE, "openslide.open_slide": SLIDE,
}  # fmt: skip
HIERARCHIES = frozenset({"HDF5 file"})
"""What their entries are is part of the file, until a slice reads them."""
PARTS = frozenset({"begin", "cursor", "get_node", "extractfile", "buffers"})
"""Methods whose result is bound to the handle."""
_SAME = frozenset({"list", "tuple", "sorted", "reversed"})
"""Functions that give what they are given, in another order or another container."""
_MOST_DEPTH = 16


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """An expression that opens something, and what that is."""

    call: ast.Call
    what: str


def opened(module: Module, node: ast.expr, dataset: DatasetFacts | None = None) -> Handle | None:
    """The handle that an expression gives, or gives a part or a container of; None if it may be anything else.

    dataset: the Dataset that it is of, if it is of one: what its base calls may be its own.
    """
    return _Opening(module, dataset).handle(node, _MOST_DEPTH)


class _Opening:
    """One search for a handle; dataset: the one whose methods are meant, as a class overrides what its base calls."""

    def __init__(self, module: Module, dataset: DatasetFacts | None) -> None:
        self.module, self.dataset = module, dataset
        self._asked: dict[tuple[ast.AST, bool], int] = {}
        """Expressions that gave nothing -> the depth to which each was looked into, as many are made of each other."""

    def handle(self, node: ast.expr, depth: int) -> Handle | None:
        """What an expression gives, or gives a part or a container of."""
        if self._is_asked(node, depth, False):
            return None
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        module = self.module
        inner: list[ast.expr] = []
        if isinstance(node, ast.Name):
            changes = module.flow.mutations(module.tree.scope(node)).get(node.id, [])
            if any(change.method == "close" for change in changes):
                return None
            found = module.flow.reaching(node.id, node)
            inner = [d.value for d in found if d.value is not None and not d.path and _hands_on(module, d)]
            inner += [v for d in found if d.how is How.PARAMETER for v in given(module, d) if v is not None]
        elif (owned := module.classes.self_attribute(node)) is not None:
            bound = owned[0].attributes.get(f"self.{owned[1]}", [])
            inner = [d.value for d in bound if d.how is How.ASSIGN and d.value]
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            handle = self.handle(node.value, depth - 1)
            whole = isinstance(node, ast.Attribute) or not _reads(node.slice)
            return handle if handle is not None and handle.what in HIERARCHIES and whole else None
        elif isinstance(node, ast.IfExp):
            inner = [node.body, node.orelse]
        elif isinstance(node, (ast.List, ast.Tuple)):
            inner = node.elts
        elif isinstance(node, ast.Dict):
            inner = node.values
        elif isinstance(node, ast.ListComp):
            inner = [node.elt]
        elif isinstance(node, ast.DictComp):
            inner = [node.value]
        return _first(self.handle, inner, depth)

    def _call(self, node: ast.Call, depth: int) -> Handle | None:
        qualname = self.module.names.qualname(node.func)
        if qualname in OPENS:
            in_memory = any(k.arg == "driver" and getattr(k.value, "value", "") == "core" for k in node.keywords)
            return None if in_memory else Handle(node, OPENS[qualname])
        if qualname == "numpy.load":
            mapped = any(k.arg == "mmap_mode" for k in node.keywords)
            return Handle(node, "npz archive") if not mapped and any(mentions(a, ".npz") for a in node.args) else None
        if isinstance(node.func, ast.Attribute) and node.func.attr in (*PARTS, "get"):
            handle = self.handle(node.func.value, depth - 1)
            if handle is None or node.func.attr in PARTS or handle.what in HIERARCHIES:
                return handle
        if qualname in _SAME or qualname == "map":
            return self._element(node, depth)
        return _first(self.handle, self._returned(node), depth)

    def _element(self, node: ast.expr, depth: int) -> Handle | None:
        """What an element of a container is; the elements of what is itself open are read from it."""
        if isinstance(node, (ast.List, ast.Tuple, ast.ListComp)):
            return self.handle(node, depth)
        if self._is_asked(node, depth, True):
            return None
        inner: list[ast.expr] = []
        if isinstance(node, ast.Name):
            found = self.module.flow.reaching(node.id, node)
            inner = [d.value for d in found if d.how is How.ASSIGN and d.value is not None]
        elif isinstance(node, ast.Call):
            qualname = self.module.names.qualname(node.func)
            if qualname in _SAME and len(node.args) == 1:
                inner = node.args
            elif qualname == "map" and len(node.args) == 2 and _may_give_back(self.module, node.args[0]):
                inner = node.args[1:]
            else:
                inner = self._returned(node)
        return _first(self._element, inner, depth)

    def _returned(self, call: ast.Call) -> list[ast.expr]:
        """What a function of the file gives that a call runs."""
        helper = self.dataset.resolve(call) if self.dataset is not None else self.module.classes.callee(call)
        within = self.module.tree.within(helper) if helper is not None else ()
        return [each.value for each in within if isinstance(each, ast.Return) and each.value is not None]

    def _is_asked(self, node: ast.expr, depth: int, of_elements: bool) -> bool:
        """Whether an expression was looked into before, at least as deep; from now on it was."""
        if depth <= self._asked.get((node, of_elements), 0):
            return True
        self._asked[node, of_elements] = depth
        return False


def _first(search: Callable[[ast.expr, int], Handle | None], inner: Iterable[ast.expr], depth: int) -> Handle | None:
    """The first handle that is found in one of several expressions, one step deeper."""
    return next((found for each in inner if (found := search(each, depth - 1)) is not None), None)


def _hands_on(module: Module, definition: Definition) -> bool:
    """Whether a variable is what it is taken from, or an element of a list of such; a file's own elements are names."""
    if definition.how is not How.ITERATE or definition.value is None:
        return definition.how is How.ASSIGN
    over = definition.value
    values = [d.value for d in module.flow.reaching(over.id, over)] if isinstance(over, ast.Name) else [over]
    return bool(values) and all(isinstance(value, (ast.List, ast.ListComp)) for value in values)


def _may_give_back(module: Module, function: ast.expr) -> bool:
    """Whether a `lambda` gives back what it is given, at least in one case."""
    found = [function]
    if isinstance(function, ast.Name):
        found = [each.value for each in module.flow.reaching(function.id, function) if each.value is not None]
    for each in found:
        if isinstance(each, ast.Lambda):
            arms = [each.body.body, each.body.orelse] if isinstance(each.body, ast.IfExp) else [each.body]
            given = {parameter.arg for parameter in each.args.args}
            if any(isinstance(arm, ast.Name) and arm.id in given for arm in arms):
                return True
    return False


def _reads(index: ast.expr) -> bool:
    """Whether a subscript reads data into memory (`[:]`, `[()]`, `[...]`) rather than naming a part of the file."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return not parts or any(isinstance(p, ast.Slice) or getattr(p, "value", None) is ... for p in parts)
