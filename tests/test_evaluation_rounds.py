"""TLK501 and TLK905 in comprehensions and generator expressions: loops whose element is made again and again."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint

SCORES = """
import numpy as np
import torch
from torch import nn


def score(model, loader, images, criterion):
    {before}
    {body}
"""
SWITCHED = "model.eval()"


def found(text: str, code: str = "TLK501") -> list[Severity]:
    return [each.severity for each in lint(textwrap.dedent(text), wanted=lambda each: each == code)]


TOLD = {
    "a list": "return [model(x).argmax(1).tolist() for x, _ in loader]",
    "a set": "return {int(model(x).argmax()) for x, _ in loader}",
    "a dict": "return {name: model(x).max().item() for name, x in zip('abcdefghijk', loader)}",
    "a sum": "return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)",
    "put into a list": "hits = []\n    hits.extend(model(x).argmax(1).tolist() for x, _ in loader)\n    return hits",
    "gone through by a loop": "for hit in (model(x).argmax() for x, _ in loader):\n        print(hit)",
    "of two loops": "return [model(x).max().item() for batch in loader for x in batch]",
    "what an inner loop goes over": "return [row.max().item() for x, _ in loader for row in model(x)]",
    "by its place": "return [model(images[i]).max().item() for i in range(len(images))]",
    "in a condition": "return [y for x, y in loader if model(x).max() > 0]",
    "below a short loop": "for scale in (1, 2):\n        print(max(model(x * scale).max().item() for x in loader))",
    "of a helper": "def one(x):\n        return model(x).max().item()\n    return [one(x) for x, _ in loader]",
    "as keyword": "return [model(input=x).max().item() for x, _ in loader]",
    "by its method": "return [model.forward(x).max().item() for x, _ in loader]",
}


@pytest.mark.parametrize("name", TOLD)
def test_comprehensions_that_evaluate(name: str) -> None:
    assert found(SCORES.format(before=SWITCHED, body=TOLD[name])) == [Severity.WARNING]


QUIET = {
    "without gradients": "with torch.no_grad():\n        return [model(x).max().item() for x, _ in loader]",
    "a few": "return [model(images * scale).max().item() for scale in (1, 2)]",
    "it goes over what the network gives": "return [row.max().item() for row in model(images)]",
    "the same each time": "return [model(images).max().item() for _ in range(1000)]",
    "gone through elsewhere": "return (model(x).max().item() for x, _ in loader)",
    "handed to somebody": "return report(model(x).max().item() for x, _ in loader)",
    "a function for later": "return [lambda x=x: model(x) for x, _ in loader]",
    "its sum is differentiated": "loss = sum(criterion(model(x), y) for x, y in loader)\n    loss.backward()",
    "an adaptation": "return [criterion(model(x), y).backward() for x, y in loader]",
    "what a helper gives is differentiated": (
        "def one(x):\n        return model(x).max()\n    sum(one(x) for x, _ in loader).backward()"
    ),
    "later": (
        "def one(x):\n        return model(x).max()\n    loss = sum(one(x) for x, _ in loader)\n    loss.backward()"
    ),
    "trained on each": "def one(x):\n        model(x).sum().backward()\n    return [one(x) for x, _ in loader]",
}


@pytest.mark.parametrize("name", QUIET)
def test_comprehensions_that_are_no_evaluation_in_vain(name: str) -> None:
    assert found(SCORES.format(before=SWITCHED, body=QUIET[name])) == []


NAMED_PASS = """
from torch.utils.data import DataLoader


class Trainer:
    def fit(self, loader: DataLoader):
        for x, y in loader:
            self.loss({call}, y).backward()
            self.optimizer.step()

    def score(self, val_loader: DataLoader):
        hits = 0
        for x, y in val_loader:
            hits += ({call}.argmax(1) == y).sum().item()
        return hits
"""


@pytest.mark.parametrize("call", ["self.model(x)", "self.model.forward(x)"])
def test_a_forward_pass_may_be_called_by_its_name(call: str) -> None:
    assert found(NAMED_PASS.format(call=call)) == [Severity.WARNING]


def test_no_switch_is_told_by_its_use() -> None:
    assert found(SCORES.format(before="pass", body=TOLD["a list"])) == [Severity.WARNING]


NAMED = """
import torch


def evaluate(model, {over}):
    return sum(model(x).argmax(1).eq(y).sum().item() for x, y in {over})


def main(model, {over}):
    model.load_state_dict(torch.load("net.pt"))
    print(evaluate(model, {over}))
"""


@pytest.mark.parametrize(("over", "expected"), [("loader", [Severity.WARNING]), ("rows", [Severity.NOTE])])
def test_a_function_that_evaluates_by_its_name(over: str, expected: list[Severity]) -> None:
    assert found(NAMED.format(over=over)) == expected


@pytest.mark.parametrize(("over", "expected"), [("loader", [Severity.WARNING]), ("rows", [Severity.NOTE])])
def test_a_name_alone(over: str, expected: list[Severity]) -> None:
    """Nothing prepares a network: what is made of its outputs is only read."""
    text = NAMED.format(over=over).replace("load_state_dict", "describe").replace("torch.load", "open")
    assert found(text) == expected


BESIDE = """
import torch


def fit(model, loader, {over}, opt, criterion):
    for x, y in loader:
        opt.zero_grad()
        criterion(model(x), y).backward()
        opt.step()
    return sum(criterion(model(x), y).item() for x, y in {over})
"""


@pytest.mark.parametrize(("over", "expected"), [("val_loader", [Severity.WARNING]), ("rows", [])])
def test_beside_the_loop_that_trains(over: str, expected: list[Severity]) -> None:
    assert found(BESIDE.format(over=over)) == expected


FOLLOWED = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        return self.a(x)


def run(net, x):
    return inner(net, x)


def inner(net, x):
    return net(x)


def main(frames):
    net = Net()
    net.eval()
    {body}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("print([run(net, x).max() for x in frames])", [Severity.WARNING]),
        ("print(sum(run(net, x).max() for x in frames))", [Severity.WARNING]),
        ("return (run(net, x).max() for x in frames)", []),
        ("print([run(net, frames[0]).max() for _ in frames])", []),
        ("sum(run(net, x).max() for x in frames).backward()", []),
        ("for x in frames:\n        print([run(net, part).max() for part in x])", [Severity.WARNING]),
    ],
)
def test_comprehensions_that_are_followed(body: str, expected: list[Severity]) -> None:
    assert found(FOLLOWED.format(body=body)) == expected


ON_GPU = """
import torch


@torch.no_grad()
def embed(model, loader, device, out):
    model.eval()
    {body}
    return found
"""


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("found = [model(x.to(device)) for x, _ in loader]", 1),
        ("found = torch.cat([model(x.to(device)) for x, _ in loader])", 1),
        ("found = {name: model(x.to(device)) for name, x in loader}", 1),
        ("found = []\n    found.extend(model(x.to(device)) for x, _ in loader)", 1),
        ("def one(x):\n        return model(x.to(device))\n    found = [one(x) for x, _ in loader]", 1),
        ("found = [model(x.to(device)).cpu() for x, _ in loader]", 0),
        ("found = [model(x.to(device)) for x in out]", 0),
        ("found = sum(model(x.to(device)) for x, _ in loader)", 0),
        ("found = max(model(x.to(device)).mean() for x, _ in loader)", 0),
    ],
)
def test_outputs_that_a_comprehension_keeps_on_the_gpu(body: str, count: int) -> None:
    assert len(found(ON_GPU.format(body=body), "TLK905")) == count


def test_what_has_no_name_is_called_the_list() -> None:
    text = ON_GPU.format(body="found = torch.cat([model(x.to(device)) for x, _ in loader])")
    (told,) = lint(text, wanted=lambda each: each == "TLK905")
    assert "every step: the list keeps" in told.message


ASKED = [
    ("rows = iter(loader)\n    for _ in range(9999):\n        x, y = next(rows)", "warning"),
    ("rows = iter(loader)\n    while True:\n        x, y = next(rows)", "warning"),
    ("rows = iter(loader)\n    for _ in range(9999):\n        x, y = next(rows, None)", "warning"),
    ("for _ in range(9999):\n        x, y = next(iter(loader))", "note"),  # one batch, again and again
    ("for _ in range(9999):\n        x, y = next()", "note"),
    ("rows = iter(images)\n    for _ in range(9999):\n        x = next(rows)", "note"),
]


@pytest.mark.parametrize(("body", "severity"), ASKED)
def test_batches_that_a_loop_asks_for(body: str, severity: str) -> None:
    text = SCORES.format(before=SWITCHED, body=f"{body}\n        print(model(x).argmax(1).tolist())")
    assert [each.value for each in found(text)] == [severity]
