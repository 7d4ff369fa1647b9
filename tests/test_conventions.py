"""Findings that rest on what a name suggests say so, in the formats that programs read; and nothing else changes."""

from __future__ import annotations

import json
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.conventions import resting
from flake8_torchleak.finding import BOUND, Finding, FixLevel, Severity, Span
from flake8_torchleak.lint import lint
from flake8_torchleak.model import hints
from flake8_torchleak.shells.cli import main

PROVEN = """\
from torch import nn

def train(loader):
    net = nn.Linear(2, 1)
    losses = []
    for x, y in loader:
        loss = (net(x) - y).mean()
        loss.backward()
        losses.append(loss)
    return losses
"""
NAMED = """\
import torch

def train(model, other, loader, criterion):
    losses = []
    for x, y in loader:
        losses.append(criterion(model(x), y))
    return [each.item() for each in losses]

def labels(val_loader):
    return [y.numpy() for _, y in val_loader]
"""

ALL = "--min-severity=note"
"""What NAMED does costs little: it is said in notes."""


def rested(source: str) -> dict[str, list[tuple[str, ...]]]:
    """Code -> the conventions of each finding of it."""
    source = textwrap.dedent(source)
    found: dict[str, list[tuple[str, ...]]] = {}
    for each in resting(lint(source, path="x.py"), source, DEFAULT, "x.py"):
        found.setdefault(each.code, []).append(each.conventions)
    return found


def test_what_the_program_shows_rests_on_no_name() -> None:
    assert rested(PROVEN) == {"TLK402": [()]}


def test_the_names_of_the_findings_own_function_are_named() -> None:
    found = rested(NAMED)
    (losses,) = found["TLK402"]
    assert "`loader` is taken for a DataLoader by its name" in losses
    assert not any("other" in each or "val_loader" in each for each in losses)
    assert found["TLK404"] == [("`val_loader` is taken for a DataLoader by its name",)]


def test_at_module_level_all_names_are_named() -> None:
    found = rested("""\
        import torch
        kept = []
        for x in train_loader:
            kept.append(model(x))
        model.eval()
    """)
    assert found["TLK402"] == [
        (
            "`model` is taken for a network by its name",
            "`train_loader` is taken for a DataLoader by its name",
        )
    ]


def test_where_any_of_two_names_suffices_one_is_named() -> None:
    """Neither name is needed as long as the other is there."""
    source = """\
        import torch
        import torch.nn.functional as F

        def train(a, model, criterion, loader):
            total = 0
            for x, y in loader:
                total += criterion(model(x), y)
            return total
    """
    (only,) = rested(source)["TLK401"]
    assert "`loader` is taken for a DataLoader by its name" in only


def test_as_few_conventions_as_suffice() -> None:
    from flake8_torchleak.conventions import _fewest

    assert _fewest(["a", "b", "c"], lambda keys: {"a", "c"} <= {*keys}) == ["a", "c"]


def test_nothing_is_asked_where_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flake8_torchleak.conventions.lint", lambda *args, **more: pytest.fail("linted"))
    assert resting([], PROVEN, DEFAULT, None) == []
    bound = Finding(BOUND, "analysis-bound", "too large", Span(1, 0, 1, 1), Severity.NOTE, FixLevel.HINT)
    assert resting([bound], PROVEN, DEFAULT, None) == [bound]


def test_findings_stay_what_they_are() -> None:
    before = lint(NAMED, path="x.py")
    after = resting(before, NAMED, DEFAULT, "x.py")
    assert [replace(each, conventions=()) for each in after] == before
    assert lint(NAMED, path="x.py") == before  # what was left out is back


def test_distrusted_names_tell_nothing() -> None:
    assert hints.is_loader("loader")
    with hints.distrusted(frozenset({"loader"})) as ignored:
        assert not hints.is_loader("loader")
        assert hints.is_model("model")
        assert not hints.is_loader("rows")
        with hints.distrusted(frozenset()) as inner:
            assert hints.is_loader("loader")
        assert not inner
    assert ignored == {("loader", "loader")}
    assert hints.is_loader("loader")
    assert not hints.is_plain_result("loss")
    with hints.distrusted(frozenset(hints.CONVENTIONS)):
        assert not hints.is_plain_result("loss")


def test_json_says_them_and_lists_none_where_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("named.py").write_text(NAMED)
    Path("proven.py").write_text(PROVEN)
    assert main(["check", ALL, "--output-format=json", "named.py", "proven.py"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [row["conventions"] for row in rows if row["path"] == "proven.py"] == [[]]
    named = [row["conventions"] for row in rows if row["path"] == "named.py"]
    assert named
    assert all(named)
    assert main(["check", "--output-format=json-lines", "proven.py"]) == 1
    assert json.loads(capsys.readouterr().out)["conventions"] == []


def test_other_formats_do_not_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("named.py").write_text(NAMED)
    monkeypatch.setattr("flake8_torchleak.conventions.resting", lambda *args: pytest.fail("asked"))
    assert main(["check", ALL, "--output-format=sarif", "named.py"]) == 1
    assert main(["check", ALL, "named.py"]) == 1


def test_fixing_says_them_of_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("named.py").write_text(NAMED)
    main(["check", ALL, "--fix", "--output-format=json", "named.py"])
    rows = json.loads(capsys.readouterr().out)
    assert rows
    assert all(row["conventions"] for row in rows)
