"""Collate functions of other files, read statement by statement: what is stacked is nobody's but the batch's."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.test_project import put

ROWS = """
    import numpy as np
    import torch
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __init__(self, path):
            self.images = np.load(path)

        def __len__(self):
            return len(self.images)

        def __getitem__(self, i):
            return i, self.images[i]
"""
BATCHES = """
    import torch
    from shapes import padded

    def collate(batch, size=None, most=None):
        numbers, images = list(zip(*batch))
        {body}
        return numbers, images
"""
SHAPES = """
    import torch

    def padded(images):
        made = []
        for image in images:
            room = torch.zeros(8, 8)
            room[: image.shape[0]] = torch.from_numpy(image)
            made.append(room)
        return made
"""
MAIN = """
    from functools import partial
    from batches import collate
    from rows import Rows
    from torch.utils.data import DataLoader

    DataLoader(Rows("x"), collate_fn={collate})
"""


@pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("images = torch.stack([torch.tensor(each) for each in images])", False),
        ("images = padded(images)\n        images = torch.stack(images)", False),
        ("kept = images\n        images = torch.stack([torch.tensor(each) for each in images])", False),
        ("pass", True),
        ("numbers = numbers[:2]", True),
        ("if size:\n            images = torch.stack([torch.tensor(each) for each in images])", True),
        ("kept = images\n        images = []\n        images.append(kept[0])", True),
        ("kept = images\n        images = []\n        images += kept", True),
        ("images[0][0] = 1\n        images = torch.tensor(images)", True),
    ],
)
@pytest.mark.parametrize("collate", ["collate", "partial(collate, size=8)"])
def test_parts_that_a_collate_function_makes_anew(tmp_path: Path, collate: str, body: str, leaks: bool) -> None:
    main = MAIN.format(collate=collate)
    put(tmp_path, rows=ROWS, batches=BATCHES.format(body=body), shapes=SHAPES, main=main)
    (tmp_path / ".git").mkdir(exist_ok=True)
    importers.forget()
    path = tmp_path / "rows.py"
    found = lint(path.read_text(encoding="utf-8"), path=str(path))
    assert ("TLK201" in [each.code for each in found]) == leaks


def test_a_collate_function_that_is_made(tmp_path: Path) -> None:
    main = MAIN.format(collate="make(collate)")
    put(tmp_path, rows=ROWS, batches=BATCHES.format(body="images = 1"), shapes=SHAPES, main=main)
    importers.forget()
    path = tmp_path / "rows.py"
    found = lint(path.read_text(encoding="utf-8"), path=str(path))
    assert "TLK201" in [each.code for each in found]
