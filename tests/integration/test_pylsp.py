"""python-lsp-server shows our findings through its flake8 plugin: spoken to as an editor does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from tests.conftest import LEAK
from tests.integration.conftest import needs
from tests.integration.pages import block
from tests.processes import started

pytestmark = pytest.mark.integration


def send(stream: IO[bytes], method: str, params: object, **more: object) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def received(stream: IO[bytes]) -> dict[str, Any]:
    """The next message. Fails where the stream ends."""
    length = 0
    while (line := stream.readline()) != b"\r\n":
        assert line, "the server is gone"
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    message: dict[str, Any] = json.loads(stream.read(length))
    return message


def test_diagnostics(tmp_path: Path) -> None:
    needs("pylsp")
    # On disk there is no leak: unsaved text is what is checked.
    (tmp_path / "leak.py").write_text("")
    uri = (tmp_path / "leak.py").as_uri()
    command = [sys.executable, "-m", "pylsp"]
    with started(command, limit=120, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        send(server.stdin, "initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}}, id=1)
        while received(server.stdout).get("id") != 1:
            pass
        send(server.stdin, "initialized", {})
        settings = json.loads(block("docs/editors.md", "Any editor with a language client: python-lsp-server"))
        send(server.stdin, "workspace/didChangeConfiguration", {"settings": settings})
        document = {"uri": uri, "languageId": "python", "version": 1, "text": LEAK}
        send(server.stdin, "textDocument/didOpen", {"textDocument": document})
        ours: list[dict[str, Any]] = []
        while not ours:
            message = received(server.stdout)
            if message.get("method") == "textDocument/publishDiagnostics":
                found = message["params"]["diagnostics"]
                ours = [each for each in found if str(each["code"]).startswith("TLK")]
        send(server.stdin, "shutdown", None, id=2)
        while received(server.stdout).get("id") != 2:
            pass
        send(server.stdin, "exit", None)
        assert server.wait() == 0
    (finding,) = ours
    assert (finding["source"], finding["code"]) == ("flake8", "TLK401")
    assert finding["range"]["start"] == {"line": 8, "character": 8}
    assert "`total` keeps the nodes of each step's graph" in finding["message"]
