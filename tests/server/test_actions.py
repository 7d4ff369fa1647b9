"""What can be done about a finding from the editor."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.finding import Edit, Finding, Fix, FixLevel, Severity, Span
from flake8_torchleak.server import actions
from flake8_torchleak.server.silencing import without
from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK
from tests.server.client import RICH, Editor, Object, edited
from tests.server.conftest import Opened

LOGGED = LEAK.replace("return total", "print(total)")
"""TLK401 with a safe fix and an unsafe one."""
TITLES = ["Fix TLK401: ", "Fix TLK401 (unsafe: ", "Silence TLK401 here", "Silence TLK401 everywhere", "Explain TLK401"]


def named(found: list[Object], title: str) -> Object:
    (action,) = (each for each in found if each["title"].startswith(title))
    return action


def changed(action: Object, editor: Editor, text: str, name: str = "leak.py") -> str:
    """The text as the action makes it."""
    edit, uri = action["edit"], editor.uri(name)
    if "documentChanges" in edit:
        (change,) = edit["documentChanges"]
        assert change["textDocument"]["uri"] == uri
        return edited(text, change["edits"])
    assert list(edit["changes"]) == [uri]
    return edited(text, edit["changes"][uri])


def fixed(tmp_path: Path, text: str, *options: str) -> str:
    """The text as the command makes it."""
    (tmp_path / "leak.py").write_text(text)
    main(["check", "--fix", *options, str(tmp_path / "leak.py")])
    return (tmp_path / "leak.py").read_text()


def test_what_is_offered(started: Opened) -> None:
    editor = started({"workspace": {"workspaceEdit": {"resourceOperations": ["create"]}}})
    editor.open("leak.py", LOGGED)
    found = editor.actions(8)
    quick = [each for each in found if each["kind"] == "quickfix"]
    assert len(quick) == len(TITLES)
    assert all(each["title"].startswith(title) for each, title in zip(quick, TITLES))
    assert [each.get("isPreferred", False) for each in quick] == [True, False, False, False, False]
    assert {each["diagnostics"][0]["code"] for each in quick} == {"TLK401"}
    assert named(found, "Explain")["command"] == {
        "title": "Explain TLK401",
        "command": "torchleak.explain",
        "arguments": ["TLK401"],
    }
    assert editor.actions(0) == [named(found, "Fix all")]
    assert editor.actions(8, col=0) == [named(found, "Fix all")]
    (shown,) = found[0]["diagnostics"]
    assert editor.actions(8, col=0, named=[shown]) == found
    assert editor.actions(8, col=0, named=[shown | {"code": "TLK402"}]) == [named(found, "Fix all")]
    assert [each["kind"] for each in editor.actions(8, only=["source"])] == ["source.fixAll.torchleak"]
    assert {each["kind"] for each in editor.actions(8, only=["quickfix"])} == {"quickfix"}
    assert editor.actions(8, only=["refactor"]) == []


@pytest.mark.parametrize(("title", "options"), [("Fix TLK401: ", ()), ("Fix TLK401 (unsafe", ("--unsafe-fixes",))])
def test_a_fix_is_the_command_s(
    editor: Editor, tmp_path: Path, capsys: pytest.CaptureFixture[str], title: str, options: tuple[str, ...]
) -> None:
    unsafe = bool(options)
    editor.open("leak.py", LOGGED)
    result = changed(named(editor.actions(8), title), editor, LOGGED)
    same = fixed(tmp_path, LOGGED, *options, *["--extend-unsafe-fixes=TLK401"] * unsafe)
    # Of several fixes of one level the command takes the first; ours is the one that was chosen.
    assert result == (same if not unsafe else LOGGED.replace("+= loss", "+= loss.item()"))
    capsys.readouterr()


def test_an_editor_may_ask_for_the_edit_later(rich: Editor) -> None:
    rich.open("leak.py", LOGGED, version=3)
    action = named(rich.actions(8), "Fix TLK401: ")
    assert "edit" not in action
    done = rich.ask("codeAction/resolve", action)
    assert done["edit"]["documentChanges"][0]["textDocument"]["version"] == 3
    assert "loss.detach()" in changed(done, rich, LOGGED)
    # The text has changed meanwhile: the finding is elsewhere.
    rich.change("leak.py", "\n" + LOGGED, 4)
    assert "edit" not in rich.ask("codeAction/resolve", action)
    assert "not done" in rich.said()


def test_all_that_is_safe(rich: Editor, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = LOGGED + LOGGED.replace("def train", "def again").replace("import torch\n", "")
    (tmp_path / "pyproject.toml").write_text("[tool.torchleak]\nreport-unused-noqa = true\n")
    twice += "x = 1  # noqa: TLK402\n"
    rich.open("leak.py", twice)
    (action,) = rich.actions(0, only=["source.fixAll"])
    done = changed(rich.ask("codeAction/resolve", action), rich, twice)
    assert done.count("loss.detach()") == 2
    assert "noqa" not in done
    assert done == fixed(tmp_path, twice, f"--config={tmp_path / 'pyproject.toml'}")
    capsys.readouterr()


def test_nothing_is_done_to_what_does_not_parse(editor: Editor) -> None:
    editor.open("leak.py", LOGGED + "(")
    assert editor.actions(8) == []
    action = {"title": "x", "kind": "source.fixAll.torchleak", "data": {"uri": editor.uri("leak.py")}}
    assert "edit" not in editor.ask("codeAction/resolve", action)


def test_a_fix_that_does_not_hold_is_not_offered(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "fix", lambda text, *_: type("Fixed", (), {"text": text}))
    editor.open("leak.py", LEAK)
    assert not [each for each in editor.actions(8) if each["title"].startswith("Fix TLK401")]


def test_silence_here_joins_what_is_there(editor: Editor) -> None:
    text = LEAK.replace("+= loss", "+= loss  # noqa: E501 why")
    editor.open("leak.py", text)
    done = changed(named(editor.actions(8), "Silence TLK401 here"), editor, text)
    assert "total += loss  # noqa: E501, TLK401 why\n" in done
    editor.change("leak.py", done, 2)
    assert not [each for each in editor.actions(8) if "TLK401" in each["title"]]


def test_silence_is_not_offered_where_a_string_stands_in_its_way(editor: Editor) -> None:
    editor.open("leak.py", LEAK.replace("+= loss", "+= loss; '# noqa: E1'"))
    assert not [each for each in editor.actions(8) if each["title"].endswith("`# noqa`")]


def test_silence_in_the_settings(rich: Editor, tmp_path: Path) -> None:
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[project]\nname = "x"\n')
    rich.open("leak.py", LEAK)
    assert len(rich.shown()) == 1
    action = named(rich.actions(8), "Silence TLK401 everywhere, in pyproject.toml")
    text = changed(action, rich, settings.read_text(), "pyproject.toml")
    assert text == '[project]\nname = "x"\n\n[tool.torchleak]\nextend-ignore = ["TLK401"]\n'
    settings.write_text(text)
    rich.send("workspace/didChangeWatchedFiles", {"changes": [{"uri": rich.uri("pyproject.toml"), "type": 2}]})
    assert rich.shown() == []


def test_settings_that_are_not_there_yet(rich: Editor, editor: Editor) -> None:
    rich.open("leak.py", LEAK)
    created, change = named(rich.actions(8), "Silence TLK401 everywhere")["edit"]["documentChanges"]
    assert created == {"kind": "create", "uri": rich.uri("pyproject.toml")}
    assert edited("", change["edits"]) == '[tool.torchleak]\nextend-ignore = ["TLK401"]\n'
    # This one could not make the file.
    editor.open("leak.py", LEAK)
    assert not [each for each in editor.actions(8) if "everywhere" in each["title"]]


def test_settings_that_are_broken_are_left_alone(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.torchleak\n")
    editor.open("leak.py", LEAK)
    assert not [each for each in editor.actions(8) if "everywhere" in each["title"]]
    (tmp_path / "pyproject.toml").write_bytes(b"\xff")
    assert not [each for each in editor.actions(8) if "everywhere" in each["title"]]


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("", '[tool.torchleak]\nextend-ignore = ["TLK401"]\n'),
        ("a = 1", 'a = 1\n\n[tool.torchleak]\nextend-ignore = ["TLK401"]\n'),
        (
            "[tool.torchleak]  # ours\nselect = ['TLK']",
            "[tool.torchleak]  # ours\nextend-ignore = [\"TLK401\"]\nselect = ['TLK']\n",
        ),
        ('[tool.torchleak]\nignore = ["TLK1"]\n', '[tool.torchleak]\nignore = ["TLK401", "TLK1"]\n'),
        (
            "# extend-ignore = []\n[tool.torchleak]\r\nextend-ignore = []\r\n",
            '# extend-ignore = []\n[tool.torchleak]\r\nextend-ignore = ["TLK401"]\r\n',
        ),
        ('[tool.torchleak]\nextend-ignore = ["TLK401"]\n', None),
        ('[tool.torchleak]\nextend-ignore = "TLK1"\n', None),
        ("[tool]\ntorchleak = {extend-ignore = []}\n", '[tool]\ntorchleak = {extend-ignore = ["TLK401"]}\n'),
        ("tool = {torchleak = {}}\n", None),
        ("[tool.torchleak]\n[", None),
        ("tool.torchleak = 3\n", None),
    ],
)
def test_the_text_of_settings(text: str, new: str | None) -> None:
    assert without(text, "TLK401") == new


def test_comments_that_hide_nothing_are_taken_away(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.torchleak]\nreport-unused-noqa = true\n")
    text = LEAK.replace("total = 0", "total = 0  # noqa: TLK402").replace("+= loss", "+= loss.item()")
    editor.open("leak.py", text)
    (found,) = editor.shown()
    assert (found["code"], found["severity"]) == ("TLK002", 3)
    here = editor.actions(2, col=16)
    assert changed(named(here, "Fix TLK002"), editor, text) == text.replace("  # noqa: TLK402", "")
    assert not [each for each in here if each["title"].endswith("`# noqa`")]


def test_findings_of_one_cause_are_silenced_together() -> None:
    fix = Fix(FixLevel.UNSAFE, "do it", (Edit(Span(1, 0, 1, 0), "x"),))
    member = Finding("TLK402", "b", "b", Span(2, 0, 2, 1), Severity.NOTE, FixLevel.UNSAFE, fixes=(fix,))
    leader = Finding("TLK401", "a", "a", Span(1, 0, 1, 1), Severity.NOTE, FixLevel.HINT, members=(member,))
    titles = [each.title for each in actions.offers(leader)]
    assert titles == [
        "Fix TLK402 (unsafe: may change type, timing or cost): do it",
        "Silence TLK401 and TLK402 here with `# noqa`",
    ]


@pytest.mark.parametrize("kind", ["markdown", "plaintext"])
def test_hover_explains(started: Opened, kind: str) -> None:
    editor = started(RICH if kind == "markdown" else None)
    editor.open("leak.py", LEAK)
    editor.shown()
    found = editor.hover(8, 12)
    assert found["contents"]["kind"] == kind
    assert found["range"]["start"] == {"line": 8, "character": 8}
    text = found["contents"]["value"]
    assert "accumulated-graph: a value" in text
    assert "Measured: Kept per step" in text
    assert "total += loss.detach()" in text
    assert ("```python" in text) is (kind == "markdown")
    assert text.rstrip(")").endswith("/TLK401/")
    assert editor.hover(0, 0) is None
    assert editor.hover(99, 0) is None


def test_hover_explains_codes_in_comments(editor: Editor) -> None:
    editor.open("leak.py", "import torch\nx = 1  # noqa: TLK003, TLK999\n")
    found = editor.hover(1, 17)
    assert "range" not in found
    assert "analysis-bound" in found["contents"]["value"]
    assert editor.hover(1, 26) is None
    assert editor.hover(1, 2) is None


def test_explain_opens_the_page(rich: Editor, editor: Editor) -> None:
    address = rich.ask("workspace/executeCommand", {"command": "torchleak.explain", "arguments": ["TLK401"]})
    assert address.endswith("/TLK401/")
    assert editor.ask("workspace/executeCommand", {"command": "torchleak.explain", "arguments": ["TLK401"]}) == address
    assert "accumulated-graph" in editor.said()
    other = editor.ask("workspace/executeCommand", {"command": "torchleak.explain", "arguments": ["no rule"]})
    assert editor.said() == other
    assert other != address
