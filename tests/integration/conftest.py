"""What these tests share: this checkout as a repository and for pip, and a repository of a user's with one leak."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import LEAK, ROOT

Run = subprocess.CompletedProcess[str]

_OURS = ("flake8_torchleak", "tests", "noxfile.py", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
# Settings of the run that we are in are none of theirs.
_STRIPPED = ("PYTEST", "COV", "GIT_", "TOX", "NOX", "VIRTUAL_ENV")
_NAMES = {f"GIT_{who}_{what}": "test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def needs(module: str) -> None:
    """Skip the test that asks for a program that is not installed."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed here: pip install -e '.[integration]'")


def run(command: Sequence[str | Path], cwd: Path, **environment: str) -> Run:
    """Run a command as a user would, stderr in its output."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(_STRIPPED)}
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**env, **_NAMES, "NO_COLOR": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=600,
        check=False,
    )


def python(*arguments: str | Path, cwd: Path, **environment: str) -> Run:
    """Run this Python."""
    return run([sys.executable, *arguments], cwd, **environment)


def commit(folder: Path) -> None:
    """Make a folder a repository that holds all its files."""
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"], ["tag", "v0.1.0"]):
        done = run(["git", *command], folder)
        assert done.returncode == 0, done.stdout


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout as a repository, with the tag v0.1.0."""
    folder = tmp_path_factory.mktemp("package")
    for name in _OURS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    commit(folder)
    return folder


@pytest.fixture(scope="session")
def ours(package: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The value of PIP_CONSTRAINT with which `pip install flake8-torchleak` installs this checkout, from a wheel."""
    folder = tmp_path_factory.mktemp("wheels")
    built = python("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, package, cwd=folder)
    assert built.returncode == 0, built.stdout
    (wheel,) = folder.glob("*.whl")
    (folder / "ours.txt").write_text(f"flake8-torchleak @ {wheel.as_uri()}\n")
    return str(folder / "ours.txt")


@pytest.fixture
def leaking(tmp_path: Path) -> Path:
    """A user's repository with the one file leak.py."""
    (tmp_path / "leak.py").write_text(LEAK)
    commit(tmp_path)
    return tmp_path
