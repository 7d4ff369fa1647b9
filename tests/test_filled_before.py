"""TLK104 where the constructor fills the cache, too; TLK601 where another method begins the entries of a state anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers

CACHE = """
import numpy as np
from torch.utils.data import DataLoader, Dataset

class Cases(Dataset):
    def __init__(self, ids):
        self.ids, self.cache = ids, {{}}
        {made}

    def __len__(self):
        return len(self.ids)

    def load(self, case):
        if case not in self.cache:
            self.cache[case] = np.load(case)
        return self.cache[case]

    def index(self):
        {index}

    def first(self):
        return self.load(self.ids[0])

    def __getitem__(self, i):
        return self.load(self.ids[i])

loader = DataLoader(Cases(names), num_workers=4)
"""


@pytest.mark.parametrize(
    ("made", "index", "severity"),
    [
        ("pass", "pass", "error"),
        ("self.load(ids[0])", "pass", "error"),
        ("self.first()", "pass", "error"),
        ("for case in ids: self.load(case)", "pass", "note"),
        ("for case in ids: self.first()", "pass", "note"),
        ("self.sizes = [self.load(each).shape for each in ids]", "pass", "note"),
        ("self.index()", "for case in self.ids: print(self.load(case).shape)", "note"),
        ("self.index()", "self.index(); self.load(self.ids[0])", "error"),
        ("for case in ids: self.index()", "self.load(self.ids[0])", "note"),
        ("for case in ids: print(case)", "for case in self.ids: self.load(case)", "error"),  # which nobody calls
    ],
)
def test_a_cache_that_the_constructor_fills(made: str, index: str, severity: str) -> None:
    found = [each for each in lint(CACHE.format(made=made, index=index)) if each.code == "TLK104"]
    assert [each.severity.value for each in found] == [severity]


@pytest.mark.parametrize(
    ("index", "main", "severity"),
    [
        ("for case in self.ids: self.load(case)", "", "error"),  # which nobody calls
        ("for case in self.ids: self.load(case)", "cases.index()", "note"),
        ("for i in range(len(self.ids)): self.__getitem__(i)", "cases.index()", "note"),
        ("self.load(self.ids[0])", "cases.index()", "error"),
        ("for case in self.ids: self.load(case); self.index()", "", "error"),  # none but itself
    ],
)
@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_cache_that_a_method_fills(tmp_path: Path, index: str, main: str, severity: str, is_elsewhere: bool) -> None:
    text, path = CACHE.format(made="pass", index=index), tmp_path / "cases.py"
    (tmp_path / ".git").mkdir()
    program = f"from cases import Cases\n\ncases = Cases(names)\n{main}\n"
    path.write_text(text if is_elsewhere else f"{text}\ncases = Cases(names)\n{main}\n")
    if is_elsewhere:
        (tmp_path / "main.py").write_text(program)
    importers.forget()
    found = [each for each in lint(path.read_text(), path=str(path)) if each.code == "TLK104"]
    assert [each.severity.value for each in found] == [severity]


def test_without_a_constructor_nothing_fills_it() -> None:
    text = CACHE.format(made="pass", index="pass")
    start, end = text.index("    def __init__"), text.index("    def __len__")
    found = [
        each for each in lint(f"{text[:start]}    ids, cache = names, {{}}\n\n{text[end:]}") if each.code == "TLK104"
    ]
    assert [each.severity.value for each in found] == ["error"]


CELL = """
import torch
from torch import nn

class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(2 * width, width)
        self.states = [None, None]
        for i in range(2):
            self.states[i] = torch.zeros(width)

    def begin(self):
        {begin}

    def forward(self, x):
        for i in range(2):
            x = torch.tanh(self.layer(torch.cat([x, self.states[i]])))
            self.states[i] = x
        return x
"""


@pytest.mark.parametrize(
    ("begin", "told"),
    [
        ("pass", True),
        ("for i in range(2): self.states[i] = torch.zeros(2)", False),
        ("self.states[0] = self.states[1]", True),
        ("self.others[0] = torch.zeros(2)", True),
        ("print(self.states[0])", True),
        ("self.states[0] += 1", True),
        ("self.states = [torch.zeros(2)]", False),
    ],
)
def test_a_state_in_entries(begin: str, told: bool) -> None:
    assert ("TLK601" in {each.code for each in lint(CELL.format(begin=begin))}) is told
