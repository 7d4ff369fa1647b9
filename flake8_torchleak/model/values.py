"""What values are: what is known of one expression, and of a value that may be one of several.

What an operation does to one is the table of `effects.py`.
"""

from __future__ import annotations

import ast
from enum import Enum
from typing import NamedTuple

from flake8_torchleak.model.members import by_name


@by_name
class Kind(Enum):
    """What an expression evaluates to, as far as memory is concerned."""

    UNKNOWN = "value"
    NONE = "None"
    NUMBER = "number"
    STRING = "str"
    PATH = "Path"
    LIST = "list"
    TUPLE = "tuple"
    DICT = "dict"
    SET = "set"
    DEQUE = "deque"
    JSON = "parsed record"
    PICKLE = "unpickled object"
    INDEX = "annotation index"
    ITERATOR = "iterator"
    RANGE = "range"
    ARRAY = "array"
    OBJECTS = "object array"
    TENSOR = "tensor"
    FRAME = "DataFrame"
    FILE = "file"
    MODULE = "module"
    LOSS = "loss function"
    METRIC = "metric"
    LOADER = "DataLoader"
    DATASET = "Dataset"
    SHARED = "shared container"
    INSTANCE = "object"

    __hash__ = object.__hash__
    """By identity: every value is asked for its kind, again and again, and `Enum` hashes the name."""


CONTAINERS = frozenset({Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.SET, Kind.DEQUE, Kind.JSON, Kind.INDEX})
"""Python containers: each element is an object with a reference count."""

MUTABLE = frozenset({Kind.LIST, Kind.DICT, Kind.SET, Kind.DEQUE, Kind.JSON, Kind.INSTANCE})
"""Objects that whoever holds them can edit in place."""

COPIES = {Kind.TENSOR: "clone", Kind.ARRAY: "copy"}
"""The method that copies memory: of a tensor `copy.copy` shares it, and of a part of one `copy.deepcopy` copies all."""


class Size(Enum):
    """How many elements a container has, as far as the source tells."""

    UNKNOWN = "unknown"
    SMALL = "small"
    GROWS = "grows"


class OriginKind(Enum):
    """Whose memory (or object) a value is."""

    BATCH = "batch"
    DEVICE = "batch on the device"
    STATE = "state"


class Origin(NamedTuple):
    """The memory a value shares: of a loader's batch, or of a Dataset's state.

    name: the variable or attribute; node: where it was taken from it; element: it is an element of what that holds
    (looked up, iterated), not the whole; view: reached through a view or slice
    (False: it is the stored object itself); strided: a view with gaps or reordered axes, which is not contiguous;
    copied: it is an entry of a copy of what is held, that has entries of its own and the same objects in them.
    """

    kind: OriginKind
    name: str
    node: ast.AST
    element: bool = False
    view: bool = False
    strided: bool = False
    copied: bool = False


Why = tuple[tuple[ast.AST, str], ...]


class Value(NamedTuple):
    """What is known of one expression's value.

    graph: True if it carries autograd history, False if it cannot, None if that is not known.
    element: what one element is (for a dict: a value); key: what a dict's key is.
    why: evidence, as nodes with a phrase.
    """

    kind: Kind = Kind.UNKNOWN
    graph: bool | None = None
    size: Size = Size.UNKNOWN
    element: Value | None = None
    origin: Origin | None = None
    why: Why = ()
    items: tuple[Value, ...] = ()
    """The parts of a tuple or list display, where they are known one by one."""
    fields: tuple[tuple[str, Value], ...] = ()
    """The entries of a dict display with constant keys."""
    ndim: int | None = None
    """The number of dimensions of an array, or of a table (1: a column), where it is known."""
    made: ast.AST | None = None
    """The class of the file (an INSTANCE) or the call (a LOADER, a LOSS of torch's own) that it comes from."""

    def but(self, **changes: object) -> Value:
        """A copy with fields replaced."""
        return self._replace(**changes)  # type: ignore[arg-type]

    def within(self, outer: Value) -> Value:
        """This value as a part of `outer`: it belongs to whatever `outer` belongs to."""
        return self if self.origin or not outer.origin else self.but(origin=outer.origin._replace(element=True))

    @property
    def is_shallow(self) -> bool:
        """Whether it is a copy of a container whose entries are objects that are stored elsewhere."""
        return self.element is not None and self.element.origin is not None and self.element.origin.copied

    @property
    def is_container(self) -> bool:
        """Whether this is a Python container for sure."""
        return self.kind in CONTAINERS

    @property
    def grows(self) -> bool:
        """Whether it, or something nested in it, grows with the data."""
        value = self
        for _ in range(_DEEPEST):
            if value.size is Size.GROWS and (value.is_container or value.kind in (Kind.PICKLE, Kind.ITERATOR)):
                return True
            if not value.is_container or value.element is None or not value.element.is_container:
                break
            value = value.element
        return False


def shallow(value: Value) -> Value:
    """A copy of a container of a Dataset's state: its entries are its own, the objects in them are those stored."""
    origin = value.origin
    if origin is None or origin.kind is not OriginKind.STATE or not (value.is_container or value.kind is Kind.UNKNOWN):
        return value.but(origin=None)
    held = origin._replace(element=True, copied=True)
    inner = value.element or Value(Kind.JSON if value.kind is Kind.JSON else Kind.UNKNOWN, why=value.why)

    def entry(each: Value) -> Value:
        return each if each.origin else each.but(origin=held)

    return value.but(
        origin=None,
        element=entry(inner),
        items=tuple(map(entry, value.items)),
        fields=tuple((key, entry(each)) for key, each in value.fields),
    )


_DEEPEST = 8
"""Containers in containers whose elements are told apart."""

_STORED = frozenset({Kind.PICKLE, Kind.OBJECTS})
"""What a file gives that objects were written to."""

UNKNOWN = Value()
NONE = Value(Kind.NONE, graph=False)
NUMBER = Value(Kind.NUMBER, graph=False)
FLAG = Value(Kind.NUMBER, graph=False, size=Size.SMALL)
"""A number of which there are only a few objects: a bool, a class index. Size SMALL says so."""
STRING = Value(Kind.STRING, graph=False)


def join(values: list[Value], depth: int = 0) -> Value:
    """What is known of a value that may be any of these. An unknown alternative does not unsay the known one.

    depth: within how many containers these are; deeper ones are not told apart, they may be in each other endlessly.
    """
    carrier = next((v for v in values if v.graph), None)
    known = [v for v in values if v.kind not in (Kind.UNKNOWN, Kind.NONE)]
    if not known:
        unknown = [v for v in values if v.kind is Kind.UNKNOWN]
        fallback = unknown[0] if unknown else NONE if values else UNKNOWN
        return carrier or next((v for v in unknown if v.graph is None), fallback)
    strong = [v for v in known if v.kind is not Kind.NUMBER] or known
    if any(v.is_container for v in strong):
        strong = [v for v in strong if v.kind not in _STORED]  # what is built is what is read the next time
    first = strong[0]
    if len(known) == 1:
        if carrier is None or first.graph:
            return first
        return carrier if first.kind is Kind.NUMBER else first.but(graph=True, why=carrier.why)
    graph = True if carrier else False if all(v.graph is False for v in values) else None
    kinds = {v.kind for v in strong}
    sizes = {v.size for v in strong}
    size = Size.GROWS if Size.GROWS in sizes else Size.SMALL if sizes == {Size.SMALL} else Size.UNKNOWN
    if len(kinds) == 1:
        elements = [v.element for v in strong if v.element is not None]
        return first.but(
            graph=graph,
            size=size,
            element=join(elements, depth + 1) if elements and depth < _DEEPEST else None,
            origin=next((v.origin for v in strong if v.origin), None),
            why=next((v.why for v in strong if v.size is Size.GROWS), first.why),
            items=first.items if len(strong) == 1 else (),
            fields=tuple({k: v for each in strong for k, v in each.fields}.items()),
        )
    containers = [v for v in strong if v.is_container]
    if len(containers) == len(strong):
        return next((v for v in containers if v.grows), first).but(graph=graph, size=size, items=(), fields=())
    return Value(Kind.UNKNOWN, graph=graph)
