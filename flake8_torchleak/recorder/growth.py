"""What counts as growth: a straight line through what was measured, step by step, and how sure it is.

A series is cut where its value falls below half of what it was (a list that is emptied at the end of an epoch), for
growth is judged between two such falls. The first fifth of the steps is warm-up and left out. A stretch grows when
the line's slope is at least `SMALLEST`, lies four standard errors above zero, and is that of the later half as well:
what levels off (a full deque, a cache that holds all there is) does not grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WARM_UP = 0.2
"""The share of the steps that is left out: first allocations, caches of libraries, optimizer state."""
SMALLEST = 0.02
"""The smallest slope that counts, in values (tensors, graph nodes, objects) a step: one kept value in fifty steps."""
ERRORS = 4.0
"""How many standard errors the slope must lie above zero: for 8 samples about 99.5 % confidence (Student's t)."""
MIN_SAMPLES = 6
MIN_STEPS = 10
"""A stretch of fewer samples, or of fewer steps, is not judged."""
ENOUGH = 20
"""Steps of a run in which growth from the first step on is judged; of fewer, little can be said."""
MIN_GAIN = 3.0
"""What a stretch must gain at least, in values: a single late object is no growth."""

DEFINITION = (
    f"growth: a straight line through at least {MIN_SAMPLES} samples over at least {MIN_STEPS} steps, the first"
    f" {WARM_UP:.0%} left out as warm-up; slope at least {SMALLEST:g} a step, {ERRORS:g} standard errors above zero,"
    " in the later half as well"
)
"""The definition in words, for reports."""

Point = tuple[int, float]
"""A step, counted from 1, and what was measured then."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A line through a stretch of a series. slope: values a step; error: its standard error; gain: last minus first.

    start, end: the first and last step of the stretch; samples: how many of its steps were measured.
    """

    slope: float
    error: float
    gain: float
    start: int
    end: int
    samples: int

    @property
    def confident(self) -> bool:
        """Whether the slope is large and certain enough to call it growth."""
        return self.gain >= MIN_GAIN and self.slope >= SMALLEST and self.slope >= ERRORS * self.error


def growth(points: Sequence[Point], unit: float = 1.0) -> Growth | None:
    """The longest stretch of a series that grows; None if none does.

    unit: what one value is (bytes of a page, say), where the values are not counts: slopes are compared in units.
    """
    if not points:
        return None
    first = points[0][0] + (points[-1][0] - points[0][0]) * WARM_UP
    scaled = [(step, value / unit) for step, value in points if step >= first]
    found = [line for line in map(_grows, _stretches(scaled)) if line is not None]
    if not found:
        return None
    best = max(found, key=lambda line: line.end - line.start)
    return Growth(best.slope * unit, best.error * unit, best.gain * unit, best.start, best.end, best.samples)


def _grows(stretch: Sequence[Point]) -> Growth | None:
    if len(stretch) < MIN_SAMPLES or stretch[-1][0] - stretch[0][0] < MIN_STEPS:
        return None
    whole, later = fit(stretch), fit(stretch[len(stretch) // 2 :])
    levels_off = later.slope < max(SMALLEST, whole.slope / 4)
    return whole if whole.confident and not levels_off else None


def _stretches(points: Sequence[Point]) -> Iterator[list[Point]]:
    """The series cut where it falls below half of the highest value since the last cut."""
    stretch: list[Point] = []
    highest = 0.0
    for step, value in points:
        if stretch and value < highest / 2:
            yield stretch
            stretch, highest = [], 0.0
        stretch.append((step, value))
        highest = max(highest, value)
    yield stretch


def fit(points: Sequence[Point]) -> Growth:
    """The line of least squares through at least two points at different steps."""
    count = len(points)
    mean_x = sum(step for step, _ in points) / count
    mean_y = sum(value for _, value in points) / count
    spread = sum((step - mean_x) ** 2 for step, _ in points)
    slope = sum((step - mean_x) * (value - mean_y) for step, value in points) / spread
    rest = sum((value - mean_y - slope * (step - mean_x)) ** 2 for step, value in points)
    error = (rest / (count - 2) / spread) ** 0.5 if count > 2 else 0.0
    return Growth(slope, error, points[-1][1] - points[0][1], points[0][0], points[-1][0], count)
