"""The formats `rdjsonl` and `lintrunner`: their forms, and that what they offer as a fix is what `--fix` does."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK
from tests.test_formats import Capture, check, findings, project
from tests.test_options import WARNED

__all__ = ["project"]

POSITION = {
    "type": "object",
    "properties": {"line": {"type": "integer", "minimum": 1}, "column": {"type": "integer", "minimum": 1}},
    "required": ["line"],
    "additionalProperties": False,
}
RANGE = {
    "type": "object",
    "properties": {"start": POSITION, "end": POSITION},
    "required": ["start"],
    "additionalProperties": False,
}
DIAGNOSTIC = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "minLength": 1},
        "location": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "range": RANGE},
            "required": ["path"],
            "additionalProperties": False,
        },
        "severity": {"enum": ["ERROR", "WARNING", "INFO"]},
        "source": {"type": "object", "properties": {"name": {"const": "torchleak"}, "url": {"format": "uri"}}},
        "code": {"type": "object", "properties": {"value": {"type": "string"}, "url": {"format": "uri"}}},
        "suggestions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"range": RANGE, "text": {"type": "string"}},
                "required": ["range", "text"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["message", "location"],
    "additionalProperties": False,
}
"""Reviewdog's `Diagnostic`: the fields of its definition and no others, which its parser refuses."""

_WORDS, _COUNT = {"type": ["string", "null"]}, {"type": ["integer", "null"], "minimum": 1}
LINT_MESSAGE = {
    "type": "object",
    "properties": {
        "path": _WORDS,
        "line": _COUNT,
        "char": _COUNT,
        "code": {"const": "TORCHLEAK"},
        "severity": {"enum": ["error", "warning", "advice", "disabled"]},
        "name": {"type": "string"},
        "original": _WORDS,
        "replacement": _WORDS,
        "description": _WORDS,
    },
    "required": ["path", "line", "char", "code", "severity", "name", "original", "replacement", "description"],
    "additionalProperties": False,
}
"""lintrunner's `LintMessage`."""

BOTH = """\
import torch
def train(model, loader, criterion, optimizer):
    é, other = 0, 0
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        é += loss; other += loss
    return é
"""
"""TLK401 twice on line 9, behind a character that takes two bytes."""


def rows(output_format: str, capsys: Capture, *arguments: str, status: int = 1) -> list[dict[str, Any]]:
    """The objects of a report."""
    assert main(["check", f"--output-format={output_format}", *arguments]) == status
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for each in found:
        jsonschema.validate(each, DIAGNOSTIC if output_format == "rdjsonl" else LINT_MESSAGE)
    return found


def test_rdjsonl(project: Path, capsys: Capture) -> None:
    found = [json.loads(line) for line in check("rdjsonl", capsys)[0].splitlines()]
    names = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}
    expected = findings(capsys)
    for each, row in zip(found, expected):
        jsonschema.validate(each, DIAGNOSTIC)
        assert each["message"].startswith(f"{row['code']} {row['message']} [{row['slug']}]\nnote: ")
        assert (each["location"]["path"], each["severity"]) == (row["path"], names[row["severity"]])
        assert each["location"]["range"]["start"] == {"line": row["line"], "column": row["column"]}
        assert each["location"]["range"]["end"] == {"line": row["end_line"], "column": row["end_column"]}
        assert each["code"]["value"] == row["code"]
        assert each["code"]["url"].startswith("https://")
        safe = any(fix["level"] == "safe" for fix in row["fixes"])
        assert ("suggestions" in each) is safe
    errors = found[len(expected) :]
    for each in errors:
        jsonschema.validate(each, DIAGNOSTIC)
    assert [each["location"].get("range", {}).get("start") for each in errors] == [{"line": 2}, None, None]


def test_suggestions_are_what_fix_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(BOTH, encoding="utf-8")
    first, second = rows("rdjsonl", capsys, "a.py")
    assert first["location"]["range"]["start"] == {"line": 9, "column": 9}
    assert second["location"]["range"]["start"] == {"line": 9, "column": 21}, "bytes, not characters"
    lines = (tmp_path / "a.py").read_bytes().splitlines(keepends=True)
    for each in (second, first):
        ((suggestion,),) = [each["suggestions"]]
        start, end = suggestion["range"]["start"], suggestion["range"]["end"]
        before, after = lines[start["line"] - 1][: start["column"] - 1], lines[end["line"] - 1][end["column"] - 1 :]
        lines[start["line"] - 1 : end["line"]] = [before + suggestion["text"].encode() + after]
    assert main(["check", "a.py", "--fix"]) == 0
    assert (tmp_path / "a.py").read_bytes() == b"".join(lines)


def test_edits_of_one_fix_are_one_suggestion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    text = (
        "import torch\ndef run(model, loader):\n    model.eval()\n    total = 0\n"
        "    for x in loader:\n        total += model(x).sum().item()\n    return total\n"
    )
    (tmp_path / "a.py").write_text(text)
    # Whatever its level is, a user may call it safe.
    (each,) = rows("rdjsonl", capsys, "a.py", "--extend-safe-fixes=TLK501")
    ((suggestion,),) = [each["suggestions"]]
    assert "no_grad" in suggestion["text"]
    many = text.replace("import torch\n", "import torch.nn as nn\nfrom torch import optim\n\n")
    (tmp_path / "a.py").write_text(many)
    ((suggestion,),) = [row["suggestions"] for row in rows("rdjsonl", capsys, "a.py", "--extend-safe-fixes=TLK501")]
    start, end = (suggestion["range"][name]["line"] for name in ("start", "end"))
    lines = many.splitlines(keepends=True)
    new = "".join((*lines[: start - 1], suggestion["text"], *lines[end - 1 :]))
    assert main(["check", "a.py", "--fix", "--extend-safe-fixes=TLK501"]) == 0
    assert (tmp_path / "a.py").read_text() == new


def test_lintrunner(project: Path, capsys: Capture) -> None:
    found = [json.loads(line) for line in check("lintrunner", capsys)[0].splitlines()]
    expected = findings(capsys)
    for each in found:
        jsonschema.validate(each, LINT_MESSAGE)
    names = {"error": "error", "warning": "warning", "note": "advice"}
    told = {(each["path"], each["line"], each["char"], each["name"], each["severity"]) for each in found}
    for row in expected:
        place = row["path"], row["line"], row["column"]
        assert (*place, f"{row['code']} {row['slug']}", names[row["severity"]]) in told
    errors = [each for each in found if each["name"] == "not checked"]
    assert [(each["path"], each["line"]) for each in errors] == [
        ("broken.py", 2),
        ("encoded.py", None),
        ("gone.py", None),
    ]
    assert len(found) == len(expected) + len(errors)


def test_a_replacement_is_what_fix_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(BOTH + LEAK.replace("def train", "def other"), encoding="utf-8")
    (each,) = rows("lintrunner", capsys, "a.py")
    assert each["original"].encode() == (tmp_path / "a.py").read_bytes()
    assert each["description"].count("TLK401 ") == each["description"].count("line 9: TLK401") + 1 == 3
    assert main(["check", "a.py", "--fix"]) == 0
    assert (tmp_path / "a.py").read_bytes() == each["replacement"].encode()


def test_what_has_no_safe_fix_has_no_replacement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(WARNED)
    (each,) = rows("lintrunner", capsys, "a.py")
    assert (each["name"], each["replacement"]) == ("TLK501 grad-in-evaluation", None)


@pytest.mark.parametrize(
    "raw",
    [codecs.BOM_UTF8 + LEAK.encode(), b"# coding: latin-1\n# \xe9\n" + LEAK.encode()],
    ids=["mark", "latin-1"],
)
def test_what_lintrunner_would_spoil_has_no_replacement(
    raw: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_bytes(raw)
    (each,) = rows("lintrunner", capsys, "a.py")
    assert (each["original"], each["replacement"]) == (None, None)
    assert "\nfix (safe): " in each["description"]


@pytest.mark.parametrize("output_format", ["rdjsonl", "lintrunner"])
def test_notebooks(output_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    cell: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": LEAK}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    (each,) = rows(output_format, capsys, "a.ipynb")
    words = each.get("message") or each["description"]
    assert words.startswith("cell 1, line 9: TLK401 ")
    assert "suggestions" not in each
    assert "range" not in each.get("location", {})
    assert each.get("replacement") is None
    assert each.get("line") is None


@pytest.mark.parametrize("output_format", ["rdjsonl", "lintrunner"])
def test_a_complaint_about_no_file(
    output_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    found = rows(output_format, capsys, ".", status=2)
    assert [each["path"] for each in found] == ([] if output_format == "rdjsonl" else [None])


# -- lists of files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("listed", ["a.py\nb c.py\n", "a.py\r\nb c.py", "a.py\0b c.py\0", "\na.py\n\nb c.py\n\n"])
def test_files_from_a_list(listed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b c.py", "d.py"):
        (tmp_path / name).write_text(LEAK)
    (tmp_path / "list").write_bytes(listed.encode())
    assert {each["path"] for each in rows("rdjsonl", capsys, "--files-from=list") for each in [each["location"]]} == {
        "a.py",
        "b c.py",
    }
    (tmp_path / "list").write_text("")
    assert main(["check", "--files-from=list"]) == 0
    assert capsys.readouterr().out == "No findings, 0 files checked.\n"


def test_a_list_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--files-from=gone"]) == 2
    assert capsys.readouterr().err == "torchleak: error: --files-from: gone: No such file or directory\n"
    assert main(["check", "--files-from=gone", "a.py"]) == 2
    assert "leave out the others" in capsys.readouterr().err
