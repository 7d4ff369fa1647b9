"""TLK501: networks that run once a call, in evaluation mode or by name, and loops over no batches: notes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.lint import lint


def findings(text: str, path: Path | None = None) -> list[Finding]:
    place = str(path) if path is not None else None
    return lint(textwrap.dedent(text), path=place, wanted=lambda code: code == "TLK501")


def told(text: str, path: Path | None = None) -> list[str]:
    """The lines that findings stand on, all of them notes."""
    found = findings(text, path)
    assert all(each.severity is Severity.NOTE for each in found)
    lines = textwrap.dedent(text).splitlines()
    return [lines[each.span.line - 1].strip() for each in found]


FUNCTION = """
import torch
from models import Net

def {name}(image, weights, other):
    net = Net()
    net.load_state_dict(torch.load(weights))
    {switch}
    {body}
"""


@pytest.mark.parametrize(
    ("name", "switch", "body", "count"),
    [
        ("label", "net.eval()", "return net(image).argmax(1).item()", 1),
        ("label", "net.eval()", "return net(image)", 1),  # the mode says enough
        ("label", "net.eval()", "net(image)", 0),  # for its hooks, once
        ("predict", "net.eval()", "net(image)", 0),
        ("label", "pass", "return net(image).argmax(1).item()", 1),
        ("predict", "pass", "return net(image).argmax(1).item()", 1),
        ("predict", "pass", "return net(image)", 0),  # whoever gets it may differentiate it
        ("predict", "pass", "if other:\n        return 0\n    return net(image).argmax(1).item()", 1),
        ("main", "net.eval()", "return net(image).argmax(1).item()", 0),  # once in a program
        ("label", "other.eval()", "return net(image).argmax(1).item()", 1),
        ("label", "eval('net')", "return net(image).argmax(1).item()", 0),
        ("label", "net.train()", "return net(image).argmax(1).item()", 0),
        ("predict", "net.train()", "return net(image).argmax(1).item()", 0),
        ("label", "net.eval()", "with torch.no_grad():\n        return net(image)", 0),
        ("label", "net.eval()", "return net(image).sum().backward()", 0),
        ("label", "net.eval()", "image.requires_grad_()\n    return net(image)", 0),
        ("label", "net.eval()", "return [net(each) for each in (image, other)]", 0),  # a few
        ("label", "net.eval()", "return net(image).numpy()", 0),  # it would raise
        ("test_label", "net.eval()", "return net(image).argmax(1).item()", 0),  # a test
    ],
)
def test_functions_that_run_a_network_once(name: str, switch: str, body: str, count: int) -> None:
    assert len(told(FUNCTION.format(name=name, switch=switch, body=body))) == count


OBJECT = """
import torch
from torch import nn
from models import Net, device

class Predictor{base}:
    def __init__(self, weights):
        {made}
        self.weights = torch.load(weights)

    def again(self, image):
        {before}
        return self.net(image){of}

    def other(self):
        {other}
"""
EVAL = "self.net = Net()\n        self.net.eval()"


@pytest.mark.parametrize(
    ("base", "made", "before", "of", "other", "count"),
    [
        ("", EVAL, "pass", ".argmax(1).item()", "pass", 1),
        ("", "self.net = Net().to(device).eval()", "pass", ".argmax(1).item()", "pass", 1),
        ("", EVAL, "pass", "", "pass", 0),  # features of what is trained, perhaps
        ("", EVAL, "pass", ".argmax(1).item()", "self.net.train()", 1),
        ("", EVAL, "pass", ".argmax(1).item()", "self.body.train()", 1),
        ("", EVAL, "pass", ".argmax(1).item()", "eval('self.weights')", 1),
        ("", EVAL, "self.net.eval()", "", "pass", 1),
        ("", "self.net = Net()", "pass", ".argmax(1).item()", "self.body.eval()", 1),
        ("(nn.Module)", EVAL, "pass", ".argmax(1).item()", "pass", 1),
        ("(nn.Module)", EVAL, "pass", ".argmax(1).item()", "pass\n\n    def forward(self, x):\n        return x", 0),
    ],
)
def test_objects_whose_network_is_switched_by_another_method(
    base: str, made: str, before: str, of: str, other: str, count: int
) -> None:
    text = OBJECT.format(base=base, made=made, before=before, of=of, other=other)
    assert told(text) == [f"return self.net(image){of}"] * count


HANDLER = """
import torch
from models import Net, route

net = Net()
net.load_state_dict(torch.load("net.pt"))
{switch}

@route("/label")
def handle(request):
    return {{"label": net(request.image).argmax(1).item()}}

def others(net, request):
    return net(request.image)
"""


@pytest.mark.parametrize(
    ("switch", "count"), [("net.eval()", 1), ("net.eval()\nnet.train()", 1), ("other.eval()", 1), ("pass", 1)]
)
def test_handlers_that_run_the_network_of_their_module(switch: str, count: int) -> None:
    assert told(HANDLER.format(switch=switch)) == ['return {"label": net(request.image).argmax(1).item()}'] * count


def test_a_file_that_knows_of_no_grad_is_not_looked_through_for_it() -> None:
    text = HANDLER.format(switch="net.eval()") + "\ndef other():\n    with torch.no_grad():\n        pass\n"
    assert told(text) == []


def test_a_file_that_knows_of_it_and_has_a_loop_that_evaluates() -> None:
    text = """
    import torch

    def evaluate(net, rows, weights):
        net.load_state_dict(torch.load(weights))
        for x in rows:
            print(net(x).max())

    def other():
        with torch.no_grad():
            pass
    """
    assert told(text) == ["print(net(x).max())"]


LOOP = """
import torch

def work(net, paths, weights):
    {before}
    found = []
    for path in paths:
        out = net(load(path))
        found.append(out.argmax().item())
    {after}
    return found

def other(body):
    body.eval()
"""
LOADS = "net.load_state_dict(torch.load(weights))"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (LOADS, "pass", [Severity.NOTE]),
        ("pass", "pass", [Severity.NOTE]),
        (LOADS + "\n    net.train()", "pass", []),
        (LOADS, "net(load(weights)).sum().backward()", [Severity.NOTE]),  # the loop is no part of that
        # What says more is told.
        (LOADS, "net.eval()\n    for x in DataLoader(paths):\n        print(net(x))", [Severity.WARNING]),
    ],
)
def test_loops_over_no_batches(before: str, after: str, expected: list[Severity]) -> None:
    text = LOOP.format(before=before, after=after)
    text = text.replace("import torch\n", "import torch\nfrom torch.utils.data import DataLoader\n")
    assert [each.severity for each in findings(text)] == expected


def test_an_object_that_switches_its_network_and_goes_over_a_loader() -> None:
    text = """
    import torch
    from torch.utils.data import DataLoader
    from models import make

    class Scorer:
        def __init__(self, weights, data):
            self.net, self.loader = make(), DataLoader(data)
            self.net.eval()

        def scores(self):
            return [self.net(x).argmax(1).tolist() for x in self.loader]

        def all_scores(self):
            rows = []
            for x in self.loader:
                rows.append(self.net(x).argmax(1).tolist())
            return rows
    """
    assert {each.severity for each in findings(text)} == {Severity.WARNING}


HELPERS = """
import torch

def show(net, x):
    net.eval()
    return net(x)

def validate(net, rows):
    {}
"""


def test_what_a_told_caller_runs_is_told_there() -> None:
    text = HELPERS.format("for x in rows:\n        show(net, x)")
    (only,) = findings(text)
    assert only.span.line == 10
    assert [(each.span.line, each.text) for each in only.notes][-1] == (6, "the network is run here")


def test_what_calls_itself_is_told() -> None:
    text = HELPERS.format("pass").replace(
        "    return net(x)", "    if x.rest:\n        show(net, x.rest)\n    return net(x)"
    )
    assert told(text) == ["return net(x)"]


def test_what_is_run_in_a_loop_of_another_file_is_told_there(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    helpers = tmp_path / "helpers.py"
    helpers.write_text(HELPERS.format("pass"))
    once = "from helpers import show\n\ndef one(net, x):\n    show(net, x)\n"
    (tmp_path / "own.py").write_text(once)
    assert told(helpers.read_text(), helpers) == ["return net(x)"]
    (tmp_path / "own.py").write_text(once.replace("    show", "    for each in x:\n        show"))
    from flake8_torchleak.model import importers

    importers.forget()
    assert told(helpers.read_text(), helpers) == []


SOON = """
import torch
from torch.utils.data import DataLoader

FEW = 3

def validate(net, data, most):
    net.eval()
    for index, x in enumerate(DataLoader(data)):
        print(net(x).max())
        {}
"""


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("if index >= 2:\n            break", Severity.NOTE),
        ("if index == FEW:\n            break", Severity.NOTE),
        ("if index > 0:\n            return index", Severity.NOTE),
        ("if index > 200:\n            break", Severity.WARNING),
        ("if index > most:\n            break", Severity.WARNING),
        ("if index < 2:\n            break", Severity.WARNING),
        ("if index:\n            break", Severity.WARNING),
        ("if x.sum() > 2:\n            break", Severity.WARNING),
        ("if index > 2:\n            print(x)", Severity.WARNING),
        ("break", Severity.NOTE),
    ],
)
def test_loops_that_are_left_after_a_few_rounds(end: str, expected: Severity) -> None:
    assert [each.severity for each in findings(SOON.format(end))] == [expected]
