"""Which message does what. `serve` is `torchleak server`."""

from __future__ import annotations

import logging
import sys
from typing import BinaryIO

from lsprotocol import types

from flake8_torchleak.server.answers import EXPLAIN, FIX_ALL
from flake8_torchleak.server.collecting import take_over
from flake8_torchleak.server.documents import Document
from flake8_torchleak.server.editor import Server

CHECK_ALL = "torchleak.checkWorkspace"


def build() -> Server:
    """A server, with what it does at each message."""
    server = Server()
    feature = server.feature

    @feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.begin(params)

    @feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        await server.ready()

    @feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.session.end()

    @feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.session.documents.files[document.uri] = Document(document.uri, document.text, document.version)
        server.session.opened(document.uri)

    @feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        documents, where = server.session.documents, params.text_document
        if where.uri in documents.files:
            documents.files[where.uri].change(params.content_changes, where.version, documents.encoding)
            server.session.edited(where.uri)

    @feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        if params.text_document.uri in server.session.documents.files:
            server.session.saved(params.text_document.uri)

    @feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        if server.session.documents.files.pop(params.text_document.uri, None) is not None:
            server.session.closed(params.text_document.uri)

    @feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def notebook_opened(params: types.DidOpenNotebookDocumentParams) -> None:
        notebook, documents = params.notebook_document, server.session.documents
        documents.notebooks[notebook.uri] = list(notebook.cells)
        for each in params.cell_text_documents:
            documents.put_cell(each)
        server.session.opened(notebook.uri)

    @feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_changed(params: types.DidChangeNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        if uri in server.session.documents.notebooks and params.change.cells is not None:
            server.session.documents.edit_cells(uri, params.change.cells)
            server.session.edited(uri)

    @feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def notebook_saved(params: types.DidSaveNotebookDocumentParams) -> None:
        if params.notebook_document.uri in server.session.documents.notebooks:
            server.session.saved(params.notebook_document.uri)

    @feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_closed(params: types.DidCloseNotebookDocumentParams) -> None:
        documents = server.session.documents
        for each in params.cell_text_documents:
            documents.cells.pop(each.uri, None)
        if documents.notebooks.pop(params.notebook_document.uri, None) is not None:
            server.session.closed(params.notebook_document.uri)

    @feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: types.DidChangeWatchedFilesParams) -> None:
        server.session.look()

    @feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: types.DidChangeConfigurationParams) -> None:
        await server.pull(params.settings)

    @feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        await server.moved_folders(params.event)

    kinds = [types.CodeActionKind.QuickFix, FIX_ALL]

    @feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(kinds, resolve_provider=True))
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return await server.actions(params)

    @feature(types.CODE_ACTION_RESOLVE)
    async def resolve(params: types.CodeAction) -> types.CodeAction:
        return await server.resolve(params)

    @feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        return await server.hover(params)

    @server.command(EXPLAIN)
    def explain(code: str) -> str:
        return server.explain(code)

    @server.command(CHECK_ALL)
    async def check_workspace() -> str:
        return await server.check_all()

    return server


def serve(stdin: BinaryIO | None = None, stdout: BinaryIO | None = None) -> None:
    """Serve an editor on stdin and stdout, until it leaves."""
    stdin, stdout = stdin or sys.stdin.buffer, stdout or sys.stdout.buffer
    # What pygls merely wonders about (an answer that was cancelled too late) editors would log as an error.
    logging.getLogger("pygls").setLevel(logging.ERROR)
    # Whatever prints must not get in between.
    sys.stdout = sys.stderr
    take_over()
    build().start_io(stdin, stdout)
