"""docs/ci.md: its commands and configurations, as printed there, in a fresh repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LEAK
from tests.integration.conftest import Run, needs, python, run
from tests.integration.pages import block

pytestmark = pytest.mark.integration

FOUND = "leak.py:9:9: TLK401 "


def commands(job: str) -> list[str]:
    """What a job runs, from the page."""
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with pre-commit, which is not installed here")
    content: dict[str, Any] = yaml.safe_load(block("docs/ci.md", job))
    if job == "GitLab":
        return list(content["torchleak"]["script"])
    return [step["run"] for step in content["jobs"]["torchleak"]["steps"] if "run" in step]


@pytest.mark.parametrize("job", ["GitHub", "GitLab"])
def test_jobs(job: str, leaking: Path, ours: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    machine = tmp_path_factory.mktemp("machine")
    assert python("-m", "venv", machine, cwd=machine).returncode == 0
    path = os.pathsep.join([str(machine / "bin"), os.environ["PATH"]])

    def all_of_it() -> Run:
        script = "\n".join(commands(job))
        return run(["bash", "-e", "-c", script], leaking, PATH=path, PIP_CONSTRAINT=ours)

    found = all_of_it()
    assert found.returncode == 1, found.stdout
    assert FOUND in found.stdout
    (leaking / "leak.py").write_text(LEAK.replace("+= loss", "+= loss.detach()"))
    clean = all_of_it()
    assert clean.returncode == 0, clean.stdout
    assert clean.stdout.endswith("No findings, 1 file checked.\n")


@pytest.mark.parametrize(
    ("tool", "file", "command"),
    [("tox", "tox.ini", ["-e", "torchleak"]), ("nox", "noxfile.py", ["-s", "torchleak"])],
)
def test_tox_and_nox(tool: str, file: str, command: list[str], leaking: Path, ours: str) -> None:
    needs(tool)
    (leaking / file).write_text(block("docs/ci.md", tool))
    found = python("-m", tool, *command, cwd=leaking, PIP_CONSTRAINT=ours)
    assert found.returncode == 1, found.stdout
    assert FOUND in found.stdout
    (leaking / "clean").mkdir()
    (leaking / "clean" / "a.py").write_text("import torch\n")
    clean = python("-m", tool, *command, "--", "clean", cwd=leaking, PIP_CONSTRAINT=ours)
    assert clean.returncode == 0, clean.stdout
    assert "No findings, 1 file checked." in clean.stdout
