"""Kept graphs: for each holder, the values with history and the old part of the graph that hangs on them."""

from __future__ import annotations

from typing import Any

import torch

from flake8_torchleak.recorder import graphs
from flake8_torchleak.recorder.measure import Age, Key, Measure
from flake8_torchleak.recorder.origins import Origins
from flake8_torchleak.recorder.walk import Path


class GraphCollector:
    """origins: where values were made; None: sites, and the memory of saved tensors, are not looked for."""

    def __init__(self, origins: Origins | None) -> None:
        self._origins = origins
        self._held: list[tuple[Path, torch.Tensor, Any]] = []
        self._graphs = graphs.Graphs()

    def see(self, path: Path, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            node = graphs.node_of(value)
            if node is not None:
                self._held.append((path, value, node))

    def close(self, age: Age) -> dict[Key, Measure]:
        held, self._held = self._held, []
        found: dict[Key, Measure] = {}
        nodes: dict[str, set[int]] = {}
        storages: set[int] = set()
        origins = self._origins
        weigh = origins is not None and not origins.hooked
        for path, tensor, node in held:
            pattern = path.all_alike
            # A graph may hang on several holders: each is told what it keeps alive, whoever else does.
            graph = self._graphs.below(node, age.node, weigh, nodes.setdefault(pattern, set()))
            is_old = graphs.number_of(node) < age.node
            if not graph.old and not is_old:
                continue
            measure = found.setdefault(("graph", pattern), Measure())
            measure.value += graph.old + is_old
            measure.size += graph.size + graphs.NODE_BYTES * graph.nodes
            if weigh:
                measure.size += graphs.weight(tensor, storages)
            measure.holder, measure.bound = str(path), path.bound
            self._place(measure, tensor)
        if origins is not None:
            self._unheld(found, age, set().union(*nodes.values()), {id(tensor) for _, tensor, _ in held})
        self._graphs.end()
        return found

    def _place(self, measure: Measure, tensor: torch.Tensor) -> None:
        place = self._origins.of(tensor) if self._origins is not None else None
        if place is not None:
            measure.made[place[0]] += 1
            measure.called = place[1]

    def _unheld(self, found: dict[Key, Measure], age: Age, nodes: set[int], held: set[int]) -> None:
        """Old results that are alive although nothing that was reached holds them, by the line that made them."""
        assert self._origins is not None
        for tensor in self._origins.alive(age.result):
            node = graphs.node_of(tensor)
            if node is None or id(tensor) in held or graphs.number_of(node) in nodes:
                continue
            measure = Measure(holder="a holder that was not seen")
            self._place(measure, tensor)
            place = next(iter(measure.made))
            known = found.setdefault(("unheld", str(place)), measure)
            known.value += 1
