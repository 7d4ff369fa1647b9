"""A module's program, followed for the views that it keeps of arrays which its steps make."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from flake8_torchleak.lifetime.assembly import take_apart
from flake8_torchleak.lifetime.deep import room
from flake8_torchleak.lifetime.follow import own_place
from flake8_torchleak.lifetime.frames import Function
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.runner import Runner
from flake8_torchleak.lifetime.viewing import MAKERS, VIEW, ViewedKeeper
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


_MOST_STEPS = 6_000
"""Of a whole file: arrays are cut near the place where they are made, and what is longer costs more than it tells."""


class _Viewer(Runner):
    """Runs what makes arrays, and what leads there. Gradients are off."""

    def all(self) -> None:
        """The module as it is run, then each function that nobody was seen to call."""
        run, steps = self.run, self._steps
        assert self.own.root is not None
        self._off = run.grad_off = 1
        making = steps.reading(MAKERS)
        if steps.read_at_top(MAKERS | {each.name for each in making}):
            self._bounded(self.own.root, partial(run.statements.block, self.own.root.body))
        for function, owner in steps.callers_first():
            if function in making and function not in run.visited:
                self._bounded(function, partial(self._root, function, owner))

    def _forward(self, function: FunctionNode, info: ClassInfo) -> None:
        """Follow a network's forward pass once: no pass makes a step of it."""
        for each in self.receivers.of(info, function):
            self._call(Function(function, self.own, None, info, self._instance(each)), info)


def followed_views(module: Module) -> Iterator[Kept]:
    """The parts of arrays that something keeps, each with all of its array, which nothing else needs.

    All that is known of one is gone when the next is asked for, or none.
    """
    viewer = _Viewer(own_place(module), lambda: _MOST_STEPS, views=True)
    try:
        with room():
            viewer.all()
        keeper = viewer.run.keeper
        assert isinstance(keeper, ViewedKeeper)
        for each in keeper.found:
            if each.how == VIEW and not (each.dead or keeper.keeps_all_of(each.value)):
                yield each
    finally:
        take_apart(viewer.run, viewer.own)
