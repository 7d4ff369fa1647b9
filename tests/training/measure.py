"""What a program keeps from step to step: autograd nodes, and memory behind views, measured while it runs."""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any

import numpy as np
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.overrides import TorchFunctionMode

from tests.training.program import Files
from tests.training.run import MAIN, run


@dataclass(frozen=True)
class Kept:
    """graph: autograd nodes that stay alive per tick, over the second half of the run, times the ticks; 0 if level.

    memory: bytes of arrays and tensors' storages, beyond their own elements, that what the program holds keeps.
    """

    graph: int
    memory: int


class _Mark:
    """Lives as long as the autograd node whose metadata hold it."""

    __slots__ = ("__weakref__",)


class _Recorder(TorchFunctionMode):
    """Marks the node of every result, and counts marks that live, at each step: each call of a module from outside."""

    def __init__(self) -> None:
        super().__init__()
        self._live: weakref.WeakSet[_Mark] = weakref.WeakSet()
        self.counts: list[int] = []
        self.memory = 0
        self.shared: set[int] = set()
        self._batches: list[Any] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for each in result if isinstance(result, (tuple, list)) else (result,):
            node: Any = each.grad_fn if isinstance(each, torch.Tensor) else None
            if node is not None and not isinstance(node, _ACCUMULATES) and _KEY not in node.metadata:
                mark = _Mark()
                node.metadata[_KEY] = mark
                self._live.add(mark)
        return result

    def batch(self, batch: Any) -> None:
        """A batch that a loader gave: it stays, so that its memory is not used again."""
        self._batches.append(batch)
        self.shared.update(at for at, _, _ in _memory(batch))

    def tick(self, *_: Any) -> None:
        """One step more."""
        self.counts.append(len(self._live))


_KEY = "training"
_ACCUMULATES: Any = type((torch.ones(1, requires_grad=True) * 1).grad_fn.next_functions[0][0])  # type: ignore[union-attr]


def kept(files: Files, memory: bool = False) -> Kept:
    """What the program keeps. memory: look at memory, too: it takes twice as long."""
    recorder = _Recorder()
    run(files, _ticking(recorder, memory), recorder.batch)
    return Kept(growth(recorder.counts), recorder.memory)


def growth(counts: list[int]) -> int:
    """How much more lives in the last third of the ticks than in the third before: the lowest counts of each."""
    third = len(counts) // 3
    if not third:
        return 0
    return max(0, min(counts[-third:]) - min(counts[-2 * third : -third]))


@contextmanager
def _ticking(recorder: _Recorder, memory: bool) -> Iterator[None]:
    hook = register_optimizer_step_post_hook(recorder.tick)
    outer = torch.nn.modules.module.register_module_forward_hook(recorder.tick)
    sys.setprofile(_looking(recorder) if memory else None)
    try:
        with recorder:
            yield
    finally:
        sys.setprofile(None)
        outer.remove()
        hook.remove()


def _looking(recorder: _Recorder) -> Callable[[FrameType, str, Any], None]:
    """Looks at what the program holds whenever one of its functions ends."""

    def look(frame: FrameType, event: str, argument: Any) -> None:
        if event == "return" and frame.f_code.co_filename.endswith(".py") and "/" not in frame.f_code.co_filename[:1]:
            if "__builtins__" in frame.f_globals and "print" in frame.f_globals["__builtins__"]:
                recorder.memory = max(recorder.memory, _beyond(frame, recorder.shared))

    return look


def _beyond(frame: FrameType, shared: set[int]) -> int:
    """Bytes that what a frame holds keeps alive beyond its own elements, or that are a batch's."""
    own: dict[int, int] = {}
    whole: dict[int, int] = {}
    for at, size, base in _memory(dict(frame.f_locals)):
        whole[at] = base
        own[at] = own.get(at, 0) + size
    return sum(base if at in shared else max(0, base - own[at]) for at, base in whole.items())


def _memory(root: Any) -> Iterator[tuple[int, int, int]]:
    """Of each tensor and array in a value: where its memory begins, its own bytes, and those of all that it keeps."""
    seen: set[int] = set()
    queue: deque[tuple[Any, int]] = deque([(root, 0)])
    while queue:
        value, depth = queue.popleft()
        if id(value) in seen or depth > _DEPTH:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            yield storage.data_ptr(), value.nelement() * value.element_size(), storage.nbytes()
        elif isinstance(value, np.ndarray):
            base = value
            while isinstance(base.base, np.ndarray):
                base = base.base
            yield base.__array_interface__["data"][0], value.nbytes, base.nbytes
        elif isinstance(value, dict):
            queue.extend((each, depth + 1) for each in value.values())
        elif isinstance(value, (list, tuple, set, deque)):
            queue.extend((each, depth + 1) for each in value)
        elif not isinstance(value, (type, FunctionType)) and type(value).__module__ == MAIN:
            queue.extend((each, depth + 1) for each in getattr(value, "__dict__", {}).values())


_DEPTH = 6
