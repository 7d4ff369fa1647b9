"""TLK501 by use: hooks of forward passes may keep what is made on the way, and differentiate that."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

TEXT = """
import torch

{above}

def scores(model, loader):
    {before}
    found = []
    for x, y in loader:
        out = model(x)
        found.append(out.argmax(1).tolist())
    {behind}
    return found
"""
KEEPER = """
class Kept:
    def __init__(self, net):
        self.made = []
        net.body.register_forward_hook(self.hook)

    def hook(self, module, inputs, output):
        self.made.append(output)
"""
ELSEWHERE = """
def watched(model):
    model.body.register_forward_hook(print)
"""


@pytest.mark.parametrize(
    ("above", "before", "behind", "expected"),
    [
        ("", "pass", "pass", 1),
        (KEEPER, "kept = Kept(model)", "print(kept)", 0),
        ("", "made = []", "model.body.register_forward_hook(lambda m, i, o: made.append(o))", 0),
        (ELSEWHERE, "pass", "pass", 1),
    ],
)
def test_hooks_of_the_function_and_of_objects(above: str, before: str, behind: str, expected: int) -> None:
    found = lint(TEXT.format(above=above, before=before, behind=behind))
    assert sum(each.code == "TLK501" for each in found) == expected
