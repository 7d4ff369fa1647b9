"""Views of large temporary arrays that a container keeps, and with each the whole array."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import Definition, How, Mutation
from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.effects import TENSOR_METHODS, Sharing
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS, Scope
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PUTS = frozenset({"append", "appendleft", "add", "insert", "setitem", "setdefault"})
_VIEWS = frozenset(name for name, effect in TENSOR_METHODS.items() if effect.sharing in (Sharing.VIEW, Sharing.STRIDED))
_LOADS = frozenset({
    "numpy.load", "numpy.fromfile", "numpy.loadtxt", "numpy.genfromtxt", "cv2.imread", "cv2.imdecode", "imageio.imread",
    "imageio.v2.imread", "imageio.v3.imread", "skimage.io.imread", "tifffile.imread", "matplotlib.image.imread",
    "matplotlib.pyplot.imread", "torch.load", "torchvision.io.read_image", "scipy.ndimage.imread", "nibabel.load",
})  # fmt: skip
"""Functions whose result is as large as its file."""
_CREATES = frozenset({"array", "asarray", "zeros", "ones", "empty", "full", "rand", "randn", "random"})
_MAKERS = _CREATES | {name.rpartition(".")[2] for name in _LOADS}
_OUTPUTS = frozenset({"last_hidden_state", "logits"})
_PARTS = ("", *(f".{name}" for name in sorted(_OUTPUTS)))
_TRIMMED = 4
"""Elements at either end: leaving out so few is no waste worth a word."""


@dataclass(frozen=True, slots=True, eq=False)
class KeptView:
    """`view` of the variable that `base` binds anew each time, put into the container `key` at `node`."""

    node: ast.expr | ast.stmt
    key: str
    view: ast.expr
    base: Definition
    is_array: bool
    """It is NumPy's for sure."""


def kept_views(module: Module) -> Iterator[KeptView]:
    """Bounded slices of an array made or loaded for each store, in a container that lives on."""
    if not may_keep_views(module.tree.all(ast.Assign, ast.AnnAssign), module.source.text):
        return
    sliced = (node for node in module.tree.all(ast.Slice, ast.Subscript) if not _is_plain(node))
    for scope in dict.fromkeys(map(module.tree.scope, sliced)):
        found: list[KeptView] = []
        stored: list[str] = []
        for key, changes in module.flow.mutations(scope).items():
            for change in changes:
                if change.method in _PUTS and change.value is not None:
                    stored.append(_root(change.value))
                    kept = _kept(module, scope, key, change, change.value)
                    if kept is not None and not isinstance(change.index, ast.Constant):
                        found.append(kept)
        for each in found:
            # Several views of one array may make up all of it.
            if stored.count(_root(each.view)) == 1:
                yield each


def _root(node: ast.expr) -> str:
    """The variable under subscripts, attributes and methods; "" if there is none."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def may_keep_views(statements: Iterable[ast.AST], text: str) -> bool:
    """Whether any variable that can be a base is cut into: told by statements and text, before the tree is indexed."""
    bases: set[str] = set()
    for node in statements:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _makes_array(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bases.update(each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
    return any(_is_cut(text, f"{name}{part}[") for name in bases for part in _PARTS)


def _makes_array(value: ast.expr | None) -> bool:
    """Whether a call, or one of several in a tuple, makes or loads an array, or runs a model, by its name."""
    if isinstance(value, ast.Tuple):
        return any(_makes_array(each) for each in value.elts)
    made = last_name(value.func) if isinstance(value, ast.Call) else ""
    return made in _MAKERS or hints.is_model(made)


def _is_cut(text: str, start: str) -> bool:
    """Whether a subscript that begins like this has a colon or a comma in its brackets."""
    place = text.find(start)
    while place >= 0:
        if not (place and (text[place - 1].isalnum() or text[place - 1] in "_.")):
            depth, at = 1, place + len(start)
            while depth and at < len(text):
                if text[at] in ":,":
                    return True
                depth += (text[at] == "[") - (text[at] == "]")
                at += 1
        place = text.find(start, place + 1)
    return False


def _is_plain(node: ast.Slice | ast.Subscript) -> bool:
    """Whether a subscript has one index alone, which is no slice."""
    return isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Tuple)


def _kept(module: Module, scope: Scope, key: str, change: Mutation, value: ast.expr) -> KeptView | None:
    view = value
    while isinstance(view, ast.Call) and isinstance(view.func, ast.Attribute) and view.func.attr in _VIEWS:
        view = view.func.value
    if isinstance(view, ast.Name):
        reaching = module.flow.reaching(view.id, view)
        if len(reaching) != 1 or reaching[0].how is not How.ASSIGN or reaching[0].path or reaching[0].value is None:
            return None
        if module.tree.loops(reaching[0].statement)[:1] != module.tree.loops(change.node)[:1]:
            return None
        view = reaching[0].value
    if not isinstance(view, ast.Subscript) or not _cuts_out(view.slice):
        return None
    name = view.value.value if isinstance(view.value, ast.Attribute) and view.value.attr in _OUTPUTS else view.value
    if not isinstance(name, ast.Name):
        return None
    reaching = module.flow.reaching(name.id, name)
    if len(reaching) != 1 or reaching[0].how is not How.ASSIGN or reaching[0].path:
        return None
    base = reaching[0]
    loops = module.tree.loops(change.node)
    if module.tree.scope(base.node) is not scope or module.tree.loops(base.statement)[:1] != loops[:1]:
        return None
    if not _lives_on(module, scope, key, change, bool(loops)) or not _is_large(module, base.value):
        return None
    if change.method == "setitem" and not _keeps_objects(module, change):
        return None
    if not _is_created(module, base.value) and not _is_constant(view.slice):
        return None  # how much of an output is left out by computed bounds nobody can tell: mostly a margin
    return KeptView(change.node, key, value, base, _is_array(module, base.value))


def _lives_on(module: Module, scope: Scope, key: str, change: Mutation, looped: bool) -> bool:
    """Whether the container is older than the array: bound outside the loop, or an attribute of the object."""
    head, _, rest = key.partition(".")
    if rest and isinstance(scope, FUNCTIONS) and head == self_name(scope):
        return True
    loops = module.tree.loops(change.node)
    definitions = module.flow.definitions(scope).get(key, [])
    return looped and bool(definitions) and not any(module.tree.inside(d.statement, loops[0]) for d in definitions)


def _keeps_objects(module: Module, change: Mutation) -> bool:
    """Whether `c[k] = v` keeps `v` itself: an array or a tensor copies it."""
    targets = change.node.targets if isinstance(change.node, ast.Assign) else []
    kinds = {module.infer.value(each.value).kind for each in targets if isinstance(each, ast.Subscript)}
    return bool(kinds) and kinds <= {Kind.LIST, Kind.DICT, Kind.DEQUE}


def _is_large(module: Module, value: ast.expr | None) -> bool:
    """Whether an expression loads a file into an array, makes a new one, or is a model's output."""
    if not isinstance(value, ast.Call) or any(k.arg == "mmap_mode" for k in value.keywords):
        return False
    if _is_created(module, value):
        return True
    name = last_name(value.func)
    return hints.is_model(name) and not name[:1].isupper() and module.infer.value(value.func).kind is Kind.MODULE


def _is_created(module: Module, value: ast.expr | None) -> bool:
    """Whether an expression loads a file into an array, or makes a new one."""
    qualname = module.names.qualname(value.func) if isinstance(value, ast.Call) else ""
    root, _, last = qualname.rpartition(".")
    return qualname in _LOADS or (root in ("numpy", "torch") and last in _CREATES)


def _is_constant(index: ast.expr) -> bool:
    return all(not isinstance(node, (ast.Name, ast.Call, ast.Attribute)) for node in ast.walk(index))


def _is_array(module: Module, value: ast.expr | None) -> bool:
    qualname = module.names.qualname(value.func) if isinstance(value, ast.Call) else ""
    return bool(qualname) and qualname.partition(".")[0] not in ("torch", "torchvision")


def _cuts_out(index: ast.expr) -> bool:
    """Whether an index is basic and leaves out more than a few elements at the ends, or a colour's channels."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if not all(isinstance(p, (ast.Slice, ast.Constant, ast.UnaryOp)) or p is parts[0] for p in parts):
        return False
    cut = False
    for place, part in enumerate(parts):
        if isinstance(part, ast.Slice):
            last_of_several = len(parts) > 1 and place == len(parts) - 1
            cut = cut or not _keeps_most(part, last_of_several)
        elif place and isinstance(part, (ast.Constant, ast.UnaryOp)):
            cut = cut or getattr(part, "value", 0) not in (None, Ellipsis)
    return cut


def _keeps_most(part: ast.Slice, last_of_several: bool) -> bool:
    """Whether a slice leaves out a constant few at its ends, or is the first channels of a last axis."""
    if isinstance(part.step, ast.Constant):
        return False
    if last_of_several and part.lower is None and isinstance(part.upper, ast.Constant):
        return _is_few(part.upper)
    return (part.lower is None or _is_few(part.lower)) and (part.upper is None or isinstance(part.upper, ast.UnaryOp))


def _is_few(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value <= _TRIMMED
