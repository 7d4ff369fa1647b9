"""What somebody who has just come meets: the README's commands, a command misspelt, a folder with nothing in it."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from flake8_torchleak.rule import all_rules
from flake8_torchleak.shells import fold
from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK, ROOT, torchleak

Capture = pytest.CaptureFixture[str]

BROKEN = "def f(:\n"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# -- the README's first command ------------------------------------------------------------------------------------


def first_command() -> list[str]:
    """The arguments of `torchleak` in the first command of the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"<!-- ci: check -->\n```sh\n.*torchleak (check .*?) \|\|.*\n```", readme)
    return str(command).split()


@pytest.mark.long
@pytest.mark.watched
def test_the_first_command_shows_a_screenful() -> None:
    run = torchleak(*first_command(), cwd=ROOT)
    assert (run.returncode, run.stderr) == (1, b"")
    lines = run.stdout.decode().splitlines()
    assert len(lines) <= 70
    shown = [match[1] for line in lines if (match := re.match(r"fixtures/\S+:\d+:\d+: (TLK\d+) ", line))]
    assert len(shown) == len(set(shown)) == 3, "three findings, each of another rule"
    counts = dict(re.findall(r"^ +(\d+) (TLK\d+) [a-z-]+$", "\n".join(lines), re.MULTILINE)[::-1])
    counted = {code for line in lines for _, code in re.findall(r"^ +(\d+) (TLK\d+) ", line)}
    assert counts
    assert counted == {each.code for each in all_rules() if each.default}
    total = sum(int(count) for line in lines for count, _ in re.findall(r"^ +(\d+) (TLK\d+) ", line))
    assert f"{total - 3} more findings not shown: leave out --show to see all." in lines
    assert lines[-1].startswith(f"{total} findings and ")


def test_what_is_shown_is_the_worst_and_of_many_rules(tmp_path: Path, capsys: Capture) -> None:
    after = "    for x, y in loader:\n        losses.append(model(x).mean())\n    return total\n"
    text = LEAK.replace("    return total\n", after).replace("total = 0", "total, losses = 0, []")
    (tmp_path / "a.py").write_text(LEAK + text.replace("def train", "def other"))
    (tmp_path / "b.py").write_text(LEAK)

    def heads(*arguments: str) -> list[str]:
        assert main(["check", "--output-format=concise", *arguments]) == 1
        return [line.partition(": ")[0] + line.partition(": ")[2][:7] for line in capsys.readouterr().out.splitlines()]

    every = ["a.py:9:9TLK401 ", "a.py:19:9TLK401 ", "a.py:21:9TLK402 ", "b.py:9:9TLK401 "]
    assert heads() == every
    # TLK402 keeps activations, which is worse than what TLK401 keeps; they come in order of place all the same.
    assert heads("--show=1")[:1] == every[2:3]
    assert heads("--show=2")[:2] == [every[0], every[2]]
    assert heads("--show=3")[:3] == every[:3]
    assert heads("--show=4") == heads("--show=9") == every
    assert main(["check", "--show=0"]) == 1
    assert capsys.readouterr().out.startswith("4 more findings not shown: leave out --show to see all.\n")


@pytest.mark.parametrize("arguments", [["--show=-1"], ["--show=3", "--output-format=json"]])
def test_a_count_is_for_people(arguments: list[str], capsys: Capture) -> None:
    assert main(["check", *arguments]) == 2
    assert capsys.readouterr().err.startswith("torchleak: error: --show takes a number, and works with the formats")


# -- commands ------------------------------------------------------------------------------------------------------

NAMED = "torchleak: error: name a command: "


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            [],
            f"{NAMED}check, baseline, cache, config, explain, rules, run, scan, server, completion;"
            " `torchleak check .` is the usual one, `torchleak --help`",
        ),
        (["--quiet"], f"{NAMED}check,"),
        (["chek", "src"], "there is no command 'chek'; did you mean `torchleak check`?"),
        (
            ["zzz"],
            "there is no command 'zzz'; there are check, baseline, cache, config, explain, rules, run, scan, server,"
            " completion",
        ),
        (["here"], "'here' is no command; did you mean `torchleak check here`?"),
        (["baseline"], f"{NAMED}write, prune; `torchleak baseline write .` is the usual one"),
        (["baseline", "wite"], "there is no command 'wite'; did you mean `torchleak baseline write`?"),
    ],
)
def test_a_command_that_is_none(arguments: list[str], said: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert said in shown.err


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["baseline", "--help"], ["--version"], ["--help", "zzz"]])
def test_what_asks_for_help_gets_it(arguments: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 0
    assert "torchleak" in capsys.readouterr().out


# -- files that are not checked --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("import torch\n" + BROKEN, 2),
        ("import os, torch.nn as nn\n" + BROKEN, 2),
        ("    from torchvision import models\n" + BROKEN, 2),
        ("x = 1\r\rimport os as o , lightning\r" + BROKEN, 2),
        ("from torch.utils.data import Dataset\n" + BROKEN, 2),
        ("for x in train_loader:\n    loss.backward()\n" + BROKEN, 2),
        ("import torch\nx = 1\n", 0),
        ("import os\n" + BROKEN, 0),
        ("import torchless, untorch.torch\n" + BROKEN, 0),
        ("# import torch\n'''import torch'''\n" + BROKEN, 0),
    ],
)
@pytest.mark.parametrize("path", ["a.py", "."])
def test_a_file_that_imports_torch_must_parse(
    text: str, status: int, path: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "a.py").write_text(text, newline="")
    for arguments in ([], ["--diff"]):
        assert main(["check", path, *arguments]) == status
        shown = capsys.readouterr()
        assert shown.err.count("error: a.py:") == (status == 2)
        assert (": syntax error: " in shown.err) is (status == 2)
        assert "Nothing was checked." in shown.out + shown.err or status == 0


@pytest.mark.parametrize(
    "command", [["check"], ["check", "--fix"], ["baseline", "write"], ["check", "--output-format=sarif"]], ids=str
)
def test_a_run_that_checks_nothing_is_an_error(command: list[str], tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "text.txt").write_text(LEAK)
    assert main([*command, "empty"]) == 2
    said = "error: empty: no Python file or notebook to check; `torchleak config` shows what `exclude` is\n"
    assert capsys.readouterr().err == f"torchleak: {said}"


def test_all_that_there_is_is_excluded(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "gen").mkdir()
    (tmp_path / "gen" / "leak.py").write_text(LEAK)
    assert main(["check", "--exclude=gen/"]) == 2
    assert "error: .: no Python file" in capsys.readouterr().err
    # Whoever hands over a list of files, as pre-commit does, need not know which of them count.
    assert main(["check", "--exclude=gen/", "--force-exclude", "gen/leak.py"]) == 0
    assert capsys.readouterr() == ("No findings, 0 files checked.\n", "")
    assert main(["check", "--exclude=gen/", "--force-exclude", "gen/leak.py", "gone"]) == 2
    assert main(["check", "--exclude=gen/", "gen/leak.py"]) == 1


# -- lines on a terminal -------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, columns: int, *arguments: str) -> list[str]:
    """What the command shows there."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    main(list(arguments))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("arguments", [["check", "a.py"], ["rules"], ["explain", "TLK101"], ["explain", "TLK501"]])
def test_lines_break_between_words(
    arguments: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text(LEAK)
    main(arguments)
    wide = capsys.readouterr().out
    assert max(map(len, wide.splitlines())) > 80
    folded = on_terminal(monkeypatch, 80, *arguments)
    assert [line for line in folded if len(line) > 80 and not line.startswith("    ")] == []
    assert "".join(folded).replace(" ", "") == "".join(wide.split("\n")).replace(" ", "")
    # As the user has it: not at all below a certain width, and none where all lines fit.
    assert on_terminal(monkeypatch, 20, *arguments) == on_terminal(monkeypatch, 500, *arguments) == wide.splitlines()


def test_a_folded_line_keeps_its_words_and_its_begin() -> None:
    line = "    note: one two-three " + "x" * 50 + " four\n"
    assert fold.folded(line, 40, "  ") == "    note: one two-three\n      " + "x" * 50 + "\n      four\n"
    assert fold.folded(line, 0) == line
    assert fold.folded("short", 80) == "short"


def test_paragraphs_are_filled_and_code_is_not() -> None:
    word = "word " * 15
    code = "    x = " + "1 + " * 30 + "1"
    page = (
        f"TLK1 x\ndefault: on\nfix: no\n\n{word}\nmore\n\nLeaks\n-----\n{code}\n\nWhy\n---\nOne\ntwo {word}\n- a\n- b\n"
    )
    assert fold.reflowed(page, 60).splitlines() == [
        *("TLK1 x", "default: on", "fix: no", ""),
        *(("word " * 12).strip(), "word word word  more", ""),
        *("Leaks", "-----", code, "", "Why", "---"),
        *("One two " + ("word " * 10).strip(), ("word " * 5).strip(), "- a", "- b"),
    ]
