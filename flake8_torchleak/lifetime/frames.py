"""What a run is in the middle of: functions, the calls of them, and the loops around."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from flake8_torchleak.lifetime.journal import Changes
from flake8_torchleak.lifetime.values import ANYTHING, Obj, Site, Value
from flake8_torchleak.lifetime.world import ClassInfo, Place, Scope
from flake8_torchleak.model.tree import FunctionNode

BATCHES = "one iteration per batch"
EVALUATING = "one iteration per evaluation step"
FORWARD = "each training step calls it"
HOOKED = "one call per forward pass"
TRAINING = "one iteration per training step"
IN_VAIN = "a network runs in each iteration, and nothing in the program differentiates"
"""Why a loop is a step."""


CALLED = "__call__"
"""Of a function that a library defines and that is bound to arguments: what is done with it."""


@dataclass(eq=False)
class Function:
    """A function with what it was bound to.

    closure: the call in which it was defined. owner: the class whose method it is; receiver: what it is called on.
    args, keywords: what it is given before all else (`partial`).
    builtin: the name of a method of a container or tensor (`push = kept.append`), `node` is None then; without a
    receiver, of the first argument (`methodcaller`); CALLED: the receiver is a library's function (`partial`).
    memo: where an unbounded cache keeps what it is called with. off: it is run without gradients.
    """

    node: FunctionNode | ast.Lambda | None
    place: Place
    closure: Frame | None = None
    owner: ClassInfo | None = None
    receiver: Value = ()
    args: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    builtin: str = ""
    memo: Obj | None = None
    off: bool = False


@dataclass(eq=False)
class Loop:
    """One run through a loop. start: when it was entered; iteration: when its present iteration began."""

    ident: int
    node: ast.AST
    start: int
    iteration: int = 0
    depth: int = 0
    """How many calls are around it."""
    tests: int = 0
    """How many conditions of its function are around it."""
    again: bool = False
    """Whether it is a step, and this is an iteration behind another one: what outlives it grows."""
    last: bool = False
    """Whether this is the last time that it is gone through; those inside are gone through in full only then."""
    unfinished: bool = False
    """Whether this is an iteration that finds what the one before left."""
    counted: bool = False
    """Whether a condition in it asks for its first iteration: what holds from the second on, the third finds."""
    step: str = ""
    """Why it is a step, in words for a note; "" if it is none."""
    small: bool = False
    """Whether it is gone through a few times only."""
    is_apart: bool = False
    """Whether it is no part of a step: the module's own statements run it in no other loop, or it is a long one."""
    whole: bool = False
    """Whether it is a loop of a program that is followed from its first statement."""
    trains: bool = False
    """Whether something is differentiated in it."""
    cut_short: bool = False
    """Whether it is left after a few iterations."""
    counts: bool = False
    """Whether it is left after a number of iterations that is not known, or large."""
    fed: bool = False
    """Whether a network is given something else in each iteration: an element, a part by a counter, what is drawn."""
    of_networks: bool = False
    """Whether it goes over networks, or over optimizers: there are as many as fit into memory."""
    optimizes: bool = False
    """Whether something steps in it: an optimizer, or what may be one."""
    goes_on: bool = False
    """Whether a network in evaluation mode, with gradients on, is given what earlier iterations made."""
    of_rows: bool = False
    """Whether it evaluates a network on ranges of one tensor: steps in time, chunks of one input."""
    of_round: bool = False
    """Whether it goes over the rows of a tensor, in a round of another loop of the same function."""
    of_epochs: bool = False
    """Whether loops in it are steps: what is kept once an iteration is kept once an epoch."""
    is_micro: bool = False
    """Whether nothing steps in it and an optimizer does behind it: its iterations make one step together."""
    fills: list[Obj] = field(default_factory=list)
    """What it goes on with until that has a certain length."""
    emptied: set[Hashable] = field(default_factory=set)
    """Objects that are emptied in it, by identity, and what is only known by its site."""
    rewritten: dict[int, Obj] = field(default_factory=dict)
    """Containers that it goes over, each entry of which it sets: if it is not gone through, they are empty."""
    replaced: set[int] = field(default_factory=set)
    """Objects that it made in an earlier iteration, by identity, in whose place something else is put."""
    came_round: dict[Site, set[Hashable]] | None = None
    """What stands, when it is over, where its iterations find what the one before left, and what that is made of.

    By what made it: under which names it stands there. None: the loop was not gone through as a step.
    """
    breaks: list[Changes] = field(default_factory=list)
    continues: list[Changes] = field(default_factory=list)
    continued: int = 0
    """How much was found to be kept when an iteration was last seen to go on to the next one."""


class Evaluated(NamedTuple):
    """One call in the linted file that runs a network, itself or by what it calls."""

    call: ast.Call
    loop: Loop
    """The innermost one around that call: a statement, or else of a comprehension."""
    made: Site
    """Where the network itself is called."""
    switched: ast.AST
    """What put a network in evaluation mode last."""
    within: ast.AST | None
    """The function that has the loop; None if the module has it."""
    assumed: bool
    """Whether nobody can see that the method which is called runs the network."""


@dataclass(eq=False)
class Frame:
    """One call that is being followed. call: the expression in the caller that it came from."""

    variables: Obj
    place: Place
    entered: int
    scope: Scope | None = None
    function: Function | None = None
    call: ast.AST | None = None
    loops: int = 0
    """How many loops were around the call."""
    tests: list[ast.expr] = field(default_factory=list)
    """The conditions of the branches around the call."""
    returns: list[Value] = field(default_factory=list)
    exits: list[Changes] = field(default_factory=list)
    yields: Obj | None = None
    unstepped: list[Loop] = field(default_factory=list)
    """Loops that are over, in which nothing stepped."""
    given: tuple[Value, ...] = ()
    """What it was handed."""
    sent: Value = ANYTHING
    """What a `yield` gives."""
    mode: int | None = None
    """How many contexts without gradients are around its first `yield`."""
    enclosed: bool = False
    """Whether a function was defined in it, which may be called when it is over."""
