"""Jupyter notebooks: their code cells as the text of one module, and that text, fixed, as the bytes of a notebook.

In the text each cell stands below a comment of our own, so that whatever a fix inserts is known to end one cell or to
begin the next. What only IPython understands (`magics.py`) is replaced by a line of Python that carries a `# noqa`,
so that no fix touches it, and is put back untouched. Cells count from 1 among all cells, those of text included, as
in ruff; lines count from 1 in each cell.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flake8_torchleak.shells import jsontext, magics
from flake8_torchleak.source import Place, Source, SourceError, parse

_Marks = dict[str, tuple[int, Sequence[str]]]
"""Lines of the text that are ours: the number of the cell that one begins, or 0, and the lines that it stands for."""


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook that was read.

    text: its Python cells as one module; words: all of its Python; broken: place and error of each cell that does not
    parse, which is left out of `text`.
    """

    text: str
    words: str
    broken: tuple[str, ...]
    _document: str
    _cells: Mapping[int, str]
    _marks: _Marks

    def source(self, text: str) -> Source:
        """`text`, which has grown from the notebook's, as the user knows it: with its magics, line by line in cells."""
        places: list[Place] = []
        lines: list[str] = []
        cell = number = 0
        for line in Source(text).lines:
            begun, original = self._marks.get(line, (0, (line,)))
            # What a fix inserts in front of the line that begins a cell ends the cell before.
            places.append(Place(number, cell) if cell else Place(len(original) + 1, begun))
            lines.append(original[0] if original else "")
            if begun:
                cell, number = begun, 1
            number += len(original)
        return _Cells(text, lines, [*places, Place(number, cell)])

    def encoded(self, text: str) -> bytes:
        """The notebook with the cells of `text`, which has grown from its own; what has not changed keeps its bytes.

        Raises SourceError if `text` does not hold what stands for magics as it was.
        """
        cells: dict[int, list[str]] = {}
        cell, ours = 0, []
        for line in Source(text).lines:
            begun, original = self._marks.get(line, (0, (line,)))
            cell = begun or cell
            cells.setdefault(cell, []).extend(original)
            ours += [line] * (line in self._marks)
        if 0 in cells or ours != list(self._marks):
            raise SourceError("a fix would change what only IPython understands; left alone")
        document = self._document
        new = {number: _ended("".join(own), self._cells[number]) for number, own in cells.items()}
        changed = [number for number, source in new.items() if source != self._cells[number]]
        places = jsontext.sources(document) if changed else {}
        for number in reversed(changed):
            start, end = places[number - 1]
            document = document[:start] + jsontext.changed(document[start:end], new[number]) + document[end:]
        return document.encode()


class _Cells(Source):
    """Lines, and the places of these and of what follows them."""

    def __init__(self, text: str, lines: list[str], places: Sequence[Place]) -> None:
        super().__init__(text)
        self.lines = lines
        self._places = places

    def place(self, line: int) -> Place:
        return self._places[line - 1]


def read(raw: bytes) -> Notebook | None:
    """The notebook in the bytes of a file; None if it is in another language than Python.

    Raises SourceError, one line, for what is no notebook.
    """
    document, content = _loaded(raw)
    if not _is_python(content.get("metadata")):
        return None
    cells = {number: source for number, cell in enumerate(content["cells"], 1) if (source := _code(cell)).strip()}
    words = "".join(cells.values())
    name = "~cell"
    while name in words:
        name += "~"
    end = "\r\n" if "\r\n" in words else "\n"
    text, broken, marks = "", [], _Marks()
    for number, source in cells.items():
        cell = _Cell(number, Source(source if source.endswith(("\n", "\r")) else source + end).lines, name, end)
        if cell.error:
            broken.append(cell.error)
        else:
            text += cell.text
            marks |= cell.marks
    return Notebook(text, words, tuple(broken), document, cells, marks)


class _Cell:
    """One cell as a part of the text, with its lines that are ours; or, where it does not parse, place and error.

    name: what no cell contains.
    """

    def __init__(self, number: int, lines: Sequence[str], name: str, end: str) -> None:
        self.text, self.error = "", ""
        self.marks = _Marks()
        taken = magics.head(lines)
        if taken is None:
            return
        heading = f"# {name}{number}{end}"
        parts: list[tuple[str, Sequence[str]]] = [(line, (line,)) for line in lines[taken:]]
        error = _error(heading, parts)
        if error is not None:
            parts = []
            for python, original in magics.split(lines[taken:]):
                if python is None:
                    parts += [(line, (line,)) for line in original]
                else:
                    parts.append((f"{python}  # noqa {name}{number}.{len(parts)}{end}", original))
            error = _error(heading, parts)
        if error is not None and "".join(lines[taken:]).lstrip("\r\n")[:1].isspace():
            heading = f"if 1:  {heading}"  # IPython takes away the indentation of a whole cell
            error = _error(heading, parts)
        if error is None:
            self.text = heading + "".join(line for line, _ in parts)
            self.marks = {heading: (number, lines[:taken])}
            self.marks.update((line, (0, original)) for line, original in parts if (line,) != original)
        else:
            at = error.lineno or 2
            line = 1 + taken + sum(len(original) for _, original in parts[: max(at - 2, 0)])
            self.error = f"cell {number}:{line}:{error.offset or 1}: syntax error: {error.msg}"


def _error(heading: str, parts: Sequence[tuple[str, Sequence[str]]]) -> SyntaxError | None:
    """What keeps the lines below a heading from being Python."""
    try:
        parse(heading + "".join(line for line, _ in parts))
    except SyntaxError as error:
        return error
    return None


def _loaded(raw: bytes) -> tuple[str, dict[str, Any]]:
    """A notebook's text, and what it holds: an object with a list of cells. Raises SourceError."""
    if raw.startswith(codecs.BOM_UTF8):
        raise SourceError("not a notebook: JSON begins with no byte order mark")
    try:
        document = raw.decode()
        content = json.loads(document)
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot decode: {error}") from error
    except (ValueError, RecursionError) as error:
        raise SourceError(f"not a notebook: {error}") from error
    if isinstance(content, dict) and isinstance(content.get("cells"), list):
        return document, content
    if isinstance(content, dict) and "worksheets" in content:
        raise SourceError("a notebook of nbformat 3 or older; `jupyter nbconvert --to notebook` makes a new one of it")
    raise SourceError("not a notebook: it has no list of cells")


def _is_python(metadata: object) -> bool:
    """Whether a notebook's metadata name no other language."""
    found = [_inside(metadata, "kernelspec", "language"), _inside(metadata, "language_info", "name")]
    return all("python" in name.lower() for name in found if isinstance(name, str))


def _code(cell: object) -> str:
    """The source of a cell; empty if it is no code, has none, or is in another language (as editors note it)."""
    language = _inside(cell, "metadata", "vscode", "languageId")
    if _inside(cell, "cell_type") != "code" or language not in (None, "python"):
        return ""
    source = _inside(cell, "source")
    parts = source if isinstance(source, list) else [source]
    strings = [part for part in parts if isinstance(part, str)]
    return "".join(strings) if len(strings) == len(parts) else ""


def _inside(value: object, *names: str) -> object:
    """What a path of names leads to; None where it leads nowhere."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _ended(source: str, old: str) -> str:
    """`source`, which ends a line, ending as `old` does."""
    return source if old.endswith(("\n", "\r")) else source.removesuffix("\n").removesuffix("\r")
