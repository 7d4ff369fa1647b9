"""Graphs that evaluation builds and nobody uses: passes over a loader without optimizer steps and without backward."""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchleak.recorder.origins import Origins, places
from flake8_torchleak.recorder.result import Kept, Site
from flake8_torchleak.recorder.steps import Pass

_BATCHES = 3
"""Batches with a graph from which on a pass is told."""


class IdleGraphs:
    """Counts, pass by pass, the batches in which results with history were made."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self._made: dict[int, int] = {}
        self._with_graph: dict[int, int] = {}
        self._site: dict[int, tuple[Site, Site | None]] = {}

    def turn(self, now: Pass) -> None:
        """The next batch of a pass is handed out."""
        before = self._made.get(now.number)
        made = self._origins.made
        if before is not None and made > before and self._origins.last is not None:
            self._with_graph[now.number] = self._with_graph.get(now.number, 0) + 1
            self._site[now.number] = places(self._origins.last)
        self._made[now.number] = made

    def kept(self, passes: list[Pass]) -> Iterator[Kept]:
        told: set[Site] = set()
        for each in passes:
            count = self._with_graph.get(each.number, 0)
            if each.trains or each.differentiates or count < _BATCHES:
                continue
            made, called = self._site[each.number]
            if made in told:
                continue
            told.add(made)
            place = called or made
            note = f"{count} of {each.batches} batches built a graph that nothing differentiates; use `torch.no_grad()`"
            yield Kept("evaluation", place.function, place.function, (made,), called, note=note, clock="loader")
