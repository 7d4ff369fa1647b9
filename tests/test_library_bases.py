"""TLK101: Datasets whose base class in torchvision holds an index of all annotations."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.lint import lint

ROWS = """
import torch, torchvision
from torch.utils.data import DataLoader, Dataset
from torchvision.datasets import CocoCaptions
from torchvision.datasets.coco import CocoDetection
from elsewhere import CocoDetection as Other


class Rows({base}):
{init}
    def __getitem__(self, i):
        {sample}


loader = DataLoader(Rows("images", "annotations.json"), num_workers={workers})
"""
INIT = """
    def __init__(self, folder, file):
        self.scale = 2
        super().__init__(folder, file)
"""


def found(base: str, sample: str, init: str = INIT, workers: int = 4, fixes: bool = False) -> list[Finding]:
    text = ROWS.format(base=base, sample=sample, init=init, workers=workers)
    return lint(text, fixes=fixes, wanted=lambda code: code == "TLK101")


@pytest.mark.parametrize(
    ("base", "sample", "count"),
    [
        ("torchvision.datasets.CocoDetection", "return super().__getitem__(i)", 1),
        ("CocoDetection", "return super(Rows, self).__getitem__(i)", 1),
        ("CocoCaptions", "return self._load_target(self.ids[i])", 1),
        ("CocoCaptions", "return self._load_image(self.ids[i])", 1),
        ("CocoCaptions", "return self.coco.loadAnns(i)", 1),
        ("CocoCaptions", "return self.path(i)\n\n    def path(self, i):\n        return self.coco.loadImgs(i)", 1),
        ("CocoCaptions", "return self.rows.__getitem__(i)", 0),
        ("CocoCaptions", "return self.ids[i]", 0),
        ("torchvision.datasets.CocoOther", "return super().__getitem__(i)", 0),
        ("Other", "return super().__getitem__(i)", 0),
        ("Dataset", "return self.coco[i]", 0),
    ],
)
def test_an_index_of_the_base_that_samples_read(base: str, sample: str, count: int) -> None:
    assert len(found(base, sample)) == count


def test_what_is_said() -> None:
    (told,) = found("CocoDetection", "return super().__getitem__(i)", fixes=True)
    assert told.message.startswith("memory grows by a copy of `self.coco` (annotation index) in each worker; store")
    assert told.severity is Severity.WARNING
    assert [(each.span.line, each.text) for each in told.notes] == [
        (9, "`CocoDetection` of torchvision indexes every annotation of its file"),
        (16, "read for every sample in `__getitem__`"),
    ]
    assert told.span.line == 13
    assert not told.fixes


def test_where_the_base_constructs_it_alone() -> None:
    (told,) = found("CocoDetection", "return super().__getitem__(i)", init="")
    assert told.span.line == 9


def test_without_workers_it_is_silent() -> None:
    assert not found("CocoDetection", "return super().__getitem__(i)", workers=0)


def test_a_class_that_derives_from_one_of_the_project_is_left_to_that(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    base = ROWS.format(base="CocoDetection", sample="return super().__getitem__(i)", init=INIT, workers=4)
    (tmp_path / "rows.py").write_text(base)
    path = tmp_path / "own.py"
    path.write_text(
        "from rows import Rows\nfrom torch.utils.data import DataLoader, Dataset\n\n\nclass Few(Rows):\n"
        "    def __getitem__(self, i):\n        return self.coco.loadAnns(i)\n\n\n"
        "loader = DataLoader(Few('a', 'b'), num_workers=4)\n"
    )
    assert not lint(path.read_text(), path=str(path), wanted=lambda code: code == "TLK101")
    assert len(lint(base, path=str(tmp_path / "rows.py"), wanted=lambda code: code == "TLK101")) == 1


OWN = """
from pycocotools.coco import COCO as _COCO
from torch.utils.data import DataLoader, Dataset


class Videos(_COCO):
    def __init__(self, file):
        super().__init__(annotation_file=file)


class Rows(Dataset):
    def __init__(self, file):
        self.index = Videos(file)

    def __len__(self):
        return 9

    def __getitem__(self, i):
        return self.index.imgs[i]


loader = DataLoader(Rows("annotations.json"), num_workers=4)
"""


def test_an_index_of_the_projects_own() -> None:
    (told,) = lint(OWN, wanted=lambda code: code == "TLK101")
    assert told.message.startswith("memory grows by a copy of `self.index` (annotation index) in each worker; store")
    assert told.notes[0].text == "`Videos`, a `_COCO`, indexes every annotation of its file"


def test_what_is_a_sequence_of_its_own_is_none() -> None:
    rows = "\n    def __getitem__(self, i):\n        return self.loadAnns(i)\n\n\nclass Rows"
    text = OWN.replace("\n\nclass Rows", rows, 1).replace("self.index.imgs[i]", "self.index[i]")
    assert not lint(text, wanted=lambda code: code == "TLK101")


FOLDER = """
from torch.utils.data import DataLoader
from torchvision.datasets import {base}


class Photos({base}):
    def __init__(self, root):
        super().__init__(root)
        {more}

    def __getitem__(self, i):
        {sample}


loader = DataLoader(Photos("photos"), shuffle=True, num_workers=4)
"""


@pytest.mark.parametrize(
    ("base", "more", "sample", "count"),
    [
        ("ImageFolder", "self.scale = 2", "return self.loader(self.samples[i][0])", 1),
        ("ImageFolder", "self.scale = 2", "path, label = self.imgs[i]\n        return self.loader(path)", 1),
        ("DatasetFolder", "self.scale = 2", "return super().__getitem__(i)[0]", 1),
        ("DatasetFolder", "self.scale = 2", "return self.targets[i]", 0),
        ("ImageFolder", "self.samples = list(self.samples)[:100]", "return self.samples[i]", 0),
        ("FakeData", "self.scale = 2", "return super().__getitem__(i)", 0),
    ],
)
def test_a_list_of_files_of_the_base(base: str, more: str, sample: str, count: int) -> None:
    text = FOLDER.format(base=base, more=more, sample=sample)
    told = lint(text, fixes=True, wanted=lambda code: code == "TLK101")
    assert [each.severity for each in told] == [Severity.NOTE] * count
    assert not any(each.fixes for each in told)
    if told and more == "self.scale = 2":
        assert told[0].message.startswith("memory grows by a copy of `self.samples` (list of tuple) in each worker")
        assert told[0].notes[0].text == f"`{base}` of torchvision lists every file of its folder"
        assert told[0].span.line == 8
