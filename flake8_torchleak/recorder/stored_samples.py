"""Stored samples that change: an element of the Dataset's own data whose content is another after it was read.

Before a batch is fetched, the elements behind its first indices are looked up in the Dataset's attributes, and a
checksum is taken of each; it is taken again once the batch is made, and before the next one is. What has changed was
edited in place: in `__getitem__` or the collate function, or by whoever got the batch. Random transforms of copies
change no stored element and are not seen.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data._utils import fetch

_BATCHES, _ELEMENTS = 64, 2
"""Batches that are looked at, and elements of each."""
_BYTES = 1 << 16
"""Bytes of an array that go into its checksum."""

READING, USING = "while it was read and collated", "after it was handed out"


@dataclass(frozen=True, slots=True)
class Change:
    """An element that changed: `self.anns[3]`, when, and the Dataset's class with the place of its `__getitem__`."""

    path: str
    when: str
    owner: str
    file: str
    line: int


class StoredSamples:
    """Watches the Datasets that this process reads, while it is installed."""

    def __init__(self) -> None:
        self.changes: dict[str, Change] = {}
        self._watched: list[tuple[str, Any, int, Any]] = []
        self._fetched = 0
        self._undo: Callable[[], None] = lambda: None

    def install(self) -> None:
        original = fetch._MapDatasetFetcher.fetch

        def watched(fetcher: Any, index: Any) -> Any:
            self._check(USING)
            if self._fetched < _BATCHES:
                self._fetched += 1
                self._watch(fetcher.dataset, index)
            batch = original(fetcher, index)  # type: ignore[no-untyped-call]
            self._check(READING)
            return batch

        fetch._MapDatasetFetcher.fetch = watched  # type: ignore[method-assign]
        self._undo = lambda: setattr(fetch._MapDatasetFetcher, "fetch", original)

    def remove(self) -> None:
        self._undo()
        self._check(USING)

    def _watch(self, data: Any, index: Any) -> None:
        for at in list(index)[:_ELEMENTS] if isinstance(index, (list, tuple)) else [index]:
            inner, place = unwrapped(data, at)
            for path, element in stored(inner, place):
                self._watched.append((path, element, checksum(element), inner))

    def _check(self, when: str) -> None:
        still = []
        for path, element, before, data in self._watched:
            if checksum(element) == before:
                still.append((path, element, before, data))
                continue
            kind = type(data)
            code = getattr(getattr(kind, "__getitem__", None), "__code__", None)
            file, line = (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)
            name = path.partition("[")[0]
            self.changes.setdefault(name, Change(path, when, kind.__qualname__, file, line))
        self._watched = still


def unwrapped(data: Any, index: Any = 0) -> tuple[Any, Any]:
    """The Dataset that a Subset is one of, and the index there."""
    while isinstance(data, torch.utils.data.Subset):
        data, index = data.dataset, data.indices[index]
    return data, index


def stored(data: Any, index: Any) -> Iterator[tuple[str, Any]]:
    """The mutable elements of a Dataset's attributes at an index: rows of arrays, dicts and lists in lists."""
    if not isinstance(index, (int, str)):
        return
    for name, value in list(getattr(data, "__dict__", {}).items()):
        several = list(enumerate(value)) if isinstance(value, tuple) and len(value) <= 8 else []
        for path, each in [(f"self.{name}", value), *((f"self.{name}[{at}]", part) for at, part in several)]:
            if not isinstance(each, (list, tuple, dict, torch.Tensor)) and type(each).__module__ != "numpy":
                continue
            try:
                element = each[index]
            except (LookupError, TypeError, ValueError, RuntimeError):
                continue
            if isinstance(element, (dict, list, set, torch.Tensor)) or type(element).__module__ == "numpy":
                yield f"{path}[{index!r}]", element


def checksum(value: Any, depth: int = 3) -> int:
    """A number that changes with the content of arrays, tensors and containers; of other objects, with identity."""
    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu" or value.layout != torch.strided or value.dtype == torch.bfloat16:
            return id(value)
        value = value.detach().resolve_conj().numpy()
    if type(value).__module__ == "numpy" and hasattr(value, "tobytes") and not getattr(value, "dtype", value).hasobject:
        return zlib.crc32(value.ravel()[: _BYTES // max(1, value.itemsize)].tobytes())
    if depth and isinstance(value, dict):
        return hash(tuple((str(key), checksum(each, depth - 1)) for key, each in list(value.items())[:64]))
    if depth and isinstance(value, (list, tuple)):
        return hash((len(value), *(checksum(each, depth - 1) for each in value[:64])))
    if isinstance(value, (int, float, str, bytes, bool, type(None))):
        return hash(value)
    return id(value)
