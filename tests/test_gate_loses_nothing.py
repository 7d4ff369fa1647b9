"""The gate's looks (words, statements, what following shows) lose nothing: with all of them open, the same is found."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from flake8_torchleak import gate, lint
from flake8_torchleak.model import prospect
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.rule import Rule
from tests.test_fixtures import FILES

ROOT = Path(__file__).parent
OWN = sorted({*ROOT.glob("programs/*.py"), *(ROOT / "truth").glob("*.py"), *(ROOT / "training").glob("*.py")})
SHORT = 8
"""Of so many files one is tried wherever tests are run; the others take long."""
EACH = [
    path if number % SHORT == 0 else pytest.param(path, marks=(pytest.mark.long, pytest.mark.watched))
    for number, path in enumerate([*FILES, *OWN])
]
PROGRAM = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(9, 9)

    def forward(self, x):
        return self.layer(x)

def run(net):
    kept = []
    for _ in range(99):
        kept.append(net(torch.rand(3, 9)))
    return kept

{}
"""
"""A program that keeps what its network gives, and differentiates nothing."""
ENDINGS = {
    "run(Net())": 1,
    "kept = run(Net())": 1,
    "kept: list = run(Net())": 1,
    "kept = (\n    run(Net()))": 1,
    "kept = \\\n    run(Net())": 1,
    "kept = also = run(Net())": 1,
    "import os; run(Net())": 1,
    "if __name__ == '__main__':\n    run(Net())": 1,
    "if __name__ == '__main__': run(Net())": 1,
    "if not torch.cuda.is_available():\n    pass\nelse:\n    run(Net())": 1,
    "if 1:\n    from os import (path)\n    run(Net())": 1,
    "with torch.random.fork_rng():\n    run(Net())": 1,
    "for _ in range(99):\n    run(Net())": 1,
    "def main():\n    run(Net())\n\nmain()": 1,
    "class Main:\n    def all(self):\n        run(Net())\n\nMain().all()": 1,
    "class Base:\n    def all(self):\n        run(Net())\n\nclass Main(Base): ...\n\nMain().all()": 1,
    "def main():\n    run(Net())": 0,  # nobody is seen to run it
    "net = Net()": 0,
    "if True:\n    import os": 0,
    "def main():\n    run(Net())\n\nprint(Net())": 0,
}


def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open the gate: whatever imports PyTorch, or speaks of it, is asked about by all rules."""
    everything = frozenset(gate.Subject)
    monkeypatch.setattr(lint, "by_words_of_loops", lambda subjects, text: everything)
    monkeypatch.setattr(lint, "by_statements", lambda subjects, outline, bases: everything)
    for name in ("may_find", "may_find_unparsed", "may_find_in", "may_find_apart"):
        monkeypatch.setattr(Rule, name, lambda self, text: True)


@pytest.mark.parametrize("path", EACH, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_gate_loses_no_finding(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text()
    found = lint.lint(text)
    opened(monkeypatch)
    assert lint.lint(text) == found


@pytest.mark.parametrize(("ending", "count"), ENDINGS.items())
def test_a_program_in_vain_is_followed_where_it_runs(ending: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROGRAM.format(ending)
    found = lint.lint(text)
    assert [each.code for each in found] == ["TLK402"] * count
    assert Outline(ast.parse(text), text).may_run_in_vain or not count
    opened(monkeypatch)
    assert lint.lint(text) == found


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_text_is_expected_to_hold_what_its_statements_do(ending: str) -> None:
    for text in (PROGRAM.format(ending), f"\f{PROGRAM.format(ending)}", PROGRAM.format(ending).replace("\n", "\r\n")):
        outline = Outline(ast.parse(text), text)
        assert prospect.may_run_in_vain(text) >= outline.may_run_in_vain
        assert prospect.may_step(text) >= outline.may_step


@pytest.mark.parametrize("path", EACH, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_words_expect_all_that_statements_allow(path: Path) -> None:
    text = path.read_text()
    outline = Outline(ast.parse(text), text)
    subjects = gate.by_words(text, ())
    assert gate.by_words_of_loops(subjects, text) >= gate.by_statements(subjects, outline, ())
    assert prospect.may_step(text) >= outline.may_step


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("loss.backward()", True),
        ("def training_step(self, batch): ...", True),
        ("def \\\n  compute_loss(self): ...", True),
        ("for x in LOADER: ...", True),
        ("for x in train_dl: ...", True),
        ("for x in val_iter: ...", True),
        ("for x in self.dataiterator: ...", True),
        ("net.eval()", True),
        ("def handle(middle): return middle_step", False),
        ("for i in niter: ...", True),  # more than there is, which costs a tree
        ("for i in range(9): ...", False),
        ("nn.Linear(2, 3)", False),
    ],
)
def test_what_a_text_says_of_steps(text: str, may: bool) -> None:
    assert prospect.may_step(text) is may
