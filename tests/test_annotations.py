"""What parsed annotations are worth: tables of numbers are notes, records for each annotation may be warnings."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.model import importers
from tests.test_blind_reading import told
from tests.test_project import put

SIZES = """
    import json
    from torch.utils.data import DataLoader, Dataset

    class Videos(Dataset):
        def __init__(self, path):
            self.videos = json.load(open(path))
            self.names = list(self.videos.keys())

        def __len__(self):
            return len(self.videos)

        def __getitem__(self, i):
            name = self.names[i]
            {}

        def drawn(self, length, more=0, *rest, seed=1):
            return list(range({}))

        def again(self, length):
            return self.again(length)

    loader = DataLoader(Videos("x"), num_workers=4)
"""


@pytest.mark.parametrize(
    ("body", "counted", "severity"),
    [
        ("return list(range(self.videos[name]))", "1", "note"),
        ("return self.drawn(self.videos[name])", "length", "note"),
        ("return self.drawn(1, self.videos[name])", "length", "warning"),
        ("return self.drawn(1, more=self.videos[name])", "more", "note"),
        ("return self.drawn(1, seed=self.videos[name])", "seed", "note"),
        ("return self.drawn(1, 2, self.videos[name])", "rest", "warning"),
        ("return self.drawn(*self.videos[name])", "length", "warning"),
        ("return self.again(self.videos[name])", "1", "warning"),
        ("return load(self.videos[name])", "1", "warning"),
        ("return self.videos[name]()", "1", "warning"),
        ("return self.videos[name]", "1", "warning"),
        ("return [self.videos, self.videos.get(name)]", "1", "warning"),
    ],
)
def test_tables_of_numbers(body: str, counted: str, severity: str) -> None:
    assert told(SIZES.format(body, counted), "TLK101")[:1] == [severity]


PEOPLE = """
    import copy
    import numpy as np
    from pycocotools.coco import COCO
    from torch.utils.data import Dataset

    class People(Dataset):
        def __init__(self, path):
            self.rows = self.load(path)

        def load(self, path):
            db = COCO(path)
            rows = []
            for i in {over}:
                ann = load(i)
                rows.append({row})
            return rows

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return copy.deepcopy(self.rows[i])["box"]
"""
ROW = "{'box': np.array(ann['box']), 'name': str(i)}"
MAIN = """
    from torch.utils.data import DataLoader
    from config import cfg

    for each in cfg.names:
        exec("from people import " + each)
    loader = DataLoader(eval(each)("x"), num_workers={})
"""


@pytest.mark.parametrize(
    ("over", "row", "workers", "config", "severity"),
    [
        ("db.anns.keys()", ROW, "cfg.n", "class Config:\n    n = 16\ncfg = Config()\n", "warning"),
        ("db.anns.keys()", ROW, "16", "", "warning"),
        ("db.anns.keys()", ROW, "cfg.n", "class Config:\n    n = input()\ncfg = Config()\n", "note"),
        ("db.anns.keys()", ROW, "cfg.n", "p.add_argument('--n', default=4)\nother(n=0)\n", "note"),
        ("db.anns.keys()", ROW, "count()", "", "note"),
        ("db.anns.keys()", ROW, "True", "", "warning"),
        ("db.anns.keys()", "ann", "16", "", "note"),
        ("open(path)", ROW, "16", "", "note"),
    ],
)
def test_records_for_each_annotation(
    tmp_path: Path, over: str, row: str, workers: str, config: str, severity: str
) -> None:
    put(tmp_path, people=PEOPLE.format(over=over, row=row), main=MAIN.format(workers), config=config)
    (tmp_path / ".git").mkdir()
    importers.forget()
    path = tmp_path / "people.py"
    assert told(path.read_text(encoding="utf-8"), "TLK101", path) == [severity]


def test_records_of_a_program_of_its_own(tmp_path: Path) -> None:
    rows = PEOPLE.format(over="db.anns", row=ROW)
    put(tmp_path, people=rows, main=MAIN.format("16"), tool=rows + "\n    People('x')[0]\n")
    (tmp_path / ".git").mkdir()
    told_of = {}
    for name in ("people", "tool"):
        path = tmp_path / f"{name}.py"
        told_of[name] = told(path.read_text(encoding="utf-8"), "TLK101", path)
    assert told_of["people"] == ["warning"]
    assert "warning" not in told_of["tool"]


def test_records_of_a_file_alone(tmp_path: Path) -> None:
    assert told(PEOPLE.format(over="db.anns", row=ROW), "TLK101") == ["note"]
