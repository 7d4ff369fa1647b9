"""Private memory of DataLoader workers by start method and by what the Dataset holds: docs/dataset-memory.md shows it.

usage: python -m benchmarks.start_methods [--write]

Two workers, two epochs in random order, 200,000 texts of 49 characters; workers end with each epoch. Measured is the
mean private memory of a worker, above that of a worker whose Dataset holds nothing but a count. Each run is a process
of its own. `--write` writes the plots, and the figures beside them as JSON. Linux only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from tests.proofs.measure import MB, private, worker_pids
from tests.proofs.plots import svg
from tests.proofs.proof import Plot

PLOTS = Path(__file__).resolve().parent.parent / "docs" / "plots"
METHODS = ("fork", "spawn", "forkserver")
COUNT, BATCH, EVERY = 200_000, 500, 20


def texts() -> list[str]:
    """Texts as long as the path of an image often is."""
    return [f"{number:07d} a path of an image that is as long as most"[:49].ljust(49, ".") for number in range(COUNT)]


class Nothing(Dataset):
    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> int:
        return index


class List(Nothing):
    def __init__(self) -> None:
        self.texts = texts()

    def __getitem__(self, index: int) -> int:
        return len(self.texts[index])


class Array(Nothing):
    def __init__(self) -> None:
        self.texts = np.array(texts(), dtype=np.bytes_)

    def __getitem__(self, index: int) -> int:
        return len(self.texts[index].decode())


class Tensor(Nothing):
    """All texts in one tensor of bytes, with a tensor of the places where they end."""

    def __init__(self) -> None:
        encoded = [each.encode() for each in texts()]
        self.ends = torch.tensor([len(each) for each in encoded]).cumsum(0)
        self.bytes = torch.frombuffer(bytearray(b"".join(encoded)), dtype=torch.uint8)

    def __getitem__(self, index: int) -> int:
        start = int(self.ends[index - 1]) if index else 0
        return len(self.bytes[start : int(self.ends[index])].numpy().tobytes().decode())


DATASETS = {each.__name__.lower(): each for each in (Nothing, List, Array, Tensor)}


def measured(method: str, kind: str) -> list[tuple[int, float]]:
    """Pairs of batches done and the mean private memory of a worker in MB, over two epochs."""
    loader = DataLoader(DATASETS[kind](), batch_size=BATCH, shuffle=True, num_workers=2, multiprocessing_context=method)
    points, done = [], 0
    for _ in range(2):
        for number, _ in enumerate(loader, 1):
            done += 1
            if number % EVERY == 1:
                pids = worker_pids()
                points.append((done, sum(map(private, pids)) / len(pids) / MB))
    return points


def in_a_process(method: str, kind: str) -> list[tuple[int, float]]:
    command = [sys.executable, "-m", "benchmarks.start_methods", "--one", method, kind]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    return [(done, value) for done, value in json.loads(ran.stdout)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "KIND"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(*arguments.one)))
        return
    ends = {}
    for method in METHODS:
        found = {kind: in_a_process(method, kind) for kind in DATASETS}
        control = dict(found.pop("nothing"))
        series = {kind: {"mb": [(done, value - control[done]) for done, value in each]} for kind, each in found.items()}
        ends[method] = {kind: round(each["mb"][-1][1], 1) or 0.0 for kind, each in series.items()}
        print(method, ends[method])
        plot = Plot(
            "private memory of a worker, two epochs",
            measure="mb",
            unit="MB",
            steps="batches",
            lines={"list": "list of str", "array": "np.bytes_", "tensor": "one tensor"},
        )
        if arguments.write:
            (PLOTS / f"start_{method}.svg").write_text(svg(method, plot, series), encoding="utf-8")
    if arguments.write:
        (PLOTS / "start_methods.json").write_text(json.dumps(ends, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
