"""`--output-file`: a report takes the place of a file in one step, so that nobody reads half of one."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from flake8_torchleak.config import ConfigError

_SOURCES = (".py", ".pyi", ".ipynb")


@contextmanager
def replacing(path: str) -> Iterator[TextIO]:
    """A stream whose text becomes the content of `path`, as UTF-8, when the block ends; not if it raises.

    Permissions are kept, and a symbolic link stays one. A device or pipe is written to as it is. Raises ConfigError,
    one line, before the block where nothing can be written there, and after it where that fails all the same.
    """
    if any(each.lower().endswith(_SOURCES) for each in (path, os.path.realpath(path))):
        raise ConfigError(f"--output-file: {path}: is a source file, which the report would replace")
    text = io.StringIO(newline="")
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        yield text
        with _failing(path), open(path, "wb") as file:
            file.write(_encoded(text))
        return
    real = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(real), f".torchleak-{os.urandom(6).hex()}.tmp")
    try:
        with _failing(path):
            mode = _mode(real)
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield text
        with _failing(path):
            with open(temporary, "wb") as file:
                file.write(_encoded(text))
            os.chmod(temporary, mode)
            os.replace(temporary, real)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(real: str) -> int:
    """The permissions of the file to replace, or of a new one. Raises OSError if it may not be written."""
    if not os.path.exists(real):
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
    # Renaming needs no right to write the file itself.
    os.close(os.open(real, os.O_WRONLY))
    return stat.S_IMODE(os.stat(real).st_mode)


def _encoded(text: io.StringIO) -> bytes:
    # File names need not be text.
    return text.getvalue().encode("utf-8", "backslashreplace")


@contextmanager
def _failing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(f"--output-file: {path}: {error.strerror or error}") from error
