"""TLK402: what a network's output calls a metric or a count may be no tensor: a note, as a name alone says so."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

LOOP = """
import torch
from torch.utils.data import DataLoader

def step(inputs, model, opt):
    out = model(**inputs)
    loss = out["loss"]
    shown = {{"loss": loss.item(), "shown": out["{}"]}}
    loss.backward()
    opt.step()
    return loss, shown

def fit(model, data, opt):
    kept = []
    for x in DataLoader(data):
        loss, shown = step(x, model, opt)
        kept.append(shown)
    return kept
"""


@pytest.mark.parametrize(
    ("key", "severities"),
    [
        ("logits", ["error"]),
        ("loss", ["warning"]),
        ("account", ["error"]),
        ("metric", ["note"]),
        ("val_accuracy", ["note"]),
        ("num_hits", ["note"]),
    ],
)
def test_figures_of_an_output(key: str, severities: list[str]) -> None:
    found = [each.severity.value for each in lint(LOOP.format(key)) if each.code == "TLK402"]
    assert found == severities
