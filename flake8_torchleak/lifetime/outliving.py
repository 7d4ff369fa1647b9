"""Which step a holder outlives: it was there before the loop, and nothing bounds what the loop adds to it."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.frames import BATCHES, Loop
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import NO_LOOPS, Atom, Kind, Obj
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.tree import LOOPS

_CONTAINERS = frozenset({"list", "dict", "set", "deque", "instance", "generator"})


def outlived(run: Run, holders: list[Atom], chained: bool, vary: frozenset[int] | None = None) -> Loop | None:
    """The innermost step that the holder was there before, and that keeps adding to it."""
    bounded = NO_LOOPS.union(*run.guards)
    for at in range(len(run.loops) - 1, -1, -1):
        loop = run.loops[at]
        if not loop.again:
            continue
        if loop.ident in bounded:
            return None
        if vary is not None and loop.ident not in vary:
            return None
        if chained:
            if any(a.born >= loop.start and not a.past for a in holders):
                return None
        elif any(born_of(atom) >= loop.start for atom in holders) and not is_lasting(loop, holders):
            continue
        if _is_part_of_step(run, at, holders):
            return None
        return loop
    return None


def is_lasting(loop: Loop, holders: list[Atom]) -> bool:
    """Whether a holder was made in an earlier iteration of a step: where there was none yet, if nothing replaces it."""
    return loop.last and all(loop.start <= born_of(atom) < loop.iteration for atom in holders)


def gets_one_pass(run: Run, loop: Loop, holders: list[Atom]) -> bool:
    """Whether what a step adds to was made for this one pass: in the iteration that each loop around is in."""
    return all(born_of(atom) >= each.iteration for each in _around(run, loop) for atom in holders)


def is_made_anew(run: Run, loop: Loop, holders: list[Atom]) -> bool:
    """Whether loops around a step make what it adds to in each of their iterations, as epochs do."""
    is_around = any(isinstance(each.node, LOOPS) for each in _around(run, loop))
    return is_around and gets_one_pass(run, loop, holders)


def is_of_file_called(run: Run, at: int, loop: Loop, made: list[Atom]) -> bool:
    """Whether a call of another file made all of this: the step, what keeps something there, and what is kept.

    It is over with that call, and who looks at that file is told of it there.
    """
    called = run.frames[at + 1] if at + 1 < len(run.frames) else None
    if called is None or called.place.is_own or not made:
        return False
    return loop.start >= called.entered and all(born_of(each) >= called.entered for each in made)


def _around(run: Run, loop: Loop) -> list[Loop]:
    """The loops around one, from outside; none if that is not run any more."""
    return run.loops[: run.loops.index(loop)] if loop in run.loops else []


def carried(run: Run, found: list[tuple[Atom, Obj | None]]) -> Loop | None:
    """The innermost step whose earlier iterations left something like what is there now, beside it.

    found: what is there, with the container that holds it: what an older container holds was not put there now.
    """
    bounded = NO_LOOPS.union(*run.guards)
    for at in range(len(run.loops) - 1, -1, -1):
        loop = run.loops[at]
        left = [holder for atom, holder in found if (loop.ident, atom.site) in atom.past]
        if loop.again and any(holder is not None and holder.born >= loop.start for holder in left):
            return None if loop.ident in bounded or _is_part_of_step(run, at, []) else loop
    return None


def is_cut(found: tuple[Atom, Obj | None]) -> bool:
    """Whether something was read from a slice with an end: `[*kept[-2:], loss]` does not grow."""
    slices = [site.slice for site in found[0].via if isinstance(site, ast.Subscript)]
    return any(isinstance(each, ast.Slice) and (each.lower or each.upper) is not None for each in slices)


def _is_part_of_step(run: Run, at: int, holders: list[Atom]) -> bool:
    """Whether the holder starts anew for each batch, or step, of a loop around: this loop is a part of that."""
    loop = run.loops[at]
    if loop.step == BATCHES or not holders:
        return False
    for outer in run.loops[:at]:
        if outer.step == BATCHES or loop.of_networks:
            if all(born_of(a) >= outer.iteration for a in holders):
                return True
    return False


def is_within_step(run: Run, holders: list[Atom]) -> bool:
    """Whether what keeps something longer than the innermost loop starts anew in a step that this loop is a part of."""
    for at in range(len(run.loops) - 1, -1, -1):
        loop = run.loops[at]
        if loop.again and holders and all(born_of(atom) < loop.start for atom in holders):
            return _is_part_of_step(run, at, holders)
    return False


def is_renewed(run: Run, holders: list[Atom]) -> bool:
    """Whether a holder is made anew in the innermost step, each time or now and then."""
    steps = [loop for loop in run.loops if loop.again]
    return bool(steps) and any(born_of(atom) >= steps[-1].start and not atom.past for atom in holders)


def is_bounded(run: Run) -> bool:
    """Whether a condition lets what is done here be done a few times only, in every step around."""
    bounded = NO_LOOPS.union(*run.guards)
    steps = [loop for loop in run.loops if loop.again]
    return bool(steps) and steps[-1].ident in bounded


def may_hold(atom: Atom) -> bool:
    """Whether something may be put into it, and stays."""
    made = atom.made
    if isinstance(made, Obj):
        return made.kind in _CONTAINERS and not made.bounded
    return atom.kind in (Kind.UNKNOWN, Kind.TENSOR)


def born_of(atom: Atom) -> int:
    """When what a value is was made: of an object, the object."""
    return atom.made.born if isinstance(atom.made, Obj) else atom.born


def is_of_network(run: Run, target: ast.expr) -> bool:
    """Whether an attribute belongs to the network whose method is being followed."""
    function = run.frame.function
    owner = function.owner if function is not None else None
    return (
        isinstance(target, ast.Attribute)
        and isinstance(owner, ClassInfo)
        and owner.is_network
        and (function is not None and getattr(function.node, "name", "") in ("forward", "__call__", "step"))
    )
