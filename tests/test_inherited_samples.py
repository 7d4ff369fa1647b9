"""A base class and those that inherit how samples are read: objects of these are objects of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.model import codes
from tests.test_reach import told

BASE = """
import json
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

class Base(Dataset):
    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]

class Rows(Base):
    def __init__(self, path):
        self.rows = [json.loads(line) for line in open(path)]
"""
IDLE = """
class Idle(Dataset):
    pass

DataLoader(Idle(), num_workers=4)
"""
OWN = """
    def __getitem__(self, i):
        return {}
"""


@pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("", False),
        (OWN.format("super().__getitem__(i)"), False),
        (OWN.format("len(self.rows[i])"), True),  # objects of the base itself are not seen
    ],
)
def test_loaders_of_a_class_that_inherits(body: str, leaks: bool) -> None:
    assert ("TLK101" in codes(BASE + body + IDLE + "DataLoader(Rows('x'))\n")) == leaks


@pytest.mark.parametrize(("number", "leaks"), [("0", False), ("4", True)])
def test_programs_of_a_class_that_inherits(tmp_path: Path, number: str, leaks: bool) -> None:
    makes = f"def loader(path, number={number}):\n    return DataLoader(Rows(path), num_workers=number)\n"
    assert ("TLK101" in told(tmp_path, {}, {}, rows=BASE + makes)) == leaks


@pytest.mark.parametrize(("workers", "leaks"), [("", False), (", num_workers=4", True)])
def test_streams_of_a_class_that_inherits(workers: str, leaks: bool) -> None:
    text = BASE.replace("(Dataset)", "(IterableDataset)")
    stream = "def __iter__(self):\n        yield from self.rows\n"
    text = text.replace("def __getitem__(self, i):\n        return self.rows[i]\n", stream)
    assert ("TLK303" in codes(f"{text}{IDLE}DataLoader(Rows('x'){workers})\n")) == leaks


METER = """
import torch

class BaseMeter:
    def update(self, scores):
        self.scores.append(scores)

    def value(self):
        return torch.cat(self.scores).mean()

class Meter(BaseMeter):
    def __init__(self):
        self.scores = []
{}
def evaluate(model, loader):
    meter = Meter()
    with torch.no_grad():
        for x in loader:
            meter.update(model(x))
    return meter.value()
"""


@pytest.mark.parametrize(
    ("body", "leaks"),
    [("", False), ("    def update(self, scores):\n        self.scores.append(scores.item())\n", True)],
)
def test_meters_that_are_fed_as_a_class_that_inherits(body: str, leaks: bool) -> None:
    assert ("TLK904" in codes(METER.format(body))) == leaks
