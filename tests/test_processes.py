"""No test waits for ever: where a process is started, its end is in sight."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.processes import Hangs, started

SLEEPS = "import time; print('ready', flush=True); time.sleep(600)"
STARTS = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]); sys.exit(0)"


@pytest.mark.parametrize("program", [SLEEPS, STARTS], ids=["itself", "what it started"])
def test_one_that_hangs_is_killed(program: str) -> None:
    def reads() -> None:
        with started([sys.executable, "-c", program], limit=2, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.read() == b"ready\n"

    with pytest.raises(Hangs, match=r"^killed after 2 s: .*python"):
        reads()


def test_the_test_that_fails_meanwhile_says_so() -> None:
    with (
        pytest.raises(Hangs, match=r"^killed after 0\.2 s"),
        started([sys.executable, "-c", SLEEPS], limit=0.2) as process,
    ):
        assert process.wait() == 0


def test_one_whose_test_fails_is_killed() -> None:
    def fails() -> None:
        with started([sys.executable, "-c", SLEEPS], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            raise ValueError(process.stdout.readline())

    with pytest.raises(ValueError, match="ready"):
        fails()


def test_one_that_ends_is_left_alone() -> None:
    with started([sys.executable, "-c", "exit(3)"]) as process:
        pass
    assert process.returncode == 3


STARTERS = {"run", "call", "check_call", "check_output"}


def unlimited(tree: ast.AST) -> list[int]:
    """Lines that start a process, and may wait for it for ever."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return [
        call.lineno
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "subprocess"
        and (
            call.func.attr == "Popen"
            or (call.func.attr in STARTERS and "timeout" not in [each.arg for each in call.keywords])
        )
    ]


def test_every_process_has_a_limit() -> None:
    places = [path for path in ROOT.glob("tests/**/*.py") if path != ROOT / "tests/processes.py"]
    assert len(places) > 100
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in places}
    found = {path: unlimited(ast.parse(text)) for path, text in texts.items() if "subprocess" in text}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_what_has_none_is_seen() -> None:
    text = "import subprocess\nsubprocess.Popen(c)\nsubprocess.run(c)\nsubprocess.run(c, timeout=9)\nwork.run(c)\n"
    assert unlimited(ast.parse(text)) == [2, 3]
