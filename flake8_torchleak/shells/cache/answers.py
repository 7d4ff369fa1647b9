"""Kinds of questions about files, folders and tables, and their answers in short."""

from __future__ import annotations

from collections.abc import Sequence

from flake8_torchleak.model.reading import Reader
from flake8_torchleak.model.signs import digest

OF_FILES = frozenset({"text", "imports", "holds"})
"""Kinds of questions about a file."""
OF_FOLDERS = frozenset({"names", "has"})
"""Kinds about a folder."""
ALONE = frozenset({"real", "is_folder"})
"""Kinds about a path, that cost no more than to see whether anything is new."""


def is_of_place(kind: str) -> bool:
    """Whether a question is about a file or folder, and not for a row of a table."""
    return kind in OF_FILES or kind in OF_FOLDERS or kind in ALONE


def mark_of(reader: Reader, kind: str, path: str, rest: Sequence[str]) -> str:
    """The answer to a question, in short."""
    if kind == "text":
        return reader.files[path].digest  # it has been looked at for what the question belongs to
    if kind == "names":
        return reader.folders[path].digest
    if kind == "imports":
        if path not in reader.marks:
            reader.imports(path)
        return reader.marks[path]
    if kind == "real":
        real = reader.real(path)
        return "" if real == path else real
    if kind == "holds":
        (word,) = rest
        return "y" if reader.holds(path, word) else ""
    if kind == "has":
        (name,) = rest
        return "y" if reader.has(path, name) else ""
    return "y" if reader.is_folder(path) else ""


def row_of(reader: Reader, name: str, arguments: Sequence[str], rest: Sequence[str]) -> str:
    """A row of a table, in short. Raises ValueError for a table that there is not."""
    from flake8_torchleak.model.tables import TABLES

    make = TABLES.get(name)
    if make is None:
        raise ValueError(f"no table {name!r:.80}")
    top, marked = arguments
    (key,) = rest
    row = reader.row(make, (top, marked), key)
    return "-" if row is None else digest("\0".join(row))
