"""Views of large temporary arrays that a container keeps, and with each the whole array."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import Definition, How, Mutation
from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.effects import TENSOR_METHODS, Sharing
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, Scope
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
_MOST_NAMES = 5
"""Names for parts of parts that are looked through."""
_TRIMMED = 4
"""Elements at either end: leaving out so few is no waste worth a word."""
_DISPLAYS = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)
_PLAIN = frozenset({ast.Name, ast.Attribute})
_CUTS = frozenset({ast.Subscript, ast.Call})
_Assigning = ast.Assign | ast.AnnAssign


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
    sliced = (node for node in module.tree.all(ast.Slice, ast.Subscript) if not _is_plain(node))
    scopes = list(dict.fromkeys(map(module.tree.scope, sliced)))
    helpers = [each for each in scopes if isinstance(each, FUNCTIONS)]
    callers = (module.tree.scope(call) for each in helpers for call in module.classes.calls_of(each))
    for scope in dict.fromkeys((*scopes, *callers)):
        found: list[KeptView] = []
        stored: list[Definition | str] = []
        for key, changes in module.flow.mutations(scope).items():
            for change in changes:
                for value in (part for each in change.elements for part in module.classes.record(each) or [each]):
                    stored.append(_origin(module, value))
                    kept = _kept(module, scope, key, change, value)
                    if kept is not None and not isinstance(change.index, ast.Constant):
                        found.append(kept)
        for each in found:
            # Several views of one array may make up all of it.
            if stored.count(_origin(module, each.view)) == 1 and not _gives_rest(module, scope, each):
                yield each


def _gives_rest(module: Module, scope: Scope, kept: KeptView) -> bool:
    """Whether the helper that makes the array puts another part of it somewhere, or gives it to its caller."""
    home = module.tree.scope(kept.view)
    if home is scope:
        return False
    parts = [each.value for each in module.tree.within(home) if isinstance(each, ast.Return) and each.value is not None]
    parts += [part for changes in module.flow.mutations(home).values() for each in changes for part in each.elements]
    return any(each is not kept.view and _origin(module, each) is kept.base for each in parts)


def _origin(module: Module, node: ast.expr) -> Definition | str:
    """The variable that an expression is a part of, through names for parts and what a helper gives."""
    node = _maker(module, node) or node
    for _ in range(_MOST_NAMES):
        name = _root_name(node)
        if name is None:
            return ""
        reaching = module.flow.reaching(name.id, name)
        value = reaching[0].value if len(reaching) == 1 and reaching[0].how is How.ASSIGN else None
        part = _under_views(value) if value is not None else None
        if not isinstance(part, (ast.Subscript, ast.Name, ast.Attribute)):
            return reaching[0] if len(reaching) == 1 else name.id
        node = part
    return ""


def _root_name(node: ast.expr) -> ast.Name | None:
    """The variable under subscripts, attributes and methods, if there is one."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node if isinstance(node, ast.Name) else None


def may_keep_views(outline: Outline) -> bool:
    """Whether a part of a variable that can be a base is put anywhere: what `kept_views` looks into.

    From what is rarest to what is commonest: what is put, cuts that are bound to such a variable, and their bases.
    """
    put = _put(outline)
    variables = {name for name in map(_viewed, put) if name}
    bases = {name for name in map(_cut_from, put) if name}
    assigning: list[_Assigning] = [*outline.all(ast.Assign), *outline.all(ast.AnnAssign)]
    if variables:
        cuts = (each for each in assigning if each.value.__class__ in _CUTS and not variables.isdisjoint(_bound(each)))
        bases |= {name for each in cuts if (name := _cut_from(each.value))}
    if not bases:
        return False
    by_helper = any(_makes_array(each.value) for each in outline.all(ast.Return))
    made = (each for each in assigning if _makes_array(each.value) or (by_helper and each.value.__class__ is ast.Call))
    return any(not bases.isdisjoint(_bound(each)) for each in made)


def _put(outline: Outline) -> list[ast.expr]:
    """What may be put into containers: by calls that are a statement (or its value), by subscripts and by `+=`."""
    # Every statement of a file comes by here: classes are compared, which is faster than `isinstance`.
    plain, call_class = _PLAIN, ast.Call
    values: list[ast.expr | None] = [each.value for each in outline.all(ast.Expr)]
    values += [each.value for each in outline.all(ast.Return)]
    found: list[ast.expr] = []
    for assign in outline.all(ast.Assign):
        values.append(assign.value)
        for target in assign.targets:
            if target.__class__ not in plain and any(isinstance(part, ast.Subscript) for part in _targets(assign)):
                found.append(assign.value)
    for call in values:
        if call.__class__ is call_class:
            assert isinstance(call, ast.Call)
            if isinstance(call.func, ast.Attribute) and call.func.attr in _PUTS:
                found += call.args[-1:] or [each.value for each in call.keywords[:1]]
    for each in outline.all(ast.Expr):
        if each.value.__class__ is call_class:
            assert isinstance(each.value, ast.Call)
            spreads = last_name(each.value.func) in ("extend", "update")
            # Of a helper, or of a bound method with a name; `extend` takes the elements of what stands there.
            found += [one for one in each.value.args if not spreads or isinstance(one, _DISPLAYS)]
    found += [each.value for each in outline.all(ast.AugAssign)]
    for value in found:  # it grows as it is gone through
        if isinstance(value, (ast.List, ast.Tuple)):
            found += value.elts
        elif isinstance(value, (ast.ListComp, ast.GeneratorExp)):
            found.append(value.elt)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            found += value.args  # of a record
    if any(isinstance(value, ast.Call) and isinstance(value.func, ast.Name) for value in found):
        found += [each.value for each in outline.all(ast.Return) if each.value is not None]  # of a helper
    return found


def _bound(statement: _Assigning) -> Sequence[str]:
    """The variables that an assignment binds."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            return (target.id,)
    return [part.id for part in _targets(statement) if isinstance(part, ast.Name)]


def _targets(statement: _Assigning) -> Iterator[ast.expr]:
    """What an assignment binds, parts of tuples one by one."""
    stack = list(statement.targets) if isinstance(statement, ast.Assign) else [statement.target]
    for each in stack:  # it grows as it is gone through
        if isinstance(each, (ast.Tuple, ast.List)):
            stack += each.elts
        else:
            yield each


def _makes_array(value: ast.expr | None) -> bool:
    """Whether a call, or one of several in a tuple, makes or loads an array, or runs a model, by its name."""
    if value.__class__ is not ast.Call:
        return isinstance(value, ast.Tuple) and any(_makes_array(each) for each in value.elts)
    made = last_name(value.func)
    return made in _MAKERS or hints.is_model(made)


def _viewed(value: ast.expr) -> str:
    """The variable whose view (or all of which) an expression is, "" for anything else."""
    return getattr(_under_views(value), "id", "")


def _cut_from(value: ast.expr | None) -> str:
    """The variable out of which an expression cuts a part, "" for anything else."""
    cut = _under_views(value) if value is not None else None
    if not isinstance(cut, ast.Subscript) or not _cuts_out(cut.slice):
        return ""
    return getattr(_base_of(cut), "id", "")


def _under_views(value: ast.expr) -> ast.expr:
    """An expression without the methods on it that give views."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _VIEWS:
        value = value.func.value
    return value


def _base_of(cut: ast.Subscript) -> ast.expr:
    """What a part is cut out of; of a model's output, the whole output."""
    whole = cut.value
    return whole.value if isinstance(whole, ast.Attribute) and whole.attr in _OUTPUTS else whole


def _is_plain(node: ast.Slice | ast.Subscript) -> bool:
    """Whether a subscript has one index alone, which is no slice."""
    return isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Tuple)


def _kept(module: Module, scope: Scope, key: str, change: Mutation, value: ast.expr) -> KeptView | None:
    value = _maker(module, value) or value
    home = module.tree.scope(value)
    # What a helper makes of its own is made there, each time that it is called.
    repeated = module.tree.loops(change.node if home is scope else value)[:1]
    view = _under_views(value)
    if isinstance(view, ast.Name):
        reaching = module.flow.reaching(view.id, view)
        if len(reaching) != 1 or reaching[0].how is not How.ASSIGN or reaching[0].path or reaching[0].value is None:
            return None
        if module.tree.loops(reaching[0].statement)[:1] != repeated:
            return None
        view = reaching[0].value
    if not isinstance(view, ast.Subscript) or not _cuts_out(view.slice):
        return None
    name = _base_of(view)
    if not isinstance(name, ast.Name):
        return None
    reaching = module.flow.reaching(name.id, name)
    if len(reaching) != 1 or reaching[0].how is not How.ASSIGN or reaching[0].path:
        return None
    base = reaching[0]
    if module.tree.scope(base.node) is not home or module.tree.loops(base.statement)[:1] != repeated:
        return None
    looped = bool(module.flow.loops(change)) or isinstance(change.value, COMPREHENSIONS)
    made = _maker(module, base.value)
    if not _lives_on(module, scope, key, change, looped) or not _is_large(module, made):
        return None
    if change.method == "setitem" and not _keeps_objects(module, change):
        return None
    if not _is_created(module, made) and not _is_constant(view.slice):
        return None  # how much of an output is left out by computed bounds nobody can tell: mostly a margin
    return KeptView(change.node, key, value, base, _is_array(module, made))


def _lives_on(module: Module, scope: Scope, key: str, change: Mutation, looped: bool) -> bool:
    """Whether the container is older than the array: bound outside the loop, or an attribute of the object."""
    head, _, rest = key.partition(".")
    if rest and isinstance(scope, FUNCTIONS) and head == self_name(scope):
        return True
    loops = module.tree.loops(change.node)
    definitions = module.flow.definitions(scope).get(key, [])
    made = [d for d in definitions if d.how is not How.AUGMENT]
    return looped and bool(made) and not (loops and any(module.tree.inside(d.statement, loops[0]) for d in made))


def _keeps_objects(module: Module, change: Mutation) -> bool:
    """Whether `c[k] = v` keeps `v` itself: an array or a tensor copies it."""
    return change.target is not None and module.infer.value(change.target).kind in (Kind.LIST, Kind.DICT, Kind.DEQUE)


def _maker(module: Module, value: ast.expr | None) -> ast.expr | None:
    """The call that makes a value: that of a helper, if one gives it and nothing else."""
    for _ in range(_MOST_NAMES):
        given = module.classes.gives(value) if isinstance(value, ast.Call) else []
        if len(given) != 1:
            break
        value = given[0]
    return value


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
