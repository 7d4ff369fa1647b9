"""How a container of a Dataset is used: as a list or a dict, by constant keys, and whether it grows later."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.containers import Container
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.state import StateFacts, Use
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_OF_DICTS = frozenset({"items", "keys", "values", "get", "setdefault"})
_OF_LISTS = frozenset({"append", "extend", "insert", "sort"})
_ADDING = frozenset({"append", "appendleft", "extend", "insert", "setitem", "update"})
_ALL = frozenset({"items", "values"})
_SEQUENCES = frozenset({Kind.LIST, Kind.TUPLE, Kind.DEQUE})
_OPEN = frozenset({Kind.JSON, Kind.PICKLE, Kind.UNKNOWN})
_OF_FILES = frozenset({"glob", "iglob", "rglob", "listdir", "iterdir", "scandir", "walk", "join", "basename"})
"""Functions that give names of files, which are short."""


@dataclass(frozen=True, slots=True)
class Held:
    """How a container is used.

    keyed: whether it is a dict (None: not known); part: the one element under a constant key that samples are read
    from; rows: whether that is a list; beside: whether the class uses other elements, too; columns: whether it is a
    dict of lists, of which samples need one element each; names: whether it holds names of files; later: whether more
    is put in once it is built.
    """

    keyed: bool | None
    part: str = ""
    rows: bool = False
    beside: bool = False
    columns: bool = False
    names: bool = False
    later: bool = False


def held(module: Module, container: Container) -> Held:
    """The uses of a container, as far as its class shows them."""
    state = StateFacts(module, container.dataset, container.name.removeprefix("self."))
    keyed = _is_keyed(module, state)
    parts = _parts(module, state) if keyed and container.value.kind in _OPEN else []
    return Held(
        keyed,
        ast.unparse(parts[0]) if parts else "",
        bool(parts) and _is_listed(module, state, parts),
        bool(parts) and _has_others(module, state, parts),
        bool(keyed) and _has_columns(module, state),
        _holds_names(state),
        _is_changed_later(module, state),
    )


def _is_keyed(module: Module, state: StateFacts) -> bool | None:
    kind = state.value.kind
    if kind not in _OPEN:
        return kind is Kind.DICT
    methods = {each for node in _uses(module, state) if (each := _method(module, node))}
    keys = [each.key for each in state.reads if each.key is not None and each.use is Use.SUBSCRIPT]
    if methods & _OF_DICTS or any(_is_text(key) or _is_made_text(module, key) for key in keys):
        return True
    if any(_is_asked_for_text(module, node) for node in _uses(module, state)):
        return True
    if methods & _OF_LISTS or any(state.dataset.is_index(key) for key in keys):
        return False
    return None


def _uses(module: Module, state: StateFacts) -> Iterator[ast.expr]:
    """Where the class uses the attribute, or the argument that it is."""
    for function in state.dataset.facts.all_functions:
        yield from (each.node for each in state.uses_in(function))
    for binding in state.bindings:
        given = binding.value
        if isinstance(given, ast.Name) and any(
            each.how is How.PARAMETER for each in module.flow.reaching(given.id, given)
        ):
            for node in module.tree.within(module.tree.scope(given)):
                if isinstance(node, ast.Name) and node.id == given.id:
                    yield node


def _method(module: Module, node: ast.expr) -> str:
    parent = module.tree.parents[node]
    return parent.attr if isinstance(parent, ast.Attribute) else ""


def _is_text(key: ast.expr) -> bool:
    """Whether a key is a str by its form."""
    if isinstance(key, ast.Call):
        return last_name(key.func) in ("str", "format")
    return isinstance(key, ast.JoinedStr) or (isinstance(key, ast.Constant) and isinstance(key.value, str))


def _is_made_text(module: Module, key: ast.expr) -> bool:
    """Whether a key is a variable that is made a str: `idx = str(idx)`."""
    ways = module.flow.reaching(key.id, key) if isinstance(key, ast.Name) else []
    return any(each.value is not None and _is_text(each.value) for each in ways)


def _is_asked_for_text(module: Module, node: ast.expr) -> bool:
    """Whether it is asked if a constant text is in it: `"input" in self.pairs`."""
    up = module.tree.parents[node]
    return isinstance(up, ast.Compare) and isinstance(up.ops[0], (ast.In, ast.NotIn)) and _is_text(up.left)


def _parts(module: Module, state: StateFacts) -> list[ast.Subscript]:
    """Where samples take an element of `self.index['images']`, if they do of no other element of it."""
    found = [
        parent
        for each in state.reads
        if isinstance(parent := module.tree.parents[each.node], ast.Subscript)
        and isinstance(each.key, ast.Constant)
        and isinstance(outer := module.tree.parents[parent], ast.Subscript)
        and outer.value is parent
    ]
    return found if len({ast.unparse(each) for each in found}) == 1 else []


def _has_others(module: Module, state: StateFacts, parts: list[ast.Subscript]) -> bool:
    """Whether the class uses or asks for other elements, too."""
    used = (module.tree.parents[each] for each in _uses(module, state))
    others = (each for each in used if isinstance(each, (ast.Subscript, ast.Compare)))
    return any(ast.unparse(each) != ast.unparse(parts[0]) for each in others)


def _is_listed(module: Module, state: StateFacts, parts: list[ast.Subscript]) -> bool:
    """Whether such an element is a list: the sample's index is its key, or it is counted."""
    outer = [up for part in parts if isinstance(up := module.tree.parents[part], ast.Subscript)]
    if any(state.dataset.is_index(each.slice) for each in outer):
        return True
    counted = {ast.unparse(call.args[0]) for call in module.classes.own_calls("len") if call.args}
    return ast.unparse(parts[0]) in counted


def _has_columns(module: Module, state: StateFacts) -> bool:
    """Whether samples go over all values, or take one element of a value by a number: each is a list of the data."""
    if state.value.element is None or state.value.element.kind not in _SEQUENCES:
        return False
    for each in state.reads:
        parent = module.tree.parents[each.node]
        outer = module.tree.parents[parent]
        if isinstance(parent, ast.Attribute) and parent.attr in _ALL:
            return True
        if isinstance(outer, ast.Subscript) and outer.value is parent and not isinstance(outer.slice, ast.Slice):
            return True
    return False


def _holds_names(state: StateFacts) -> bool:
    """Whether what is put in is made by functions that give the names of files."""
    sources = [each.value for each in state.bindings if each.value is not None]
    for change in state.dataset.facts.mutations.get(f"self.{state.attr}", []):
        sources += change.elements
    for source in list(sources):
        for name in ast.walk(source):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load):
                sources += [d.value for d in state.module.flow.reaching(name.id, name) if d.value is not None]
    calls = [node for source in sources for node in ast.walk(source) if isinstance(node, ast.Call)]
    return any(last_name(call.func) in _OF_FILES and not _joins_text(call) for call in calls)


def _joins_text(call: ast.Call) -> bool:
    """`" ".join(words)`, which is no `os.path.join`."""
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant)


def _is_changed_later(module: Module, state: StateFacts) -> bool:
    """Whether a method that the constructor does not run puts more in."""
    facts = state.dataset.facts
    building = [each for each in facts.all_functions if each.name in ("__init__", "__post_init__")]
    for function in building:
        callees = (state.dataset.resolve(call) for call in module.tree.calls(function))
        building += [each for each in callees if each in facts.all_functions and each not in building]
    changes = facts.mutations.get(f"self.{state.attr}", [])
    return any(
        change.method in _ADDING and not change.depth and module.tree.function(change.node) not in building
        for change in changes
    )
