"""What may be skipped where everything is there is listed; anything else fails the run."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

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
def test_a_skip_that_nobody_knows_fails(pytester: pytest.Pytester, more: str, status: int, said: str) -> None:
    pytester.makepyfile(test_some=TESTS + ("def test_more():\n" * more.startswith(" ")) + more)
    pytester.makeini("[pytest]\n")
    run = pytester.runpytest_inprocess("-q", "-p", "tests.skips", "-p", "no:cacheprovider")
    shown = run.stdout.str()
    assert run.ret == status, shown
    assert "skipped 1: may not mount: x: known: " in shown
    assert "skipped 1: a false claim: known: " in shown
    assert (f"skipped 1: {said}: NOT KNOWN, SO THIS FAILS" in shown) is bool(said)
    assert " passed, " in shown.splitlines()[-1]
