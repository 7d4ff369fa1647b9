"""Processes that tests start: none outlives its test, and none is waited for without end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

LIMIT = 300
"""Seconds. What a test waits for takes some of them, on a busy machine some tens."""


class Hangs(AssertionError):
    """What a process was to do did not come in time."""


@contextlib.contextmanager
def started(
    command: Sequence[str | Path],
    *,
    limit: float = LIMIT,
    cwd: Path | None = None,
    stdin: int | None = None,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """A process for the length of the block, which may wait for it and read from it without a limit of its own.

    After `limit` seconds the process is killed, with all that it has started: whoever waits goes on, and the test
    fails. The same befalls it where the block fails, or Python would wait for it there.
    """
    hangs = threading.Event()
    # In a session of its own: what it starts may hold its pipes open, and goes with it.
    process = subprocess.Popen(
        list(command), cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, env=env, start_new_session=True
    )

    def late() -> None:
        hangs.set()
        kill(process)

    timer = threading.Timer(limit, late)
    timer.start()
    try:
        with process:
            try:
                yield process
            except BaseException:
                kill(process)
                raise
    except Exception as error:
        if hangs.is_set():
            raise Hangs(f"killed after {limit:g} s: {' '.join(map(str, command))}") from error
        raise
    finally:
        timer.cancel()
    if hangs.is_set():
        raise Hangs(f"killed after {limit:g} s: {' '.join(map(str, command))}")


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session, and all that is left of that."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
