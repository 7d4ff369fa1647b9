"""Containers of a Dataset whose copies nobody notices: they cannot have many elements, by what is done with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from flake8_torchleak.model.counting import has_few
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.state import READS, Read, StateFacts, Use
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.bindings import Mutation
    from flake8_torchleak.model.dataset import DatasetFacts

_GOES_THROUGH = frozenset({"enumerate", "zip"})
_SEARCHES = frozenset({"index", "count"})
_LISTS = frozenset({Kind.LIST, Kind.TUPLE})
_SINGLE = frozenset({Kind.STRING, Kind.NUMBER, Kind.PATH})
_STREAMS = frozenset({"__iter__", "__next__"})


def is_unnoticed(state: StateFacts) -> bool:
    """Whether the copies of a container cost nothing to speak of: counted, gone through each time, a table of codes.

    Or beside what is held for the same samples.
    """
    return has_few(state) or _is_gone_through(state) or _is_table_of_codes(state) or _is_beside_images(state)


def _is_gone_through(state: StateFacts) -> bool:
    """Whether every sample goes through all of it: what is long makes samples slow before it makes memory short."""
    element = state.value.element
    if state.value.kind not in _LISTS or element is None or element.kind not in _SINGLE:
        return False  # in what few things hold there may be much
    if state.counted or any(each.name in _STREAMS for each in state.dataset.entries):
        return False  # one element for each sample; a stream goes through its data once
    reads = [each for each in state.reads if each.use in READS]
    return bool(reads) and all(_takes_all(state, each) and _is_always_run(state.dataset, each.node) for each in reads)


def _takes_all(state: StateFacts, read: Read) -> bool:
    """Whether a loop goes through a list, or it is searched for an element."""
    up = state.module.tree.parents[read.node]
    if read.use is Use.LOOKUP:
        return isinstance(up, ast.Attribute) and up.attr in _SEARCHES
    if isinstance(up, ast.Call) and last_name(up.func) in _GOES_THROUGH:
        up = state.module.tree.parents[up]
    return isinstance(up, ast.For)


def _is_always_run(dataset: DatasetFacts, node: ast.AST | None) -> bool:
    """Whether no condition is around a node, nor around a call that leads there: what is made once is no habit."""
    tree = dataset.module.tree
    while node is not None:
        around = takewhile(lambda each: not isinstance(each, FUNCTIONS), tree.ancestors(node))
        if any(isinstance(up, (ast.If, ast.IfExp, ast.Try, ast.BoolOp)) for up in around):
            return False
        function = tree.function(node)
        node = dataset.calls_in.get(function) if function is not None else None
    return True


def _is_table_of_codes(state: StateFacts) -> bool:
    """Whether it tells the number of each name, and another attribute the name of each number: labels, a vocabulary."""
    facts = state.dataset.facts
    own = f"self.{state.attr}"
    pairs = {_texts(each) for each in _entries(facts.mutations.get(own, []))}
    for key, changes in facts.mutations.items():
        if key != own and any(_texts(each)[::-1] in pairs for each in _entries(changes)):
            return True
    made = {key: [each.value for each in found] for key, found in facts.attributes.items()}
    return any(_turned(value) == own for values in made.values() for value in values) or any(
        _turned(value) in made for value in made.get(own, ())
    )


def _entries(changes: list[Mutation]) -> Iterator[Mutation]:
    yield from (each for each in changes if each.method == "setitem" and not each.depth and each.value is not None)


def _texts(change: Mutation) -> tuple[str, str]:
    return ast.unparse(change.index) if change.index is not None else "", ast.unparse(change.value or change.node)


def _turned(value: ast.expr | None) -> str:
    """The dict whose keys and values another one has the other way round: `{v: k for k, v in self.x.items()}`."""
    if not isinstance(value, ast.DictComp) or len(value.generators) != 1:
        return ""
    loop = value.generators[0]
    names = [ast.unparse(each) for each in getattr(loop.target, "elts", [])]
    turned = [ast.unparse(value.value), ast.unparse(value.key)] == names
    gone = loop.iter
    asked = isinstance(gone, ast.Call) and isinstance(gone.func, ast.Attribute) and gone.func.attr == "items"
    return ast.unparse(gone.func.value) if turned and asked else ""  # type: ignore[attr-defined]


def _is_beside_images(state: StateFacts) -> bool:
    """Whether it holds a number for each image of an array in memory: its copies are a hundredth of that, or less.

    Workers copy 32 bytes a number. There are as many images as the memory has room for, of kilobytes each.
    """
    element = state.value.element
    if state.value.kind not in _LISTS or element is None or element.kind is not Kind.NUMBER or state.indexed is None:
        return False
    others = (key.removeprefix("self.") for key in state.dataset.facts.attributes)
    return any(_holds_images(StateFacts(state.module, state.dataset, each)) for each in others if each != state.attr)


def _holds_images(state: StateFacts) -> bool:
    """Whether an attribute is an array in memory whose rows, read by the index, have two dimensions or more."""
    if state.value.kind not in (Kind.ARRAY, Kind.TENSOR) or state.indexed is None:
        return False
    made = [each for binding in state.bindings if binding.value is not None for each in ast.walk(binding.value)]
    if any(isinstance(each, ast.keyword) and each.arg == "mmap_mode" for each in made):
        return False
    row = state.module.tree.parents[state.indexed.node]
    up = state.module.tree.parents[row]
    shown = isinstance(up, ast.Call) and row in up.args and last_name(up.func) == "fromarray"
    turned = state.module.tree.parents[up] if isinstance(up, ast.Attribute) else None
    shapes = [each for each in (*made, turned) if isinstance(each, ast.Call) and last_name(each.func) in _SHAPES]
    return shown or any(len(_axes(each)) >= (2 if each is turned else 3) for each in shapes)


_SHAPES = frozenset({"reshape", "transpose", "permute", "view"})


def _axes(call: ast.Call) -> list[ast.expr]:
    """The numbers of `x.reshape(-1, 28, 28)`, `x.transpose((2, 0, 1))`."""
    first = call.args[0] if call.args else None
    return first.elts if isinstance(first, (ast.Tuple, ast.List)) else call.args
