"""What a program shows of what it keeps, and what it leaves open: who holds it, its graph, for how long."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.frames import BATCHES, FORWARD, Loop
from flake8_torchleak.lifetime.history import is_in
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.outliving import born_of
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import BY_CALL, BY_NAME, LEAF, Atom, Kind, Obj, Site, is_marked

_DATA = frozenset({Kind.TENSOR, Kind.UNKNOWN})


def is_of_update(run: Run, loop: Loop, holders: list[Atom]) -> bool:
    """Whether a function goes several times over data that its caller made for this call, and keeps nothing longer.

    A policy is updated with what was just played: it is some hundred steps, and the next call begins anew. Who goes
    over a loader, or over what was there before, goes over the whole data.
    """
    if loop.step == BATCHES or loop not in run.loops:
        return False
    at = run.loops.index(loop)
    frame = next(each for each in reversed(run.frames) if each.loops <= at)
    if not frame.loops or any(born_of(each) < frame.entered for each in holders):
        return False
    around = run.loops[frame.loops - 1].iteration
    return any(born_of(atom) >= around and _is_data(atom) for value in frame.given for atom in value)


def _is_data(atom: Atom) -> bool:
    """Whether something that a function is handed may be what it goes over."""
    return atom.made.kind != "instance" if isinstance(atom.made, Obj) else atom.kind in _DATA


def is_of_unseen(kept: Kept) -> bool:
    """Whether what keeps something is a part of an attribute that nobody can see: `self.trainer.loop.losses`."""
    return any(
        isinstance(site, tuple)
        and isinstance(site[0], tuple)
        and isinstance(site[1], str)
        and isinstance(site[0][1], str)
        for site in kept.ids
    )


def is_given_back(run: Run, kept: Kept) -> bool:
    """Whether a sum that nothing in sight differentiates is returned: whoever gets it may, a loss over tasks."""
    if kept.how != "sum" or kept.holders or kept.table or kept.evaluating or kept.loop.whole or kept.loop.optimizes:
        return False
    return kept.value.site in run.seen.given_back and not isinstance(kept.loop.node, ast.expr)


def is_beside_output(run: Run, kept: Kept) -> bool:
    """Whether something is what a network of the project gives beside the output that is differentiated.

    Attention weights, or features for a report: the network may have cut them from the graph itself. What is added up
    may be a figure for a report whatever network gave it: `loss, (entropy, hits) = net(x)`, and lengths and indices are
    handed out beside outputs. What only led to it, as an encoder did, is differentiated with those.
    """
    value = kept.value
    begun = {site[1] for site in value.parts if is_marked(site, LEAF, BY_CALL, BY_NAME) and isinstance(site, tuple)}
    found = {each for each in map(_part, (*value.parts, value.site)) if each is not None}
    parts = {call: {each for each in found if each[0] is call} for call in begun}
    if kept.how == "sum":
        parts = {call: those for call, those in parts.items() if those or call not in run.seen.spent}
    return bool(parts) and all(
        (kept.how == "sum" or call in run.seen.of_project) and _is_beside(run, those) for call, those in parts.items()
    )


def _is_beside(run: Run, parts: set[tuple[Site, Site]]) -> bool:
    """Whether these parts of what one call gives are not differentiated, and others are."""
    if not parts or not run.seen.spent.isdisjoint(parts) or any(at == 0 for _, at in parts):
        return False
    ((call, _), *_) = parts
    return any(isinstance(each, tuple) and each[0] is call for each in run.seen.spent)


def _part(site: Site) -> tuple[Site, Site] | None:
    """Which part of what a call gives a site is, or is in turn a part of."""
    while isinstance(site, tuple) and isinstance(site[0], tuple) and site[0]:
        site = site[0]
    return (site[0], site[1]) if isinstance(site, tuple) and not is_marked(site, LEAF, BY_CALL, BY_NAME) else None


def is_returned(kept: Kept, results: list[Atom]) -> bool:
    """Whether a forward pass returns the very tensor whose rows it set.

    Who differentiates that cannot do so again in the next step: the earlier rows' graphs are gone. So it runs without
    gradients, or its result is cut off.
    """
    if kept.loop.step != FORWARD or kept.how != "store" or kept.holders:
        return False
    sites: set[Site] = {each.site for each in results}
    return any(is_in(site, kept.at) for site in sites)
