"""`--output-file`: what is put into the file, what goes on being printed, and that nothing is lost when it fails."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from flake8_torchleak.finding import Finding
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.formats import FORMATS
from tests.conftest import LEAK, python, torchleak
from tests.test_fix_command import EVALUATION, HELD

Capture = pytest.CaptureFixture[str]

SUMMARY = "1 finding in 1 file, 1 file checked. More on a finding: torchleak explain TLK401\n"


@pytest.fixture(autouse=True)
def _in_folder(leak: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(leak)
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize("output_format", FORMATS)
def test_the_file_holds_the_report_and_stdout_the_summary(leak: Path, capsys: Capture, output_format: str) -> None:
    assert main(["check", f"--output-format={output_format}"]) == 1
    printed = capsys.readouterr().out
    assert main(["check", f"--output-format={output_format}", "--output-file=report", "--statistics"]) == 1
    out, err = capsys.readouterr()
    fixable = "Can be fixed: 1 with --fix.\n"
    assert (out, err) == (f"{fixable}     1 TLK401 accumulated-graph\n{SUMMARY}", "")
    written = (leak / "report").read_text(encoding="utf-8")
    assert written == (printed.replace(fixable + SUMMARY, "") if output_format == "text" else printed)
    assert "TLK401" in written
    assert sorted(os.listdir(leak)) == ["leak.py", "report"]


def test_the_file_is_utf_8_and_has_no_colours_unless_asked(leak: Path) -> None:
    (leak / "leak.py").write_text(LEAK.replace("total += loss", "'日'; total += loss"), encoding="utf-8")
    (leak / os.fsdecode(b"\xff.py")).write_text(LEAK)
    run = torchleak("check", "--output-file=report", cwd=leak, FORCE_COLOR="1", PYTHONIOENCODING="ascii")
    assert run.stdout.endswith(b"2 findings in 2 files, 2 files checked. More on a finding: torchleak explain TLK401\n")
    report = (leak / "report").read_text(encoding="utf-8")
    assert "'日'; total" in report
    assert r"\udcff.py:9:" in report
    assert "\x1b" not in report
    torchleak("check", "--output-file=report", "--color=always", cwd=leak)
    assert "\x1b[" in (leak / "report").read_text(encoding="utf-8")


def test_fixes_and_reports(leak: Path, capsys: Capture) -> None:
    assert main(["check", "--fix", "--output-format=json", "--output-file=report"]) == 0
    assert json.loads((leak / "report").read_text()) == []
    assert capsys.readouterr() == ("Fixed 1 finding in 1 file.\nNo findings, 1 file checked.\n", "")


def test_an_old_report_is_replaced_with_its_permissions(leak: Path) -> None:
    (leak / "old").write_text("x" * 100_000)
    (leak / "old").chmod(0o600)
    assert main(["check", "--output-format=concise", "--output-file=old"]) == 1
    assert (leak / "old").read_text().startswith("leak.py:9:")
    assert stat.S_IMODE((leak / "old").stat().st_mode) == 0o600
    umask = os.umask(0o027)
    try:
        main(["check", "--output-file=new"])
    finally:
        os.umask(umask)
    assert stat.S_IMODE((leak / "new").stat().st_mode) == 0o640


def test_an_interrupted_run_leaves_the_old_report(leak: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> list[Finding]:
        raise KeyboardInterrupt

    (leak / "report").write_text("old")
    monkeypatch.setattr("flake8_torchleak.lint.lint", interrupt)
    assert main(["check", "--output-file=report"]) == 130
    assert (leak / "report").read_text() == "old"
    assert sorted(os.listdir(leak)) == ["leak.py", "report"]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("no/such/folder", "No such file or directory"),
        (".", "Is a directory"),
        ("", "Is a directory"),
        ("leak.py/report", "Not a directory"),
        ("leak.py", "is a source file, which the report would replace"),
        ("new.IPYNB", "is a source file, which the report would replace"),
    ],
)
def test_where_no_report_can_go(leak: Path, capsys: Capture, name: str, error: str) -> None:
    """It is said before anything is done: with --fix, no file has been changed."""
    assert main(["check", "--fix", f"--output-file={name}"]) == 2
    assert capsys.readouterr() == ("", f"torchleak: error: --output-file: {name}: {error}\n")
    assert (leak / "leak.py").read_text() == LEAK
    assert os.listdir(leak) == ["leak.py"]


def test_a_report_that_cannot_be_put_in_place(leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    assert main(["check", "--output-file=report"]) == 2
    assert capsys.readouterr() == ("", "torchleak: error: --output-file: report: No space left on device\n")
    assert os.listdir(leak) == ["leak.py"]


def test_a_pipe_is_never_opened(leak: Path, capsys: Capture) -> None:
    os.mkfifo(leak / "pipe")
    assert main(["check", "leak.py", "--output-file=pipe"]) == 2
    assert capsys.readouterr() == ("", "torchleak: error: --output-file: pipe: is not a regular file\n")


@pytest.mark.skipif(not os.path.exists("/dev/fd/1"), reason="needs names for open files")
def test_what_the_shell_opened_is_written_to(leak: Path, capsys: Capture) -> None:
    reader, writer = os.pipe()
    try:
        assert main(["check", "leak.py", "--output-format=json", f"--output-file=/dev/fd/{writer}"]) == 1
    finally:
        os.close(writer)
    with open(reader, "rb") as out:
        assert [row["code"] for row in json.load(out)] == ["TLK401"]
    assert capsys.readouterr().out.endswith(SUMMARY)
    run = python("-m", "flake8_torchleak", "check", "--output-format=concise", "--output-file=/dev/stdout", cwd=leak)
    assert run.stdout.startswith(b"leak.py:9:")
    assert run.stdout.endswith(SUMMARY.encode())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_device(capsys: Capture) -> None:
    assert main(["check", "--output-file=/dev/full"]) == 2
    assert capsys.readouterr().err == "torchleak: error: --output-file: /dev/full: No space left on device\n"


def test_a_link_to_a_source_is_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(LEAK)
    (tmp_path / "report").symlink_to("train.py")
    assert main(["check", "--output-file=report"]) == 2
    assert (tmp_path / "train.py").read_text() == LEAK


def test_places_of_a_diff_are_those_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "import torch\nx = 1  # noqa: TLK101\n" + EVALUATION.partition("import torch\n")[2] + HELD
    (tmp_path / "a.py").write_text(text)
    arguments = ["check", "a.py", "--report-unused-noqa", "--output-format=concise"]
    assert main(arguments) == 1
    plain = capsys.readouterr().out
    assert main([*arguments, "--diff", "--unsafe-fixes", "--output-file=shown.txt"]) == 1
    assert (tmp_path / "shown.txt").read_text() == plain
    assert main([*arguments, "--diff", "--add-noqa", "--output-file=shown.txt"]) == 1
    shown = (tmp_path / "shown.txt").read_text().splitlines()
    assert [int(line.split(":")[1]) for line in shown] == sorted(int(line.split(":")[1]) for line in shown)
