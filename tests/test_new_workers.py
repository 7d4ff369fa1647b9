"""TLK203: what a project says of its workers tells whether a later epoch sees a change of a sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.test_project import put

ROWS = """
    import torch
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __init__(self, rows):
            self.rows = [{"boxes": make(row)} for row in rows]

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            row = self.rows[i]
            row["boxes"] = row["boxes"] * 2
            return row
"""
MAIN = "import torch\nfrom build import make_loader\nloader = make_loader({})\n"


@pytest.mark.parametrize(
    ("given", "assume", "expected"),
    [
        ("num_workers=8", "auto", "note"),
        ("num_workers=8, persistent_workers=True", "auto", "error"),
        ("batch_size=8", "auto", "error"),
        ("num_workers=0", "auto", "error"),
        ("num_workers = 0, batch_size=8", "auto", "error"),
        ("**{'num_workers': 4}", "auto", "note"),
        ("**{'num_workers': 0}", "auto", "error"),
        ("num_workers=8", "yes", "error"),
    ],
)
def test_workers_of_a_project(tmp_path: Path, given: str, assume: str, expected: str) -> None:
    put(tmp_path, rows=ROWS, main=MAIN.format(given))
    (tmp_path / ".git").mkdir()
    path = tmp_path / "rows.py"
    importers.forget()
    found = lint(path.read_text(encoding="utf-8"), Config(assume_workers=assume), path=str(path))
    assert [each.severity.value for each in found if each.code == "TLK203"] == [expected]
