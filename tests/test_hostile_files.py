"""What a checkout may hold in the place of files, and where it may lead us: nothing hangs, nothing of it is written."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from flake8_torchleak import disk
from flake8_torchleak.lint import lint
from flake8_torchleak.model.importers import forget
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.gitignore import Patterns
from tests.conftest import LEAK, flake8

Capture = pytest.CaptureFixture[str]

IMPORTS = "from helper import anything\n" + LEAK
WRITER = "[tool.torchleak]\nbaseline = {}\n"


pytestmark = pytest.mark.usefixtures("never_hang")


def bound(path: Path) -> None:
    """A socket; its path may be longer than such a name can be."""
    here = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{here}/{path.name}")
    finally:
        os.close(here)


def circle(path: Path) -> None:
    """A link to itself."""
    path.symlink_to(path.name)


NO_FILES: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "socket": bound,
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "link to itself": circle,
}


@pytest.fixture(params=list(NO_FILES))
def plant(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Puts something that is no file in the place of one."""
    return NO_FILES[request.param]


def test_helpers_that_are_no_files(plant: Callable[[Path], None]) -> None:
    Path("leak.py").write_text(IMPORTS)
    plant(Path("helper.py"))
    forget()
    assert [each.code for each in lint(IMPORTS, path="leak.py")] == ["TLK401"]


def test_flake8_opens_no_helper_that_is_a_pipe() -> None:
    Path("leak.py").write_text(IMPORTS)
    os.mkfifo("helper.py")
    run = flake8("--select=TLK", "leak.py", cwd=Path())
    assert (run.returncode, run.stderr) == (1, b"")
    assert b": TLK401 " in run.stdout


def test_arguments_that_are_no_files(plant: Callable[[Path], None], capsys: Capture) -> None:
    Path("leak.py").write_text(LEAK)
    plant(Path("odd.py"))
    is_folder = os.path.isdir("odd.py")
    assert main(["check", "odd.py", "leak.py"]) == (1 if is_folder else 2)
    out, err = capsys.readouterr()
    assert "leak.py:9:" in out
    assert err.count("\n") == (0 if is_folder else 1)
    # A walk passes by all but links that lead nowhere for a reason.
    assert main(["check"]) == (
        2 if os.path.lexists("odd.py") and os.path.islink("odd.py") and not Path("odd.py").exists() else 1
    )


@pytest.mark.parametrize("name", ["setup.cfg", ".gitignore", ".git", "tox.ini", "pyvenv.cfg", "src"])
def test_names_that_mean_something(plant: Callable[[Path], None], name: str, capsys: Capture) -> None:
    Path("leak.py").write_text(IMPORTS)
    plant(Path(name))
    assert main(["check"]) == 1
    assert "leak.py:10:" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["--config=pyproject.toml"]])
def test_settings_that_are_no_file(plant: Callable[[Path], None], arguments: list[str], capsys: Capture) -> None:
    Path("leak.py").write_text(LEAK)
    plant(Path("pyproject.toml"))
    ignored = os.path.isdir("pyproject.toml") and not arguments
    assert main(["check", *arguments]) == (1 if ignored else 2)
    assert capsys.readouterr().err.count("\n") == (0 if ignored else 1)


def test_a_baseline_that_is_no_file(plant: Callable[[Path], None], capsys: Capture) -> None:
    Path("leak.py").write_text(LEAK)
    plant(Path("base.json"))
    for command in (["check", "--baseline=base.json"], ["baseline", "write", "--output=base.json"]):
        assert main(command) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith("torchleak: error: base.json: ")


def test_an_output_file_that_is_none(plant: Callable[[Path], None], capsys: Capture) -> None:
    Path("leak.py").write_text(LEAK)
    plant(Path("report"))
    assert main(["check", "--fix", "--output-file=report"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert Path("leak.py").read_text() == LEAK


def test_a_pipe_that_takes_the_place_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between looking and opening: what was opened is looked at again, and opening it has not waited."""
    os.mkfifo("pipe")
    Path("file").write_text("")
    status = os.stat("file")
    monkeypatch.setattr("os.stat", lambda *_, **__: status)
    with pytest.raises(OSError, match="is not a regular file"):
        disk.read("pipe")


def test_files_that_are_too_large(capsys: Capture) -> None:
    for name in ("huge.py", "huge.json", "pyproject.toml"):
        with open(name, "wb") as file:
            file.truncate(1 << 40)
    told = "is larger than 100,000,000 bytes\n"
    Path("leak.py").write_text(LEAK)
    assert main(["check", "--isolated"]) == 2
    out, err = capsys.readouterr()
    assert (err, "leak.py:9:" in out) == (f"torchleak: error: huge.py: {told}", True)
    assert main(["check", "--isolated", "--baseline=huge.json"]) == 2
    assert capsys.readouterr().err == f"torchleak: error: huge.json: {told}"
    assert main(["check", "leak.py"]) == 2
    assert "is larger than 1,000,000 bytes" in capsys.readouterr().err


def test_a_file_that_says_that_it_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    # As those of /proc do.
    Path("file").write_text("0123456789")
    monkeypatch.setattr(disk, "_check", lambda *_: None)
    assert disk.read("file", 10) == b"0123456789"
    with pytest.raises(OSError, match="is larger than 9 bytes"):
        disk.read("file", 9)


def test_a_file_that_may_not_be_read(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("leak.py").write_text(LEAK)
    Path("shut.py").write_text(LEAK)
    real = os.open

    def refusing(path: str, *arguments: int, **names: int) -> int:
        if str(path).endswith("shut.py"):
            raise PermissionError(13, "Permission denied")
        return real(path, *arguments, **names)

    monkeypatch.setattr("os.open", refusing)
    assert main(["check"]) == 2
    out, err = capsys.readouterr()
    assert ("leak.py:9:" in out, err) == (True, "torchleak: error: shut.py: Permission denied\n")


# Links


@pytest.mark.parametrize("repository", [False, True])
def test_a_walk_follows_no_link_out(repository: bool, tmp_path: Path) -> None:
    """Else `--fix .` would write into other projects."""
    outside = tmp_path / "outside.py"
    outside.write_text(LEAK)
    if repository:
        Path(".git").mkdir()
    Path("sub/own").mkdir(parents=True)
    Path("sub/shared.py").write_text(LEAK)
    Path("sub/link.py").symlink_to(outside)
    Path("sub/own/link.py").symlink_to("../shared.py")
    assert main(["check", "--fix", "sub"]) == 0
    assert outside.read_text() == LEAK
    # Inside of what was asked for they are as good as files.
    assert main(["check", "sub/own"]) == (0 if repository else 2)
    # Who names a link means it.
    assert main(["check", "--fix", "sub/link.py"]) == 0
    assert outside.read_text() != LEAK


def test_a_gitignore_that_is_a_link_is_none(tmp_path: Path) -> None:
    (tmp_path / "patterns").write_text("*\n")
    Path(".gitignore").symlink_to(tmp_path / "patterns")
    Path("leak.py").write_text(LEAK)
    assert main(["check"]) == 1
    Path(".git/info").mkdir(parents=True)
    # That one is the user's own, and no checkout has it.
    Path(".git/info/exclude").symlink_to(tmp_path / "patterns")
    assert main(["check"]) == 2


def test_a_report_that_may_not_be_written_is_told_first(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("leak.py").write_text(LEAK)
    Path("report").write_text("old")
    monkeypatch.setattr("os.access", lambda *_: False)
    assert main(["check", "--fix", "--output-file=report"]) == 2
    assert capsys.readouterr() == ("", "torchleak: error: --output-file: report: Permission denied\n")
    assert Path("leak.py").read_text() == LEAK


@pytest.mark.parametrize("target", ["victim", "../victim", "missing"])
def test_reports_and_baselines_are_not_written_through_links(target: str, capsys: Capture) -> None:
    Path("leak.py").write_text(LEAK)
    victims = [Path("victim"), Path("../victim")]
    for each in victims:
        each.write_text('{"torchleak-baseline": 1, "findings": []}')
    before = [each.read_bytes() for each in victims]
    Path("link").symlink_to(target)
    for command in (["check", "--output-file=link"], ["baseline", "write", "--output=link"]):
        assert main(command) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert [each.read_bytes() for each in victims] == before
    assert sorted(os.listdir()) == ["leak.py", "link", "victim"]


def test_nor_through_links_to_folders(tmp_path: Path, capsys: Capture) -> None:
    Path("leak.py").write_text(LEAK)
    (tmp_path / "elsewhere").mkdir()
    Path("out").symlink_to(tmp_path / "elsewhere")
    whole = str(Path("out").absolute())
    for command in (["check", "--output-file=out/report"], ["baseline", "write", "--output=out/base.json"]):
        assert main(command) == 2
        assert capsys.readouterr().err.endswith(f": lies behind a symbolic link, {whole}\n")
    # From elsewhere a repository is known by its folder.
    Path(".git").mkdir()
    here = Path().absolute()
    os.chdir(tmp_path)
    assert main(["check", "checkout", f"--output-file={here}/out/report"]) == 2
    assert os.listdir(tmp_path / "elsewhere") == []
    # A link that the user has made, outside of any checkout, is followed.
    (tmp_path / "mine").symlink_to("elsewhere")
    os.chdir(here)
    assert main(["check", f"--output-file={tmp_path}/mine/report"]) == 1
    assert os.listdir(tmp_path / "elsewhere") == ["report"]


@pytest.mark.parametrize(
    "name", ["../base.json", "/tmp/base.json", "sub/../../base.json", "link.json", "out/base.json"]
)
def test_settings_cannot_say_where_to_write(name: str, tmp_path: Path, capsys: Capture) -> None:
    Path("leak.py").write_text(LEAK)
    Path("link.json").symlink_to("other.json")
    Path("out").symlink_to(tmp_path)
    Path("pyproject.toml").write_text(WRITER.format(repr(name)))
    for command in (["baseline", "write"], ["baseline", "prune"], ["check"]):
        assert main(command) == 2
        out, err = capsys.readouterr()
        told = f"{name!r} is outside the folder of this file, or behind a link: only --baseline may be\n"
        assert (out, err.endswith(f"pyproject.toml:2: baseline: {told}")) == ("", True)
    assert sorted(os.listdir(tmp_path)) == ["checkout"]


def test_names_and_numbers_that_nothing_has(capsys: Capture) -> None:
    Path("leak.py").write_text(LEAK)
    with pytest.raises(OSError, match="is not a possible file name"):
        disk.read("\0")
    for line in ('baseline = "\\u0000"', f"min-literal = '{'9' * 5000}'"):
        Path("pyproject.toml").write_text(f"[tool.torchleak]\n{line}\n")
        assert main(["baseline", "write"]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_settings_may_name_a_baseline_of_their_own(tmp_path: Path) -> None:
    Path("leak.py").write_text(LEAK)
    Path("sub").mkdir()
    Path("pyproject.toml").write_text(WRITER.format("'sub/../sub/base.json'"))
    assert main(["baseline", "write"]) == 0
    assert main(["check"]) == 0
    assert os.listdir("sub") == ["base.json"]
    # Whoever runs the command may name any.
    assert main(["baseline", "write", f"--output={tmp_path}/mine.json"]) == 0
    assert (tmp_path / "mine.json").exists()


# Ignore patterns


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("**/" * 14 + "x", "a/" * 40 + "b"),
        ("a/**/" * 30 + "x", "a/" * 40 + "b"),
        ("*/**/" * 30 + "x", "a/" * 40 + "b"),
        ("*a" * 40 + "*x", "a" * 200),
        (f"{'*a' * 40}/{'*a' * 40}/x", ("a" * 200 + "/") * 4 + "y"),
        ("**/*a" * 30 + "/x", ("a" * 50 + "/") * 40 + "y"),
        ("a" + " " * 500_000 + "b", "a"),
        ("*a" * 250_000, "a" * 200),
        ("**/" * 300_000, "a/b"),
        ("[" * 500_000, "a"),
        ("\\ " * 250_000, "a"),
    ],
)
def test_patterns_that_go_back_for_ever(pattern: str, path: str) -> None:
    assert Patterns(pattern).verdict(path, False) is None


def test_patterns_of_settings_and_gitignore(capsys: Capture) -> None:
    Path("a/" * 20).mkdir(parents=True)
    Path("a/" * 20, "leak.py").write_text(LEAK)
    Path(".gitignore").write_text("a/**/" * 14 + "x\n" + "*a" * 30 + "*x\n")
    assert main(["check", "--extend-exclude=" + "a/**/" * 14 + "x", "--per-file-ignores=" + "*a" * 30 + "*x:TLK4"]) == 1


def test_a_setting_that_is_wrong_and_named_very_often(capsys: Capture) -> None:
    Path("pyproject.toml").write_text("# min-literal\n" * 2000 + "[tool.torchleak]\nmin-literal = 0\n")
    assert main(["check"]) == 2
    assert "pyproject.toml: min-literal: expected" in capsys.readouterr().err
