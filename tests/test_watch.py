"""`torchleak check --watch`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.watch import again
from tests.conftest import LEAK
from tests.processes import started
from tests.test_formats import METERED, METERS

Capture = pytest.CaptureFixture[str]
Changes = set[tuple[int, str]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meters.py").write_text(METERS)
    (tmp_path / "metered.py").write_text(METERED)
    (tmp_path / "other.py").write_text("import torch\n")
    return tmp_path


class Watcher(types.ModuleType):
    """Stands for watchfiles: tells of what each step changes, and notes what was watched."""

    def __init__(self, *steps: dict[str, str | None]) -> None:
        super().__init__("watchfiles")
        self.steps = steps
        self.watched: list[str] = []

    def watch(self, *paths: str, watch_filter: object) -> Iterator[Changes]:
        assert callable(watch_filter)
        self.watched = list(paths)
        for step in self.steps:
            for name, text in step.items():
                Path(name).unlink() if text is None else Path(name).write_text(text)
            yield {(1, os.path.abspath(name)) for name in step if watch_filter(1, name)}


def watched(monkeypatch: pytest.MonkeyPatch, *steps: dict[str, str | None], paths: tuple[str, ...] = ()) -> Watcher:
    watcher = Watcher(*steps)
    monkeypatch.setitem(sys.modules, "watchfiles", watcher)
    main(["check", "--watch", "--output-format=concise", *paths])
    return watcher


def rounds(capsys: Capture) -> list[str]:
    """What is said at the end of each check."""
    return [line.partition(".")[0] for line in capsys.readouterr().err.splitlines() if "checked" in line]


def test_what_has_changed_is_checked_again(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert watched(monkeypatch, {"other.py": LEAK}, {"other.py": "import torch\n"}).watched == ["."]
    out, err = capsys.readouterr()
    assert [line.partition(":")[0] for line in out.splitlines()] == ["metered.py", "other.py"]
    said = [line.partition(".")[0] for line in err.splitlines()]
    assert said == [
        "Can be fixed: 1 with --fix",
        "1 finding in 1 file, 3 files checked",
        "torchleak: watching for changes; Ctrl-C ends",
        "Can be fixed: 1 with --fix",
        "1 finding in 1 file, 1 file checked",
        "No findings, 1 file checked",
    ]


def test_what_a_change_has_to_do_with_is_checked_again(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    detached = METERS.replace("+= value", "+= value.item()")
    watched(monkeypatch, {"meters.py": detached}, {"meters.py": METERS}, {"metered.py": METERED + "\n"})
    said = rounds(capsys)
    assert said[1:] == [
        "No findings, 2 files checked",
        "1 finding in 1 file, 2 files checked",
        "1 finding in 1 file, 2 files checked",
    ]


def test_files_that_do_not_parse_come_and_go(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    watched(monkeypatch, {"other.py": "import torch\ndef f(:\n"}, {"other.py": None}, {"new.py": LEAK}, {"a.txt": "x"})
    out, err = capsys.readouterr()
    assert err.count("error: other.py:2:7: syntax error") == 1
    assert out.splitlines()[-1].startswith("new.py:9:9: TLK401")
    # What was deleted, and what is no Python, checks nothing.
    assert len([line for line in err.splitlines() if "checked" in line]) == 3


def test_settings_change_all(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    good = "[tool.torchleak]\nignore = ['TLK4']\n"
    watched(monkeypatch, {"pyproject.toml": good.replace("ignore", "ignroe")}, {"pyproject.toml": good})
    err = capsys.readouterr().err
    assert "did you mean ignore?" in err
    assert err.splitlines()[-1].startswith("No findings, 3 files checked")


def test_paths_that_are_not_there(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert watched(monkeypatch, {"other.py": LEAK}, paths=("gone", "other.py")).watched == ["other.py"]
    assert watched(monkeypatch, paths=("gone",)).watched == []
    assert capsys.readouterr().err.count("watching") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fix"], "not with --fix"),
        (["--add-noqa"], "not with --add-noqa"),
        (["--output-file=x"], "not with --output-file"),
        (["-"], "not stdin"),
        ([], "pip install 'flake8-torchleak[watch]'"),
    ],
)
def test_what_does_not_go_with_it(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert main(["check", "--watch", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


def test_what_is_not_listed_is_not_checked(folder: Path) -> None:
    assert again([str(folder / "meters.py"), str(folder / "gone.py")], ["metered.py"]) == ["metered.py"]


def test_for_real(folder: Path) -> None:
    """With watchfiles, in a process of its own, ended as a user does."""
    command = [sys.executable, "-m", "flake8_torchleak", "check", "--watch", "--output-format=json-lines"]
    with started(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert b"metered.py" in process.stdout.readline()
        assert b"watching" in process.stderr.readline()
        time.sleep(1)  # until the operating system watches
        (folder / "other.py").write_text(LEAK)
        assert b"other.py" in process.stdout.readline()
        process.send_signal(2)
        assert process.wait() == 130
        assert b"Traceback" not in process.stderr.read()
