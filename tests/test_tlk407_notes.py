"""TLK407: of a step that is a function of its own the graph is gone when that returns."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint

STEP = """
import torch


def step(net, criterion, optimizer, x, y):
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    return {given}


def fit(net, criterion, optimizer, loader):
    for x, y in loader:
        step(net, criterion, optimizer, x, y)
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("loss.item()", Severity.NOTE),
        ("float(loss), 1", Severity.NOTE),
        ("x, y", Severity.NOTE),
        ("loss", Severity.WARNING),
        ("loss, 1", Severity.WARNING),
        ("[loss, 1]", Severity.WARNING),
    ],
)
def test_what_a_step_gives(given: str, expected: Severity) -> None:
    (found,) = (each for each in lint(textwrap.dedent(STEP).format(given=given)) if each.code == "TLK407")
    assert found.severity is expected
    assert ("returns" in found.reason) is (expected is Severity.NOTE)


def test_a_step_that_gives_nothing() -> None:
    (found,) = (each for each in lint(STEP.replace("return {given}", "return")) if each.code == "TLK407")
    assert found.severity is Severity.NOTE
