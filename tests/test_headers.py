"""TLK101: elements that are used as arrays, Datasets that no loader gets, workers that only an option asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty
from tests.test_worth_of_place import severities

CLOUDS = """
import copy, pickle
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

class Clouds(Dataset):
    def __init__(self, file):
        self.clouds = pickle.load(open(file, "rb"))

    def __len__(self):
        return len(self.clouds)

    def __getitem__(self, i):
        {}

loader = DataLoader(Clouds("all.pkl"), num_workers=4)
"""
PARSED = CLOUDS.replace('pickle.load(open(file, "rb"))', "json.load(open(file))").replace("copy, pickle", "copy, json")


@pytest.mark.parametrize(
    "sample",
    [
        "return torch.from_numpy(self.clouds[i]['points'])",
        "label = self.clouds[i][1]\n        return torch.from_numpy(self.clouds[i][0]), label",
        "points = copy.deepcopy(self.clouds[i]['points'])\n        return torch.from_numpy(points)",
        "points, label = self.clouds[i]['pair']\n        return points[:, :3], label",
        "cloud = self.clouds[i]\n        return cloud['points'].astype('f'), cloud['name']",
    ],
)
def test_elements_that_are_used_as_arrays(sample: str) -> None:
    """Measured: a list or dict of arrays costs each forked worker 96 bytes an element, the header."""
    (found,) = (each for each in lint(CLOUDS.format(sample)) if each.code == "TLK101")
    assert found.severity.value == "note"
    assert found.message.startswith("each worker copies the headers of `self.clouds` (with arrays), a spawned one ")
    assert "np.concatenate" in found.remedy


@pytest.mark.parametrize(
    "sample",
    [
        "return torch.tensor(self.clouds[i]['points'])",
        "return self.clouds[i]['name'].split()",
        "return self.clouds[i]['a']['b']['c']['d']['e']['f'].shape",
        "cloud = self.clouds[i]['name']\n        cloud = np.zeros(9)\n        return cloud.shape",
        "self.cloud = self.clouds[i]['name']\n        return self.cloud",
        "return self.clouds[i]['names'][key_of(i)].shape",
        "return len(self.clouds[i]['names'])",
        "return [each['name'] for each in self.clouds[i : i + 4]]",
        "return self.clouds[i]['name'] + 'a'",
        "return self.clouds[i]['table'][1, 2]",
    ],
)
def test_elements_that_may_be_anything(sample: str) -> None:
    """What a pickle holds nobody sees; what JSON holds are records."""
    assert severities("TLK101", CLOUDS.format(sample)) == ["note"]
    assert severities("TLK101", PARSED.format(sample)) == ["warning"]


PARSER = "parser.add_argument('--workers', default={})\n"


@pytest.mark.parametrize(
    ("given", "option", "expected"),
    [
        ("num_workers=args.workers", PARSER.format(0), "note"),
        ("num_workers=args.workers", PARSER.format(2), "warning"),
        ("num_workers=args.workers", "", "warning"),
        ("num_workers=workers", PARSER.format(0), "warning"),
        ("num_workers=args.workers, **more", PARSER.format(0), "warning"),
    ],
)
def test_workers_that_only_an_option_asks_for(given: str, option: str, expected: str) -> None:
    text = PARSED.format("return self.clouds[i]['name']").replace("num_workers=4", given) + option
    (found,) = (each for each in lint(text) if each.code == "TLK101")
    assert found.severity.value == expected
    assert found.message.startswith("with workers (by default none) memory grows") is (expected == "note")


ROWS = """
import json
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, file):
        self.rows = json.load(open(file))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]
"""


@pytest.mark.parametrize(
    ("train", "expected"),
    [
        ("rows = Rows('a.json')\nfor row in rows:\n    print(row)\n", []),
        ("rows = Rows('a.json')\nprint(len(rows), rows[0])\n", []),
        ("rows = Rows('a.json')\nserve(rows)\ndef serve(data):\n    print(data)\n", ["note"]),
        ("rows = Rows('a.json')\nfit(rows)\n", ["note"]),
        ("print(Rows)\n", ["note"]),
        ("for n in range(2):\n    rows = other = Rows('a.json')\n", ["note"]),
        ("rows = Rows('a.json')\nprint(rows[0])\nkind = Rows\n", ["note"]),
        ("import rows\nread = rows.Rows('a.json')\nprint(read[0])\nserve(rows.Rows)\n", ["note"]),
        ("rows = Rows('a.json')\nprint(rows[0])\nloader = DataLoader(Rows('b.json'), num_workers=4)\n", ["warning"]),
        ("import pytest\nrows = Rows('a.json')\nprint(rows[0])\n", ["note"]),
    ],
)
def test_datasets_that_no_loader_gets(tmp_path: Path, train: str, expected: list[str]) -> None:
    (tmp_path / "pyproject.toml").touch()
    rows = tmp_path / "rows.py"
    rows.write_text(ROWS)
    tests = "test_rows.py" if "pytest" in train else "train.py"
    (tmp_path / tests).write_text(f"from torch.utils.data import DataLoader\nfrom rows import Rows\n{train}")
    assert severities("TLK101", ROWS, rows) == expected
    registered = ROWS.replace("class Rows", "@registered\nclass Rows")
    rows.write_text(registered)
    assert severities("TLK101", registered, rows) == (expected or ["note"])
    firstparty.forget()


def test_a_loader_of_the_own_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    rows = tmp_path / "rows.py"
    text = (
        ROWS.replace("import Dataset", "import DataLoader, Dataset") + "loader = DataLoader(Rows('a'), num_workers=n)\n"
    )
    rows.write_text(text)
    (tmp_path / "train.py").write_text("from rows import Rows\nrows = Rows('a.json')\nprint(rows[0])\n")
    assert severities("TLK101", text, rows) == ["warning"]
    firstparty.forget()
