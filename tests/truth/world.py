"""Where programs run: a folder with the files that they read, loaders without processes, figures that are not drawn."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from unittest import mock

import numpy as np
import torch
from torch.utils.data import DataLoader

from tests.truth.worker import sent

os.environ.setdefault("MPLBACKEND", "agg")

_ROWS = 4000
_FEW, _MANY = 6, 1000
"""Batches that this process reads of a Dataset of more rows than that, once a forked process has read all of it."""


class Receiver(Protocol):
    """Told what loaders do."""

    def reads(self, data: Any, workers: bool) -> bool:
        """A loader begins to read a Dataset. Whether its batches are to be sent as workers, if any, send them."""

    def received(self, batch: Any, workers: bool) -> None:
        """A batch was read: it comes from a worker, or not."""


@contextmanager
def loaders(receiver: Receiver) -> Iterator[None]:
    """Loaders read in this process, whatever workers they ask for."""
    plain_init, plain_iter = DataLoader.__init__, DataLoader.__iter__

    def init(self: Any, *arguments: Any, **options: Any) -> None:
        workers = int(options.pop("num_workers", arguments[5] if len(arguments) > 5 else 0))
        for name in ("persistent_workers", "prefetch_factor", "multiprocessing_context", "timeout"):
            options.pop(name, None)
        plain_init(self, *arguments[:5], *([0] if len(arguments) > 5 else []), *arguments[6:], **options)
        self.__dict__["truth_workers"] = workers

    def iterate(self: Any) -> Iterator[Any]:
        workers = self.__dict__.get("truth_workers")
        own = receiver.reads(self.dataset, bool(workers)) and bool(workers)
        left = _FEW if own and len(self.dataset) > _MANY else 10**6
        for batch in plain_iter(self):
            left -= 1
            if left < 0:
                return
            if own:
                batch = sent(batch)
            else:
                receiver.received(batch, bool(workers))
            yield batch
            del batch

    with mock.patch.object(DataLoader, "__init__", init), mock.patch.object(DataLoader, "__iter__", iterate):
        yield


@contextmanager
def unsaved() -> Iterator[None]:
    """Figures are not drawn to files: it takes long, and changes nothing of what is kept."""
    figures = sys.modules.get("matplotlib.figure")
    if figures is None:
        yield
        return

    # A function: pyplot, when it is imported, asks for its name and its parameters.
    @functools.wraps(figures.Figure.savefig)
    def savefig(*given: object, **named: object) -> None:
        pass

    with mock.patch.object(figures.Figure, "savefig", savefig):
        yield


@functools.cache
def _folder(side: int) -> str:
    """The files that they read."""
    folder = Path(tempfile.mkdtemp(prefix="truth-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    rows = [{"path": f"images/train/{at:08}.jpg", "id": at} for at in range(_ROWS)]
    (folder / "rows.json").write_text(json.dumps(rows))
    (folder / "rows.csv").write_text("".join(f"{each['path']},{each['id']}\n" for each in rows))
    (folder / "images").mkdir()
    for at in range(16):
        np.save(folder / "images" / f"{at:03}.npy", np.full((side, side), at / 7))
        torch.save(torch.full((side, side), at / 7), folder / "images" / f"{at:03}.pt")
    return str(folder)


@contextmanager
def inside(side: int = 64) -> Iterator[None]:
    """The working folder is the programs'. side: rows and columns of the images there."""
    before = os.getcwd()
    os.chdir(_folder(side))
    try:
        yield
    finally:
        os.chdir(before)
