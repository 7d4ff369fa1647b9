"""TLK501: callers in other files: without gradients, with a frozen network, with one in evaluation mode."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint

TOLD, MINOR, QUIET = [Severity.WARNING], [Severity.NOTE], list[Severity]()
SCORING = """
import torch


def evaluate(model, rows, scale=1):
    total = 0
    for x, y in rows:
        total += (model(x * scale).argmax(1) == y).sum().item()
    return total


def prepared(path):
    return torch.load(path)
"""


def found(folder: Path, files: dict[str, str], name: str = "scoring") -> list[Severity]:
    folder.mkdir(exist_ok=True)
    for each, text in files.items():
        (folder / f"{each}.py").write_text(textwrap.dedent(text))
    path = folder / f"{name}.py"
    return [each.severity for each in lint(path.read_text(), path=str(path), wanted=lambda code: code == "TLK501")]


MAIN = """
import torch
from scoring import evaluate
from nets import Net


def main(rows):
    net = Net()
    {first}
    {around}
        print(evaluate({given}))
"""
PLAIN = "if rows:"


@pytest.mark.parametrize(
    ("first", "around", "given", "expected"),
    [
        ("pass", PLAIN, "net, rows", MINOR),
        ("net.eval()", PLAIN, "net, rows", TOLD),
        ("net.eval()", PLAIN, "rows=rows, model=net", TOLD),
        ("net.eval()", PLAIN, "*rows", MINOR),
        ("net.eval()", PLAIN, "Net(), rows", MINOR),
        ("net.eval(); net.train()", PLAIN, "net, rows", MINOR),
        ("rows.other.eval()", PLAIN, "net, rows", MINOR),
        ("net.eval()", "with torch.no_grad():", "net, rows", QUIET),
        ("torch.set_grad_enabled(False)", PLAIN, "net, rows", QUIET),
        ("net.requires_grad_(False)", PLAIN, "net, rows", QUIET),
        ("net.requires_grad_(True)", PLAIN, "net, rows", MINOR),
        ("Net().requires_grad_(False)", PLAIN, "net, rows", MINOR),
        ("for p in net.parameters(): p.requires_grad = False", PLAIN, "net, rows", QUIET),
        ("for p in net.parameters(): p.requires_grad = True", PLAIN, "net, rows", MINOR),
        ("for p in net.parameters(): print(p)", PLAIN, "net, rows", MINOR),
        ("for p in net.buffers(): p.requires_grad = False", PLAIN, "net, rows", MINOR),
        ("for p in Net().parameters(): p.requires_grad = False", PLAIN, "net, rows", MINOR),
    ],
)
def test_who_calls_it(tmp_path: Path, first: str, around: str, given: str, expected: list[Severity]) -> None:
    main = MAIN.format(first=first, around=around, given=given)
    assert found(tmp_path, {"scoring": SCORING, "main": main}) == expected


def test_all_who_call_it(tmp_path: Path) -> None:
    """One of them is enough to tell, and none must be left that does not put the network in evaluation mode."""
    guarded = MAIN.format(first="net.eval()", around="with torch.no_grad():", given="net, rows")
    switched = MAIN.format(first="net.eval()", around=PLAIN, given="net, rows")
    plain = MAIN.format(first="pass", around=PLAIN, given="net, rows")
    files = {"scoring": SCORING, "main": guarded}
    assert found(tmp_path / "one", files) == QUIET
    assert found(tmp_path / "two", {**files, "other": switched}) == TOLD
    assert found(tmp_path / "three", {**files, "other": switched, "third": plain}) == MINOR


def test_what_is_no_parameter(tmp_path: Path) -> None:
    scoring = SCORING.replace("def evaluate(model, rows", "model = prepared\n\n\ndef evaluate(net, rows")
    main = MAIN.format(first="net.eval()", around=PLAIN, given="net, rows")
    assert found(tmp_path, {"scoring": scoring, "main": main}) != TOLD


ENGINE = """
import torch
from scoring import evaluate


def validate(net, rows):
    {first}
    return evaluate(net, rows)

{more}
"""
RUN = """
import torch
from engine import validate


def run(net, rows):
    {around}
        return validate(net, rows)
"""


@pytest.mark.parametrize(
    ("more", "around", "expected"),
    [
        ("", "with torch.no_grad():", QUIET),
        ("", "with torch.inference_mode():", QUIET),
        ("", PLAIN, MINOR),
        ("", "with torch.set_grad_enabled(rows is None):", MINOR),
        ("def report(net, rows):\n    return validate(net, rows)\n", "with torch.no_grad():", MINOR),
        ("@torch.no_grad()\ndef report(net, rows):\n    return validate(net, rows)\n", "with torch.no_grad():", QUIET),
        ("if __name__ == '__main__':\n    print(validate(torch.load('net.pt'), []))\n", "with torch.no_grad():", MINOR),
    ],
)
def test_who_calls_those(tmp_path: Path, more: str, around: str, expected: list[Severity]) -> None:
    engine = ENGINE.format(first="pass", more=more)
    assert found(tmp_path, {"scoring": SCORING, "engine": engine, "run": RUN.format(around=around)}) == expected


@pytest.mark.parametrize(("around", "expected"), [("with torch.no_grad():", QUIET), (PLAIN, MINOR)])
def test_who_calls_what_calls_it_here(tmp_path: Path, around: str, expected: list[Severity]) -> None:
    scoring = SCORING + "\n\ndef validate(net, rows):\n    return evaluate(net, rows)\n"
    run = RUN.format(around=around).replace("engine", "scoring")
    assert found(tmp_path, {"scoring": scoring, "run": run}) == expected


def test_no_more_than_a_few_levels(tmp_path: Path) -> None:
    """From there on nobody is asked."""
    files = {"scoring": SCORING}
    below, name = "scoring", "evaluate"
    for level in range(6):
        text = f"from {below} import {name}\n\n\ndef level{level}(net, rows):\n    return {name}(net, rows)\n"
        below, name = f"file{level}", f"level{level}"
        files[below] = text
    files["run"] = f"import torch\nfrom {below} import {name}\n\nwith torch.no_grad():\n    {name}(None, [])\n"
    assert found(tmp_path, files) == MINOR


HERE = """
import torch


def evaluate(model, rows):
    total = 0
    for x, y in rows:
        total += (model(x).argmax(1) == y).sum().item()
    return total


def main(rows):
    net = torch.load("net.pt")
    {first}
    print(evaluate(net, rows))
"""


@pytest.mark.parametrize(("first", "expected"), [("net.eval()", TOLD), ("net.cuda()", MINOR)])
def test_a_caller_here(tmp_path: Path, first: str, expected: list[Severity]) -> None:
    """What following the program shows says more than a name."""
    assert found(tmp_path, {"scoring": HERE.format(first=first)}) == expected


METHOD = """
import torch


class Scorer:
    def __init__(self, net):
        self.net = net

    def evaluate(self, rows):
        self.net.eval()
        return [self.net(x).max().item() for x in rows]
"""
CALLS = """
import torch
from scoring import Scorer


class Other:
    def evaluate(self, rows):
        return rows


def evaluate(rows):
    return rows


def main(net, rows):
    scorer, other = Scorer(net), None
    other = {made}
    with torch.no_grad():
        print({call}(rows), scorer)
"""


@pytest.mark.parametrize(
    ("made", "call", "expected"),
    [
        ("Scorer(net)", "other.evaluate", QUIET),
        ("rows.made", "other.evaluate", QUIET),
        ("Foreign(net)", "other.evaluate", TOLD),
        ("rows.made", "evaluate", TOLD),
    ],
)
def test_who_calls_a_method(tmp_path: Path, made: str, call: str, expected: list[Severity]) -> None:
    """Not what has another class, nor what the file itself defines."""
    assert found(tmp_path, {"scoring": METHOD, "main": CALLS.format(made=made, call=call)}) == expected


NAMESAKE = {
    "tools": """
        def evaluate(outputs):
            return {"loss": outputs.sum()}

        class Steps:
            def run(self, net, loader, optimizer):
                for x, _ in loader:
                    self.last = evaluate(net(x))
                    self.last["loss"].backward()
                    optimizer.step()
        """,
    "scoring": """
        import torch
        from tools import Steps

        def evaluate(model, loader):
            steps = Steps()
            model.eval()
            for x, y in loader:
                print((model(x).argmax(1) == y).sum().item())
            return steps
        """,
}


def test_a_function_of_the_same_name_in_another_file_is_another_one(tmp_path: Path) -> None:
    assert found(tmp_path, NAMESAKE) == TOLD


REGISTRY = """
from scoring import evaluate

METRICS = {{}}


def register(function):
    METRICS[function.__name__] = function
    return function


def register_as(name):
    def add(function):
        METRICS[name] = function
        return function
    return add


{decorated}
def accuracy(net, rows):
    return evaluate(net, rows)


{more}


def measure(name, net, rows):
    return METRICS{entry}(net, rows)
"""
MEASURE = """
import torch
from registry import measure


def run(net, rows):
    {around}
        return measure("accuracy", net, rows)
"""
GUARDED = "with torch.no_grad():"
ENTRY = "[name]"


@pytest.mark.parametrize(
    ("decorated", "more", "entry", "around", "expected"),
    [
        ("@register", "", ENTRY, GUARDED, QUIET),
        ("@register_as('accuracy')", "", ENTRY, GUARDED, QUIET),
        ("", "METRICS = {'accuracy': accuracy}", ENTRY, GUARDED, QUIET),
        ("", "METRICS = {'accuracy': accuracy}", ".get(name)", GUARDED, QUIET),
        ("", "OTHERS = {'accuracy': accuracy}", ENTRY, GUARDED, MINOR),
        ("@print", "", ENTRY, GUARDED, MINOR),
        ("", "", ENTRY, GUARDED, MINOR),
        ("@register", "", ENTRY, PLAIN, MINOR),
        ("@register", "print(accuracy(1, 2))", ENTRY, GUARDED, MINOR),
        ("@register", "", "[name].run", GUARDED, MINOR),
    ],
)
def test_who_calls_what_is_looked_up_in_a_table(
    tmp_path: Path, decorated: str, more: str, entry: str, around: str, expected: list[Severity]
) -> None:
    registry = REGISTRY.format(decorated=decorated, more=more, entry=entry)
    files = {"scoring": SCORING, "registry": registry, "run": MEASURE.format(around=around)}
    assert found(tmp_path, files) == expected
