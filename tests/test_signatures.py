"""Whether a call fits, as Python itself says."""

from __future__ import annotations

import ast
from itertools import product

import pytest

from flake8_torchleak.model.signatures import refuses, spreads

TAKEN = [
    "",
    "a",
    "a, b=1",
    "a, /, b",
    "a, /, b=1, *, c",
    "*a",
    "a, *b, c=1",
    "**a",
    "a=1, **b",
    "a, *, b, c=2",
    "self, x",
]
GIVEN = ["", "1", "1, 2", "1, 2, 3", "a=1", "1, b=2", "1, c=3", "b=1, c=2", "1, 2, c=3", "x=1", "1, a=2"]


@pytest.mark.parametrize(("taken", "given"), list(product(TAKEN, GIVEN)))
def test_what_is_refused_raises(taken: str, given: str) -> None:
    call = ast.parse(f"f({given})", mode="eval").body
    made = ast.parse(f"lambda {taken}: 0", mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(made, ast.Lambda)
    try:
        eval(f"(lambda {taken}: 0)({given})")
        fails = False
    except TypeError:
        fails = True
    refused = refuses(made.args, len(call.args), [each.arg for each in call.keywords if each.arg is not None])
    assert refused <= fails
    if "1, a=2" not in given and "/" not in taken:  # given twice, or by a name that is none: not asked
        assert refused is fails


@pytest.mark.parametrize(("call", "expected"), [("f(*x)", True), ("f(**x)", True), ("f(x, y=1)", False)])
def test_what_is_spread(call: str, expected: bool) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    assert spreads(node) is expected
