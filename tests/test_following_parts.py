"""Attributes by names that a program works out, and loops over the parts of one forward pass."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

STORAGE = """
import torch
from torch import nn

class Storage:
    def __init__(self, keys):
        self.keys = keys
        for key in self.keys:
            setattr(self, key, [])

    def feed(self, data):
        for key, value in data.items():
            getattr(self, key).append(value)

class Agent:
    def __init__(self, task):
        self.task, self.kept = task, Storage(task.keys)
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def step(self):
        storage = {storage}
        out = self.net(self.task.reset())
        storage.feed({{"value": out}})
        loss = out.mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""


@pytest.mark.parametrize(("storage", "count"), [("Storage(self.task.keys)", 0), ("self.kept", 1)])
def test_what_getattr_gives_is_no_older_than_its_object(storage: str, count: int) -> None:
    assert sum(each.code == "TLK403" for each in lint(STORAGE.format(storage=storage))) == count


DISTANCE = """
import torch
from torch import nn

class Distance(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.net, self.first, self.count = nn.Conv2d(3, 3, 3), nn.Linear(3, 3), count
        self.lins = nn.ModuleList([nn.Linear(size, 1) for size in range(count)])
        self.eval()

    def {name}(self, rows):
        found = []
        for at in range(self.count):
            found.append(self.{part}(rows[at]).mean())
        return found
"""


@pytest.mark.parametrize(
    ("name", "part", "told"),
    [
        ("forward", "first", False),  # a loop of one pass
        ("score", "first", True),
        ("forward", "lins[at]", False),
    ],
)
def test_loops_over_the_parts_of_one_pass(name: str, part: str, told: bool) -> None:
    codes = {each.code for each in lint(DISTANCE.format(name=name, part=part))}
    assert ("TLK402" in codes or "TLK501" in codes) is told


QUIET = """
import torch
from torch import nn

class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(2, 2), nn.Linear(2, 2)

    {decorator}
    def forward(self, x, learns=False):
        {body}

def evaluate(loader):
    net = Scorer()
    net.eval()
    kept = []
    for x in loader:
        kept.append(net(x{given}))
    return kept
"""
BLOCK = "with torch.set_grad_enabled({}):\n            return self.body(x)"


@pytest.mark.parametrize(
    ("decorator", "body", "given", "told"),
    [
        ("@torch.no_grad()", "return self.body(x)", "", False),
        ("", "with torch.no_grad():\n            return self.body(x)", "", False),
        ("", "with torch.no_grad():\n            x = self.body(x)\n        return self.head(x)", "", True),
        ("", BLOCK.format("learns"), ", learns=False", False),
        ("", BLOCK.format("mode=not learns"), ", True", False),
        ("", BLOCK.format("learns"), ", learns=True", True),
        ("", "return self.body(x)", "", True),
    ],
)
def test_forward_passes_that_switch_gradients(decorator: str, body: str, given: str, told: bool) -> None:
    """Run on torch: what is made in the block has no grad_fn, whatever mode the caller is in."""
    codes = {each.code for each in lint(QUIET.format(decorator=decorator, body=body, given=given))}
    assert ("TLK402" in codes or "TLK501" in codes) is told


@pytest.mark.parametrize(("made", "told"), [("torch.where(out)[0]", False), ("torch.where(out > 0, out, x)", True)])
def test_where_alone_gives_indices(made: str, told: bool) -> None:
    text = QUIET.format(decorator="", body="return self.body(x)", given="")
    text = text.replace("kept.append(net(x))", f"out = net(x)\n        kept.append({made})")
    assert any(each.code == "TLK402" for each in lint(text)) is told


HELD = """
import numpy
import torch
from torch import nn

class Buffer:
    def __init__(self, size, space):
        self.size, self.space = size, space
        {long}
        self.values = {made}

    def feed(self, at, values):
        self.values[at] = values

def fit(net: nn.Module, loader, optimizer, buffer: Buffer):
    for at, x in enumerate(loader):
        out = net(x)
        optimizer.zero_grad()
        out.mean().backward()
        optimizer.step()
        buffer.feed(at, out)
"""


@pytest.mark.parametrize(
    ("made", "told"), [("numpy.zeros((size, 4))", False), ("[None] * size", True), ("space.rows(size)", True)]
)
def test_arrays_of_a_constructor_that_was_not_followed(made: str, told: bool) -> None:
    """numpy refuses a tensor with history, so that an array keeps none."""
    long = "\n        ".join(f"self.part{at} = space.part({at})" for at in range(400))
    for text in (HELD.format(long=long, made=made), HELD.format(long="", made=made)):
        assert any(each.code == "TLK403" for each in lint(text)) is told


PROGRAM = """
{imports}
import torch

def extract(model, images):
    model.eval()
    kept = []
    for x in images:
        kept.append(model(x))
    return kept

if __name__ == "__main__":
    {switch}
    print(extract(torch.load("model.pt"), torch.load("images.pt")))
"""


@pytest.mark.parametrize(("switch", "told"), [("torch.set_grad_enabled(False)", False), ("torch.manual_seed(0)", True)])
def test_a_program_that_turns_gradients_off(switch: str, told: bool) -> None:
    assert bool({each.code for each in lint(PROGRAM.format(imports="", switch=switch))} & {"TLK402", "TLK501"}) is told


@pytest.mark.parametrize(("library", "told"), [("import megengine as mge", False), ("import numpy as np", True)])
def test_networks_of_another_library(library: str, told: bool) -> None:
    text = PROGRAM.format(imports=library, switch="pass").replace("import torch\n", "# as in torch\n")
    assert any(each.code == "TLK501" for each in lint(text)) is told
