"""What may be skipped where everything is there is listed; anything else fails the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT, python

TESTS = """\
import pytest

def test_one():
    pass

@pytest.mark.skip(reason="may not mount: x")
def test_two():
    pass

@pytest.mark.xfail(reason="a false claim")
def test_three():
    assert False
"""


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        ("", 0, ""),
        ('    pytest.importorskip("no_such_module", reason="nobody knows")\n', 1, "nobody knows"),
        ('@pytest.mark.xfail(reason="some day")\ndef test_four():\n    assert False\n', 1, "some day"),
    ],
)
def test_a_skip_that_nobody_knows_fails(tmp_path: Path, more: str, status: int, said: str) -> None:
    (tmp_path / "test_some.py").write_text(TESTS + ("def test_more():\n" * more.startswith(" ")) + more)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    run = python("-m", "pytest", "-q", "-p", "tests.skips", cwd=tmp_path, PYTHONPATH=str(ROOT))
    shown = run.stdout.decode()
    assert run.returncode == status, shown
    assert "skipped 1: may not mount: x: known: " in shown
    assert "skipped 1: a false claim: known: " in shown
    assert (f"skipped 1: {said}: NOT KNOWN, SO THIS FAILS" in shown) is bool(said)
    assert " passed, " in shown.splitlines()[-1]
