"""Kept batches: tensors and arrays in memory that a worker process sent, held after their step.

Each holds a descriptor and a shared mapping, through views, `.numpy()` and `.cpu()` alike: storages are compared, not
tensors.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from flake8_torchleak.recorder import frames
from flake8_torchleak.recorder.measure import Age, Key, Measure
from flake8_torchleak.recorder.result import Site
from flake8_torchleak.recorder.walk import Path

_RECENT = 2
"""Batches that a program may well hold: the present one, and one fetched ahead."""


class BatchCollector:
    """Knows the storages of worker batches by their address."""

    def __init__(self) -> None:
        self._batches: dict[int, int] = {}
        self._count = 0
        self._site: Site | None = None
        self._held: list[tuple[Path, int, int]] = []

    @property
    def wants(self) -> str:
        return "values" if self._batches else ""

    def received(self, batch: Any) -> None:
        """A worker's batch arrives, in the frame that asks for it."""
        self._count += 1
        for tensor in tensors(batch):
            self._batches[tensor.untyped_storage().data_ptr()] = self._count
        self._site = frames.own_site(sys._getframe(1))

    def see(self, path: Path, value: Any) -> None:
        if not self._batches:
            return
        tensor = value if isinstance(value, torch.Tensor) else _base(value)
        if tensor is None or tensor.layout != torch.strided or tensor.device.type != "cpu":
            return
        storage = tensor.untyped_storage()
        if self._batches.get(storage.data_ptr(), self._count) <= self._count - _RECENT:
            self._held.append((path, storage.data_ptr(), storage.nbytes()))

    def close(self, age: Age) -> dict[Key, Measure]:
        held, self._held = self._held, []
        found: dict[Key, Measure] = {}
        counted: set[tuple[str, int]] = set()
        for path, place, size in held:
            pattern = path.all_alike
            if (pattern, place) in counted:
                continue
            counted.add((pattern, place))
            measure = found.setdefault(("batch", pattern), Measure())
            measure.value += 1
            measure.size += size
            measure.holder, measure.bound = str(path), path.bound
            if self._site is not None:
                measure.made[self._site] += 1
        alive = {place for _, place, _ in held}
        recent = self._count - _RECENT
        self._batches = {place: at for place, at in self._batches.items() if at > recent or place in alive}
        return found


def _base(array: Any) -> torch.Tensor | None:
    """The tensor whose memory an array shows; None if it is its own."""
    for _ in range(8):
        if isinstance(array, torch.Tensor):
            return array
        array = getattr(array, "base", None)
    return None


def tensors(batch: Any, depth: int = 4) -> list[torch.Tensor]:
    """The tensors on the CPU in a batch of tuples, lists and dicts."""
    if isinstance(batch, torch.Tensor):
        return [batch] if batch.layout == torch.strided and batch.device.type == "cpu" else []
    if depth and isinstance(batch, dict):
        batch = list(batch.values())
    if depth and isinstance(batch, (list, tuple)):
        return [tensor for each in batch for tensor in tensors(each, depth - 1)]
    return []
