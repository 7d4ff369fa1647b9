"""Following a program: sums under a key of something that only its use shows to have entries."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

STEP = """
import torch

class Trainer:
    def train_step(self, batch):
        out = self.net(batch["x"])
        loss = self.loss_fn(out, batch["y"])
        {}
"""
LOOP = """
import torch

def train(model, loader, opt, stats):
    for x in loader:
        loss = model(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        {}
    return stats
"""
SUMS = ["self.running['loss'] += loss", "self.running[0] += loss", "self.sums['a'] = self.sums['a'] + loss"]
NO_SUMS = {
    "numbers": "loss.backward(); self.running['loss'] += loss.item()",
    "the last one": "loss.backward(); self.running['loss'] = loss",
    "differentiated": "self.losses['a'] = loss; self.losses['a'] += out.mean(); self.losses['a'].backward()",
    "begins anew": "self.losses['a'] = 0; self.losses['a'] += loss; self.losses['a'].backward()",
    "another one's": "loss.backward(); self.now['a'] = self.before['a'] + loss",
}


def codes(text: str) -> list[str]:
    return [each.code for each in lint(text)]


@pytest.mark.parametrize("added", SUMS)
def test_entries_of_an_attribute_that_nobody_sets(added: str) -> None:
    """A base class sets it, or who makes the object: it was there before the step."""
    assert codes(STEP.format(f"loss.backward(); {added}")) == ["TLK401"]


@pytest.mark.parametrize("name", NO_SUMS)
def test_entries_that_are_no_sums(name: str) -> None:
    assert codes(STEP.format(NO_SUMS[name])) == []


def test_entries_of_a_parameter() -> None:
    assert codes(LOOP.format("stats['loss'] += loss")) == ["TLK401"]
    assert codes(LOOP.format("stats.rows['loss'] = stats.rows['loss'] + loss")) == ["TLK401"]
    assert codes(LOOP.format("stats['loss'] += loss.detach()")) == []
    assert codes(LOOP.format("stats['loss'] = loss")) == []
    assert codes(LOOP.format("stats[f'loss_{x.name}'] = loss.item()")) == []
