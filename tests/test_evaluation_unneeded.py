"""TLK501: loops over batches of which nothing but numbers is kept, whatever the function is called."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint


def found(text: str) -> list[Severity]:
    return [each.severity for each in lint(textwrap.dedent(text), wanted=lambda code: code == "TLK501")]


COLLECTS = """
import torch


def listed(x):
    return x.data.cpu().tolist()


def through(model, x):
    return model(x).argmax(1).tolist()


def collect(model, train_loader):
    rows = []
    for x, y in train_loader:
        {body}
    return rows
"""
BODIES = {
    "turned into numbers by a helper": ("_, out = model(x)\n        rows.extend(listed(out[0]))", 1),
    "turned into numbers at once": ("rows.append(model(x).argmax(1).tolist())", 1),
    "a decision": ("rows.append((model(x) > 0).sum().item())", 1),
    "kept with its graph": ("rows.append(model(x))", 0),  # TLK402 tells, if nothing differentiates it
    "handed to code that is not seen": ("rows.append(other.step(model(x)))", 0),
    "differentiated": ("model(x).sum().backward()", 0),
    "given to the caller": ("return model(x)", 0),
    "what a helper gives": ("rows.append(through(model, x))", 0),  # and what it does with it
    "dropped": ("model(x)", 0),  # for the statistics of its layers
    "bound, and dropped": ("out = model(x)", 0),
    "in training mode": ("model.train()\n        rows.append(model(x).argmax(1).tolist())", 0),
    "without gradients": ("with torch.no_grad():\n            rows.append(model(x).argmax(1).tolist())", 0),
}


@pytest.mark.parametrize("name", BODIES)
def test_what_is_only_read_needs_no_gradients(name: str) -> None:
    body, expected = BODIES[name]
    assert found(COLLECTS.format(body=body)) == [Severity.NOTE] * expected


def test_no_batches_no_evaluation() -> None:
    """A loop over samples may be anything: nothing says that it is long."""
    text = COLLECTS.format(body="rows.append(model(x).argmax(1).tolist())").replace("train_loader", "rows_of_data")
    assert found(text) == []


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
