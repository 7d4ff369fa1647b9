"""pre-commit installs our hooks, and flake8 with our plugin, and runs them on a commit's files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import LEAK
from tests.integration.conftest import Run, commit, needs, python, run
from tests.integration.pages import block
from tests.notebooks import notebook, read, text, written

pytestmark = pytest.mark.integration

UNPROVEN = LEAK.replace("+= loss", "+= criterion(model(x), y)")
"""Found, and not fixed: nothing proves a tensor."""
FIXED = LEAK.replace("+= loss", "+= loss.detach()")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the environments of its hooks."""
    needs("pre_commit")
    return tmp_path_factory.mktemp("home")


def pre_commit(hook: str, folder: Path, home: Path) -> Run:
    return python("-m", "pre_commit", "run", "--all-files", hook, cwd=folder, PRE_COMMIT_HOME=str(home))


def test_our_own_hooks(tmp_path: Path, package: Path, home: Path) -> None:
    (tmp_path / "leak.py").write_text(LEAK)
    (tmp_path / "nb.ipynb").write_bytes(written(notebook("x = 1", LEAK)))
    (tmp_path / "text.txt").write_text(LEAK)
    config = block("docs/ci.md", "pre-commit").replace("URL-OF-THIS-REPOSITORY", json.dumps(str(package)))
    (tmp_path / ".pre-commit-config.yaml").write_text(config)
    commit(tmp_path)

    found = pre_commit("torchleak", tmp_path, home)
    assert found.returncode == 1, found.stdout
    assert "leak.py:9:9: TLK401 " in found.stdout
    assert "nb.ipynb:cell 2:9:9: TLK401 " in found.stdout
    assert "2 findings in 2 files, 2 files checked." in found.stdout

    # Both of them, in the page's order: what is fixed is said by the one, what is left by the other, and nothing twice.
    (tmp_path / "held.py").write_text(UNPROVEN)
    assert run(["git", "add", "-A"], tmp_path).returncode == 0
    both = python("-m", "pre_commit", "run", "--all-files", cwd=tmp_path, PRE_COMMIT_HOME=str(home))
    assert both.returncode == 1, both.stdout
    assert re.findall(r"^(torchleak.*?)\.+(?:Failed|Passed)$", both.stdout, re.MULTILINE) == [
        "torchleak-fix (fixes what it safely can)",
        "torchleak (names what leaks)",
    ]
    for said in (
        "files were modified by this hook",
        "leak.py: fixed 1 TLK401 accumulated-graph.",
        "nb.ipynb: fixed 1 TLK401 accumulated-graph.",
        "Fixed 2 findings in 2 files.",
        "Left: 1 finding, which `torchleak check` names.",
        "held.py:9:9: TLK401 ",
        "1 finding in 1 file, 3 files checked.",
    ):
        assert both.stdout.count(said) == 1, (said, both.stdout)
    assert (tmp_path / "leak.py").read_text() == FIXED
    assert text(read((tmp_path / "nb.ipynb").read_bytes())["cells"][1]) == FIXED
    assert (tmp_path / "text.txt").read_text() == LEAK

    assert run(["git", "rm", "-q", "-f", "held.py"], tmp_path).returncode == 0
    assert run(["git", "commit", "-a", "-q", "-m", "mended"], tmp_path).returncode == 0
    for hook in ("torchleak", "torchleak-fix"):
        clean = pre_commit(hook, tmp_path, home)
        assert clean.returncode == 0, clean.stdout
        assert "Passed" in clean.stdout


def test_flake8_with_our_plugin(leaking: Path, package: Path, home: Path) -> None:
    config = block("docs/ci.md", "pre-commit", 1)
    assert "flake8-torchleak==0.1.0" in config
    (leaking / ".pre-commit-config.yaml").write_text(
        config.replace("flake8-torchleak==0.1.0", json.dumps(str(package)))
    )
    (leaking / ".flake8").write_text("[flake8]\nselect = TLK\n")
    commit_all = ["git", "add", "-A"]
    assert run(commit_all, leaking).returncode == 0
    found = pre_commit("flake8", leaking, home)
    assert found.returncode == 1, found.stdout
    assert "leak.py:9:9: TLK401 " in found.stdout
    (leaking / "leak.py").write_text(FIXED)
    assert pre_commit("flake8", leaking, home).returncode == 0
