"""Through the real flake8, in a process of its own: what users of the plugin see."""

from __future__ import annotations

import argparse
import ast
import gc
from functools import partial
from pathlib import Path

import pytest
from flake8.exceptions import ExecutionError
from flake8.main.application import Application
from flake8.options.manager import OptionManager

from flake8_torchleak.config import OPTIONS, Config, Option
from flake8_torchleak.shells.flake8_plugin import TorchLeak
from tests.conftest import LEAK, flake8, python, torchleak

SELECT = "--extend-ignore=E,W,F,C"


def codes(output: bytes) -> list[str]:
    """The codes that flake8 printed, in order."""
    return [line.split()[1] for line in output.decode().splitlines()]


def test_a_finding_has_flake8s_place_and_code(leak: Path) -> None:
    run = flake8(SELECT, "leak.py", cwd=leak)
    assert run.stdout.decode().startswith("leak.py:9:")
    assert codes(run.stdout) == ["TLK401"]
    assert (run.returncode, run.stderr) == (1, b"")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="all", marks=[pytest.mark.long, pytest.mark.watched]),
        pytest.param([SELECT, "-"], id="stdin"),
        pytest.param(["--no-such-option"], id="wrong", marks=[pytest.mark.long, pytest.mark.watched]),
    ],
)
def test_a_forked_process_says_what_a_new_one_does(arguments: list[str], leak: Path) -> None:
    """What these tests start is mostly forked, which costs a tenth: it is the same for all that."""
    text = LEAK.encode()
    forked = flake8(*arguments, cwd=leak, stdin=text)
    new = python("-m", "flake8", "--jobs=1", *arguments, cwd=leak, stdin=text)
    assert (forked.stdout, forked.stderr, forked.returncode) == (new.stdout, new.stderr, new.returncode)
    assert forked.returncode == (2 if "--no-such-option" in arguments else 1)
    told = torchleak("check", "--no-cache", "-", cwd=leak, stdin=text)
    alone = python("-m", "flake8_torchleak", "check", "--no-cache", "-", cwd=leak, stdin=text)
    assert (told.stdout, told.stderr, told.returncode) == (alone.stdout, alone.stderr, alone.returncode)


def test_the_version_is_listed(tmp_path: Path) -> None:
    assert b"flake8-torchleak: 0." in flake8("--version", cwd=tmp_path).stdout


def test_noqa_hides_it_and_for_another_code_does_not(tmp_path: Path) -> None:
    comments = ["# noqa", "# noqa: TLK401", "# NOQA:TLK4", "# noqa: E501, TLK4", "# noqa: TLK402"]
    for number, comment in enumerate(comments):
        (tmp_path / f"leak{number}.py").write_text(LEAK.replace("+= loss", f"+= loss  {comment}"))
    shown = flake8(SELECT, ".", cwd=tmp_path).stdout
    assert shown.startswith(b"./leak4.py:9:")
    assert codes(shown) == ["TLK401"]


LATER = partial(pytest.param, marks=[pytest.mark.long, pytest.mark.watched])
"""Like its neighbours; a process of flake8 each."""


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--select=TLK4"], ["TLK401"]),
        LATER(["--select=TLK4", "--ignore=TLK402"], ["TLK401"]),
        LATER(["--select=TLK1"], []),
        (["--extend-ignore=TLK401,E,W,F,C"], []),
        LATER(["--per-file-ignores=leak.py:TLK4", SELECT], []),
        (["--per-file-ignores=other.py:TLK4", SELECT], ["TLK401"]),
    ],
)
def test_selection_is_flake8s_own(leak: Path, arguments: list[str], found: list[str]) -> None:
    assert codes(flake8(*arguments, "leak.py", cwd=leak).stdout) == found


LOCAL = """\
[flake8:local-plugins]
extension =
    TLK9 = nine:Nine
paths = .
"""


@pytest.mark.parametrize(
    ("arguments", "found"),
    [([], []), (["--extend-select=TLK9"], ["TLK999"]), (["--select=TLK9"], ["TLK999"]), (["--select=TLK"], ["TLK999"])],
)
def test_opinionated_rules_are_off_until_asked_for(tmp_path: Path, arguments: list[str], found: list[str]) -> None:
    # A rule of the test's own, so that it does not hang on what the real ones find.
    (tmp_path / "nine.py").write_text(
        "class Nine:\n    def __init__(self, tree): pass\n    def run(self): yield 1, 0, 'TLK999 opinion', type(self)\n"
    )
    (tmp_path / "empty.py").write_text("")
    (tmp_path / ".flake8").write_text(LOCAL)
    assert codes(flake8(*arguments, "empty.py", cwd=tmp_path).stdout) == found


def test_a_second_plugin_with_our_options_is_one_line(leak: Path) -> None:
    (leak / "nine.py").write_text("from flake8_torchleak.shells.flake8_plugin import TorchLeak as Nine\n")
    (leak / ".flake8").write_text(LOCAL)
    lines = flake8("leak.py", cwd=leak).stdout.decode().splitlines()
    assert len(lines) == 2
    assert "another plugin has an option of the same name" in lines[1]


def test_the_default_ignore_is_extended() -> None:
    manager = OptionManager(version="7", plugin_versions="", parents=[], formatter_names=["default"])
    TorchLeak.add_options(manager)
    assert manager.extended_default_ignore == ["TLK9"]
    text = manager.parser.format_help()
    assert all(f"--{option.name}" in text for option in OPTIONS)


def test_unsaved_text_on_stdin_is_what_is_checked(leak: Path) -> None:
    # The file of that name on disk leaks on line 9, the text in the editor on line 11.
    run = flake8(SELECT, "--stdin-display-name=leak.py", "-", cwd=leak, stdin=b"\n\n" + LEAK.encode())
    assert run.stdout.decode().startswith("leak.py:11:")
    repaired = LEAK.replace("+= loss", "+= loss.detach()").encode()
    assert flake8(SELECT, "--stdin-display-name=leak.py", "-", cwd=leak, stdin=repaired).stdout == b""


def test_options_come_from_the_ini_file(leak: Path) -> None:
    (leak / ".flake8").write_text("[flake8]\nloss-names = first,\n    second\nmin-literal = 20\nassume-workers = no\n")
    assert codes(flake8(SELECT, "leak.py", cwd=leak).stdout) == ["TLK401"]


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ('dataset-bases = ["mylib.A", "B"]', "is not a name; in an ini file"),
        ("min-literal = many", "expected a positive whole number, not 'many'"),
        ("min-literal = 0", "expected a positive whole number, not '0'"),
        ("assume-workers = maybe", "expected one of auto, yes, no, not 'maybe'"),
    ],
)
def test_a_wrong_setting_stops_the_run_with_one_line(leak: Path, setting: str, error: str) -> None:
    (leak / ".flake8").write_text(f"[flake8]\n{setting}\n")
    run = flake8(SELECT, "leak.py", cwd=leak)
    lines = (run.stdout + run.stderr).decode().splitlines()
    assert run.returncode == 1
    assert lines[0].startswith("There was a critical error")
    assert lines[1].startswith(f"flake8-torchleak: {setting.partition(' ')[0]}: ")
    assert error in lines[1]
    assert len(lines) == 2


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
@pytest.mark.parametrize("written", ['["a"]', "['yes']", "[5]", '[\n    "a",\n    "b",\n    ]', "[]"])
def test_a_toml_list_in_an_ini_file_is_refused(
    tmp_path: Path, option: Option, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".flake8").write_text(f"[flake8]\n{option.name} = {written}\n")
    application = Application()
    with pytest.raises(ExecutionError, match=rf"^flake8-torchleak: {option.name}: .*"):
        application.initialize(["leak.py"])


def test_a_toml_list_is_refused_in_a_process_of_its_own(leak: Path) -> None:
    (leak / "setup.cfg").write_text('[flake8]\nno-grad-decorators = [\n    "mylib.frozen",\n    ]\n')
    run = flake8(SELECT, "leak.py", cwd=leak)
    assert run.returncode == 1
    told = (run.stdout + run.stderr).decode().splitlines()
    assert len(told) == 2
    assert told[1].startswith("flake8-torchleak: no-grad-decorators: '[' is not a name; in an ini file")


WHOLE_FILE = {
    "plain": ("# flake8: noqa", True),
    # Codes behind it do not count, in flake8 7.0 as in 7.5.
    "this_code": ("# flake8: noqa: TLK401", True),
    "another_code": ("# flake8: noqa: E501", True),
    "behind_code": ("x = 1  # flake8: noqa", False),
    "another_word": ("# flake8: no-qa", False),
}


def test_a_comment_for_the_whole_file_means_the_same_in_both(tmp_path: Path) -> None:
    for name, (comment, _) in WHOLE_FILE.items():
        (tmp_path / f"{name}.py").write_text(f"{LEAK}{comment}\n")
    loud = sorted(f"{name}.py" for name, (_, silent) in WHOLE_FILE.items() if not silent)
    for run in (flake8(SELECT, ".", cwd=tmp_path), torchleak("check", "--output-format=concise", ".", cwd=tmp_path)):
        lines = [line for line in run.stdout.decode().splitlines() if " TLK401 " in line]
        assert sorted(line.removeprefix("./").partition(":")[0] for line in lines) == loud


def test_parsed_options_reach_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchLeak, "config", Config())
    monkeypatch.setattr(TorchLeak, "wanted", None)
    values: dict[str, object] = {option.field: None for option in OPTIONS}
    values |= {"loss_names": ["a.b"], "min_literal": "7"}
    values |= dict.fromkeys(["select", "extend_select", "ignore", "extend_ignore"])
    values |= {"extended_default_select": ["TLK"], "extended_default_ignore": ["TLK9"]}
    TorchLeak.parse_options(argparse.Namespace(**values))
    assert TorchLeak.config == Config(loss_names=("a.b",), min_literal=7)
    assert TorchLeak.wanted is not None
    assert [TorchLeak.wanted(code) for code in ("TLK401", "TLK901")] == [True, False]
    values["assume_workers"] = "perhaps"
    with pytest.raises(ExecutionError, match="assume-workers"):
        TorchLeak.parse_options(argparse.Namespace(**values))


def test_a_clash_of_options_is_one_line() -> None:
    manager = OptionManager(version="7", plugin_versions="", parents=[], formatter_names=["default"])
    manager.add_option("--min-literal")
    with pytest.raises(ExecutionError, match=r"flake8-torchleak: another plugin .* --min-literal"):
        TorchLeak.add_options(manager)


def test_run_yields_what_flake8_takes() -> None:
    plugin = TorchLeak(ast.parse(LEAK), LEAK.splitlines(keepends=True), "leak.py")
    ((line, column, text, kind),) = [each for each in plugin.run() if not each[2].startswith("TLK9")]
    assert (line, kind) == (9, TorchLeak)
    assert LEAK.splitlines()[line - 1][column:].startswith(("total", "loss"))
    assert text.startswith("TLK401 ")
    assert "\n" not in text


def test_the_collector_is_left_as_it_was() -> None:
    assert gc.isenabled()
    list(TorchLeak(ast.parse(LEAK), [LEAK], "leak.py").run())
    assert gc.isenabled()
    gc.disable()
    try:
        list(TorchLeak(ast.parse(LEAK), [LEAK], "leak.py").run())
        assert not gc.isenabled()
    finally:
        gc.enable()
