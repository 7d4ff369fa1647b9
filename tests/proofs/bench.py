"""What a variant works with in its child process: the linted file, a temporary folder, a watch on its batches."""

from __future__ import annotations

import hashlib
import importlib
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.proofs.measure import MEASURES


class Bench:
    """Handed to a variant's function, which records figures and series on it.

    folder: an empty temporary folder, for the files that the linted code reads.
    series: by measure, pairs of (steps done, value); what is plotted.
    """

    def __init__(self, source: Path, folder: Path) -> None:
        self.source = source
        self.folder = folder
        self.figures: dict[str, float] = {}
        self.series: dict[str, list[tuple[int, float]]] = {}
        sys.path[:0] = [str(source.parent), str(folder)]

    @property
    def module(self) -> Any:
        """The linted file, imported by its own name, so that spawned workers can import it too."""
        return self.load(self.source.stem)

    def load(self, name: str) -> Any:
        """Another file of the same folder."""
        return importlib.import_module(name)

    def stand_in(self, name: str, source: str) -> ModuleType:
        """A module in the place of a library that decodes, downloads or draws, and has no part in the claim.

        A file, so that workers find it under every start method. Before `module` is first asked for.
        """
        path = self.folder.joinpath(*name.split("."))
        for parent in reversed(path.relative_to(self.folder).parents[:-1]):
            (self.folder / parent).mkdir(exist_ok=True)
            (self.folder / parent / "__init__.py").touch()
        path.with_suffix(".py").write_text(source)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    def record(self, name: str, value: float) -> None:
        """One figure of this variant."""
        self.figures[name] = float(value)

    def sample(self, step: int, *measures: str) -> None:
        """Measure now, `step` steps done."""
        for each in measures:
            self.series.setdefault(each, []).append((step, MEASURES[each]()))

    def watch(self, batches: Iterable[Any], *measures: str, every: int = 1, steps: int | None = None) -> Watched:
        """`batches` for a step loop, measured after each `every` steps; `steps`: no more than so many."""
        return Watched(self, batches, measures, every, steps)

    def grown(self, measure: str, name: str = "") -> float:
        """How much `measure` grew from its first value to its last; recorded under `name` where given."""
        values = self.series[measure]
        grown = values[-1][1] - values[0][1]
        if name:
            self.record(name, grown)
        return grown

    def per_step(self, measure: str, name: str, warm_up: int = 5) -> float:
        """Growth per step after the first `warm_up` steps, in which caches and workers fill; recorded."""
        values = [each for each in self.series[measure] if each[0] >= warm_up]
        (first, before), (last, after) = values[0], values[-1]
        self.record(name, (after - before) / (last - first))
        return self.figures[name]


class Watched:
    """Batches (a Loader, a list) that are measured while a step loop consumes them.

    Measured is when the next batch is asked for: what the last step left behind is there, no more. A Loader's workers
    live until it is asked past its end, so the last measurement is taken before that. done: steps completed.
    """

    def __init__(
        self, bench: Bench, batches: Iterable[Any], measures: Sequence[str], every: int, steps: int | None
    ) -> None:
        self._bench = bench
        self._batches = batches
        self._measures = measures
        self._every = every
        self._steps = steps
        self.done = 0

    @property
    def dataset(self) -> Any:
        """The Loader's Dataset; of plain batches the batches themselves, whose number is all that is asked."""
        return getattr(self._batches, "dataset", self._batches)

    def __len__(self) -> int:
        length = len(self._batches)  # type: ignore[arg-type]  # every kind of batches used here has one
        return length if self._steps is None else min(length, self._steps)

    def __iter__(self) -> Iterator[Any]:
        iterator = iter(self._batches)
        length = len(self)
        for number in range(length):
            batch = next(iterator)
            if number == 0:
                self._measure()
            yield batch
            del batch
            self.done += 1
            if self.done % self._every == 0 or number == length - 1:
                self._measure()
        for _ in iterator if self._steps is None else ():
            raise AssertionError("more batches than its length says")

    def _measure(self) -> None:
        self._bench.sample(self.done, *self._measures)


def digests(elements: Iterable[Any]) -> list[str]:
    """A checksum of each element of a Dataset's state; a tensor's and an array's is of their values."""
    return [hashlib.sha256(pickle.dumps(_plain(each))).hexdigest() for each in elements]


def _plain(value: Any) -> Any:
    if hasattr(value, "numpy"):
        value = value.numpy()
    if hasattr(value, "tobytes"):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def changed(before: Sequence[str], after: Sequence[str]) -> int:
    """The number of elements whose checksum differs."""
    assert len(before) == len(after)
    return sum(one != other for one, other in zip(before, after))


def graph_nodes(value: Any) -> int:
    """The number of autograd nodes that are kept alive by a tensor (or by the tensors of a nested container)."""
    seen: set[Any] = set()
    waiting = [each.grad_fn for each in _tensors(value)]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(following for following, _ in node.next_functions)
    return len(seen)


def _tensors(value: Any) -> Iterator[Any]:
    if hasattr(value, "grad_fn"):
        yield value
    elif isinstance(value, dict):
        yield from (tensor for each in value.values() for tensor in _tensors(each))
    elif isinstance(value, (list, tuple)):
        yield from (tensor for each in value for tensor in _tensors(each))


Task = Callable[[Bench], None]
