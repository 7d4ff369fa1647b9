"""What an editor is shown, and when."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from flake8_torchleak.server import session
from flake8_torchleak.server.worker import Urgency
from tests.conftest import LEAK
from tests.server.client import Editor, span
from tests.server.conftest import Opened

MEND = LEAK.replace("+= loss", "+= loss.detach()")

METER = """\
class Meter:
    def __init__(self):
        self.values = []
    def update(self, value):
        self.values.append(value)
"""
TRAINING = """\
import torch
from meter import Meter
def train(model, loader, criterion, optimizer):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss)
    return meter
"""


def test_a_finding_with_all_that_the_editor_can_show(rich: Editor) -> None:
    rich.open("leak.py", LEAK, version=7)
    published = rich.until(lambda m: m.get("method") == "textDocument/publishDiagnostics")["params"]
    assert published["version"] == 7
    (found,) = published["diagnostics"]
    assert found["range"] == span(8, 8, 8, 21)
    assert (found["code"], found["severity"], found["source"]) == ("TLK401", 2, "torchleak")
    assert found["codeDescription"]["href"].endswith("/TLK401/")
    related = found["relatedInformation"]
    assert [each["location"]["uri"] for each in related] == [rich.uri("leak.py")] * len(related)
    assert span(3, 4, 3, 23) in [each["location"]["range"] for each in related]


def test_an_editor_that_can_show_less_is_told_less(editor: Editor) -> None:
    editor.open("leak.py", LEAK)
    (found,) = editor.shown()
    assert not {"codeDescription", "relatedInformation"} & set(found)


@pytest.mark.parametrize(("encoding", "col"), [("utf-16", 14), ("utf-8", 18), ("utf-32", 12)])
def test_columns_are_counted_as_the_editor_counts_them(started: Opened, encoding: str, col: int) -> None:
    editor = started({"general": {"positionEncodings": [encoding]}})
    assert editor.greeting["capabilities"]["positionEncoding"] == encoding
    # A name of letters beyond the plane of UTF-16's single units: NFKC makes plain letters of them.
    text = LEAK.replace("total += loss", "𝐭𝐨; total += loss")
    editor.open("leak.py", text)
    (found,) = editor.shown()
    assert found["range"]["start"] == {"line": 8, "character": col}


def test_changes_are_taken_in_as_the_editor_counts_them(started: Opened) -> None:
    editor = started(None, {"debounce": 100})
    # A form feed ends no line; two units are one character; what stands behind the end is the end.
    text = "\f# 𝐱\n" + LEAK.rstrip("\n")
    editor.open("leak.py", text)
    assert len(editor.shown()) == 1
    editor.change("leak.py", "é", 2, span(0, 5, 0, 99))
    editor.change("leak.py", "loss.detach()", 3, span(9, 17, 9, 21))
    editor.change("leak.py", "\n# end", 4, span(99, 0, 99, 0))
    assert editor.shown() == []
    document = editor.server.session.documents.files[editor.uri("leak.py")]
    assert document.text == "\f# 𝐱é\n" + MEND.rstrip("\n") + "\n# end"


def test_only_the_last_of_many_keystrokes_is_checked(started: Opened) -> None:
    editor = started(None, {"debounce": 100})
    editor.open("leak.py", LEAK)
    editor.shown()
    for version in range(2, 30):
        editor.change("leak.py", MEND + "#" * version, version)
    found = [each for each in editor.idle(0.6) if each["method"] == "textDocument/publishDiagnostics"]
    assert [each["params"]["version"] for each in found] == [29]


def test_while_a_line_is_half_typed_the_last_findings_stay_and_move(editor: Editor) -> None:
    editor.open("leak.py", LEAK)
    editor.shown()
    editor.change("leak.py", "import os.\n\n" + LEAK, 2)
    (found,) = editor.shown()
    assert found["range"] == span(10, 8, 10, 21)
    editor.change("leak.py", "import os.\n" + LEAK.replace("        total += loss\n", ""), 3)
    assert editor.shown() == []


def test_on_save_only(started: Opened) -> None:
    editor = started(None, {"debounce": 0, "run": "save"})
    editor.open("leak.py", LEAK)
    assert len(editor.shown()) == 1
    editor.change("leak.py", MEND, 2)
    assert editor.idle() == []
    editor.save("leak.py")
    assert editor.shown() == []


def test_what_is_found_in_a_text_that_is_gone_is_not_shown(started: Opened) -> None:
    editor = started(None, {"debounce": 0, "run": "save"})
    held = threading.Event()
    editor.server.session.worker.submit(Urgency.ASKED, held.wait)
    editor.open("leak.py", LEAK)
    editor.idle(0.05)
    editor.change("leak.py", MEND, 2)
    held.set()
    assert editor.idle(0.5) == []


def test_what_is_still_to_do_is_dropped_at_the_end(editor: Editor) -> None:
    held = threading.Event()
    editor.server.session.worker.submit(Urgency.ASKED, held.wait)
    editor.open("leak.py", LEAK)
    editor.save("leak.py")
    editor.open("other.py", LEAK)
    held.set()
    editor.server.session.end()
    assert not [each for each in editor.idle() if each["method"] == "textDocument/publishDiagnostics"]


def test_what_is_closed_shows_nothing(editor: Editor) -> None:
    editor.open("leak.py", LEAK)
    editor.shown()
    editor.close_file("leak.py")
    assert editor.shown() == []
    assert editor.server.session.known == {}


def test_a_helper_that_changes_unsaved_is_followed(rich: Editor, tmp_path: Path) -> None:
    (tmp_path / "meter.py").write_text(METER)
    rich.open("train.py", TRAINING)
    (found,) = rich.shown("train.py")
    places = {each["location"]["uri"] for each in found["relatedInformation"]}
    assert rich.uri("meter.py") in places
    rich.open("meter.py", METER)
    assert rich.shown("meter.py") == []
    rich.change("meter.py", METER.replace("(value)\n", "(value.item())\n"), 2)
    assert rich.shown("train.py") == []
    # Closed without saving: what is on disk counts again.
    rich.close_file("meter.py")
    assert len(rich.shown("train.py")) == 1


def test_what_changes_on_disk_is_followed(rich: Editor, tmp_path: Path) -> None:
    (tmp_path / "meter.py").write_text(METER)
    rich.open("train.py", TRAINING)
    assert len(rich.shown("train.py")) == 1
    (tmp_path / "meter.py").write_text(METER.replace("(value)\n", "(value.item())\n"))
    rich.send("workspace/didChangeWatchedFiles", {"changes": [{"uri": rich.uri("meter.py"), "type": 2}]})
    assert rich.shown("train.py") == []
    # A branch that has no such file.
    os.rename(tmp_path / "meter.py", tmp_path / "other.py")
    rich.send("workspace/didChangeWatchedFiles", {"changes": [{"uri": rich.uri("meter.py"), "type": 3}]})
    assert rich.shown("train.py") is not None


def test_an_editor_that_watches_nothing_is_looked_after(
    started: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_LOOK_EVERY", 0.05)
    editor = started()
    editor.idle(0.2)
    (tmp_path / "meter.py").write_text(METER)
    editor.open("train.py", TRAINING)
    assert len(editor.shown("train.py")) == 1
    (tmp_path / "meter.py").write_text(METER.replace("(value)\n", "(value.item())\n"))
    assert editor.shown("train.py") == []


def test_who_imports_it_is_looked_up_anew_when_imports_change(rich: Editor, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.torchleak]\nmin-severity = "note"\n')
    photos = "from torch.utils.data import Dataset\nclass Photos(Dataset):\n"
    photos += "    def __getitem__(self, i):\n        return {}\n    def __len__(self):\n        return 8\n"
    (tmp_path / "photos.py").write_text(photos.format("open(i)"))
    rich.open("tools.py", "import cv2\n\n\ndef shrink(image):\n    return cv2.resize(image, (800, 800))\n")
    assert rich.shown("tools.py") == []
    rich.open("photos.py", photos.format("shrink(i)"))
    rich.shown("photos.py")
    assert "shown" not in {each["method"] for each in rich.idle()}
    rich.change("photos.py", "from tools import shrink\n" + photos.format("shrink(i)"), 2)
    assert [each["code"] for each in rich.shown("tools.py")] == ["TLK301"]


def test_a_folder_where_nothing_changes_is_not_looked_at_again(rich: Editor, tmp_path: Path) -> None:
    (tmp_path / "meter.py").write_text(METER)
    rich.open("train.py", TRAINING)
    rich.shown("train.py")
    rich.idle()
    rich.open("meter.py", METER)
    assert rich.shown("meter.py") == []
    rich.send("workspace/didChangeWatchedFiles", {"changes": []})
    assert rich.idle() == []


def test_a_file_that_was_never_saved(rich: Editor) -> None:
    document = {"uri": "untitled:Untitled-1", "languageId": "python", "version": 1, "text": LEAK}
    rich.send("textDocument/didOpen", {"textDocument": document})
    assert len(rich.shown_at("untitled:Untitled-1")) == 1
    rich.send("textDocument/didClose", {"textDocument": {"uri": "untitled:Untitled-1"}})
    assert rich.shown_at("untitled:Untitled-1") == []


def test_messages_about_what_is_not_open_do_nothing(editor: Editor) -> None:
    editor.change("gone.py", "x", 2)
    editor.save("gone.py")
    editor.close_file("gone.py")
    assert editor.actions(0, "gone.py") == []
    assert editor.hover(0, 0, "gone.py") is None
    action = {"title": "x", "kind": "quickfix", "data": {"uri": editor.uri("gone.py")}}
    assert editor.ask("codeAction/resolve", action) == action
    assert editor.ask("codeAction/resolve", {"title": "x"}) == {"title": "x"}
    assert editor.idle() == []


def test_thousands_of_edits_leave_nothing_behind(editor: Editor) -> None:
    import gc

    def objects() -> int:
        gc.collect()
        return len(gc.get_objects())

    editor.open("leak.py", LEAK)
    editor.shown()
    counts = []
    for round_ in range(4):
        for version in range(40):
            editor.change("leak.py", f"{LEAK}x = {round_, version}\n", version)
            editor.shown()
            editor.seen.clear()
        counts.append(objects())
    assert counts[-1] <= counts[1] + 200, counts


def test_the_greeting_says_what_there_is(rich: Editor) -> None:
    able = rich.greeting["capabilities"]
    assert able["codeActionProvider"] == {
        "codeActionKinds": ["quickfix", "source.fixAll.torchleak"],
        "resolveProvider": True,
    }
    assert able["hoverProvider"] is True
    assert set(able["executeCommandProvider"]["commands"]) == {"torchleak.explain", "torchleak.checkWorkspace"}
    assert able["notebookDocumentSync"]["save"] is True
    registered = rich.until(lambda m: m.get("method") == "client/registerCapability")
    assert registered["params"]["registrations"][0]["method"] == "workspace/didChangeWatchedFiles"


def test_cancelling_takes_a_request_back(rich: Editor) -> None:
    rich.open("leak.py", LEAK)
    rich.shown()
    # The worker is busy; the request waits for it.
    busy = rich.server.session.worker.submit(Urgency.ASKED, lambda: time.sleep(0.3))
    params = {"textDocument": {"uri": rich.uri("leak.py")}, "position": {"line": 8, "character": 9}}
    rich._run(rich._later({"id": 99, "method": "textDocument/hover", "params": params}))
    rich.send("$/cancelRequest", {"id": 99})
    answer = rich.until(lambda m: m.get("id") == 99)
    assert answer["error"]["code"] == -32800
    assert busy.result() is None
