"""`torchleak scan` on real engines: two workers on this machine, ended in the middle, and started again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import LEAK, ROOT
from tests.integration.conftest import needs, python
from tests.processes import kill, started

pytestmark = pytest.mark.integration

COUNT = 8


def command(engine: str, *arguments: str) -> list[str]:
    own = ["scan", "repos.txt", f"--output={engine}", f"--on={engine}", "--workers=2"]
    return ["-m", "flake8_torchleak", *own, *arguments]


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    """Checkouts of different numbers of leaks."""
    for number in range(COUNT):
        folder = tmp_path / f"repo{number}"
        folder.mkdir()
        for each in range(number % 3 + 1):
            (folder / f"file{each}.py").write_text(LEAK)
    (tmp_path / "repos.txt").write_text("".join(f"repo{number}\n" for number in range(COUNT)))
    return tmp_path


def parts(folder: Path) -> int:
    return len(list(folder.glob("parts/*.json")))


@pytest.mark.parametrize(("engine", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_scan_that_is_killed_goes_on(engine: str, module: str, checkouts: Path) -> None:
    needs(module)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with started(
        [sys.executable, *command(engine)],
        cwd=checkouts,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        deadline = time.monotonic() + 300
        while parts(checkouts / engine) < 2:
            assert process.poll() is None, "ended by itself"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        kill(process)  # with all that it started
    known = parts(checkouts / engine)
    assert 2 <= known < COUNT
    assert not (checkouts / engine / "findings.jsonl").exists()

    again = python(*command(engine), cwd=checkouts, PYTHONPATH=str(ROOT))
    assert again.returncode == 0, again.stdout
    assert f"torchleak: {known} of {COUNT} repositories are known from an earlier scan\n" in again.stdout
    plain = python(*command("local"), cwd=checkouts, PYTHONPATH=str(ROOT))
    assert plain.returncode == 0, plain.stdout
    for table in ("findings", "rules"):
        assert (checkouts / engine / f"{table}.jsonl").read_bytes() == (
            checkouts / "local" / f"{table}.jsonl"
        ).read_bytes()
    rows = [json.loads(line) for line in (checkouts / engine / "findings.jsonl").read_text().splitlines()]
    assert len(rows) == sum(number % 3 + 1 for number in range(COUNT))


@pytest.mark.parametrize(("engine", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_what_fails_on_a_worker_costs_its_own_repository(engine: str, module: str, checkouts: Path) -> None:
    needs(module)
    (checkouts / "repos.txt").write_text("repo0\ngone\nrepo1\n")
    run = python(*command(engine, "--retries=1"), cwd=checkouts, PYTHONPATH=str(ROOT))
    assert run.returncode == 2, run.stdout
    assert f"torchleak: error: gone: {checkouts}/gone: no such folder\n" in run.stdout
    assert "3 findings in 2 of 3 repositories, 1 could not be checked.\n" in run.stdout
