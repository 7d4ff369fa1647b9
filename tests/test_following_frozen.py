"""Following programs whose networks are frozen: what needs no gradient keeps no graph, until it is trained again."""

from __future__ import annotations

from textwrap import dedent

import pytest

from flake8_torchleak.lint import lint

HEAD = """
import copy
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(2, 2), nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.body(x))

    def freeze(self):
        for p in self.parameters():
            p.requires_grad = False

class Quiet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
        for p in self.body.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.body(x)

class Half(Quiet):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.body(x))

def freeze(module):
    for p in module.parameters():
        p.requires_grad = False

def set_requires_grad(nets, needs=False):
    for each in nets if isinstance(nets, list) else [nets]:
        for p in each.parameters():
            p.requires_grad = needs

def frozen():
    made = Net()
    freeze(made)
    return made.eval()

def layers():
    return nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))

data = [torch.rand(3, 2) for _ in range(12)]
kept = []
"""
TAIL = """
for x in data:
    kept.append(net(x))
"""


def told(body: str, tail: str = TAIL) -> list[str]:
    """The severities of what is kept."""
    return [each.severity.value for each in lint(HEAD + dedent(body) + tail) if each.code == "TLK402"]


def has_history(body: str, tail: str = TAIL) -> bool:
    """Whether what is kept has a graph when it is run."""
    names: dict[str, object] = {"__name__": "program"}
    exec(compile(HEAD + dedent(body) + tail, "program", "exec"), names)
    kept = names["kept"]
    assert isinstance(kept, list)
    return any(each.grad_fn is not None for each in kept)


FROZEN = {
    "a loop": "net = layers()\nfor p in net.parameters():\n    p.requires_grad = False",
    "a loop with names": "net = layers()\nfor name, p in net.named_parameters():\n    p.requires_grad_(False)",
    "a loop over a list": "net = layers()\nfor p in list(net.parameters()):\n    p.requires_grad = False",
    "a variable": "net = layers()\nall_of_it = net.parameters()\nfor p in all_of_it:\n    p.requires_grad = False",
    "a way round": """
        net = layers()
        for p in net.parameters():
            if p.dim() > 1:
                p.requires_grad = False
                continue
            p.requires_grad = False
    """,
    "at once": "net = layers().requires_grad_(False)",
    "by name": "net = layers()\nnet.requires_grad_(requires_grad=False)",
    "a helper": "net = layers()\nfreeze(net)",
    "a helper that is told": "net = Net()\nset_requires_grad(net, False)",
    "a helper with a default": "net = Net()\nset_requires_grad([net])",
    "two in a list": "net, other = Net(), Net()\nset_requires_grad([other, net])",
    "its own method": "net = Net()\nnet.freeze()",
    "a factory": "net = frozen()",
    "where it is made": "net = Quiet()",
    "a copy": "net = copy.deepcopy(frozen())",
    "a copy of layers": "first = layers()\nfreeze(first)\nnet = copy.deepcopy(first)",
    "the parts of it": "first = layers()\nfreeze(first)\nnet = nn.Sequential(*list(first.children())[:-1])",
    "each part": "net = Net()\nfreeze(net.body)\nfreeze(net.head)",
    "frozen again": "net = Net()\nfreeze(net)\nnet.requires_grad_(True)\nnet.freeze()",
    "in parallel": "net = layers()\nfreeze(net)\nnet = nn.DataParallel(net)",
    "with other things": "net = Net()\nnet.names, net.note = ['a', torch.rand(2)], 'b'\nfreeze(net)",
    "a part less": "net = Net()\nfreeze(net)\nnet.head = nn.Identity()",
}
TRAINED = {
    "nothing": "net = layers()",
    "another one": "net, other = Net(), Net()\nfreeze(other)",
    "another one of layers": "made = [layers() for _ in range(2)]\nother, net = layers(), Net()\nfreeze(other)",
    "what was copied": "net = Net()\nother = copy.deepcopy(net)\nfreeze(other)",
    "layers that were copied": "net = layers()\nother = copy.deepcopy(net)\nfreeze(other)",
    "a choice": "net = Net()\nfor n, p in net.named_parameters():\n    if 'b' in n:\n        p.requires_grad = False",
    "a slice": "net = Net()\nfor p in list(net.parameters())[:-1]:\n    p.requires_grad = False",
    "one by one": "net = Net()\nnet.body.weight.requires_grad = False",
    "all but a part": "net = Net()\nfreeze(net)\nfor p in net.head.parameters():\n    p.requires_grad = True",
    "all but a layer": "net = Net()\nfreeze(net)\nnet.head.requires_grad_(True)",
    "all but a weight": "net = Net()\nfreeze(net)\nnet.head.weight.requires_grad = True",
    "a new part": "net = Net()\nfreeze(net)\nnet.head = nn.Linear(2, 2)",
    "a new layer": "net = layers()\nfreeze(net)\nnet[2] = nn.Linear(2, 2)",
    "a copy with a new layer": """
        first = layers()
        freeze(first)
        first[2] = nn.Linear(2, 2)
        net = copy.deepcopy(first)
    """,
    "a part": "net = Net()\nfreeze(net.body)",
    "a frozen base": "net = Half()",
    "for a while": "net = Net()\nset_requires_grad(net, False)\nset_requires_grad(net, True)",
    "no more": "net = Net()\nnet.freeze()\nnet.requires_grad_()",
    "behind it": "first = frozen()\nnet = nn.Sequential(first, nn.Linear(1, 1))",
    "its own method, unused": "net = Net()\nif False:\n    net.freeze()",
    "what is no parameter": "net = layers()\nnet.requires_grad = False",
    "data that learns": "net = frozen()\ndata = [each.requires_grad_() for each in data]",
}


@pytest.mark.parametrize("body", FROZEN.values(), ids=FROZEN)
def test_what_is_frozen_keeps_nothing(body: str) -> None:
    assert not told(body)


@pytest.mark.parametrize("body", TRAINED.values(), ids=TRAINED)
def test_what_is_trained_in_part_keeps_a_graph(body: str) -> None:
    assert told(body)


@pytest.mark.parametrize("body", [*FROZEN.values(), *TRAINED.values()], ids=[*FROZEN, *TRAINED])
def test_what_torch_says(body: str) -> None:
    pytest.importorskip("torch")
    assert has_history(body) == (body in TRAINED.values())
