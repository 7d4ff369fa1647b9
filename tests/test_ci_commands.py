"""docs/ci.md: what runs in a continuous integration besides the plain check, as printed there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.conftest import LEAK, ROOT
from tests.integration.pages import block
from tests.test_action import ACTION
from tests.test_formats import CODE_QUALITY
from tests.test_formats_of_others import DIAGNOSTIC


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script as a job does, where `torchleak` is installed."""
    (folder / "bin").mkdir(exist_ok=True)
    shim = folder / "bin" / "torchleak"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m flake8_torchleak "$@"\n')
    shim.chmod(0o755)
    path = os.pathsep.join((str(folder / "bin"), os.environ["PATH"]))
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["bash", "-ec", script], cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False, timeout=600
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "leak.py").write_text(LEAK)
    return tmp_path


def test_gitlab_shows_what_a_merge_request_adds(checkout: Path) -> None:
    job: dict[str, Any] = yaml.safe_load(block("docs/ci.md", "GitLab", 1))["torchleak"]
    install, check = job["script"]
    assert install == "python -m pip install flake8-torchleak"
    assert run(check, checkout).returncode == 1
    rows = json.loads((checkout / job["artifacts"]["reports"]["codequality"]).read_text())
    jsonschema.validate(rows, CODE_QUALITY)
    assert [row["check_name"] for row in rows] == ["TLK401"]
    assert job["artifacts"]["when"] == "always", "the report is there when the job has failed"


def test_jenkins(checkout: Path) -> None:
    file = block("docs/ci.md", "Jenkins")
    install, check = re.findall(r"\bsh '(.*)'", file)
    assert install == "python -m pip install flake8-torchleak"
    done = run(check, checkout)
    assert done.returncode == 0, done.stderr
    (pattern,) = re.findall(r"sarif\(pattern: '(.*?)'\)", file)
    assert len(json.loads((checkout / pattern).read_text())["runs"][0]["results"]) == 1
    (checkout / "leak.py").write_text("import torch\ndef f(:\n")
    assert run(check, checkout).returncode == 2


def test_reviewdog(checkout: Path) -> None:
    check, reviewdog = block("docs/ci.md", "reviewdog").splitlines()
    assert run(check, checkout).returncode == 0
    assert "-f=rdjsonl" in reviewdog
    (name,) = re.findall(r"< (\S+)$", reviewdog)
    (line,) = (checkout / name).read_text().splitlines()
    jsonschema.validate(json.loads(line), DIAGNOSTIC)


def test_the_action_is_used_as_it_is() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    steps = yaml.safe_load(block("docs/ci.md", "The GitHub action"))["jobs"]["torchleak"]["steps"]
    assert steps[1]["with"].keys() <= ACTION["inputs"].keys()
    table = page.partition("| input |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([a-z-]+) \| (.*?) \|", table, re.MULTILINE)
    assert [name for name, _ in rows] == list(ACTION["inputs"])
    for name, default in rows:
        assert ACTION["inputs"][name]["default"] in (default, ""), name
