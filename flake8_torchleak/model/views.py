"""Views of large temporary arrays that a container keeps, and with each the whole array."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import Definition, How, Mutation
from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.slices import CREATES, LOADS, WRITTEN, base_of, cuts_out, under_views
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, Scope
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_NAMES = 5
"""Names for parts of parts that are looked through."""


@dataclass(frozen=True, slots=True, eq=False)
class KeptView:
    """`view` of the variable that `base` binds anew each time, put into the container `key` at `node`."""

    node: ast.expr | ast.stmt
    key: str
    view: ast.expr
    base: Definition
    is_array: bool
    """It is NumPy's for sure."""
    is_written: bool
    """Its base is read from a text file, or made of a list: how large it is, nobody sees."""


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
        part = under_views(value) if value is not None else None
        if not isinstance(part, (ast.Subscript, ast.Name, ast.Attribute)):
            return reaching[0] if len(reaching) == 1 else name.id
        node = part
    return ""


def _root_name(node: ast.expr) -> ast.Name | None:
    """The variable under subscripts, attributes and methods, if there is one."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node if isinstance(node, ast.Name) else None


def _is_plain(node: ast.Slice | ast.Subscript) -> bool:
    """Whether a subscript has one index alone, which is no slice."""
    return isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Tuple)


def _kept(module: Module, scope: Scope, key: str, change: Mutation, value: ast.expr) -> KeptView | None:
    value = _maker(module, value) or value
    home = module.tree.scope(value)
    # What a helper makes of its own is made there, each time that it is called.
    repeated = module.tree.loops(change.node if home is scope else value)[:1]
    view = under_views(value)
    if isinstance(view, ast.Name):
        reaching = module.flow.reaching(view.id, view)
        if len(reaching) != 1 or reaching[0].how is not How.ASSIGN or reaching[0].path or reaching[0].value is None:
            return None
        if module.tree.loops(reaching[0].statement)[:1] != repeated:
            return None
        view = reaching[0].value
    if not isinstance(view, ast.Subscript) or not cuts_out(view.slice):
        return None
    name = base_of(view)
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
    return KeptView(change.node, key, value, base, _is_array(module, made), _is_written(module, made))


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
    return qualname in LOADS or (root in ("numpy", "torch") and last in CREATES)


def _is_written(module: Module, value: ast.expr | None) -> bool:
    """Whether a call makes an array of what a text or a program spells out."""
    name = module.names.qualname(value.func) if isinstance(value, ast.Call) else ""
    return name.rpartition(".")[2] in WRITTEN


def _is_constant(index: ast.expr) -> bool:
    return all(not isinstance(node, (ast.Name, ast.Call, ast.Attribute)) for node in ast.walk(index))


def _is_array(module: Module, value: ast.expr | None) -> bool:
    qualname = module.names.qualname(value.func) if isinstance(value, ast.Call) else ""
    return bool(qualname) and qualname.partition(".")[0] not in ("torch", "torchvision")
