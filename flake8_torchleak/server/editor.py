"""The server: one editor, what it is able to do, and the answers to its questions."""

from __future__ import annotations

from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.lsp.server import LanguageServer

from flake8_torchleak import __version__
from flake8_torchleak.addresses import SITE, rule_page
from flake8_torchleak.config import ConfigError
from flake8_torchleak.server.answers import Able, Asked
from flake8_torchleak.server.diagnostics import Shown, moved
from flake8_torchleak.server.documents import path_of
from flake8_torchleak.server.everything import check_all
from flake8_torchleak.server.explaining import short_form
from flake8_torchleak.server.policies import Wishes, plain
from flake8_torchleak.server.protocol import NOTEBOOKS, Protocol
from flake8_torchleak.server.session import Session
from flake8_torchleak.server.worker import Urgency

_WATCHED = ("**/*.py", "**/pyproject.toml")


class Server(LanguageServer):
    """The server, before and after it knows its editor."""

    session: Session

    def __init__(self) -> None:
        super().__init__("torchleak", __version__, notebook_document_sync=NOTEBOOKS, protocol_cls=Protocol)
        self.able = Able()
        self._pulls = False
        self._wishes: dict[str, Wishes] = {}
        self._folders: list[tuple[str, str]] = []
        """URI and path of each workspace folder."""

    def report_server_error(self, error: Exception, source: object) -> None:
        """What goes wrong is said once, and the server goes on."""
        if hasattr(self, "session"):
            self.session.tell(f"internal error: {' '.join(str(error).split())}")

    # -- What the session says --------------------------------------------------------------------------------

    def publish(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def say(self, text: str) -> None:
        self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"torchleak: {text}"))

    # -- Begin ------------------------------------------------------------------------------------------------

    def begin(self, params: types.InitializeParams) -> None:
        """Take in what the editor is able to do, and what it says."""
        self.session = Session(self)
        encoding = ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities)
        self.session.documents.encoding = types.PositionEncodingKind(encoding).value
        able = params.capabilities
        document, workspace = able.text_document, able.workspace
        action = document.code_action if document else None
        resolves = action.resolve_support.properties if action and action.resolve_support else ()
        edits = workspace.workspace_edit if workspace else None
        hover = document.hover.content_format if document and document.hover else None
        self.able = Able(
            later="edit" in resolves and bool(action and action.data_support),
            versions=bool(edits and edits.document_changes),
            creates=bool(edits and types.ResourceOperationKind.Create in (edits.resource_operations or ())),
            markdown=types.MarkupKind.Markdown in (hover or ()),
        )
        shows = document.publish_diagnostics if document else None
        self.session.can_show = Shown(
            related=bool(shows and shows.related_information), links=bool(shows and shows.code_description_support)
        )
        self._pulls = bool(workspace and workspace.configuration)
        folders = params.workspace_folders or []
        uris = [each.uri for each in folders] or [params.root_uri or ""]
        self._folders = [(uri, path_of(uri)) for uri in uris if path_of(uri)]
        self.configure({"": params.initialization_options})

    def configure(self, raw: dict[str, object]) -> None:
        """Take the editor's settings, by folder. Of what it cannot say a message tells, and all stays as it was."""
        try:
            said = {folder: plain(each) for folder, each in raw.items()}
            # A folder of which nothing is said has what is said of all.
            self._wishes = {folder: Wishes(each) for folder, each in said.items() if each or not folder}
        except ConfigError as error:
            self.session.tell(str(error))
        self.session.settings_changed([path for _, path in self._folders], self._wishes)

    async def pull(self, given: object = None) -> None:
        """Ask the editor for its settings, if it can be asked; else they are what it has given."""
        if not self._pulls:
            self.configure({"": given})
            return
        scopes = [None, *(uri for uri, _ in self._folders)]
        items = [types.ConfigurationItem(scope_uri=each, section="torchleak") for each in scopes]
        found = await self.workspace_configuration_async(types.ConfigurationParams(items))
        self.configure(dict(zip(["", *(path for _, path in self._folders)], found)))

    async def ready(self) -> None:
        """The editor can be spoken to."""
        if self._pulls:
            await self.pull()
        workspace = self.client_capabilities.workspace
        watches = workspace.did_change_watched_files if workspace else None
        if not (watches and watches.dynamic_registration):
            self.session.watch()
            return
        watchers = [types.FileSystemWatcher(each) for each in _WATCHED]
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        await self.client_register_capability_async(
            types.RegistrationParams([types.Registration("torchleak-files", method, options)])
        )

    async def moved_folders(self, event: types.WorkspaceFoldersChangeEvent) -> None:
        """Folders were added, or taken away: their settings are asked for, or stay what was said for all."""
        gone = {each.uri for each in event.removed}
        self._folders = [each for each in self._folders if each[0] not in gone]
        self._folders += [(each.uri, path_of(each.uri)) for each in event.added if path_of(each.uri)]
        if self._pulls:
            await self.pull()
        else:
            self.session.settings_changed([path for _, path in self._folders], self._wishes)

    # -- Questions ----------------------------------------------------------------------------------------------

    def asked(self, uri: str) -> Asked | None:
        """Questions about what is open under a URI; None where nothing is."""
        session = self.session
        view = session.view(uri)
        if view is None:
            return None
        open_now = {**session.documents.files, **session.documents.cells}
        versions = {each: open_now[each].version for each in view.uris() if each in open_now}
        return Asked(session.checker, view, self.able, versions)

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """What a rule is about."""
        uri = params.text_document.uri
        asked, view = self.asked(uri), self.session.view(uri)
        if asked is None or view is None:
            return None
        known = self.session.known.get(self.session.documents.home(uri))
        findings = moved(known.findings, known.text, view.text) if known else []
        return await self.session.do(Urgency.ASKED, lambda: asked.hover(uri, params.position, findings))

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """What can be done about the findings in a range."""
        asked = self.asked(params.text_document.uri)
        if asked is None:
            return []
        uri, where, context = params.text_document.uri, params.range, params.context
        return await self.session.do(Urgency.ASKED, lambda: asked.actions(uri, where, context))

    async def resolve(self, action: types.CodeAction) -> types.CodeAction:
        """An action with its edit."""
        uri = action.data.get("uri", "") if isinstance(action.data, dict) else ""
        asked = self.asked(uri)
        if asked is None:
            return action
        done = await self.session.do(Urgency.ASKED, lambda: asked.resolved(action))
        if done.edit is None and done.command is None:
            self.session.tell(f"{action.title}: not done, for the result would not be clean")
        return done

    def explain(self, code: str) -> str:
        """Open the page of a rule in the user's browser, or show its short form. Gives the address."""
        address = rule_page(code) if short_form(code, False) else SITE
        window = self.client_capabilities.window
        if window and window.show_document and window.show_document.support:
            self.window_show_document(types.ShowDocumentParams(address, external=True))
        else:
            text = short_form(code, False) or address
            self.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))
        return address

    async def check_all(self) -> str:
        """Check the whole workspace, with progress. Gives what is said in the end."""
        window = self.client_capabilities.window
        shows, token = bool(window and window.work_done_progress), "torchleak-all"
        progress = self.work_done_progress
        if shows and token not in progress.tokens:
            await progress.create_async(token)
        if shows:
            progress.begin(token, types.WorkDoneProgressBegin("torchleak", cancellable=True, percentage=0))

        def report(done: int, of: int) -> None:
            if shows and (done * 100 // of) != ((done - 1) * 100 // of):
                value = types.WorkDoneProgressReport(message=f"{done} of {of} files", percentage=done * 100 // of)
                progress.report(token, value)

        said = ""
        try:
            seen = await check_all(self.session, report, lambda: shows and progress.tokens[token].cancelled())
            said = str(seen)
        finally:
            if shows:
                progress.end(token, types.WorkDoneProgressEnd(message=said))
                progress.tokens.pop(token, None)
        self.window_log_message(types.LogMessageParams(types.MessageType.Info, f"torchleak: {said}"))
        return said
