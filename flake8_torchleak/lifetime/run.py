"""One run through a program: where it is, and what is done to what it follows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from flake8_torchleak.lifetime.frames import Loop
from flake8_torchleak.lifetime.heap import Heap
from flake8_torchleak.lifetime.values import HANDLE, Atom, Graph, Kind, Obj, Site, Value, objects
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


class Run(Heap):
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
        self.left_out = False
        """Whether what carries history, or memory of a batch, was handed to a call that is too deep to be followed."""
        self.nesting = 0
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
        self.visited: set[ast.AST] = set()
        """Functions that were followed."""
        self.lasting: set[int] = set()
        """Containers, by identity, that were made where there was none yet."""

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

    @property
    def is_conditional(self) -> bool:
        """Whether a condition in the innermost loop decides over what is done now."""
        loop = self.loops[-1] if self.loops else None
        if loop is None:
            return False
        inside = self.frames[loop.depth :]
        around = inside[0].tests if inside else self.tests
        return len(around) > loop.tests or bool(inside and self.tests) or any(each.tests for each in inside[1:])

    def take_for_step(self, loop: Loop, why: str) -> None:
        """A loop proves to be one of steps: it is worth while to follow what is followed."""
        loop.step = why
        self.spur()

    def is_new(self, site: Site) -> bool:
        """Whether an object was made in this very iteration: who reads it there reads nothing of an earlier one."""
        return bool(self.loops) and self.latest.get(site, 0) >= self.loops[-1].iteration

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
