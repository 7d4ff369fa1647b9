"""Worker processes as the main process sees them: sets an observer into each, and reads what they wrote."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from torch.utils.data import dataloader

from flake8_torchleak.recorder import filled_at
from flake8_torchleak.recorder.growth import Growth, fit, growth
from flake8_torchleak.recorder.result import Kept, Site
from flake8_torchleak.recorder.stored_samples import Change, unwrapped
from flake8_torchleak.recorder.worker_side import Observer, Stored, containers

MANY = 1000
"""Elements from which on a container of the Dataset is large enough to be watched for copies."""
_SAMPLED = 256
_COPIED = 0.05
"""The share of the watched elements that must have been copied, beyond those that were at the start."""
_BYTES = 250_000
"""Bytes in a worker from which on copies are told."""

Row = dict[str, Any]


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

        def observed(iterator: Any, loader: Any) -> None:
            before = loader.worker_init_fn
            loader.worker_init_fn = Observer(before, self._folder, self._look(loader))
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
        """The measurements of each worker; the files are gone then."""
        found = []
        for name in sorted(os.listdir(self._folder)):
            with open(os.path.join(self._folder, name), encoding="utf-8") as file:
                found.append([json.loads(line) for line in file if line.endswith("\n")])
        shutil.rmtree(self._folder, ignore_errors=True)
        return [rows for rows in found if rows]

    def kept(self, workers: list[list[Row]]) -> Iterator[Kept]:
        """What the workers' measurements tell, each thing once, by the worker in which it grew most."""
        found: defaultdict[tuple[str, str], list[Kept]] = defaultdict(list)
        for rows in workers:
            for each in (*self._copies(rows), *self._caches(rows), *_threads(rows)):
                found[each.kind, each.pattern].append(each)
        for several in found.values():
            yield max(several, key=lambda each: each.count)

    def _copies(self, rows: list[Row]) -> Iterator[Kept]:
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
            yield Kept(
                "worker",
                path,
                path,
                self._lines(path).bound,
                None,
                line,
                count,
                size,
                line.slope * what.size,
                "",
                note,
                "fetch",
            )

    def _caches(self, rows: list[Row]) -> Iterator[Kept]:
        for path, (_, bound) in rows[-1]["sizes"].items():
            line = growth([(row["fetched"], float(row["sizes"].get(path, [0])[0])) for row in rows])
            if line is None:
                continue
            memory = _memory(rows, line)
            lines = self._lines(path)
            made = lines.filled or lines.bound
            count = rows[-1]["sizes"][path][0]
            private = memory * (line.end - line.start)
            yield Kept("cache", path, path, made, None, line, count, private, memory, bound, "", "fetch")


def _memory(rows: list[Row], line: Growth) -> float:
    """Bytes by which the worker's own memory grew, a fetch, while something did."""
    points = [(row["fetched"], float(row["private"])) for row in rows if line.start <= row["fetched"] <= line.end]
    return max(0.0, fit(points).slope)


def _threads(rows: list[Row]) -> Iterator[Kept]:
    last = rows[-1]
    if last["opencv"] > 1 and last["threads"] > 0:
        note = f"OpenCV runs {last['threads']} more threads in each worker; call cv2.setNumThreads(0) where it starts"
        yield Kept("thread", "cv2", "cv2", note=note, count=last["threads"], clock="fetch")


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
        size = sum(map(_size, elements)) / len(elements)
        addresses = tuple(distinct) if forked else ()
        yield Stored(path, " / ".join(kinds[:3]), len(value), size, addresses)


def _elements(value: Any) -> list[Any]:
    """Some elements, spread over a container; of a dict, its values, or its keys if those are few objects."""
    every = max(1, len(value) // _SAMPLED)
    if isinstance(value, dict):
        return list(islice(value.values(), 0, None, every))
    return list(islice(value.ravel() if hasattr(value, "ravel") else value, 0, None, every))


def _size(value: Any) -> float:
    """Bytes of an object and of what a small container of it holds."""
    inner: list[Any] = []
    if isinstance(value, dict) and len(value) <= 64:
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple)) and len(value) <= 64:
        inner = list(value)
    return float(sys.getsizeof(value) + sum(sys.getsizeof(each) for each in inner))
