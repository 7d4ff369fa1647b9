"""Where it is said that something is kept: there, or where it was handed to the code that keeps it."""

from __future__ import annotations

from flake8_torchleak.lifetime.frames import Frame
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import Atom, Site
from flake8_torchleak.model.tree import FUNCTIONS


def place_of(run: Run, atom: Atom) -> int | None:
    """The innermost call of the linted file that got a value by itself, by its number; None if there is none.

    From the one that keeps it towards its callers: the first that was not handed the value.
    """
    frames = run.frames
    at = len(frames) - 1
    first = 1 if at and isinstance(frames[1].call, FUNCTIONS) else 0  # nobody was seen to call it
    while at > first and not (frames[at].place.is_own and _is_made_in(run, frames[at], atom)):
        at -= 1
    return at if frames[at].place.is_own else None


def _is_made_in(run: Run, frame: Frame, atom: Atom) -> bool:
    """Whether a call got a value by itself: it was made in it, or read from what outlives it, and not handed in."""
    if frame.entered <= atom.since:
        return True
    sites: set[Site] = {*atom.parts, atom.site}
    site = atom.site
    while isinstance(site, tuple) and len(site) == 2:  # a part of what was handed in
        site = site[0]
        sites.add(site)
    given = (each for value in frame.given for each, _ in run.within(value))
    return not any(each.site in sites or not sites.isdisjoint(each.parts) for each in given)
