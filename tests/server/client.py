"""An editor for tests: it sends messages to a server in this process, and answers what that asks."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pygls.lsp._base_server import BaseLanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter

from flake8_torchleak.server.serving import build

# What turns messages into objects learns each kind of message as it comes, which takes longer than most of these tests:
# it is made once.
BaseLanguageServer.__init__.__defaults__ = (LanguageServerProtocol, functools.cache(default_converter), None)

Object = dict[str, Any]

RICH: Object = {
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "codeDescriptionSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "codeAction": {"dataSupport": True, "resolveSupport": {"properties": ["edit"]}},
    },
    "workspace": {
        "configuration": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
    "notebookDocument": {"synchronization": {}},
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
}
"""What an editor such as VS Code is able to do."""
QUICK: Object = {"debounce": 0}
_PATIENCE = 20.0


class Editor:
    """answers: what it answers to the server's questions, by method; seen: all that the server sent."""

    def __init__(self, folder: Path, able: Object | None = None, options: Object | None = None, **more: Any) -> None:
        self.folder = folder
        self.seen: list[Object] = []
        self.answers: dict[str, Any] = {
            "workspace/configuration": [options or QUICK, None],
            "window/showDocument": {"success": True},
        }
        self._loop = asyncio.new_event_loop()
        self._news = asyncio.Event()
        self._number = 0
        self.server = build()
        self.server.protocol.set_writer(self, include_headers=False)
        params = {
            "processId": None,
            "rootUri": folder.as_uri(),
            "capabilities": able or {},
            "initializationOptions": options or QUICK,
            **more,
        }
        self.greeting = self.ask("initialize", params)
        self.send("initialized", {})

    # -- What the server sends ---------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        message = json.loads(data)
        self.seen.append(message)
        self._news.set()
        if "method" in message and "id" in message:
            answer = self.answers.get(message["method"])
            self._loop.call_soon(self._handle, {"id": message["id"], "result": answer})

    def close(self) -> None:
        pass

    # -- What it is sent ---------------------------------------------------------------------------------------

    def send(self, method: str, params: object) -> None:
        """A notification."""
        self._run(self._later({"method": method, "params": params}))

    def ask(self, method: str, params: object) -> Any:
        """The result of a request. Fails where it is an error."""
        self._number += 1
        number = self._number
        self._run(self._later({"id": number, "method": method, "params": params}))
        answer = self.until(lambda message: message.get("id") == number and "method" not in message, only=True)
        assert "error" not in answer, answer
        return answer["result"]

    def failing(self, method: str, params: object) -> Object:
        """The error of a request."""
        with_error: list[Object] = []
        try:
            self.ask(method, params)
        except AssertionError as error:
            with_error.append(error.args[0])
        (answer,) = with_error
        return dict(answer)

    def until(self, wanted: Callable[[Object], bool], only: bool = False) -> Object:
        """The first message, of those not yet waited for, that is wanted; it and, unless `only`, all before it go."""
        found: Object = self._run(asyncio.wait_for(self._until(wanted, only), _PATIENCE))
        return found

    def idle(self, seconds: float = 0.15) -> list[Object]:
        """What the server sends of itself meanwhile."""
        self._run(asyncio.sleep(seconds))
        seen, self.seen = self.seen, []
        return seen

    def end(self) -> None:
        self.ask("shutdown", None)
        self._run(asyncio.sleep(0.01))
        self._loop.close()

    # -- Documents ---------------------------------------------------------------------------------------------

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str, version: int = 1) -> None:
        document = {"uri": self.uri(name), "languageId": "python", "version": version, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})

    def change(self, name: str, text: str, version: int, where: Object | None = None) -> None:
        """where: the range whose place the text takes; None for all of it."""
        change = {"text": text} if where is None else {"range": where, "text": text}
        document = {"uri": self.uri(name), "version": version}
        self.send("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def save(self, name: str) -> None:
        self.send("textDocument/didSave", {"textDocument": {"uri": self.uri(name)}})

    def close_file(self, name: str) -> None:
        self.send("textDocument/didClose", {"textDocument": {"uri": self.uri(name)}})

    def shown(self, name: str = "leak.py") -> list[Object]:
        """The diagnostics that are shown next for a file."""
        return self.shown_at(self.uri(name))

    def shown_at(self, uri: str) -> list[Object]:
        def wanted(message: Object) -> bool:
            return message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri

        found: list[Object] = self.until(wanted)["params"]["diagnostics"]
        return found

    def said(self) -> str:
        """The message that is shown next."""
        text: str = self.until(lambda message: message.get("method") == "window/showMessage")["params"]["message"]
        return text

    def actions(
        self,
        line: int,
        name: str = "leak.py",
        only: list[str] | None = None,
        col: int = 8,
        named: list[Object] | None = None,
    ) -> list[Object]:
        """named: the diagnostics that the editor says it asks about."""
        context: Object = {"diagnostics": named or []} | ({} if only is None else {"only": only})
        where = span(line, col, line, col)
        params = {"textDocument": {"uri": self.uri(name)}, "range": where, "context": context}
        found: list[Object] = self.ask("textDocument/codeAction", params)
        return found

    def hover(self, line: int, col: int, name: str = "leak.py") -> Any:
        position = {"line": line, "character": col}
        return self.ask("textDocument/hover", {"textDocument": {"uri": self.uri(name)}, "position": position})

    # -- Inside ------------------------------------------------------------------------------------------------

    def _handle(self, message: Object) -> None:
        protocol = self.server.protocol
        text = json.dumps({"jsonrpc": "2.0", **message})
        protocol.handle_message(json.loads(text, object_hook=protocol.structure_message))

    async def _later(self, message: Object) -> None:
        self._handle(message)
        await asyncio.sleep(0)

    async def _until(self, wanted: Callable[[Object], bool], only: bool) -> Object:
        while True:
            for at, message in enumerate(self.seen):
                if wanted(message):
                    del self.seen[at * only : at + 1]
                    return message
            self._news.clear()
            await self._news.wait()

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)


def span(line: int, col: int, end_line: int, end_col: int) -> Object:
    """A range of the protocol."""
    return {"start": {"line": line, "character": col}, "end": {"line": end_line, "character": end_col}}


def edited(text: str, edits: list[Object]) -> str:
    """A text with edits of the protocol put into it, for text without wide characters."""
    lines = text.splitlines(True)
    starts = [sum(map(len, lines[:at])) for at in range(len(lines) + 1)]

    def offset(each: Object, which: str) -> int:
        place = each["range"][which]
        return int(starts[place["line"]] + place["character"])

    for each in sorted(edits, key=lambda one: offset(one, "start"), reverse=True):
        start, end = offset(each, "start"), offset(each, "end")
        text = text[:start] + each["newText"] + text[end:]
    return text
