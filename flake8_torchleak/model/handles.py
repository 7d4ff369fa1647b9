"""Open handles: files, archives, databases and videos, which keep a position or a lock that processes cannot share."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.counting import given
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.names import last_name, mentions
from flake8_torchleak.model.state import Read, StateFacts, Use
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_SLIDE = "slide"
OPENS = {
    "h5py.File": "HDF5 file", "tables.open_file": "HDF5 file", "tables.openFile": "HDF5 file",
    "lmdb.open": "LMDB environment", "lmdb.Environment": "LMDB environment",
    "zipfile.ZipFile": "zip archive", "tarfile.open": "tar archive", "tarfile.TarFile": "tar archive",
    "sqlite3.connect": "SQLite connection", "shelve.open": "shelf",
    "zarr.ZipStore": "zip archive", "zarr.storage.ZipStore": "zip archive",
    "open": "file", "io.open": "file", "gzip.open": "file", "bz2.open": "file", "lzma.open": "file",
    "soundfile.SoundFile": "sound file", "decord.VideoReader": "video", "cv2.VideoCapture": "video", "av.open": "video",
    "openslide.OpenSlide": _SLIDE, "openslide.open_slide": _SLIDE,
}  # fmt: skip
_HIERARCHIES = frozenset({"HDF5 file"})
"""What their entries are is part of the file, until a slice reads them."""
_PARTS = frozenset({"begin", "cursor", "get_node", "extractfile", "buffers"})
"""Methods whose result is bound to the handle."""
_BUILDERS = frozenset({"__init__", "__post_init__", "load_data_list"})
"""What runs when a Dataset is built; the last by mmengine's constructor."""
_MOST_DEPTH = 16
_OTHER_USES = frozenset({"close", "filename", "name", "mode", "closed"})


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """An expression that opens something, and what that is."""

    call: ast.Call
    what: str


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """A Dataset's attribute, or a variable of its module, that is opened before the workers start and used by them."""

    dataset: DatasetFacts
    name: str
    place: ast.AST
    handle: Handle
    read: Read
    is_handed: bool = False
    """Whether who makes the Dataset hands it over."""
    at_import: bool = False
    """Whether it is opened when the module is imported: workers that are not forked open it anew."""


def is_only_read(module: Module, dataset: DatasetFacts, handle: Handle) -> bool:
    """Whether what is opened is only read, and forked workers can: HDF5 files, slides, and databases without locks.

    HDF5 reads each part at its own place (`pread`): no position is shared. A Python file that it is given has one.
    OpenSlide opens the file anew for each read.
    """
    if handle.what == _SLIDE:
        return True
    given = {each.arg: getattr(each.value, "value", None) for each in handle.call.keywords}
    if handle.what in _HIERARCHIES:
        args = handle.call.args
        mode = given.get("mode", getattr(args[1], "value", None) if len(args) > 1 else None)
        own = given.get("driver") in (None, "sec2") and not any(
            module.infer.value(each).kind is Kind.FILE for each in args[:1]
        )
        return own and (mode is None or mode == "r")
    if given.get("lock") is not False:
        return False
    if given.get("readonly") is True:
        return True
    calls = (call for function in dataset.facts.all_functions for call in module.tree.calls(function))
    return not any(_may_write(call) for call in calls)


def _may_write(call: ast.Call) -> bool:
    """Whether a call starts a transaction that writes: `env.begin(write=True)`."""
    given = [each.value for each in call.keywords if each.arg == "write"]
    given += call.args[2:3] if last_name(call.func) == "begin" else []
    return any(getattr(each, "value", True) is not False for each in given)


_SAME = frozenset({"list", "tuple", "sorted", "reversed"})
"""Functions that give what they are given, in another order or another container."""


class _Asked(dict[ast.AST, int]):
    """Expressions that gave no handle -> the depth to which each was looked into, as many are made of each other.

    dataset: the one whose methods are meant: a class overrides what its base calls.
    """

    def __init__(self, dataset: DatasetFacts | None) -> None:
        super().__init__()
        self.dataset = dataset


def opened(module: Module, node: ast.expr, dataset: DatasetFacts | None = None) -> Handle | None:
    """The handle that an expression gives, or gives a part or a container of; None if it may be anything else.

    dataset: the Dataset that it is of, if it is of one: what its base calls may be its own.
    """
    return _opened(module, node, _MOST_DEPTH, _Asked(dataset))


def _opened(module: Module, node: ast.expr, depth: int, asked: _Asked) -> Handle | None:
    if depth <= asked.get(node, 0):
        return None
    asked[node] = depth
    if isinstance(node, ast.Call):
        return _call(module, node, depth, asked)
    inner: list[ast.expr] = []
    if isinstance(node, ast.Name):
        changes = module.flow.mutations(module.tree.scope(node)).get(node.id, [])
        if any(change.method == "close" for change in changes):
            return None
        found = module.flow.reaching(node.id, node)
        inner = [d.value for d in found if d.value is not None and not d.path and _hands_on(module, d)]
        inner += [value for d in found if d.how is How.PARAMETER for value in given(module, d) if value is not None]
    elif (owned := module.classes.self_attribute(node)) is not None:
        inner = [d.value for d in owned[0].attributes.get(f"self.{owned[1]}", []) if d.how is How.ASSIGN and d.value]
    elif isinstance(node, (ast.Subscript, ast.Attribute)):
        handle = _opened(module, node.value, depth - 1, asked)
        whole = isinstance(node, ast.Attribute) or not _reads(node.slice)
        return handle if handle is not None and handle.what in _HIERARCHIES and whole else None
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
    return next((h for each in inner if (h := _opened(module, each, depth - 1, asked)) is not None), None)


def _hands_on(module: Module, definition: Definition) -> bool:
    """Whether a variable is what it is taken from, or an element of a list of such; a file's own elements are names."""
    if definition.how is not How.ITERATE or definition.value is None:
        return definition.how is How.ASSIGN
    over = definition.value
    values = [d.value for d in module.flow.reaching(over.id, over)] if isinstance(over, ast.Name) else [over]
    return bool(values) and all(isinstance(value, (ast.List, ast.ListComp)) for value in values)


def _call(module: Module, node: ast.Call, depth: int, asked: _Asked) -> Handle | None:
    qualname = module.names.qualname(node.func)
    if qualname in OPENS:
        in_memory = any(k.arg == "driver" and getattr(k.value, "value", "") == "core" for k in node.keywords)
        return None if in_memory else Handle(node, OPENS[qualname])
    if qualname == "numpy.load":
        mapped = any(k.arg == "mmap_mode" for k in node.keywords)
        return Handle(node, "npz archive") if not mapped and any(mentions(a, ".npz") for a in node.args) else None
    if isinstance(node.func, ast.Attribute) and node.func.attr in (*_PARTS, "get"):
        handle = _opened(module, node.func.value, depth - 1, asked)
        if handle is None or node.func.attr in _PARTS or handle.what in _HIERARCHIES:
            return handle
    if qualname in _SAME or qualname == "map":
        return _of_elements(module, node, depth, asked)
    return next((h for each in _returned(module, node, asked) if (h := _opened(module, each, depth - 1, asked))), None)


def _returned(module: Module, call: ast.Call, asked: _Asked) -> list[ast.expr]:
    """What a function of the file gives that a call runs."""
    helper = asked.dataset.resolve(call) if asked.dataset is not None else module.classes.callee(call)
    within = module.tree.within(helper) if helper is not None else ()
    return [each.value for each in within if isinstance(each, ast.Return) and each.value is not None]


def _of_elements(module: Module, node: ast.expr, depth: int, asked: _Asked) -> Handle | None:
    """The handle that an element of a container is; the elements of what is itself open are read from it."""
    inner: list[ast.expr] = []
    if depth <= 0:
        return None
    if isinstance(node, (ast.List, ast.Tuple, ast.ListComp)):
        return _opened(module, node, depth, asked)
    if isinstance(node, ast.Name):
        inner = [d.value for d in module.flow.reaching(node.id, node) if d.how is How.ASSIGN and d.value is not None]
    elif isinstance(node, ast.Call):
        qualname = module.names.qualname(node.func)
        if qualname in _SAME and len(node.args) == 1:
            inner = node.args
        elif qualname == "map" and len(node.args) == 2 and _may_give_back(module, node.args[0]):
            inner = node.args[1:]
        else:
            inner = _returned(module, node, asked)
    return next((h for each in inner if (h := _of_elements(module, each, depth - 1, asked)) is not None), None)


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


def shared(module: Module) -> Iterator[Shared]:
    """Every handle that a Dataset opens when it is built and its sample functions use."""
    seen: set[ast.AST] = set()
    for dataset in module.holdings:
        if not module.loaders.may_have_workers(dataset.owner.facts.node):
            continue
        building = _building(module, dataset)
        kept = (_kept(module, dataset, key.removeprefix("self."), building) for key in dataset.facts.attributes)
        for found in (*kept, *_of_module(module, dataset)):
            if found is not None and found.handle.call not in seen:
                seen.add(found.handle.call)
                yield found


def _of_module(module: Module, dataset: DatasetFacts) -> Iterator[Shared]:
    """Handles in variables of the module, bound once, that samples use."""
    for function in dataset.calls_in:
        for node in module.tree.within(function):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
                continue
            if module.names.scope_of(node.id, node) is not module.root:
                continue
            bound = module.flow.definitions(module.root).get(node.id, [])
            handle = (
                opened(module, bound[0].value) if len(bound) == 1 and bound[0].is_plain and bound[0].value else None
            )
            read = Read(node, Use.OTHER, None, function)
            if handle is not None and _uses(module, read) and not _opens_too(module, dataset, handle):
                yield Shared(dataset, node.id, bound[0].statement, handle, read, at_import=True)


def _building(module: Module, dataset: DatasetFacts) -> list[FunctionNode]:
    """`__init__` and the methods it calls, those that run for samples too left out."""
    found = [each for each in dataset.facts.all_functions if each.name in _BUILDERS]
    for function in found:
        for call in module.tree.calls(function):
            callee = dataset.resolve(call)
            if callee is not None and callee in dataset.facts.all_functions and callee not in found:
                found.append(callee)
    return [each for each in found if each not in dataset.calls_in]


def _kept(module: Module, dataset: DatasetFacts, attr: str, building: list[FunctionNode]) -> Shared | None:
    state = StateFacts(module, dataset, attr)
    if attr in dataset.rebound:
        return None
    bindings = state.bindings
    places = [(each.statement, each.value) for each in bindings if _is_built(module, each, building)]
    at_import = len(bindings) == 1 and bindings[0].is_plain and module.tree.function(bindings[0].node) is None
    places += [(bindings[0].statement, bindings[0].value)] if at_import else []
    for function in building:
        changes = module.flow.mutations(function).get(f"{self_name(function)}.{attr}", [])
        if any(change.method == "close" for change in changes):
            return None
        places += [(change.node, each) for change in changes for each in change.elements]
    for place, value in places:
        handle = opened(module, value, dataset) if value is not None else None
        read = next((each for each in state.reads if _uses(module, each)), None)
        if handle is not None and read is not None and not _opens_too(module, dataset, handle):
            own = module.tree.function(handle.call) in building
            place = module.tree.statement(handle.call) if own else place
            is_handed = isinstance(value, ast.Name) and _is_parameter(module, value)
            return Shared(dataset, f"self.{attr}", place, handle, read, is_handed, at_import)
    return None


def _is_parameter(module: Module, name: ast.Name) -> bool:
    return any(each.how is How.PARAMETER for each in module.flow.reaching(name.id, name))


def _is_built(module: Module, binding: Definition, building: list[FunctionNode]) -> bool:
    return binding.is_plain and module.tree.function(binding.node) in building


def _uses(module: Module, read: Read) -> bool:
    """Whether a use touches what the handle is open on."""
    parent = module.tree.parents[read.node]
    if isinstance(parent, ast.Attribute):
        return parent.attr not in _OTHER_USES
    return read.use is not Use.WRITE and not isinstance(parent, (ast.Compare, ast.If, ast.UnaryOp))


def _opens_too(module: Module, dataset: DatasetFacts, handle: Handle) -> bool:
    """Whether sample functions open such a handle too: for workers, where the Dataset tells them apart."""
    calls = (call for function in dataset.calls_in for call in module.tree.calls(function))
    found = (opened(module, call, dataset) for call in calls if last_name(call.func) not in (*_PARTS, "get"))
    runs = module.tree.function(handle.call) in dataset.calls_in  # or a method gives a part of what is open already
    return any(
        each is not None and each.what == handle.what and (runs or each.call is not handle.call) for each in found
    )
