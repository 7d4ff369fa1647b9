"""TLK501: what a program means that makes `torch.no_grad()` and does nothing with it."""

from __future__ import annotations

from textwrap import dedent

import pytest

from flake8_torchleak.lint import lint

DRAWN = """
import torch

def draw(path, states):
    network = torch.load(path)
    rows = []
    {above}
    for state in states:
        rows.append(float(network(state)))
    return rows
"""
MEANT = "without `with`, this turns nothing off"


@pytest.mark.parametrize(
    ("above", "count"),
    [
        ("torch.no_grad()", 1),
        ("torch.inference_mode()  # from here on", 1),
        ("off = torch.no_grad()", 0),
        ("torch.set_grad_enabled(False)", 0),
        ("if path:\n        torch.no_grad()", 0),
    ],
)
def test_a_loop_behind_what_turns_nothing_off(above: str, count: int) -> None:
    found = [each for each in lint(DRAWN.format(above=above)) if each.code == "TLK501"]
    assert [note.text for each in found for note in each.notes].count(MEANT) == count
    assert [each.severity.value for each in found][:count] == ["warning"] * count


def test_at_the_top_of_a_module() -> None:
    text = """
        import torch
        network = torch.load("weights.pt")
        torch.no_grad()
        for x in torch.rand(100, 4, 2):
            print(float(network(x)))
        with torch.no_grad():
            for x in torch.rand(100, 4, 2):
                print(float(network(x)))
    """
    assert [(each.code, each.span.line) for each in lint(dedent(text))] == [("TLK501", 6)]
