"""What a followed program's values are: a few alternatives, each one an atom.

Two values that may reach the same variable are both kept, as long as there are few of them.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from enum import Enum, IntEnum
from typing import NamedTuple

from flake8_torchleak.model.members import by_name

MOST_ALTERNATIVES = 16
"""Atoms of one value; what is more becomes one that nothing is known of."""
_MOST_PARTS = 40
"""Sites that are remembered of a value's history."""
_MOST_LOOPS = 64
"""Entries that are remembered of what loops did to a value."""

Site = Hashable
"""What made a value: a node of the tree, or such a site with a selector behind it (an attribute, a key)."""
LEAF = "a parameter"
"""Marks the part of a history that begins with a parameter of a network, or another leaf that requires grad."""
BY_CALL = "a network"
"""Marks the part of a history that begins with a call of a network."""
BY_NAME = "a network by its name"
"""Marks the part of a history that only a name speaks for."""
BY_LOSS = "a loss by its name"
"""Marks the part of a history that goes through a call that nobody can see, and that is a loss by its name."""
INPUT = "the input of a network"
"""Marks the part of a history that begins with what a network is given, if that has one."""
CAUGHT = "an exception"
"""What an atom is that an `except` block binds, with the frames that it passed."""
HANDLE = "the handle of a hook"
"""What an atom is that registering a hook gives."""
NOTHING: frozenset[Site] = frozenset()
NO_LOOPS: frozenset[int] = frozenset()
NO_PAST: frozenset[tuple[int, Site]] = frozenset()


@by_name
class Graph(IntEnum):
    """Whether a value carries autograd history; LEAF requires grad and has none, but all that is made of it does."""

    NO = 0
    MAYBE = 1
    LEAF = 2
    YES = 3


@by_name
class Kind(Enum):
    """What an atom is. NETWORK: an `nn.Module` with parameters; LAYER: one without; LIBRARY: a name of a library."""

    NUMBER = "number"
    TENSOR = "tensor"
    UNKNOWN = "value"
    OBJECT = "object"
    FUNCTION = "function"
    CLASS = "class"
    NETWORK = "network"
    LAYER = "layer"
    LOADER = "loader"
    OPTIMIZER = "optimizer"
    LIBRARY = "library"

    __hash__ = object.__hash__


class Atom(NamedTuple):
    """One thing that a value may be.

    made: the object, function, class, dotted name or constant that it is; site: what made it.
    parts: the sites in its history, its own among them; past: those that
    earlier iterations of a loop left, with the loop; via: the sites of the
    containers that it was read from. vary: the loops that give it a new content in each iteration.
    held: the loader in whose batch its memory lies; None if it has memory of its own.
    born: when it was made; since: when the latest part of its history was, that was not made of other history.
    """

    kind: Kind
    site: Site = None
    graph: Graph = Graph.NO
    made: object = None
    parts: frozenset[Site] = NOTHING
    past: frozenset[tuple[int, Site]] = NO_PAST
    via: frozenset[Site] = NOTHING
    vary: frozenset[int] = NO_LOOPS
    born: int = 0
    since: int = 0
    held: Site = None

    def but(self, **changes: object) -> Atom:
        """A copy with fields replaced."""
        fields: list[object] = list(self)
        for name, value in changes.items():
            fields[_AT[name]] = value
        return tuple.__new__(Atom, fields)

    def varying(self, loops: frozenset[int]) -> Atom:
        """The same thing, but another one in each iteration of these loops."""
        return self if loops <= self.vary else self.but(vary=self.vary | loops)

    @property
    def identity(self) -> tuple[Kind, Hashable]:
        """Atoms with the same one are one alternative."""
        made = self.made
        if self.kind is Kind.NUMBER:
            return self.kind, (type(made), made) if isinstance(made, PLAIN_TYPES) or made is Mark.COUNT else None
        if made is not None and not isinstance(made, str):
            return self.kind, id(made)
        return self.kind, (made, self.site, bool(self.parts))  # of this iteration, or of one before


_AT = {name: at for at, name in enumerate(Atom._fields)}
PLAIN_TYPES = (str, int, float, bool, bytes, type(None))

Value = tuple[Atom, ...]
Keywords = dict[str, Value]
"""What a call is given by name; what is spread over names that are not known stands under "**"."""


class Mark(Enum):
    """What stands for no constant."""

    ANY = "any"
    ARRAY = "numbers of an array, or a list"
    COUNT = "a counter"
    """What counts the iterations of a loop, from 0."""


def number(constant: object = Mark.ANY, vary: frozenset[int] = NO_LOOPS) -> Value:
    """A number, string, None or other plain thing; which one, if that is known."""
    return (tuple.__new__(Atom, (Kind.NUMBER, None, Graph.NO, constant, NOTHING, NO_PAST, NOTHING, vary, 0, 0, None)),)


ANYTHING: Value = (Atom(Kind.UNKNOWN, graph=Graph.MAYBE),)
PLAIN: Value = number()
NONE: Value = number(None)


class Obj:
    """A container, an object of a class, or the variables of a function: what has parts that change.

    kind: "list", "dict", "set", "deque", "tuple", "generator", "instance", "frame", or "open" for the parts of what
    nothing else is known of. fields: by name, key or index; ELEMENTS stands for all whose key is not known.
    born: when it was made. bounded: it drops what is too much. stepwise: its elements are made one by one in a step.
    """

    __slots__ = ("born", "bounded", "cls", "default", "fields", "kind", "node", "stepwise")

    def __init__(self, kind: str, node: ast.AST | None, born: int, cls: object = None) -> None:
        self.kind, self.node, self.born, self.cls = kind, node, born, cls
        self.fields: dict[Hashable, Value] = {}
        self.bounded = self.stepwise = False
        self.default: Value = ()
        """What a missing entry is made by (`defaultdict`)."""


ELEMENTS = "*"
LOADING = "goes over a loader"
"""Marks a stream (as its class) that goes over a DataLoader."""


def join(values: Iterable[Value]) -> Value:
    """A value that may be any of these."""
    values = [each for each in values if each]
    if len(values) == 1:
        return values[0]
    if len(values) == 2 and len(values[0]) == len(values[1]) == 1:  # most are
        one, other = values[0][0], values[1][0]
        if one is other:
            return values[0]
        return (_merged(one, other),) if one.identity == other.identity else (one, other)
    found: dict[tuple[Kind, Hashable], Atom] = {}
    last: Value = ()
    count = 0
    for value in values:
        if value is last:
            continue
        last = value
        count += 1
        for atom in value:
            key = atom.identity
            known = found.get(key)
            found[key] = atom if known is None or known is atom else _merged(known, atom)
    if count == 1:
        return last
    if len(found) > MOST_ALTERNATIVES:
        return _folded(list(found.values()))
    return tuple(found.values())


def _merged(one: Atom, other: Atom) -> Atom:
    if (
        other.born <= one.born
        and other.since <= one.since
        and other.graph <= one.graph
        and (other.held is None or one.held is not None)
        and other.parts <= one.parts
        and other.past <= one.past
        and other.via <= one.via
        and other.vary <= one.vary
    ):
        return one
    fields = (
        one.kind,
        one.site,
        one.graph if one.graph >= other.graph else other.graph,
        one.made,
        one.parts if other.parts <= one.parts else limited(one.parts | other.parts),
        one.past if other.past <= one.past else few_past(one.past | other.past),
        one.via if other.via <= one.via else limited(one.via | other.via),
        one.vary if other.vary <= one.vary else few_loops(one.vary | other.vary),
        one.born if one.born >= other.born else other.born,
        one.since if one.since >= other.since else other.since,
        one.held if one.held is not None else other.held,
    )
    return tuple.__new__(Atom, fields)  # as `but` does it: this is where most atoms are made


def _folded(atoms: list[Atom]) -> Value:
    """Too many alternatives: objects and functions stay as far as there is room, the others become one."""
    kept = [a for a in atoms if a.kind in (Kind.OBJECT, Kind.FUNCTION)][: MOST_ALTERNATIVES - 2]
    rest = [a for a in atoms if a.kind not in (Kind.OBJECT, Kind.FUNCTION, Kind.NUMBER)]
    if rest:
        first = rest[0]
        for each in rest[1:]:
            first = _merged(first, each)
        kept.append(first)
    if any(a.kind is Kind.NUMBER for a in atoms):
        kept.append(PLAIN[0])
    return tuple(kept)


def read_from(made: Obj, found: Value) -> Value:
    """A value with the note that it was read from a container."""
    return found if made.node is None else with_via(found, frozenset({made.node}))


def with_via(value: Value, via: frozenset[Site]) -> Value:
    """A value with the note what it was read from: whoever differentiates it reads that back."""
    if not via:
        return value
    return tuple([atom.but(via=atom.via | via) if may_matter(atom) else atom for atom in value])


def of_container(atom: Atom, found: Value) -> Value:
    """What was read from a container or an object: through all that this was read from, another one where it is."""
    return varying(with_via(found, atom.via), atom.vary)


def varying(value: Value, loops: frozenset[int]) -> Value:
    """The same things, but other ones in each iteration of these loops."""
    if not loops:
        return value
    for atom in value:
        if not loops <= atom.vary:
            return tuple([atom.varying(loops) for atom in value])
    return value


def may_matter(atom: Atom) -> bool:
    """Whether something may keep what is large: history, memory of a batch, frames, or what it holds."""
    return isinstance(atom.made, Obj) or atom.graph is not Graph.NO or atom.held is not None or atom.made == CAUGHT


def limited(sites: frozenset[Site], own: Site = None) -> frozenset[Site]:
    """No more sites than are remembered, its own among them."""
    if len(sites) <= _MOST_PARTS:
        return sites
    return frozenset([own, *sorted(sites, key=_place)[-_MOST_PARTS // 2 :]])


def may_be_limited(sites: frozenset[Site]) -> bool:
    """Whether there may have been more sites than are remembered."""
    return len(sites) >= _MOST_PARTS // 2


def few_past(past: frozenset[tuple[int, Site]]) -> frozenset[tuple[int, Site]]:
    """No more of what iterations left than is remembered: that of the first loops (around) and of the last (inside)."""
    if len(past) <= _MOST_LOOPS:
        return past
    ordered = sorted(past, key=lambda each: (each[0], _place(each[1])))
    return frozenset(ordered[: _MOST_LOOPS // 4] + ordered[-_MOST_LOOPS // 4 :])


def few_loops(loops: frozenset[int]) -> frozenset[int]:
    """No more loops than are remembered: the first (around) and the last (inside)."""
    if len(loops) <= _MOST_LOOPS:
        return loops
    ordered = sorted(loops)
    return frozenset(ordered[: _MOST_LOOPS // 4] + ordered[-_MOST_LOOPS // 4 :])


def _place(site: Site) -> tuple[int, int, int, int, str]:
    """Where a site stands, so that the same ones are left out in every run."""
    selectors = []
    while isinstance(site, tuple) and site:
        selectors.append(site[1] if isinstance(site[1], (str, int)) else "")
        site = site[0]
    return (
        getattr(site, "lineno", 0),
        getattr(site, "col_offset", 0),
        getattr(site, "end_lineno", 0),
        getattr(site, "end_col_offset", 0),
        f"{type(site).__name__}{selectors}",
    )


def is_marked(site: Site, *marks: str) -> bool:
    """Whether a part of a history is marked so: LEAF, BY_CALL, BY_NAME."""
    return isinstance(site, tuple) and site[0] in marks


def constant(value: Value) -> object:
    """The constant that a value is for certain; Mark.ANY if it is none."""
    if len(value) == 1 and value[0].kind is Kind.NUMBER and not isinstance(value[0].made, Mark):
        return value[0].made
    return Mark.ANY


def objects(value: Value) -> list[Obj]:
    """The objects among the alternatives."""
    return [atom.made for atom in value if isinstance(atom.made, Obj)]


def varies(value: Value) -> frozenset[int]:
    """The loops that give a value a new content."""
    found = NO_LOOPS
    for atom in value:
        if atom.vary:
            found |= atom.vary
    return found


def all_vary(values: Iterable[Value]) -> frozenset[int]:
    """The loops that give any of these values a new content."""
    return NO_LOOPS.union(*map(varies, values))
