"""The files of a run as they are read, and what is said of those that cannot be."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from flake8_torchleak.disk import read
from flake8_torchleak.shells import files
from flake8_torchleak.shells.globs import Globs
from flake8_torchleak.shells.process import Unwritable
from flake8_torchleak.source import Source, SourceError, decode, encode
from flake8_torchleak.wording import trouble

if TYPE_CHECKING:
    from flake8_torchleak.shells.notebook import Notebook

T = TypeVar("T")


class Complain(Protocol):
    """Told of each file that cannot be read, parsed or written."""

    def __call__(self, text: str, path: str = "", line: int = 0) -> None:
        """text: one line that names the place; path and (if not 0) 1-based line: that place, for programs."""


@dataclass(frozen=True, slots=True)
class File:
    """One file as it was read.

    path: what to call it; place: where it is ("-" for stdin and stdout); text: its Python, of a notebook as one module.
    is_read: it was: else nothing but its place is known.
    """

    path: str
    place: str
    raw: bytes
    text: str
    notebook: Notebook | None = None
    is_read: bool = True

    def encoded(self, text: str) -> bytes:
        """The file with `text`, which has grown from its own.

        Raises UnicodeEncodeError for characters that its encoding lacks, SourceError where a notebook cannot hold it.
        """
        return encode(text, self.raw) if self.notebook is None else self.notebook.encoded(text)

    def source(self, text: str) -> Source:
        """`text`, which has grown from its own, as the user knows it."""
        return Source(text) if self.notebook is None else self.notebook.source(text)


class Inputs(NamedTuple):
    """What a run reads. paths: files and folders ("-" is stdin, to be called stdin_filename).

    excluded: what is left out of folders; force: and where it is named, too.
    """

    paths: tuple[str, ...]
    stdin_filename: str
    excluded: Globs
    force: bool = False


def listed(inputs: Inputs, complain: Complain) -> list[str]:
    """The files that a run reads; what cannot be listed is complained of."""
    return list(files.python_files(inputs.paths, complain, inputs.excluded, inputs.force))


def texts(
    paths: Iterable[str],
    stdin_filename: str,
    complain: Complain,
    unread: Callable[[bytes], None],
    is_clean: Callable[[str], bool],
) -> Iterator[File]:
    """Each file that can be read and decoded; the others are complained of.

    unread: told what came on stdin if it is no such file. is_clean: whether a file need not be read: it comes without
    its text.
    """
    for path in paths:
        name = stdin_filename if path == "-" else path
        if path != "-" and is_clean(path):
            yield File(path, path, b"", "", is_read=False)
            continue
        raw, file = b"", None
        try:
            if path == "-":
                raw = sys.stdin.buffer.read()
            else:
                raw = read(path)
            file = guarded(name, complain, partial(made, name, path, raw))
        except OSError as error:
            complain(f"{path}: {error.strerror or error}", name)
        except SourceError as error:
            complain(f"{name}: {error}", name)
        if file is not None:
            yield file
        elif path == "-":
            unread(raw)


def made(name: str, place: str, raw: bytes) -> File | None:
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
        complain(f"{place}: syntax error: {error.msg}", path, error.lineno or 0)
    return None


def guarded(name: str, complain: Complain, work: Callable[[], T]) -> T | None:
    """What `work` on a file gives; None, and a complaint, where it meets what nobody foresaw: the others go on.

    Only that what is printed can no longer be written ends the run.
    """
    try:
        return work()
    except (SourceError, BrokenPipeError, Unwritable):
        raise
    except Exception as error:
        from flake8_torchleak import lint  # with all rules: the most there is to import

        if lint.reraise:
            raise
        complain(f"{name}: internal error: {trouble(error)}", name)
    return None
