"""TLK501: methods of networks that run them under other names than `forward`, known by what the object is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.finding import Severity
from tests.test_evaluation_elsewhere import found

TOLD, QUIET = [Severity.WARNING], list[Severity]()
NETS = """
import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.items = nn.Embedding(size, 8)
        self.mix = nn.Linear(8, 8)

    def features(self, rows):
        return self.mix(self.items(rows))

    def forward(self, rows):
        return self.features(rows).sum()

    def predict(self, rows, items):
        return self.items(items) @ self.features(rows)[-1]

    def itself(self, rows, items):
        return self(rows)

    def quiet(self, rows, items):
        with torch.no_grad():
            return self.features(rows) + items

    @torch.no_grad()
    def decorated(self, rows, items):
        return self.features(rows)

    def half(self, rows, items):
        with torch.no_grad():
            shape = items.view(rows)
            rows = self.mix(rows)
        return self.mix(rows)

    def plain(self, rows, items):
        with torch.no_grad():
            items = items.view(-1)
        return self.features(rows)

    def learn(self, rows, items):
        loss = self.features(rows).sum()
        loss.backward()
        return loss

    def counted(self, rows, items):
        return len(rows) + len(items)


class Trainer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.net = Scorer(size)
        self.log = print

    def generate(self, rows, items):
        self.log(rows)
        return self.net.predict(rows, items)

    def look(self, rows, items):
        return self.net.forward_all(rows)
"""
SCORING = """
import torch


def evaluate(model, loader):
    hits = 0
    for rows, items in loader:
        hits += model.{method}(rows, items).argmax().item()
    return hits
"""
MAIN = """
import torch
from nets import Scorer, Trainer
from scoring import evaluate


def main(loader, test, size):
    model = {made}
    opt = torch.optim.Adam(model.parameters())
    for rows in loader:
        opt.zero_grad()
        model(rows).backward()
        opt.step()
    {switch}
    print(evaluate({given}))
"""


def scored(folder: Path, method: str, made: str = "Scorer(size)", switch: str = "model.eval()") -> list[Severity]:
    main = MAIN.format(made=made, switch=switch, given="model, test")
    return found(folder, {"nets": NETS, "scoring": SCORING.format(method=method), "main": main})


METHODS = {
    "predict": TOLD, "itself": TOLD, "plain": TOLD, "quiet": QUIET, "decorated": QUIET, "half": QUIET, "learn": QUIET,
    "counted": QUIET, "missing": QUIET,
}  # fmt: skip


@pytest.mark.parametrize(("method", "expected"), METHODS.items(), ids=METHODS)
def test_methods_of_a_network_that_another_file_makes(tmp_path: Path, method: str, expected: list[Severity]) -> None:
    assert scored(tmp_path, method) == expected


@pytest.mark.parametrize(
    ("made", "method", "expected"),
    [
        ("Scorer(size).to('cuda').train()", "predict", TOLD),
        ("Trainer(size)", "generate", TOLD),
        ("Trainer(size)", "look", QUIET),
        ("load(size)", "predict", QUIET),
        ("Scorer(size) if size else Trainer(size)", "predict", QUIET),
        ("size", "predict", QUIET),
    ],
)
def test_what_the_network_is_made_of(tmp_path: Path, made: str, method: str, expected: list[Severity]) -> None:
    assert scored(tmp_path, method, made) == expected


HOLDER = """
import torch


class Evaluator:
    def __init__(self, model{more}):
        self.model = {value}

    def evaluate(self, loader):
        self.model.eval()
        hits = 0
        for rows, items in loader:
            hits += self.model.predict(rows, items).argmax().item()
        return hits
"""
HOLDING = """
from nets import Scorer
from scoring import Evaluator


def main(loader, size):
    print(Evaluator({given}).evaluate(loader))
"""


@pytest.mark.parametrize(
    ("more", "value", "given", "expected"),
    [
        ("", "model", "Scorer(size)", TOLD),
        (", other=None", "model", "other=size, model=Scorer(size)", TOLD),
        ("", "model", "size", QUIET),
        ("", "model", "*size", QUIET),
        ("", "model if model else None", "Scorer(size)", QUIET),
        ("", "made", "Scorer(size)", QUIET),
    ],
)
def test_a_network_that_an_object_holds(
    tmp_path: Path, more: str, value: str, given: str, expected: list[Severity]
) -> None:
    files = {"nets": NETS, "scoring": HOLDER.format(more=more, value=value), "main": HOLDING.format(given=given)}
    assert found(tmp_path, files) == expected


def test_nobody_sets_its_mode(tmp_path: Path) -> None:
    assert scored(tmp_path, "predict", switch="print(size)") == TOLD  # by its use


def test_who_calls_it_hands_over_something_else(tmp_path: Path) -> None:
    files = {"nets": NETS, "scoring": SCORING.format(method="predict")}
    files["main"] = MAIN.format(made="Scorer(size)", switch="model.eval()", given="*test")
    assert found(tmp_path, files) == QUIET


OWN = """
import torch
from nets import Scorer


{parts}
"""
OF_FUNCTION = """
def run(loader, size):
    net = Scorer(size)
    net.eval()
    for rows, items in loader:
        print(net.predict(rows, items))
"""
OF_CLASS = """
class Job:
    def __init__(self, size):
        self.net = Scorer(size)

    def run(self, loader):
        self.net.eval()
        for rows, items in loader:
            print(self.net.predict(rows, items))
"""
OF_CALLER = """
def evaluate(net, loader):
    for rows, items in loader:
        print(net.predict(rows, items))


def main(loader, size):
    net = Scorer(size)
    net.load_state_dict(torch.load("net.pt"))
    net.eval()
    evaluate(net, loader)
"""
OF_CONSTRUCTOR = """
class Job:
    def __init__(self, net, loader):
        for rows, items in loader:
            print(net.predict(rows, items))


def main(loader, size):
    net = Scorer(size)
    net.eval()
    Job(net, loader)
"""
AT_ONCE = """
def evaluate(net, test):
    return net.predict(test.rows, test.items).argmax().item()


def main(loader, test, size):
    net = Scorer(size)
    for rows in loader:
        net(rows).backward()
        if size:
            print(evaluate(net, test))
"""


@pytest.mark.parametrize(
    ("parts", "expected"),
    [(OF_FUNCTION, TOLD), (OF_CLASS, TOLD), (OF_CALLER, TOLD), (AT_ONCE, [Severity.NOTE])],
    ids=["of a function", "of a class", "of a caller", "once a round"],
)
def test_methods_of_networks_in_the_file(tmp_path: Path, parts: str, expected: list[Severity]) -> None:
    assert found(tmp_path, {"nets": NETS, "job": OWN.format(parts=parts)}, "job") == expected


OF_NUMBERS = OF_FUNCTION.replace("rows, items in loader", "i in range(size)").replace("rows, items", "i, 1")


def test_a_network_in_evaluation_mode_that_is_given_numbers(tmp_path: Path) -> None:
    """It is followed all the same: it may make its inputs of them."""
    nets = NETS.replace("return self.items(items) @", "rows = torch.arange(rows)\n        return self.items(rows) @")
    assert found(tmp_path, {"nets": nets, "job": OWN.format(parts=OF_NUMBERS)}, "job") == [Severity.NOTE]


def test_a_constructor_evaluates_for_nobody(tmp_path: Path) -> None:
    """Neither a name nor a mode in sight of its loop says that it does: only its use, or who makes the object."""
    assert found(tmp_path, {"nets": NETS, "job": OWN.format(parts=OF_CONSTRUCTOR)}, "job") == TOLD
    used = OF_CONSTRUCTOR.replace("print(net.predict(rows, items))", "other.take(net.predict(rows, items))")
    assert found(tmp_path, {"nets": NETS, "job": OWN.format(parts=used)}, "job") == TOLD
    alone = used.partition("def main")[0]
    assert found(tmp_path, {"nets": NETS, "job": OWN.format(parts=alone)}, "job") == QUIET
    text = OF_CONSTRUCTOR.replace("        for rows", "        net.eval()\n        for rows")
    assert found(tmp_path, {"nets": NETS, "job": OWN.format(parts=text)}, "job") == TOLD
