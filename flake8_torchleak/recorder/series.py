"""What was measured step by step: samples, ever fewer as steps go on, and the growth in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from flake8_torchleak.recorder.growth import Growth, fit, growth
from flake8_torchleak.recorder.measure import Key, Measure
from flake8_torchleak.recorder.result import Kept, Site

DENSE, SPARSE = (32, 1), (16, 2)
"""Up to which step a clock is sampled, and at every how many; from there on half as often each time its steps double.

The second pair is for light recordings. Either leaves enough samples at any time: see `growth.ENOUGH`."""


@dataclass(slots=True)
class Sample:
    """One census. batches: the number of the pass over a loader that it was taken in; 0: none.

    heap, files, device: bytes in use, open descriptors, bytes on the GPU; None where not measured.
    """

    step: int
    batches: int
    found: dict[Key, Measure]
    heap: float | None = None
    files: float | None = None
    device: float | None = None


class Clock:
    """The samples of one clock. step: how often it has ticked."""

    def __init__(self, density: tuple[int, int] = DENSE) -> None:
        self.step = 0
        self.samples: list[Sample] = []
        self._until, self._stride = density

    def tick(self) -> bool:
        """Count a step; whether it is to be sampled."""
        if self.step == self._until:
            self._until *= 2
            self._stride *= 2
        self.step += 1
        return self.step % self._stride == 0

    def add(self, sample: Sample) -> None:
        self.samples.append(sample)

    def without(self, passes: set[int]) -> Clock:
        """The samples that were not taken in certain passes."""
        left = Clock()
        left.step = self.step
        left.samples = [each for each in self.samples if each.batches not in passes]
        return left

    def keys(self) -> set[Key]:
        return {key for sample in self.samples for key in sample.found}

    def has(self, key: Key) -> bool:
        return any(key in each.found for each in self.samples)

    def points(self, key: Key) -> list[tuple[int, float]]:
        return [(each.step, each.found[key].value if key in each.found else 0.0) for each in self.samples]

    def sizes(self, key: Key) -> list[tuple[int, float]]:
        return [(each.step, each.found[key].size if key in each.found else 0.0) for each in self.samples]

    def curve(self, key: Key) -> tuple[tuple[int, float, float], ...]:
        """Step, value and bytes at each sample: for plots."""
        if not self.has(key):
            return ()
        return tuple((step, value, size) for (step, value), (_, size) in zip(self.points(key), self.sizes(key)))

    def growth(self, key: Key) -> Growth | None:
        return growth(self.points(key))

    def kept(self, key: Key, name: str) -> Kept:
        """What was kept under a key, with its growth if it grew."""
        found = self.growth(key)
        sizes = self.sizes(key)
        per_step = 0.0
        if found is not None:
            stretch = [point for point in sizes if found.start <= point[0] <= found.end]
            per_step = max(0.0, fit(stretch).slope)
        held = [each.found[key] for each in self.samples if key in each.found]
        made: Counter[Site] = Counter()
        for measure in held:
            made.update(measure.made)
        last = held[-1]
        return Kept(
            kind=key[0],
            holder=last.holder,
            pattern=key[1],
            made=tuple(place for place, _ in made.most_common(3)),
            called=last.called,
            growth=found,
            count=last.value,
            size=last.size,
            size_per_step=per_step,
            bound=last.bound,
            note=last.note,
            clock=name,
        )
