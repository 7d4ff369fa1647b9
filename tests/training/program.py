"""A training program as the generator makes it: a few files, and what it is an example of."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flake8_torchleak.model.importers import forget

ENTRY = "train.py"
"""The file that is run; the others are what it imports."""

Files = Mapping[str, str]
"""Texts by path, relative to the program's folder."""


@dataclass(frozen=True)
class Program:
    """One small training program.

    construct: what it was made for; tags: all that it holds (its construct among them), for the counts by construct.
    escape: who differentiates, edits or looks at what is kept, by name; empty where nobody does.
    meant: what its author meant, where that is not what it does: the same program without the accident (a Dataset
    whose stored elements are edited); a fixed program may do either.
    holders: how many keep what the steps make: where there are several, one fix need not end what is kept.
    cell: the choices that were made, by question (`holder`, `kind`, `form`, `loop`, `ending`), for tables.
    """

    files: Files
    construct: str
    tags: frozenset[str]
    escape: str = ""
    meant: tuple[Files, ...] = ()
    holders: int = 1
    cell: Mapping[str, str] = field(default_factory=dict)

    @property
    def looks(self) -> bool:
        """Whether the escape is but a look: at identity, history or shared memory, with which nothing is computed."""
        return self.escape.endswith(_LOOKS)

    @property
    def text(self) -> str:
        """All files, one after the other, each under its name."""
        return joined(self.files)


def joined(files: Files) -> str:
    """All files as one text that `split` takes apart again; the text of one file is that text."""
    if list(files) == [ENTRY]:
        return files[ENTRY]
    return "".join(f"{_MARK}{path}\n{text}" for path, text in files.items())


def split(text: str) -> dict[str, str]:
    """The files of a text that `joined` made."""
    if not text.startswith(_MARK):
        return {ENTRY: text}
    parts = [each.partition("\n") for each in text.split(_MARK)[1:]]
    return {path: rest for path, _, rest in parts}


@contextmanager
def on_disk(files: Files) -> Iterator[Path]:
    """A project of its own: what is read of other files comes from here."""
    with tempfile.TemporaryDirectory(prefix="training-") as name:
        folder = Path(name)
        (folder / "pyproject.toml").touch()
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        forget()
        try:
            yield folder
        finally:
            forget()


_LOOKS = ("looked", "identity", "caught", "shares memory", "pointer", "base", "exchange", "pop")

_MARK = "# file: "
