"""TLK501: loops over batches of which nothing but numbers is kept, whatever the function is called."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint
from tests.model import module


def found(text: str) -> list[Severity]:
    return [each.severity for each in lint(textwrap.dedent(text), wanted=lambda code: code == "TLK501")]


COLLECTS = """
import torch


def listed(x):
    return x.data.cpu().tolist()


def through(model, x):
    return model(x).argmax(1)


class Keeping(torch.nn.Module):
    def forward(self, x):
        self.x = x
        return x


class Book:
    def listed(self, x):
        return x.argmax(1).tolist()

    def keep(self, x):
        self.rows = x


def collect(model, train_loader):
    rows = []
    for x, y in train_loader:
        {body}
    return rows
"""
BODIES = {
    "turned into numbers by a helper": ("_, out = model(x)\n        rows.extend(listed(out[0]))", 1),
    "turned into numbers at once": ("rows.append(model(x).argmax(1).tolist())", 1),
    "an image": ("import cv2\n        cv2.imwrite('x', model(x))", 1),
    "through an object of a known class": ("book = Book()\n        rows.append(book.listed(model(x)))", 1),
    "through a network that keeps it": ("net = Keeping()\n        net(model(x))", 0),
    "through one that keeps it": ("book = Book()\n        book.keep(model(x))", 0),
    "a decision": ("rows.append((model(x) > 0).sum().item())", 1),
    "kept with its graph": ("rows.append(model(x))", 0),  # TLK402 tells, if nothing differentiates it
    "handed to code that is not seen": ("rows.append(other.step(model(x)))", 0),
    "differentiated": ("model(x).sum().backward()", 0),
    "given to the caller": ("return model(x)", 0),
    "what a helper gives": ("rows.append(through(model, x).tolist())", 1),
    "frozen": ("model.freeze()\n        rows.append(model(x).argmax(1).tolist())", 0),
    "another one frozen": ("other.freeze()\n        rows.append(model(x).argmax(1).tolist())", 1),
    "dropped": ("model(x)", 0),  # for the statistics of its layers
    "bound, and dropped": ("out = model(x)", 0),
    "in training mode": ("model.train()\n        rows.append(model(x).argmax(1).tolist())", 0),
    "without gradients": ("with torch.no_grad():\n            rows.append(model(x).argmax(1).tolist())", 0),
}


@pytest.mark.parametrize("name", BODIES)
def test_what_is_only_read_needs_no_gradients(name: str) -> None:
    body, expected = BODIES[name]
    assert found(COLLECTS.format(body=body)) == [Severity.WARNING] * expected


def test_over_no_batches() -> None:
    """Where something is taken out of its graph, in a file that knows of no way to have none."""
    text = COLLECTS.format(body="rows.append(model(x).argmax(1).tolist())").replace("train_loader", "rows_of_data")
    assert found(text) == [Severity.NOTE]
    assert found(text + "\n\ndef other():\n    with torch.no_grad():\n        pass\n") == []


def test_the_module_itself_is_not_asked() -> None:
    text = """
    import torch

    for x in train_loader:
        print(model(x).argmax(1).tolist())
    """
    assert found(text) == []


HELD = """
import torch


class Base:
    def __init__(self):
        self.__model = None

    {accessors}


class Client(Base):
    def __init__(self, test_loader, criterion):
        super().__init__()
        self.test_loader, self.criterion = test_loader, criterion

    def evaluate(self):
        self.model.eval()
        total = 0
        for x, y in self.test_loader:
            total += self.criterion(self.model(x), y).item()
        return total
"""
WITH_SETTER = """@property
    def model(self):
        return self.__model

    @model.setter
    def model(self, model):
        self.__model = model"""


@pytest.mark.parametrize(
    ("accessors", "expected"),
    [
        (WITH_SETTER, [Severity.WARNING]),
        ("@property\n    def model(self):\n        return self.__model", [Severity.WARNING]),
        ("def model(self, x):\n        return x", []),  # a method that is called is no network
    ],
)
def test_a_network_behind_a_property(accessors: str, expected: list[Severity]) -> None:
    assert found(HELD.format(accessors=accessors)) == expected


def test_what_its_use_alone_tells_has_no_fix() -> None:
    """Not even an unsafe one: a function that trains in a way that is not seen would train no more."""
    text = COLLECTS.format(body="rows.append(model(x).argmax(1).tolist())")
    (told,) = lint(text, fixes=True, wanted=lambda code: code == "TLK501")
    assert (told.fixes, told.unfixed.partition(":")[0]) == (
        (),
        "nothing but what becomes of the outputs says that it evaluates",
    )


@pytest.mark.parametrize("reads", ["eval(text)", "print(locals())", "print(*map(eval, rows))"])
def test_text_that_is_run_may_differentiate(reads: str) -> None:
    assert found(COLLECTS.format(body=f"rows.append(model(x).argmax(1).tolist())\n        {reads}")) == []


PREDICTOR = """
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, 2), nn.ReLU())

    def forward(self, rows):
        return self.body(rows)

    def encode(self, rows):
        return self.body(rows) * 2

    def tags(self, rows):
        {switch}
        return {run}
"""
RUNS = {
    "itself": ("self.eval()", "self(rows).argmax(1).tolist()", 1),
    "its forward pass": ("self.train(False)", "self.forward(rows).argmax(1).tolist()", 1),
    "and gives it": ("self.eval()", "self(rows)", 1),  # the mode says enough
    "it trains": ("self.train()", "self(rows).argmax(1).tolist()", 0),
    "it may train": ("self.train(bool(rows))", "self(rows).argmax(1).tolist()", 0),
    "a part of it": ("self.body.eval()", "self(rows).argmax(1).tolist()", 0),
    "another one": ("rows.eval()", "self(rows).argmax(1).tolist()", 0),
    "a function": ("eval(rows)", "self(rows).argmax(1).tolist()", 0),
    "not at all": ("pass", "self(rows).argmax(1).tolist()", 0),  # a step of a forward pass, perhaps
    "detached": ("pass", "self(rows).detach()", 1),  # whatever it is a step of
}


@pytest.mark.parametrize("name", RUNS)
def test_a_network_that_runs_itself(name: str) -> None:
    switch, run, expected = RUNS[name]
    assert found(PREDICTOR.format(switch=switch, run=run)) == [Severity.NOTE] * expected


def test_a_step_of_a_forward_pass() -> None:
    text = PREDICTOR.format(switch="pass", run="rows")
    text = text.replace("return self.body(rows)\n", "return self.encode(rows).detach()\n", 1)
    assert found(text + "\n\ndef other(net, rows):\n    return net(rows)\n") == []


def test_a_network_that_goes_over_batches_and_trains_then() -> None:
    """What becomes of the features is seen; that something else is trained in the function is another matter."""
    text = PREDICTOR.format(switch="pass", run="rows")
    text += """
    def restart(self, loader, optimizer):
        for rows in loader:
            mean = self.encode(rows).detach().mean(0)
        self.fit(mean, optimizer)

    def fit(self, mean, optimizer):
        self(mean).sum().backward()
        optimizer.step()
"""
    assert found(text) == [Severity.WARNING]


GIVEN = """
import torch


def features(net, x):
    return net(x)


def collect(net, rows):
    kept = []
    for x in rows:
        {}
    return kept
"""
GIVES = {
    "read": ("kept.append(features(net, x).detach().numpy())", [12]),  # told where it is read, once
    "differentiated": ("features(net, x).sum().backward()", []),
    "kept": ("kept.append(features(net, x))", []),
}


@pytest.mark.parametrize("name", GIVES)
def test_what_a_function_returns(name: str) -> None:
    body, expected = GIVES[name]
    findings = lint(GIVEN.format(body), wanted=lambda code: code == "TLK501")
    assert [each.span.line for each in findings] == expected


SPREAD = {
    "nets": """
        import torch

        class Scorer:
            def __init__(self, model):
                self.model = model

            def scores(self, x):
                out = self.model(x)
                print(out.max().item())
                return out
        """,
    "job": """
        from nets import Scorer

        def main(scorer, rows, config):
            for x in rows:
                {}
        """,
}
USES = {
    "read": ("print(scorer.scores(x).detach())", 1),
    "read, of no network for all that is seen": ("print(scorer.scores(x).tolist())", 1),
    "differentiated": ("scorer.scores(x).sum().backward()", 0),
    "returned, to nobody": ("return scorer.scores(x)", 0),
    "without gradients": ("with torch.no_grad():\n                    print(scorer.scores(x).tolist())", 0),
}


@pytest.mark.parametrize("name", USES)
def test_what_another_file_makes_of_it(tmp_path: Path, name: str) -> None:
    """A network that nobody knows for one where it is used is told where it is run."""
    body, expected = USES[name]
    for each, text in SPREAD.items():
        (tmp_path / f"{each}.py").write_text(textwrap.dedent(text).format(body), encoding="utf-8")
    nets = tmp_path / "nets.py"
    findings = lint(nets.read_text(encoding="utf-8"), path=str(nets), wanted=lambda code: code == "TLK501")
    assert [each.span.line for each in findings] == [9] * expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out = net(x)\n    out = out.view(-1)\n    print(out.max().item())", True),
        ("out = net(x)\n    out = out.view(-1)\n    out.sum().backward()", False),
        ("out = net(x)\n    print(out)\n    out = head(x)\n    out.sum().backward()", True),
    ],
)
def test_a_name_that_is_bound_anew(body: str, expected: bool) -> None:
    """Out of itself it is what it was; out of something else it is another value."""
    parsed = module(f"def step(net, head, x):\n    {body}\n")
    (run,) = (each for each in parsed.tree.all(ast.Call) if ast.unparse(each) == "net(x)")
    assert parsed.release.callers.only_read(run) is expected
