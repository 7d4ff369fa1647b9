"""Ways through the model that few programs take: each with what must be said of it."""

from __future__ import annotations

import importlib
from pathlib import Path
from textwrap import indent

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model.prospect import may_run_in_vain
from flake8_torchleak.model.reading import Reader


def test_the_command_is_not_run_by_processes_that_import_it_again() -> None:
    """Dask's import it by another name."""
    assert not hasattr(importlib.import_module("flake8_torchleak.__main__"), "main")


@pytest.mark.parametrize(("line", "expected"), [("a = 1; b = 2", True), ("a = 1", False)])
def test_statements_in_one_line_may_be_a_program(line: str, expected: bool) -> None:
    text = f"import torch.nn as nn\n{line}\ndef f(rows):\n    for row in rows:\n        nn.Linear(row)\n"
    assert may_run_in_vain(text) is expected


def test_answers_that_are_kept_are_few() -> None:
    reader = Reader()
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return -number

    assert [reader.made(make, (each,), 1) for each in (1, 1, 2, 1)] == [-1, -1, -2, -1]
    assert made == [1, 2, 1]


HELPER_FILE = "import numpy as np\n\ndef load(path):\n    image = np.load(path)\n    return image{cut}\n"
CROPS = """\
import torch
import numpy as np
from helpers import load

def run(paths):
    crops = []
    for path in paths:
        image = np.load(path)
        crops.append(image[:9])
    for path in paths:
        crops.append(load(path))
    return crops
"""


@pytest.mark.parametrize(("cut", "lines"), [("[:9, :9]", {9: True, 11: False}), ("", {9: True})])
def test_what_a_helper_of_another_file_cuts_out_is_not_fixed_there(
    cut: str, lines: dict[int, bool], tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "helpers.py").write_text(HELPER_FILE.format(cut=cut), encoding="utf-8")
    path = tmp_path / "rows.py"
    path.write_text(CROPS, encoding="utf-8")
    found = lint(CROPS, path=str(path), fixes=True)
    assert {each.span.line: bool(each.fixes) for each in found} == lines
    assert [each.unfixed for each in found if not each.fixes] == (
        ["what would be changed stands in another file"] if len(lines) > 1 else []
    )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("def hook(m):\n    kept.append(m)\nprint 'torch'\nnet.register_forward_hook(hook)\n", False),
        ("import torch\ndef hook(m):\n    kept.append(m)\nprint 'torch'\nnet.register_forward_hook(hook)\n", True),
    ],
)
def test_a_text_that_mentions_torch_alone_and_does_not_parse_holds_nothing(text: str, wrong: bool) -> None:
    if wrong:
        with pytest.raises(SyntaxError):
            lint(text)
    else:
        assert lint(text) == []


EPOCH = """\
import lightning as L
class Net(L.LightningModule):
    def training_step(self, batch, i):
        logits = self.net(batch[0])
        loss = self.loss(logits, batch[1])
        return {given}
    def training_epoch_end(self, outputs):
        print(len(outputs))
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("{'loss': loss} | {'logits': logits}", ["TLK402"]),
        ("{'loss': loss} | {'logits': logits.detach()}", []),
        ("{'loss': loss} | {'number': i}", []),
    ],
)
def test_a_training_step_that_gives_two_dicts_in_one(given: str, found: list[str]) -> None:
    told = lint(EPOCH.format(given=given))
    assert [each.code for each in told] == found
    assert all(each.notes and each.span.line == 6 for each in told)


IMAGES = """\
import glob
import torch
from PIL import Image

{above}
class Rows(torch.utils.data.Dataset):
    def __init__(self, root):
        self.images = []
        self.logo = Image.open(root)
{fill}
    def __len__(self):
        return len(self.images)
    def __getitem__(self, i):
        return self.images[i].convert("RGB")
"""
FILLED = [
    ("", "for p in glob.glob(root):\n    self.images += [OPENED]"),
    ("", "self.images.extend(OPENED for p in glob.glob(root))"),
    ("def put(rows, p):\n    rows.append(OPENED)", "for p in glob.glob(root):\n    put(self.images, p)"),
    (
        "def put(rows, p):\n    rows.append(p)\n    rows.append(OPENED)",
        "for p in glob.glob(root):\n    put(self.images, p)",
    ),
]


def test_images_that_a_helper_keeps_to_itself() -> None:
    above = "def put(rows, p):\n    kept = []\n    kept.append(Image.open(p))\n    rows.append(1)"
    text = IMAGES.format(above=above, fill=" " * 8 + "for p in glob.glob(root): put(self.images, p)")
    assert [each.code for each in lint(text)] == []


@pytest.mark.parametrize(("above", "fill"), FILLED)
@pytest.mark.parametrize(("opened", "found"), [("Image.open(p)", ["TLK304"]), ("Image.open(p).copy()", [])])
def test_images_that_are_added_to_a_list(above: str, fill: str, opened: str, found: list[str]) -> None:
    text = IMAGES.format(above=above, fill=indent(fill, " " * 8)).replace("OPENED", opened)
    told = [each for each in lint(text) if each.code == "TLK304"]
    assert [each.code for each in told] == found
    for each in told:
        assert "Image.open(p)" in text.splitlines()[each.span.line - 1]


TRAINED_AND_EVALUATED = """\
import torch

def fit(model, loader, optimizer, items):
{training}    model.eval()
    for item in items:
        print(model(item).argmax())
"""
STEP = """\
    for x in loader:
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("training", "severity"), [(STEP, "warning"), ("", "note")])
def test_an_evaluation_by_its_name_in_the_function_that_trains(training: str, severity: str) -> None:
    text = TRAINED_AND_EVALUATED.format(training=training).replace("def fit(", "def validate(")
    found = lint(text.replace("model.eval()", "model.load_state_dict(torch.load('w.pt'))"))
    assert [(each.code, each.severity.value) for each in found] == [("TLK501", severity)]


@pytest.mark.parametrize("training", [STEP, ""])
def test_an_evaluation_in_the_function_that_trains(training: str) -> None:
    found = lint(TRAINED_AND_EVALUATED.format(training=training))
    assert [(each.code, each.severity.value) for each in found] == [("TLK501", "warning")]


SEVERAL_LOADERS = """\
import torch
from torch.utils.data import DataLoader, Dataset

def first(rows):
    return rows[0]

class Rows(Dataset):
    def __init__(self, n):
        self.rows = [[str(i)] for i in range(n)]
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return self.rows[i]

data = Rows(100)
for loader in (DataLoader(data, num_workers=2), DataLoader(data, num_workers=0{collate})):
    for batch in loader:
        print(batch)
"""


@pytest.mark.parametrize(("collate", "severity"), [(", collate_fn=first", ["warning"]), ("", [])])
def test_one_of_two_loaders_passes_samples_on(collate: str, severity: list[str]) -> None:
    found = lint(SEVERAL_LOADERS.format(collate=collate))
    assert [each.severity.value for each in found if each.code == "TLK202"] == severity
