"""TLK501: what others do with what a helper gives, flags that turn training off, methods of classes in other files."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint
from flake8_torchleak.model.evaluation import followed
from tests.model import module

NETWORK = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        return self.body(x)

    def encode(self, x):
        return self.body(x).relu()

"""


def count(program: str) -> int:
    return len(lint(NETWORK + textwrap.dedent(program), wanted=lambda code: code == "TLK501"))


SHARED = """
class Task:
    def loss(self, net, x, y):
        return (net(x) - y).pow(2).mean()

def fit(task, net, rows, opt):
    for x, y in rows:
        opt.zero_grad()
        task.loss(net, x, y).backward()
        opt.step()

def measure(task, net, rows):
    net.eval()
    total = 0
    for x, y in rows:
        total += task.loss(net, x, y){read}
    return total

def main(rows, others):
    task, net = Task(), Net()
    fit(task, net, rows, torch.optim.Adam(net.parameters()))
    {then}
"""


@pytest.mark.parametrize(
    ("read", "then", "expected"),
    [
        (".item()", "print(measure(task, net, others))", 1),
        ("", "print(measure(task, net, others).item())", 0),  # it returns what others may differentiate
        ("", "measure(task, net, others).backward()", 0),
        (".item()", "measure(task, net, others)", 1),
    ],
)
def test_what_another_function_does_with_what_the_same_helper_gives(read: str, then: str, expected: int) -> None:
    assert count(SHARED.format(read=read, then=then)) == expected


FLAGGED = """
class Trainer:
    def __init__(self):
        self.net = Net()
        self.opt = torch.optim.Adam(self.net.parameters())

    def step(self, x, y, training=True):
        loss = (self.net(x) - y).pow(2).mean()
        if training:
            loss.backward()
            self.opt.step()
        return loss.item()

    def test(self, rows):
        self.net.eval()
        return [self.step(x, y, {flag}) for x, y in rows]

    def evaluate(self, rows):
        self.net.eval()
        for x, y in rows:
            print(self.step(x, y, {flag}))
"""


@pytest.mark.parametrize(("flag", "expected"), [("training=False", 2), ("training=True", 0), ("rows.training", 0)])
def test_a_flag_that_turns_training_off(flag: str, expected: int) -> None:
    assert count(FLAGGED.format(flag=flag)) == expected


@pytest.mark.parametrize(("is_whole", "expected"), [(True, True), (False, False)])
def test_where_not_all_was_followed_the_text_tells_what_trains(is_whole: bool, expected: bool) -> None:
    found = module("""
    def step(net, x):
        net(x).sum().backward()

    def scores(net, rows):
        net.eval()
        for x in rows:
            step(net, x)
    """)
    (loop,) = found.tree.all(ast.For)
    (switched,) = found.classes.own_calls("eval")
    (call,) = found.classes.own_calls("step")
    assert (followed(found, call, loop, switched, is_whole) is not None) is expected


def test_what_is_differentiated_in_the_loop_itself() -> None:
    """Under whatever flag."""
    program = """
    def run(rows, opt):
        net = Net()
        net.eval()
        for x, y in rows:
            out = net.encode(x)
            if opt is not None:
                out.sum().backward()
    """
    assert count(program) == 0


def test_a_function_that_is_called_like_a_forward_pass() -> None:
    """It is given the network; the same one serves training."""
    program = """
    def forward(model, i, data):
        x, y = data[i]
        return model(x), y

    def train_test(model, data, rows, opt):
        model.train()
        for i in range(len(data)):
            opt.zero_grad()
            out, y = forward(model, i, data)
            (out - y).sum().backward()
            opt.step()
        model.eval()
        for i in rows.slices():
            out, y = forward(model, i, rows)
            print((out.argmax(1) == y).sum().item())
    """
    assert count(program) == 1


def test_a_short_loop_in_a_long_one() -> None:
    program = """
    def scores(model, rows):
        model.eval()
        for x, y in rows:
            for flip in (1, -1):
                print(model(x * flip).max())
    """
    assert count(program) == 1
    assert count(program.replace("rows:", "(1, 2):")) == 0


NETS = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        return self.body(x)

{decorator}    def sample(self, x, temperature=1.0, steps=8):
{body}
"""
BODY = "\n".join(f"        x = x * {number} + temperature" for number in range(30)) + "\n        return self.body(x)\n"
MAIN = """
from nets import Net


def main(frames):
    net = Net()
    {switch}
    for x in frames:
        print(net.sample(x).max())
"""


@pytest.mark.parametrize(
    ("decorator", "switch", "expected"),
    [
        ("", "net.eval()", 1),
        ("    @torch.no_grad()\n", "net.eval()", 0),
        ("", "net.eval(); net.requires_grad_(False)", 0),
        ("", "net.cpu()", 0),
    ],
)
def test_a_long_method_of_a_class_in_another_file(tmp_path: Path, decorator: str, switch: str, expected: int) -> None:
    """It is followed where its network is evaluated in a loop, whatever it is given."""
    (tmp_path / "nets.py").write_text(NETS.format(decorator=decorator, body=BODY))
    text, path = MAIN.format(switch=switch), tmp_path / "main.py"
    path.write_text(text)
    assert len(lint(text, path=str(path), wanted=lambda code: code == "TLK501")) == expected


ANNOTATED = """
import torch
from nets import Net, Sums


def fit(sums: Sums, net: Net, loader, optimizer):
    kept = []
    for x in loader:
        loss = net(x).mean()
        loss.backward()
        optimizer.step()
        kept.append(sums.after({given}))
    return kept
"""
SUMS = """

class Sums:
    def __init__(self, net):
        self.net = net

    def after(self, step):
        {body}
        return self.net(step)
"""


@pytest.mark.parametrize(("given", "told"), [("1", False), ("loss", True)])
@pytest.mark.parametrize("length", [1, 30])
def test_a_method_of_an_object_that_only_an_annotation_speaks_of(
    tmp_path: Path, given: str, told: bool, length: int
) -> None:
    """It is followed only if what it is given has history: who knows what its object is."""
    body = "\n        ".join(f"step = step * {number} + 1" for number in range(length))
    (tmp_path / "nets.py").write_text(NETS.format(decorator="", body=BODY) + SUMS.format(body=body))
    text, path = ANNOTATED.format(given=given), tmp_path / "main.py"
    path.write_text(text)
    assert any(each.code == "TLK402" for each in lint(text, path=str(path))) is told


UNSEEN = """
from library import Model


def main(rows):
    net = Model()
    {switch}
    for x in rows:
        {body}
"""


@pytest.mark.parametrize(
    ("switch", "body", "expected"),
    [
        ("net.eval()", "print(net.predict(x).detach().numpy())", [Severity.NOTE]),
        ("net.eval()", "y = net.predict(x)\n        print(y.data.max())", [Severity.NOTE]),
        ("net.eval()", "print(net.predict(x).detach(), net.forward(x).max())", [Severity.WARNING]),
        ("net.eval()", "print(net.forward(x).max(), net.predict(x).detach())", [Severity.WARNING]),
        (
            "net.eval()",
            "act = torch.nn.Softmax(dim=0)\n        print(act(net.forward(x).detach()).numpy())",
            [Severity.WARNING],
        ),
        (
            "net.eval()",
            "act = torch.nn.Softmax(dim=0)\n        print(act(net.forward(x)).numpy())",
            [],
        ),  # it would raise
        ("net.eval()", "print(net.predict(x).max())", []),
        ("net.eval()", "y = net.predict(x)\n        print(y.max(), x.data)", []),
        ("net.eval()", "y = net.size()\n        print(y.data)", []),
        ("net.eval()", "y, _ = net.predict(x)\n        print(y.detach())", [Severity.NOTE]),
        ("net.train()", "print(net.predict(x).detach().numpy())", []),
        ("net.eval().requires_grad_(False)", "print(net.predict(x).detach().numpy())", []),
        ("net.eval(); torch.set_grad_enabled(False)", "print(net.predict(x).detach().numpy())", []),
        ("net.eval()", "print(told(net, x).detach())", []),
    ],
)
def test_a_method_that_nobody_can_see(switch: str, body: str, expected: list[Severity]) -> None:
    """It may turn gradients off itself; who detaches what it gives has seen that it does not."""
    text = NETWORK + textwrap.dedent(UNSEEN.format(switch=switch, body=body))
    text += "\n\ndef told(net, x):\n    return net.predict(x)\n"
    assert [each.severity for each in lint(text, wanted=lambda code: code == "TLK501")] == expected


BY_TEXT = """
import pytest
import torch


def freeze(parameter):
    {body}


def evaluate(model, loader):
    for parameter in model.parameters():
        freeze(parameter)
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("parameter.requires_grad_(False)", []),
        ("return parameter", [Severity.NOTE]),
        ("print(parameter)", [Severity.NOTE]),
        ("parameter\n    print(parameter)", [Severity.NOTE]),
        ("parameter", [Severity.NOTE]),
    ],
)
def test_a_helper_that_freezes_by_the_text_alone(body: str, expected: list[Severity]) -> None:
    """Files of tests are not followed."""
    assert [each.severity for each in lint(BY_TEXT.format(body=body), wanted=lambda code: code == "TLK501")] == expected


LOOPING = """
def loss_of(outs, y):
    return sum([(out - y).abs().mean() for out in outs])

def fit(rows, others, optimizer):
    net = Net()
    for epoch in range(9):
        for x, y in rows:
            outs = [net(x), net(x) * 2]
            loss = loss_of(outs, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net.eval()
        total = 0
        for x, y in others:
            outs = [net(x), net(x) * 2]
            total += loss_of(outs, y)
        print(total)
"""


def test_the_loop_of_a_helper_is_another_one_in_each_call() -> None:
    told = {each.code: each for each in lint(NETWORK + LOOPING)}
    assert told.keys() == {"TLK401", "TLK501"}
    assert told["TLK401"].severity is Severity.ERROR  # nothing differentiates what it gave here
