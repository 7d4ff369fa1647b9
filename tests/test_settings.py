"""`[tool.torchleak]`, the command line, and `torchleak config`: which settings are in force, and from where."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from flake8_torchleak.shells import pyproject
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.settings import SETTINGS
from tests.conftest import LEAK, flake8, torchleak
from tests.test_files import plant

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()


def in_force(*arguments: str, cwd: Path) -> dict[str, tuple[object, list[str]]]:
    """What `torchleak config` lists: value and origins by name."""
    run = torchleak("config", "--output-format=json", *arguments, cwd=cwd)
    assert (run.returncode, run.stderr) == (0, b"")
    return {name: (each["value"], each["from"]) for name, each in json.loads(run.stdout).items()}


def leaks(*arguments: str, capsys: Capture) -> list[str]:
    """The files in which `check` finds something."""
    assert main(["check", *arguments, "--output-format=json"]) in (0, 1)
    return [row["path"] for row in json.loads(capsys.readouterr().out)]


def refused(*arguments: str, capsys: Capture) -> str:
    """What the command says of what is wrong: one line, and nothing else."""
    try:
        status: object = main(arguments)
    except SystemExit as exit:
        status = exit.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("torchleak: error: ")
    assert err.count("\n") == 1
    return err


def test_refused_in_a_process_of_its_own(leak: Path) -> None:
    for arguments in (["check", "--ignroe=TLK4"], ["check", "--select=TLK4O1"], ["chekc"], []):
        run = torchleak(*arguments, cwd=leak)
        assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (2, b"", 1)
        assert run.stderr.startswith(b"torchleak: error: ")


# Where settings come from

FILE = """\
[tool.torchleak]
select = ["TLK4"]
extend-select = ["TLK901"]
exclude = "gen/, old"
min-literal = 7
force-exclude = true
baseline = "base.json"
[tool.torchleak.per-file-ignores]
"tests/*" = ["TLK401", "TLK402"]
'日本/"x".py' = "TLK1"
"""


def test_every_setting_and_its_origin(tmp_path: Path) -> None:
    file = str(tmp_path / "pyproject.toml")
    Path(file).write_text(FILE, encoding="utf-8")
    shown = in_force("--select=TLK1", "--extend-select=TLK902", "--min-literal=9", "--no-force-exclude", cwd=tmp_path)
    assert list(shown) == [option.name for option in SETTINGS]
    assert shown["select"] == (["TLK1"], ["command line"])
    assert shown["extend-select"] == (["TLK901", "TLK902"], [file, "command line"])
    assert shown["ignore"] == ([], ["default"])
    assert shown["exclude"] == (["gen/", "old"], [file])
    assert shown["min-literal"] == (9, ["command line"])
    assert shown["force-exclude"] == (False, ["command line"])
    assert shown["baseline"] == (str(tmp_path / "base.json"), [file])
    tables = {"tests/*": ["TLK401", "TLK402"], '日本/"x".py': ["TLK1"]}
    assert shown["per-file-ignores"] == (tables, [file])
    assert shown["assume-workers"] == ("auto", ["default"])


@pytest.mark.long
@pytest.mark.watched
def test_the_text_is_toml_that_means_the_same(tmp_path: Path) -> None:
    for text in (FILE, "[tool.torchleak]\n"):
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
        run = torchleak("config", cwd=tmp_path)
        assert (run.returncode, run.stderr) == (0, b"")
        before = {name: value for name, (value, _) in in_force(cwd=tmp_path).items()}
        (tmp_path / "pyproject.toml").write_bytes(run.stdout)
        assert {name: value for name, (value, _) in in_force(cwd=tmp_path).items()} == before
    assert b"\n# baseline: not set\n" in run.stdout
    assert b"\n# select: not set\n" in run.stdout
    assert b'\nassume-workers = "auto"  # default\n' in run.stdout


def test_config_and_isolated(leak: Path, capsys: Capture) -> None:
    (leak / "pyproject.toml").write_text('[tool.torchleak]\nignore = ["TLK4"]\n')
    (leak / "sub").mkdir()
    (leak / "sub" / "other.toml").write_text('[tool.torchleak]\nper-file-ignores = {"/*.py" = ["TLK4"]}\n')
    assert leaks(capsys=capsys) == []
    assert leaks("--isolated", capsys=capsys) == ["leak.py"]
    # Its patterns are relative to its own folder, which leak.py does not lie in.
    assert leaks("--config=sub/other.toml", capsys=capsys) == ["leak.py"]
    (leak / "sub" / "leak.py").write_text(LEAK)
    assert leaks("--config=sub/other.toml", capsys=capsys) == ["leak.py"]
    assert leaks(capsys=capsys) == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--config=gone.toml"], "gone.toml: No such file or directory\n"),
        (["--config=empty.toml"], "empty.toml: there is no table [tool.torchleak]\n"),
        (["--config=bytes.toml"], "bytes.toml: 'utf-8' codec can't decode"),
        (["--config=other.toml"], "other.toml: there is no table [tool.torchleak]\n"),
        (["--config=tool.toml"], "tool.toml: there is no table [tool.torchleak]\n"),
        (["--config=."], ".: Is a directory\n"),
        (["--config=x", "--isolated"], "argument --isolated: not allowed with argument --config\n"),
        (["--ignroe=TLK4"], "there is no argument --ignroe; did you mean --ignore?\n"),
        (["--fxi"], "there is no argument --fxi; did you mean --fix?\n"),
        (["--@"], "there is no argument --@\n"),
        (["--assume-workers=x"], "argument --assume-workers: invalid choice: 'x'"),
        (["--exclude=[a"], "exclude: '[a' is not a pattern; .gitignore files have the same\n"),
        (["--exclude=#a"], "exclude: '#a' is not a pattern"),
        (["--exclude=a\nb"], "exclude: 'a\\nb' is not a pattern"),
        (["--per-file-ignores=a.py"], "per-file-ignores: expected PATTERN:CODES PATTERN:CODES ..., not 'a.py'\n"),
        (["--per-file-ignores=a.py:"], "expected PATTERN:CODES"),
        (["--per-file-ignores=:TLK1"], "expected PATTERN:CODES"),
        (["--per-file-ignores=a.py::TLK1"], "expected PATTERN:CODES"),
        (["--per-file-ignores=a.py:tlk1"], "expected PATTERN:CODES"),
        (["--per-file-ignores=a.py:TLK1:TLK2"], "expected PATTERN:CODES"),
        (["--per-file-ignores=a.py:E501"], "per-file-ignores: no rule begins with 'E501'"),
        (["--per-file-ignores=!a.py:TLK1"], "per-file-ignores: '!a.py': no pattern before it leaves anything out\n"),
        (["--unfixable=TLK4O1"], "unfixable: no rule begins with 'TLK4O1'; did you mean TLK401 (accumulated-graph)?\n"),
        (["--select=["], "select: no rule begins with '['"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_one_line(
    leak: Path, arguments: list[str], error: str, capsys: Capture
) -> None:
    (leak / "empty.toml").write_text("")
    (leak / "other.toml").write_text("[tool.other]\ntorchleak = 1\n")
    (leak / "tool.toml").write_text("tool = 'torchleak'\n")
    (leak / "bytes.toml").write_bytes(b"# torchleak \xff\n")
    told = refused("check", *arguments, capsys=capsys)
    assert error in told


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[tool.torchleak]\n\nignroe = []\n", "3: no setting is called 'ignroe'; did you mean ignore?"),
        ("# ignroe\ntool = {torchleak = {'ignroe' = []}}\n", "2: no setting is called 'ignroe'"),
        ("[tool]\nx = 'ignroe = 3'\n\ntorchleak.ignroe = 1\n", "4: no setting is called 'ignroe'"),
        ("[tool.a]\nn = 0x10\n[tool.torchleak]\nx = 1\n", "4: no setting is called 'x'"),
        ('[tool.torchleak]\n"\\u0061b" = 1\n', "pyproject.toml: no setting is called 'ab'"),
        ("[tool.torchleak]\nselect = ['TLK4O1']\n", "2: select: no rule begins with 'TLK4O1'; did you mean TLK401"),
        ("[tool.torchleak]\nselect = []\n", "2: select: name at least one code or prefix"),
        ("[tool.torchleak]\nignore = ['TLK1,TLK2']\n", "2: ignore: no rule begins with 'TLK1,TLK2'"),
        ("[tool.torchleak]\nexclude = 3\n", "2: exclude: expected a list of strings, not 3"),
        ("[tool.torchleak]\nexclude = ['[a']\n", "2: exclude: '[a' is not a pattern"),
        ("[tool.torchleak]\nforce-exclude = 'yes'\n", "2: force-exclude: expected true or false, not 'yes'"),
        ("[tool.torchleak]\nbaseline = []\n", "2: baseline: expected a file name, not []"),
        ("[tool.torchleak]\nfollow-imports = true\n", "2: follow-imports: expected one of yes, no, not True"),
        ("[tool.torchleak]\nmin-literal = 0\n", "2: min-literal: expected a positive whole number, not 0"),
        ("[tool.torchleak]\nper-file-ignores = 3\n", "2: per-file-ignores: expected a table of patterns"),
        (
            "[tool.torchleak]\n\n[tool.torchleak.per-file-ignores]\n'!a' = 'TLK4'\n",
            "3: per-file-ignores: '!a': no pattern before it leaves anything out",
        ),
        ("[tool.torchleak]\nper-file-ignores = {a = 3}\n", "2: per-file-ignores: expected a list of strings, not 3"),
        ("[tool.torchleak]\nselect = [\n", "(at end of document)"),
    ],
)
def test_what_is_wrong_in_the_file_is_one_line_with_its_place(
    leak: Path, text: str, error: str, capsys: Capture
) -> None:
    (leak / "pyproject.toml").write_text(text)
    for command in ("check", "config"):
        told = refused(command, capsys=capsys)
        assert told.startswith(f"torchleak: error: {leak / 'pyproject.toml'}:")
        assert error in told


def test_the_place_of_a_name_that_stands_in_many_places(tmp_path: Path) -> None:
    text = "# select\n[tool.select]\nselect = 1\n[tool.torchleak]\nextend-select = ['select']\nselect = ['TLK1']\n"
    (tmp_path / "pyproject.toml").write_text(text)
    table = pyproject.nearest(str(tmp_path), ["select", "extend-select"])
    assert table.where("select") == f"{tmp_path / 'pyproject.toml'}:6"
    assert table.where("extend-select") == f"{tmp_path / 'pyproject.toml'}:5"


# Files


def test_exclude(tmp_path: Path, capsys: Capture) -> None:
    for name in ("a.py", "gen/b.py", "gen/keep/c.py", "sub/gen/d.py", "build/e.py", ".h/f.py", "sub/old_g.py"):
        plant(tmp_path, name)
        (tmp_path / name).write_text(LEAK)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "pyvenv.cfg").write_text("")
    (tmp_path / "odd" / "g.py").write_text(LEAK)
    assert leaks(capsys=capsys) == ["a.py", "gen/b.py", "gen/keep/c.py", "sub/gen/d.py", "sub/old_g.py"]
    assert leaks("--extend-exclude=/gen,old_*", capsys=capsys) == ["a.py", "sub/gen/d.py"]
    assert leaks("--extend-exclude=./gen/", "--extend-exclude=sub", capsys=capsys) == ["a.py"]
    assert leaks("--extend-exclude=gen/*,!gen/keep/,!build/", capsys=capsys) == [
        *("a.py", "build/e.py", "gen/keep/c.py", "sub/gen/d.py", "sub/old_g.py")
    ]
    # It takes the place of the default, but virtual environments are nobody's code.
    assert leaks("--exclude=gen", capsys=capsys) == [".h/f.py", "a.py", "build/e.py", "sub/old_g.py"]
    assert "odd/g.py" not in leaks("--exclude=", capsys=capsys)
    assert len(leaks("--exclude=", capsys=capsys)) == 7


def test_what_is_named_is_checked_unless_forced(tmp_path: Path, capsys: Capture) -> None:
    for name in ("a.py", "gen/sub/b.py", ".h/c.py"):
        plant(tmp_path, name)
        (tmp_path / name).write_text(LEAK)
    (tmp_path / "pyproject.toml").write_text("[tool.torchleak]\nextend-exclude = ['gen']\n")
    paths = ("a.py", "gen/sub/b.py", ".h/c.py", "gen/sub")
    assert leaks(*paths, capsys=capsys) == ["a.py", "gen/sub/b.py", ".h/c.py"]
    assert leaks(*paths, "--force-exclude", capsys=capsys) == ["a.py"]
    run = torchleak("check", "-", "--force-exclude", "--stdin-filename=gen/x.py", cwd=tmp_path, stdin=LEAK.encode())
    assert run.returncode == 1
    # What the pattern's folder is called, and what it lies in, does not matter.
    inside = tmp_path / ".h"
    (inside / ".git").mkdir()
    os.chdir(inside)
    assert leaks("c.py", "--force-exclude", capsys=capsys) == ["c.py"]
    assert leaks(".", "--force-exclude", "--exclude=.h", capsys=capsys) == ["c.py"]
    assert leaks("../a.py", "--force-exclude", "--exclude=../a.py", capsys=capsys) == []


def test_patterns_are_relative_to_their_file(tmp_path: Path, capsys: Capture) -> None:
    for name in ("sub/gen/a.py", "gen/b.py", "sub/c.py"):
        plant(tmp_path, name)
        (tmp_path / name).write_text(LEAK)
    file = tmp_path / "pyproject.toml"
    file.write_text("[tool.torchleak]\nextend-exclude = ['/gen']\nper-file-ignores = {'sub/*.py' = ['TLK4']}\n")
    os.chdir("sub")
    assert leaks("..", capsys=capsys) == ["../sub/gen/a.py"]
    assert leaks("..", "--extend-exclude=/gen", capsys=capsys) == []
    assert leaks("..", "--per-file-ignores=sub/*.py:TLK4", capsys=capsys) == ["../sub/c.py", "../sub/gen/a.py"]
    assert leaks("..", "--per-file-ignores=*.py:TLK4", capsys=capsys) == []


def test_a_path_that_no_way_leads_to(leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def another_drive(*_: object) -> str:
        raise ValueError("path is on mount 'C:', start on mount 'D:'")

    monkeypatch.setattr("flake8_torchleak.shells.globs.os.path.relpath", another_drive)
    os.chdir(leak / ".git")
    assert leaks("../leak.py", capsys=capsys) == ["../leak.py"]
    assert leaks("../leak.py", "--per-file-ignores=leak.py:TLK401", capsys=capsys) == []


# Codes by file: as flake8 takes and weighs them

BY_FILE = [
    ("leak.py:TLK401", []),
    pytest.param("leak.py:TLK402", [], marks=pytest.mark.long),
    pytest.param("./leak.py:TLK4", [], marks=pytest.mark.long),
    pytest.param("leak.py:TLK4", ["--select=TLK401"], marks=[pytest.mark.long, pytest.mark.watched]),
    pytest.param("leak.py:TLK401", ["--select=TLK401"], marks=[pytest.mark.long, pytest.mark.watched]),
    ("leak.py:TLK4", ["--select=TLK4", "--extend-select=TLK401"]),
    pytest.param("other.py:TLK401", ["--ignore=TLK402"], marks=pytest.mark.long),
    ("other.py,leak.py:TLK402,TLK401", []),
    pytest.param("other.py leak.py : TLK402 TLK401", [], marks=pytest.mark.long),
    pytest.param("other.py:TLK1, leak.py:TLK401", [], marks=pytest.mark.long),
    pytest.param("l*k.py:TLK4 other.py:TLK1", [], marks=[pytest.mark.long, pytest.mark.watched]),
    pytest.param("sub/leak.py:TLK401", [], marks=[pytest.mark.long, pytest.mark.watched]),
]


@pytest.mark.parametrize(("pairs", "selection"), BY_FILE)
def test_equal_to_flake8(leak: Path, pairs: str, selection: list[str], capsys: Capture) -> None:
    arguments = [f"--per-file-ignores={pairs}", *selection]
    run = flake8("--extend-ignore=E,W,F,C", *arguments, "leak.py", cwd=leak)
    assert run.stderr == b""
    assert leaks(*arguments, "leak.py", capsys=capsys) == ["leak.py"] * (b" TLK401 " in run.stdout)


def test_stdin_has_its_name(leak: Path) -> None:
    arguments = ("check", "-", "--per-file-ignores=tests/:TLK401")
    assert torchleak(*arguments, "--stdin-filename=tests/a.py", cwd=leak, stdin=LEAK.encode()).returncode == 0
    assert torchleak(*arguments, "--stdin-filename=a.py", cwd=leak, stdin=LEAK.encode()).returncode == 1


def test_lists_may_be_given_in_parts(leak: Path) -> None:
    shown = in_force("--ignore=TLK1", "--ignore=TLK2,TLK3", "--extend-ignore=TLK4", "--loss-names=a", cwd=leak)
    assert shown["ignore"] == (["TLK1", "TLK2", "TLK3"], ["command line"])
    assert shown["loss-names"] == (["a"], ["command line"])
    shown = in_force("--per-file-ignores=a.py:TLK1", "--per-file-ignores=b.py,a.py:TLK2", cwd=leak)
    assert shown["per-file-ignores"] == ({"a.py": ["TLK1", "TLK2"], "b.py": ["TLK2"]}, ["command line"])
    assert torchleak("check", "--extend-ignore=TLK4", cwd=leak).returncode == 0
