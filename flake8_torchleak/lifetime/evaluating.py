"""Networks that are run in evaluation mode, in a loop, with gradients on: where, as far as the linted file shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.lifetime.frames import Evaluated, Loop
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import BY_CALL, BY_NAME, Site
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.tree import LOOPS


def record(run: Run, node: ast.expr) -> None:
    """Remember that a network is run here. What runs within another network's method is a part of that one's run."""
    switched = run.evaluating_since
    frames = run.frames
    within = next((at for at, each in enumerate(frames) if _is_of_network(each.function)), len(frames))
    at, call = within - 1, node if within == len(frames) else frames[within].call
    while at and (not frames[at].place.is_own or not _loops_in(run, at)):
        at, call = at - 1, frames[at].call
    loops = _loops_in(run, at)
    if switched is not None and loops and isinstance(call, ast.Call):
        run.seen.evaluated[call, loops[-1].node] = Evaluated(call, loops[-1], node, switched)


def _loops_in(run: Run, at: int) -> list[Loop]:
    """The statements around that go through more than a few rounds, of those in the function of one frame."""
    end = run.frames[at + 1].loops if at + 1 < len(run.frames) else len(run.loops)
    return [each for each in run.loops[run.frames[at].loops : end] if isinstance(each.node, LOOPS) and not each.small]


def _is_of_network(function: object) -> bool:
    owner = getattr(function, "owner", None)
    return isinstance(owner, ClassInfo) and owner.is_network


def in_vain(run: Run) -> Iterator[Evaluated]:
    """Those whose outputs nothing differentiates, in loops that train nothing."""
    for each in run.seen.evaluated.values():
        marks: set[Site] = {each.made, (BY_CALL, each.made), (BY_NAME, each.made)}
        if not each.loop.trains and not each.loop.of_networks and run.seen.spent.isdisjoint(marks):
            yield each
