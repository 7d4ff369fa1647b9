"""The files of a run as they are read, and what is said of those that cannot be."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from flake8_torchleak.shells import files
from flake8_torchleak.shells.globs import Globs
from flake8_torchleak.source import SourceError, decode

T = TypeVar("T")


class Complain(Protocol):
    """Told of each file that cannot be read, parsed or written."""

    def __call__(self, text: str, path: str = "", line: int = 0) -> None:
        """text: one line that names the place; path and (if not 0) 1-based line: that place, for programs."""


@dataclass(frozen=True, slots=True)
class File:
    """One file as it was read. path: what to call it; place: where it is ("-" for stdin and stdout)."""

    path: str
    place: str
    raw: bytes
    text: str


class Inputs(NamedTuple):
    """What a run reads. paths: files and folders ("-" is stdin, to be called stdin_filename).

    excluded: what is left out of folders; force: and where it is named, too.
    """

    paths: tuple[str, ...]
    stdin_filename: str
    excluded: Globs
    force: bool = False


def texts(inputs: Inputs, complain: Complain) -> Iterator[File]:
    """Each file that can be read and decoded; the others are complained of."""
    for path in files.python_files(inputs.paths, complain, inputs.excluded, inputs.force):
        name = inputs.stdin_filename if path == "-" else path
        try:
            if path == "-":
                raw = sys.stdin.buffer.read()
            else:
                with open(path, "rb") as file:
                    raw = file.read()
            yield File(name, path, raw, decode(raw))
        except OSError as error:
            complain(f"{path}: {error.strerror or error}", name)
        except SourceError as error:
            complain(f"{name}: {error}", name)


def parsing(path: str, complain: Complain, work: Callable[[], T]) -> T | None:
    """What `work` gives; None, and a complaint, if the text that it parses does not parse."""
    try:
        return work()
    except SyntaxError as error:
        place = f"{path}:{error.lineno}:{error.offset or 1}" if error.lineno else path
        complain(f"{place}: syntax error: {error.msg}", path, error.lineno or 0)
    except ValueError as error:
        complain(f"{path}: {error}", path)
    return None
