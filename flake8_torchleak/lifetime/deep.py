"""Room for following calls as deep as they lead: the interpreter's recursion limit."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_RECURSION = 6000 if sys.version_info >= (3, 11) else 2000
"""Before Python 3.11 each Python call takes some of the C stack, which may be 1 MB."""


class _Deep:
    """The interpreter's recursion limit, raised while somebody needs it: it is one for all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = self._before = 0

    @contextmanager
    def room(self) -> Iterator[None]:
        """Raise the limit; the last one who leaves sets it back."""
        with self._lock:
            if not self._inside:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, _RECURSION))
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    sys.setrecursionlimit(self._before)


room = _Deep().room
