"""TLK601: what a forward pass makes of what it made the last time, in variables and lists of its own."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

CELL = """
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.hidden, self.shown = torch.zeros(4), None

{more}
    def forward(self, x):
        {body}


def train(loader, opt):
    net = Cell()
    for x, y in loader:
        loss = (net(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
RESET = "    def free(self):\n        self.hidden = None\n"
CARRIED = "state = self.hidden\n        state = torch.tanh(self.inner(x) + state)\n        {}\n        return state"
KEPT = "`self.hidden` keeps the autograd graphs of all earlier ones; put only detached values there"
ROWS = """rows = [None, None]
        for i in range(2):
            rows[i] = torch.tanh(self.inner(x) + {start})
        {end}
        return rows[1]"""


def told(body: str, more: str = "") -> list[str]:
    found = lint(CELL.format(body=body, more=more), wanted=lambda code: code == "TLK601")
    return [each.message.partition(": ")[2] for each in found]


def test_a_state_says_what_its_object_may_keep() -> None:
    """`.detach()` on the variable would cut this very call in two."""
    assert told(CARRIED.format("self.hidden = state")) == [KEPT]


@pytest.mark.parametrize(
    ("body", "more"),
    [
        (CARRIED.format("self.hidden = state.detach()"), ""),
        (CARRIED.format("self.hidden = state"), RESET),
        (CARRIED.format("pass"), ""),
        (ROWS.format(start="self.hidden", end="self.hidden = rows[1].detach()"), ""),
        (ROWS.format(start="self.hidden", end="pass"), ""),
        (ROWS.format(start="self.hidden", end="self.hidden = rows[1]"), RESET),
    ],
)
def test_nothing_is_left_of_the_call(body: str, more: str) -> None:
    assert told(body, more) == []


LISTS = """hx, out = [None], [None]
        for j in range(3):
            if j == 0:
                hx[0] = self.hidden[0]
            hx[0] = torch.tanh(self.inner(x) + hx[0])
            out[0] = hx[0]
        x = torch.stack(out)
        self.hidden = [hx]
        return x"""


@pytest.mark.parametrize("more", ["", RESET])
def test_lists_of_one_call(more: str) -> None:
    """Only what its object is given is told, and never the list that the call gives."""
    assert all("out" not in each for each in told(LISTS, more))
    assert not more or told(LISTS, more) == []
