"""One run through a program: where it is, what time it is there, and what is done to what it follows."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Protocol

from flake8_torchleak.lifetime.budget import Budget
from flake8_torchleak.lifetime.frames import Frame, Loop
from flake8_torchleak.lifetime.journal import Journal
from flake8_torchleak.lifetime.seen import Seen
from flake8_torchleak.lifetime.values import ELEMENTS, HANDLE, Atom, Graph, Kind, Obj, Site, Value, join, objects
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.lifetime.annotations import Annotations
    from flake8_torchleak.lifetime.assignments import Assignments
    from flake8_torchleak.lifetime.attributes import Attributes
    from flake8_torchleak.lifetime.backward import Backward
    from flake8_torchleak.lifetime.branches import Branches
    from flake8_torchleak.lifetime.builtin import Builtin
    from flake8_torchleak.lifetime.calls import Calls
    from flake8_torchleak.lifetime.containers import Containers
    from flake8_torchleak.lifetime.elements import Elements
    from flake8_torchleak.lifetime.expressions import Expressions
    from flake8_torchleak.lifetime.foreign import Foreign
    from flake8_torchleak.lifetime.functions import Functions
    from flake8_torchleak.lifetime.generators import Generators
    from flake8_torchleak.lifetime.gradmode import Switches
    from flake8_torchleak.lifetime.hooking import Hooks
    from flake8_torchleak.lifetime.instances import Instances
    from flake8_torchleak.lifetime.keeping import Keeper
    from flake8_torchleak.lifetime.loops import Loops
    from flake8_torchleak.lifetime.making import Making
    from flake8_torchleak.lifetime.modes import Modes
    from flake8_torchleak.lifetime.names import Names
    from flake8_torchleak.lifetime.needing import Needing
    from flake8_torchleak.lifetime.networks import Networks
    from flake8_torchleak.lifetime.operations import Operations
    from flake8_torchleak.lifetime.rebinding import Rebinding
    from flake8_torchleak.lifetime.recalling import Recalling
    from flake8_torchleak.lifetime.statements import Statements
    from flake8_torchleak.lifetime.unseen import Unseen


DEEPEST = 3
"""Containers in containers that are looked into for what carries history."""
_MOST_WITHIN = 24
"""Atoms that are looked at of those that a value holds."""
_NO_HOLDERS: tuple[Obj | None, ...] = (None,) * _MOST_WITHIN
MOST_ENTRIES = 32
"""Keys of a container that are told apart; what has other ones is among those that any key may be."""
_CONTAINERS = frozenset({"list", "tuple", "dict", "set", "deque", "generator"})
_LEARNING = frozenset({Kind.NETWORK, Kind.OPTIMIZER})
"""What may be trained by whoever is handed it."""
MOST_FRAMES = 10
"""Calls within calls that are followed."""
DEEPEST_NESTING = 240
"""Nodes within nodes, over all frames, that are followed."""


class Evaluates(Protocol):
    """What gives the value of an expression."""

    def __call__(self, node: ast.expr) -> Value: ...


class Part:
    """One part of a run: it answers one kind of question, and asks the others over the run."""

    def __init__(self, run: Run) -> None:
        self.run = run


class Run(Budget):
    """The state of one run; its parts are set by `assembly.py`."""

    evaluate: Evaluates
    annotations: Annotations
    assignments: Assignments
    attributes: Attributes
    backward: Backward
    branches: Branches
    builtin: Builtin
    calls: Calls
    containers: Containers
    elements: Elements
    expressions: Expressions
    foreign: Foreign
    functions: Functions
    generators: Generators
    hooks: Hooks
    instances: Instances
    keeper: Keeper
    looping: Loops
    make: Making
    modes: Modes
    names: Names
    needing: Needing
    networks: Networks
    operations: Operations
    rebinding: Rebinding
    recalling: Recalling
    statements: Statements
    switches: Switches
    unseen: Unseen

    def __init__(self) -> None:
        super().__init__()
        self.journal = Journal()
        self.clock = 1
        self.left_out = False
        """Whether what carries history, or memory of a batch, was handed to a call that is too deep to be followed."""
        self.nesting = 0
        self.frames: list[Frame] = []
        self.loops: list[Loop] = []
        self.loop_count = 0
        self.grad_off = 0
        """How many contexts without gradients are around."""
        self.evaluating = False
        """Whether a network was put in evaluation mode last."""
        self.evaluating_since: ast.AST | None = None
        """What did so."""
        self.whole = False
        """Whether the whole program is followed, from its first statement, and its text differentiates nothing."""
        self.guards: list[frozenset[int]] = []
        """For each branch around, the loops in which it is run a bounded number of times only."""
        self.told = False
        """Whether a counter, or a type, decides a condition: what does not hold then does not in any further step."""
        self.caught: list[Value] = []
        """What the `except` blocks around have caught."""
        self.tests: list[ast.expr] = []
        """The conditions of the branches around."""
        self.seen = Seen()
        self.objects: list[Obj] = []
        """All that were made: who takes the run apart empties them."""
        self.visited: set[ast.AST] = set()
        """Functions that were followed."""
        self.lasting: set[int] = set()
        """Containers, by identity, that were made where there was none yet."""
        self._latest: dict[Site, int] = {}
        """What makes objects -> when it made one last."""
        self.open: dict[tuple[Site, int], Obj] = {}
        """What was set of values of which nothing else is known, by their site and when they were made."""

    def tick(self) -> int:
        """A later time than any before."""
        self.clock += 1
        return self.clock

    @property
    def frame(self) -> Frame:
        """The call that is being followed."""
        return self.frames[-1]

    @property
    def followed(self) -> Iterator[ast.AST]:
        """The functions that are being followed, from outside."""
        functions = (each.function for each in self.frames if each.function is not None)
        return (each.node for each in functions if each.node is not None)

    @property
    def is_program(self) -> bool:
        """Whether this is run once, by the module's own statements: in no loop, and in no function that is a root."""
        return not self.loops and not (len(self.frames) > 1 and isinstance(self.frames[1].call, FUNCTIONS))

    @property
    def is_too_deep(self) -> bool:
        """Whether no further call is to be followed."""
        return len(self.frames) > MOST_FRAMES or self.nesting > DEEPEST_NESTING

    def new(self, kind: str, node: ast.AST | None, cls: ClassInfo | None = None) -> Obj:
        """A new object."""
        made = self.object(kind, node, self.tick(), cls)
        if node is not None:
            self._latest[node] = made.born
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

    @property
    def is_conditional(self) -> bool:
        """Whether a condition in the innermost loop decides over what is done now."""
        loop = self.loops[-1] if self.loops else None
        if loop is None:
            return False
        inside = self.frames[loop.depth :]
        around = inside[0].tests if inside else self.tests
        return len(around) > loop.tests or bool(inside and self.tests) or any(each.tests for each in inside[1:])

    def is_new(self, site: Site) -> bool:
        """Whether an object was made in this very iteration: who reads it there reads nothing of an earlier one."""
        return bool(self.loops) and self._latest.get(site, 0) >= self.loops[-1].iteration

    def empty(self, atom: Atom) -> None:
        """What a value is is emptied, or loses an element: for the loops in whose iteration it was not made."""
        made = atom.made if isinstance(atom.made, Obj) else None
        for loop in self.loops:
            if (made or atom).born < loop.iteration:
                loop.emptied.add(id(made) if made is not None else atom.site)

    def replace(self, old: Value, new: Value) -> None:
        """A variable or attribute is bound anew: what an earlier iteration made and put there goes."""
        there = objects(old)
        for loop in self.loops if there else ():
            if loop.last:
                found = {id(made): made.born for made in there}
                gone = {each for each, born in found.items() if loop.start <= born < loop.iteration}
                gone |= found.keys() & self.lasting
                loop.replaced |= gone - {id(made) for made in objects(new)}

    def escape(self, value: Value) -> None:
        """A value is handed to code that nobody can see."""
        for made in self.objects_in(value):
            self.seen.escaped.add(made.node)
        for atom, _ in self.within(value):
            if atom.graph is Graph.YES:
                self.seen.placed.add(atom.site)
            elif atom.made == HANDLE:
                self.seen.unhooked.add(atom.site)
        self.lend(value)

    def lend(self, value: Value) -> None:
        """A value is handed to code that is not followed: what learns of it may be trained there."""
        if self.whole and not self.seen.lent:
            self.seen.lent = self.learns(value) or any(not self.holds(made) for made in self.objects_in(value))

    def learns(self, value: Value) -> bool:
        """Whether a value is a network, an optimizer or a part of one, or holds such."""
        return any(atom.kind in _LEARNING for atom, _ in self.within(value))

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
