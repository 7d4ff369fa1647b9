"""How many bytes Python's objects take, with what they hold: an estimate, without touching what is not asked for."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Any

import torch

_PLAIN = (int, float, complex, str, bytes, bytearray, bool, type(None))
_MANY = 64
"""Elements from which on a container's size is told by some of them."""
_LAST = 8
_DEPTH = 4


def last_elements(value: Any) -> list[Any]:
    """The elements that were added last; nothing for a set, which has no order."""
    if isinstance(value, dict):
        return list(islice(reversed(dict.items(value)), _LAST))
    return list(value)[-_LAST:] if isinstance(value, (list, tuple, deque)) else []


def bytes_of(value: Any, seen: set[int] | None = None, depth: int = _DEPTH) -> float | None:
    """Bytes of an object and of all that it holds; None where that is not known (memory of native code).

    seen: the identities of what was counted already and counts no more, such as keys that all records share.
    """
    seen = set() if seen is None else seen
    if id(value) in seen:
        return 0.0
    seen.add(id(value))
    kind = type(value)
    if issubclass(kind, torch.Tensor):
        return float(sys.getsizeof(value) + _storage(value, seen))
    own = float(sys.getsizeof(value))
    if issubclass(kind, _PLAIN):
        return own
    if kind.__module__ == "numpy":
        base = getattr(value, "base", None)
        objects = getattr(getattr(value, "dtype", None), "hasobject", False)
        return None if objects else own + (bytes_of(base, seen, depth) or 0.0)
    if not depth:
        return None
    if issubclass(kind, dict):
        return _all(own, [each for pair in dict.items(value) for each in pair], seen, depth)
    if issubclass(kind, (list, tuple, set, frozenset, deque)):
        return _all(own, value, seen, depth)
    fields = getattr(value, "__dict__", None)
    return _all(own, [fields], seen, depth) if type(fields) is dict else None


def _storage(tensor: torch.Tensor, seen: set[int]) -> int:
    try:
        storage = tensor.untyped_storage()
        place = storage.data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0  # sparse, meta and wrapped tensors
    if place in seen:
        return 0
    seen.add(place)
    return storage.nbytes()


def _all(own: float, inner: Iterable[Any], seen: set[int], depth: int) -> float | None:
    """Bytes of a container with its elements; of a long one by the mean of its first ones."""
    elements = list(inner)
    looked = [bytes_of(each, seen, depth - 1) for each in elements[:_MANY]]
    known = [each for each in looked if each is not None]
    if len(known) < len(looked):
        return None
    return own + (sum(known) / len(known) * len(elements) if known else 0.0)
