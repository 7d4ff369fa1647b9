"""What is done with one checkout, wherever that is: `torchleak check` in a process of its own.

A file that takes all memory, or does not end, costs its own repository, and no worker.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

ALWAYS = ("--output-format=json-lines", "--exit-zero", "--quiet")

_START = """\
import sys
sys.path[:] = [path for path in sys.path if path]
from flake8_torchleak.shells.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The command, with the current folder out of the path: a checkout may hold modules with the names of ours."""

Object = dict[str, Any]


class Failed(Exception):
    """A checkout could not be checked: it may be another time."""


def check(path: str, arguments: tuple[str, ...], timeout: float) -> Object:
    """The findings in the folder at `path`, and what was complained of: plain data, which any engine can send.

    arguments: further ones of `torchleak check`; timeout: seconds. Raises Failed where the folder is not there, or the
    process was killed, took too long or ended as none of ours does.
    """
    if not os.path.isdir(path):
        raise Failed(f"{path}: no such folder")
    command = [sys.executable, "-c", _START, "check", ".", *ALWAYS, *arguments]
    began = time.monotonic()
    try:
        done = subprocess.run(command, cwd=path, capture_output=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"took more than {timeout:g} seconds") from None
    complaints = done.stderr.decode("utf-8", "replace").splitlines()
    if done.returncode not in (0, 2):
        raise Failed(f"ended with status {done.returncode}: {complaints[-1] if complaints else 'no word'}")
    return {
        "findings": [json.loads(line) for line in done.stdout.splitlines()],
        "complaints": [line.removeprefix("torchleak: error: ") for line in complaints],
        "seconds": round(time.monotonic() - began, 3),
    }
