"""Our own noxfile: the oldest flake8 that we promise, and our own code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.integration.conftest import needs, python

pytestmark = pytest.mark.integration


def test_the_oldest_flake8(package: Path, tmp_path: Path) -> None:
    needs("nox")
    session = f"plugin(python='{sys.version_info.major}.{sys.version_info.minor}', flake8='7.0.0')"
    tests = ["tests/test_flake8.py", "tests/test_suppress.py"]
    done = python("-m", "nox", "--envdir", tmp_path, "-s", session, "own", "--", *tests, cwd=package)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "No findings, " in done.stdout


def test_the_matrix(package: Path) -> None:
    needs("nox")
    listed = python("-m", "nox", "--list", cwd=package).stdout
    for version in ("3.10", "3.11", "3.12", "3.13"):
        for flake8 in ("7.0.0", "7.3.0", "7.5.0"):
            assert (f"* plugin(python='{version}', flake8='{flake8}')" in listed) is (
                (version, flake8) != ("3.10", "7.5.0")
            )


def test_what_is_missing_is_skipped_and_named(package: Path, tmp_path: Path) -> None:
    needs("nox")
    # No interpreter is found by name there.
    session = (
        "plugin(python='3.13', flake8='7.3.0')"
        if sys.version_info[:2] != (3, 13)
        else "plugin(python='3.12', flake8='7.3.0')"
    )
    done = python("-m", "nox", "--envdir", tmp_path, "-s", session, cwd=package, PATH=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert f"Session {session} skipped: Python interpreter " in done.stdout
