"""The files that a run would check: `--show-files`, `--files-from`, and what `--watch` looks at."""

from __future__ import annotations

import errno
import os
import sys

from flake8_torchleak.config import ConfigError
from flake8_torchleak.disk import read
from flake8_torchleak.shells.files import python_files
from flake8_torchleak.shells.run import Complaints
from flake8_torchleak.shells.texts import Inputs
from flake8_torchleak.wording import leading


def listed(name: str) -> list[str]:
    """The files that a list names, one a line, or ended by NUL as `git diff -z` has them; "-" is stdin.

    Raises ConfigError, one line, where it cannot be read.
    """
    try:
        raw = sys.stdin.buffer.read() if name == "-" else read(name)
    except OSError as error:
        raise ConfigError(f"--files-from: {name}: {error.strerror or error}") from None
    lines = raw.split(b"\0") if b"\0" in raw else raw.splitlines()
    return [os.fsdecode(line) for line in lines if line.strip()]


def files(inputs: Inputs, complain: Complaints | None = None) -> list[str]:
    """The files in order. complain: told of what cannot be listed."""
    return list(python_files(inputs.paths, complain or (lambda text: None), inputs.excluded, inputs.force))


def print_files(inputs: Inputs) -> int:
    """Print the files, one a line, and return the exit status: 2 where something cannot be listed."""
    complain = Complaints()
    for path in files(inputs, complain):
        if path != "-" and not os.path.lexists(path):
            complain(f"{path}: {os.strerror(errno.ENOENT)}", path)
            continue
        sys.stdout.write(f"{leading(inputs.stdin_filename if path == '-' else path)}\n")
    return 2 if complain.made else 0
