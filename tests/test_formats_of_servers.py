"""The formats `azure` and `junit`: what servers that run builds read."""

from __future__ import annotations

import re
from pathlib import Path

from junitparser import Error, Failure, JUnitXml

from flake8_torchleak.finding import Finding, FixLevel, Severity, Span
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.formats import Complaint, begin
from flake8_torchleak.source import Source
from tests.conftest import LEAK
from tests.test_formats import COMPLAINTS, Capture, check, findings, project

__all__ = ["project"]

ISSUE = re.compile(r"##vso\[task\.logissue ((?:\w+=[^;\]]*;)*)\](.*)")
ESCAPES = {"%3B": ";", "%0D": "\r", "%0A": "\n", "%5D": "]", "%AZP25": "%"}
"""As the agent of Azure Pipelines undoes them."""


def issue(line: str) -> dict[str, str]:
    """The properties of a command, and its text."""

    def undone(text: str) -> str:
        for escape, char in ESCAPES.items():
            text = text.replace(escape, char)
        return text

    found = ISSUE.fullmatch(line)
    assert found
    pairs = (each.split("=", 1) for each in found[1].split(";") if each)
    return {**{name: undone(value) for name, value in pairs}, "text": undone(found[2])}


def test_azure(project: Path, capsys: Capture) -> None:
    issues = [issue(line) for line in check("azure", capsys)[0].splitlines()]
    rows = findings(capsys)
    assert [{name: each[name] for name in each if name != "text"} for each in issues[: len(rows)]] == [
        {
            "type": "error" if row["severity"] == "error" else "warning",
            "sourcepath": row["path"],
            "linenumber": str(row["line"]),
            "columnnumber": str(row["column"]),
            "code": row["code"],
        }
        for row in rows
    ]
    assert all(f"{row['code']} {row['message']} [{row['slug']}]. " in each["text"] for row, each in zip(rows, issues))
    complaints = issues[len(rows) :]
    assert {each["sourcepath"]: int(each.get("linenumber", 0)) for each in complaints} == COMPLAINTS
    assert {each["type"] for each in complaints} == {"error"}


def test_azure_takes_notes_for_warnings(capsys: Capture) -> None:
    note = Finding("TLK401", "accumulated-graph", "a ]; ##vso[x]", Span(1, 0, 1, 1), Severity.NOTE, FixLevel.HINT)
    shown = begin("azure", colour=False)
    line = shown.file("a;b]%.py", [note], Source("x\n")).rstrip("\n")
    assert line.count("##vso[") == 1
    assert issue(line)["type"] == "warning"
    assert issue(line)["sourcepath"] == "a;b]%.py"
    assert issue(shown.end([Complaint("nothing to check")]).rstrip("\n")) == {
        "type": "error",
        "text": "nothing to check",
    }


def test_junit(project: Path, capsys: Capture) -> None:
    report = JUnitXml.fromstring(check("junit", capsys)[0].encode())
    rows = findings(capsys)
    assert (report.tests, report.failures, report.errors) == (6, 3, 3)
    suites = list(report)
    assert [suite.name for suite in suites] == [*dict.fromkeys(row["path"] for row in rows), "torchleak"]
    cases = [case for suite in suites[:-1] for case in suite]
    assert [case.classname for case in cases] == [row["path"] for row in rows]
    for case, row in zip(cases, rows):
        (failure,) = case.result
        assert isinstance(failure, Failure)
        assert case.name == f"{row['code']} {row['slug']}, line {row['line']}"
        assert failure.message == f"{row['code']} {row['message']} [{row['slug']}]"
        assert failure.type == row["severity"]
        assert failure.text.startswith(f"{row['path']}:{row['line']}:{row['column']}: ")
        assert len(failure.text.splitlines()) > len(row["notes"])
    broken = {case.name: case.result for case in suites[-1]}
    assert sorted(broken) == sorted(COMPLAINTS)
    assert all(isinstance(each, Error) and each.message for (each,) in broken.values())


def test_a_clean_run_is_a_test_that_passed(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "clean.py").write_text("x = 1\n")
    assert main(["check", str(tmp_path), "--output-format=junit"]) == 0
    report = JUnitXml.fromstring(capsys.readouterr().out.encode())
    assert [(case.name, case.is_passed) for suite in report for case in suite] == [("no findings", True)]
    assert (report.tests, report.failures, report.errors) == (1, 0, 0)


def test_what_xml_cannot_hold(capsys: Capture) -> None:
    note = Finding("TLK401", "a", "\x0b<&\"'\ufffe\uffff\u202e]]>", Span(1, 0, 1, 1), Severity.NOTE, FixLevel.HINT)
    shown = begin("junit", colour=False)
    shown.file('<a&b>".py', [note], Source("x\n"))
    report = JUnitXml.fromstring(shown.end([Complaint("<gone>")]).encode())
    suite, errors = report
    (case,), (error,) = suite, errors
    assert suite.name == '<a&b>".py'
    assert case.result[0].message == "TLK401 \\u000b<&\"'\\ufffe\\uffff\\u202e]]> [a]"
    assert (error.name, error.result[0].message) == ("torchleak", "<gone>")


def test_what_comments_hide_is_shown_on_request(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "leak.py"
    file.write_text(LEAK.replace("total += loss\n", "total += loss  # noqa: TLK401\n"))
    assert main(["check", str(file)]) == 0
    assert main(["check", "--ignore-noqa", str(file)]) == 1
    assert "TLK401" in capsys.readouterr().out
    for other in ("--fix", "--diff", "--add-noqa"):
        assert main(["check", "--ignore-noqa", other, str(file)]) == 2
        assert capsys.readouterr().err == (
            "torchleak: error: --ignore-noqa only reports: somebody has decided about what the comments hide\n"
        )
