"""Definitions whose names others take: a note, unless something may use the first before."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from tests.test_project import put

FIT = """
def {name}(model, data, optimizer):
    total = 0
    for x in DataLoader(data):
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
    print(total)
"""
HEAD = "import torch\nfrom torch.utils.data import DataLoader\n"


def severities(text: str, path: str = "run.py") -> list[str]:
    return [each.severity.value for each in lint(text, path=path) if each.code == "TLK401"]


@pytest.mark.parametrize(
    ("before", "behind", "expected"),
    [
        ("", "", "warning"),
        ("", "def fit():\n    pass\n", "note"),
        ("", "class fit:\n    pass\n", "note"),
        ("", "rest = 1\nprint(rest)\ndef fit():\n    pass\n", "note"),
        ("", "fit = 1\n", "warning"),  # no definition
        ("", "run = fit\ndef fit():\n    pass\n", "warning"),
        ("", "def go():\n    fit(1, 2, 3)\ndef fit():\n    pass\n", "note"),
        ("", "def go():\n    fit(1, 2, 3)\ngo()\ndef fit(*rest):\n    pass\n", "warning"),
        ("", "@rest\ndef fit():\n    pass\n", "warning"),  # which may get at the first
        ("@register\n", "def fit():\n    pass\n", "warning"),
        ("@torch.enable_grad()\n", "def fit():\n    pass\n", "note"),
        ("if rest:\n    def other():\n        pass\n", "if rest:\n    def fit():\n        pass\n", "warning"),
    ],
)
def test_functions_of_a_module(before: str, behind: str, expected: str) -> None:
    decorated = before.startswith("@")
    text = FIT.format(name="fit").lstrip()
    assert severities(f"{HEAD}{'' if decorated else before}{before if decorated else ''}{text}{behind}") == [expected]


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        ("", "warning"),
        ("    def fit(self):\n        pass\n", "note"),
        ("    run = fit\n    def fit(self):\n        pass\n", "warning"),
        ("    def other(self):\n        self.fit(1, 2)\n    def fit(self):\n        pass\n", "note"),
    ],
)
def test_methods(behind: str, expected: str) -> None:
    method = FIT.format(name="fit").replace("\n", "\n    ").rstrip(" ")
    assert severities(f"{HEAD}class Fitting:{method}{behind}") == [expected]


def test_the_reason_is_said(tmp_path: Path) -> None:
    put(tmp_path, run=f"{HEAD}{FIT.format(name='fit')}def fit():\n    pass\n")
    path = tmp_path / "run.py"
    found = [each for each in lint(path.read_text(encoding="utf-8"), path=str(path)) if each.code == "TLK401"]
    assert [each.reason for each in found] == ["another definition takes the name of what it is in"]


def test_cells_of_a_notebook_are_run_in_any_order() -> None:
    assert severities(f"{HEAD}{FIT.format(name='fit')}def fit():\n    pass\n", "run.ipynb") == ["warning"]


def test_one_of_two_arms_is_defined() -> None:
    arm = FIT.format(name="fit").replace("\n", "\n    ").rstrip(" ")
    assert severities(f"{HEAD}if rest:\n    fit = None\nelse:{arm}def fit():\n    pass\n") == ["warning"]
