"""Rare ways through the model: what they lead to, and what looks alike and is fine."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest

from flake8_torchleak.lint import lint
from tests.kept import program, training

ROWS = """\
import h5py
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, path):
        self.path, self.file = path, None
        self.open()
        self.n = len(self.file)
        {after}
    def open(self):
        if {condition}:
            self.file = h5py.File(self.path){marker}
    def __len__(self):
        return self.n
    def __getitem__(self, i):
        self.open()
        return self.file[i]

loader = DataLoader(Rows("x"), num_workers=2)
"""


def rows(after: str, condition: str = "self.file is None", leaks: bool = True) -> str:
    """A Dataset that opens its file in the main process, and what it does behind that."""
    return program(ROWS.format(after=after, condition=condition, marker="  # TLK105" * leaks))


HANDED = """\
from torch.utils.data import Dataset

class Base(Dataset):
    def __init__(self, rows=()):
        self.rows = {kept}
    def __getitem__(self, i):
        return self.rows[i]

{classes}

rows = [str(each) for each in open("names")]
loader = DataLoader({made}, num_workers=2)
"""
MIDDLE = "class Middle(Base):\n    def __init__(self, rows):\n        super().__init__(rows)  # TLK101"

RECURRENT = """\
def train(loader):
    one, two = nn.GRU(2, 2), nn.GRU(2, 2)
    opt = torch.optim.SGD([*one.parameters(), *two.parameters()])
    h = g = None
    for epoch in range(3):
        for x in loader:
            out, h = one(x, h){one}
            again, g = two(x, g){two}
            (out + again).sum().backward()
            opt.step()
"""
ANNOTATED = """\
def train(loader):
    net = nn.GRU(2, 2)
    opt = torch.optim.SGD(net.parameters())
    h: object = None
    for x in loader:
        out, new = net(x, h)
        h: object = {}
        out.sum().backward()
        opt.step()
"""
COLLECTED = """\
import pytorch_lightning as pl

class Lit(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(1, 1)
    def training_step(self, batch, i):
        loss = self.net(batch).sum()
        return dict(loss=loss, shown={}){}
    def training_epoch_end(self, outputs):
        pass
"""
CAM = """\
class Cam:
    def __init__(self, model):
        self.model, self.acts = model, []
        model.register_forward_hook(self.save)  # TLK604
        model.register_full_backward_hook(self.grads)
    def save(self, module, given, out):
        self.acts.append(out)
    def grads(self, module, given, out):
        pass
    def __call__(self, x):
        self.acts.clear()
        return self.model(x)

def reset(cam):
    cam.acts.clear()
"""
METER = "class Meter:\n    def __init__(self): self.sum = 0\n    def update(self, v, n=1): self.sum += v * n"


def made(loss: str, kept: str, above: str = "") -> str:
    """A step with its loss made in another way."""
    return training(kept, above).replace("loss = criterion(model(x), y)", loss, 1)


PROGRAMS = {
    "closed behind the call": rows("self.file.close()", leaks=False),
    "set to None behind the call": rows("self.file = None", leaks=False),
    "deleted behind the call": rows("del self.file", leaks=False),
    "left open": rows("pass"),
    "left open, asked for by name": rows("pass", "not hasattr(self, 'file')"),
    "handed on by two constructors": program(
        HANDED.format(
            kept="rows",
            classes=MIDDLE + "\n\nclass Low(Middle):\n    def __init__(self, rows):\n        super().__init__(rows)",
            made="Middle(rows)",
        )
    ),
    "through a bar, by keyword": program(
        HANDED.format(
            kept="list(tqdm(iterable=[str(each) for each in rows]))  # TLK101",
            classes="from tqdm import tqdm",
            made="Base(rows)",
        )
    ),
    "a bar of nothing but numbers": program(
        HANDED.format(kept="list(tqdm(iterable=[]))", classes="from tqdm import tqdm", made="Base()")
    ),
    "two states, each of its own": program(RECURRENT.format(one="  # TLK406", two="  # TLK406")),
    "a state in a variable with a type": program(ANNOTATED.format("new  # TLK406")),
    "a state in a variable with a type, cut": program(ANNOTATED.format("new.detach()")),
    "collected by the framework, by keywords": program(COLLECTED.format("loss", "  # TLK402")),
    "collected by the framework, a number": program(COLLECTED.format("loss.item()", "")),
    "emptied before each run, and by a function": program(CAM),
    "a meter, with options": training("m.update(v=loss, **opts)  # TLK403", METER, "m = Meter()"),
    "a meter, with options and a number": training("m.update(v=loss.item(), **opts)", METER, "m = Meter()"),
    "hooked by an object's constructor": program(
        "def run(model, x):\n    class Own:\n        def __init__(self):\n            model.register_forward_hook(print)\n"
        "    return model(x)"
    ),
    "hooked by a name of its own": program(
        "def run(model, x):\n    m0 = model\n"
        + "".join(f"    m{n + 1} = m{n}\n" for n in range(4))
        + "    m4.register_forward_hook(print)  # TLK604\n    return model(x)"
    ),
    "hooked by a name too far away": program(
        "def run(model, x):\n    m0 = model\n"
        + "".join(f"    m{n + 1} = m{n}\n" for n in range(25))
        + "    m25.register_forward_hook(print)\n    return model(x)"
    ),
    "added up part by part": made(
        "loss = 0\n        for part in model:\n            loss = loss + part(x)", "kept.append(loss)  # TLK402"
    ),
    "added up part by part, a number": made(
        "loss = 0\n        for part in model:\n            loss = loss + part(x)", "kept.append(float(loss))"
    ),
    "one of two that a model gives": made("loss, n = model(x)", "kept.append(loss)  # TLK402"),
    "a part of what a model gives": made("loss = model(x).loss.mean()", "kept.append(loss)  # TLK402"),
    "multiplied": training("total *= 2", "", "total = 1"),
    "two names at once": training("a = b = loss.item()\nkept.append(a)"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_corners(name: str) -> None:
    text = PROGRAMS[name]
    expected = [(at, code) for at, line in enumerate(text.splitlines(), 1) for code in re.findall(r"# (TLK\d+)$", line)]
    found = [(each.span.line, each.code) for each in lint(text, fixes=True) if each.code >= "TLK1"]
    assert sorted(found) == sorted(expected)


def test_no_rule_is_wanted() -> None:
    assert lint("class Rows(Dataset):\n    pass\n", wanted=lambda code: False) == []


def test_a_function_that_makes_no_network_needs_no_gradients() -> None:
    text = """\
        import torch
        def make():
            print(1)
        def evaluate(model, val_loader):
            shows = make()
            model.eval()
            losses = []
            for x, y in val_loader:
                losses.append(shows(model(x), y).sum().item())
            return losses
    """
    assert [each.code for each in lint(dedent(text))] == ["TLK501"]
    needed = text.replace("print(1)", "return Forces()").replace(
        "def make",
        "class Forces(torch.nn.Module):\n            def forward(self, x, y):\n"
        "                return torch.autograd.grad(y, x)\n        def make",
    )
    assert [each.code for each in lint(dedent(needed))] == []
