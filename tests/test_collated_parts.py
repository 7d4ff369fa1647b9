"""TLK201, TLK202: collate functions with more parameters, and samples that come from worker processes as copies."""

from __future__ import annotations

import pytest

from tests.test_worth_of_place import severities

PAIRS = """
from functools import partial
import json
import numpy as np
from torch.utils.data import DataLoader, Dataset

def gather(batch, size=4, *, split="train"):
    rows = np.zeros([len(batch), size])
    for n, (row, words) in enumerate(batch):
        rows[n, :] = row
    return rows

def hand_on(batch):
    return [words for _, words in batch]

def edit(batch):
    for _, words in batch:
        words.append("end")
    return [words for _, words in batch]

def two(batch, size):
    return np.stack([row for row, _ in batch])

class Pairs(Dataset):
    def __init__(self, file):
        self.rows = np.load(file)
        self.words = [line.split() for line in open(file)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i : i + 4], self.words[i]

loader = DataLoader(Pairs("a"), collate_fn={})
"""


@pytest.mark.parametrize(
    ("loader", "views", "lists"),
    [
        ("gather", [], []),
        ("partial(gather, split='test')", [], []),
        ("partial(gather, 4)", ["warning"], ["warning"]),
        ("two", [], ["note"]),
        ("partial(two, size=4)", [], []),
        ("hand_on", [], ["warning"]),
        ("hand_on, num_workers=2", [], []),
        ("hand_on, num_workers=count", [], ["warning"]),
        ("edit, num_workers=2", [], ["warning"]),
    ],
)
def test_what_collate_functions_do(loader: str, views: list[str], lists: list[str]) -> None:
    """What a worker sends is pickled: an edit of the batch does not reach its Dataset (0 of 400 images changed)."""
    found = severities("TLK201", PAIRS.replace("{}", loader)), severities("TLK202", PAIRS.replace("{}", loader))
    assert found == (views, lists)
