"""`record()`: watches what the code inside keeps across its steps."""

from __future__ import annotations

import gc
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import torch

from flake8_torchleak.recorder import graphs, process
from flake8_torchleak.recorder.batch_census import BatchCollector
from flake8_torchleak.recorder.graph_census import GraphCollector
from flake8_torchleak.recorder.idle_graphs import IdleGraphs
from flake8_torchleak.recorder.measure import Age, Collector, Key, Measure
from flake8_torchleak.recorder.origins import Origins
from flake8_torchleak.recorder.result import Kept, Record
from flake8_torchleak.recorder.series import DENSE, SPARSE, Clock, Sample
from flake8_torchleak.recorder.side_census import FigureCollector, HookCollector
from flake8_torchleak.recorder.steps import Pass, Steps
from flake8_torchleak.recorder.stored_samples import StoredSamples
from flake8_torchleak.recorder.walk import Walk
from flake8_torchleak.recorder.workers import Row, Workers, changed, changes, private

CLOCKS = ("optimizer", "loader", "manual", "backward")
"""In the order in which they tell what a step is."""
_ONLY_GROWING = ("hook", "figure")
"""Kinds of which any program has some."""
_RARELY, _RARELY_IF_LIGHT = 2, 4
"""At one of so many samples the whole process is asked: to ask the allocator costs as much as a census."""
_EPOCH_STEPS = 30
"""A limit of epochs waits for so many steps: fewer tell nothing of growth."""


class Enough(BaseException):
    """Ends the program that is recorded: as many steps were seen as were asked for."""


@dataclass(frozen=True, slots=True)
class Options:
    """light: without creation sites and the memory of saved tensors. steps, epochs: after how many to stop; 0: never.

    ends: what stops is the program (by `Enough`), not only the watching. on_step: told the number of each step.
    """

    light: bool = False
    steps: int = 0
    epochs: int = 0
    ends: bool = False
    on_step: Callable[[int], None] | None = None


class Recording:
    """What is being seen. `record` is there once it has ended."""

    def __init__(self, options: Options) -> None:
        self.record = Record()
        self._options = options
        self._origins = None if options.light else Origins()
        self._steps = Steps(self._on_step, self._on_batch)
        self._clocks: defaultdict[str, Clock] = defaultdict(lambda: Clock(SPARSE if options.light else DENSE))
        self._ages: defaultdict[str, deque[Age]] = defaultdict(lambda: deque(maxlen=2))
        self._batches = BatchCollector()
        graph = GraphCollector(self._origins)
        self._collectors: list[Collector] = [graph, self._batches, HookCollector(), FigureCollector()]
        self._idle = IdleGraphs(self._origins) if self._origins is not None else None
        self._samples = StoredSamples()
        self._workers = Workers()
        self._complete = True
        self._watching = False
        self._started = 0.0

    def step(self) -> None:
        """Say that a step has ended, in a loop that has neither an optimizer nor a loader."""
        self._steps.manual()

    def start(self) -> None:
        self._started = time.perf_counter()
        self._steps.install()
        self._samples.install()
        self._workers.install()
        if self._origins is not None:
            self._origins.__enter__()  # type: ignore[no-untyped-call]
        self._watching = True

    def stop(self) -> None:
        """End the watching. To be called in the thread, and outside all that was entered, since `start`."""
        if self._origins is not None:
            self._origins.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self._workers.remove()
        self._samples.remove()
        self._steps.remove()
        self._watching = False
        self.record = self._result()

    def _on_step(self, name: str, number: int) -> None:
        if not self._watching:
            return
        clock = self._clocks[name]
        ages = self._ages[name]
        wanted = clock.tick()
        if wanted and len(ages) == ages.maxlen:
            # The frame that the hook was called from, found where torch's and our own frames end.
            # Our own looks at tensors are no operations of the program's.
            with torch._C.DisableTorchFunction(), _no_collection():
                found = self._census(sys._getframe(1), ages[0])
            sample = Sample(clock.step, number, found)
            if len(clock.samples) % (_RARELY_IF_LIGHT if self._options.light else _RARELY) == 0:
                sample.heap, sample.files = process.heap_in_use(), process.descriptors()
                sample.device = process.device_in_use()
            clock.add(sample)
        ages.append(Age(graphs.created(), self._origins.made if self._origins is not None else 0))
        if self._options.on_step is not None:
            self._options.on_step(clock.step)
        self._end_if_enough(name)

    def _on_batch(self, now: Pass, batch: object) -> None:
        if self._idle is not None:
            self._idle.turn(now)
        if now.workers and self._watching:
            self._batches.received(batch)

    def _census(self, frame: FrameType, age: Age) -> dict[Key, Measure]:
        walk = Walk(frame, hidden=(self,))
        shown: dict[str, list[Collector]] = {"modules": [], "values": [], "": []}
        for each in self._collectors:
            shown[each.wants].append(each)
        for path, value in walk:
            for each in shown["modules" if isinstance(value, torch.nn.Module) else "values"]:
                each.see(path, value)
        self._complete = self._complete and walk.complete
        found: dict[Key, Measure] = {}
        for each in self._collectors:
            found.update(each.close(age))
        return found

    def _end_if_enough(self, name: str) -> None:
        options = self._options
        leading = next(each for each in CLOCKS if each in self._clocks)
        if name != leading:
            return
        seen = self._clocks[name].step
        epochs_done = 0 < options.epochs <= self._epochs() and seen >= _EPOCH_STEPS
        if 0 < options.steps <= seen or epochs_done:
            if options.ends:
                raise Enough
            self._watching = False

    def _epochs(self) -> int:
        """Completed passes over the data that was iterated most often."""
        passes = self._steps.passes
        done = [each.data for each in passes if each.done and (each.trains or not self._steps.count["optimizer"])]
        return max((done.count(each) for each in set(done)), default=0)

    def _result(self) -> Record:
        training = {each.number for each in self._steps.passes if each.trains}
        clocks = {name: self._clocks[name].without(training) for name in CLOCKS if name in self._clocks}
        if "optimizer" in clocks:
            clocks.pop("backward", None)  # of before the optimizer's first step
        workers = self._workers.read()
        in_workers = list(self._workers.kept(workers))
        seen = [*self._kept(clocks, workers), *(each for each, _ in in_workers)]
        kept = sorted(seen, key=lambda each: (not each.grows, -each.size_per_step, each.pattern))
        curves = ((each, clocks.get(each.clock, Clock()).curve((each.kind, each.pattern))) for each in kept)
        series = {(each.kind, each.pattern): curve for each, curve in (*curves, *in_workers) if curve}
        leading = next(iter(clocks.values()), Clock())
        lengths = [each.length for each in self._steps.passes if each.trains or not self._steps.count["optimizer"]]
        return Record(
            kept=tuple(kept),
            steps={name: clock.step for name, clock in clocks.items()},
            epochs=self._epochs(),
            steps_per_epoch=max(lengths, default=0),
            heap=tuple((each.step, each.heap) for each in leading.samples if each.heap is not None),
            descriptors=tuple((each.step, each.files) for each in leading.samples if each.files is not None),
            device=tuple((each.step, each.device) for each in leading.samples if each.device is not None),
            series=series,
            workers=tuple(private(workers)),
            notes=tuple(self._notes()),
            seconds=time.perf_counter() - self._started,
        )

    def _kept(self, clocks: dict[str, Clock], workers: list[list[Row]]) -> Iterator[Kept]:
        for key in sorted(set[Key]().union(*(clock.keys() for clock in clocks.values()))):
            seen = [clock.kept(key, name) for name, clock in clocks.items() if clock.has(key)]
            grown = [each for each in seen if each.growth is not None]
            if grown or key[0] not in _ONLY_GROWING:
                yield (grown or seen)[0]
        yield from changed([*self._samples.changes.values(), *changes(workers)])
        if self._idle is not None:
            yield from self._idle.kept(self._steps.passes)

    def _notes(self) -> Iterator[str]:
        if not self._clocks:
            yield "no step was seen: no optimizer stepped, no DataLoader was iterated, backward did not run"
        if not self._complete:
            yield "too many objects to look at all of them: holders far from the program's names may be missing"
        if self._origins is not None and self._origins.hooked:
            yield "tensors are saved through hooks (checkpointing, offloading): their memory was not counted"


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python's collector from running: thousands of short-lived objects are no garbage of the program's."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def record(light: bool = False, steps: int = 0) -> Iterator[Recording]:
    """Watch the code inside. Yields the Recording; its `record` tells what was seen once the block has ended.

    light: less to pay, no creation sites. steps: stop watching after so many steps (0: never).
    An exception inside goes on as it is; what was seen until then is in `record`.
    """
    recording = Recording(Options(light=light, steps=steps))
    recording.start()
    try:
        yield recording
    finally:
        recording.stop()
