"""What a helper does with what it is handed: it detaches a carried state in place, or resets gradients."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

CARRIED = """
import torch
from torch import nn
from torch.utils.data import DataLoader


def cut(state, other=None):
    {cut}


def passed(state):
    cut(state)


class Cutter:
    def cut(self, state):
        state.detach_()


def train(data, width):
    cell, spare = nn.GRUCell(width, width), torch.zeros(1, width)
    h = torch.zeros(1, width)
    for x in DataLoader(data):
        {step}
    return h
"""


@pytest.mark.parametrize(
    ("cut", "step", "count"),
    [
        ("state.detach_()", "h = cell(x, h); cut(h)", 0),
        ("state.detach_()", "h = cell(x, h); passed(h)", 0),
        ("state.detach_()", "h = cell(x, h); Cutter().cut(h)", 0),
        ("state.detach_()", "new = cell(x, h); h = new; cut(new)", 0),
        ("state.detach_()", "h = cell(x, h); cut(spare)", 1),
        ("state.detach()", "h = cell(x, h); cut(h)", 1),
        ("state = state.detach_(); state += 1", "h = cell(x, h); cut(h)", 0),
        ("other.detach_()", "h = cell(x, h); cut(spare, h)", 0),
        ("other.detach_()", "h = cell(x, h); cut(h, spare)", 1),
    ],
)
def test_a_state_that_a_helper_detaches(cut: str, step: str, count: int) -> None:
    text = CARRIED.format(cut=cut, step=step)
    assert len([each for each in lint(text) if each.code == "TLK406"]) == count


BACKWARD = """
import torch


def penalty(loss):
    loss.backward(create_graph=True)


def outer(loss):
    penalty(loss)


def zero(opt):
    opt.zero_grad()


def also(opt):
    zero(opt)


def deep(opt):
    also(opt)


def other(opt, loader):
    for x in loader:
        opt.zero_grad()


def fit(net, opt, loader):
    {before}
    for x in loader:
        loss = net(x).mean()
        {step}
    {behind}
"""


@pytest.mark.parametrize(
    ("step", "count"),
    [
        ("zero(opt); penalty(loss)", 0),
        ("also(opt); penalty(loss)", 0),
        ("penalty(loss); opt.zero_grad()", 0),
        ("zero(opt); outer(loss)", 0),
        ("opt.zero_grad(); outer(loss)", 0),
        ("deep(opt); penalty(loss)", 0),
        ("penalty(loss)", 1),
        ("outer(loss)", 1),
        ("print(opt); outer(loss)", 1),
    ],
)
def test_gradients_that_a_helper_resets(step: str, count: int) -> None:
    text = BACKWARD.format(before="pass", step=step, behind="pass")
    assert len([each for each in lint(text) if each.code == "TLK602"]) == count


@pytest.mark.parametrize("place", ["before", "behind"])
def test_what_is_reset_in_another_loop(place: str) -> None:
    given = {"before": "pass", "behind": "pass"} | {place: "other(opt, loader)"}
    text = BACKWARD.format(step="penalty(loss)", **given)
    assert len([each for each in lint(text) if each.code == "TLK602"]) == 1


@pytest.mark.parametrize(("behind", "count"), [("opt.zero_grad()", 0), ("zero(opt)", 1), ("pass", 1)])
def test_what_a_caller_resets_that_goes_over_nothing(behind: str, count: int) -> None:
    """Of what it calls beside, nobody knows whether that belongs to the same step."""
    once = f"\n\ndef once(net, opt, x):\n    penalty(net(x).mean())\n    {behind}\n"
    text = BACKWARD[: BACKWARD.index("\n\ndef fit")] + once
    assert len([each for each in lint(text) if each.code == "TLK602"]) == count
