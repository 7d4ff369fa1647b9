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

LISTS = """hx, out = [None], [None]
        for j in range(3):
            if j == 0:
                hx[0] = self.hidden[0]
            hx[0] = torch.tanh(self.inner(x) + hx[0])
            out[0] = hx[0]
        x = torch.stack(out)
        self.hidden = [hx]
        return x"""


def told(body: str, more: str = "") -> list[str]:
    found = lint(CELL.format(body=body, more=more), wanted=lambda code: code == "TLK601")
    return [each.message.partition(": ")[2] for each in found]


def test_a_state_says_what_its_object_may_keep() -> None:
    """`.detach()` on the variable would cut this very call in two."""
    assert told(CARRIED.format("self.hidden = state")) == [KEPT]


def test_what_only_makes_a_state_keeps_none() -> None:
    body = "state = self.inner(x)\n        print(state.shape)\n        " + CARRIED.format("self.hidden = state")
    assert told(body) == [KEPT]


@pytest.mark.parametrize(
    ("body", "more"),
    [
        (CARRIED.format("self.hidden = state.detach()"), ""),
        (CARRIED.format("self.hidden = state"), RESET),
        (CARRIED.format("pass"), ""),
        (ROWS.format(start="self.hidden", end="self.hidden = rows[1].detach()"), ""),
        (ROWS.format(start="self.hidden", end="pass"), ""),
        (LISTS.replace("[hx]", "None"), ""),
        (ROWS.format(start="self.hidden", end="self.hidden = rows[1]"), RESET),
    ],
)
def test_nothing_is_left_of_the_call(body: str, more: str) -> None:
    assert told(body, more) == []


STACKED = """import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.count = nn.Linear(4, 4), nn.ModuleList([nn.Linear(4, 4)])
        self.hidden = None

    def start(self, size):
        return [[torch.zeros(size)], [torch.zeros(size)]]

    def forward(self, x, hidden=None):
        hx, cx = [None for _ in range(len(self.count))], [None for _ in range(len(self.count))]
        for i in range(len(self.count)):
            y = [None for _ in range(x.size(1))]
            for j in range(x.size(1)):
                gates = self.count[i](x[:, j])
                if hidden is None:
                    if self.hidden is None:
                        self.hidden = self.start(4)
                    elif i == len(self.hidden[0]):
                        more = self.start(4)
                        self.hidden[0].extend(more[0])
                        self.hidden[1].extend(more[1])
                else:
                    self.hidden = hidden
                if j == 0:
                    hx[i], cx[i] = self.hidden[0][i], self.hidden[1][i]
                gates += self.inner(hx[i])
                cx[i] = torch.sigmoid(gates) * cx[i]
                hx[i] = torch.tanh(cx[i]) if i < len(self.count) - 1 else torch.tanh(gates + cx[i])
                y[j] = hx[i]
            x = torch.stack(y, dim=1)
        self.hidden = [hx, cx]
        return x
"""


@pytest.mark.parametrize(
    ("more", "expected"), [("", [KEPT, KEPT]), ("\n    def free(self):\n        self.hidden = None\n", [])]
)
def test_a_recurrence_in_lists(more: str, expected: list[str]) -> None:
    """`cx[i]` and `hx[i]` go on from what the last call left; `y[j]` only gathers what this call gives."""
    found = lint(STACKED + more, wanted=lambda code: code == "TLK601")
    assert [each.message.partition(": ")[2] for each in found] == expected
