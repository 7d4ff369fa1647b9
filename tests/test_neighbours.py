"""Where flake8's file and ours disagree, the command says so; flake8 itself is asked what its file means."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK, flake8

Capture = pytest.CaptureFixture[str]
NOTE = "torchleak: note: flake8 ({}) and torchleak ({}) differ: "


@pytest.fixture(autouse=True)
def _in_folder(leak: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(leak)


def said(folder: Path, theirs: str, ours: str, capsys: Capture, *arguments: str, file: str = ".flake8") -> str:
    """What the command adds on stderr, once; less its first words."""
    (folder / file).write_text(theirs)
    (folder / "pyproject.toml").write_text(f"[tool.torchleak]\n{ours}\n" if ours else "")
    main(["check", "leak.py", *arguments])
    shown = capsys.readouterr().err
    assert shown.count("\n") <= 1
    begin = NOTE.format(file, "pyproject.toml" if ours else "no [tool.torchleak]")
    assert shown.startswith(begin) or not shown
    return shown.removeprefix(begin).rstrip("\n")


@pytest.mark.parametrize(
    ("theirs", "ours", "note"),
    [
        # Nothing of ours is in it: it may be the file of a flake8 that does not know us.
        ("[flake8]\nmax-line-length = 9\nselect = E\n", 'ignore = ["TLK4"]', ""),
        ("[other]\nignore = TLK4\n", 'ignore = ["TLK4"]', ""),
        ("[flake8]\nextend-ignore = TLK4\n", 'ignore = ["TLK4"]', ""),
        ("[flake8]\nextend_ignore = E1,\n    # why\n    TLK40\n", 'extend-ignore = ["TLK40"]', ""),
        ("[flake8]\nextend-ignore = TLK401\n", "", "only torchleak reports TLK401"),
        (
            "[flake8]\nextend-ignore = TLK401\n",
            'ignore = ["TLK402"]',
            "only flake8 reports TLK402; only torchleak reports TLK401",
        ),
        # In flake8 an `ignore` of its own ends the default one, and with it that of TLK9.
        ("[flake8]\nignore = TLK20\n", 'ignore = ["TLK20"]', "only flake8 reports TLK901-TLK910"),
        ("[flake8]\nselect = E,TLK4\n", 'select = ["TLK4"]', ""),
        ("[flake8]\nextend-select = TLK9\n", 'extend-select = ["TLK9"]', ""),
        ("[flake8]\nloss-names = a.b, c\n", 'loss-names = ["a.b", "c"]', ""),
        ("[flake8]\nloss-names = a.b\n", "", "loss-names is a.b for flake8, empty here"),
        (
            "[flake8]\nloss-names = a.b\n",
            'min-literal = 5\nloss-names = ["a.b"]',
            "min-literal is 1000 for flake8 (its default), 5 here",
        ),
        # What flake8 refuses, it says itself.
        ("[flake8]\nmin-literal = x\n", "", ""),
        (
            "[flake8]\nper-file-ignores =\n    tests/*: TLK4, E1\n    x.py: F\n",
            '[tool.torchleak.per-file-ignores]\n"tests/*" = ["TLK4"]',
            "",
        ),
        ("[flake8]\nper-file-ignores = tests/*: TLK4\n", "", "per-file-ignores"),
        ("[flake8]\nper-file-ignores = tests/* TLK4\n", "", ""),
    ],
)  # fmt: skip
def test_settings_that_differ(leak: Path, theirs: str, ours: str, note: str, capsys: Capture) -> None:
    assert said(leak, theirs, ours, capsys) == note


@pytest.mark.parametrize(
    "arguments",
    [
        ["--isolated"],
        ["--select=TLK4", "--loss-names=x", "--per-file-ignores=a:TLK1"],
        ["--extend-ignore=TLK5", "--loss-names=", "--per-file-ignores=a:TLK1"],
    ],
)
def test_what_the_command_line_sets_is_meant_to_differ(leak: Path, arguments: list[str], capsys: Capture) -> None:
    theirs = "[flake8]\nextend-ignore = TLK401\nloss-names = a\nper-file-ignores = b:TLK3\n"
    assert said(leak, theirs, "", capsys, *arguments) == ""
    assert said(leak, theirs, "", capsys).count(";") == 2


def test_flake8_means_what_we_say_of_it(leak: Path, capsys: Capture) -> None:
    assert said(leak, "[flake8]\nextend-ignore = TLK401\n", "", capsys) == "only torchleak reports TLK401"
    assert flake8(cwd=leak).stdout.count(b"TLK401") == 0
    (leak / ".flake8").write_text("[flake8]\nignore = TLK20\n")
    (leak / "leak.py").write_text(LEAK + "def f(loader):\n    for x in loader:\n        torch.cuda.empty_cache()\n")
    assert b"TLK908" in flake8(cwd=leak).stdout


def test_the_file_that_flake8_takes(leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    (leak / "setup.cfg").write_bytes(b"[flake8]\nignore = TLK\xff\n")
    (leak / "tox.ini").write_text("[tox]\n")
    assert said(leak, "[flake8]\nextend-ignore = TLK401\n", "", capsys)
    assert said(leak, "[flake8]\nextend-ignore = TLK402\n", "", capsys, file="tox.ini").endswith("TLK402")
    sub = leak / "sub"
    sub.mkdir()
    monkeypatch.chdir(sub)
    (sub / "a.py").write_text("")
    assert main(["check"]) == 0
    assert capsys.readouterr().err.startswith("torchleak: note: flake8 (../tox.ini) and torchleak (no ")
    monkeypatch.setenv("HOME", str(leak))
    assert main(["check"]) == 0
    assert capsys.readouterr().err == "", "flake8 looks no further than below the home folder"
