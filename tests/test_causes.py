"""One cause, one finding, in every shell; and none is lost where the other one is not selected, or is hidden."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flake8_torchleak.finding import Severity, gathered
from flake8_torchleak.lint import lint
from flake8_torchleak.shells.cli import main
from tests.conftest import flake8

Capture = pytest.CaptureFixture[str]

EVALUATION = """\
import torch

def evaluate(model, loader):
    model.eval()
    outputs, total = [], 0
    for x, y in loader:
        out = torch.relu(model(x))
        outputs.append(out)
        total += torch.nn.functional.cross_entropy(out, y)
    return [float(each.mean()) for each in outputs], total.item()
"""
"""TLK501 on line 7, and what it keeps: TLK402 on 8, TLK401 on 9."""

ALL = [(7, "TLK501"), (8, "TLK402"), (9, "TLK401")]


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(EVALUATION)


def rows(capsys: Capture, *arguments: str) -> list[dict[str, Any]]:
    """What the command reports of a.py."""
    main(["check", "--output-format=json", "a.py", *arguments])
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def places(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(each["line"], each["code"]) for each in found]


def by_flake8(folder: Path, *arguments: str) -> list[tuple[int, str]]:
    shown = flake8(*arguments, "--format=%(row)d %(code)s", "a.py", cwd=folder).stdout.decode().split()
    return list(zip(map(int, shown[::2]), shown[1::2]))


def test_what_an_evaluation_keeps_is_told_with_it(capsys: Capture) -> None:
    assert [(each.span.line, each.code) for each in lint(EVALUATION)] == ALL
    (row,) = rows(capsys)
    assert places([row]) == ALL[:1]
    assert row["severity"] == "error", "nothing bounds what is kept"
    assert [(each["line"], each["text"][:7]) for each in row["notes"][-2:]] == [(8, "TLK402:"), (9, "TLK401:")]
    assert [(fix["level"], fix["title"]) for fix in row["fixes"]] == [
        ("unsafe", "decorate `evaluate` with `@torch.no_grad()`"),
        ("safe", "use `out.detach()`"),
        ("safe", "use `torch....cross_entropy(out, y).detach()`"),
    ]


def test_people_are_told_of_each_place_and_its_own_fix(capsys: Capture) -> None:
    assert main(["check", "a.py"]) == 1
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if "fix (" in line] == [
        "    fix (unsafe): decorate `evaluate` with `@torch.no_grad()`",
        "    fix (safe): use `out.detach()`",
        "    fix (safe): use `torch....cross_entropy(out, y).detach()`",
    ]
    assert "Can be fixed: 2 with --fix, 1 with --fix --unsafe-fixes.\n" in shown
    assert "\n1 finding and 2 of the same cause in 1 file, 1 file checked." in shown


@pytest.mark.parametrize(
    ("selected", "found"), [("TLK402", ALL[1:2]), ("TLK4", ALL[1:]), ("TLK501", ALL[:1]), ("TLK501,TLK401", ALL[:1])]
)
def test_each_can_be_selected_alone(
    tmp_path: Path, capsys: Capture, selected: str, found: list[tuple[int, str]]
) -> None:
    assert places(rows(capsys, f"--select={selected}")) == found
    assert by_flake8(tmp_path, f"--select={selected}") == found


def test_what_hides_the_one_shows_the_others(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "a.py").write_text(EVALUATION.replace("model(x))", "model(x))  # noqa: TLK501"))
    assert places(rows(capsys)) == ALL[1:]
    assert by_flake8(tmp_path, "--select=TLK") == ALL[1:]
    assert sorted(by_flake8(tmp_path, "--select=TLK", "--disable-noqa")) == ALL


def test_what_hides_the_others_shows_the_one(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "a.py").write_text(EVALUATION.replace("append(out)", "append(out)  # noqa"))
    (row,) = rows(capsys)
    assert [each["line"] for each in row["notes"]][-1] == 9
    assert 8 not in [each["line"] for each in row["notes"]]
    assert by_flake8(tmp_path, "--select=TLK") == ALL[:1]


def test_a_file_in_which_flake8_drops_the_one(tmp_path: Path) -> None:
    assert by_flake8(tmp_path, "--select=TLK", "--per-file-ignores=a.py:TLK5") == ALL[1:]
    assert by_flake8(tmp_path, "--extend-ignore=E,W", "--per-file-ignores=a.py:T") == []
    assert by_flake8(tmp_path, "--select=TLK", "--per-file-ignores=a.py:E501") == ALL[:1]


def test_a_function_that_trains_as_well() -> None:
    # Without gradients in its evaluation loop, what its training loop keeps stays.
    text = EVALUATION.replace(
        "    return",
        "    for x, y in loader:\n        loss = torch.nn.functional.cross_entropy(model(x), y)\n"
        "        loss.backward()\n        outputs.append(loss)\n    return",
    ).replace("(model, loader)", "(model, loader, optimizer)")
    assert [(each.span.line, each.code) for each in gathered(lint(text))] == [(7, "TLK501"), (13, "TLK402")]


def test_a_note_does_not_lead_what_is_more() -> None:
    found = lint(EVALUATION)
    assert [(each.code, len(each.members)) for each in gathered(found)] == [("TLK501", 2)]
    doubtful = [replace(each, severity=Severity.NOTE) if each.code == "TLK501" else each for each in found]
    assert sorted((each.code, len(each.members)) for each in gathered(doubtful)) == [
        ("TLK401", 0),
        ("TLK402", 0),
        ("TLK501", 0),
    ]
    notes = [replace(each, severity=Severity.NOTE) for each in found]
    assert [(each.code, len(each.members)) for each in gathered(notes)] == [("TLK501", 2)]
