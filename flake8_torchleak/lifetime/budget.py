"""How much work is done to follow something: a number of steps, with places to stop at on the way."""

from __future__ import annotations

from flake8_torchleak.stopping import pause

_AT_ONCE = 256
"""Steps between two places to stop at: some milliseconds."""
_FIELDS_A_STEP = 8


class Over(Exception):
    """The budget of steps is spent: what was not seen by then is unknown."""


class Budget:
    """The steps that may be done of what is followed now."""

    def __init__(self) -> None:
        self.steps_left = 0
        """Those before the next place to stop at."""
        self._kept = 0
        """Those behind it."""
        self._reserved = 0
        """Those that are there when it is worth while: see `spur`."""

    def allow(self, steps: int, before: int | None = None) -> None:
        """From now on, so many steps may be done. before: how many of them before it proves to be worth while."""
        at_first = steps if before is None else min(steps, before)
        self.steps_left, self._kept, self._reserved = 0, at_first, steps - at_first
        self.go_on()

    def spur(self) -> None:
        """It is worth while: all of the steps may be done."""
        self._kept += self._reserved
        self._reserved = 0

    @property
    def is_unproven(self) -> bool:
        """Whether not all of the steps may be done, for it did not prove to be worth while."""
        return self._reserved > 0

    @property
    def unspent(self) -> int:
        """How many of them were not done."""
        return max(self.steps_left + self._kept, 0) + self._reserved

    def go_on(self) -> None:
        """Take some of the steps that are kept. Raises Over when none is left, Stopped when nobody waits any more."""
        left = self.steps_left + self._kept
        if left < 0:
            raise Over
        pause()
        self.steps_left = min(left, _AT_ONCE)
        self._kept = left - self.steps_left

    def spend(self) -> None:
        """One step of work. Raises Over when there were too many."""
        self.steps_left -= 1
        if self.steps_left < 0:
            self.go_on()

    def look(self, count: int) -> None:
        """Go over so many fields: far less than a step each. Raises Over when there were too many."""
        self.steps_left -= count // _FIELDS_A_STEP
        if self.steps_left < 0:
            self.go_on()
