"""Options of the command about what is told, how loudly, and what the exit status says of it."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from flake8_torchleak.config import ConfigError
from flake8_torchleak.finding import Finding, FixLevel, Note, Severity, Span, is_told
from flake8_torchleak.shells import report
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.completion import script
from flake8_torchleak.source import Source
from tests.conftest import LEAK, flake8
from tests.test_first_steps import Terminal

Capture = pytest.CaptureFixture[str]

ERROR = LEAK.replace("backward()", "backward(retain_graph=True)")
"""TLK401 on line 9, an error: what it keeps holds its activations; and TLK407 on line 7, a warning."""
NOTED = """\
import torch
def gather(train_dl):
    return list(train_dl)
"""
"""TLK405 on line 3, a note: only a name says that it is a DataLoader."""
WARNED = """\
import torch
def gather(model, loader):
    model.eval()
    for x, y in loader:
        print(model(x).sum().item())
"""
"""TLK501 on line 4, a warning."""
OPINION = """\
import torch
from torch.utils.data import DataLoader
def train(model, data):
    for x, y in DataLoader(data, batch_size=2):
        model(x).sum().backward()
        torch.cuda.empty_cache()
"""
"""TLK908 on line 6, a note of a rule that is off by default."""


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an error, a warning, a note and an opinion, each in a file of its own."""
    for name, text in {"error": ERROR, "warning": WARNED, "note": NOTED, "opinion": OPINION}.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: Capture, *arguments: str) -> tuple[int, set[str]]:
    """The exit status, and the names of the files in which something was found."""
    status = main(["check", "--output-format=concise", *arguments])
    return status, set(re.findall(r"^(\w+)\.py:", capsys.readouterr().out, re.MULTILINE))


LATER = partial(pytest.param, marks=[pytest.mark.long, pytest.mark.watched])
"""Two processes of flake8 each."""

# -- min-severity --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ([], {"error", "warning"}),
        LATER(["--min-severity=error"], {"error"}),
        LATER(["--min-severity=warning"], {"error", "warning"}),
        LATER(["--min-severity=note"], {"error", "warning", "note"}),
        LATER(["--extend-select=TLK9"], {"error", "warning", "opinion"}),
        (["--extend-select=TLK9", "--min-severity=error"], {"error"}),
    ],
)
def test_what_is_worth_telling(arguments: list[str], files: set[str], three: Path, capsys: Capture) -> None:
    assert told(capsys, *arguments) == (1, files)
    (three / "pyproject.toml").write_text(f"[tool.torchleak]\nmin-severity = '{severity(arguments)}'\n")
    assert told(capsys, *(each for each in arguments if "severity" not in each)) == (1, files)
    # flake8 says the same, from its command line and from its files.
    selected = [f"--min-severity={severity(arguments)}", *(each for each in arguments if "select" in each)]
    run = flake8("--isolated", "--extend-ignore=E,W,F", *selected, cwd=three)
    assert set(re.findall(r"(\w+)\.py:", run.stdout.decode())) == files, run.stderr
    (three / ".flake8").write_text(f"[flake8]\nextend-ignore = E,W,F\nmin-severity = {severity(arguments)}\n")
    run = flake8(*selected[1:], cwd=three)
    assert set(re.findall(r"(\w+)\.py:", run.stdout.decode())) == files, run.stderr


def severity(arguments: list[str]) -> str:
    """The least severity that arguments ask for."""
    return next((each.partition("=")[2] for each in arguments if "severity" in each), "warning")


def test_a_severity_that_is_none(three: Path, capsys: Capture) -> None:
    (three / "pyproject.toml").write_text("[tool.torchleak]\nmin-severity = 'info'\n")
    assert main(["check"]) == 2
    said = f"error: {three}/pyproject.toml:2: min-severity: expected one of error, warning, note, not 'info'\n"
    assert capsys.readouterr().err == f"torchleak: {said}"
    with pytest.raises(SystemExit):
        main(["check", "--isolated", "--min-severity=info"])
    run = flake8("--isolated", "--min-severity=info", cwd=three)
    assert run.returncode == 2
    assert b"--min-severity" in run.stderr


def test_what_is_said_of_ourselves_is_always_told() -> None:
    def finding(code: str, severity: Severity) -> Finding:
        return Finding(code, "x", "x", Span(1, 0, 1, 0), severity, FixLevel.HINT)

    for least in Severity:
        assert is_told(finding("TLK003", Severity.NOTE), least)
        assert is_told(finding("TLK401", Severity.ERROR), least)
        assert is_told(finding("TLK401", Severity.NOTE), least) is (least is Severity.NOTE)
        assert is_told(finding("TLK401", Severity.WARNING), least) is (least is not Severity.ERROR)
        assert is_told(finding("TLK901", Severity.NOTE), least) is (least is not Severity.ERROR)


def test_the_summary_counts_what_is_not_shown(three: Path, capsys: Capture) -> None:
    main(["check"])
    shown = capsys.readouterr().out
    assert "Not shown: 1 note; --min-severity=note shows all.\n" in shown
    main(["check", "--min-severity=error"])
    shown = capsys.readouterr().out
    assert "Not shown: 3 notes and warnings; --min-severity=note shows all.\n" in shown
    main(["check", "--min-severity=note"])
    assert "Not shown" not in capsys.readouterr().out
    main(["check", "--ignore=TLK405"])
    assert "Not shown" not in capsys.readouterr().out


def test_notes_are_neither_fixed_nor_silenced_unless_they_are_asked_for(three: Path, capsys: Capture) -> None:
    change = ["check", "note.py", "warning.py", "--fix", "--unsafe-fixes"]
    assert main(change) == 0
    assert (three / "note.py").read_text() == NOTED
    assert (three / "warning.py").read_text() != WARNED
    assert main(["check", "note.py", "--add-noqa"]) == 0
    assert (three / "note.py").read_text() == NOTED
    assert main(["check", "note.py", "--add-noqa", "--min-severity=note"]) == 0
    assert "# noqa: TLK405" in (three / "note.py").read_text()


def test_a_baseline_lists_notes_too(three: Path, capsys: Capture) -> None:
    assert main(["baseline", "write"]) == 0
    assert "lists 4 findings in 3 files" in capsys.readouterr().out
    assert main(["check", "--baseline=.torchleak-baseline.json", "--min-severity=note"]) == 0


# -- the exit status -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["error.py"], 1),
        (["error.py", "--exit-zero"], 0),
        (["error.py", "gone.py", "--exit-zero"], 2),
        (["error.py", "--fail-on=error"], 1),
        (["warning.py", "--fail-on=error"], 0),
        (["warning.py", "--fail-on=warning"], 1),
        (["warning.py", "error.py", "--fail-on=error"], 1),
        (["note.py", "--min-severity=note"], 1),
        (["note.py", "--min-severity=note", "--fail-on=warning"], 0),
        (["note.py", "--min-severity=note", "--fail-on=note"], 1),
        (["note.py", "--fail-on=note"], 0),
        (["warning.py", "--diff", "--fail-on=error"], 0),
    ],
)
def test_what_fails_a_run(arguments: list[str], status: int, three: Path) -> None:
    assert main(["check", *arguments]) == status


def test_a_wrong_severity_to_fail_on(three: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check", "--fail-on=fatal"])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


# -- what is printed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["--quiet", "-q"])
def test_quiet_prints_findings_and_errors_alone(flag: str, three: Path, capsys: Capture) -> None:
    (three / "leak.py").write_text(LEAK)
    main(["check", "leak.py", "gone.py"])
    loud = capsys.readouterr()
    (three / ".flake8").write_text("[flake8]\nmin-literal = 7\n")  # a note on stderr says that we read another file
    (three / "pyproject.toml").write_text("[tool.torchleak]\nmin-literal = 9\n")
    assert main(["check", "leak.py", "gone.py", flag]) == 2
    out, err = capsys.readouterr()
    assert out
    assert loud.out.startswith(out)
    assert loud.out.removeprefix(out).startswith("Can be fixed: 1 with --fix.\n1 finding in 1 file")
    assert err == loud.err == "torchleak: error: gone.py: No such file or directory\n"
    assert main(["check", "leak.py", "--quiet", "--statistics", "--output-format=concise"]) == 1
    assert capsys.readouterr().err == "     1 TLK401 accumulated-graph\n"
    assert main(["check", "note.py", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_files_are_listed(three: Path, capsys: Capture) -> None:
    assert main(["check", "--show-files", "--exclude=note.py"]) == 0
    assert capsys.readouterr() == ("error.py\nopinion.py\nwarning.py\n", "")
    assert main(["check", "--show-files", "-", "error.py", "--stdin-filename=typed.py"]) == 0
    assert capsys.readouterr().out == "typed.py\nerror.py\n"
    assert main(["check", "--show-files", "gone.py", "error.py"]) == 2
    assert capsys.readouterr() == ("error.py\n", "torchleak: error: gone.py: No such file or directory\n")
    (three / "empty").mkdir()
    assert main(["check", "--show-files", "empty"]) == 2
    assert capsys.readouterr().err.startswith("torchleak: error: empty: no Python file")


def test_fixes_are_listed_by_file(three: Path, capsys: Capture) -> None:
    (three / "leak.py").write_text(LEAK)
    arguments = ["check", "leak.py", "warning.py", "--unsafe-fixes", "--show-fixes"]
    main([*arguments, "--diff"])
    shown = capsys.readouterr().err
    assert "leak.py: would fix 1 TLK401 accumulated-graph.\nwarning.py: would fix 1 TLK501 grad-in-eval" in shown
    assert main([*arguments, "--fix"]) == 0
    shown = capsys.readouterr().out
    assert "leak.py: fixed 1 TLK401 accumulated-graph.\nwarning.py: fixed 1 TLK501 grad-in-eval" in shown
    assert "No findings, 2 files checked.\n" in shown
    assert main(["check", "--show-fixes"]) == 2
    assert capsys.readouterr().err == "torchleak: error: --show-fixes goes with --fix or --diff\n"


# -- headlines -------------------------------------------------------------------------------------------------------

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\")


def test_severity_is_a_word(three: Path, capsys: Capture) -> None:
    main(["check", "--min-severity=note", "--output-format=concise"])
    heads = [line.split()[:3] for line in capsys.readouterr().out.splitlines()]
    words = [[f"{code} {word}" for _, code, word in heads]]
    assert words == [["TLK407 warning:", "TLK401 error:", "TLK405 note:", "TLK501 warning:"]]


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("path", ["leak.py", "a folder/with long names in it/and another one/leak.py"])
def test_a_coloured_headline_is_as_wide_as_a_plain_one(width: int, path: str) -> None:
    text = "memory grows every step: `total` keeps each step's autograd graph; write `total += loss.detach()`"
    finding = Finding(
        "TLK401",
        "accumulated-graph",
        text,
        Span(9, 8, 9, 9),
        Severity.ERROR,
        FixLevel.SAFE,
        (Note(Span(1, 0, 1, 1), ""),),
    )
    plain = report.headline(path, finding, Source(""), width=width)
    assert max(map(len, plain.splitlines())) <= width
    coloured = report.headline(path, finding, Source(""), colour=True, width=width)
    assert _ESCAPE.sub("", coloured) == plain
    assert "\x1b[1;31mTLK401\x1b[0m" in coloured
    assert "\x1b[1;31merror:\x1b[0m" in coloured
    linked = report.headline(path, finding, Source(""), colour=True, links=True, width=width)
    assert _ESCAPE.sub("", linked) == plain
    assert re.search(r"\x1b\]8;;https://\S+TLK401\S*\x1b\\\x1b\[1;31mTLK401\x1b\[0m\x1b\]8;;\x1b\\", linked)


_NONE = {"TERM_PROGRAM": "", "TERM": "xterm-256color", "VTE_VERSION": ""}


@pytest.mark.parametrize(
    ("known", "environment"),
    [
        (False, {}),
        (True, {"TERM_PROGRAM": "WezTerm"}),
        (True, {"TERM": "xterm-kitty"}),
        (True, {"WT_SESSION": "1"}),
        (True, {"VTE_VERSION": "7600"}),
        (False, {"VTE_VERSION": "5000"}),
        (False, {"TERM_PROGRAM": "WezTerm", "CI": "true"}),
        (True, {"FORCE_HYPERLINK": "1"}),
        (False, {"TERM_PROGRAM": "WezTerm", "FORCE_HYPERLINK": "0"}),
    ],
)
def test_links_where_terminals_know_them(
    known: bool, environment: dict[str, str], three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM", "FORCE_HYPERLINK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (_NONE | environment).items():
        monkeypatch.setenv(name, value)
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["check", "error.py"]) == 1
    assert ("\x1b]8;;" in stream.getvalue()) is known
    # Who wants no colours gets no escapes at all.
    stream.seek(0)
    stream.truncate()
    main(["check", "error.py", "--color=never"])
    assert "\x1b" not in stream.getvalue()


# -- explain ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["TLK4", "tlk4"])
def test_a_family_of_rules_is_listed(name: str, capsys: Capture) -> None:
    assert main(["explain", name]) == 0
    *rows, blank, more = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == [f"TLK40{number}" for number in range(1, 9)]
    assert rows[0].split()[1:3] == ["accumulated-graph", "on"]
    assert (blank, more) == ("", "One of them in full: torchleak explain TLK401")


@pytest.mark.parametrize("name", ["TLK8", "", "4"])
def test_a_family_that_is_none(name: str, capsys: Capture) -> None:
    assert main(["explain", name]) == 2
    assert capsys.readouterr().err.startswith(f"torchleak: error: there is no rule '{name}'")


# -- completion ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_scripts_for_shells_name_every_option(shell: str, capsys: Capture) -> None:
    assert main(["completion", shell]) == 0
    shown = capsys.readouterr().out
    for word in ("check", "baseline", "explain", "min-severity", "extend-exclude", "sarif"):
        assert word in shown


def test_bash_completes(tmp_path: Path) -> None:
    (tmp_path / "t.sh").write_text(script("bash"))
    # As bash calls it: the words on the line, and which of them is being typed.
    asked = 'COMP_WORDS=(torchleak check --min-s); COMP_CWORD=2; _shtab_torchleak; echo "${COMPREPLY[@]}"'
    run = subprocess.run(
        ["bash", "-c", f"source t.sh; {asked}"], cwd=tmp_path, capture_output=True, check=False, timeout=600
    )
    assert run.stdout.decode().split() == ["--min-severity"], run.stderr


def test_a_shell_that_is_not_known(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert main(["completion", "nu"]) == 2
    assert capsys.readouterr().err.startswith("torchleak: error: completion: expected one of bash, ")
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(ConfigError, match=r"pip install 'flake8-torchleak\[completion\]'"):
        script("bash")
