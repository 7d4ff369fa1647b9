"""Real editors show what the server finds, with the settings that docs/editors.md prints."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import LEAK
from tests.integration.conftest import run
from tests.integration.pages import block

pytestmark = pytest.mark.integration
TEXT = LEAK.replace("return total", "print(total)")


def installed(program: str, package: str) -> None:
    """Skip the test that asks for a program that is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed here: apt-get install {package}")


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody whose project has one leak, in the folder that is the home as well."""
    (tmp_path / "leak.py").write_text(TEXT)
    (tmp_path / "pyproject.toml").write_text("")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {"HOME": str(tmp_path), "PATH": path, "SETTINGS": str(tmp_path / "settings")}


def test_neovim(tmp_path: Path, user: dict[str, str]) -> None:
    installed("nvim", "neovim")
    (tmp_path / "settings").write_text(block("docs/editors.md", "Neovim"))
    script = Path(__file__).with_name("nvim.lua")
    quiet = ["--headless", "-u", "NONE", "-i", "NONE", "-n", "--cmd", "filetype on"]
    done = run(["nvim", *quiet, "-c", f"luafile {script}"], tmp_path, **user)
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert "trouble" not in seen, (seen, done.stdout)
    assert seen["found"] == [8, 8, 8, 21, "TLK401", "torchleak", 2]
    assert seen["silenced"] == "        total += loss  # noqa: TLK401"
    assert seen["fixed"] == "        total += loss.detach()"
    assert "accumulated-graph" in seen["hover"]
    assert "Measured:" in seen["hover"]


def test_emacs(tmp_path: Path, user: dict[str, str]) -> None:
    installed("emacs", "emacs-nox elpa-eglot")
    has = run(["emacs", "--batch", "--eval", "(require 'eglot)"], tmp_path, **user)
    if has.returncode:
        pytest.skip("eglot is not installed here: apt-get install elpa-eglot")
    (tmp_path / "settings").write_text(block("docs/editors.md", "Emacs"))
    done = run(["emacs", "--batch", "-l", Path(__file__).with_name("eglot.el")], tmp_path, **user)
    found = [line for line in done.stdout.splitlines() if "TLK" in line]
    assert len(found) == 1, done.stdout
    assert found[0].startswith("9:13 torchleak [TLK401]: memory grows every step: `total`")
