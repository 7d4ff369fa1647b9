"""Garbage is collected while nobody waits for an answer.

The collector looks at every syntax tree that is kept, and nothing else runs meanwhile. What survived is left out the
next time; now and then all is looked at.
"""

from __future__ import annotations

import gc
import sys

_MUCH, _TOO_MUCH = 50_000, 250_000
"""New objects that are worth it: some megabytes; and those that are not kept even if somebody waits."""
_ALL_EVERY = 50
"""Collections, after which even what survived earlier ones is looked at."""
_SWITCH = 0.001
"""Seconds for which one thread computes while another one has a message to read: 5 ms by default, some times a message.
"""


def take_over() -> None:
    """From now on, for this process: there is no other time for it than `tidy`."""
    gc.disable()
    sys.setswitchinterval(_SWITCH)


class Tidier:
    """Collects, if nobody else does."""

    def __init__(self) -> None:
        self._count = 0

    def tidy(self, idle: bool) -> None:
        """Some work was done. idle: whether there is no more."""
        if gc.isenabled() or gc.get_count()[0] < (_MUCH if idle else _TOO_MUCH):
            return
        self._count += 1
        if self._count % _ALL_EVERY == 0:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
