"""When a step ends, by torch's own hooks: optimizers that step, loaders that are iterated, backward that runs.

Every framework comes down to these three. A pass over a loader counts by its batches only if no optimizer steps in it
(evaluation); else the optimizer's steps count, so that losses summed over several batches belong to one step. Where
neither is seen, each run of backward counts.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.data.dataloader as dataloader
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

OnStep = Callable[[str, int], None]
"""Told the clock ("optimizer", "loader", "backward", "manual") and the number of the pass (0: none)."""

_PATIENCE = 16
"""Steps of other optimizers after which the leading one is taken to be out of use."""


class Pass:
    """One pass over a loader. batches: those handed out, of `length` (0: unknown); data: which Dataset it reads.

    trains: an optimizer stepped between two batches; differentiates: backward ran; done: it came to its end.
    """

    def __init__(self, number: int, iterator: Any) -> None:
        self.number = number
        self.data = id(iterator._dataset)
        self.workers = isinstance(iterator, dataloader._MultiProcessingDataLoaderIter)
        self.length = _length(iterator)
        self.batches = 0
        self.trains = False
        self.differentiates = False
        self.done = False
        self._steps = self._runs = 0

    def turn(self, steps: int, runs: int) -> None:
        """The next batch is asked for, after so many optimizer steps and runs of backward altogether."""
        if self.batches:
            self.trains = self.trains or steps > self._steps
            self.differentiates = self.differentiates or runs > self._runs
        self._steps, self._runs = steps, runs


def _length(iterator: Any) -> int:
    try:
        return len(iterator)
    except TypeError:
        return 0  # a stream


class Steps:
    """Counts steps while it is installed. on_step is called at each step's end, on_batch with each batch."""

    def __init__(self, on_step: OnStep, on_batch: Callable[[Pass, Any], None]) -> None:
        self._on_step, self._on_batch = on_step, on_batch
        self.count: Counter[str] = Counter()
        self.passes: list[Pass] = []
        self._open: weakref.WeakKeyDictionary[Any, Pass] = weakref.WeakKeyDictionary()
        self._leader: weakref.ref[Optimizer] | None = None
        self._others = 0
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: self._stepped(optimizer))
        self._undo.append(handle.remove)
        self._wrap(dataloader._BaseDataLoaderIter, "__next__", self._iterated)
        self._wrap(torch.autograd, "_engine_run_backward", self._differentiated)

    def remove(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _wrap(self, owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return wrapper(original, *args, **kwargs)

        setattr(owner, name, wrapped)
        self._undo.append(lambda: setattr(owner, name, original))

    def _stepped(self, optimizer: Optimizer) -> None:
        leader = self._leader() if self._leader is not None else None
        if leader is None or self._others >= _PATIENCE:
            leader, self._leader = optimizer, weakref.ref(optimizer)
        if leader is optimizer:
            # Several optimizers may step in one iteration (generator and discriminator): one of them tells it.
            self._others = 0
            self._tick("optimizer")
        else:
            self._others += 1

    def _iterated(self, original: Callable[[Any], Any], iterator: Any) -> Any:
        now = self._open.get(iterator)
        if now is None or now.done:
            now = Pass(len(self.passes) + 1, iterator)
            self.passes.append(now)
            self._open[iterator] = now
        now.turn(self.count["optimizer"], self.count["backward"])
        if now.batches and not now.trains:
            self._tick("loader", now.number)
        try:
            batch = original(iterator)
        except StopIteration:
            now.done = True
            raise
        now.batches += 1
        self._on_batch(now, batch)
        return batch

    def _differentiated(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        self.count["backward"] += 1
        if not self.count["optimizer"] and not self._iterating():
            self._on_step("backward", 0)
        return result

    def _iterating(self) -> bool:
        return any(not each.done for each in self._open.values())

    def _tick(self, clock: str, number: int = 0) -> None:
        self.count[clock] += 1
        self._on_step(clock, number)

    def manual(self) -> None:
        """A step that the program itself declares."""
        self._tick("manual")
