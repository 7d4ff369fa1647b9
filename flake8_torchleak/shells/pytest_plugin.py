"""The pytest fixture `no_leaks`: the test fails if what it runs keeps more at every step.

    def test_training(no_leaks):
        train(steps=40)

    def test_evaluation(no_leaks):
        with no_leaks(steps=30):
            evaluate(loader)

pytest loads this module in every run, so it imports nothing until a test asks for the fixture.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from flake8_torchleak.recorder import Record, Recording


class NoLeaks:
    """Records the test that asks for it; called, it records the block of its own instead."""

    def __init__(self) -> None:
        self.own = False

    def __call__(self, steps: int = 0, light: bool = False) -> AbstractContextManager[Recording]:
        """Record a block. steps: watch so many (0: all).

        The block must have as many, and enough to judge growth: else nothing would be proven.
        """
        self.own = True
        return self._block(steps, light)

    @contextmanager
    def _block(self, steps: int, light: bool) -> Iterator[Recording]:
        from flake8_torchleak.recorder import record
        from flake8_torchleak.recorder.growth import ENOUGH

        with record(light=light, steps=steps) as recording:
            yield recording
        judge(recording.record, max(steps, ENOUGH))


@pytest.fixture
def no_leaks() -> Iterator[NoLeaks]:
    """Fail the test if training or evaluation code in it keeps graphs, batches or objects, more at every step."""
    pytest.importorskip("torch", reason="the fixture no_leaks needs PyTorch")
    from flake8_torchleak.recorder import record

    found = NoLeaks()
    with record() as recording:
        yield found
    if not found.own:
        if not recording.record.enough:
            # No failure: the test may have been skipped, or failed itself.
            seen = max(recording.record.steps.values(), default=0)
            warnings.warn(pytest.PytestWarning(f"no_leaks: {seen} steps were seen, too few to judge"), stacklevel=1)
        judge(recording.record, 0)


def judge(record: Record, steps: int) -> None:
    """Fail the test if something grew, or if fewer steps were seen than are wanted."""
    from flake8_torchleak.recorder import wording

    seen = max(record.steps.values(), default=0)
    if seen < steps:
        pytest.fail(f"no_leaks: {seen} steps were seen, at least {steps} are needed", pytrace=False)
    lines = []
    for kept in record.growing:
        lines += [wording.sentence(kept, record), *(f"  {line}" for line in wording.details(kept))]
    if lines:
        pytest.fail("memory grows every step\n" + "\n".join(lines), pytrace=False)
