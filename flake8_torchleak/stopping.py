"""Work that is worth nothing once somebody wants something else: on its way it asks whether to go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Stopped(BaseException):
    """The work was stopped: no error, and nothing that a rule's `except Exception` may take for one."""


def _goes_on() -> bool:
    return False


_is_stopped: ContextVar[Callable[[], bool]] = ContextVar("is_stopped", default=_goes_on)


@contextmanager
def stopped_if(is_stopped: Callable[[], bool]) -> Iterator[None]:
    """Ask this whether to stop what is done meanwhile."""
    before = _is_stopped.set(is_stopped)
    try:
        yield
    finally:
        _is_stopped.reset(before)


def pause() -> None:
    """A place to stop at. Raises Stopped if nobody wants the result any more."""
    if _is_stopped.get()():
        raise Stopped
