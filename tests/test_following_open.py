"""Following what a program leaves open: what is not shown to have a graph, or to stay for long, is a note at most."""

from __future__ import annotations

from textwrap import dedent

import pytest

from flake8_torchleak.lint import lint

HEAD = """
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(2, 2), nn.Linear(2, 1)

    def forward(self, x):
        h = self.body(x)
        return self.head(h), h.detach()
"""
UPDATE = """
def update(net, opt, rows):
    kept = []
    for _ in range(4):
        for start in range(0, len(rows), 8):
            loss = net(rows[start : start + 8]).mean()
            opt.zero_grad(); loss.backward(); opt.step()
            kept.append(loss)
    return sum(each.item() for each in kept)

def main(play):
    net = nn.Linear(2, 1)
    opt = optim.SGD(net.parameters(), 0.1)
    {before}
    for _ in range(1000):
        {inside}
        update(net, opt, rows)
"""
BESIDE = """
def fit(loader, opt):
    net, kept = Net(), []
    for x, y in loader:
        out, beside = net(x)
        loss = F.mse_loss(out, y)
        opt.zero_grad(); loss.backward(); opt.step()
        kept.append({value})
    print(len(kept))
"""
FORWARD = """
class Pool(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.net = nn.Linear(2, 1)
        self.rows = torch.zeros(size, 1)

    def forward(self, x, at):
        out = self.net(x)
        {update}
        return {result}
"""
TASKS = """
class Meta:
    def run(self, net: nn.Module, tasks):
        total = torch.tensor(0.0)
        for x, y, given, wanted in tasks:
            loss = F.mse_loss(net(x), y)
            loss.backward()
            total += F.mse_loss(net(given), wanted)
        {end}
"""
PARTS = """
class Meta:
    def run(self, net: nn.Module, tasks):
        parts = []
        for x, y, given in tasks:
            loss = F.mse_loss(net(x), y)
            loss.backward()
            part = net(given).mean()
            {more}
            parts.append(part)
        {end}
"""
UNSEEN = """
import dataclasses
from elsewhere import Engine

@dataclasses.dataclass
class Runtime:
    engine: Engine

class Trainer:
    def __init__(self, runtime: Runtime):
        self.runtime, self.sums, self.whole = runtime, {{}}, 0.0

    @property
    def state(self):
        return self.runtime.engine.state

    def fit(self, loader: DataLoader, opt):
        self.sums = {{h: 0.0 for h in self.state.heads}}
        for x in loader:
            self.runtime.engine.run()
            total = self.state.out.total
            total.backward(); opt.step()
            {keep}
"""
HOLDER = """
class Trained(Framework):
    def __init__(self):
        self.net, self.losses = nn.Linear(2, 1), []

    def fit(self, loader, opt):
        for x, y in loader:
            loss = F.mse_loss(self.net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
            {holder}.append(loss)
"""
ABSTRACT = """
class Base(nn.Module):
    {forward}

    def fit(self, loader, opt):
        kept = []
        for x in loader:
            parts = self(x)
            kept.append(parts)
        print(len(kept), opt.step())
"""
FORM = """def forward(self, x):
        return F.linear(x, self.weight)

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1, 2))"""
OPTIONAL = """
def fit(loader, opt, first):
    net, total = Net(), 0.0
    for x, y in loader:
        term = {start}
        out, _ = net(x)
        loss = F.mse_loss(out, y)
        if not first:
            term = out.abs().mean()
            loss = loss + term
        opt.zero_grad(); loss.backward(); opt.step()
        total += {value}
    print(total)
"""
ROWS = """
def fit(loader, opt, size):
    net, rows = nn.Linear(2, 1), torch.zeros(size, 1)
    for i, (x, y) in enumerate(loader):
        out = net(x)
        {setting}
        opt.zero_grad(); F.mse_loss(out, y).backward(); opt.step()
    print(rows)
"""
EVALUATED = """
def evaluate(model, loader):
    model.eval()
    rows = []
    for x in loader:
        rows.append({made})
    print(len(rows))
"""
LOSS = """
class Smooth(nn.Module):
    def __init__(self, share{more}):
        super().__init__()
        self.share = share

    def forward(self, out, y):
        return ((out - y) * {share}).mean()

def evaluate(config, loader, net: nn.Module):
    lossy, total = Smooth(config["model"]), 0.0
    for x, y in loader:
        with torch.no_grad():
            out = net(x)
        total += lossy(out, y)
    print(total)
"""
MICRO = """
def fit(groups, net: nn.Module, opt, report):
    for group in groups:
        opt.zero_grad()
        kept = []
        for x in group:
            loss = net(x).mean()
            kept.append(loss)
            loss.backward()
        opt.step()
        report(kept)
"""
AVERAGED = """
class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.net = nn.Linear(4, 4)

    {mode}
    def follow(self, out):
        self.mean.mul_(0.9)
        self.mean.{changed}

    def forward(self, x):
        out = self.net(x)
        self.follow(out)
        return out
"""
CARRIED = """
from elsewhere import Decoder

def fit(loader: DataLoader, opt):
    net, state, kept = Decoder(), None, []
    for x, y in loader:
        out, state = net(x{given})
        opt.zero_grad(); F.mse_loss(out, y).backward({retained}); opt.step()
        kept.append(state)
    return kept
"""
WORKERS = """
def collect(config, data):
    kept = []
    for x, y in DataLoader(data, num_workers=config.get("workers", {default})):
        kept.append(y.numpy())
    return kept
"""
CASES = {
    "an update": (UPDATE.format(before="pass", inside="rows = play(net)"), ["note"]),
    "the same data": (UPDATE.format(before="rows = play(net)", inside="pass"), ["warning"]),
    "beside the output": (BESIDE.format(value="beside"), []),
    "beside the output, in part": (BESIDE.format(value="beside[0]"), []),
    "the output": (BESIDE.format(value="out"), ["warning"]),
    "rows that are returned": (FORWARD.format(update="self.rows[at] = out", result="self.rows"), ["note"]),
    "rows that stay inside": (FORWARD.format(update="self.rows[at] = out", result="out"), ["error"]),
    "a loss over tasks": (TASKS.format(end="return total"), ["note"]),
    "a loss over tasks, beside others": (TASKS.format(end="return total, tasks"), ["note"]),
    "a sum that is put elsewhere": (TASKS.format(end="self.seen.append(total)"), ["note"]),
    "beside what an object that nobody sees gives": (
        UNSEEN.format(keep="for name, loss in self.state.out.losses.items():\n                self.sums[name] += loss"),
        ["note"],
    ),
    "what it gives": (UNSEEN.format(keep="self.whole += total"), ["warning"]),
    "parts of one update": (PARTS.format(more="", end="return torch.stack(parts)"), ["note"]),
    "parts, one of them elsewhere": (PARTS.format(more="self.last = part", end="return torch.stack(parts)"), ["note"]),
    "parts that stay": (PARTS.format(more="", end="self.all.append(parts)"), ["error"]),
    "a sum of one update": (TASKS.format(end="print(total)"), ["note"]),
    "an object that nobody sees": (HOLDER.format(holder="self.trainer.loop.losses"), ["note"]),
    "an own list": (HOLDER.format(holder="self.losses"), ["warning"]),
    "a forward pass that is left open": (ABSTRACT.format(forward="name = ''"), ["note"]),
    "a forward pass in sight": (ABSTRACT.format(forward=FORM), ["error"]),
    "a number in the other arm": (OPTIONAL.format(start="0.0", value="term if first else term.item()"), []),
    "a tensor in the other arm": (
        OPTIONAL.format(start="x.mean()", value="term if first else term.detach()"),
        ["warning"],
    ),
    "rows set without gradients": (ROWS.format(setting="with torch.no_grad():\n            rows[i] = out[0]"), []),
    "rows set with them": (ROWS.format(setting="rows[i] = out[0]"), ["error"]),
    "a tokenizer of a network": (EVALUATED.format(made="model.tokenizer.decode(x)"), ["note"]),
    "a network itself": (EVALUATED.format(made="model.decode(x)"), ["error"]),
    "a method of a network, by name": (EVALUATED.format(made="getattr(model, 'shift')(x)"), ["note"]),
    "a loss without parameters": (LOSS.format(more="", share="self.share"), []),
    "a loss with a network": (LOSS.format(more=", ", share="self.share(y)"), ["error"]),
    "micro-steps": (MICRO, ["note"]),
    "a buffer, without gradients": (AVERAGED.format(mode="@torch.no_grad()", changed="add_(out[0], alpha=0.1)"), []),
    "a part of one": (AVERAGED.format(mode="@torch.no_grad()", changed="get(0).add_(out[0])"), []),
    "a buffer, with them": (AVERAGED.format(mode="", changed="add_(out[0], alpha=0.1)"), ["error"]),
    "a state that somebody cuts off": (CARRIED.format(given=", state", retained=""), ["note"]),
    "a state whose graph stays": (CARRIED.format(given=", state", retained="retain_graph=True"), ["error"]),
    "what is not carried on": (CARRIED.format(given="", retained=""), ["error"]),
    "workers, if asked for": (WORKERS.format(default=0), ["note"]),
    "workers in any case": (WORKERS.format(default=4), ["error"]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_open(name: str) -> None:
    text, expected = CASES[name]
    found = [each for each in lint(HEAD + dedent(text)) if each.code in ("TLK401", "TLK402", "TLK404", "TLK601")]
    assert [each.severity.value for each in found] == expected


@pytest.mark.parametrize(("test", "count"), [("if not self.hooked:", 0), ("with self.lock:", 1)])
def test_hooks_whose_caller_asks_first(test: str, count: int) -> None:
    text = f"""
import torch
from torch import nn

class Probe(nn.Module):
    def __init__(self, lock):
        super().__init__()
        self.net, self.lock, self.hooked = nn.Linear(2, 2), lock, False

    def look(self, module, given, output):
        self.last = output.shape

    def listen(self):
        self.net.register_forward_hook(self.look)
        self.hooked = True

    def forward(self, x):
        {test}
            self.listen()
        return self.net(x)
"""
    assert sum(each.code == "TLK604" for each in lint(text)) == count


@pytest.mark.parametrize(("static", "count"), [("@staticmethod", 1), ("", 0)])
def test_functions_of_the_old_form(static: str, count: int) -> None:
    """Torch raises for a forward pass that is no static method: nothing is kept by what does not run."""
    text = f"""
import torch

class Exp(torch.autograd.Function):
    {static}
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y
"""
    assert sum(each.code == "TLK603" for each in lint(text)) == count
