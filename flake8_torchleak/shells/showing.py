"""The files that a run would check: `--show-files`, and what `--watch` looks at."""

from __future__ import annotations

import errno
import os
import sys

from flake8_torchleak.shells.files import python_files
from flake8_torchleak.shells.run import Complaints
from flake8_torchleak.shells.texts import Inputs
from flake8_torchleak.wording import leading


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
