"""Base programs of the spelling laws about graphs: each says its facts in the canonical spelling, by full names.

A line's end says what is found there; a program without such an end is one that must stay silent.
"""

from __future__ import annotations

_TRAINING = """\
import torch

def train(rows, net: torch.nn.Linear):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    kept = []
    total = 0.0
    for x, y in torch.utils.data.DataLoader(rows):
        loss = torch.nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        %s
    return kept, total
"""
_EVALUATION = """\
import torch

def measure(rows, net: torch.nn.Linear):
    net.eval()
    seen = []
    total = 0.0
    %s
    return seen, total
"""
_LOADER = "for x, y in torch.utils.data.DataLoader(rows):"

PROGRAMS = {
    "loss kept": _TRAINING % "kept.append(loss)  # TLK402",
    "loss added up": _TRAINING % "total += loss  # TLK401",
    "loss kept detached": _TRAINING % "kept.append(loss.detach())",
    "loss added up as a number": _TRAINING % "total += loss.item()",
    "loss kept as a number": _TRAINING % "kept.append(loss.item())",
    "loss emptied each step": _TRAINING % "kept.append(loss)\n        kept.clear()",
    "loss and weights kept": _TRAINING
    % "kept.append(loss.detach())\n        total += (net.weight ** 2).sum()  # TLK401",
    "loss emptied now and then": """\
import torch

def train(rows, net: torch.nn.Linear):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    kept = []
    for number, (x, y) in enumerate(torch.utils.data.DataLoader(rows)):
        loss = torch.nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        kept.append(loss)
        if number % 10 == 0:
            print(len(kept))
            kept.clear()
""",
    "losses in a table, emptied each epoch": """\
import torch

def train(rows, net: torch.nn.Linear):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(100):
        slots = {}
        for number, (x, y) in enumerate(torch.utils.data.DataLoader(rows)):
            loss = torch.nn.functional.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            slots[number] = loss
            slots.clear()
""",
    "the last ten losses": """\
import collections
import torch

def train(rows, net: torch.nn.Linear):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    recent = collections.deque(maxlen=10)
    for x, y in torch.utils.data.DataLoader(rows):
        loss = torch.nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        recent.append(loss)
    return recent
""",
    "a list of the last ten losses": _TRAINING % "kept.append(loss)\n        kept = kept[-10:]",
    "losses of a frozen network": """\
import torch

def compare(rows):
    net = torch.nn.Linear(8, 1)
    net.requires_grad_(False)
    kept = []
    for x, y in torch.utils.data.DataLoader(rows):
        kept.append(torch.nn.functional.mse_loss(net(x), y))
    return kept
""",
    "features of a frozen teacher": """\
import copy
import torch

class Distill:
    def __init__(self, student: torch.nn.Linear):
        self.student = student
        self.teacher = copy.deepcopy(student)
        self.teacher.requires_grad_(False)
        self.seen = []

    def train(self, rows):
        opt = torch.optim.SGD(self.student.parameters(), lr=0.1)
        for x, y in torch.utils.data.DataLoader(rows):
            wanted = self.teacher(x)
            loss = torch.nn.functional.mse_loss(self.student(x), wanted)
            opt.zero_grad()
            loss.backward()
            opt.step()
            self.seen.append(wanted.mean())
            self.seen.append(loss.detach())
""",
    "outputs kept with gradients off": _EVALUATION
    % f"with torch.no_grad():\n        {_LOADER}\n            seen.append(net(x).mean())",
    "loss added up with gradients off": _EVALUATION
    % f"with torch.no_grad():\n        {_LOADER}\n            total += torch.nn.functional.mse_loss(net(x), y)",
    "gradients off in each step": _EVALUATION
    % f"{_LOADER}\n        with torch.no_grad():\n            out = net(x)\n        total += out.mean()",
    "outputs kept with gradients on": _EVALUATION % f"{_LOADER}\n        seen.append(net(x).mean().item())  # TLK501",
    "gradients off in a caller": """\
import torch

def one(net, x, y):
    return torch.nn.functional.mse_loss(net(x), y)

def measure(rows, net: torch.nn.Linear):
    net.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in torch.utils.data.DataLoader(rows):
            total += one(net, x, y)
    return total
""",
    "gradients off in a method": """\
import torch

class Measure:
    def __init__(self, net: torch.nn.Linear):
        self.net = net
        self.total = 0.0

    def run(self, rows):
        self.net.eval()
        with torch.no_grad():
            for x, y in torch.utils.data.DataLoader(rows):
                self.total += torch.nn.functional.mse_loss(self.net(x), y)
""",
    "gradients on again inside": """\
import torch

def attack(rows, net: torch.nn.Linear):
    kept = []
    with torch.no_grad():
        for x, y in torch.utils.data.DataLoader(rows):
            with torch.enable_grad():
                loss = torch.nn.functional.mse_loss(net(x), y)
                loss.backward()
                kept.append(loss)  # TLK402
    return kept
""",
    "a moving average": """\
import torch

def train(rows, net: torch.nn.Linear):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    average = torch.zeros(8)
    for x, y in torch.utils.data.DataLoader(rows):
        out = net(x)
        loss = torch.nn.functional.mse_loss(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        average = 0.9 * average + 0.1 * out.detach()
    return average
""",
    "a moving average with its graph": """\
import torch

def train(rows, net: torch.nn.Linear):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    average = torch.zeros(8)
    for x, y in torch.utils.data.DataLoader(rows):
        out = net(x)
        loss = torch.nn.functional.mse_loss(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        average = 0.9 * average + 0.1 * out  # TLK401
    return average
""",
    "a meter of losses": """\
import torch

class Meter:
    def __init__(self):
        self.sum = 0.0

    def update(self, value):
        self.sum += value.detach()

def train(rows, net: torch.nn.Linear):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    meter = Meter()
    for x, y in torch.utils.data.DataLoader(rows):
        loss = torch.nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        meter.update(loss)
    return meter
""",
    "a buffer of a module": """\
import torch

class Average(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x):
        out = self.layer(x)
        self.mean = 0.9 * self.mean + 0.1 * out.mean(0).detach()
        return out - self.mean
""",
    "a buffer of a module with its graph": """\
import torch

class Average(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x):
        out = self.layer(x)
        self.mean = 0.9 * self.mean + 0.1 * out.mean(0)  # TLK601
        return out - self.mean
""",
    "a hidden state": """\
import torch

def train(rows):
    cell = torch.nn.GRUCell(8, 8)
    opt = torch.optim.SGD(cell.parameters(), lr=0.1)
    hidden = torch.zeros(1, 8)
    for x, y in torch.utils.data.DataLoader(rows):
        hidden = cell(x, hidden.detach())
        loss = torch.nn.functional.mse_loss(hidden, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    "gradients with their graph": """\
import torch

def train(rows, net: torch.nn.Linear):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    norms = []
    for x, y in torch.utils.data.DataLoader(rows):
        loss = torch.nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        norms.append(net.weight.grad.norm().item())
    return norms
""",
    "outputs collected by hooks": """\
import torch

class Watch:
    def __init__(self, net: torch.nn.Linear):
        self.kept = []
        net.register_forward_hook(self.hook)  # TLK604

    def hook(self, layer, given, out):
        self.kept.append(out.mean())
""",
    "saved for later in a function": """\
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x * x
        ctx.out = out  # TLK603
        return out

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.out
""",
}
