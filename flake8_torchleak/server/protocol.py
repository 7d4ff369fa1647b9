"""The protocol as we speak it: pygls, but for the texts, which are ours alone."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from lsprotocol import types
from pygls.protocol import LanguageServerProtocol, lsp_method

NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [
        types.NotebookDocumentFilterWithNotebook(
            notebook=types.NotebookDocumentFilterNotebookType("jupyter-notebook"),
            cells=[types.NotebookCellLanguage("python")],
        )
    ],
    save=True,
)


def _handed_on(method: str) -> Callable[..., Generator[Any, Any, None]]:
    @lsp_method(method)
    def handler(self: LanguageServerProtocol, params: object) -> Generator[Any, Any, None]:
        yield self.fm.features[method], (params,), None

    return handler


class Protocol(LanguageServerProtocol):
    """Texts are ours alone: pygls would keep them too, and takes a form feed for the end of a line."""

    opened = _handed_on(types.TEXT_DOCUMENT_DID_OPEN)
    changed = _handed_on(types.TEXT_DOCUMENT_DID_CHANGE)
    closed = _handed_on(types.TEXT_DOCUMENT_DID_CLOSE)
    notebook_opened = _handed_on(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    notebook_changed = _handed_on(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    notebook_closed = _handed_on(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
