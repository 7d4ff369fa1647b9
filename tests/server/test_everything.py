"""The whole workspace on request, notebooks, and what goes wrong."""

from __future__ import annotations

import gc
import io
import sys
from pathlib import Path

import pytest

from flake8_torchleak import lint
from flake8_torchleak.server import checking, documents, serving, session
from flake8_torchleak.server.documents import path_of
from flake8_torchleak.server.overlay import Overlay
from flake8_torchleak.shells.cli import main
from flake8_torchleak.source import SourceError
from tests.conftest import LEAK, python
from tests.server.client import Editor, Object, edited, span
from tests.server.test_actions import named

ALL = {"command": "torchleak.checkWorkspace"}


def test_all_files_on_request(rich: Editor, tmp_path: Path) -> None:
    (tmp_path / "leak.py").write_text(LEAK)
    (tmp_path / "clean.py").write_text("import torch\n")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "leak.py").write_text(LEAK)
    (tmp_path / "open.py").write_text(LEAK)
    rich.open("open.py", "import torch\n")
    assert rich.shown("open.py") == []
    assert rich.ask("workspace/executeCommand", ALL) == "1 finding, 3 files checked."
    # From now on they are followed, open or not.
    rich.idle()
    (tmp_path / "leak.py").write_text("import torch\n")
    rich.send("workspace/didChangeWatchedFiles", {"changes": []})
    assert rich.shown() == []
    rich.close_file("open.py")
    assert len(rich.shown("open.py")) == 1
    (tmp_path / "open.py").unlink()
    rich.send("workspace/didChangeWatchedFiles", {"changes": []})
    assert rich.shown("open.py") == []


def test_it_shows_how_far_it_is_and_can_be_cancelled(rich: Editor, tmp_path: Path) -> None:
    for at in range(5):
        (tmp_path / f"f{at}.py").write_text("")
    rich.idle()
    assert rich.ask("workspace/executeCommand", ALL) == "No findings, 5 files checked."
    before = rich.server.session.checker.check

    def check(view: object, *more: object) -> object:
        rich.server.protocol.progress.tokens["torchleak-all"].cancel()
        return before(view, *more)  # type: ignore[arg-type]

    rich.server.session.checker.check = check  # type: ignore[assignment,method-assign]
    assert rich.ask("workspace/executeCommand", ALL) == "No findings, 1 file checked; cancelled."


def test_an_editor_that_shows_no_progress(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "leak.py").write_text(LEAK)
    assert editor.ask("workspace/executeCommand", ALL) == "1 finding, 1 file checked."


# -- Notebooks ------------------------------------------------------------------------------------------------

CELLS = [
    "# Training",
    "%matplotlib inline\nimport torch",
    LEAK.replace("import torch\n", ""),
    "%%bash\nls",
]


def notebook(editor: Editor, cells: list[str]) -> str:
    """Opens a notebook whose first cell is text; gives its URI."""
    uri = editor.uri("train.ipynb")
    listed = [{"kind": 1 if not at else 2, "document": f"{uri}#c{at}"} for at in range(len(cells))]
    texts = [
        {"uri": f"{uri}#c{at}", "languageId": "python" if at else "markdown", "version": 1, "text": text}
        for at, text in enumerate(cells)
    ]
    document = {"uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": listed}
    editor.send("notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": texts})
    return uri


def change(editor: Editor, uri: str, **cells: object) -> None:
    params = {"notebookDocument": {"uri": uri, "version": 2}, "change": {"cells": cells} if cells else {}}
    editor.send("notebookDocument/didChange", params)


def test_findings_stand_in_their_cells(rich: Editor) -> None:
    uri = notebook(rich, CELLS)
    (found,) = rich.shown_at(f"{uri}#c2")
    assert found["range"] == span(7, 8, 7, 21)
    params = {
        "textDocument": {"uri": f"{uri}#c2"},
        "range": found["range"],
        "context": {"diagnostics": [], "only": ["quickfix"]},
    }
    here = rich.ask("textDocument/codeAction", params)
    assert rich.ask("textDocument/hover", {"textDocument": {"uri": f"{uri}#c2"}, "position": span(7, 9, 0, 0)["start"]})
    assert (
        rich.ask("textDocument/hover", {"textDocument": {"uri": f"{uri}#c3"}, "position": span(0, 0, 0, 0)["start"]})
        is None
    )
    (silence,) = named(here, "Silence TLK401 here")["edit"]["documentChanges"]
    assert silence["textDocument"] == {"uri": f"{uri}#c2", "version": 1}
    text = edited(CELLS[2], silence["edits"])
    assert text == CELLS[2].replace("+= loss", "+= loss  # noqa: TLK401")
    where = {"document": {"uri": f"{uri}#c2", "version": 2}, "changes": [{"text": text}]}
    change(rich, uri, textContent=[where])
    assert rich.shown_at(f"{uri}#c2") == []


def test_cells_come_and_go(rich: Editor) -> None:
    uri = notebook(rich, CELLS)
    rich.shown_at(f"{uri}#c2")
    array = {"start": 2, "deleteCount": 1, "cells": [{"kind": 2, "document": f"{uri}#new"}]}
    opened = {"uri": f"{uri}#new", "languageId": "python", "version": 1, "text": CELLS[2] + "\n"}
    change(rich, uri, structure={"array": array, "didOpen": [opened], "didClose": [{"uri": f"{uri}#c2"}]})
    assert rich.shown_at(f"{uri}#c2") == []
    assert len(rich.shown_at(f"{uri}#new")) == 1
    change(rich, uri, data=[{"kind": 1, "document": f"{uri}#new"}])
    assert rich.shown_at(f"{uri}#new") == []
    change(rich, uri, structure={"array": {"start": 1, "deleteCount": 1}})
    rich.idle()
    change(rich, uri)
    rich.send("notebookDocument/didSave", {"notebookDocument": {"uri": uri}})
    rich.idle()
    closed = {"notebookDocument": {"uri": uri}, "cellTextDocuments": [{"uri": f"{uri}#new"}]}
    rich.send("notebookDocument/didClose", closed)
    rich.idle()
    rich.send("notebookDocument/didClose", closed)
    rich.send("notebookDocument/didSave", {"notebookDocument": {"uri": uri}})
    change(rich, uri, data=[])
    assert rich.server.session.documents.cells.keys() <= {f"{uri}#c{at}" for at in range(4)}


def test_a_cell_that_is_half_typed_spares_the_others(rich: Editor) -> None:
    uri = notebook(rich, [*CELLS, "import ("])
    assert len(rich.shown_at(f"{uri}#c2")) == 1
    # What cannot be read may need what a fix would change.
    params = {"textDocument": {"uri": f"{uri}#c2"}, "range": span(7, 8, 7, 8), "context": {"diagnostics": []}}
    assert rich.ask("textDocument/codeAction", params) == []


def test_a_fix_in_a_cell(rich: Editor) -> None:
    text = CELLS[2].replace("return total", "print(total)")
    uri = notebook(rich, [*CELLS[:2], text])
    params = {"textDocument": {"uri": f"{uri}#c2"}, "range": span(7, 8, 7, 8), "context": {"diagnostics": []}}
    action = named(rich.ask("textDocument/codeAction", params), "Fix TLK401: ")
    (done,) = rich.ask("codeAction/resolve", action)["edit"]["documentChanges"]
    assert edited(text, done["edits"]) == text.replace("+= loss", "+= loss.detach()")


# -- What goes wrong ----------------------------------------------------------------------------------------------


def test_an_error_in_a_rule_is_said_once(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint, "reraise", False)

    def failing(*_: object) -> Object:
        raise ZeroDivisionError("a rule")

    monkeypatch.setattr(lint, "Outline", failing)
    editor.open("leak.py", LEAK)
    assert "internal error: ZeroDivisionError: a rule" in editor.said()
    assert editor.shown() == []
    editor.change("leak.py", LEAK + "\n", 2)
    assert editor.shown() == []
    assert not [each for each in editor.idle() if each["method"] == "window/showMessage"]


def test_an_error_in_the_server_is_said_once(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> Object:
        raise ZeroDivisionError("the server")

    monkeypatch.setattr(checking, "lint", failing)
    editor.open("leak.py", LEAK)
    assert "internal error: ZeroDivisionError: the server" in editor.said()
    assert editor.failing(
        "textDocument/codeAction",
        {"textDocument": {"uri": editor.uri("leak.py")}, "range": span(0, 0, 0, 0), "context": {"diagnostics": []}},
    )["error"]
    monkeypatch.undo()
    editor.change("leak.py", LEAK + "\n", 2)
    assert len(editor.shown()) == 1


def test_a_message_that_makes_no_sense_is_said_once(editor: Editor) -> None:
    editor.open("leak.py", LEAK)
    editor.shown()
    wrong = span(0, 0, 0, 0)
    document = {"uri": editor.uri("leak.py"), "version": 2}
    changes = {"textDocument": document, "contentChanges": [{"text": "x", "range": wrong}]}
    editor.server.session.documents.files[editor.uri("leak.py")].text = None  # type: ignore[assignment]
    editor.send("textDocument/didChange", changes)
    assert "internal error" in editor.said()


def test_before_there_is_an_editor_nothing_is_said() -> None:
    server = serving.build()
    server.report_server_error(ValueError("x"), ValueError)


def test_texts_that_no_file_can_hold(rich: Editor, tmp_path: Path) -> None:
    rich.open("train.py", "import torch\nfrom meter import Meter\n" + LEAK)
    rich.shown("train.py")
    rich.open("meter.py", "# coding: latin-1\nclass Meter:\n    '\u20ac'\n")
    rich.shown("meter.py")
    rich.open("other.py", "# coding: nonsense\n")
    rich.shown("other.py")
    rich.change("train.py", "import torch\nfrom meter import Meter\nfrom other import x\nMeter().f(x())\n" + LEAK, 2)
    assert len(rich.shown("train.py")) == 1


def test_a_notebook_that_cannot_be_read_is_said_once(rich: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: bytes) -> object:
        raise SourceError("no notebook at all")

    monkeypatch.setattr(documents, "read", failing)
    uri = notebook(rich, CELLS)
    assert "train.ipynb: no notebook at all" in rich.said()
    at = {"textDocument": {"uri": f"{uri}#c2"}, "position": {"line": 0, "character": 0}}
    assert rich.ask("textDocument/hover", at) is None


def test_a_fix_that_a_notebook_cannot_hold_is_not_offered(rich: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> object:
        raise SourceError("would change what only IPython understands")

    uri = notebook(rich, CELLS)
    rich.shown_at(f"{uri}#c2")
    monkeypatch.setattr(documents.NotebookView, "changes", failing)
    params = {"textDocument": {"uri": f"{uri}#c2"}, "range": span(7, 8, 7, 8), "context": {"diagnostics": []}}
    assert not [each for each in rich.ask("textDocument/codeAction", params) if "# noqa" in each["title"]]


def test_more_texts_than_are_kept(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "_MOST_KEPT", 1)
    monkeypatch.setattr(checking, "_MOST_PARSED", 1)
    for at in range(3):
        editor.open(f"leak{at}.py", LEAK)
        assert len(editor.shown(f"leak{at}.py")) == 1
    for at in (0, 1, 2, 0):
        assert editor.actions(8, f"leak{at}.py")


def test_work_is_done_with_or_without_the_collector(editor: Editor) -> None:
    gc.disable()
    try:
        editor.open("leak.py", LEAK)
        assert len(editor.shown()) == 1
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_folders_that_are_nowhere(tmp_path: Path) -> None:
    overlay = Overlay()
    assert overlay.lines_of(str(tmp_path / "gone.py")) == ""
    with pytest.raises(OSError, match="No such file"):
        overlay.entries(str(tmp_path / "gone"))
    overlay.show({str(tmp_path / "gone" / "new.py"): "x = 1\n"})
    assert overlay.entries(str(tmp_path / "gone")) == ["new.py"]
    assert overlay.changed([]) == frozenset()


def test_a_text_that_its_own_encoding_does_not_have(tmp_path: Path) -> None:
    overlay = Overlay()
    path = str(tmp_path / "new.py")
    for text in ("# coding: latin-1\n'\u20ac'\n", "# coding: nonsense\n", "'\ud800'\n"):
        overlay.show({path: text})
        with pytest.raises(OSError, match=r"codec|encod"):
            overlay.content(path)
        assert overlay.lines_of(path) == ""


def test_messages_have_an_end(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_MOST_SAID", 1)
    editor.server.session.tell("one")
    editor.server.session.tell("two")
    assert editor.said() == "torchleak: one"
    assert editor.idle() == []


def test_paths() -> None:
    assert path_of("untitled:x") == ""
    assert path_of("file://") == ""
    assert path_of("file:///a%20b/c.py") == "/a b/c.py"


def test_served_until_the_editor_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sys.stdout
    monkeypatch.setattr(sys, "stdout", before)
    taken: list[bool] = []
    monkeypatch.setattr(serving, "take_over", lambda: taken.append(True))
    out = io.BytesIO()
    serving.serve(io.BytesIO(b'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","method":"initialized"}'), out)
    assert sys.stdout is sys.stderr
    assert out.getvalue() == b""
    assert taken == [True]


def test_the_command_serves(tmp_path: Path) -> None:
    run = python("-m", "flake8_torchleak", "server", "--stdio", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (0, b"")


def test_the_command_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [each for each in sys.modules if each.startswith("flake8_torchleak.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert main(["server"]) == 2
    assert "pip install 'flake8-torchleak[server]'" in capsys.readouterr().err
