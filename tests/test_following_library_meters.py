"""Meters of libraries that add up what they are given as it comes."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.lint import lint

PROGRAM = """
import torch
from torch import nn
from {library} import AverageMeter


def train(loader, optimizer):
    model = nn.Linear(4, 1)
    meter = AverageMeter()
    for x, y in loader:
        {first}
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {last}
    return meter.avg
"""
UPDATE = "meter.update(loss, y.size(0))"


def found(library: str, last: str, first: str = "pass") -> list[str]:
    text = textwrap.dedent(PROGRAM).format(library=library, last=last, first=first)
    return [f.code for f in lint(text, wanted=lambda code: code.startswith("TLK4"))]


@pytest.mark.parametrize("library", ["timm.utils", "timm.utils.metrics", "fairseq.meters", "fairseq.logging.meters"])
def test_meters_that_sum(library: str) -> None:
    assert found(library, UPDATE) == ["TLK401"]


@pytest.mark.parametrize(
    ("library", "last", "first"),
    [
        ("timm.utils", "meter.update(loss.item(), 2)", "pass"),
        ("timm.utils", "meter.update(loss.detach())", "pass"),
        ("timm.utils", "print(meter.avg)", "pass"),
        ("timm.utils", "meter.update()", "pass"),
        ("timm.utils", UPDATE, "meter.reset()"),
        ("timm.utils", UPDATE, "meter = AverageMeter()"),
        ("other.utils", UPDATE, "pass"),
    ],
)
def test_what_carries_no_graph_or_starts_anew(library: str, last: str, first: str) -> None:
    assert not found(library, last, first)


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
