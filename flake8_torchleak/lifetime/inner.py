"""Loops that are a part of one training step: over networks, over tasks that one step is made for, of adaptation."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flake8_torchleak.lifetime.frames import TRAINING, Loop
from flake8_torchleak.lifetime.libraries import NO_HISTORY_FUNCTIONS, READ_ONLY_METHODS
from flake8_torchleak.lifetime.nodes import of_node, walk
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import Atom, Graph, Kind, Site, Value
from flake8_torchleak.model.names import last_name

_PLAIN = frozenset({"range", "len", "enumerate", "zip", "reversed", "sorted", "list", "keys", "values", "items", "int"})
"""What a loop may go over, or ask for, without showing anything."""


def feed(run: Run, values: Iterable[Value]) -> None:
    """A network, or what may be one, is given these: the loops that have something else for it in each iteration."""
    loops = [loop for loop in run.loops if not loop.fed]
    if not loops:
        return
    for value in values:
        for atom, _ in run.within(value):
            if atom.kind is not Kind.NUMBER and atom.kind is not Kind.NETWORK:
                for loop in loops:
                    loop.fed = (
                        loop.fed or loop.ident in atom.vary or (atom.born >= loop.iteration and _is_new(run, atom))
                    )


def _is_new(run: Run, atom: Atom) -> bool:
    """Whether something is made of what a call gave that may give something else each time."""
    if atom.kind is Kind.TENSOR and atom.graph is Graph.NO:
        made = _base(atom.site)
        return isinstance(made, ast.Call) and last_name(made.func) in NO_HISTORY_FUNCTIONS
    return any(_base(site) in run.seen.drawn for site in (*atom.parts, atom.site))


def _base(site: Site) -> Site:
    while isinstance(site, tuple) and site:
        site = site[0]
    return site


def stepped(run: Run) -> None:
    """Something steps: an optimizer, or what may be one."""
    for loop in run.loops:
        loop.optimizes = True
    for loop in run.frame.unstepped:
        loop.is_micro = True


def picked(run: Run, atom: Atom) -> None:
    """A network or an optimizer is told to begin, or to step: the loops that have another one in each iteration."""
    for loop in run.loops:
        loop.of_networks = loop.of_networks or (loop.ident in atom.vary and atom.born < loop.start)


def finished(run: Run, loop: Loop) -> None:
    """A loop is over: what it turned out to be."""
    if loop.step and not loop.optimizes:
        run.frame.unstepped.append(loop)
    if loop.step and not loop.of_networks:
        for outer in run.loops:
            outer.of_epochs = True
    if loop.goes_on:
        alone = not loop.step and not loop.fed
        run.seen.decoding[loop.node] = alone and run.seen.decoding.get(loop.node, True)


def is_part(loop: Loop) -> bool:
    """Whether nothing but what is differentiated in a loop speaks for a step, and more for a part of one.

    It goes over networks, an optimizer steps behind it only, or it goes on with the same data, is not long, in a
    function that others may call in a step, and tells nobody how far it is.
    """
    if loop.step != TRAINING:
        return False
    if loop.of_networks or loop.is_micro:
        return True
    is_fed = loop.fed or loop.is_apart
    return not is_fed and isinstance(loop.node, (ast.For, ast.AsyncFor)) and not _tells(loop.node)


@of_node
def _tells(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop shows how far it is: it prints, logs, goes over a bar, or does something every few iterations."""
    if any(isinstance(each, ast.Call) and last_name(each.func) not in _PLAIN for each in walk(node.iter)):
        return True
    for statement in node.body:
        for each in walk(statement):
            if isinstance(each, ast.Call) and last_name(each.func) in READ_ONLY_METHODS:
                return True
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mod):
                return True
    return False
