"""The protocol as we speak it: pygls, but for the texts, which are ours alone."""

from __future__ import annotations

from collections.abc import Callable

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


def _handed_on(method: str) -> Callable[..., None]:
    @lsp_method(method)
    def handler(self: LanguageServerProtocol, params: object) -> None:
        self.fm.features[method](params)

    return handler


class Protocol(LanguageServerProtocol):
    """Texts are ours alone: pygls would keep them too, and takes a form feed for the end of a line.

    Its own handlers of the same names are replaced. They are generators, of each of which pygls 2.1 keeps a Future for
    good: one for every keystroke.
    """

    lsp_text_document__did_open = _handed_on(types.TEXT_DOCUMENT_DID_OPEN)
    lsp_text_document__did_change = _handed_on(types.TEXT_DOCUMENT_DID_CHANGE)
    lsp_text_document__did_close = _handed_on(types.TEXT_DOCUMENT_DID_CLOSE)
    lsp_notebook_document__did_open = _handed_on(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    lsp_notebook_document__did_change = _handed_on(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    lsp_notebook_document__did_close = _handed_on(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
