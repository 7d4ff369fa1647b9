"""Chains of `if` that ask which mode it is: in none of them a variable is as an earlier iteration left it."""

from __future__ import annotations

import pytest

from tests.kept import findings, program

STEP = """
def evaluate(model: nn.Module, loader: DataLoader, kind, n):
    model.eval()
    for i, (x, y) in enumerate(loader):
        {first}:
            out, more = model(x)
        {second}:
            {bound} = model(x)
        if n == 1:
            moved = out.clone()
            moved[:, 1:] -= moved[:, :1]
            out = moved
        print(out.mean().item())
"""


@pytest.mark.parametrize(
    ("first", "second", "bound", "kept"),
    [
        ("if kind == 'a'", "elif kind == 'b'", "out, more", False),
        ("if kind == 'a'", "elif 'b' in kind", "out, more", False),
        ("if kind == 'a'", "elif kind == 'b' or kind == 'c'", "out, *rest", False),
        ("if kind == 'a'", "else", "out, more", False),
        ("if kind == 'a'", "elif kind == 'b'", "other", True),
        ("if kind == 'a'", "elif n == 2", "out, more", True),
        ("if kind == 'a'", "elif n", "out, more", True),
        ("if kind != 'a'", "elif kind == 'b'", "out, more", True),
        ("if i == 0", "elif i == 10", "out, more", True),
    ],
)
def test_what_a_chain_over_modes_leaves(first: str, second: str, bound: str, kept: bool) -> None:
    text = program(STEP.format(first=first, second=second, bound=bound))
    assert [each.code for each in findings(text)] == ["TLK401"] * kept
