"""`.detach()` is only written on what is a tensor: generated programs are run before and after their SAFE fixes.

What is kept is of a shape that holds a graph and has no `detach` (or one that is none), it arises in many ways, and
uses of it, or of its parts, suggest that it is a tensor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from textwrap import indent
from types import ModuleType
from typing import Any

import pytest

from tests.fixer import mended

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

TOP = """\
import collections
import dataclasses
import numpy as np
import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
Pair = collections.namedtuple("Pair", "loss out mean")
@dataclasses.dataclass
class Output:
    loss: object
    out: object
    mean: object
class Mapping(dict):
    loss = property(lambda self: self["loss"])
class Own:
    def __init__(self, loss):
        self.loss = loss
    def backward(self):
        self.loss.backward()
    def mean(self):
        return self.loss.detach()
    def log(self, name):
        return name
class InPlace:
    def __init__(self, loss):
        self.loss = loss
    def detach(self):
        self.loss = self.loss.detach()
def differentiate(value):
    value.backward()
def differentiate_all(values):
    torch.autograd.backward(values)
class Meter:
    def __init__(self):
        self.values = []
    def update(self, value):
        self.values.append(value)
"""

SHAPES = {
    "tensor": ("F.mse_loss(out, loss.detach().expand_as(out))", "V"),
    "dict": ("{'loss': loss, 'out': out}", "V['loss']"),
    "dict()": ("dict(loss=loss, out=out)", "V['loss']"),
    "list": ("[loss, out.mean()]", "V[0]"),
    "tuple": ("(loss, out.mean())", "V[0]"),
    "namedtuple": ("Pair(loss, out, out.mean())", "V.loss"),
    "dataclass": ("Output(loss, out, out.mean())", "V.loss"),
    "mapping": ("Mapping(loss=loss, out=out)", "V.loss"),
    "distribution": ("torch.distributions.Normal(out, 1.0)", "V.mean.mean()"),
    "packed": ("pack_padded_sequence(out.unsqueeze(-1), [3, 2, 2, 1], batch_first=True)", "V.data.mean()"),
    "none": ("loss if i % 2 else None", ""),
    "number": ("np.float64(loss.item())", ""),
    "own": ("Own(loss)", "V.loss"),
    "in place": ("InPlace(loss)", "V.loss"),
    "adaptive": ("nn.AdaptiveLogSoftmaxWithLoss(3, 4, [2], div_value=1.0)(out, torch.tensor([0, 1, 2, 3]))", "V.loss"),
    "largest": ("torch.max(out, 1)", "V.values.mean()"),
    "largest by a method": ("out.max(dim=1)", "V[0].mean()"),
    "pooled": ("F.max_pool1d(out, 3, 1, 0, 1, False, True)", "V[0].mean()"),
    "pooled adaptively": ("F.adaptive_max_pool1d(out, 1, True)", "V[0].mean()"),
    "places": ("torch.where(out > 0)", ""),
    "places by a method": ("(out > 0).nonzero(as_tuple=True)", ""),
}
"""What is kept, of a loss `loss` and an output `out` of 4 x 3; and what of it, `V`, is differentiated."""

WAYS = {
    "direct": ("", "", "SHAPE"),
    "helper": ("def helper(loss, out, i):\n    return SHAPE\n", "", "helper(loss, out, i)"),
    "one return of two": (
        "def helper(loss, out, i):\n    if i < 0:\n        return loss\n    return SHAPE\n",
        "",
        "helper(loss, out, i)",
    ),
    "method": ("", "def helper(self, loss, out, i):\n    return SHAPE\n", "self.helper(loss, out, i)"),
    "overridden": ("", "def helper(self, loss, out, i):\n    return torch.mean(out)\n", "self.helper(loss, out, i)"),
    "criterion": (
        "class Criterion(nn.Module):\n    def forward(self, loss, out, i):\n        return SHAPE\n"
        "criterion = Criterion()\n",
        "",
        "criterion(loss, out, i)",
    ),
    "loss of torch, extended": (
        "class Criterion(nn.MSELoss):\n    def forward(self, loss, out, i):\n        return SHAPE\n"
        "criterion = Criterion()\n",
        "",
        "criterion(loss, out, i)",
    ),
    "parameter": ("", "", "criterion(loss, out, i)"),
    "network": ("", "def forward(self, loss, out, i):\n    return SHAPE\n", "self(loss, out, i)"),
    "network of a file": (
        "class Net(nn.Module):\n    def forward(self, loss, out, i):\n        return SHAPE\nnet = Net()\nnet.eval()\n",
        "",
        "net(loss, out, i)",
    ),
    "generator": ("def helper(loss, out, i):\n    yield SHAPE\n    return loss\n", "", "helper(loss, out, i)"),
    "last": ("def helper(loss, out, i):\n    yield SHAPE\n", "", "next(helper(loss, out, i))"),
}
"""Definitions of the file, of the class, and the expression."""

TEMPTING = {
    "nothing": "",
    "a part differentiated": "PART.backward()",
    "returned": "return V",
    "a part returned": "return {'loss': PART}",
    "a part by a helper": "differentiate(PART)",
    "by autograd": "torch.autograd.backward(V)",
    "by a helper and autograd": "differentiate_all(V)",
    "by itself": "V.backward()",
    "a field": "V.mean",
    "a field's value": "V.mean.item()",
    "moved": "V.cpu()",
    "logged": "V.log('train')",
    "broadcast": "V.expand((4, 3))",
    "in place": "V.detach()",
}
HOLDERS = (  # one after the other
    "self.kept.append(V)", "self.kept[i:] = [V]", "self.slots[i] = V", "self.kept.append((V, i))",
    "self.kept += [V]", "self.meter.update(V)", "self.kept.append({'value': V})",
)  # fmt: skip

ONLY = {
    "by autograd": {"list", "tuple"},
    "by a helper and autograd": {"list", "tuple"},
    "by itself": {"own"},
    "a field": {"namedtuple", "dataclass", "distribution", "own"},
    "a field's value": {"namedtuple", "dataclass"},
    "moved": {"packed"},
    "logged": {"own"},
    "broadcast": {"distribution"},
    "in place": {"in place"},
}
"""The shapes that have what such a use asks for; the others go with all."""


def text(shape: str, way: str, tempting: str, holder: str) -> str:
    """A program whose class keeps a value in each step: one of Lightning's where that decides, else of a loop."""
    made, part = SHAPES[shape]
    above, methods, call = (each.replace("SHAPE", made) for each in WAYS[way])
    use = TEMPTING[tempting].replace("PART", part)
    hooked = use.startswith("return") or tempting == "nothing"
    body = [
        "out = self.layer(x)",
        "loss = F.mse_loss(out, y)",
        f"V = {call}",
        *([holder, use or "return {'loss': loss}"] if hooked else [use, holder]),
    ]
    lines = "\n".join(body).replace("V", "result") + "\n"
    given = "batch, i, criterion=make" if hooked else "loader, criterion=make"
    loop = "x, y = batch\n" + lines if hooked else f"for i, (x, y) in enumerate(loader):\n{indent(lines, '    ')}"
    members = [
        "def __init__(self):\n    super().__init__()\n    self.layer = nn.Linear(3, 3)\n"
        "    self.kept, self.slots, self.meter = [], {}, Meter()\n",
        methods,
        f"def {'training_step' if hooked else 'train'}(self, {given}):\n{indent(loop, '    ')}",
    ]
    steps = f"class Steps(pl.LightningModule):\n{indent(''.join(members), '    ')}"
    override = f"class Run(Steps):\n    def helper(self, loss, out, i):\n        return {made}\n"
    return TOP + above + steps + (override if way == "overridden" else "class Run(Steps):\n    pass\n")


def run(source: str, shape: str) -> None:
    """The program, as Lightning (of which no more is here) would drive it; it raises what the program raises."""
    torch.manual_seed(0)
    names: dict[str, Any] = {"__name__": __name__}
    exec(f"make = None\n{source}", names)
    names["make"] = None
    exec(f"def make(loss, out, i):\n    return {SHAPES[shape][0]}\n", names)
    batches = [(torch.rand(4, 3), torch.rand(4, 3)) for _ in range(4)]
    steps = names["Run"]()
    if not hasattr(steps, "training_step"):
        steps.train(batches, names["make"])
        return
    for i, batch in enumerate(batches):
        given = steps.training_step(batch, i, names["make"])
        objective = given.get("loss") if isinstance(given, dict) else given
        if isinstance(objective, torch.Tensor):
            objective.backward()


@pytest.fixture(autouse=True)
def lightning(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of that name: its class is a module of torch's."""
    package = ModuleType("pytorch_lightning")
    package.__dict__["LightningModule"] = type("LightningModule", (torch.nn.Module,), {})
    monkeypatch.setitem(sys.modules, "pytorch_lightning", package)


def programs(shape: str) -> Iterator[tuple[str, str]]:
    """The programs that keep a value of this shape, with what names each; every holder in its turn."""
    for number, (way, tempting) in enumerate(product(WAYS, TEMPTING)):
        asks = tempting in ONLY or "PART" in TEMPTING[tempting]
        if shape not in ONLY.get(tempting, {shape}) or (asks and (way == "generator" or not SHAPES[shape][1])):
            continue
        if tempting == "by itself" and way not in ("direct", "helper", "method"):
            continue  # nothing shows of what class it is, and backward() is called on it
        holder = HOLDERS[number % len(HOLDERS)]
        yield text(shape, way, tempting, holder), f"{way}, {tempting}, {holder}"


QUICK, WATCHED = ("dict",), ("tuple", "list")
"""Shapes that are tried wherever tests are run, a second each, and where coverage is watched; the others take long."""
TRIED = [
    pytest.param(each, marks=[*[pytest.mark.long] * (each not in QUICK), *[pytest.mark.watched] * (each in WATCHED)])
    for each in SHAPES
    if each != "tensor"
]


@pytest.mark.parametrize("shape", TRIED)
def test_what_is_no_tensor_is_not_detached(shape: str) -> None:
    for source, name in programs(shape):
        after = mended(source).text
        assert after == source or _runs(after, shape), f"{name}\n{after}"


def _runs(source: str, shape: str) -> bool:
    """Whether a program runs to its end."""
    try:
        run(source, shape)
    except AttributeError:
        return False
    return True


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
def test_the_programs_run_as_they_are(shape: str) -> None:
    for source, name in programs(shape):
        assert _runs(source, shape), f"{name}\n{source}"


def test_tensors_are_detached_where_that_is_proven() -> None:
    done = [name for source, name in programs("tensor") if mended(source).text != source]
    assert {name.partition(",")[0] for name in done} >= {"direct", "helper", "one return of two", "method"}
    for source, name in programs("tensor"):
        assert _runs(mended(source).text, "tensor"), name
