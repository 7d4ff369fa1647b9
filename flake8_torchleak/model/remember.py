"""Answers that are kept: the same node is asked about again and again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_NOTHING = object()


def remembered(method: F) -> F:
    """A method whose answer to the same arguments, given by position, never changes: it is worked out once an object.

    A list that it gives is shared by all who ask, and so not to be changed.
    """
    name = f"_{method.__name__}_remembered"

    @wraps(method)
    def answer(self: Any, *question: object) -> object:
        known = self.__dict__.get(name)
        if known is None:
            known = self.__dict__[name] = {}
        found = known.get(question, _NOTHING)
        if found is _NOTHING:
            found = known[question] = method(self, *question)
        return found

    return answer  # type: ignore[return-value]
