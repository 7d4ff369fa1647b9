"""TLK501: where an evaluation stands: in a network's class, on an object's model, beside the loop that trains."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.lint import lint


def count(text: str) -> int:
    return len(lint(textwrap.dedent(text), wanted=lambda code: code == "TLK501"))


OWN = """
import torch
from torch import nn


class Learner(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)

    def collect(self, {argument}):
        self.net.eval()
        rows = []
        for x in {over}:
            rows.append(self.net(x).detach())
        return rows
"""


@pytest.mark.parametrize(
    ("argument", "over", "expected"),
    [("loader", "loader", 1), ("loader", "enumerate(loader)", 1), ("parts", "parts.split(2)", 0), ("x", "x", 0)],
)
def test_a_method_beside_a_forward_pass(argument: str, over: str, expected: int) -> None:
    """One that goes over batches is no part of a forward pass; one that goes over parts of its input may be."""
    assert count(OWN.format(argument=argument, over=over)) == expected


HELD = """
import torch


def validate(run):
    {before}
    total = 0
    for x, y in run.loader:
        total += (run.predictor(x) == y).sum().item()
    return total
"""


@pytest.mark.parametrize(("before", "expected"), [("run.predictor.eval()", 1), ("run.other.eval()", 0)])
def test_what_an_object_holds_is_a_network_if_it_is_put_in_evaluation_mode(before: str, expected: int) -> None:
    assert count(HELD.format(before=before)) == expected


BESIDE = """
import torch
import torch.nn.functional as F


class Program:
    def test(self, loader):
        self.model.eval()
        history = {{}}
        for x, y in loader:
            history["loss"] = F.mse_loss(self.model(x), y)
        return history

    def fit(self, loader, val_loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            {training}
"""
INNER = """for x, y in loader:
                self.optimizer.zero_grad()
                F.mse_loss(self.model(x), y).backward()
                self.optimizer.step()
            found = self.test(val_loader)
            self.note(found)"""
WITHIN = """for x, y in loader:
                found = self.test(val_loader)
                self.note(found)
                F.mse_loss(self.model(x), y).backward()
                self.optimizer.step()"""
ONCE = """found = self.test(val_loader)
            self.note(found)
            F.mse_loss(self.model(epoch), epoch).backward()
            self.optimizer.step()"""
SHORT = """found = self.test(val_loader)
            self.note(found)
            for scale in (1, 2):
                F.mse_loss(self.model(epoch), epoch).backward()
            self.optimizer.step()"""


@pytest.mark.parametrize(("training", "expected"), [(INNER, 1), (WITHIN, 0), (ONCE, 0), (SHORT, 0)])
def test_what_is_handed_on_beside_the_loop_that_differentiates(training: str, expected: int) -> None:
    """What is made once an epoch cannot be differentiated batch by batch: the second time, its graph is gone."""
    assert count(BESIDE.format(training=training)) == expected


ENGINE = """
import torch


class Engine:
    def __init__(self, data):
        self.model = None
        self.data = data

    def run(self):
        self.score(self.model)

    def score(self, model):
        model.eval()
        hits = 0
        for x, y in self.data.make_batch_loader():
            hits += ({model}(x).argmax(1) == y).sum().item()
        return hits
"""


@pytest.mark.parametrize("model", ["model", "self.model", "model.forward"])
def test_what_is_called_is_not_the_none_that_it_starts_with(model: str) -> None:
    """Somebody else sets `engine.model`."""
    assert count(ENGINE.format(model=model)) == 1
