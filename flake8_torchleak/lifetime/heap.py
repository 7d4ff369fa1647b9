"""The objects of a run: what they hold, when they were made, and what of that carries history."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator

from flake8_torchleak.lifetime.budget import Budget, Over
from flake8_torchleak.lifetime.frames import Frame
from flake8_torchleak.lifetime.journal import Journal
from flake8_torchleak.lifetime.seen import Seen
from flake8_torchleak.lifetime.values import ELEMENTS, HANDLE, Atom, Graph, Kind, Obj, Site, Value, join
from flake8_torchleak.lifetime.world import ClassInfo

DEEPEST = 3
"""Containers in containers that are looked into for what carries history."""
_MOST_WITHIN = 24
"""Atoms that are looked at of those that a value holds."""
_NO_HOLDERS: tuple[Obj | None, ...] = (None,) * _MOST_WITHIN
MOST_ENTRIES = 32
"""Keys of a container that are told apart; what has other ones is among those that any key may be."""
_CONTAINERS = frozenset({"list", "tuple", "dict", "set", "deque", "generator"})


class Heap(Budget):
    """All objects that a run makes, with the clock by which they are told apart."""

    def __init__(self) -> None:
        super().__init__()
        self.journal = Journal()
        self.clock = 1
        self.frames: list[Frame] = []
        self.seen = Seen()
        self.cut: set[ast.AST | None] = set()
        """The functions that were being followed when the steps were spent."""
        self.objects: list[Obj] = []
        """All that were made: who takes the run apart empties them."""
        self.latest: dict[Site, int] = {}
        """What makes objects -> when it made one last."""
        self.open: dict[tuple[Site, int], Obj] = {}
        """What was set of values of which nothing else is known, by their site and when they were made."""

    def go_on(self) -> None:
        """As of a budget; of the calls that it ends is known which they were."""
        try:
            super().go_on()
        except Over:
            self.cut = self.cut or {each.function.node for each in self.frames if each.function is not None}
            raise

    def tick(self) -> int:
        """A later time than any before."""
        self.clock += 1
        return self.clock

    @property
    def frame(self) -> Frame:
        """The call that is being followed."""
        return self.frames[-1]

    def new(self, kind: str, node: ast.AST | None, cls: ClassInfo | None = None) -> Obj:
        """A new object."""
        made = self.object(kind, node, self.tick(), cls)
        if node is not None:
            self.latest[node] = made.born
        return made

    def object(self, kind: str, node: ast.AST | None, born: int, cls: ClassInfo | None = None) -> Obj:
        """An object that was made at a certain time: 0 is before all that is followed."""
        made = Obj(kind, node, born, cls)
        self.objects.append(made)
        return made

    def of(self, made: Obj) -> Value:
        """The value that an object is."""
        return (Atom(Kind.OBJECT, made.node, made=made, born=made.born),)

    def put(self, made: Obj, name: Hashable, value: Value) -> None:
        """Set a field of an object; of a container that has many, one of those whose key is not known."""
        fields = made.fields
        if made.kind != "frame":
            self.place(value)
            self._leave(made, value)
        if len(fields) >= MOST_ENTRIES and name not in fields and made.kind in _CONTAINERS:
            self.add(made, value)
        else:
            self.journal.put(fields, name, value)

    def add(self, made: Obj, value: Value) -> None:
        """Put something among an object's elements."""
        self.place(value)
        self._leave(made, value)
        self.journal.put(made.fields, ELEMENTS, join([made.fields.get(ELEMENTS, ()), value]))

    def place(self, value: Value) -> None:
        """A value is put into something that may outlive the variable which it is in."""
        for atom in value:
            if isinstance(atom.made, Obj):
                self.seen.placed.add(atom.made.node)
            elif atom.graph is Graph.YES:
                self.seen.placed.add(atom.site)
            elif atom.made == HANDLE:
                self.seen.unhooked.add(atom.site)

    def _leave(self, made: Obj, value: Value) -> None:
        """Calls that leave what carries history in an object that was there before them give it, as by a return."""
        if made.born < self.frames[-1].entered and self.carries(value):
            later = (each.function for each in self.frames if made.born < each.entered)
            self.seen.giving.update(each.node for each in later if each is not None and each.node is not None)

    def within(self, value: Value) -> Iterator[tuple[Atom, Obj | None]]:
        """What a value is, or what the containers hold that it is, with the innermost container of each."""
        if self.open:
            return self._within(value)
        for atom in value:
            if isinstance(atom.made, Obj):
                return self._within(value)
        return zip(value[:_MOST_WITHIN], _NO_HOLDERS, strict=False)  # most are neither

    def _within(self, value: Value) -> Iterator[tuple[Atom, Obj | None]]:
        stack: list[tuple[Value, int, Obj | None]] = [(value, 0, None)]
        seen: set[int] = set()
        count = 0
        while stack:
            each, depth, holder = stack.pop()
            for atom in each:
                made = atom.made
                if isinstance(made, Obj):
                    if depth < DEEPEST and id(made) not in seen and self.holds(made):
                        seen.add(id(made))
                        self.look(len(made.fields))
                        stack += [(inner, depth + 1, made) for inner in made.fields.values()]
                    continue
                count += 1
                if count > _MOST_WITHIN:
                    return
                parts = self.open.get((atom.site, atom.born)) if self.open else None
                if parts is not None and depth < DEEPEST:  # some of it was replaced: the rest is not known
                    self.look(len(parts.fields))
                    stack += [(inner, depth + 1, holder) for inner in parts.fields.values()]
                    released = any(each.graph is Graph.NO for inner in parts.fields.values() for each in inner)
                    atom = atom.but(graph=Graph.NO if released else min(atom.graph, Graph.MAYBE))
                yield atom, holder

    def carries(self, value: Value) -> bool:
        """Whether a value, or what it holds, carries history or has its memory in a batch."""
        return any(atom.graph is Graph.YES or atom.held is not None for atom, _ in self.within(value))

    @staticmethod
    def holds(made: Obj) -> bool:
        """Whether what an object has is what somebody means who hands the object on: not of networks, trainers."""
        if made.kind != "instance":
            return made.kind != "frame"
        return not (isinstance(made.cls, ClassInfo) and made.cls.is_network)

    def objects_in(self, value: Value) -> list[Obj]:
        """The objects that a value is, or that those hold: each once, those that hold before those that are held."""
        found: dict[int, Obj] = {}
        level, depth = [value], 0
        while level:
            below: list[Value] = []
            for each in level:
                for atom in each:
                    made = atom.made
                    if made.__class__ is not Obj or made.kind == "frame" or id(made) in found:
                        continue
                    found[id(made)] = made
                    if depth < DEEPEST and self.holds(made):
                        self.look(len(made.fields))
                        below += made.fields.values()
            level, depth = below, depth + 1
        return list(found.values())
