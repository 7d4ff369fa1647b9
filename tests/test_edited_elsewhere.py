"""Stored elements that are edited downstream: in helpers, objects and functions that a Dataset is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.finding import Finding
from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.test_project import put

HEAD = """
    import copy
    import json
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, Dataset
"""
ROWS = """
    class Rows(Dataset):
        def __init__(self, path, transform=None):
            self.rows = json.load(open(path))
            self.boxes = [np.array(each["box"], dtype=np.float32) for each in self.rows]
            self.waves = [torch.load(each["wave"]) for each in self.rows]
            {init}

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            {sample}
"""


def told(root: Path, **files: str) -> list[Finding]:
    """What is told in `main.py` of edits, in a project of these files."""
    put(root, **{name: HEAD + text for name, text in files.items()})
    (root / ".git").mkdir(exist_ok=True)
    importers.forget()
    text = (root / "main.py").read_text(encoding="utf-8")
    return [each for each in lint(text, fixes=True, path=str(root / "main.py")) if each.code in ("TLK203", "TLK206")]


def rows(sample: str, init: str = "self.transform = transform", imports: str = "", before: str = "") -> str:
    """A file with a Dataset and a loader."""
    body = ROWS.format(sample=sample.replace("\n", "\n            "), init=init)
    return f"    {imports}\n{before}{body}\n    DataLoader(Rows('a'))\n"


HELPERS = """
    def scaled(boxes, size):
        boxes[:, 0] /= size
        return boxes

    def pixels(boxes, size):
        boxes = boxes.copy()
        boxes[:, 0] /= size
        return boxes

    def outer(boxes, size):
        return scaled(boxes, size)

    class Base(Dataset):
        def prepare(self, row):
            row["tokens"].append("eos")
            return row

        def prepared(self, row):
            row = copy.deepcopy(row)
            row["tokens"].append("eos")
            return row
"""


@pytest.mark.parametrize(
    ("sample", "imports", "leaks"),
    [
        ("return scaled(self.boxes[i], 640)", "from helpers import scaled", True),
        ("return outer(self.boxes[i], 640)", "from helpers import outer", True),
        ("boxes = self.boxes[i].copy()\nreturn scaled(boxes, 640)", "from helpers import scaled", False),
        ("return pixels(self.boxes[i], 640)", "from helpers import pixels", False),
        ("return self.prepare(self.rows[i])", "from helpers import Base", True),
        ("return self.prepared(self.rows[i])", "from helpers import Base", False),
        ("return self.prepare(copy.deepcopy(self.rows[i]))", "from helpers import Base", False),
    ],
)
def test_helpers_of_other_files(tmp_path: Path, sample: str, imports: str, leaks: bool) -> None:
    main = rows(sample, imports=imports)
    main = main.replace("(Dataset):", "(Base):") if "Base" in imports else main
    found = told(tmp_path, helpers=HELPERS, main=main)
    assert [each.code for each in found] == (["TLK203"] if leaks else [])
    for each in found:
        assert each.unfixed == "the change is in another file"
        assert any("changes it here" in note.text and note.path for note in each.notes)


OBJECTS = """
    class Scale:
        def __init__(self, by):
            self.by, self.seen = by, [[] for _ in range(8)]

        def apply(self, row):
            row["x"] = row["x"] * self.by
            return row

        def count(self, row):
            seen = self.seen[len(row)]
            seen.append(row["x"])
            return row

        def __call__(self, row):
            row["x"] = row["x"] * self.by
            return row
"""


@pytest.mark.parametrize(
    ("sample", "leaks"),
    [
        ("return self.scale.apply(self.rows[i])", True),
        ("return self.scale.apply(dict(self.rows[i]))", False),
        ("return self.scale.count(self.rows[i])", False),  # its own list
        ("return self.scale(self.rows[i])", True),
        ("return self.scale(dict(self.rows[i]))", False),
    ],
)
def test_objects_that_a_dataset_holds(tmp_path: Path, sample: str, leaks: bool) -> None:
    init = "self.scale = Scale(0.5)"
    assert bool(told(tmp_path, main=rows(sample, init, before=OBJECTS))) == leaks
    apart = rows(sample, init, "from scales import Scale")
    assert bool(told(tmp_path, scales=OBJECTS, main=apart)) == leaks


def test_a_transform_is_told_once(tmp_path: Path) -> None:
    text = rows("return self.transform(self.rows[i])", "self.transform = Scale(2)", before=OBJECTS)
    assert [each.code for each in told(tmp_path, main=text)] == ["TLK206"]
    apart = rows("return self.transform(self.rows[i])", "self.transform = Scale(2)", "from scales import Scale")
    (found,) = told(tmp_path, scales=OBJECTS, main=apart)
    assert (found.code, found.unfixed) == ("TLK206", "the change is in another file")


FUNCTIONS = """
    def jitter(points):
        points += 1
        return points

    def turned(points):
        return points + 1
"""


@pytest.mark.parametrize(
    ("default", "given", "sample", "leaks"),
    [
        ("jitter", "", "return self.change(self.boxes[i])", True),
        ("jitter", "", "return self.change(self.boxes[i].copy())", False),
        ("turned", "", "return self.change(self.boxes[i])", False),
        ("turned", ", change=jitter", "return self.change(self.boxes[i])", True),
        ("None", ", jitter", "return self.change(self.boxes[i])", True),
        ("None", ", 3", "return self.change(self.boxes[i])", False),
        ("jitter", "", "return self.boxes.change(self.boxes[i])", False),
        ("jitter", "", "return self.transform(self.boxes[i])", False),
    ],
)
def test_functions_that_a_dataset_is_given(tmp_path: Path, default: str, given: str, sample: str, leaks: bool) -> None:
    text = rows(sample, "self.change = change\n            self.transform = make(path)", before=FUNCTIONS)
    text = text.replace("transform=None", f"change={default}").replace("Rows('a')", f"Rows('a'{given})")
    assert bool(told(tmp_path, main=text)) == leaks


def test_functions_that_a_dataset_always_calls(tmp_path: Path) -> None:
    for name, leaks in (("jitter", True), ("turned", False)):
        text = rows("return self.change(self.boxes[i])", f"self.change = {name}", before=FUNCTIONS)
        assert bool(told(tmp_path, main=text)) == leaks
        required = text.replace("transform=None", "change").replace(f"= {name}", "= change")
        assert bool(told(tmp_path, main=required.replace("Rows('a')", f"Rows('a', {name})"))) == leaks
        assert not told(tmp_path, main=required)


@pytest.mark.parametrize(
    ("sample", "leaks"),
    [
        ("return self.clean(self.waves[i])", True),
        ("return self.clean(self.waves[i].clone())", False),
        ("return self.clean(self.table[i])", False),  # what makes its elements, perhaps
    ],
)
def test_elements_of_an_unknown_kind(tmp_path: Path, sample: str, leaks: bool) -> None:
    text = rows(sample, "self.table = make(path)")
    text = text.replace(
        "    DataLoader", "        @staticmethod\n        def clean(x):\n            return x.sub_(1)\n\n    DataLoader"
    )
    assert bool(told(tmp_path, main=text)) == leaks


EDITS = """
    def collate(batch):
        for sample in batch:
            sample["box"] = torch.tensor(sample["box"])
        return batch

    def stacked(batch):
        return torch.stack([torch.tensor(sample["box"]) for sample in batch])

    class Flip:
        def __call__(self, sample):
            sample["box"][0] = 1 - sample["box"][0]
            return sample

    class Turn:
        def __call__(self, sample):
            return {**sample, "box": sample["box"][::-1]}
"""
DATA = ROWS.format(init="self.transform = transform", sample="return {}")
CHANGED = ROWS.format(
    init="self.transform = transform",
    sample="sample = {}\n            return self.transform(sample) if self.transform else sample",
)


@pytest.mark.parametrize(
    ("data", "made", "leaks"),
    [
        (DATA.format("self.rows[i]"), "DataLoader(Rows('a'), collate_fn=collate)", True),
        (DATA.format("self.rows[i]"), "rows = Rows('a')\n    DataLoader(rows, collate_fn=collate)", True),
        (DATA.format("dict(self.rows[i])"), "DataLoader(Rows('a'), collate_fn=collate)", False),
        (DATA.format("self.rows[i]"), "DataLoader(Rows('a'), collate_fn=stacked)", False),
        (DATA.format("self.rows[i]"), "DataLoader(make(Rows), collate_fn=collate)", False),
        (CHANGED.format("self.rows[i]"), "DataLoader(Rows('a', Flip()))", True),
        (CHANGED.format("self.rows[i]"), "DataLoader(Rows('a', transform=Flip()))", True),
        (CHANGED.format("copy.deepcopy(self.rows[i])"), "DataLoader(Rows('a', Flip()))", False),
        (CHANGED.format("self.rows[i]"), "DataLoader(Rows('a', Turn()))", False),
        (CHANGED.format("self.rows[i]"), "DataLoader(Rows('a', None))", False),
        (CHANGED.format("self.rows[i]"), "DataLoader(Rows('a', Rows('b')))", False),
        (CHANGED.format("self.rows[i]"), "DataLoader(Rows('a'))\n    rows = 1", False),
    ],
)
def test_what_a_loader_of_another_file_puts_together(tmp_path: Path, data: str, made: str, leaks: bool) -> None:
    main = f"    from data import Rows\n    from edits import Flip, Turn, collate, stacked\n\n    {made}\n"
    found = told(tmp_path, data=data, edits=EDITS, main=main)
    assert [each.code for each in found] == (["TLK206"] if leaks else [])
    for each in found:
        assert (
            "changes a part of `self.rows` of `Rows`; copy it in `Rows.__getitem__` (`copy.deepcopy`)" in each.message
        )


def test_a_dataset_without_a_constructor(tmp_path: Path) -> None:
    data = CHANGED.format("self.rows[i]").replace("def __init__(self, path, transform=None)", "def load(self, path)")
    main = "    from data import Rows\n    from edits import Flip\n\n    DataLoader(Rows())\n    transform = Flip()\n"
    assert not told(tmp_path, data=data, edits=EDITS, main=main)


SLOTS = """
    def probed(path, meta):
        if {test}:
            meta["size"] = len(path)
        return meta["size"]
"""


@pytest.mark.parametrize(
    ("test", "leaks"),
    [
        ("True", True),
        ("not meta", False),
        ("len(meta) == 0", False),
        ("not len(meta)", False),
        ("len(meta) == 1", True),
        ("len(meta)", True),
        ("not path", True),
    ],
)
def test_elements_that_are_filled_where_they_are_empty(tmp_path: Path, test: str, leaks: bool) -> None:
    main = rows("return probed('x', self.rows[i])", imports="from slots import probed")
    assert bool(told(tmp_path, slots=SLOTS.format(test=test), main=main)) == leaks
