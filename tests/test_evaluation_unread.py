"""TLK501: networks beside training whose outputs nobody reads, or only other functions of the project do."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.finding import Severity
from tests.test_evaluation_elsewhere import found

JOB = """
import torch
from torch import nn
from torch.distributions import Categorical, Normal
from lib import unknown


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def encode(self, x):
        return self.body(x)

    def shape(self, x):
        return x.shape

    def forward(self, x):
        return self.body(x)


class Keeping(Net):
    def forward(self, x):
        self.seen = self.body(x)
        return self.seen


STATS = []


class Noting(Net):
    def forward(self, x):
        STATS.append(self.body(x))
        return torch.add(x, 1)


class Counting(Net):
    def forward(self, x):
        global STATS
        return self.body(x)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Keeping()])

    def forward(self, x):
        return self.parts[0](x)


class Open(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = unknown(part)

    def forward(self, x):
        return self.part(x)


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.size = Net(), len([1])

    def forward(self, x):
        return self.net(x)


class Memory:
    def __init__(self):
        self.rows = []

    def push(self, row):
        self.rows.append(row.detach())

    def pushed(self, row):
        kept = row.detach()
        self.rows.append(kept.argmax(1))

    def chosen(self, row):
        return row.argmax(1).item()


def chosen(values, size):
    return values.argmax(1).item() if size else 0


def kept(rows, values):
    rows.append(values.detach())


def fit(loader, opt, env):
    net, other, memory, rows = Net(), Net(), Memory(), []
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        {body}
    return rows
"""
UNREAD = {
    "bound, and not read": ("out = other(x)", 1),
    "a part of it": ("out = other(x)[0]", 1),
    "several": ("one, (two, *rest) = other(x)", 1),
    "one of several is read": ("one, two = other(x)\n        print(two)", 0),
    "a method of the network": ("out = other.encode(x)", 1),
    "a method that runs nothing": ("out = other.shape(x)", 0),
    "of the network that is trained": ("out = net.encode(x)", 1),
    "bound anew before it is read": ("out = other(x)\n        out = x\n        print(out)", 1),
    "read the next time": ("print(out)\n        out = other(x)", 0),
    "changed in place": ("out = other(x)\n        out += 1", 0),
    "read by a function inside": ("out = other(x)\n        rows.append(lambda: out)", 0),
    "a variable of all": ("global out\n        out = other(x)", 0),
    "under a name that says so": ("_ = other(x)", 0),
    "dropped": ("other(x)", 0),
    "put into something": ("rows[0] = other(x)", 0),
    "what the pass leaves in the network": ("out = other(x)\n        print(other.seen)", 0),
    "its mode and parameters": ("other.train()\n        out = other(x)\n        print(list(other.parameters()))", 1),
    "without gradients": ("with torch.no_grad():\n            out = other(x)", 0),
    "a network of networks": ("deep = Deep()\n        out = deep(x)", 1),
    "one that keeps something": ("other = Keeping()\n        out = other(x)", 0),
    "one that notes something": ("other = Noting()\n        out = other(x)", 0),
    "one that may set a variable of all": ("other = Counting()\n        out = other(x)", 0),
    "a part of it keeps something": ("other = Outer()\n        out = other(x)", 0),
    "a part that nobody sees": ("other = Open(1)\n        out = other(x)", 0),
    "one that nobody sees": ("other = unknown()\n        out = other(x)", 0),
    "handed to somebody": ("out = other(x)\n        print(unknown(other))", 0),
    "its parts": ("out = other(x)\n        print(list(other.modules()))", 0),
    "by text": ("out = other(x)\n        print(locals())", 0),
    "no network": ("out = unknown(x)", 0),
    "a function that runs one": ("out = chosen(x, 1)", 0),
    "with a hook": ("other.register_forward_hook(unknown)\n        out = other(x)", 0),
    "of no name": ("out = unknown.nets[0](x)", 0),
}


@pytest.mark.parametrize("name", UNREAD)
def test_outputs_that_nobody_reads(tmp_path: Path, name: str) -> None:
    body, expected = UNREAD[name]
    assert found(tmp_path, {"job": JOB.format(body=body)}, "job") == [Severity.WARNING] * expected


def test_in_a_class_or_a_forward_pass(tmp_path: Path) -> None:
    text = JOB.format(body="pass") + (
        "\n\nclass Table:\n    out = Net()(torch.ones(4))\n\n\nclass Outer(nn.Module):\n"
        "    def forward(self, x, loss):\n        for _ in loss:\n            loss.backward()\n"
        "            out = self.net(x)\n        return loss\n"
    )
    assert found(tmp_path, {"job": text}, "job") == []


TAKEN = {
    "a function that takes numbers out": ("act = chosen(other(x), 4)\n        print(act)", 1),
    "by a variable": ("values = other(x)\n        act = chosen(values, 4)\n        print(act)", 1),
    "a method of an object": ("act = memory.chosen(other(x))\n        print(act)", 1),
    "a draw": ("act = Categorical(other(x)).sample()\n        print(act.item())", 1),
    "a draw that is differentiated": ("act = Normal(other(x), 1).rsample()\n        act.sum().backward()", 0),
    "the chance of a draw": ("p = Normal(other(x), 1).log_prob(y)\n        (p + p).sum().backward()", 0),
    "the chance of a draw, read": ("p = Normal(other(x), 1).log_prob(y)\n        print(p.sum().item())", 1),
    "kept as advised": ("memory.push(other(x))", 0),
    "kept as advised, by a function": ("kept(rows, other(x))", 0),
    "kept in another form": ("memory.pushed(other(x))", 1),
    "code that nobody sees": ("act = unknown(other(x))\n        print(act)", 0),
    "by its name": ("act = chosen(values=other(x), size=4)\n        print(act)", 0),
    "through another network": ("act = chosen(net(other(x)), 4)\n        print(act)", 1),
}


@pytest.mark.parametrize("name", TAKEN)
def test_outputs_that_other_functions_get(tmp_path: Path, name: str) -> None:
    body, expected = TAKEN[name]
    assert len(found(tmp_path, {"job": JOB.format(body=body)}, "job")) == expected


LOOPS = """
import torch
from torch import nn
from torch.utils.data import DataLoader


def learn(net, loader, opt, rows):
    net.train()
    for x, y in loader:
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    net.eval()
    for x, y in DataLoader(rows):
        print(net(x).argmax(1).tolist())
    for x, y in DataLoader(rows):
        print(net(x).argmax(1).tolist(), net(y).argmax(1).tolist())
"""


def test_each_loop_of_a_function_that_trains(tmp_path: Path) -> None:
    assert found(tmp_path, {"job": LOOPS}, "job") == [Severity.WARNING] * 2
    quiet = LOOPS.replace(".backward()", "").replace("opt.step()", "pass")
    assert found(tmp_path, {"job": quiet}, "job") == [Severity.WARNING]
