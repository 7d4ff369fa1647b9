"""Reads a Dataset in a forked process, as a loader's worker does, and tells what that copies and what it piles up."""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import torch

from flake8_torchleak.recorder.worker_side import copied, sizes
from flake8_torchleak.recorder.workers import stored
from tests.truth.forked import in_fork

COPIED = 0.3
"""The share of a container's elements that must have become the reader's own."""
GROWN = 30
"""How much longer a container must be at the end, with a third of it at least from the last third."""


def as_worker(data: Any, modules: Sequence[ModuleType]) -> dict[str, float]:
    """`state`: the largest share of a container's elements that reading copied; `cache`: by how much one grew.

    modules: the program's, whose globals are looked at, too. Empty where neither is so. An exception in the reader
    ends the reading: nothing is told then.
    """
    watched = tuple(stored(data, forked=True))
    found: dict[str, float] = in_fork(lambda: _read(data, watched, modules)) or {}
    return found


class _Sending(pickle.Pickler):
    """Tensors go as they are: their memory is shared with the worker that made them."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.tensors: list[torch.Tensor] = []

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, torch.Tensor):
            return None
        self.tensors.append(value)
        return len(self.tensors) - 1


class _Receiving(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, tensors: list[torch.Tensor]) -> None:
        super().__init__(file)
        self._tensors = tensors

    def persistent_load(self, number: Any) -> torch.Tensor:
        return self._tensors[int(number)]


def sent(batch: Any) -> Any:
    """A batch as the main process gets it from a worker: containers and arrays are copies, tensors share memory."""
    file = io.BytesIO()
    pickler = _Sending(file)
    pickler.dump(batch)
    file.seek(0)
    return _Receiving(file, pickler.tensors).load()


def _read(data: Any, watched: Any, modules: Sequence[ModuleType]) -> dict[str, float]:
    before = {each.path: copied(each.addresses) for each in watched}
    third = max(1, len(data) // 3)
    lengths = []
    for part in range(3):
        for at in range(part * third, (part + 1) * third):
            data[at]
        own = {path: count for path, count, _, _ in sizes(data)}
        lengths.append(own | {path: count for path, count, _ in _globals(modules)})
    shares = [(copied(each.addresses) - before[each.path]) / len(each.addresses) for each in watched if each.addresses]
    grown = [count - lengths[0].get(path, 0) for path, count in lengths[2].items() if _grows(lengths, path)]
    found = {}
    if max(shares, default=0.0) >= COPIED:
        found["state"] = max(shares)
    if max(grown, default=0) >= GROWN:
        found["cache"] = float(max(grown))
    return found


def _globals(modules: Sequence[ModuleType]) -> Iterator[tuple[str, int, str]]:
    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, functools._lru_cache_wrapper):
                yield f"{module.__name__}.{name}", value.cache_info().currsize, ""
            elif isinstance(value, (list, dict, set)) and not name.startswith("__"):
                yield f"{module.__name__}.{name}", len(value), ""


def _grows(lengths: list[dict[str, int]], path: str) -> bool:
    first, second, third = (each.get(path, 0) for each in lengths)
    return third - second >= GROWN / 2 and second - first >= GROWN / 2
