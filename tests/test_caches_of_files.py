"""TLK104: caches of what is in files."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

CACHE = """
from torch.utils.data import Dataset, DataLoader

class Files(Dataset):
    def __init__(self, paths):
        self.paths, self.cache = paths, {{}}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        path = self.paths[i]
        if i not in self.cache:
            {fill}
        return self.cache[i][:4]

loader = DataLoader(Files(["a", "b"]), num_workers=4)
"""


@pytest.mark.parametrize(
    ("fill", "count"),
    [
        ("self.cache[i] = open(path, 'rb').read()", 1),
        ("self.cache[i] = path.read_bytes()", 1),
        (
            "with open(path, mode='rb') as file:\n                data = file.read()\n            self.cache[i] = data",
            1,
        ),
        ("self.cache[i] = path.open('rb').read()", 1),
        ("self.cache[i] = open(path).read()", 0),
        ("self.cache[i] = open(path, 'rb').read(4)", 0),
        ("self.cache[i] = open(path, 'rb').readline()", 0),
    ],
)
def test_all_bytes_of_a_file_are_no_small_entry(fill: str, count: int) -> None:
    assert sum(each.code == "TLK104" for each in lint(CACHE.format(fill=fill))) == count


SLOTS = """
import numpy as np
import torch
from torch.utils.data import Dataset, DataLoader

class Orders(Dataset):
    def __init__(self, paths):
        self.paths, self.orders, self.other = paths, [], {{}}
        for path in paths:
            self.orders.append({first})

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        {kept}
        return self.orders[i][:4]

loader = DataLoader(Orders(["a", "b"]), num_workers=4)
"""


@pytest.mark.parametrize(
    ("first", "kept", "count"),
    [
        ("None", "self.orders[i] = np.random.permutation(9)", 1),
        ("[]", "self.orders[i] = np.random.permutation(9)", 1),
        ("np.arange(9)", "self.orders[i] = np.random.permutation(9)", 0),  # in the place of another one
        ("np.arange(9)", "self.orders.append(np.random.permutation(9))", 1),
        ("np.arange(9)", "kept = self.other if i else self.orders\n        kept[i] = np.random.permutation(9)", 1),
        ("np.arange(9)", "kept = self.other if i else {}\n        kept[i] = np.random.permutation(9)", 0),
    ],
)
def test_entries_of_lists_that_are_there(first: str, kept: str, count: int) -> None:
    text = SLOTS.format(first=first, kept=kept)
    assert [each.code for each in lint(text, wanted=lambda code: code == "TLK104")] == ["TLK104"] * count
