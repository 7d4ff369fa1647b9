"""Settings: of the project, of the editor, of several folders; and what becomes of wrong ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flake8_torchleak import __version__
from flake8_torchleak.config import ConfigError
from flake8_torchleak.server.checking import Checker
from flake8_torchleak.server.documents import View
from flake8_torchleak.server.policies import OWN, Policies, Wishes, plain
from flake8_torchleak.shells.settings import SETTINGS
from tests.conftest import LEAK, ROOT
from tests.server.client import QUICK, RICH, Editor, Object
from tests.server.conftest import Opened


def test_those_of_the_project(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.torchleak]\nper-file-ignores = {"leak.py" = ["TLK4"]}\n')
    editor.open("leak.py", LEAK)
    assert editor.shown() == []
    editor.open("other.py", LEAK)
    assert len(editor.shown("other.py")) == 1


def test_those_of_the_editor_go_before_and_add_up(started: Opened, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.torchleak]\nselect = ["TLK4"]\nextend-ignore = ["TLK402"]\n')
    editor = started(None, {"debounce": 0, "extend-ignore": ["TLK401"]})
    editor.open("leak.py", LEAK)
    assert editor.shown() == []
    editor.send("workspace/didChangeConfiguration", {"settings": {"torchleak": {"debounce": 0}}})
    assert len(editor.shown()) == 1
    editor.send("workspace/didChangeConfiguration", {"settings": {"torchleak": {"debounce": 0}}})
    assert editor.idle() == []
    terms = editor.server.session.checker.policies.of(str(tmp_path / "leak.py"))
    assert terms.folder == str(tmp_path)


def test_they_are_asked_for(rich: Editor) -> None:
    rich.open("leak.py", LEAK)
    rich.shown()
    rich.answers["workspace/configuration"] = [{"ignore": ["TLK4"]}, None]
    rich.send("workspace/didChangeConfiguration", {"settings": None})
    assert rich.shown() == []


def test_what_is_wrong_is_said_once_and_the_rest_holds(editor: Editor, tmp_path: Path) -> None:
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.torchleak]\nignore = ["TLK401"]\n')
    editor.open("leak.py", LEAK)
    assert editor.shown() == []
    settings.write_text("[tool.torchleak]\nignore = 3\n")
    editor.save("leak.py")
    assert "ignore: expected a list" in editor.said()
    assert editor.shown() == []  # the last good ones
    settings.write_text("[tool.torchleak]\nignore = 3\n\n")
    editor.save("leak.py")
    assert not [each for each in editor.idle() if each["method"] == "window/showMessage"]
    settings.write_text("")
    editor.save("leak.py")
    assert [each for each in editor.idle() if each["params"].get("diagnostics")]


def test_what_the_editor_says_wrong_is_left_out(started: Opened, tmp_path: Path) -> None:
    editor = started(None, {"debounce": 0, "ignore": ["TLK77"]})
    editor.open("leak.py", LEAK)
    assert "no rule begins with 'TLK77'" in editor.said()
    assert len(editor.shown()) == 1
    editor.send("workspace/didChangeConfiguration", {"settings": {"torchleak": {"ignroe": 3}}})
    assert "did you mean" in editor.said()


def test_without_any_that_hold_the_defaults_do(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "pyproject.toml").write_text("[tool.torchleak]\nbaseline = 'gone.json'\n")
    terms = Policies(told.append).of(str(tmp_path / "x.py"))
    assert "gone.json" in told[0]
    assert terms.policy.takes("x.py")("TLK401")
    assert not terms.leaves_out("/anything")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ({"debounce": "1"}, "debounce: '1' is no int"),
        ({"run": "never"}, "run: expected one of type, save"),
        ({"isolate": True}, "no setting is called 'isolate'; did you mean"),
    ],
)
def test_what_an_editor_cannot_say(raw: Object, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Wishes(raw)


def test_what_an_editor_can_say() -> None:
    wishes = Wishes({"debounce": -5, "config": "x.toml", "isolated": True, "run": "save", "select": None})
    assert (wishes.debounce, wishes.config, wishes.isolated, wishes.run, wishes.values) == (
        0,
        "x.toml",
        True,
        "save",
        {},
    )
    assert Wishes(None) == Wishes({}) != 3
    assert plain({"torchleak": 3}) == plain(None) == plain({"client": {}, "trace": {}}) == {}
    assert plain({"select": []}) == {"select": []}


def test_the_extension_of_vs_code_has_all_settings_and_no_others() -> None:
    package = json.loads((ROOT / "editors/vscode/package.json").read_text())
    names = {name.removeprefix("torchleak.") for name in package["contributes"]["configuration"]["properties"]}
    assert names == {option.name for option in SETTINGS} | set(OWN) | {"client.command"}
    assert package["version"] == __version__


def test_a_file_that_the_editor_names(started: Opened, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[tool.torchleak]\nignore = ["TLK4"]\n')
    editor = started(None, {**QUICK, "config": "mine.toml"})
    editor.open("leak.py", LEAK)
    assert editor.shown() == []


def test_each_folder_has_its_own(started: Opened, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "pyproject.toml").write_text('[tool.torchleak]\nignore = ["TLK4"]\n')
    folders = [{"uri": (tmp_path / name).as_uri(), "name": name} for name in ("one", "two")]
    editor = started(RICH, workspaceFolders=folders)
    editor.answers["workspace/configuration"] = [QUICK, None, {"ignore": ["TLK401"]}, None]
    editor.send("workspace/didChangeConfiguration", {"settings": None})
    editor.idle()
    for name in ("one/leak.py", "two/leak.py"):
        editor.open(name, LEAK)
        assert editor.shown(name) == []
    editor.open("three/leak.py", LEAK)
    assert len(editor.shown("three/leak.py")) == 1
    event = {"added": [{"uri": (tmp_path / "three").as_uri(), "name": "three"}], "removed": [folders[0]]}
    editor.send("workspace/didChangeWorkspaceFolders", {"event": event})
    editor.idle()
    assert editor.server.session.checker.policies.folders == [str(tmp_path / "two"), str(tmp_path / "three")]


def test_folders_of_an_editor_that_is_not_asked(editor: Editor, tmp_path: Path) -> None:
    event = {"added": [{"uri": "untitled:x", "name": "x"}], "removed": [{"uri": tmp_path.as_uri(), "name": "y"}]}
    editor.send("workspace/didChangeWorkspaceFolders", {"event": event})
    editor.idle()
    assert editor.server.session.checker.policies.folders == []


def test_the_baseline_counts(editor: Editor, tmp_path: Path) -> None:
    from flake8_torchleak.shells.cli import main

    (tmp_path / "leak.py").write_text(LEAK)
    assert main(["baseline", "write", "--isolated", "--baseline", str(tmp_path / "old.json"), str(tmp_path)]) == 0
    (tmp_path / "pyproject.toml").write_text("[tool.torchleak]\nbaseline = 'old.json'\n")
    editor.open("leak.py", LEAK)
    assert editor.shown() == []
    editor.open("new.py", LEAK)
    assert len(editor.shown("new.py")) == 1


def test_what_is_excluded_is_not_checked(editor: Editor, tmp_path: Path) -> None:
    editor.open(".venv/lib/leak.py", LEAK)
    assert editor.shown(".venv/lib/leak.py") == []
    assert editor.actions(8, ".venv/lib/leak.py") == []


def test_what_can_be_fixed_is_what_is_looked_for_now(tmp_path: Path) -> None:
    settings, leak = tmp_path / "pyproject.toml", tmp_path / "leak.py"
    leak.write_text(LEAK)
    checker, view = Checker(print), View(leak.as_uri(), LEAK, "utf-16", 1)
    for table, codes in (('ignore = ["TLK4"]', []), ("", ["TLK401"]), ('ignore = ["TLK401"]', [])):
        settings.write_text(f"[tool.torchleak]\n{table}\n")
        checker.policies.forget()
        assert [each.code for each in checker.fixable(view)] == codes
