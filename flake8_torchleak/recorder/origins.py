"""Where values with history were made: a function mode that sees every result of a torch operation.

For each result it remembers, by a weak reference, the line outside torch that called the operation. Nothing is kept
alive by it. Only the thread that records is seen, and results of `autograd.Function.apply` only by what is made of
them.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from types import CodeType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from flake8_torchleak.recorder import frames
from flake8_torchleak.recorder.graphs import node_of
from flake8_torchleak.recorder.result import Site

_Line = tuple[CodeType, int]
Origin = tuple[_Line, "_Line | None"]
"""The line outside torch that called an operation, and the first-party line that led there if that is another."""


class Origins(TorchFunctionMode):
    """made: how many results with history there were so far; last: where the last one was made.

    hooked: whether tensors were saved through hooks (checkpoints, offloading) at any time.
    """

    def __init__(self) -> None:
        super().__init__()
        self._origins: dict[int, tuple[weakref.ref[torch.Tensor], int, Origin]] = {}
        self._sweep_at = 4096
        self._hooks = torch._C._autograd._top_saved_tensors_default_hooks
        self.made = 0
        self.last: Origin | None = None
        self.hooked = False

    def __torch_function__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **kwargs) if kwargs else func(*args)
        # Asked for every operation: what is asked first is what most results are told by.
        if isinstance(result, torch.Tensor):
            if result.requires_grad and torch.is_grad_enabled() and node_of(result) is not None:
                self._note((result,))
        elif isinstance(result, (tuple, list)) and torch.is_grad_enabled():
            tensors = [each for each in result if isinstance(each, torch.Tensor) and each.requires_grad]
            several = [each for each in tensors if node_of(each) is not None]
            if several:
                self._note(several)
        return result

    def _note(self, results: Iterable[torch.Tensor]) -> None:
        if not self.hooked and self._hooks(True) is not None:
            self.hooked = True
        frame = sys._getframe(2)
        whose = frames.known.get(frame.f_code)
        while whose is None or (whose == frames.INTERNAL and frame.f_back is not None):
            if whose is not None:
                frame = frame.f_back  # type: ignore[assignment]
            whose = frames.owner(frame.f_code) if whose is None else frames.known.get(frame.f_code)
        made = (frame.f_code, frame.f_lineno)
        called: _Line | None = None
        if whose != frames.OWN:
            outer = frame.f_back
            while outer is not None and frames.owner(outer.f_code) != frames.OWN:
                outer = outer.f_back
            called = (outer.f_code, outer.f_lineno) if outer is not None else None
        self.last = (made, called)
        for each in results:
            self.made += 1
            number = self.made
            self._origins[id(each)] = (weakref.ref(each), number, self.last)
        if len(self._origins) > self._sweep_at:
            self._sweep()

    def _sweep(self) -> None:
        self._origins = {key: each for key, each in self._origins.items() if each[0]() is not None}
        self._sweep_at = max(4096, 2 * len(self._origins))

    def of(self, tensor: torch.Tensor) -> Origin | None:
        """Where a tensor was made (last written, if in place)."""
        found = self._origins.get(id(tensor))
        return found[2] if found is not None and found[0]() is tensor else None

    def alive(self, before: int) -> list[torch.Tensor]:
        """The results that are still alive of those that were among the first `before`."""
        self._sweep()
        found = [reference() for reference, number, _ in self._origins.values() if number <= before]
        return [each for each in found if each is not None]


def places(origin: Origin) -> tuple[Site, Site | None]:
    """An origin as places in source: where a value was made, and the first-party line that led there."""
    made, called = origin
    return frames.site(*made), frames.site(*called) if called is not None else None
