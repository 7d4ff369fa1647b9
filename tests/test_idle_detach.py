"""TLK406: methods that are there to detach a state, and do nothing."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

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
