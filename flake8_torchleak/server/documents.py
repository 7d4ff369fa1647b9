"""What is open in the editor, saved or not: files, and the cells of notebooks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types
from pygls.uris import to_fs_path

from flake8_torchleak.finding import Span
from flake8_torchleak.server.moving import edits
from flake8_torchleak.server.positions import Lines, applied
from flake8_torchleak.shells.notebook import Notebook, read
from flake8_torchleak.source import Source


def path_of(uri: str) -> str:
    """The path of a file by its URI, without links in its folder; "" where it has none (it was never saved)."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    if not path:
        return ""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


@dataclass
class Document:
    """A file, or one cell of a notebook. version: the editor's count of its changes, if it counts."""

    uri: str
    text: str
    version: int | None = None

    def change(self, changes: Sequence[types.TextDocumentContentChangeEvent], version: int, encoding: str) -> None:
        """Take in what the editor says has changed."""
        self.text, self.version = applied(self.text, changes, encoding), version


class View:
    """A text to check as it was at one moment, and where its places are for the editor.

    version: of the file; None for a notebook, whose cells have their own.
    """

    notebook: Notebook | None = None

    def __init__(self, uri: str, text: str, encoding: str, version: int | None = None) -> None:
        self.uri, self.path, self.text, self.version = uri, path_of(uri), text, version
        self.encoding = encoding

    @cached_property
    def source(self) -> Source:
        """The text as the user knows it."""
        return Source(self.text)

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.source.lines, self.encoding)

    def uris(self) -> list[str]:
        """Of all that findings may be in."""
        return [self.uri]

    def location(self, span: Span) -> types.Location:
        """Where a span is."""
        return types.Location(self.uri, self._lines.range(span))

    def line(self, uri: str, line: int) -> int:
        """The 1-based line of the text for a 0-based one of what is open; 0 where there is none."""
        return line + 1

    def changes(self, text: str) -> dict[str, list[types.TextEdit]]:
        """What makes `text` of the own text, by URI. Raises SourceError where a notebook cannot hold it."""
        return _by_uri([(self.uri, self.text, text)], self.encoding)


class NotebookView(View):
    """The cells of a notebook as one text. cells: URI and text of each, None for one that is no code."""

    def __init__(self, uri: str, cells: Sequence[tuple[str, str | None]], encoding: str) -> None:
        """Raises SourceError where it is no notebook in Python."""
        content: list[dict[str, object]] = [
            {"cell_type": "markdown" if text is None else "code", "source": text or "", "metadata": {}}
            for _, text in cells
        ]
        self.notebook = read(json.dumps({"cells": content, "metadata": {}}).encode("utf-8", "surrogatepass"))
        assert self.notebook is not None  # without metadata it is in Python
        super().__init__(uri, self.notebook.text, encoding)
        self._cells = cells

    @cached_property
    def source(self) -> Source:
        assert self.notebook is not None
        return self.notebook.source(self.text)

    def uris(self) -> list[str]:
        return [uri for uri, _ in self._cells]

    def location(self, span: Span) -> types.Location:
        place, end = self.source.place(span.line), self.source.place(span.end_line)
        # A line of the text may stand for several of a cell: columns are those of the text.
        start = types.Position(place.line - 1, self._lines.position(span.line, span.col).character)
        stop = types.Position(end.line - 1, self._lines.position(span.end_line, span.end_col).character)
        return types.Location(self._cells[place.cell - 1][0], types.Range(start, stop))

    def line(self, uri: str, line: int) -> int:
        places = ((at, self.source.place(at)) for at in range(1, len(self.source.lines) + 1))
        return next((at for at, each in places if self._cells[each.cell - 1][0] == uri and each.line == line + 1), 0)

    def changes(self, text: str) -> dict[str, list[types.TextEdit]]:
        assert self.notebook is not None
        cells = json.loads(self.notebook.encoded(text))["cells"]
        # A notebook has its sources as texts or as lists of lines; what was written as a text stays one.
        pairs = ((uri, old or "", new["source"]) for (uri, old), new in zip(self._cells, cells))
        return _by_uri([each for each in pairs if each[1] != each[2]], self.encoding)


def _by_uri(texts: Iterable[tuple[str, str, str]], encoding: str) -> dict[str, list[types.TextEdit]]:
    """URI, old and new text of each -> the edits."""
    found = {}
    for uri, old, new in texts:
        lines = Lines.of(old, encoding)
        found[uri] = [types.TextEdit(lines.range(each.span), each.text) for each in edits(old, new)]
    return {uri: each for uri, each in found.items() if each}


class Documents:
    """All that is open."""

    def __init__(self) -> None:
        self.encoding = "utf-16"
        self.files: dict[str, Document] = {}
        self.notebooks: dict[str, list[types.NotebookCell]] = {}
        self.cells: dict[str, Document] = {}
        """The texts of the cells of all notebooks."""

    def view(self, uri: str) -> View | None:
        """What is to be checked under a URI: of a file, or of a notebook; None for what is not open (any more).

        Raises SourceError for a notebook that cannot be read.
        """
        if uri in self.files:
            return View(uri, self.files[uri].text, self.encoding, self.files[uri].version)
        if uri in self.notebooks:
            return NotebookView(uri, [self._cell(each) for each in self.notebooks[uri]], self.encoding)
        return None

    def _cell(self, cell: types.NotebookCell) -> tuple[str, str | None]:
        document = self.cells.get(cell.document)
        return cell.document, document.text if document and cell.kind is types.NotebookCellKind.Code else None

    def home(self, uri: str) -> str:
        """The URI under which something is checked: of a cell, its notebook's."""
        if uri not in self.cells:
            return uri
        return next((each for each, cells in self.notebooks.items() if any(c.document == uri for c in cells)), uri)

    def uris(self) -> list[str]:
        """All that is to be checked."""
        return [*self.files, *self.notebooks]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Path and text of each file that has a path."""
        for uri, document in self.files.items():
            path = path_of(uri)
            if path:
                yield path, document.text

    def put_cell(self, cell: types.TextDocumentItem) -> None:
        """Take in the text of a new cell; of one in another language there is none for us."""
        text = cell.text if cell.language_id == "python" else ""
        self.cells[cell.uri] = Document(cell.uri, text, cell.version)

    def edit_cells(self, uri: str, change: types.NotebookDocumentCellChanges) -> None:
        """Take in what has changed in the cells of a notebook."""
        if change.structure is not None:
            array = change.structure.array
            self.notebooks[uri][array.start : array.start + array.delete_count] = array.cells or []
            for each in change.structure.did_open or []:
                self.put_cell(each)
            for gone in change.structure.did_close or []:
                self.cells.pop(gone.uri, None)
        for new in change.data or []:
            kept = (new if each.document == new.document else each for each in self.notebooks[uri])
            self.notebooks[uri] = list(kept)
        for text in change.text_content or []:
            self.cells[text.document.uri].change(text.changes, text.document.version, self.encoding)
