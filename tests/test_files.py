"""Which files a run reads; `.gitignore` is held equal to git itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from flake8_torchleak.shells.files import NOT_OURS, python_files
from flake8_torchleak.shells.gitignore import Patterns
from flake8_torchleak.shells.globs import Glob, Globs

EXCLUDED = Globs(Glob(pattern, "/") for pattern in NOT_OURS)


def plant(root: Path, *names: str) -> None:
    """Empty files below `root`."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")


def walked(*paths: str) -> list[str]:
    """What would be checked; fails if anything was complained of."""
    complaints: list[str] = []
    found = [name.replace(os.sep, "/") for name in python_files(paths, complaints.append, EXCLUDED)]
    assert complaints == []
    return found


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_python_files_in_order_and_once(tmp_path: Path) -> None:
    plant(tmp_path, "b.py", "a/z.py", "a/c.pyi", "a/text", "a/b/c.py", "z.py")
    assert walked(".") == ["a/b/c.py", "a/z.py", "b.py", "z.py"]
    assert walked("z.py", "a", ".", "./b.py") == ["z.py", "a/b/c.py", "a/z.py", "b.py"]


def test_what_is_not_ours_is_left_out(tmp_path: Path) -> None:
    plant(
        tmp_path,
        *("a.py", ".hidden/a.py", ".venv/a.py", "venv/a.py", "lib/site-packages/a.py", "node_modules/a.py"),
        *("__pycache__/a.py", "build/a.py", "dist/a.py", "x.egg-info/a.py", "odd/pyvenv.cfg", "odd/a.py", "env/a.py"),
    )
    assert walked(".") == ["a.py", "env/a.py"]


def test_what_is_named_is_checked(tmp_path: Path) -> None:
    plant(tmp_path, ".hidden/a.py", "venv/b.py", "script", "ignored/c.py", "ignored/no.py")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("ignored/\n*no.py\n")
    assert walked(".hidden", "venv", "script") == [".hidden/a.py", "venv/b.py", "script"]
    assert walked("ignored/c.py") == ["ignored/c.py"]
    # A folder that git ignores, but that somebody names: nothing from above counts in it.
    assert walked("ignored") == ["ignored/c.py", "ignored/no.py"]


def test_nested_gitignores(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "gen.py", "p/a.py", "p/gen.py", "p/q/gen.py", "p/q/a.py", "out/a.py", "p/excluded.py")
    (tmp_path / ".gitignore").write_text("gen.py\n/out/\n")
    (tmp_path / "p" / ".gitignore").write_text("!gen.py\nq/gen.py\n")
    assert walked(".") == ["a.py", "p/a.py", "p/excluded.py", "p/gen.py", "p/q/a.py"]
    # Without a repository the files above do not count, within one they do.
    assert walked("p/q") == ["p/q/a.py", "p/q/gen.py"]
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("excluded.py\n")
    assert walked("p/q") == ["p/q/a.py"]
    assert walked("p") == ["p/a.py", "p/gen.py", "p/q/a.py"]


def test_links(tmp_path: Path) -> None:
    plant(tmp_path, "p/a.py")
    (tmp_path / "p" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "p" / ".#lock.py").symlink_to("nowhere")
    (tmp_path / "b.py").symlink_to("p/a.py")
    (tmp_path / "named").symlink_to("p", target_is_directory=True)
    assert walked(".") == ["b.py", "p/a.py"]
    assert walked("named") == ["named/a.py"]
    (tmp_path / "self.py").symlink_to("self.py")
    assert walked(".") == ["b.py", "p/a.py", "self.py"]


def test_a_folder_called_like_a_file(tmp_path: Path) -> None:
    plant(tmp_path, "odd.py/a.py")
    assert walked(".") == ["odd.py/a.py"]


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "a/a.py", "b/b.py")
    real = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("a"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    complaints: list[str] = []
    assert list(python_files(["."], complaints.append, EXCLUDED)) == [os.path.join("b", "b.py")]
    assert complaints == [os.path.join(".", "a") + ": Permission denied"]


def test_a_gitignore_that_cannot_be_read_counts_as_none(tmp_path: Path) -> None:
    plant(tmp_path, "a.py")
    (tmp_path / ".gitignore").mkdir()
    assert walked(".") == ["a.py"]


def test_deep_folders(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(200):
        folder = folder / "d"
        folder.mkdir()
    plant(folder, "a.py")
    assert len(walked(".")) == 1


PIECES = ["a", "b", "ab", "*", "**", "?", "/", "/**", "**/", "!", "#", "\\", "[ab]", "[!a]", "[^b]", "[a-b]", "[b-a]"]
PIECES += ["[", "]", "[]a]", "[!]", "[[:alpha:]]", "[[:digit:]_]", "[[:nonsense:]]", "[a\\]]", " ", "\\ ", ".", "-"]
# Two stars beside anything but a slash are left out: there git compares pointers into two different strings
# (`prev_p < text` in wildmatch.c), and the answer depends on where they lie.
GLOBS = (
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=9)
    .map("".join)
    .filter(lambda glob: not re.search(r"[^/!]\*\*|\*\*[^/*]|.!\*\*", glob))
)
PATHS = ["a", "b", "ab", "a/b", "a/a/b", "b/a", "ab/b/a", "a]", "#a", "!a", "a ", "*", "-", "\\", "[", "_/a"]
PATHS += ["abab", "aab", "abba/baab", "a/b/a/b", "b/b/a/a/b", "ab/ab/ab", "a/abab/b", "aa/bb/ab/ba/a", "a/bbb/ab"]
# Plain ASCII: in git a ? stands for one byte, here for one character.


ENDS = st.sampled_from(["\n", "\r\n"])


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty git repository."""
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=600)
    return root


def ignored(patterns: Patterns, path: str) -> bool:
    """A walk's answer for the file `path`: asked about each folder on the way, then about the file."""
    parts = path.split("/")
    above = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    return any(patterns.verdict(folder, True) for folder in above) or bool(patterns.verdict(path, False))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is what the patterns are compared with")
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(GLOBS, min_size=1, max_size=3), ENDS)
@example(["*", "!*/", "!*b"], "\n")
@example(["a/**/b", "**/a", "a/**", "**"], "\n")
@example(["a/", "!a/b"], "\n")
@example(["/a", "a/b/", "\\#a", "\\!a", "a\\ ", "# a", ""], "\n")
@example(["\ufeffa"], "\n")
@example(["a/*", "!a/b"], "\n")
@example(["**/**/b", "!**/a/**/b", "a/**/**/b"], "\n")
@example(["*a*b", "!a*/*b*", "*b*a*/*/**"], "\n")
@example(["a/**\\/b", "*a \\ ", "a\\  "], "\n")
def test_equal_to_git(repository: Path, lines: list[str], end: str) -> None:
    equal_to_git(repository, lines, end)


@pytest.mark.long
@pytest.mark.watched
@pytest.mark.skipif(shutil.which("git") is None, reason="git is what the patterns are compared with")
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(GLOBS, min_size=1, max_size=3), ENDS)
def test_many_equal_to_git(repository: Path, lines: list[str], end: str) -> None:
    equal_to_git(repository, lines, end)


def equal_to_git(repository: Path, lines: list[str], end: str) -> None:
    text = end.join(lines) + end
    (repository / ".gitignore").write_bytes(text.encode())
    command = ["git", "-c", "core.quotePath=false", "check-ignore", "--no-index", "--stdin", "-z"]
    run = subprocess.run(
        command, cwd=repository, input="\0".join(PATHS).encode(), capture_output=True, check=False, timeout=600
    )
    assert run.stderr == b""
    by_git = [path for path in run.stdout.decode().split("\0") if path]
    assert [path for path in PATHS if ignored(Patterns(text), path)] == by_git
