"""Programs as text: what lint says of them by line, and what they keep when they run."""

from __future__ import annotations

import contextlib
import gc
import io
import re
import warnings
from collections.abc import Callable, Iterator
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any

from flake8_torchleak.lint import lint

if TYPE_CHECKING:
    from flake8_torchleak.finding import Finding

CODES = ("TLK401", "TLK402", "TLK403", "TLK404", "TLK408")
IMPORTS = """\
import collections, contextlib, copy, functools, itertools, math, queue
import numpy as np
import torch
from torch import nn
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional, Union
from torch.utils.data import DataLoader
"""
_STEP = "loss = criterion(model(x), y); optimizer.zero_grad(); loss.backward(); optimizer.step()"
_MARKER = re.compile(r"# (TLK\d{3})(?: (TLK\d{3}))?$")


def program(text: str) -> str:
    """A text under the imports; its lines `STEP` are one training step, which leaves `loss`."""
    return IMPORTS + dedent(text).strip("\n").replace("STEP", _STEP) + "\n"


def training(body: str, above: str = "", before: str = "kept = []", after: str = "") -> str:
    """`train` with `body` behind its step, `before` above its loop and `after` below it; `above` is the module's."""
    lines = [
        dedent(above).strip("\n"),
        "def train(model, loader, criterion, optimizer):",
        indent(dedent(before).strip("\n"), "    "),
        "    for i, (x, y) in enumerate(loader):",
        "        STEP",
        indent(dedent(body).strip("\n"), "        "),
        indent(dedent(after).strip("\n"), "    "),
    ]
    return program("\n".join(lines))


def marked(text: str) -> list[tuple[int, str]]:
    """The findings that the comments of a text name, by line."""
    return [
        (at, code)
        for at, line in enumerate(text.splitlines(), 1)
        if (found := _MARKER.search(line)) is not None
        for code in found.groups()
        if code is not None
    ]


def findings(text: str, path: str | None = None) -> list[Finding]:
    """What lint reports of values that are kept with their history, or as memory of batches."""
    found = lint(text, path=path) if path is not None else lint(text)
    return [each for each in found if each.code in CODES]


def reported(text: str, path: str | None = None) -> list[tuple[int, str]]:
    """The same by line and code."""
    return sorted((each.span.line, each.code) for each in findings(text, path))


# -- what is kept when it runs ------------------------------------------------------------------------------

_STEPS, _FROM = 10, 6


class _Batches:
    """A loader that counts the nodes of the graphs that are alive before two of its batches: a count takes its time."""

    dataset: list[int] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.counts: list[int] = []

    def __len__(self) -> int:
        return _STEPS

    def __iter__(self) -> Iterator[Any]:
        import torch

        for _ in range(_STEPS):
            at = len(self.counts)
            self.counts.append(alive() if at in (_FROM - 1, _STEPS - 1) else 0)
            yield [torch.rand(3, 2), torch.rand(3, 1)]


def alive() -> int:
    """The nodes of graphs, and the tensors with such, that are alive."""
    import torch

    gc.collect()
    with_history = [
        each for each in gc.get_objects() if type(each) in (torch.Tensor, torch.nn.Parameter) and each.grad_fn
    ]
    seen = {each.grad_fn for each in with_history}
    stack = list(seen)
    while stack:
        for below, _ in stack.pop().next_functions:
            if below is not None and below not in seen:
                seen.add(below)
                stack.append(below)
    return len(seen) + len(with_history)


def grows(text: str) -> bool:
    """Whether `train` of a text keeps more of graphs with each batch, when it runs."""
    import torch

    torch.manual_seed(0)
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, "program.py", "exec", dont_inherit=True), namespace)
    train: Callable[..., Any] = namespace["train"]
    model, loader = torch.nn.Linear(2, 1), _Batches()
    gc.collect()
    gc.freeze()  # what was there before is not looked through, now or later: that takes far longer than the training
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        train(model, loader, torch.nn.functional.mse_loss, torch.optim.SGD(model.parameters(), lr=0.01))
    counts = loader.counts[:_STEPS]  # fewer if it left its loop
    return len(counts) == _STEPS and counts[-1] - counts[_FROM - 1] >= _STEPS - _FROM
