"""Classes that are called like Datasets of PyTorch: what a class of the project is, its own bases tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.test_project import put

OPENED = """
import h5py

{dataset}

class Grasps(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path)

    def __getitem__(self, i):
        return self.file["x"][i]
"""


@pytest.mark.parametrize(
    ("dataset", "told"),
    [
        ("from torch.utils.data import Dataset", True),
        ("from data import Dataset", True),  # of whom nothing is known
        ("class Dataset(object):\n    pass", False),
        ("class Dataset:\n    def __len__(self):\n        return 1", False),
        ("import torch\nclass Dataset(torch.utils.data.Dataset):\n    pass", True),
        ("from other import Dataset", False),
        ("from other import Real as Dataset", True),
    ],
)
def test_its_bases_tell(tmp_path: Path, dataset: str, told: bool) -> None:
    text = OPENED.format(dataset=dataset)
    put(
        tmp_path,
        grasps=text,
        other="import torch\n\nclass Dataset:\n    pass\n\nclass Real(torch.utils.data.Dataset):\n    pass\n",
    )
    (tmp_path / ".git").mkdir()
    importers.forget()
    found = {each.code for each in lint(text, path=str(tmp_path / "grasps.py"))}
    assert ("TLK105" in found) is told
