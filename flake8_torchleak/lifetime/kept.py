"""What is kept beyond the step that made it: one place of it, as the run found it."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import dataclass

from flake8_torchleak.lifetime.frames import Frame, Loop
from flake8_torchleak.lifetime.values import CAUGHT, NOTHING, Atom, Graph, Site
from flake8_torchleak.lifetime.world import ClassInfo, Place


@dataclass(eq=False)
class Kept:
    """A value with history that a holder keeps.

    how: "sum", "store", "batch" (memory of a worker's batch is stored), "error" (an exception is, with its frames), or
    "state" (a recurrent network is handed what earlier steps made), "hook" (one is registered, and not removed), or
    "meter" (an object that nobody can see is fed with it), or "view" (`viewing.py`: a part of an array is stored).
    node: where to say so, in the linted file; at: where it is kept, there or elsewhere.
    calls: those around, from outside. loop: the step that the holder outlives.
    holders, ids: what keeps it, by the sites and by identity. parts: the sites in its history that matter to how.
    local: whether all that keeps it is made in what is followed, and no object of a class.
    """

    how: str
    node: ast.AST
    at: ast.AST
    target: ast.expr | None
    loop: Loop
    holders: frozenset[Site]
    ids: frozenset[Hashable]
    parts: frozenset[Site]
    calls: tuple[ast.AST, ...]
    place: Place
    local: bool
    evaluating: bool
    of_other: bool
    """Kept by an object of another class than the code that hands it over."""
    inner: frozenset[Site]
    """Records and the like in which the value is stored."""
    value: Atom
    owner: str
    """The class whose method keeps it; "" if it is no method."""
    lasting: bool
    """Whether the holder was made in the loop, in an earlier iteration."""
    one_pass: bool = False
    """Whether the holder was made in the same iteration of each loop around: it gets one pass over the data."""
    table: frozenset[Site] = frozenset()
    """What made the container that a sum is an entry of."""
    of_update: bool = False
    """Whether it is kept for one call of a function that goes over what its caller made for that."""
    returned: bool = False
    """Whether a forward pass returns what keeps it."""
    places: frozenset[Hashable] = NOTHING
    """Under which names what goes on with an earlier value stands when the step is over."""
    conditional: bool = False
    """Whether a condition in the loop decides over it."""
    anew: bool = False
    """Whether there are loops around, and each makes the holder anew: it is let go with one pass over the data."""
    nodes: bool = False
    """Whether what it was differentiated with freed all but the nodes of its graph, for certain."""
    dead: bool = False
    """Whether it turned out to be harmless."""

    @property
    def is_graph(self) -> bool:
        """Whether what is kept is autograd history."""
        return self.how in ("sum", "store")

    @property
    def sites(self) -> frozenset[Site]:
        """What made the value: itself, and what is in its history."""
        return self.value.parts | {self.value.site}


def how_of(atom: Atom) -> str:
    """How a holder keeps something: for its history, as memory of a batch, or as an exception; "" if it may."""
    if atom.graph is Graph.YES:
        return "store"
    return "batch" if atom.held is not None else "error" if atom.made == CAUGHT else ""


def owner_of(frame: Frame) -> str:
    """The class whose method a call is of; "" if it is of a function."""
    owner = frame.function.owner if frame.function is not None else None
    return owner.name if isinstance(owner, ClassInfo) else ""


def is_other(outer: Frame, inner: Frame) -> bool:
    """Whether the inner call is a method of an object that the outer one is not a method of."""
    function = inner.function
    if function is None or not function.receiver or not isinstance(function.owner, ClassInfo):
        return False
    own = outer.function.receiver if outer.function is not None else ()
    theirs = {id(atom.made) for atom in function.receiver}
    return not theirs & {id(atom.made) for atom in own}
