"""Which functions of other files are worth following: what they are given has history, or may get one there."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flake8_torchleak.lifetime.frames import Function
from flake8_torchleak.lifetime.nodes import has_fewer, of_node
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import Atom, Graph, Keywords, Kind, Obj, Value
from flake8_torchleak.lifetime.world import ClassInfo

_PREPARING = frozenset({"__init__", "__getitem__", "__len__"})
"""Methods of objects that are handed about: followed where functions may come into them."""
_SMALL = 120
"""Nodes of a function that is followed whatever it is given."""
_LARGE = 1500
"""The same of a constructor that the file itself calls, but of a network's: what an object keeps begins there."""


def matters(run: Run, made: Function, args: Sequence[Value], keywords: Keywords, off: bool) -> bool:
    """Whether it is worth while to follow a function of another file: what it is given has history, or may get one.

    What it keeps of its own is found when that file is looked at. off: whether gradients are off in it, so that
    what a network makes there gets none: who is handed one, and nothing to keep things in, runs it.
    """
    values = [*args, *keywords.values()]
    if not isinstance(made.node, ast.Lambda) and made.node is not None and made.node.name in _PREPARING:
        handed = any(isinstance(atom.made, Function) for value in values for atom in value)
        is_network = isinstance(made.owner, ClassInfo) and made.owner.is_network
        shortens = is_network or not run.frame.place.is_own
        return handed or (_is_small(made.node) if shortens else _is_not_large(made.node))
    runs = off and _only_runs(made.receiver, values)
    for value in (made.receiver, *values) if runs else values:
        for atom, _ in run.within(value):
            if atom.graph is Graph.YES or (atom.held is not None and not runs):
                return True
            if (atom.kind is Kind.NETWORK and run.loops and not runs) or atom.kind is Kind.FUNCTION:
                return True
    if run.loops and not runs and any(run.modes.is_evaluated(atom) for atom in made.receiver):
        return True  # does it run the network, with gradients on?
    if any(isinstance(atom.made, Obj) and isinstance(atom.made.node, ast.arg) for atom in made.receiver):
        return False  # of an object that only an annotation speaks of
    return made.node is not None and _is_small(made.node) and (not runs or run.frame.place.is_own)


def _only_runs(receiver: Value, values: Sequence[Value]) -> bool:
    """Whether it is a network's method, or gets one, and no other object of the program, which may keep something."""
    if any(map(_is_network, receiver)):
        return True
    atoms = [atom for value in (receiver, *values) for atom in value]
    is_run = any(map(_is_network, atoms))
    return is_run and all(_is_network(atom) or not isinstance(atom.made, Obj) for atom in atoms)


def _is_network(atom: Atom) -> bool:
    made = atom.made
    return atom.kind is Kind.NETWORK or (
        isinstance(made, Obj) and isinstance(made.cls, ClassInfo) and made.cls.is_network
    )


@of_node
def _is_small(node: ast.AST) -> bool:
    return has_fewer(node, _SMALL)


@of_node
def _is_not_large(node: ast.AST) -> bool:
    return has_fewer(node, _LARGE)
