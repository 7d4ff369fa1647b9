"""What runs inside a worker process: now and then it measures the worker and its copy of the Dataset.

Each measurement is a line of JSON in a file of the worker's own, which the main process reads at the end. The
Dataset's objects are not touched: whether they were copied is read from the page table, at addresses that the main
process took before it forked.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import psutil
from torch.utils.data import get_worker_info
from torch.utils.data._utils import fetch

from flake8_torchleak.recorder import frames
from flake8_torchleak.recorder.reach import reach
from flake8_torchleak.recorder.stored_samples import StoredSamples, unwrapped
from flake8_torchleak.recorder.weights import bytes_of, last_elements

_PAGE = os.sysconf("SC_PAGE_SIZE")
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)
_EXCLUSIVE = 1 << 56
"""The page table's flag for pages that one process alone has (Linux 4.2 or newer)."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A large container of the Dataset. addresses: of some of its elements, in the main process before it forked."""

    path: str
    kind: str
    count: int
    size: float
    addresses: tuple[int, ...]


class Observer:
    """Takes the place of a loader's `worker_init_fn`, calls it, and then measures as batches are fetched.

    start: how many times loaders had started workers before.
    """

    def __init__(
        self, original: Callable[[int], object] | None, folder: str, start: int, stored: tuple[Stored, ...]
    ) -> None:
        self._original, self._folder, self._start, self._stored = original, folder, start, stored

    def __call__(self, worker: int) -> None:
        if self._original is not None:
            self._original(worker)
        info = get_worker_info()
        assert info is not None
        file = os.path.join(self._folder, f"{os.getpid()}.jsonl")
        report = Report(file, self._start, worker, unwrapped(info.dataset)[0], self._stored)
        report.samples.install()
        for kind in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
            _after_each_fetch(kind, report.fetched)


def _after_each_fetch(kind: Any, then: Callable[[], None]) -> None:
    original = kind.fetch

    def watched(fetcher: Any, index: Any) -> Any:
        batch = original(fetcher, index)
        then()
        return batch

    kind.fetch = watched


class Report:
    """The measurements of one worker."""

    def __init__(self, file: str, start: int, worker: int, data: Any, stored: tuple[Stored, ...]) -> None:
        self.samples = StoredSamples()
        self._file, self._start, self._worker, self._data, self._stored = file, start, worker, data, stored
        self._process = psutil.Process()
        self._threads = native_threads(self._process)
        self._lengths: dict[str, int] = {}
        self._fetched = 0
        self._write()

    def fetched(self) -> None:
        self._fetched += 1
        if self._fetched <= 16 or self._fetched % (8 if self._fetched <= 512 else 64) == 0:
            self._write()

    def _write(self) -> None:
        row = {
            "start": self._start,
            "worker": self._worker,
            "dataset": type(self._data).__name__,
            "fetched": self._fetched,
            "private": self._process.memory_full_info().uss,
            "threads": native_threads(self._process) - self._threads,
            "opencv": opencv_threads(),
            "copied": {each.path: copied(each.addresses) for each in self._stored if each.addresses},
            "sizes": {
                path: [count, bound, self._size(path, count, value)] for path, count, bound, value in sizes(self._data)
            },
            "changes": [asdict(each) for each in self.samples.changes.values()],
        }
        with open(self._file, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def _size(self, path: str, count: int, value: Any) -> float | None:
        """Bytes of a container that grew, by the elements that were added last; None if it did not, or is unknown.

        Others are not looked into: to look at an object is to copy its page.
        """
        if count <= self._lengths.setdefault(path, count):
            return None
        last = last_elements(value)
        found = bytes_of(last)
        return sys.getsizeof(value) + found / len(last) * count if found is not None and last else None


def native_threads(process: psutil.Process) -> int:
    """The threads of this process that Python did not start.

    A worker has two of Python's, from its first batch on: its queue's feeder and the server of its descriptors.
    """
    return process.num_threads() - threading.active_count()


def opencv_threads() -> int:
    """The threads that OpenCV would use in this process; 0 if it is not loaded."""
    cv2 = sys.modules.get("cv2")
    return int(cv2.getNumThreads()) if cv2 is not None else 0


def copied(addresses: tuple[int, ...]) -> int:
    """How many of some addresses lie in pages that this process alone has."""
    try:
        with open("/proc/self/pagemap", "rb") as pages:
            found = 0
            for each in addresses:
                pages.seek(each // _PAGE * 8)
                found += bool(int.from_bytes(pages.read(8), "little") & _EXCLUSIVE)
            return found
    except OSError:
        return 0


def sizes(data: Any) -> Iterator[tuple[str, int, str, Any]]:
    """The containers that a Dataset, its class and its module hold: path, length, what bounds it, and itself."""
    kind = type(data)
    for path, value in containers(data, kind.__name__):
        yield path, len(value), f"at most {value.maxlen}" if getattr(value, "maxlen", None) else "", value
    own = [base for base in kind.__mro__ if frames.owner_of_file(_file(base)) == frames.OWN]
    spaces = [(f"{base.__name__}.", dict(vars(base))) for base in own]
    module = sys.modules.get(kind.__module__)
    if own and module is not None:
        spaces.append((f"{kind.__module__}.", vars(module)))
    for prefix, names in spaces:
        for name, value in list(names.items()):
            if isinstance(value, functools._lru_cache_wrapper):
                info = value.cache_info()
                yield f"{prefix}{name}", info.currsize, "" if info.maxsize is None else f"at most {info.maxsize}", value
            elif isinstance(value, (list, dict, set)) and not name.startswith("__"):
                yield prefix + name, len(value), "", value


def _file(kind: type) -> str:
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or "<built in>"


def containers(data: Any, root: str, depth: int = 4) -> Iterator[tuple[str, Any]]:
    """The containers that an object leads to. The elements of long ones are not looked at."""
    seen: set[int] = set()
    queue = [(root, data, depth)]
    while queue:
        path, value, left = queue.pop()
        look = reach(type(value))
        if id(value) in seen or (look is None and type(value).__module__ != "numpy"):
            continue
        seen.add(id(value))
        if isinstance(value, _CONTAINERS) or _is_objects(value):
            yield path, value
            if look is None or len(value) > 64:
                continue
        if left and look is not None and not isinstance(value, type):
            queue.extend((path + text, each, left - 1) for text, _, each in look(value))


def _is_objects(value: Any) -> bool:
    """Whether it is an array of Python objects."""
    return bool(getattr(getattr(value, "dtype", None), "hasobject", False)) and getattr(value, "ndim", 0) > 0
