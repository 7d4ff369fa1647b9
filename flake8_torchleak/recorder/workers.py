"""Worker processes as the main process sees them: sets an observer into each, and reads what they wrote."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data import dataloader

from flake8_torchleak.recorder import filled_at
from flake8_torchleak.recorder.growth import Growth, fit, growth
from flake8_torchleak.recorder.result import Kept, Site, Worker
from flake8_torchleak.recorder.stored_samples import Change, unwrapped
from flake8_torchleak.recorder.weights import bytes_of
from flake8_torchleak.recorder.worker_side import Observer, Stored, containers

MANY = 1000
"""Elements from which on a container of the Dataset is large enough to be watched for copies."""
_SAMPLED = 256
_COPIED = 0.05
"""The share of the watched elements that must have been copied, beyond those that were at the start."""
_BYTES = 250_000
"""Bytes in a worker from which on copies are told."""

Row = dict[str, Any]
Curve = tuple[tuple[int, float, float], ...]
"""Batches fetched, what was counted, and its bytes: for plots."""


class Workers:
    """Observes all worker processes that are started while it is installed."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="torchleak-")
        self._stored: dict[str, Stored] = {}
        self._kinds: dict[str, type] = {}
        self._undo: Callable[[], None] = lambda: None

    def install(self) -> None:
        kind: Any = dataloader._MultiProcessingDataLoaderIter
        original = kind.__init__
        starts = itertools.count()

        def observed(iterator: Any, loader: Any) -> None:
            before = loader.worker_init_fn
            loader.worker_init_fn = Observer(before, self._folder, next(starts), self._look(loader))
            try:
                original(iterator, loader)
            finally:
                loader.worker_init_fn = before

        kind.__init__ = observed
        self._undo = lambda: setattr(kind, "__init__", original)

    def remove(self) -> None:
        self._undo()

    def _look(self, loader: Any) -> tuple[Stored, ...]:
        context = loader.multiprocessing_context
        method = context.get_start_method() if context is not None else multiprocessing.get_start_method()
        data, _ = unwrapped(loader.dataset)
        found = tuple(stored(data, forked=method == "fork"))
        self._stored.update({each.path: each for each in found})
        self._kinds.update({base.__name__: type(data) for base in type(data).__mro__})
        self._kinds[type(data).__module__] = type(data)
        return found

    def _lines(self, path: str) -> filled_at.Lines:
        """Where the source binds and fills what a path leads to: `Rows.cache`, `Rows.pairs[0]`, `module.CACHE`."""
        owner = max((each for each in self._kinds if path.startswith(f"{each}.")), key=len, default="")
        if not owner:
            return filled_at.Lines()
        kind = self._kinds[owner]
        name = re.split(r"[.\[]", path[len(owner) + 1 :])[0]
        return filled_at.variable(kind, name) if owner == kind.__module__ else filled_at.attribute(kind, name)

    def read(self) -> list[list[Row]]:
        """The measurements of each worker, in the order of their starts; the files are gone then.

        Workers of one loader run at once: which of them measures or writes first differs from run to run.
        """
        found = []
        for name in sorted(os.listdir(self._folder)):
            with open(os.path.join(self._folder, name), encoding="utf-8") as file:
                found.append([json.loads(line) for line in file if line.endswith("\n")])
        shutil.rmtree(self._folder, ignore_errors=True)
        return sorted(filter(None, found), key=lambda rows: (rows[0]["start"], rows[0]["worker"]))

    def kept(self, workers: list[list[Row]]) -> Iterator[tuple[Kept, Curve]]:
        """What the workers' measurements tell, each thing once, by the worker in which it grew most."""
        found: defaultdict[tuple[str, str], list[tuple[Kept, Curve]]] = defaultdict(list)
        for rows in workers:
            for kept, curve in (*self._copies(rows), *self._caches(rows), *_threads(rows)):
                found[kept.kind, kept.pattern].append((kept, curve))
        for several in found.values():
            yield max(several, key=lambda each: each[0].count)

    def _copies(self, rows: list[Row]) -> Iterator[tuple[Kept, Curve]]:
        for path, first in rows[0]["copied"].items():
            what = self._stored[path]
            seen = len(what.addresses)
            points = [(row["fetched"], (row["copied"][path] - first) / seen * what.count) for row in rows]
            count = points[-1][1]
            size = count * what.size
            if count < _COPIED * what.count or size < _BYTES or len(points) < 3:
                continue
            line = growth(points, unit=what.count / seen) or fit(points)
            note = f"{what.count:,} {what.kind}: {count / what.count:.0%} of them were copied into the worker"
            kept = Kept(
                "worker",
                path,
                path,
                self._lines(path).bound,
                growth=line,
                count=count,
                size=size,
                size_per_step=line.slope * what.size,
                note=note,
                clock="fetch",
                most=what.count * what.size,
            )
            yield kept, tuple((step, value, value * what.size) for step, value in points)

    def _caches(self, rows: list[Row]) -> Iterator[tuple[Kept, Curve]]:
        for path, (count, bound, weighed) in rows[-1]["sizes"].items():
            seen = [(row["fetched"], *row["sizes"].get(path, (0, "", None))) for row in rows]
            line = growth([(step, float(value)) for step, value, _, _ in seen])
            if line is None:
                continue
            curve = tuple((step, float(value), float(size or 0)) for step, value, _, size in seen)
            if weighed is None:
                # Of memory that Python does not tell, such as images', the worker's own growth tells.
                rise = _rise([(row["fetched"], float(row["private"])) for row in rows], line)
                size = rise * (line.end - line.start)
            else:
                rise, size = _rise([(step, size) for step, _, size in curve], line), weighed
            lines = self._lines(path)
            made = lines.filled or lines.bound
            yield Kept("cache", path, path, made, None, line, count, size, rise, bound, "", "fetch"), curve


def _rise(points: list[tuple[int, float]], line: Growth) -> float:
    """Bytes a fetch by which something grew while its count did."""
    return max(0.0, fit([(step, size) for step, size in points if line.start <= step <= line.end]).slope)


def private(workers: list[list[Row]]) -> Iterator[Worker]:
    """The private memory of each worker by the batches that it has fetched."""
    starts: Counter[str] = Counter()
    for rows in workers:
        name = f"{rows[0]['dataset']}, worker {rows[0]['worker']}"
        starts[name] += 1
        again = f", start {starts[name]}" if starts[name] > 1 else ""
        yield Worker(name + again, tuple((row["fetched"], float(row["private"])) for row in rows))


def _threads(rows: list[Row]) -> Iterator[tuple[Kept, Curve]]:
    last = rows[-1]
    if last["opencv"] > 1 and last["threads"] > 0:
        note = f"OpenCV runs {last['threads']} more threads in each worker; call cv2.setNumThreads(0) where it starts"
        yield Kept("thread", "cv2", "cv2", note=note, count=last["threads"], clock="fetch"), ()


def changes(workers: list[list[Row]]) -> list[Change]:
    """The stored samples that changed in workers."""
    return [Change(**each) for rows in workers for each in rows[-1]["changes"]]


def changed(found: list[Change]) -> Iterator[Kept]:
    """Changes of stored samples as what a recording tells, one for each attribute."""
    told: set[tuple[str, str]] = set()
    for each in found:
        name = each.path.partition("[")[0]
        if (each.owner, name) in told:
            continue
        told.add((each.owner, name))
        made = (Site(each.file, each.line, f"{each.owner}.__getitem__"),) if each.file else ()
        holder = f"{each.owner}: {each.path}"
        yield Kept("data", holder, f"{each.owner}: {name}", made, note=f"changed {each.when}; hand out a copy")


def stored(data: Any, forked: bool) -> Iterator[Stored]:
    """The large containers of many objects that a Dataset holds."""
    for path, value in containers(data, type(data).__name__):
        if len(value) < MANY:
            continue
        elements = _elements(value)
        distinct = {id(each): each for each in elements}
        if len(distinct) < len(elements) / 2:
            continue  # a few objects, many times: class names, small numbers
        kinds = sorted({type(each).__name__ for each in elements})
        counted: set[int] = set()  # keys that all records share count once
        size = sum(bytes_of(each, counted) or sys.getsizeof(each) for each in elements) / len(elements)
        addresses = tuple(distinct) if forked else ()
        yield Stored(path, " / ".join(kinds[:3]), len(value), size, addresses)


def _elements(value: Any) -> list[Any]:
    """Some elements, spread over a container; of a dict, its values, or its keys if those are few objects."""
    every = max(1, len(value) // _SAMPLED)
    if isinstance(value, dict):
        return list(itertools.islice(value.values(), 0, None, every))
    return list(itertools.islice(value.ravel() if hasattr(value, "ravel") else value, 0, None, every))
