"""Evaluations of networks that are frozen: what needs no gradient records no graph."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

PROGRAM = """
import copy
import torch
from torch import nn
from torch.utils.data import DataLoader

def evaluate(net, loader):
    net.eval()
    right = 0
    for x, y in loader:
        right += (net(x).argmax(1) == y).sum().item()
    return right

def main(net: nn.Module, other: nn.Module, loader: DataLoader):
    {}
"""


def severities(text: str) -> list[str]:
    return [each.severity.value for each in lint(text) if each.code == "TLK501"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("net.requires_grad_(False)\n    evaluate(net, loader)", ""),
        ("net.requires_grad_(requires_grad=False)\n    evaluate(net, loader)", ""),
        ("for p in net.parameters(): p.requires_grad = False\n    evaluate(net, loader)", ""),
        ("for p in net.parameters(): p.requires_grad_(False)\n    evaluate(net, loader)", ""),
        ("net.requires_grad_(False)\n    part = copy.deepcopy(net)\n    evaluate(part, loader)", ""),
        ("net.requires_grad_(False)\n    part = copy.copy(net)\n    evaluate(part, loader)", ""),
        ("net.requires_grad_(False)\n    part = copy.deepcopy(other)\n    evaluate(part, loader)", "note"),
        ("for p in net.parameters(): p.detach_()\n    evaluate(net, loader)", ""),
        ("net.requires_grad_(True)\n    evaluate(net, loader)", "warning"),
        ("net.requires_grad_()\n    evaluate(net, loader)", "warning"),
        ("net.requires_grad_(False)\n    evaluate(other, loader)", "note"),
        ("net.requires_grad_(False)\n    evaluate(net, loader)\n    evaluate(other, loader)", "note"),
        ("for p in other.parameters(): p.requires_grad = False\n    evaluate(net, loader)", "warning"),
        ("for p in net.modules(): p.requires_grad = False\n    evaluate(net, loader)", "note"),
        ("for p in list(net.parameters()): p.requires_grad = False\n    evaluate(net, loader)", ""),
        ("for p in net.parameters(): p.requires_grad = True\n    evaluate(net, loader)", "warning"),
        ("for p in net.parameters(): p.grad = False\n    evaluate(net, loader)", "warning"),
        ("for p in net.parameters(): print(p)\n    evaluate(net, loader)", "warning"),
        (
            "for p in net.parameters():\n        if p.dim() > 1: p.requires_grad = False\n    evaluate(net, loader)",
            "warning",
        ),
        ("net.requires_grad_(False)\n    evaluate(nn.Linear(2, 2), loader)", "note"),
        ("evaluate(loader=loader)", "warning"),
        ("pass", "warning"),
    ],
)
def test_networks_that_callers_freeze(body: str, expected: str) -> None:
    """Run on torch: after `requires_grad_(False)` no output has a grad_fn; after that, a new layer records itself.

    Where what may be the same one by its name is frozen, it is a note.
    """
    assert severities(PROGRAM.format(body)) == ([expected] if expected else [])


def test_networks_of_a_class_that_freezes_them() -> None:
    text = """
from torch import nn
from torch.utils.data import DataLoader

class Teacher:
    def __init__(self, net: nn.Module):
        self.net, self.head = net, nn.Linear(2, 2)
        for each in self.net.parameters():
            each.requires_grad = False

    def evaluate(self, loader: DataLoader):
        self.net.eval()
        for x, y in loader:
            print(self.net(x))

    def evaluate_head(self, loader: DataLoader):
        self.head.eval()
        for x, y in loader:
            print(self.head(x))
"""
    assert severities(text) == ["warning"]
    frozen = text.replace("self.net.parameters()", "self.head.parameters()")
    assert severities(frozen) == ["warning"]


BESIDE = """
import torch
from torch import nn
from torch.utils.data import DataLoader

def evaluate(net: nn.Module, part: nn.Module, loader: DataLoader):
    {}
    net.eval()
    for x in loader:
        print(part(net(x)).argmax(1))
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for p in part.parameters(): p.requires_grad = False", []),
        ("for _, p in net.named_parameters(): p.requires_grad = False", []),
        ("for each in (net, part): print(each.parameters())", ["warning"]),
        ("for each in (net, part):\n        for p in part.parameters(): p.requires_grad = False", []),
        ("for each in (net, part):\n        for p in each.parameters(): p.requires_grad = False", []),
        ("for p in part.parameters(): p.requires_grad = True", []),
        ("net.weight.requires_grad = False", []),
        ("p = loader.first\n    p.requires_grad: bool = False", []),
    ],
)
def test_a_network_that_is_frozen_in_the_function_that_evaluates_another(body: str, expected: list[str]) -> None:
    """Whose parameters are frozen, and on which way, is not told apart by the text: it is silent for all of them."""
    assert severities(BESIDE.format(body)) == expected
