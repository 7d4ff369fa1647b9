"""docs/ci.md: its commands and configurations, as printed there, in a fresh repository."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LEAK, ROOT
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


@pytest.mark.parametrize(
    ("schema", "heading", "number"),
    [
        ("vendor.github-workflows", "GitHub", 0),
        ("vendor.github-workflows", "The GitHub action", 0),
        ("vendor.gitlab-ci", "GitLab", 0),
        ("vendor.gitlab-ci", "GitLab", 1),
        ("vendor.github-actions", "", 0),
    ],
)
def test_files_are_as_their_services_publish(schema: str, heading: str, number: int, tmp_path: Path) -> None:
    needs("check_jsonschema")
    text = block("docs/ci.md", heading, number) if heading else (ROOT / "action.yml").read_text(encoding="utf-8")
    (tmp_path / "file.yml").write_text(text, encoding="utf-8")
    done = python("-m", "check_jsonschema", "--builtin-schema", schema, "file.yml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_lintrunner(leaking: Path) -> None:
    program = Path(sys.executable).with_name("lintrunner")
    if not program.exists():
        pytest.skip("lintrunner is not installed here: pip install -e '.[integration]'")
    configuration = block("docs/ci.md", "lintrunner").replace('"main"', '"HEAD"')
    (leaking / ".lintrunner.toml").write_text(configuration)
    (leaking / "bin").mkdir()
    (leaking / "bin" / "torchleak").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m flake8_torchleak "$@"\n')
    (leaking / "bin" / "torchleak").chmod(0o755)
    path = os.pathsep.join([str(leaking / "bin"), os.environ["PATH"]])
    # Its own files go where it is told, and not into the home of whoever runs the tests.
    own = {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(leaking / "bin")}
    found = run([program, "--all-files"], leaking, **own)
    assert found.returncode == 1, found.stdout
    assert "Warning (TORCHLEAK) TLK401 accumulated-graph" in found.stdout
    patched = run([program, "--all-files", "-a"], leaking, **own)
    assert patched.returncode == 0, patched.stdout
    assert (leaking / "leak.py").read_text() == LEAK.replace("+= loss", "+= loss.detach()")
