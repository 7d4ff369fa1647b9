"""action.yml: its steps as GitHub's runner starts them, in a repository with two commits."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import LEAK, ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
NAMES = {f"GIT_{who}_{what}": "test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

Run = subprocess.CompletedProcess[str]


def run(command: list[str], cwd: Path, **environment: str) -> Run:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "FORCE_"))}
    env["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), env["PATH"]))
    return subprocess.run(
        command,
        cwd=cwd,
        env={**env, **NAMES, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=600,
    )


def git(cwd: Path, *arguments: str) -> str:
    done = run(["git", *arguments], cwd)
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """old.py and gone.py, then one commit that adds `new file.py` and a text and takes gone.py away; made once."""
    folder = tmp_path_factory.mktemp("action")
    git(folder, "init", "-q")
    for name in ("old.py", "gone.py"):
        (folder / name).write_text(LEAK)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    (folder / "gone.py").unlink()
    (folder / "new file.py").write_text(LEAK)
    (folder / "text.txt").write_text("no Python")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "two")
    return folder


@pytest.fixture
def repository(tmp_path: Path, committed: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(committed, tmp_path / "repository"))


class Done:
    """What the step `Check` wrote and said. status: its output of that name."""

    def __init__(self, repository: Path, base: str = "", **inputs: str) -> None:
        assert inputs.keys() <= {name.replace("-", "_") for name in ACTION["inputs"]}
        values = {name: each["default"] for name, each in ACTION["inputs"].items()}
        values |= {name.replace("_", "-"): value for name, value in inputs.items()}
        (step,) = (each for each in ACTION["runs"]["steps"] if each.get("id") == "check")
        environment = {}
        for name, text in step["env"].items():
            given = re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", text)
            environment[name] = values[given[1]] if given else base
        output = repository.parent / "output"
        output.write_text("")
        # https://docs.github.com/actions: `shell: bash` is this very command.
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        self.run = run(command, repository, GITHUB_OUTPUT=str(output), **environment)
        self.outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        self.found = re.findall(r"^::(?:error|warning|notice) file=([^,]+),", self.run.stdout, re.MULTILINE)


def test_no_script_has_an_expression_in_it() -> None:
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    assert len(scripts) == 3
    assert "${{" not in "".join(scripts)
    assert all(each["description"] for each in (ACTION["inputs"] | ACTION["outputs"]).values())


LATER = partial(pytest.param, marks=[pytest.mark.long, pytest.mark.watched])
"""Like its neighbours; a dozen processes each."""


def test_everything(repository: Path) -> None:
    done = Done(repository)
    assert done.run.returncode == 0, done.run.stdout
    assert (done.found, done.outputs) == (["new file.py", "old.py"], {"status": "1"})


@pytest.mark.parametrize(
    ("inputs", "status"),
    [
        LATER({"fail_on": "error"}, "0"),
        ({"fail_on": "never"}, "0"),
        LATER({"fail_on": "note"}, "1"),
        LATER({"min_severity": "error"}, "0"),
        ({"args": "--ignore=TLK4 --isolated"}, "0"),
        ({"paths": "old.py gone.py"}, "2"),
        LATER({"args": "--no-such-option"}, "2"),
    ],
)
def test_what_fails_the_job(inputs: dict[str, str], status: str, repository: Path) -> None:
    done = Done(repository, **inputs)
    assert (done.run.returncode, done.outputs) == (0, {"status": status}), done.run.stdout
    (step,) = (each for each in ACTION["runs"]["steps"] if each.get("name") == "Result")
    assert run(["bash", "-ec", step["run"]], repository, STATUS=status).returncode == int(status)


def test_a_severity_that_is_none(repository: Path) -> None:
    done = Done(repository, fail_on="fatal")
    assert (done.run.returncode, done.found) == (2, [])
    assert done.run.stdout == "::error title=torchleak::fail-on: expected error, warning, note or never\n"


def test_only_what_is_changed(repository: Path) -> None:
    done = Done(repository, changed_only="true", base=git(repository, "rev-parse", "HEAD~1"))
    assert (done.found, done.outputs) == (["new file.py"], {"status": "1"}), done.run.stdout
    none = Done(repository, changed_only="true", base=git(repository, "rev-parse", "HEAD"))
    assert (none.found, none.outputs) == ([], {"status": "0"}), none.run.stdout
    folder = Done(repository, changed_only="true", paths="sub old.py", base=git(repository, "rev-parse", "HEAD~1"))
    assert folder.outputs == {"status": "0"}, folder.run.stdout


def test_a_shallow_checkout_fetches_what_it_compares_with(repository: Path) -> None:
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    shallow = repository.parent / "shallow"
    git(repository.parent, "clone", "-q", "--depth=1", f"file://{repository}", "shallow")
    assert git(shallow, "rev-list", "--count", "HEAD") == "1"
    done = Done(shallow, changed_only="true", base=git(repository, "rev-parse", "HEAD~1"))
    assert (done.found, done.outputs) == (["new file.py"], {"status": "1"}), done.run.stdout


@pytest.mark.parametrize("base", ["", "0" * 40])
def test_without_a_commit_to_compare_with_all_is_checked(base: str, repository: Path) -> None:
    done = Done(repository, changed_only="true", base=base)
    assert "::notice title=torchleak::all files are checked" in done.run.stdout
    assert done.found == ["new file.py", "old.py"]


@pytest.mark.parametrize(
    ("inputs", "name"),
    [
        ({"sarif": "a b.sarif"}, "a b.sarif"),
        pytest.param({"upload_sarif": "true"}, "torchleak.sarif", marks=[pytest.mark.long, pytest.mark.watched]),
    ],
)
def test_sarif(inputs: dict[str, str], name: str, repository: Path) -> None:
    done = Done(repository, annotate="false", **inputs)
    assert done.outputs == {"sarif": name, "status": "1"}
    assert "new file.py:9:9: TLK401 warning: " in done.run.stdout
    (found,) = json.loads((repository / name).read_text())["runs"]
    assert len(found["results"]) == 2


def test_it_installs_what_it_comes_with(tmp_path: Path) -> None:
    (step,) = (each for each in ACTION["runs"]["steps"] if each.get("name") == "Install torchleak")
    (tmp_path / "python").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "python").chmod(0o755)
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
    for version, wanted in (("", "/an action"), ("1.2", "flake8-torchleak==1.2")):
        done = run(["bash", "-ec", step["run"]], tmp_path, PATH=path, VERSION=version, ACTION="/an action")
        assert done.stdout == f"-m pip install --quiet --disable-pip-version-check {wanted}\n"


def test_sarif_that_cannot_be_written(repository: Path) -> None:
    done = Done(repository, sarif="no/such/folder/a.sarif")
    assert done.run.returncode == 2
    assert "torchleak: error: --output-file: no/such/folder/a.sarif: " in done.run.stdout
