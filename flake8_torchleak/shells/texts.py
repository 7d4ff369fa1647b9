"""The files of a run as they are read, and what is said of those that cannot be."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from flake8_torchleak.shells import files
from flake8_torchleak.source import Source, SourceError, decode, encode

if TYPE_CHECKING:
    from flake8_torchleak.shells.notebook import Notebook

T = TypeVar("T")

Complain = Callable[[str], None]
"""Told one line for each file that cannot be read, parsed or written."""


@dataclass(frozen=True, slots=True)
class File:
    """One file as it was read.

    path: what to call it; place: where it is ("-" for stdin and stdout); text: its Python, of a notebook as one module.
    """

    path: str
    place: str
    raw: bytes
    text: str
    notebook: Notebook | None = None

    def encoded(self, text: str) -> bytes:
        """The file with `text`, which has grown from its own.

        Raises UnicodeEncodeError for characters that its encoding lacks, SourceError where a notebook cannot hold it.
        """
        return encode(text, self.raw) if self.notebook is None else self.notebook.encoded(text)

    def source(self, text: str) -> Source:
        """`text`, which has grown from its own, as the user knows it."""
        return Source(text) if self.notebook is None else self.notebook.source(text)


def texts(
    paths: Iterable[str], stdin_filename: str, complain: Complain, unread: Callable[[bytes], None]
) -> Iterator[File]:
    """Each file that can be read and decoded; the others are complained of.

    unread: told what came on stdin if it is no such file.
    """
    for path in files.python_files(paths, complain):
        name = stdin_filename if path == "-" else path
        raw, file = b"", None
        try:
            if path == "-":
                raw = sys.stdin.buffer.read()
            else:
                with open(path, "rb") as stream:
                    raw = stream.read()
            file = _file(name, path, raw)
        except OSError as error:
            complain(f"{path}: {error.strerror or error}")
        except SourceError as error:
            complain(f"{name}: {error}")
        if file is not None:
            yield file
        elif path == "-":
            unread(raw)


def _file(name: str, place: str, raw: bytes) -> File | None:
    """A file by its name and content; None for a notebook in another language. Raises SourceError."""
    if not name.endswith(".ipynb"):
        return File(name, place, raw, decode(raw))
    from flake8_torchleak.shells.notebook import read

    notebook = read(raw)
    return None if notebook is None else File(name, place, raw, notebook.text, notebook)


def parsing(path: str, complain: Complain, work: Callable[[], T]) -> T | None:
    """What `work` gives; None, and a complaint, if the text that it parses does not parse."""
    try:
        return work()
    except SyntaxError as error:
        place = f"{path}:{error.lineno}:{error.offset or 1}" if error.lineno else path
        complain(f"{place}: syntax error: {error.msg}")
    except ValueError as error:
        complain(f"{path}: {error}")
    return None
