"""TLK501: loops that train, adapt or attack after all, here or in what they call; networks frozen elsewhere."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from tests.model import module

HELPERS = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        return self.body(x)


class Adapted(nn.Module):
    def __init__(self, net, opt):
        super().__init__()
        self.net, self.opt = net, opt

    def forward(self, x):
        return self.adapted(x)

    def adapted(self, x):
        out = self.net(x)
        out.softmax(1).max().backward()
        self.opt.step()
        return out


class Scaler:
    def __call__(self, loss, opt):
        loss.backward()
        opt.step()


class Job:
    def run(self, loader):
        with torch.no_grad():
            return self.evaluate(loader)


def attacked(net, x, y):
    x = x.detach().requires_grad_()
    grad = torch.autograd.grad(nn.functional.cross_entropy(net(x), y), [x])[0]
    return x + grad.sign()


def adapt(net, x, opt):
    net(x).softmax(1).max().backward()
    opt.step()


def freeze(net):
    for p in net.parameters():
        p.requires_grad = False


def loaded(path):
    net = Net()
    net.load_state_dict(torch.load(path))
    net.eval()
    freeze(net)
    return net


def scores(net, rows):
    net.eval()
    for x in rows:
        print(net(x).max())
"""
MAIN = """
import torch
from torch import nn
from helpers import Adapted, Job, Net, Scaler, adapt, attacked, freeze, loaded, scores

{program}
"""
QUIET = {
    "an attack": """
        def test(net, loader):
            net.eval()
            for x, y in loader:
                print((net(attacked(net, x, y)).argmax(1) == y).sum().item())
    """,
    "an adaptation": """
        def test(net, loader, opt):
            net.eval()
            for x, y in loader:
                adapt(net, x, opt)
                print((net(x).argmax(1) == y).sum().item())
    """,
    "a network that adapts itself": """
        def test(net: Net, loader):
            net.eval()
            model = Adapted(net, torch.optim.Adam(net.parameters()))
            for x, y in loader:
                print((model(x).argmax(1) == y).sum().item())
    """,
    "what steps is an object": """
        def train(net, loader, opt):
            net.eval()
            scaler = Scaler()
            for x, y in loader:
                scaler(nn.functional.cross_entropy(net(x), y), opt)
    """,
    "what steps is not seen": """
        def train(net, loader, opt, scaler):
            net.eval()
            for x, y in loader:
                opt.zero_grad()
                scaler(nn.functional.cross_entropy(net(x), y), opt)
    """,
    "the sum is differentiated": """
        def fisher(net, loader):
            net.eval()
            total = 0
            for x, y in loader:
                total = total + nn.functional.cross_entropy(net(x), y)
            total.backward()
    """,
    "the sum is differentiated by the caller": """
        def total(net, loader):
            net.eval()
            found = 0
            for x, y in loader:
                found = found + nn.functional.cross_entropy(net(x), y)
            return found

        def fisher(net, loader):
            total(net, loader).backward()
    """,
    "what it leaves is differentiated": """
        class Model:
            def __init__(self, net):
                self.net = net

            def forward_all(self, rows):
                self.net.eval()
                self.outputs = [self.net(x) for x in rows]

            def optimize(self, rows, opt):
                self.forward_all(rows)
                sum(self.outputs).sum().backward()
                opt.step()
    """,
    "what it yields is differentiated": """
        def features(net, loader):
            net.eval()
            for x in loader:
                yield net(x)

        def train(net, loader, head, opt):
            for each in features(net, loader):
                head(each).sum().backward()
                opt.step()
    """,
    "frozen by a helper": """
        def test(net, loader):
            net.eval()
            freeze(net)
            for x, y in loader:
                print((net(x).argmax(1) == y).sum().item())
    """,
    "frozen when it was loaded": """
        def test(loader):
            net = loaded("net.pt")
            for x, y in loader:
                print((net(x).argmax(1) == y).sum().item())
    """,
    "frozen by the constructor": """
        class Tester:
            def __init__(self, net):
                self.net = net
                [p.requires_grad_(False) for p in self.net.parameters()]

            def test(self, loader):
                self.net.eval()
                for x, y in loader:
                    print((self.net(x).argmax(1) == y).sum().item())
    """,
    "run by the class above": """
        class Tester(Job):
            def __init__(self, net):
                self.net = net

            def evaluate(self, loader):
                self.net.eval()
                for x, y in loader:
                    print((self.net(x).argmax(1) == y).sum().item())
    """,
    "the loop is in another file": """
        def main(rows):
            net = Net()
            for number in range(100):
                scores(net, rows[number])
    """,
}


def count(folder: Path, program: str) -> int:
    (folder / "helpers.py").write_text(HELPERS)
    text, path = MAIN.format(program=textwrap.dedent(program)), folder / "main.py"
    path.write_text(text)
    return len(lint(text, path=str(path), wanted=lambda code: code == "TLK501"))


@pytest.mark.parametrize("name", QUIET)
def test_what_needs_gradients_or_has_none(tmp_path: Path, name: str) -> None:
    assert count(tmp_path, QUIET[name]) == 0


TOLD = {
    "a network that was loaded by another file": """
        def test(loader):
            net = Net()
            net.load_state_dict(torch.load("net.pt"))
            net.eval()
            for x, y in loader:
                print((net(x).argmax(1) == y).sum().item())
    """,
    "trained before": """
        def run(net, loader, rows, opt):
            net.train()
            for x, y in loader:
                adapt(net, x, opt)
            net.eval()
            for x, y in rows:
                print((net(x).argmax(1) == y).sum().item())
    """,
    "the object's own loop": """
        class Tester:
            def __init__(self, net):
                self.net = net
                self.net.eval()

            def label(self, x):
                return self.net(x).argmax(1).cpu().numpy()

            def test(self, rows):
                return [self.label(x) for x in rows]
    """,
}


@pytest.mark.parametrize("name", TOLD)
def test_what_needs_none(tmp_path: Path, name: str) -> None:
    assert count(tmp_path, TOLD[name]) == 1


BOTH = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.score(x)

    {decorated}
    def score(self, x):
        {context}
            return self.head(self.body(x))

    @torch.inference_mode()
    def generate(self, x):
        return self.forward(x)


def main(loader, val_loader, criterion):
    net = Net()
    {frozen}
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in loader:
        criterion(net(x), y).backward()
        optimizer.step()
    net.eval()
    hits = 0
    for x, y in val_loader:
        hits += (net(x).argmax(1) == y).sum().item()
    print(hits)
"""


@pytest.mark.parametrize(
    ("decorated", "context", "frozen", "expected"),
    [
        ("", "if True:", "pass", 1),
        ("@torch.no_grad()", "if True:", "pass", 0),
        ("", "with torch.no_grad():", "pass", 0),
        ("", "with torch.autocast('cpu'):", "pass", 1),
        ("", "if True:", "for p in net.body.parameters():\n        p.requires_grad = False", 1),
        ("", "if True:", "for p in net.body.parameters():\n        p.requires_grad = bool(loader)", 1),
        ("", "if True:", "for p in net.parameters():\n        p.requires_grad = False", 0),
    ],
)
def test_what_a_network_does_beside_its_forward_pass_is_no_matter(
    decorated: str, context: str, frozen: str, expected: int
) -> None:
    """Nor is it that a part of what is trained is frozen: the rest is not."""
    text = BOTH.format(decorated=decorated, context=context, frozen=frozen)
    assert len([each for each in lint(text) if each.code == "TLK501"]) == expected


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("run()", False),
        ("with torch.no_grad():\n    run()", True),
        ("with torch.autocast('cpu'):\n    run()", False),
        ("def f():\n    run()\nwith torch.no_grad():\n    f()", False),
        ("def f():\n    with torch.no_grad():\n        with torch.autocast('cpu'):\n            run()", True),
        ("def f():\n    torch.set_grad_enabled(False)\n    run()", True),
        ("@torch.no_grad()\ndef f():\n    run()", True),
    ],
)
def test_who_turns_gradients_off_itself(text: str, off: bool) -> None:
    """Not who is called with gradients off."""
    built = module(text)
    call = next(each for each in built.tree.all(ast.Call) if ast.unparse(each) == "run()")
    assert built.grad.turned_off(call) is off
