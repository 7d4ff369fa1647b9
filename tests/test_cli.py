"""The command: in this process for its branches, in processes of its own for what users see."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flake8_torchleak import __version__
from flake8_torchleak.addresses import rule_file
from flake8_torchleak.finding import Finding, FixLevel, Note, Severity, Span
from flake8_torchleak.rule import all_rules, rule_table
from flake8_torchleak.shells import formats, report
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.selection import Selection
from flake8_torchleak.source import Source
from tests.conftest import LEAK, torchleak
from tests.processes import started

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def test_text(leak: Path, capsys: Capture) -> None:
    assert main(["check", "leak.py"]) == 1
    first, source, carets, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("leak.py:9:")
    assert ": TLK401 " in first
    assert first.endswith("[accumulated-graph]")
    assert source == "    9 |         total += loss"
    assert set(carets.partition("|")[2]) == {" ", "^"}
    assert rest[-1] == "1 finding in 1 file, 1 file checked. More on a finding: torchleak explain TLK401"


def test_in_a_process_of_its_own(leak: Path) -> None:
    run = torchleak("check", cwd=leak)
    assert (run.returncode, run.stderr) == (1, b"")
    assert b"leak.py:9:" in run.stdout
    (leak / "leak.py").write_text(LEAK.replace("+= loss", "+= loss.detach()"))
    run = torchleak("check", cwd=leak)
    assert (run.returncode, run.stdout) == (0, b"No findings, 1 file checked.\n")


def test_json(leak: Path, capsys: Capture) -> None:
    assert main(["check", "--output-format=json", "--statistics", "."]) == 1
    shown = capsys.readouterr()
    (row,) = json.loads(shown.out)
    assert list(row) == [
        *("path", "code", "slug", "message", "severity", "reason", "fix"),
        *("line", "column", "end_line", "end_column", "notes", "fixes", "unfixed", "remedy", "conventions", "url"),
    ]
    assert (row["path"], row["code"], row["slug"], row["line"]) == ("leak.py", "TLK401", "accumulated-graph", 9)
    assert row["severity"] in ("error", "warning", "note")
    assert row["fix"] in ("safe", "unsafe", "hint")
    for note in row["notes"]:
        assert list(note) == ["line", "column", "end_line", "end_column", "text"]
    assert shown.err == "     1 TLK401 accumulated-graph\n"
    (leak / "leak.py").write_text("")
    assert main(["check", "--output-format=json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_statistics(leak: Path, capsys: Capture) -> None:
    (leak / "more.py").write_text(LEAK)
    main(["check", "--statistics"])
    counted, summary = capsys.readouterr().out.splitlines()[-2:]
    assert counted == "     2 TLK401 accumulated-graph"
    assert summary.startswith("2 findings in 2 files, 2 files checked.")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--select=TLK401"], 1),
        (["--select=TLK000"], 0),
        (["--select=TLK000", "--extend-select=TLK401"], 1),
        (["--ignore=TLK4"], 0),
        (["--ignore=TLK4", "--select=TLK401"], 1),
        (["--ignore=TLK401", "--select=TLK4"], 0),
        (["--ignore=TLK401", "--select=TLK401"], 0),
        (["--ignore=TLK40", "--extend-select=TLK401"], 1),
    ],
)
def test_selection(leak: Path, arguments: list[str], status: int) -> None:
    assert main(["check", *arguments]) == status


@pytest.mark.parametrize(
    ("selection", "taken"),
    [
        (Selection(), {"TLK401", "TLK000"}),
        (Selection(ignore=["TLK401"]), {"TLK000"}),
        (Selection(select=["TLK"]), {"TLK401", "TLK901", "TLK902", "TLK000"}),
        (Selection(extend_select=["TLK9"]), {"TLK401", "TLK901", "TLK902", "TLK000"}),
        (Selection(extend_select=["TLK901"]), {"TLK401", "TLK901", "TLK000"}),
        (Selection(select=["TLK902"]), {"TLK902", "TLK000"}),
        (Selection(select=["TLK9"], ignore=["TLK902", "TLK000"]), {"TLK901"}),
    ],
)
def test_opinionated_rules_wait_to_be_asked_for(selection: Selection, taken: set[str]) -> None:
    assert {code for code in ("TLK401", "TLK901", "TLK902", "TLK000") if selection.takes(code)} == taken


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ["check", "--select=TLK4O1"],
            "select: no rule begins with 'TLK4O1'; did you mean TLK401 (accumulated-graph)?",
        ),
        (["check", "--ignore=accumulated-grap"], "did you mean TLK401 (accumulated-graph)?"),
        (["check", "--extend-select=@"], "extend-select: no rule begins with '@'\n"),
        (["check", "--select="], "select: name at least one code or prefix"),
        (["check", "--min-literal=-1"], "min-literal: expected a positive whole number, not '-1'"),
        (["check", "--loss-names=a,['b']"], """loss-names: "['b']" is not a name"""),
        (
            ["explain", "acumulated-graph"],
            "there is no rule 'acumulated-graph'; did you mean TLK401 (accumulated-graph)?",
        ),
        (["explain", "@"], "there is no rule '@'\n"),
    ],
)
def test_what_is_wrong_is_one_line(leak: Path, arguments: list[str], error: str, capsys: Capture) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("torchleak: error: ")
    assert shown.err.count("\n") == 1
    assert error in shown.err


@pytest.mark.parametrize(
    "arguments", [[], ["check", "--nonsense"], ["check", "--stat"], ["check", "--assume-workers=x"]]
)
def test_unknown_arguments_exit_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_the_other_files_are_still_checked(leak: Path, capsys: Capture) -> None:
    (leak / "broken.py").write_text("import torch\nloss.backward(\ntotal += loss\nself.append(DataLoader Dataset cv2\n")
    (leak / "encoded.py").write_bytes(b"import torch  # \xe9\n")
    (leak / "nul.py").write_bytes(LEAK.encode() + b"\0")
    assert main(["check", ".", "gone.py"]) == 2
    shown = capsys.readouterr()
    assert "leak.py:9:" in shown.out
    assert "1 finding in 1 file, 1 file checked, 4 could not be." in shown.out
    broken, encoded, nul, gone = shown.err.splitlines()
    assert broken.startswith("torchleak: error: broken.py:")
    assert ": syntax error: " in broken
    assert encoded.startswith("torchleak: error: encoded.py: cannot decode: ")
    assert nul.startswith("torchleak: error: nul.py")
    assert "null bytes" in nul
    assert gone == "torchleak: error: gone.py: No such file or directory"


def test_a_file_that_vanishes_while_we_look(leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flake8_torchleak.shells.files.python_files", lambda *_: ["gone.py", "leak.py"])
    assert main(["check"]) == 2
    shown = capsys.readouterr()
    assert shown.err == "torchleak: error: gone.py: No such file or directory\n"
    assert "leak.py:9:" in shown.out


def test_null_bytes_as_older_pythons_report_them(leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> list[Finding]:
        raise ValueError("source code string cannot contain null bytes")

    monkeypatch.setattr("ast.parse", refuse)
    assert main(["check", "leak.py"]) == 2
    told = "torchleak: error: leak.py: syntax error: source code string cannot contain null bytes\n"
    assert capsys.readouterr().err == told


def test_a_syntax_error_without_a_place(leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> list[Finding]:
        raise SyntaxError("too deeply nested")

    monkeypatch.setattr("flake8_torchleak.lint.lint", refuse)
    assert main(["check", "leak.py"]) == 2
    assert capsys.readouterr().err == "torchleak: error: leak.py: syntax error: too deeply nested\n"


def test_stdin(leak: Path) -> None:
    run = torchleak("check", "-", "--stdin-filename=src/edit.py", cwd=leak, stdin=LEAK.encode())
    assert run.returncode == 1
    assert run.stdout.startswith(b"src/edit.py:9:")
    assert torchleak("check", "-", cwd=leak, stdin=LEAK.encode()).stdout.startswith(b"stdin:9:")


def test_noqa(leak: Path) -> None:
    (leak / "leak.py").write_text(LEAK.replace("+= loss", "+= loss  # noqa: TLK401"))
    assert main(["check"]) == 0


def test_an_exception_in_a_rule_is_an_error(leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    internal = Finding("TLK000", "internal-error", "it broke", Span(1, 0, 1, 0), Severity.ERROR, FixLevel.HINT)
    monkeypatch.setattr("flake8_torchleak.lint.lint", lambda *_, **__: [internal])
    assert main(["check", "--select=TLK4", "leak.py"]) == 2
    told = "No findings, 1 file checked, 1 could not be.\n"
    assert capsys.readouterr() == (told, "torchleak: error: leak.py: it broke\n")
    assert main(["check", "--ignore=TLK000", "leak.py"]) == 0


def test_settings_in_pyproject(leak: Path, capsys: Capture) -> None:
    (leak / ".git").mkdir()
    folder = leak / "sub" / "deeper"
    folder.mkdir(parents=True)
    os.chdir(folder)
    settings = leak / "pyproject.toml"
    (leak / "sub" / "pyproject.toml").write_text("[tool.other]\n")
    assert main(["check", "../../leak.py"]) == 1
    settings.write_text('[tool.torchleak]\nignore = ["TLK401"]\nmin-literal = 5\nloss-names = ["a.b"]\n')
    assert main(["check", "../../leak.py"]) == 0
    # The command line goes before the file.
    assert main(["check", "../../leak.py", "--ignore="]) == 1
    capsys.readouterr()
    for text, error in {
        "[tool.torchleak]\nignroe = []\n": "no setting is called 'ignroe'; did you mean ignore?",
        "[tool.torchleak]\n'@' = []\n": "no setting is called '@'\n",
        "[tool]\ntorchleak = 3\n": "tool.torchleak is not a table",
        "[tool.torchleak\n": "Expected",
        "[tool.torchleak]\nselect = 3\n": "select: expected a list of strings, not 3",
        "[tool.torchleak]\nmin-literal = true\n": "min-literal: expected a positive whole number, not True",
        "[tool.torchleak]\nloss-names = [1]\n": "loss-names: expected a list of strings, not [1]",
    }.items():
        settings.write_text(text)
        assert main(["check", "../../leak.py"]) == 2
        shown = capsys.readouterr().err
        assert error in shown
        assert shown.count("\n") == 1
    settings.write_bytes(b"# torchleak \xff\n")
    assert main(["check", "../../leak.py"]) == 2
    assert "pyproject.toml: 'utf-8' codec can't decode byte 0xff" in capsys.readouterr().err
    (leak / ".git").rmdir()
    settings.unlink()
    assert main(["check", "../../leak.py"]) == 1


@pytest.mark.parametrize("name", ["TLK401", "tlk401", "accumulated-graph"])
def test_explain(name: str, capsys: Capture) -> None:
    assert main(["explain", name]) == 0
    header, default, fix, address, blank, page, *_ = capsys.readouterr().out.splitlines()
    assert header == "TLK401 accumulated-graph"
    assert default == "default: on"
    assert fix.startswith("fix: ")
    assert address == f"page: {rule_file('TLK401')}"
    assert blank == ""
    assert page.startswith("accumulated-graph: ")


def test_every_rule_can_be_explained(capsys: Capture) -> None:
    for each in all_rules():
        assert main(["explain", each.code]) == 0
        shown = capsys.readouterr().out
        assert each.page in shown
        assert ("--extend-select=" in shown) is not each.default


def test_explain_the_internal_code(capsys: Capture) -> None:
    assert main(["explain", "TLK000"]) == 0
    assert capsys.readouterr().out.startswith("TLK000 internal-error\n")


def test_rules(capsys: Capture) -> None:
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [each.code for each in all_rules()]
    assert main(["rules", "--output-format=markdown"]) == 0
    assert capsys.readouterr().out == rule_table() + "\n"
    assert main(["rules", "--output-format=json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["code"] for row in rows] == [each.code for each in all_rules()]
    assert list(rows[0]) == ["code", "slug", "summary", "default", "severity", "fix", "fixes", "url"]


def test_version() -> None:
    assert torchleak("--version", cwd=Path.cwd()).stdout.decode().strip() == f"torchleak {__version__}"


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"leak{number}.py").write_text(LEAK)
    command = [sys.executable, "-m", "flake8_torchleak", "check"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_an_interrupt_shows_no_traceback(leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> list[Finding]:
        raise KeyboardInterrupt

    monkeypatch.setattr("flake8_torchleak.lint.lint", interrupt)
    assert main(["check", "leak.py"]) == 130
    assert capsys.readouterr().err == ""


def test_a_narrow_encoding_gets_escapes(leak: Path) -> None:
    (leak / "leak.py").write_text(LEAK.replace("total += loss", "'日'; total += loss"), encoding="utf-8")
    run = torchleak("check", cwd=leak, PYTHONIOENCODING="ascii")
    assert run.returncode == 1
    assert rb"'\u65e5'; total" in run.stdout


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal, file = Terminal(), io.StringIO()
    assert report.wants_colour(terminal, "auto")
    assert not report.wants_colour(file, "auto")
    assert not report.wants_colour(terminal, "never")
    assert report.wants_colour(file, "always")
    monkeypatch.setenv("TERM", "dumb")
    assert not report.wants_colour(terminal, "auto")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert report.wants_colour(file, "auto")
    assert not report.wants_colour(file, "never")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not report.wants_colour(terminal, "auto")
    assert report.wants_colour(file, "always")


@pytest.mark.parametrize(
    ("arguments", "variable", "coloured"),
    [
        ([], "TERM", False),
        (["--color=always"], "NO_COLOR", True),
        (["--color=never"], "FORCE_COLOR", False),
        (["--no-color"], "FORCE_COLOR", False),
        (["--no-color", "--color=auto"], "FORCE_COLOR", True),
        (["--output-format=concise"], "FORCE_COLOR", True),
        (["--output-format=github"], "FORCE_COLOR", False),
    ],
)
def test_colour_on_the_command_line(
    leak: Path, arguments: list[str], variable: str, coloured: bool, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    assert main(["check", *arguments]) == 1
    shown = capsys.readouterr().out
    assert ("\x1b[1;33mTLK401\x1b[0m" in shown, "\x1b" in shown) == (coloured, coloured)


def found(span: Span, *notes: Note) -> Finding:
    """A finding at `span`."""
    return Finding("TLK401", "accumulated-graph", "text", span, Severity.ERROR, FixLevel.SAFE, notes)


def in_text(path: str, finding: Finding, line: str, colour: bool = False) -> str:
    """What a person sees of a finding in a file of one line."""
    return formats.begin("text", colour).file(path, [finding], Source(line))


def shown(line: str, span: Span) -> list[str]:
    """The source line and the carets of a finding in `line`."""
    return in_text("a.py", found(span), line).splitlines()[1:]


def test_coloured_text() -> None:
    note = Note(Span(1, 0, 1, 1), "here")
    text = in_text("a.py", found(Span(1, 0, 1, 1), note), "x\n", colour=True)
    assert text.count("\x1b[") == 2 * text.count("\x1b[0m") == 10
    assert "\x1b[1;31mTLK401\x1b[0m \x1b[1;31merror:\x1b[0m text [accumulated-graph]\n" in text


@pytest.mark.parametrize(
    ("line", "col", "carets"),
    [
        ("ab loss", 3, "   ^^^^"),
        ("\tab\tloss", 4, "\t  \t^^^^"),
        ("日本 loss", 3, "     ^^^^"),
        ("🙂 loss", 2, "   ^^^^"),
        ("e\u0301 loss", 3, "  ^^^^"),
    ],
)
def test_carets_stand_under_the_text(line: str, col: int, carets: str) -> None:
    assert shown(line + "\r\n", Span(1, col, 1, col + 4)) == ["    1 | " + line, "      | " + carets]


def test_carets_of_several_lines_and_of_none() -> None:
    assert shown("x = f(  \n", Span(1, 4, 3, 1))[1] == "      |     ^^"
    assert shown("x\n", Span(1, 0, 1, 0))[1] == "      | ^"
    assert shown("x\n", Span(2, 0, 2, 1)) == []


def test_long_lines_are_cut_around_the_finding() -> None:
    line = "a" * 500 + "b" * 500 + "c" * 500
    assert shown(line, Span(1, 500, 1, 1000)) == [
        "    1 | ..." + "a" * 40 + "b" * 80,
        "      | " + " " * 43 + "^" * 80,
    ]
    assert shown(line, Span(1, 2, 1, 4))[1] == "      |   ^^"


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert shown("'\x1b[2J' loss", Span(1, 8, 1, 12))[0] == r"    1 | '\u001b[2J' loss"
    assert shown("'\x1b[2J' loss", Span(1, 7, 1, 11))[1] == "      | " + " " * 12 + "^^^^"
    assert in_text("a\nb.py", found(Span(1, 0, 1, 1)), "x").startswith(r"a\nb.py:1:1: ")
