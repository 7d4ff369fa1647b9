"""Autograd nodes, each known by a mark: when it was made, whether it lives, and whether it was differentiated."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from flake8_torchleak.recorder import graphs
from flake8_torchleak.recorder.origins import Origins

OLD = 2
"""What was made so many steps ago, or earlier, has outlived its step."""


class _Mark:
    """Lives as long as the autograd node whose metadata hold it."""

    __slots__ = ("__weakref__", "done", "step")

    def __init__(self, step: int) -> None:
        self.step = step
        self.done = False


_KEY = "truth"
_LEAVES: Any = type((torch.ones(1, requires_grad=True) * 1).grad_fn.next_functions[0][0])  # type: ignore[union-attr]


class Marking(Origins):
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
        return sum(each.step <= self.step - OLD for each in self._live)

    def differentiated(self, tensors: Any) -> None:
        """Backward is to run from these: what is old and was never differentiated was needed."""
        stack: list[Any] = [each.grad_fn for each in tensors if isinstance(each, torch.Tensor)]
        seen: set[Any] = set()
        while stack:
            node = stack.pop()
            if node is None or node in seen or isinstance(node, _LEAVES):
                continue
            seen.add(node)
            mark = node.metadata.get(_KEY)
            if mark is not None and not mark.done:
                mark.done = True
                self.needed += mark.step <= self.step - OLD
            stack.extend(each for each, _ in node.next_functions)


@contextmanager
def backward(marking: Marking) -> Iterator[None]:
    """Tells the marks what is differentiated."""
    engine: Any = torch.autograd
    original = engine._engine_run_backward

    def run(tensors: Any, *arguments: Any, **options: Any) -> Any:
        marking.differentiated(tensors)
        return original(tensors, *arguments, **options)

    with mock.patch.object(torch.autograd, "_engine_run_backward", run):
        yield
