"""The truth instrument: runs a program in this process and says what it retains from step to step.

A step ends where the next one begins: at the head of the loops that the generator marked, a call is put into the
program's syntax tree (its lines stay as they are). There a census is taken.

- **graph**: every autograd node that an operation made carries a mark, known by a weak reference; nodes of two steps
  ago or earlier that are alive are counted. Who holds them, and which line made them, is asked of the recorder's own
  walk and registry (`torchleak run`). What is differentiated for the first time two steps after it was made was kept
  on purpose: it is needed, and no leak.
- **batch**: loaders with workers read here, in this process, and put each tensor of a batch into shared memory, as a
  worker does: with a descriptor and a mapping that live as long as its storage. Storages are known by weak references.
- **loaded**: storages of any loader's batches, counted as batches are drawn: what holds the whole epoch at once.
- **state**, **cache**: a first-party Dataset of a loader with workers is read to its end in a forked process, as a
  worker does. Of its large containers, the share of elements whose pages are then that process's own is read from the
  page table (what is read is copied); containers that are longer at each third of the epoch are growing caches. The
  garbage collector is off there: what it touches is copied by it, not by the program.
- **sample**: elements that a Dataset stores are compared before and after they were handed out, by checksums.
- **hook**, **figure**: hooks on all modules, open figures of pyplot.
- **view**: arrays and tensors that the program's names lead to, whose memory is far larger than they are; or memory in
  use that grows by half an image a step or more, for what no walk can see.

Growth is the recorder's: a straight line over ten steps at least (`flake8_torchleak.recorder.growth`).
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from flake8_torchleak.recorder import frames, graphs, process, walk
from flake8_torchleak.recorder.graph_census import GraphCollector
from flake8_torchleak.recorder.growth import MIN_GAIN, growth
from flake8_torchleak.recorder.measure import Age, Collector
from flake8_torchleak.recorder.series import Clock, Sample
from flake8_torchleak.recorder.side_census import FigureCollector, HookCollector
from flake8_torchleak.recorder.stored_samples import StoredSamples
from tests.training.program import ENTRY
from tests.training.run import Finder, TooLong, alone, imports, limit
from tests.truth.case import Case, Place
from tests.truth.marking import OLD, Marking, backward
from tests.truth.ticking import instrumented
from tests.truth.worker import as_worker
from tests.truth.world import inside, loaders, unsaved

GRAPH, BATCH, VIEW = "graph", "batch", "view"
LOADED, STATE, CACHE, SAMPLE, HOOK, FIGURE = "loaded", "state", "cache", "sample", "hook", "figure"
"""What can be retained."""
SECONDS = 5.0
"""CPU seconds that one program may take."""
_IMAGE = 32 * 1024
"""Bytes of an image that programs of views make; nothing else that they keep comes near that."""
_LARGE, _SHARE = 4096, 4
"""A view matters from so many bytes of memory on, if that is so many times its own."""


@dataclass(frozen=True)
class Label:
    """What a run retained. growth: values a step by what is retained (GRAPH ...); empty if nothing grew.

    made: lines that made what grew, by the recorder; holders: the paths to it, by the recorder's walk.
    needed: old nodes that were differentiated for the first time. error: the exception that ended the program.
    """

    growth: dict[str, float] = field(default_factory=dict)
    made: frozenset[Place] = frozenset()
    holders: tuple[str, ...] = ()
    needed: int = 0
    steps: int = 0
    error: str = ""

    @property
    def retains(self) -> bool:
        return bool(self.growth)


class _Census:
    """What is measured at each step of one program."""

    def __init__(self, finder: Finder) -> None:
        self.marking = Marking()
        self._finder = finder
        self._ages: deque[Age] = deque(maxlen=OLD)
        self._clock = Clock()
        self._graphs = GraphCollector(self.marking)
        self._batches: list[tuple[int, Any]] = []
        self.points: dict[str, list[tuple[int, float]]] = {
            each: [] for each in (GRAPH, BATCH, LOADED, VIEW, HOOK, FIGURE)
        }
        self._drawn = 0
        self._heap: list[tuple[int, float]] = []
        self._loaded: list[tuple[int, Any]] = []
        self._hooks: list[Collector] = [HookCollector(), FigureCollector()]
        self.samples = StoredSamples()
        self.found: dict[str, float] = {}
        self._read: set[int] = set()

    def reads(self, data: Any, workers: bool) -> bool:
        """Read a Dataset as a worker would, once; whether there was something to see."""
        if (
            not workers
            or type(data).__module__.partition(".")[0] not in self._finder.roots
            or not hasattr(data, "__getitem__")
        ):
            return False
        if id(data) not in self._read:
            self._read.add(id(data))
            self.found.update(as_worker(data, [self._finder.entry, *self._finder.loaded.values()]))
        return True

    def received(self, batch: Any, workers: bool) -> None:
        """A batch, as it would come from a worker if there were some."""
        self._drawn += 1
        self._loaded = [each for each in self._loaded if not each[1].expired()]
        old = sum(at <= self._drawn - OLD for at, _ in self._loaded)
        self.points[LOADED].append((self._drawn, old))
        tensors: list[Any] = list(batch) if isinstance(batch, (tuple, list)) else [batch]
        for each in tensors:
            if isinstance(each, torch.Tensor):
                shared: Any = each
                if workers:
                    shared.share_memory_()
                    self._batches.append((self.marking.step, _reference(shared)))
                self._loaded.append((self._drawn, _reference(shared)))

    def tick(self) -> None:
        """A step begins."""
        with torch._C.DisableTorchFunction():
            self._measure(sys._getframe(1))
        self._ages.append(Age(graphs.created(), self.marking.made))

    def _measure(self, frame: FrameType) -> None:
        self.marking.step += 1
        step = self.marking.step
        self.points[GRAPH].append((step, self.marking.old()))
        self._batches = [each for each in self._batches if not each[1].expired()]
        self.points[BATCH].append((step, sum(at <= step - OLD for at, _ in self._batches)))
        views: dict[int, int] = {}
        with mock.patch.object(walk, "roots", self._roots):
            for path, value in walk.Walk(frame):
                self._graphs.see(path, value)
                self._hooks[0].see(path, value)
                _weigh(value, views)
        self.points[VIEW].append((step, len(views)))
        self._heap.append((step, process.heap_in_use() or 0.0))
        for name, collector in zip((HOOK, FIGURE), self._hooks):
            count = sum(each.value for each in collector.close(Age(0, 0)).values())
            self.points[name].append((step, count))
        if len(self._ages) == self._ages.maxlen:
            self._clock.add(Sample(step, 0, self._graphs.close(self._ages[0])))
        else:
            self._graphs.close(Age(0, 0))

    def _roots(self, innermost: FrameType | None) -> Iterator[tuple[walk.Path, Any]]:
        """The program's globals, and the locals of its functions that run; nothing of the harness."""
        for module in (self._finder.entry, *self._finder.loaded.values()):
            prefix = "" if module is self._finder.entry else f"{module.__name__}."
            for name, value in list(vars(module).items()):
                if not name.startswith("__"):
                    yield walk.Path(prefix + name, prefix + name), value
        while innermost is not None:
            if innermost.f_code.co_filename in self._finder.paths:
                function = frames.name_of(innermost.f_code)
                for name, value in frames.local_values(innermost):
                    yield walk.Path(f"{function}.{name}", f"{function}.{name}"), value
            innermost = innermost.f_back

    def label(self, error: str) -> Label:
        found = {name: grown.slope for name, points in self.points.items() if (grown := growth(points)) is not None}
        kept = [self._clock.kept(key, "step") for key in sorted(self._clock.keys())]
        grown_kept = [each for each in kept if each.growth is not None]
        made = {(site.path, site.line) for each in grown_kept for site in each.made}
        made |= {(each.called.path, each.called.line) for each in grown_kept if each.called is not None}
        holders = tuple(each.holder for each in grown_kept)
        least = min((size for _, size in self._heap), default=0.0)
        heap = growth([(step, size - least) for step, size in self._heap], unit=_IMAGE)
        if heap is not None and heap.slope >= _IMAGE / 2 and not found:
            # No walk sees into a list that is not finished, nor into functools' caches.
            found[VIEW] = heap.slope / _IMAGE
        found.update(self.found)
        if self.samples.changes:
            found[SAMPLE] = len(self.samples.changes)
        if self.marking.needed >= MIN_GAIN:
            # With the graph, the batches that it saved for backward were needed.
            found = {name: slope for name, slope in found.items() if name not in (GRAPH, BATCH, LOADED)}
        return Label(found, frozenset(made), holders, self.marking.needed, self.marking.step, error)


def _reference(tensor: torch.Tensor) -> Any:
    """A weak reference to a tensor's memory: it says whether that has `expired()`."""
    make: Any = StorageWeakRef
    return make(tensor.untyped_storage())


def _weigh(value: Any, views: dict[int, int]) -> None:
    """Note the memory behind a view, if there is much more of it than the view shows."""
    base = value
    while isinstance(base, np.ndarray) and isinstance(base.base, (np.ndarray, torch.Tensor)):
        base = base.base
    if isinstance(base, np.ndarray):
        at, whole = base.__array_interface__["data"][0], base.nbytes
    elif isinstance(base, torch.Tensor) and base.layout == torch.strided and not base.untyped_storage().is_shared():
        storage = base.untyped_storage()
        at, whole = storage.data_ptr(), storage.nbytes()
    else:
        return
    if whole >= _LARGE and whole >= _SHARE * max(1, value.nbytes):
        views[at] = whole


def label(case: Case) -> Label:
    """What the program retains."""
    with inside():
        return _label(case)


def _label(case: Case) -> Label:
    error = ""
    printed: list[str] = []
    with alone(), imports(case.files, printed, instrumented(case)) as finder:
        census = _Census(finder)
        finder.builtins["__tick__"] = census.tick
        finder.builtins["__ticked__"] = lambda items: _ticked(census, items)
        if "__getitem__" in case.text:
            # Datasets of tensors give out copies, and to look at each of them takes long.
            census.samples.install()
        with loaders(census), backward(census.marking), unsaved():
            try:
                code = instrumented(case)(ENTRY, case.files[ENTRY])
                with limit(SECONDS), census.marking:
                    finder.run_entry(code)
            except TooLong:
                error = "TooLong"
            except Exception as raised:
                error = f"{type(raised).__name__}: {raised}"
        census.samples.remove()
        found = census.label(error)
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")
    gc.unfreeze()
    gc.collect(0)
    return found


def _ticked(census: _Census, items: Any) -> Iterator[Any]:
    for each in items:
        census.tick()
        yield each
