"""TLK201, TLK202: collate functions with more parameters, and samples that come from worker processes as copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.model import firstparty
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
        ("lambda batch: gather(batch, size=8)", [], []),
        ("lambda batch: two(size=4, batch=batch)", [], []),
        ("partial(lambda batch: gather(batch))", [], []),
        ("partial(lambda batch, size: gather(batch, size), size=4)", [], []),
        ("lambda batch: gather(batch[1:])", ["warning"], ["warning"]),
        ("lambda: gather([])", ["warning"], ["warning"]),
        ("lambda batch: hand_on(batch)", [], ["warning"]),
        ("lambda batch: edit(batch), num_workers=2", [], ["warning"]),
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


TABLE = """
from pairs import Pairs
from torch.utils.data import DataLoader

KINDS = {}

def loader(name):
    kind = KINDS[name]
    pairs = kind(name)
    return DataLoader(pairs, batch_size=4{})
"""


@pytest.mark.parametrize(
    ("kinds", "given", "views"),
    [
        ("{'pairs': Pairs, 'others': dict}", "", []),
        ("{'pairs': Pairs, 'others': dict}", ", collate_fn=list", ["note"]),
        ("dict(pairs=Pairs)", "", ["note"]),
    ],
)
def test_classes_that_are_taken_from_a_table(tmp_path: Path, kinds: str, given: str, views: list[str]) -> None:
    (tmp_path / "pyproject.toml").touch()
    pairs = tmp_path / "pairs.py"
    pairs.write_text(PAIRS.partition("\nloader =")[0])
    (tmp_path / "train.py").write_text(TABLE.replace("{}", kinds, 1).replace("{}", given))
    assert severities("TLK201", pairs.read_text(), pairs) == views
    firstparty.forget()


def test_labels_are_no_views() -> None:
    """A row of an array of labels is a number, as a rule: there is nothing to edit."""
    text = PAIRS.replace("{}", "list, num_workers=count")
    assert severities("TLK201", text) == ["warning"]
    assert not severities("TLK201", text.replace("self.rows", "self.labels"))
