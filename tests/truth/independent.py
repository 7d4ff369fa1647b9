"""A second measure of what programs retain, by other means than the census: for checking labels.

- **graph**: plain weak references, planted by the program's own text. Around what is assigned and returned stands
  `__plant__(...)`, which hangs a fresh object on each tensor with history by `Tensor.register_hook`: the autograd node
  holds it. It lives as long as the node does, and is called when gradients go through, late for what was needed.
- **batch**: the descriptors that are open (`/proc/self/fd`): a tensor in shared memory has one.
- **view**: data memory (`/proc/self/statm`; zeros that nobody wrote are not resident), with images of two megabytes in
  place of small ones.
- **state** and **cache**: private memory (`/proc/self/smaps_rollup`) of a forked reader, before and after it has read.
- **sample**: what a Dataset stores, pickled whole, before and after the run.

Growth is not the recorder's line, either: it is a run of ten steps in which the count rises five times and never falls.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import gc
import itertools
import os
import pickle
import resource
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any

import torch

from tests.training.program import ENTRY
from tests.training.run import TooLong, alone, imports, limit
from tests.truth.case import STEP, Case
from tests.truth.census import BATCH, CACHE, GRAPH, SAMPLE, SECONDS, STATE, VIEW
from tests.truth.forked import in_fork
from tests.truth.ticking import Ticking
from tests.truth.world import inside, loaders, unsaved

COMPARED = {
    "loss": GRAPH, "output": GRAPH, "metric": GRAPH, "hidden state": GRAPH, "buffer": GRAPH, "exception": GRAPH,
    "batch": BATCH, "view": VIEW, "records": STATE, "cache": CACHE, "sample": SAMPLE,
}  # fmt: skip
"""What is compared of programs of each kind. Hooks and figures are counted as the census counts them: not here."""
SIDE = 512
"""Rows and columns of an image here: two megabytes."""
_IMAGE = 512 * 1024
_PRIVATE = {STATE: 80 * 1024, CACHE: 60 * 1024}
"""Bytes that a step keeps at least of an image, and that a reader makes private."""
_PAGE = resource.getpagesize()


class _Token:
    """What a node's hook holds."""

    __slots__ = ("__weakref__", "_called", "_measure", "step")

    def __init__(self, measure: _Measure, step: int) -> None:
        self._measure, self.step, self._called = measure, step, False

    def __call__(self, gradient: torch.Tensor) -> None:
        self._measure.late += not self._called and self.step <= self._measure.step - 2
        self._called = True


@dataclass
class _Measure:
    """Counts at each step. late: tokens that were called two steps after they were planted."""

    step: int = 0
    late: int = 0
    tokens: list[weakref.ref[_Token]] = field(default_factory=list)
    alive: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    data: list[int] = field(default_factory=list)
    private: int = 0
    datasets: list[tuple[Any, bytes]] = field(default_factory=list)

    def tick(self) -> None:
        self.step += 1
        self.tokens = [each for each in self.tokens if each() is not None]
        self.alive.append(sum(_is_old(each(), self.step) for each in self.tokens))
        self.files.append(len(os.listdir("/proc/self/fd")))
        with open("/proc/self/statm", encoding="ascii") as memory:
            self.data.append(int(memory.read().split()[5]) * _PAGE)

    def plant(self, value: Any) -> Any:
        for each in value if isinstance(value, tuple) else (value,):
            hooked: Any = each
            if (
                isinstance(each, torch.Tensor)
                and each.requires_grad
                and not each.is_leaf
                and "planted" not in vars(each)
            ):
                token = _Token(self, self.step)
                self.tokens.append(weakref.ref(token))
                hooked.register_hook(token)
                hooked.planted = True
        return value

    def ticked(self, items: Any) -> Iterator[Any]:
        for each in items:
            self.tick()
            yield each

    def reads(self, data: Any, workers: bool) -> bool:
        """A loader begins. Has it workers, a forked process reads all of it, and tells what that made private."""
        own = hasattr(data, "__getitem__") and not type(data).__module__.startswith("torch")
        if own and all(each is not data for each, _ in self.datasets):
            self.datasets.append((data, pickle.dumps(data.__dict__)))
            self.private = max(self.private, in_fork(lambda: _read(data)) or 0 if workers else 0)
        return own

    def received(self, batch: Any, workers: bool) -> None:
        for each in batch if isinstance(batch, (tuple, list)) else ():
            if workers and isinstance(each, torch.Tensor):
                shared: Any = each
                shared.share_memory_()


def _is_old(token: _Token | None, step: int) -> bool:
    return token is not None and token.step <= step - 2


def _read(data: Any) -> int:
    """Bytes that reading a Dataset makes private to the process that reads, going by the quarter with the least."""
    for at in range(20):
        data[at]
    quarter, made = len(data) // 4, []
    for part in range(4):
        before = _private()
        for at in range(part * quarter, (part + 1) * quarter):
            data[at]
        made.append(_private() - before)
    # What a process allocates once, for whatever reason, is in one of them.
    return 4 * min(made)


def _private() -> int:
    with open("/proc/self/smaps_rollup", encoding="ascii") as memory:
        lines = [line.split() for line in memory if line.startswith("Private")]
    return sum(int(parts[1]) * 1024 for parts in lines)


class _Planting(ast.NodeTransformer):
    """What is assigned, added or returned is planted."""

    def _planted(self, value: ast.expr) -> ast.expr:
        call = ast.Call(ast.Name("__plant__", ast.Load()), [value], [])
        return ast.fix_missing_locations(ast.copy_location(call, value))

    def _of_value(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._planted(node.value)
        return node  # type: ignore[no-any-return]

    visit_Assign = visit_AugAssign = visit_Return = _of_value


def _planted(case: Case) -> Callable[[str, str], CodeType]:
    def compiled(path: str, text: str) -> CodeType:
        lines = {line for file, line in case.marks[STEP] if file == path}
        return compile(_Planting().visit(Ticking(lines).visit(ast.parse(text, path))), path, "exec")

    return compiled


def retained(case: Case) -> bool | None:
    """Whether the program retains what its kind is about; None where this measure does not tell."""
    about = COMPARED.get(case.cell["kind"])
    if about is None:
        return None
    if about == VIEW:
        large = {path: text.replace("64, 64", f"{SIDE}, {SIDE}") for path, text in case.files.items()}
        case = replace(case, files=large)
    measure = _measured(case, SIDE if about == VIEW else 64)
    if measure is None:
        return None
    needed = measure.late >= 3
    return {
        GRAPH: grows(measure.alive) and not needed,
        BATCH: grows(measure.files) and not needed,
        VIEW: grows([each // _IMAGE for each in measure.data]),
        STATE: measure.private >= _PRIVATE[STATE],
        CACHE: measure.private >= _PRIVATE[CACHE],
        SAMPLE: any(pickle.dumps(data.__dict__) != before for data, before in measure.datasets),
    }[about]


@functools.cache
def _mapped_apart() -> None:
    """Tell glibc to map every large block by itself, always: else what is freed serves the next, and nothing grows."""
    threshold, size = -3, 1 << 17
    ctypes.CDLL(None).mallopt(threshold, size)


def _measured(case: Case, side: int) -> _Measure | None:
    """None if the program raises."""
    _mapped_apart()
    measure, compiled = _Measure(), _planted(case)
    with inside(side), alone(), imports(case.files, [], compiled) as finder, loaders(measure), unsaved():
        finder.builtins.update(__tick__=measure.tick, __plant__=measure.plant, __ticked__=measure.ticked)
        gc.collect()
        try:
            with limit(4 * SECONDS):
                finder.run_entry(compiled(ENTRY, case.files[ENTRY]))
        except (TooLong, Exception):
            return None
    return measure


def grows(counts: list[int]) -> bool:
    """Whether there are ten steps in a row, after the first two, in which it rose five times and never fell."""
    for start in range(2, len(counts) - 9):
        rises = [after - before for before, after in itertools.pairwise(counts[start : start + 10])]
        if min(rises) >= 0 and sum(each > 0 for each in rises) >= 5:
            return True
    return False
