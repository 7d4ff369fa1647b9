"""Standard streams that are closed, full or broken: no traceback, and the status that says it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import LEAK

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_folder(leak: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(leak)


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A line of shell with "$@" for the command; without PYTHONUNBUFFERED, as for most people."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"} | environment
    command = ["sh", "-c", line, "sh", sys.executable, "-m", "flake8_torchleak"]
    return subprocess.run(command, capture_output=True, check=False, env=env, timeout=600)


CANNOT = b"torchleak: error: cannot write: "
CLOSED, FULL = CANNOT + b"Bad file descriptor\n", CANNOT + b"No space left on device\n"
SUMMARY = (
    b"Can be fixed: 1 with --fix.\n1 finding in 1 file, 1 file checked. More on a finding: torchleak explain TLK401\n"
)

LATER = partial(pytest.param, marks=[pytest.mark.long, pytest.mark.watched])
"""Another way to the same stream: a process each."""


@pytest.mark.parametrize("unbuffered", ["", pytest.param("1", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("line", "status", "err"),
    [
        ('"$@" check >&-', 2, CLOSED),
        ('"$@" check >/dev/full', 2, FULL),
        LATER('"$@" check --diff >&-', 2, CLOSED),
        ('"$@" check --diff >/dev/full', 2, FULL),
        LATER('"$@" check --output-format=concise >&- 2>&-', 2, b""),
        ('"$@" check --output-format=json >/dev/full', 2, FULL),
        ('"$@" check --output-format=concise 2>&-', 1, b""),
        LATER('"$@" check --output-format=concise 2>/dev/full', 1, b""),
        LATER('"$@" check nowhere.py 2>&-', 2, b""),
        ('"$@" check nowhere.py 2>/dev/full', 2, b""),
        LATER('"$@" check --no-such-argument 2>&-', 2, b""),
        ('"$@" check --select=X 2>/dev/full', 2, b""),
        LATER('"$@" rules >&-', 2, CLOSED),
        ('"$@" explain TLK401 >/dev/full', 2, FULL),
        ('"$@" check - <&- >/dev/null', 2, b"torchleak: error: -: Bad file descriptor\n"),
        LATER('"$@" check --fix --select=X - <&-', 2, None),
        ('"$@" check <&- >&- 2>&-', 2, b""),
        LATER('"$@" baseline write --output=base.json >/dev/full', 2, FULL),
    ],
)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_streams_that_are_closed_or_full(line: str, status: int, err: bytes | None, unbuffered: str) -> None:
    run = shell(line, PYTHONUNBUFFERED=unbuffered)
    assert run.returncode == status
    assert b"Traceback" not in run.stderr
    assert b"Exception" not in run.stderr
    assert err is None or run.stderr == err


def test_help_that_cannot_be_written() -> None:
    run = shell('"$@" --help >/dev/full')
    assert (run.returncode, run.stderr) == (2, FULL)


@pytest.mark.long
@pytest.mark.watched
def test_a_report_that_nobody_reads_any_more() -> None:
    for number in range(200):
        Path(f"m{number}.py").write_text(LEAK)
    run = shell('{ "$@" check --output-format=concise; echo $? >status; } | head -n 1')
    assert (run.stdout.count(b"\n"), run.stderr) == (1, b"")
    assert Path("status").read_text() == "1\n"
    run = shell('{ "$@" check --diff; echo $? >status; } | head -n 1')
    assert (run.stdout.count(b"\n"), Path("status").read_text()) == (1, "1\n")
    # What is to be fixed is fixed all the same.
    run = shell('{ "$@" check --fix --output-format=concise --select=TLK401; echo $? >status; } >/dev/full')
    assert all(Path(f"m{number}.py").read_text() != LEAK for number in range(200))


def test_no_file_of_ours_becomes_stdout() -> None:
    assert shell('"$@" check --output-file=report >&- 2>&-').returncode == 2
    assert shell('"$@" check --fix >&- 2>&-').returncode == 2
    assert "detach" in Path("leak.py").read_text()
    assert "Fixed" not in Path("leak.py").read_text()
