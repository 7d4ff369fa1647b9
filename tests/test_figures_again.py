"""TLK910: figures of functions that are called again and again, from this file or another, and that nobody closes."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.finding import Finding
from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers

PLOTS = """
import matplotlib.pyplot as plt
import torch

def recons(images, path=None):
    fig, axes = plt.subplots(3, 3)
    axes[0].imshow(images)
    {inside}
"""
TRAIN = """
import matplotlib.pyplot as plt
import torch
import wandb
from plots import recons

class Trainer:
    def train(self):
        for step, x in enumerate(self.loader):
            if step % 10 == 0:
                self.show(x)

    def show(self, x):
        {shows}
"""


def findings(folder: Path, files: dict[str, str], name: str = "plots") -> list[Finding]:
    (folder / ".git").mkdir(exist_ok=True)
    for each, text in files.items():
        (folder / f"{each}.py").write_text(text, encoding="utf-8")
    importers.forget()
    path = folder / f"{name}.py"
    return lint(path.read_text(encoding="utf-8"), path=str(path), wanted=lambda code: code == "TLK910", fixes=True)


@pytest.mark.parametrize(
    ("inside", "shows", "count"),
    [
        ("pass", "recons(x)", 1),
        ("if path is not None:\n        plt.savefig(path)", "recons(x, 'a.png')", 1),
        ("plt.close(fig)", "recons(x)", 0),
        ("plt.show()", "recons(x)", 0),
        ("pass", "recons(x)\n        plt.savefig('a')\n        plt.close()", 0),
        ("pass", "recons(x)\n        plt.close('all')", 0),
        ("pass", "recons(x)\n        plt.clf()", 0),
        ("pass", "recons(x)\n        plt.close(self.figure)", 0),
        ("pass", "recons(x)\n        fig = other(x)\n        plt.close(fig)", 1),
        ("pass", "other(x)", 0),
        ("self = {'a': fig}\n    return 1", "recons(x)", 0),
        ("images.figure = fig", "recons(x)", 0),
        ("images.title = 'a'", "recons(x)", 1),
        # It is given to who calls.
        ("return fig", "recons(x)", 1),
        ("return fig, axes", "_ = recons(x)", 1),
        ("return fig", "fig = recons(x)\n        fig.savefig('a')", 1),
        ("return fig", "fig = recons(x)\n        wandb.log({'a': wandb.Image(fig)})", 1),
        ("return fig", "wandb.log({'a': wandb.Image(recons(x))})", 0),  # an argument: whoever gets it may close it
        ("return fig", "fig = recons(x)\n        fig.savefig('a')\n        plt.close(fig)", 0),
        ("return fig", "fig = recons(x)\n        self.writer.add_figure('a', fig)", 0),
        ("return fig", "self.figure = recons(x)", 0),
        ("return fig", "return recons(x)", 0),
        ("yield fig", "recons(x)", 0),
        ("wandb.Image(plt)\n    return 1", "recons(x)", 1),
    ],
)
def test_what_becomes_of_them(tmp_path: Path, inside: str, shows: str, count: int) -> None:
    plots = PLOTS.format(inside=inside).replace("import torch\n", "import torch\nimport wandb\n")
    found = findings(tmp_path, {"plots": plots, "train": TRAIN.format(shows=shows)})
    assert len(found) == count
    if found:
        assert "called again and again, by way of train.py, line 9" in [each.text for each in found[0].notes]


def test_what_is_returned_at_once(tmp_path: Path) -> None:
    plots = "import torch\nimport matplotlib.pyplot as plt\n\ndef blank():\n    return plt.figure()\n"
    main = "import torch\nfrom plots import blank\n\ndef main(rows):\n    for row in rows:\n        {}\n"
    assert len(findings(tmp_path, {"plots": plots, "main": main.format("blank()")})) == 1
    assert findings(tmp_path, {"plots": plots, "main": main.format("row.figure = blank()")}) == []


@pytest.mark.parametrize(
    ("main", "count"),
    [
        ("def main(rows):\n    recons(rows)\n", 0),  # once
        ("recons(1)\n", 0),
        ("for each in (1, 2):\n    recons(each)\n", 0),
        ("def main(rows):\n    for row in rows:\n        one(row)\n\ndef one(row):\n    recons(row)\n", 1),
        (
            "def main(xs):\n    for x in xs:\n        a(x)\n\ndef a(x):\n    b(x)\n\ndef b(x):\n    recons(x)\n",
            1,
        ),
        ("class Callback:\n    def on_validation_epoch_end(self):\n        recons(self.x)\n", 1),
        ("def on_validation_epoch_end(x):\n    recons(x)\n", 0),  # no method
    ],
)
def test_who_calls_in_the_same_file(tmp_path: Path, main: str, count: int) -> None:
    text = PLOTS.format(inside="recons(images)") + "\n" + main
    found = findings(tmp_path, {"plots": text})
    assert len(found) == count


def test_a_notebook_closes_what_it_shows(tmp_path: Path) -> None:
    text = "import torch\nimport matplotlib.pyplot as plt\nfor x in rows:\n    fig = plt.figure()\n    {}\n"
    path = str(tmp_path / "book.ipynb")
    assert lint(text.format("fig.gca()"), path=path, wanted=lambda code: code == "TLK910") == []
    assert len(lint(text.format("fig.savefig('a')"), path=path, wanted=lambda code: code == "TLK910")) == 1


def test_what_the_message_says(tmp_path: Path) -> None:
    loop = (
        "import torch\nimport wandb\nimport matplotlib.pyplot as plt\nfor x in rows:\n    fig = plt.figure()\n    {}\n"
    )
    for inside, end in (
        ("fig.savefig('a')", "after `savefig`"),
        ("wandb.Image(fig)", "after `Image`"),
        ("if x:\n        fig.savefig('a')", "at the end of each round"),
        ("fig.gca()", "at the end of each round"),
    ):
        (only,) = lint(loop.format(inside), wanted=lambda code: code == "TLK910", fixes=True)
        assert only.message.endswith(f"call `plt.close(fig)` {end}")
        assert bool(only.fixes) is ("after" in end)
    for inside, end in (("pass", "at the end"), ("return fig", "where it has been used")):
        files = {"plots": PLOTS.format(inside=inside), "train": TRAIN.format(shows="recons(x)")}
        (only,) = findings(tmp_path, files)
        assert only.message.endswith(f"call `plt.close(fig)` {end}")
        assert not only.fixes


BASE = """
import torch

class Base:
    def fit(self, loader):
        for x in loader:
            self.{called}(x)

    def draw(self, x):
        raise NotImplementedError
"""
HEIR = """
import torch
from base import Base
from plots import recons

class Trainer(Base):
    def draw(self, x):
        recons(x)
"""


@pytest.mark.parametrize(("called", "count"), [("draw", 1), ("learn", 0)])
def test_a_method_that_a_base_in_another_file_calls(tmp_path: Path, called: str, count: int) -> None:
    files = {"plots": PLOTS.format(inside="pass"), "heir": HEIR, "base": BASE.format(called=called)}
    found = findings(tmp_path, files)
    told = [note.text for each in found for note in each.notes]
    assert told == ["called again and again, by way of base.py, line 6"] * count
