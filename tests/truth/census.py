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
- **state**, **cache**: a first-party Dataset of a loader with workers is read to its end in a forked process, as a worker
  does. Of its large containers, the share of elements whose pages are then that process's own is read from the page
  table (what is read is copied); containers that are longer at each third of the epoch are growing caches. The garbage
  collector is off there: what it touches is copied by it, not by the program.
- **sample**: elements that a Dataset stores are compared before and after they were handed out, by checksums.
- **hook**, **figure**: hooks on all modules, open figures of pyplot.
- **view**: arrays and tensors that the program's names lead to, whose memory is far larger than they are.

Growth is the recorder's: a straight line over ten steps at least (`flake8_torchleak.recorder.growth`).
"""

from __future__ import annotations

import ast
import atexit
import functools
import gc
import json
import os
import shutil
import sys
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils.data import DataLoader

from flake8_torchleak.recorder import frames, graphs, walk
from flake8_torchleak.recorder.graph_census import GraphCollector
from flake8_torchleak.recorder.growth import MIN_GAIN, growth
from flake8_torchleak.recorder.measure import Age, Collector
from flake8_torchleak.recorder.origins import Origins
from flake8_torchleak.recorder.series import Clock, Sample
from flake8_torchleak.recorder.side_census import FigureCollector, HookCollector
from flake8_torchleak.recorder.stored_samples import StoredSamples
from tests.training.program import ENTRY
from tests.training.run import Finder, TooLong, alone, imports, limit
from tests.truth.case import STEP, Case, Place
from tests.truth.worker import as_worker, sent

GRAPH, BATCH, VIEW = "graph", "batch", "view"
LOADED, STATE, CACHE, SAMPLE, HOOK, FIGURE = "loaded", "state", "cache", "sample", "hook", "figure"
"""What can be retained."""
SECONDS = 5.0
"""CPU seconds that one program may take."""
os.environ.setdefault("MPLBACKEND", "agg")

_OLD = 2
"""What was made so many steps ago, or earlier, has outlived its step."""
_LARGE, _SHARE = 4096, 4
"""A view matters from so many bytes of memory on, if that is so many times its own."""
_COPIED = 0.3
"""The share of a container's elements that must be copied by reading all of it."""
_FEW = 6
"""Batches that this process reads of a Dataset that a forked one has read."""


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


class _Mark:
    """Lives as long as the autograd node whose metadata hold it."""

    __slots__ = ("__weakref__", "done", "step")

    def __init__(self, step: int) -> None:
        self.step = step
        self.done = False


_KEY = "truth"
_LEAVES: Any = type((torch.ones(1, requires_grad=True) * 1).grad_fn.next_functions[0][0])  # type: ignore[union-attr]


class _Marking(Origins):
    """The recorder's registry of results, with a mark on each node as well."""

    def __init__(self) -> None:
        super().__init__()
        self.step = 0
        self.needed = 0
        self._live: weakref.WeakSet[_Mark] = weakref.WeakSet()

    def _note(self, results: Iterable[torch.Tensor]) -> None:
        super()._note(results)
        for each in results:
            node = graphs.node_of(each)
            if node is not None and _KEY not in node.metadata:
                mark = _Mark(self.step)
                node.metadata[_KEY] = mark
                self._live.add(mark)

    def old(self) -> int:
        """How many nodes are alive of those made two steps ago or earlier."""
        return sum(each.step <= self.step - _OLD for each in self._live)

    def differentiated(self, tensors: Any) -> None:
        """Backward is to run from these: what is old and was never differentiated was needed."""
        stack = [each.grad_fn for each in tensors if isinstance(each, torch.Tensor)]
        seen: set[Any] = set()
        while stack:
            node = stack.pop()
            if node is None or node in seen or isinstance(node, _LEAVES):
                continue
            seen.add(node)
            mark = node.metadata.get(_KEY)
            if mark is not None and not mark.done:
                mark.done = True
                self.needed += mark.step <= self.step - _OLD
            stack.extend(each for each, _ in node.next_functions)


class _Census:
    """What is measured at each step of one program."""

    def __init__(self, finder: Finder) -> None:
        self.marking = _Marking()
        self._finder = finder
        self._ages: deque[Age] = deque(maxlen=_OLD)
        self._clock = Clock(samples=200)
        self._graphs = GraphCollector(self.marking)
        self._batches: list[tuple[int, StorageWeakRef]] = []
        self.points: dict[str, list[tuple[int, float]]] = {
            each: [] for each in (GRAPH, BATCH, LOADED, VIEW, HOOK, FIGURE)
        }
        self._drawn = 0
        self._loaded: list[tuple[int, StorageWeakRef]] = []
        self._hooks: list[Collector] = [HookCollector(), FigureCollector()]
        self.samples = StoredSamples()
        self.found: dict[str, float] = {}
        self._read: set[int] = set()

    def reads(self, data: Any) -> bool:
        """Read a Dataset as a worker would, once; whether there was something to see."""
        if type(data).__module__.partition(".")[0] not in self._finder.roots or not hasattr(data, "__getitem__"):
            return False
        if id(data) not in self._read:
            self._read.add(id(data))
            self.found.update(as_worker(data, [self._finder.entry, *self._finder.loaded.values()]))
        return True

    def received(self, batch: Any, workers: bool) -> None:
        """A batch, as it would come from a worker if there were some."""
        self._drawn += 1
        self._loaded = [each for each in self._loaded if not each[1].expired()]
        old = sum(at <= self._drawn - _OLD for at, _ in self._loaded)
        self.points[LOADED].append((self._drawn, old))
        for each in batch if isinstance(batch, (tuple, list)) else [batch]:
            if isinstance(each, torch.Tensor):
                if workers:
                    each.share_memory_()
                    self._batches.append((self.marking.step, StorageWeakRef(each.untyped_storage())))
                self._loaded.append((self._drawn, StorageWeakRef(each.untyped_storage())))

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
        self.points[BATCH].append((step, sum(at <= step - _OLD for at, _ in self._batches)))
        views: dict[int, int] = {}
        with mock.patch.object(walk, "roots", self._roots):
            for path, value in walk.Walk(frame):
                self._graphs.see(path, value)
                self._hooks[0].see(path, value)
                _weigh(value, views)
        self.points[VIEW].append((step, len(views)))
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
        found.update(self.found)
        if self.samples.changes:
            found[SAMPLE] = len(self.samples.changes)
        if self.marking.needed >= MIN_GAIN:
            # With the graph, the batches that it saved for backward were needed.
            found = {name: slope for name, slope in found.items() if name not in (GRAPH, BATCH, LOADED)}
        return Label(found, frozenset(made), holders, self.marking.needed, self.marking.step, error)


def _weigh(value: Any, views: dict[int, int]) -> None:
    """Note the memory behind a view, if there is much more of it than the view shows."""
    if isinstance(value, torch.Tensor):
        if value.is_shared() or value.layout != torch.strided:
            return
        storage = value.untyped_storage()
        at, own, whole = storage.data_ptr(), value.nelement() * value.element_size(), storage.nbytes()
    elif isinstance(value, np.ndarray):
        base: Any = value
        while isinstance(getattr(base, "base", None), (np.ndarray, torch.Tensor)) and not isinstance(
            base, torch.Tensor
        ):
            base = base.base
        if isinstance(base, torch.Tensor):
            if base.is_shared():
                return
            storage = base.untyped_storage()
            at, own, whole = storage.data_ptr(), value.nbytes, storage.nbytes()
        else:
            at, own, whole = base.__array_interface__["data"][0], value.nbytes, base.nbytes
    else:
        return
    if whole >= _LARGE and whole >= _SHARE * max(1, own):
        views[at] = whole


class _Ticking(ast.NodeTransformer):
    """Puts a call at the head of each marked step, and around what a marked comprehension draws from."""

    def __init__(self, lines: set[int]) -> None:
        self._lines = lines

    def _loop(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        if node.lineno in self._lines and not isinstance(getattr(node, "iter", None), ast.GeneratorExp):
            call = ast.Expr(ast.Call(ast.Name("__tick__", ast.Load()), [], []))
            node.body.insert(0, ast.fix_missing_locations(ast.copy_location(call, node)))
        return node  # type: ignore[no-any-return]

    visit_For = visit_While = _loop

    def _drawing(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        if node.lineno in self._lines:
            first = node.generators[0]
            call = ast.Call(ast.Name("__ticked__", ast.Load()), [first.iter], [])
            first.iter = ast.fix_missing_locations(ast.copy_location(call, first.iter))
        return node  # type: ignore[no-any-return]

    visit_ListComp = visit_GeneratorExp = visit_DictComp = visit_SetComp = _drawing


def instrumented(case: Case) -> Callable[[str, str], CodeType]:
    """What compiles the program's files, with its steps told."""

    def compiled(path: str, text: str) -> CodeType:
        lines = {line for file, line in case.marks[STEP] if file == path}
        tree = _Ticking(lines).visit(ast.parse(text, path)) if lines else ast.parse(text, path)
        return compile(tree, path, "exec")

    return compiled


@contextmanager
def _loaders(census: _Census) -> Iterator[None]:
    """Loaders read in this process; those that asked for workers give out shared memory."""
    plain_init, plain_iter = DataLoader.__init__, DataLoader.__iter__

    def init(self: Any, *arguments: Any, **options: Any) -> None:
        workers = int(options.pop("num_workers", arguments[5] if len(arguments) > 5 else 0))
        for name in ("persistent_workers", "prefetch_factor", "multiprocessing_context", "timeout"):
            options.pop(name, None)
        plain_init(self, *arguments[:5], *([0] if len(arguments) > 5 else []), *arguments[6:], **options)
        self.__dict__["truth_workers"] = workers

    def iterate(self: Any) -> Iterator[Any]:
        workers = self.__dict__.get("truth_workers")
        own = bool(workers) and census.reads(self.dataset)
        left = _FEW if own and len(self.dataset) > 1000 else 10**6
        for batch in plain_iter(self):
            left -= 1
            if left < 0:
                return
            if own:
                batch = sent(batch)
            else:
                census.received(batch, bool(workers))
            yield batch
            del batch

    with mock.patch.object(DataLoader, "__init__", init), mock.patch.object(DataLoader, "__iter__", iterate):
        yield


@contextmanager
def _backward(census: _Census) -> Iterator[None]:
    original = torch.autograd._engine_run_backward

    def run(tensors: Any, *arguments: Any, **options: Any) -> Any:
        census.marking.differentiated(tensors)
        return original(tensors, *arguments, **options)

    with mock.patch.object(torch.autograd, "_engine_run_backward", run):
        yield


@contextmanager
def _unsaved() -> Iterator[None]:
    """Figures are not drawn to files: it takes long, and changes nothing of what is kept."""
    figures = sys.modules.get("matplotlib.figure")
    if figures is None:
        yield
        return
    with mock.patch.object(figures.Figure, "savefig", lambda *values, **options: None):
        yield


_ROWS = 4000


@functools.cache
def _folder() -> str:
    """Where programs run: the files that they read lie there."""
    folder = Path(tempfile.mkdtemp(prefix="truth-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    rows = [{"path": f"images/train/{at:08}.jpg", "id": at} for at in range(_ROWS)]
    (folder / "rows.json").write_text(json.dumps(rows))
    (folder / "rows.csv").write_text("".join(f"{each['path']},{each['id']}\n" for each in rows))
    (folder / "images").mkdir()
    for at in range(16):
        np.save(folder / "images" / f"{at:03}.npy", np.full((64, 64), at / 7))
        torch.save(torch.full((64, 64), at / 7), folder / "images" / f"{at:03}.pt")
    return str(folder)


@contextmanager
def _in(folder: str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def label(case: Case) -> Label:
    """What the program retains."""
    with _in(_folder()):
        return _label(case)


def _label(case: Case) -> Label:
    error = ""
    printed: list[str] = []
    with alone(), imports(case.files, printed, instrumented(case)) as finder:
        census = _Census(finder)
        finder.builtins["__tick__"] = census.tick
        finder.builtins["__ticked__"] = lambda items: _ticked(census, items)
        census.samples.install()
        with _loaders(census), _backward(census), _unsaved():
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
