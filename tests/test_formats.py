"""The formats of a report: as their readers parse them, and held against the JSON report of the same run."""

from __future__ import annotations

import json
import ntpath
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flake8_torchleak.finding import Finding, FixLevel, Note, Severity, Span
from flake8_torchleak.shells import formats
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.formats import FORMATS
from flake8_torchleak.shells.paths import portable, uri
from flake8_torchleak.source import Source
from tests.conftest import LEAK, ROOT, torchleak
from tests.processes import started
from tests.test_fix_command import EVALUATION

Capture = pytest.CaptureFixture[str]

METERS = "class Average:\n    total = 0\n    def update(self, value):\n        self.total += value\n"
METERED = "from meters import Average\n" + LEAK.replace("total = 0", "total = Average()").replace(
    "total += loss", "total.update(loss)"
)
"""TLK403 on line 10, whose evidence is in METERS, kept as meters.py."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of leaks of three kinds, in names that formats have to escape, and of files that cannot be read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meters.py").write_text(METERS)
    (tmp_path / "metered.py").write_text(METERED)
    (tmp_path / "sub folder").mkdir()
    (tmp_path / "sub folder" / "a,b:c%25#é.py").write_text(LEAK + EVALUATION.replace("import torch\n", ""))
    (tmp_path / "broken.py").write_text("import torch\nloss.backward(\ntotal += loss\nDataLoader Dataset cv2\n")
    (tmp_path / "encoded.py").write_bytes(b"import torch  # \xe9\n")
    return tmp_path


COMPLAINTS = {"broken.py": 2, "encoded.py": 0, "gone.py": 0}
"""What cannot be checked when the project and gone.py are, and the line where that is known."""


def check(output_format: str, capsys: Capture) -> tuple[str, str]:
    """What is written to stdout and stderr about the project; with errors, and findings besides."""
    assert main(["check", ".", "gone.py", f"--output-format={output_format}"]) == 2
    out, err = capsys.readouterr()
    errors = [line for line in err.splitlines() if line.startswith("torchleak: error: ")]
    assert [re.split("[ :]+", line)[2] for line in errors] == list(COMPLAINTS)
    return out, err


def findings(capsys: Capture) -> list[dict[str, Any]]:
    """The same run's findings, as JSON tells of them."""
    rows: list[dict[str, Any]] = json.loads(check("json", capsys)[0])
    assert [row["code"] for row in rows] == ["TLK403", "TLK401", "TLK501"]
    return rows


def headline(row: dict[str, Any]) -> str:
    """A finding on one line."""
    place = f"{row['path']}:{row['line']}:{row['column']}"
    return f"{place}: {row['code']} {row['severity']}: {row['message']} [{row['slug']}]"


def test_the_registry_names_every_module() -> None:
    modules = {info.name.replace("_", "-") for info in pkgutil.iter_modules(formats.__path__)}
    assert modules == set(FORMATS)


def test_the_page_names_every_format() -> None:
    page = (ROOT / "docs" / "outputs.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    assert tuple(rows) == FORMATS


def test_a_format_says_what_it_writes_for_a_file(leak: Path) -> None:
    with pytest.raises(NotImplementedError):
        formats.Report(colour=False).file("a.py", [], None)  # type: ignore[arg-type]


def test_an_unknown_format_is_an_error(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check", "--output-format=jsonlines"])
    assert caught.value.code == 2
    assert "json-lines" in capsys.readouterr().err


def test_concise(project: Path, capsys: Capture) -> None:
    out, err = check("concise", capsys)
    assert out.splitlines() == [headline(row) for row in findings(capsys)]
    # The summary is for people, and leaves stdout to grep.
    assert "\n3 findings in 2 files, 3 files checked, 3 could not be. More on" in err


def test_json_lines(project: Path, capsys: Capture) -> None:
    out, err = check("json-lines", capsys)
    assert [json.loads(line) for line in out.splitlines()] == findings(capsys)
    assert "findings" not in err


def test_json_lines_come_as_files_are_done(leak: Path) -> None:
    """The first file's findings can be read while the second one is still being written."""
    with started(
        [sys.executable, "-m", "flake8_torchleak", "check", "leak.py", "-", "--output-format=json-lines"],
        cwd=leak,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        first = process.stdout.readline()
        process.stdin.write(LEAK.encode())
        process.stdin.close()
        rest = process.stdout.read()
    assert [json.loads(line)["path"] for line in (first, *rest.splitlines())] == ["leak.py", "stdin"]
    assert process.returncode == 1


def annotation(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as GitHub's runner takes it apart: its name, its properties, and its message."""
    assert line.startswith("::")
    command, _, message = line[2:].partition("::")
    name, _, listed = command.partition(" ")
    properties = dict(each.split("=", 1) for each in listed.split(","))
    for code, char in {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}.items():
        properties = {key: value.replace(code, char) for key, value in properties.items()}
        if char not in ":,":
            message = message.replace(code, char)
    return name, properties, message


def test_github(project: Path, capsys: Capture) -> None:
    out, _ = check("github", capsys)
    commands = [annotation(line) for line in out.splitlines()]
    rows = findings(capsys)
    names = {"error": "error", "warning": "warning", "note": "notice"}
    for (name, properties, message), row in zip(commands, rows):
        assert name == names[row["severity"]]
        assert properties["title"] == f"{row['code']} {row['slug']}"
        place = {"file": row["path"], "line": str(row["line"]), "endLine": str(row["end_line"])}
        if row["line"] == row["end_line"]:
            place |= {"col": str(row["column"]), "endColumn": str(row["end_column"] - 1)}
        assert {key: value for key, value in properties.items() if key != "title"} == place
        first, *notes = message.split("\n")
        assert first == headline(row)
        places = [
            f"{note['path']}:{note['line']}" if "path" in note else f"line {note['line']}" for note in row["notes"]
        ]
        told = [f"note: {place}: {note['text']}" for place, note in zip(places, row["notes"])]
        assert notes[: len(told)] == told
        assert all(line.startswith(("fix (", "not fixed: ", "remedy: ")) for line in notes[len(told) :])
    assert "note: meters.py:4: " in commands[0][2]
    errors = commands[len(rows) :]
    assert [(properties["file"], int(properties.get("line", 0))) for _, properties, _ in errors] == [
        *COMPLAINTS.items()
    ]
    assert {(name, properties["title"]) for name, properties, _ in errors} == {("error", "torchleak")}
    assert errors[-1][2] == "gone.py: No such file or directory"


def test_github_annotations_of_several_lines_and_of_other_severities(
    leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [
        Finding("TLK402", "stored-graph", "100%\r\nleft", Span(1, 0, 1, 0), Severity.ERROR, FixLevel.HINT),
        Finding("TLK401", "accumulated-graph", "a", Span(1, 2, 3, 4), Severity.WARNING, FixLevel.HINT),
        Finding("TLK907", "oversized-workers", "b", Span(2, 0, 2, 6), Severity.NOTE, FixLevel.HINT),
    ]
    monkeypatch.setattr("flake8_torchleak.lint.lint", lambda *_, **__: made)
    monkeypatch.chdir(leak)
    assert main(["check", "--select=TLK", "--output-format=github"]) == 1
    one, several, note = (annotation(line) for line in capsys.readouterr().out.splitlines())
    # The API refuses columns of places that span lines, and a place that ends before it starts.
    assert (one[0], one[1]["col"], one[1]["endColumn"]) == ("error", "1", "1")
    assert "100%\\r\\nleft" in one[2]
    assert several[:2] == (
        "warning",
        {"file": "leak.py", "line": "1", "endLine": "3", "title": "TLK401 accumulated-graph"},
    )
    assert (note[0], note[1]["endColumn"]) == ("notice", "6")


def test_a_complaint_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("os.scandir", lambda path: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    assert main(["check", str(tmp_path), "--output-format=github"]) == 2
    (line,) = capsys.readouterr().out.splitlines()
    assert annotation(line) == ("error", {"title": "torchleak"}, f"{tmp_path}: Permission denied")


CODE_QUALITY: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "additionalProperties": False,
                "properties": {
                    # Relative to the repository, without "./".
                    "path": {"type": "string", "pattern": r"^[^./\\]"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "additionalProperties": False,
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""What GitLab's documentation asks of a Code Quality report."""


def quality(*arguments: str, capsys: Capture) -> list[dict[str, Any]]:
    """A report that GitLab takes."""
    assert main(["check", "--output-format=gitlab", *arguments]) in (0, 1)
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    jsonschema.validate(rows, CODE_QUALITY)
    assert len({row["fingerprint"] for row in rows}) == len(rows)
    return rows


def test_gitlab(project: Path, capsys: Capture) -> None:
    rows = json.loads(check("gitlab", capsys)[0])
    jsonschema.validate(rows, CODE_QUALITY)
    severities = {"error": "critical", "warning": "major", "note": "info"}
    assert [{**row, "fingerprint": ""} for row in rows] == [
        {
            "description": f"{row['code']} {row['message']} [{row['slug']}]",
            "check_name": row["code"],
            "fingerprint": "",
            "severity": severities[row["severity"]],
            "location": {"path": row["path"], "lines": {"begin": row["line"]}},
        }
        for row in findings(capsys)
    ]
    assert quality("meters.py", capsys=capsys) == []


def test_fingerprints_know_a_finding_that_moved(leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(leak)
    twice = LEAK.replace("        total += loss\n", "        total += loss\n        total += loss\n")
    (leak / "leak.py").write_text(twice)
    before = quality(capsys=capsys)
    assert len(before) == 2
    moved = "# a\n# b\n" + twice.replace("        ", "          ")
    (leak / "leak.py").write_text(moved)
    after = quality(capsys=capsys)
    assert [row["location"]["lines"]["begin"] for row in after] == [11, 12]
    assert [row["fingerprint"] for row in after] == [row["fingerprint"] for row in before]
    # One of the two is mended: the other is the same as before, and not new.
    (leak / "leak.py").write_text(LEAK)
    assert [row["fingerprint"] for row in quality(capsys=capsys)] == [before[0]["fingerprint"]]
    # However the file is named, it is the same finding; in another file it is another one.
    (leak / "more.py").write_text(LEAK)
    named = quality(str(leak / "leak.py"), "more.py", capsys=capsys)
    assert named[0]["fingerprint"] == before[0]["fingerprint"]
    assert {row["fingerprint"] for row in before}.isdisjoint({named[1]["fingerprint"]})


def test_a_fingerprint_of_what_is_no_text_or_past_the_end(leak: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (leak / "leak.py").write_bytes(b"# coding: raw_unicode_escape\n'\\ud800'; " + LEAK.encode())
    made = [
        Finding("TLK401", "accumulated-graph", "a", Span(line, 0, line, 1), Severity.NOTE, FixLevel.HINT)
        for line in (2, 90)
    ]
    monkeypatch.setattr("flake8_torchleak.lint.lint", lambda *_, **__: made)
    assert main(["check", str(leak), "--min-severity=note", "--output-format=gitlab"]) == 1


LATER = [pytest.mark.long, pytest.mark.watched]


@pytest.mark.parametrize(
    "output_format",
    [pytest.param(each, marks=LATER * (number % 3 > 0)) for number, each in enumerate(FORMATS)],  # a process each
)
def test_the_same_input_gives_the_same_bytes(project: Path, capsys: Capture, output_format: str) -> None:
    arguments = ["check", ".", "gone.py", f"--output-format={output_format}"]
    run = torchleak(*arguments, cwd=project, PYTHONHASHSEED="1")
    assert (run.returncode, main(arguments)) == (2, 2)
    assert (run.stdout.decode(), run.stderr.decode()) == capsys.readouterr()


@pytest.mark.parametrize("output_format", FORMATS)
def test_statistics_leave_stdout_to_the_report(leak: Path, capsys: Capture, output_format: str) -> None:
    arguments = ["check", str(leak), f"--output-format={output_format}"]
    assert main(arguments) == 1
    plain = capsys.readouterr().out
    assert main([*arguments, "--statistics"]) == 1
    out, err = capsys.readouterr()
    counted = "     1 TLK401 accumulated-graph\n"
    if output_format == "text":
        assert counted in out
    else:
        assert out == plain
        assert counted in err


def without_advice(output_format: str, out: str) -> object:
    """A report without what it says of fixes, which differs between a run that fixes and one that could."""
    if output_format == "text":
        return re.findall(r"^\S+.*? TLK.*\]$", out, re.MULTILINE)
    if output_format == "github":
        return [annotation(line)[1] for line in out.splitlines()]
    if output_format == "azure":
        return [line.partition("%5D. ")[0] for line in out.splitlines()]
    if output_format == "junit":
        return re.sub(r"\n(fix|not fixed|remedy)\b[^\n<]*", "", out)
    if output_format == "sarif":
        return [{**result, "message": ""} for result in json.loads(out)["runs"][0]["results"]]
    if output_format.startswith("json"):
        rows = [json.loads(line) for line in out.splitlines()] if output_format == "json-lines" else json.loads(out)
        return [{**row, "unfixed": ""} for row in rows]
    if output_format in ("rdjsonl", "lintrunner"):
        return [{**json.loads(line), "message": "", "description": ""} for line in out.splitlines()]
    return out


@pytest.mark.parametrize("output_format", FORMATS)
def test_what_is_left_after_fixing(project: Path, capsys: Capture, output_format: str) -> None:
    """The report is about the file as it is now: no finding that was fixed, and the places in the new text."""
    for name in ("broken.py", "encoded.py"):
        (project / name).unlink()
    (project / "metered.py").write_text("# e\u0301\n" + METERED + EVALUATION.replace("import torch\n", "@decorated\n"))
    arguments = ["check", f"--output-format={output_format}"]
    assert main(arguments) == 1
    before = without_advice(output_format, capsys.readouterr().out)
    assert main([*arguments, "--fix"]) == 1
    fixed = without_advice(output_format, capsys.readouterr().out)
    assert main(arguments) == 1
    assert fixed == without_advice(output_format, capsys.readouterr().out)
    assert len(str(fixed)) < len(str(before))
    assert "TLK501" in str(fixed)


def test_a_fixed_text_on_stdout_sends_the_report_to_stderr(leak: Path) -> None:
    run = torchleak("check", "--fix", "--output-format=json", "-", cwd=leak, stdin=LEAK.encode())
    assert run.stdout == LEAK.replace("+= loss", "+= loss.detach()").encode()
    assert json.loads(run.stderr) == []


@pytest.mark.parametrize("output_format", FORMATS)
def test_a_diff_and_the_findings_in_a_file(
    leak: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch, output_format: str
) -> None:
    monkeypatch.chdir(leak)
    (leak / "leak.py").write_text(EVALUATION + LEAK)
    assert main(["check", "--diff", f"--output-format={output_format}", "--output-file=report"]) == 1
    out, err = capfd.readouterr()
    assert out.startswith("--- a/leak.py\n")
    assert err.startswith("Would fix 1 finding in 1 file.\n")
    # In order of place, whether it would be fixed or not; SARIF names the rules before.
    results = (leak / "report").read_text().rpartition('"results"')[2]
    assert 0 < results.find("TLK501") < results.find("TLK401")
    assert (leak / "leak.py").read_text() == EVALUATION + LEAK


def test_a_file_that_cannot_be_fixed_is_named(leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(leak)
    (leak / "leak.py").chmod(0o444)
    assert main(["check", "--fix", "--output-format=github"]) == 2
    _, error = capsys.readouterr().out.splitlines()
    assert annotation(error) == (
        "error",
        {"file": "leak.py", "title": "torchleak"},
        "leak.py: is read-only; left alone",
    )


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    odd = os.fsdecode(b"\xff b.py")
    inside = {
        "a.py": "a.py",
        "sub/é#.py": "sub/%C3%A9%23.py",
        "a:b.py": "a%3Ab.py",
        str(Path("c.py").absolute()): "c.py",
    }
    for path, address in {**inside, odd: "%FF%20b.py"}.items():
        assert uri(path) == address
    assert portable(str(Path("c.py").absolute())) == "c.py"
    assert portable(odd) == "\ufffd b.py"
    for path in ("../x y.py", str(tmp_path / "x y.py")):
        assert portable(path) == str(tmp_path / "x y.py")
        assert uri(path) == (tmp_path / "x y.py").as_uri()


def test_paths_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert portable(r"src\pkg\a b.py", ntpath) == "src/pkg/a b.py"
    assert uri(r"src\pkg\a b.py", ntpath) == "src/pkg/a%20b.py"
    assert portable(r"D:\data\a b.py", ntpath) == "D:/data/a b.py"
    assert uri(r"D:\data\a b.py", ntpath) == "file:///D:/data/a%20b.py"


def test_notes_of_the_file_itself_have_no_path() -> None:
    note = Note(Span(3, 0, 3, 1), "here")
    finding = Finding("TLK401", "a", "b", Span(1, 0, 1, 1), Severity.NOTE, FixLevel.HINT, (note,))
    shown = formats.begin("github", colour=False).file("a.py", [finding], Source("1\n2\n3\n"))
    assert shown.endswith("%0Anote: line 3: here\n")


@pytest.mark.long
@pytest.mark.watched
def test_the_fixtures_in_every_machine_format(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(ROOT / "fixtures")
    folders = ["TLK101_refcounted_state", "TLK301_cv2_threads"]
    assert main(["check", *folders, "--output-format=json"]) == 1
    expected = [(row["path"], row["line"]) for row in json.loads(capsys.readouterr().out)]
    rows = quality(*folders, capsys=capsys)
    assert [(row["location"]["path"], row["location"]["lines"]["begin"]) for row in rows] == expected
    assert main(["check", *folders, "--output-format=github"]) == 1
    commands = [annotation(line)[1] for line in capsys.readouterr().out.splitlines()]
    assert [(command["file"], int(command["line"])) for command in commands] == expected
