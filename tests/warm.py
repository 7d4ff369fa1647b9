"""Python with flake8 and the package imported, which forks a process for each run: nine tenths of a run are imports.

A run has its own folder, standard streams and environment, and ends as Python ends; only that all was imported before
is not as users have it. Where a test is about streams, signals, encodings or imports, `conftest.python` runs it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from tests.processes import kill, started

LIMIT = 600
"""Seconds for one run."""
DAY = 24 * 60 * 60

_LOADED = """\
import importlib, json, os, runpy, sys
import flake8.main.cli, flake8.plugins.finder
import flake8_torchleak.shells.cli, flake8_torchleak.shells.flake8_plugin, flake8_torchleak.shells.run
import flake8_torchleak.rule
flake8_torchleak.rule.all_rules()
lines = os.fdopen(os.dup(0), encoding="utf-8")
said = os.fdopen(os.dup(1), "w", encoding="utf-8")
for line in lines:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=said, flush=True)
else:
    sys.exit()
lines.close()
said.close()
for number, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
    descriptor = os.open(asked["streams"][number], flags)
    os.dup2(descriptor, number)
    os.close(descriptor)
sys.stdin = open(0, encoding="utf-8", closefd=False)
sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
os.environ.clear()
os.environ.update(asked["environment"])
os.chdir(asked["cwd"])
importlib.invalidate_caches()
sys.path[0] = asked["cwd"]
sys.argv = asked["argv"]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


class Warm:
    """That process: it is started at the first run, and again where it is gone."""

    def __init__(self) -> None:
        self._open = contextlib.ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def run(
        self, module: str, *arguments: str, cwd: Path, stdin: bytes, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        """What `python -m module` does, in a process that has all imported already."""
        process = self._process
        if process is None or process.poll() is not None:
            self.end()
            command = [sys.executable, "-c", _LOADED]
            process = self._open.enter_context(
                started(command, limit=DAY, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            self._process = process
        with tempfile.TemporaryDirectory() as folder:
            streams = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
            for path, content in zip(streams, (stdin, b"", b"")):
                path.write_bytes(content)
            argv = [module, *arguments]
            asked = {
                "argv": argv,
                "cwd": os.path.realpath(cwd),
                "streams": [str(path) for path in streams],
                "environment": dict(environment),
            }
            timer = threading.Timer(LIMIT, kill, (process,))
            timer.start()
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                process.stdin.flush()
                status = process.stdout.readline()
            finally:
                timer.cancel()
            assert status, f"killed after {LIMIT} s, or gone: {module} {' '.join(arguments)}"
            return subprocess.CompletedProcess(argv, int(status), *(path.read_bytes() for path in streams[1:]))

    def end(self) -> None:
        """Let it end: nothing more is asked."""
        self._process = None
        self._open.close()
