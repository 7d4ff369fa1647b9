"""Kept graphs: for each holder, the values with history and the old part of the graph that hangs on them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import torch

from flake8_torchleak.recorder import graphs
from flake8_torchleak.recorder.graphs import number_of
from flake8_torchleak.recorder.measure import Age, Key, Measure
from flake8_torchleak.recorder.origins import Origin, Origins, places
from flake8_torchleak.recorder.walk import Path

_Root = tuple[int, int]
"""A value, told apart by the number of its node and its identity."""
_Value = tuple[Path, torch.Tensor, Any, int]
"""A tensor with history, how it was reached, its node and that node's number."""


@dataclass(slots=True)
class _Held:
    """The old values of one holder. numbers: of all nodes below them; size: bytes; made: where the values were made."""

    roots: set[_Root] = field(default_factory=set)
    numbers: set[int] = field(default_factory=set)
    storages: set[int] = field(default_factory=set)
    size: int = 0
    made: Counter[Origin] = field(default_factory=Counter)


class GraphCollector:
    """origins: where values were made; None: sites, and the memory of saved tensors, are not looked for.

    What a holder held at the last census and still holds is not looked at again.
    """

    wants = "values"

    def __init__(self, origins: Origins | None) -> None:
        self._origins = origins
        self._values: defaultdict[str, list[_Value]] = defaultdict(list)
        self._graphs = graphs.Graphs()
        self._held: dict[str, _Held] = {}

    def see(self, path: Path, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            node = graphs.node_of(value)
            if node is not None:
                self._values[path.all_alike].append((path, value, node, node._sequence_nr()))

    def close(self, age: Age) -> dict[Key, Measure]:
        values, self._values = self._values, defaultdict(list)
        weigh = self._origins is not None and not self._origins.hooked
        found: dict[Key, Measure] = {}
        nodes: list[set[int]] = []
        now: dict[str, _Held] = {}
        for pattern, several in values.items():
            # A graph may hang on several holders: each is told what it keeps alive, whoever else does.
            held = now[pattern] = self._look(self._held.get(pattern), several, age.node, weigh)
            measure, beside = self._measure(held, several, age.node, weigh)
            nodes += [held.numbers, beside]
            if measure.value:
                found["graph", pattern] = measure
        if self._origins is not None:
            tensors = {id(tensor) for several in values.values() for _, tensor, _, _ in several}
            self._unheld(found, self._origins, age, tensors, nodes)
        self._held = now
        self._graphs.end(number for held in now.values() for number, _ in held.roots)
        return found

    def _look(self, last: _Held | None, values: list[_Value], before: int, weigh: bool) -> _Held:
        """The old values of a holder. last: what it held at the last census."""
        old = {(number, id(tensor)): (tensor, node) for _, tensor, node, number in values if number < before}
        held = last if last is not None and last.roots <= old.keys() else _Held()
        for root in old.keys() - held.roots:
            tensor, node = old[root]
            fresh = self._graphs.below(node, weigh) - held.numbers
            held.roots.add(root)
            held.numbers |= fresh
            held.size += self._graphs.size(fresh) + (self._graphs.weight(tensor, held.storages) if weigh else 0)
            self._place(held.made, tensor)
        return held

    def _measure(self, held: _Held, values: list[_Value], before: int, weigh: bool) -> tuple[Measure, set[int]]:
        """What a holder holds, and the old nodes below those of its values that are not old themselves."""
        beside: set[int] = set()
        young: set[int] = set()
        storages: set[int] = set()
        made = Counter(held.made)
        size = held.size
        last: Path | None = None
        for path, tensor, node, number in values:
            if number >= before:
                below, above = self._graphs.around(node, before, weigh)
                below -= held.numbers
                if below <= beside:
                    continue
                beside |= below
                young |= above
                size += self._graphs.weight(tensor, storages) if weigh else 0
                self._place(made, tensor)
            last = path
        value = len(held.roots) + len(held.numbers) + len(beside)
        size += self._graphs.size(beside) + graphs.NODE_BYTES * len(young)
        measure = Measure(value, size)
        if last is not None:
            measure.holder, measure.bound = str(last), last.bound
        _tell(measure, made)
        return measure, beside

    def _place(self, made: Counter[Origin], tensor: torch.Tensor) -> None:
        origin = self._origins.of(tensor) if self._origins is not None else None
        if origin is not None:
            made[origin] += 1

    def _unheld(
        self, found: dict[Key, Measure], origins: Origins, age: Age, held: set[int], nodes: list[set[int]]
    ) -> None:
        """Old results that are alive although nothing that was reached holds them, by the line that made them."""
        for tensor in origins.alive(age.result):
            node = graphs.node_of(tensor)
            if node is None or id(tensor) in held or any(number_of(node) in each for each in nodes):
                continue
            measure = Measure(holder="a holder that was not seen")
            made = Counter[Origin]()
            self._place(made, tensor)
            _tell(measure, made)
            place = next(iter(measure.made))
            known = found.setdefault(("unheld", str(place)), measure)
            known.value += 1


def _tell(measure: Measure, made: Counter[Origin]) -> None:
    """Where values were made, as places in source."""
    for origin, count in made.items():
        measure.made[places(origin)[0]] += count
    if made:
        measure.called = places(max(made, key=made.__getitem__))[1]
