"""Source text: how it is read from disk, split into lines, and how columns are counted.

Python's `ast` counts columns in UTF-8 bytes; people, flake8 and our findings count code points.
"""

from __future__ import annotations

import ast
import codecs
import io
import symtable
import tokenize
import warnings
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

NAMES = (".py", ".ipynb")
"""How the names of files end that hold Python."""
_OF_NAMES = frozenset({"punycode", "idna"})
"""Encodings of host names: they take the square of the time, and no text of more than a label."""


class SourceError(Exception):
    """The text cannot be read as Python source; the message is one line for the user."""


def decode(raw: bytes) -> str:
    """Bytes of a Python file to text, by its BOM or coding line; newlines are kept as they are.

    Raises SourceError when the encoding is unknown, is none of files, or does not fit.
    """
    try:
        encoding = _encoding(raw)
        if codecs.lookup(encoding).name in _OF_NAMES:
            raise LookupError(f"{encoding} is not an encoding of files")
        return raw.decode(encoding)
    except Exception as error:  # A codec may raise what it likes, and some do.
        raise SourceError(f"cannot decode: {' '.join(str(error).split())}") from error


def encode(text: str, raw: bytes) -> bytes:
    """Text of a Python file to bytes, in the encoding (and with the BOM) of the bytes that it was decoded from.

    Raises UnicodeEncodeError for characters that this encoding does not have.
    """
    return text.encode(_encoding(raw))


def _encoding(raw: bytes) -> str:
    """By BOM or coding line. Raises SyntaxError for one that is unknown."""
    return tokenize.detect_encoding(io.BytesIO(raw).readline)[0]


def parse(text: str) -> ast.Module:
    """`ast.parse` without its warnings: they are about the linted code, and errors under `-W error`.

    Raises SyntaxError, also for code too deeply nested to parse and for what is no text (NUL bytes, half characters).
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (RecursionError, MemoryError) as error:
            raise SyntaxError(f"too deeply nested to parse: {type(error).__name__}") from error
        except ValueError as error:
            raise SyntaxError(str(error)) from error


def must_parse(text: str) -> None:
    """Raise what `parse` would, in three quarters of its time: of a text that parses no tree is made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(Exception):
            symtable.symtable(text, "<text>", "exec")
            return
    parse(text)  # its names may be what is wrong, which a tree does not mind


class Place(NamedTuple):
    """Where a line of a text stands for the user: itself, or, in a notebook, a line of a cell (1-based; else 0)."""

    line: int
    cell: int = 0

    def __str__(self) -> str:
        """As in a path: `12`, or `cell 3:12`."""
        return f"cell {self.cell}:{self.line}" if self.cell else str(self.line)

    @property
    def words(self) -> str:
        """As in a sentence: `line 12`, or `cell 3, line 12`."""
        return f"cell {self.cell}, line {self.line}" if self.cell else f"line {self.line}"


class Source:
    """One module's text with its lines.

    `lines` are split the way `ast` counts them (\\n, \\r\\n and \\r end a line; form feeds do not), ends kept.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """The physical lines, with their ends."""
        return io.StringIO(self.text, newline="").readlines()

    @cached_property
    def is_ascii(self) -> bool:
        """Whether byte and code-point columns are the same everywhere."""
        return self.text.isascii()

    def place(self, line: int) -> Place:
        """Where a 1-based line stands for the user."""
        return Place(line)

    def column(self, line: int, byte_column: int) -> int:
        """Code-point column of `ast`'s byte column in the 1-based `line`."""
        if self.is_ascii or line > len(self.lines):
            return byte_column
        text = self.lines[line - 1]
        if text.isascii():
            return byte_column
        return len(text.encode("utf-8")[:byte_column].decode("utf-8", "replace"))
