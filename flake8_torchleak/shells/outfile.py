"""`--output-file`: a report takes the place of a file in one step, so that nobody reads half of one."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from flake8_torchleak.config import ConfigError
from flake8_torchleak.fixing.write import WriteError, check, put

_SOURCES = (".py", ".pyi", ".ipynb")
_SYSTEM = ("/dev", "/dev/fd", "/proc/self/fd")
"""The folders of the system's own devices and open pipes: no checkout brings these."""


def writable(path: str, option: str = "--output-file") -> None:
    """Raise ConfigError, one line, where `replacing` could not write: nothing is changed."""
    if path.lower().endswith(_SOURCES):
        raise ConfigError(f"{option}: {path}: is a source file, which the report would replace")
    real = _of_system(path)
    if not real or os.path.isfile(real):
        with _failing(path, option):
            check(real or path)


@contextmanager
def replacing(path: str, option: str = "--output-file") -> Iterator[TextIO]:
    """A stream whose text becomes the content of `path`, as UTF-8, when the block ends; not if it raises.

    Permissions are kept. The system's own devices are written to as they are (`/dev/stdout`). Raises ConfigError, one
    line, before the block where nothing can be written there, and after it where that fails all the same.
    """
    writable(path, option)
    text = io.StringIO(newline="")
    real = _of_system(path)
    if real and not os.path.isfile(real):
        yield text
        with _failing(path, option), open(real, "wb") as file:
            file.write(_encoded(text))
        return
    yield text
    with _failing(path, option):
        put(real or path, _encoded(text))


def _of_system(path: str) -> str:
    """What a name of the system's own stands for; empty for any other."""
    if os.path.dirname(os.path.abspath(path)) not in _SYSTEM or not os.path.exists(path) or os.path.isdir(path):
        return ""
    real = os.path.realpath(path)
    return real if os.path.exists(real) else path  # an open pipe has a name that leads nowhere


def _encoded(text: io.StringIO) -> bytes:
    # File names need not be text.
    return text.getvalue().encode("utf-8", "backslashreplace")


@contextmanager
def _failing(path: str, option: str) -> Iterator[None]:
    try:
        yield
    except (OSError, WriteError) as error:
        raise ConfigError(f"{option}: {path}: {getattr(error, 'strerror', None) or error}") from error
