"""What a program means that makes `torch.no_grad()` and does nothing with it; and metrics that a library updates."""

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


GIVEN = """
import torch
from torch import nn

class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.state = nn.Linear(4, 4), None
    def detach(self):
        pass
    {decorator}
    def hold(self, state):
        self.state = {value}
"""


@pytest.mark.parametrize(
    ("decorator", "value", "count"),
    [("", "state", 1), ("@hold.setter", "state", 0), ("@hold.setter", "self.layer(state)", 1), ("", "None", 0)],
)
def test_a_detach_that_does_nothing(decorator: str, value: str, count: int) -> None:
    """What is only set from outside, or set back, is no state of the object."""
    text = GIVEN.format(decorator=decorator, value=value)
    assert [each.code for each in lint(text)] == ["TLK406"] * count


METRIC = """
import torch
from torchmetrics import {imported}

class Score({base}):
    def __init__(self):
        super().__init__()
        self.total, self.seen = torch.tensor(0.0), []
    def update(self, value):
        self.total += (value * 2).sum()
        self.seen.append({kept})

def fit(loader, optimizer):
    net, score = torch.nn.Linear(2, 1), Score()
    for x, y in loader:
        loss = (net(x) - y).square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        score.update(loss)
    return score
"""


@pytest.mark.parametrize(
    ("imported", "base", "kept", "count"),
    [
        ("Metric", "Metric", "1", 0),
        ("Metric", "Metric", "value", 1),  # made before, with its history
        ("Metric", "torch.nn.Module", "1", 1),
    ],
)
def test_sums_of_a_metric_that_torchmetrics_updates(imported: str, base: str, kept: str, count: int) -> None:
    """Measured with torchmetrics 1.9: the sum has no history, what `update` appends has."""
    text = METRIC.format(imported=imported, base=base, kept=kept)
    assert len([each for each in lint(text) if each.code == "TLK403"]) == count
