"""The progress of long runs, on terminals that are none: a pseudo-terminal and the program in a process of its own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.conftest import LEAK
from tests.processes import started

PROGRAM = """
import sys
from flake8_torchleak.shells import cli, progress
progress.DELAY, progress.INTERVAL = {delay}, 0
sys.exit(cli.main(sys.argv[1:]))
"""
"""The command, with another idea of how long a run takes before it is a long one."""

ERASE = "\r\x1b[K"
NEVER = 1e9


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two leaks, and a name that would steer a terminal."""
    (tmp_path / "a.py").write_text(LEAK)
    (tmp_path / "b\x1b[2J日本語.py").write_text("")
    (tmp_path / "c.py").write_text(LEAK)
    return tmp_path


def on_terminal(
    folder: Path, *arguments: str, delay: float = 0, stdout: int | None = None, columns: int = 0, term: str = "xterm"
) -> str:
    """What the command writes to a terminal that is its stderr, and its stdout too unless that is something else."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with started(
        [sys.executable, "-c", PROGRAM.format(delay=delay), "check", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=slave if stdout is None else stdout,
        stderr=slave,
        env={**os.environ, "TERM": term, "NO_COLOR": "1", "PYTHONUTF8": "1"},
    ) as process:
        os.close(slave)
        shown = b""
        # Linux reports the end of a terminal nobody writes to any more as an error.
        with contextlib.suppress(OSError):
            while read := os.read(master, 1 << 16):
                shown += read
        os.close(master)
        assert process.wait() in (0, 1, 2)
    return shown.decode().replace("\r\n", "\n")


def seen(shown: str) -> str:
    """What is left on the screen: each erasure takes back its line."""
    lines = shown.split("\n")
    return "\n".join(line.rpartition(ERASE)[2] for line in lines)


def test_a_long_run_says_how_far_it_is_and_leaves_no_trace(files: Path) -> None:
    shown = on_terminal(files, "--output-format=concise")
    assert shown.startswith(f"{ERASE}1/3 files: a.py{ERASE}a.py:9:")
    assert f"{ERASE}2/3 files: b\\u001b[2J日本語.py{ERASE}3/3 files: c.py{ERASE}c.py:9:" in shown
    plain = on_terminal(files, "--output-format=concise", delay=NEVER)
    assert ERASE not in plain
    assert seen(shown) == plain


def test_errors_get_a_line_of_their_own(files: Path) -> None:
    (files / "b.py").write_text("import torch\nloss.backward(\nDataLoader Dataset cv2\n")
    shown = on_terminal(files)
    assert f"{ERASE}3/4 files: b.py{ERASE}torchleak: error: b.py:2:" in shown
    assert seen(shown) == on_terminal(files, delay=NEVER)


def test_a_line_is_cut_to_the_terminal(files: Path) -> None:
    shown = on_terminal(files, "--output-format=concise", columns=23)
    # Wide characters count twice, and the last column stays free.
    assert f"{ERASE}2/3 files: b\\u001b[2J{ERASE}" in shown
    assert f"{ERASE}2/3 files: b\\u001b[2J日{ERASE}" in on_terminal(files, "--output-format=concise", columns=24)


def test_the_report_in_a_file_and_the_progress_on_the_terminal(files: Path) -> None:
    with open(files / "out", "wb") as out:
        shown = on_terminal(files, "--output-format=json", stdout=out.fileno())
    assert shown == f"{ERASE}1/3 files: a.py{ERASE}{ERASE}2/3 files: b\\u001b[2J日本語.py{ERASE}3/3 files: c.py{ERASE}"
    assert (files / "out").read_text().startswith("[\n")


@pytest.mark.parametrize("arguments", [["--diff"], ["--fix", "-"]])
def test_none_where_stdout_is_taken(files: Path, arguments: list[str]) -> None:
    assert ERASE not in on_terminal(files, *arguments)


def test_none_on_a_dumb_terminal(files: Path) -> None:
    assert ERASE not in on_terminal(files, term="dumb")


def test_none_beside_a_pager(files: Path) -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as pager:
        shown = on_terminal(files, stdout=write)
        os.close(write)
        assert pager.read().startswith(b"a.py:9:")
    assert shown == ""


def test_none_in_a_pipe(files: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(delay=0), "check"],
        cwd=files,
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert (run.returncode, run.stderr) == (1, b"")
    assert b"\x1b" not in run.stdout
