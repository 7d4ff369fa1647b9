"""What the recorder calls growth, and what not."""

from __future__ import annotations

import pytest

from flake8_torchleak.recorder.growth import ENOUGH, Growth, fit, growth
from flake8_torchleak.recorder.measure import Measure
from flake8_torchleak.recorder.series import DENSE, SPARSE, Clock, Sample

Points = list[tuple[int, float]]

LINE: Points = [(step, 14.0 * step) for step in range(1, 101)]
FLAT: Points = [(step, 30.0) for step in range(1, 101)]
FULL: Points = [(step, min(step, 40.0)) for step in range(1, 101)]
"""A deque of at most 40: grows, then levels off."""
NOISE: Points = [(step, 30.0 + (step * 7919 % 13)) for step in range(1, 101)]
SAW: Points = [(step, float(step % 25)) for step in range(1, 101)]
"""A list that is emptied every 25 steps."""
FINE_SAW: Points = [(step, float(step % 8)) for step in range(1, 101)]
"""The losses of eight batches, summed up and differentiated."""
LATE: Points = [(step, 1.0 if step > 60 else 0.0) for step in range(1, 101)]
"""The best loss so far: one graph."""
RARE: Points = [(step, float(step // 20)) for step in range(1, 201)]
"""One value kept every twenty steps."""


def test_a_line_grows_with_its_own_slope() -> None:
    found = growth(LINE)
    assert found is not None
    assert found.slope == pytest.approx(14)
    assert found.error == pytest.approx(0, abs=1e-9)
    assert (found.start, found.end, found.samples) == (21, 100, 80)


@pytest.mark.parametrize("points", [[], LINE[:8], FLAT, FULL, NOISE, FINE_SAW, LATE])
def test_what_does_not_grow(points: Points) -> None:
    assert growth(points) is None


def test_what_is_emptied_now_and_then_grows_in_between() -> None:
    found = growth(SAW)
    assert found is not None
    assert found.slope == pytest.approx(1)
    assert found.end - found.start == 24


def test_what_is_kept_now_and_then_grows() -> None:
    found = growth(RARE)
    assert found is not None
    assert found.slope == pytest.approx(0.05, rel=0.05)


def test_a_slope_is_told_in_the_values_given_and_judged_in_units() -> None:
    slow = [(step, 0.001 * step) for step in range(1, 101)]
    assert growth(slow) is None
    found = growth([(step, 4096.0 * step) for step in range(1, 101)], unit=4096)
    assert found is not None
    assert found.slope == pytest.approx(4096)
    assert growth([(step, 40.0 * step) for step in range(1, 101)], unit=4096) is None


def test_two_points_have_no_error() -> None:
    assert fit([(1, 1.0), (3, 5.0)]) == Growth(2.0, 0.0, 4.0, 1, 3, 2)


def ticked(density: tuple[int, int], steps: int, first: int = 1) -> Clock:
    clock = Clock(density)
    for _ in range(steps):
        if clock.tick() and clock.step >= first:
            clock.add(Sample(clock.step, 0, {("graph", "a"): Measure(value=clock.step)}))
    return clock


def test_a_clock_takes_few_samples_of_many_steps() -> None:
    clock = ticked(DENSE, 1000)
    steps = [each.step for each in clock.samples]
    assert steps[:33] == [*range(1, 33), 34]
    assert steps[-2:] == [960, 992]
    assert len(steps) == 32 + 16 * 4 + 15
    assert len(ticked(SPARSE, 200).samples) == 22


@pytest.mark.parametrize("density", [DENSE, SPARSE])
def test_growth_is_judged_at_any_time_from_enough_steps_on(density: tuple[int, int]) -> None:
    """The first census is at the third step: only then is anything older than two."""
    judged = [steps for steps in range(8, 600) if ticked(density, steps, first=3).kept(("graph", "a"), "loader").grows]
    assert set(judged) >= set(range(ENOUGH, 600))


def test_samples_of_passes_that_train_do_not_count_by_batches() -> None:
    clock = Clock()
    for number in (1, 2):
        clock.tick()
        clock.add(Sample(clock.step, number, {}))
    assert [each.batches for each in clock.without({1}).samples] == [2]
