"""TLK501: evaluation mode belongs to each network: one is evaluated, another one trains, a part is no whole."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.finding import Finding
from flake8_torchleak.lint import lint
from tests.model import codes

NETWORK = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.scale = nn.Linear(4, 4), nn.Linear(4, 1), torch.ones(1)

    def forward(self, x):
        return self.head(self.body(x) * self.scale)

"""


def lines(program: str) -> list[str]:
    """The lines of what is told."""
    text = NETWORK + textwrap.dedent(program)
    found = lint(text, wanted=lambda code: code == "TLK501")
    found = [each for each in found if not by_use(each)]
    return [text.splitlines()[each.span.line - 1].strip() for each in found]


def by_use(finding: Finding) -> bool:
    """Whether only what becomes of the outputs tells it."""
    texts = [each.text for each in finding.notes]
    return any(each.startswith("nothing needs") for each in texts) and not any("eval()" in each for each in texts)


TWO = """
def main(zs):
    g, d = Net(), Net()
    {switches}
    for z in zs:
        print({runs}(z).max())
"""


@pytest.mark.parametrize(
    ("switches", "runs", "expected"),
    [
        ("g.eval(); d.train()", "g", 1),
        ("d.train(); g.eval()", "g", 1),
        ("d.train(); g.eval()", "d", 0),
        ("g.eval()", "d", 0),
        ("g.eval(); d.eval()", "d", 1),
        ("g.eval(); g.train()", "g", 0),
        ("g.eval(); g.train(False)", "g", 1),
        ("g.eval(); g.train(mode=zs.training)", "g", 0),
        ("g.body.eval()", "g", 0),
        ("g.body.eval(); g.eval()", "g", 1),
        ("g.eval(); g.body.train()", "g", 1),
        ("g.eval()", "g.head", 1),
    ],
)
def test_each_object_has_its_own(switches: str, runs: str, expected: int) -> None:
    assert len(lines(TWO.format(switches=switches, runs=runs))) == expected


PARAMETERS = """
def main(g: nn.Module, d: nn.Module, zs):
    {switches}
    for z in zs:
        print({runs}(z).max())
"""


@pytest.mark.parametrize(
    ("switches", "runs", "expected"),
    [
        ("g.eval(); d.train()", "g", 1),
        ("d.train(); g.eval()", "d", 0),
        ("g.eval()", "d", 0),
        ("g.body.eval()", "g", 0),
        ("g.module.eval()", "g", 1),
        ("g.body.eval(); g.eval(); d.train()", "g.body", 1),
        ("g.body.eval()", "g.head", 0),
        ("g.eval(); unwrapped(d).train()", "g", 0),
        ("dp = nn.DataParallel(g); dp.eval()", "g", 1),
    ],
)
def test_each_parameter_has_its_own(switches: str, runs: str, expected: int) -> None:
    assert len(lines(PARAMETERS.format(switches=switches, runs=runs))) == expected


def test_on_some_way_it_trains() -> None:
    """Who calls it may differentiate what it gives."""
    program = """
    def scores(net: nn.Module, zs, training):
        if training:
            net.train()
        else:
            net.eval()
        return [net.head(z) for z in zs.split(4)]
    """
    assert lines(program) == []


HELD = """
class Sampler:
    def __init__(self{argument}):
        self.g = {made}
        {first}

    def sample(self, zs):
        {then}
        for z in zs:
            print(self.g(z).max())
"""


@pytest.mark.parametrize(
    ("argument", "made", "first", "then", "expected"),
    [
        ("", "Net()", "self.g.eval()", "pass", 1),
        ("", "Net().eval()", "pass", "pass", 1),
        (", g", "g", "self.g.eval()", "pass", 1),
        (", g", "g", "self.d = Net()", "self.g.eval(); self.d.train()", 1),
        ("", "Net()", "pass", "pass", 0),
        ("", "Net()", "self.g.eval()", "self.g.train()", 0),
    ],
)
def test_what_an_object_holds(argument: str, made: str, first: str, then: str, expected: int) -> None:
    """What its constructor switched stays so, until a method switches it."""
    assert len(lines(HELD.format(argument=argument, made=made, first=first, then=then))) == expected


def test_what_one_function_switches_says_nothing_of_another() -> None:
    program = """
    net = Net()

    def prepare():
        net.eval()

    def scores(zs):
        for z in zs:
            yield net(z)
    """
    assert lines(program) == []


ADVERSARIAL = """
def main(netG, netD, loader, epochs):
    for epoch in range(epochs):
        netG.eval()
        netD.train()
        for z, y in loader:
            print({runs}(z).max())
"""


@pytest.mark.parametrize(("runs", "expected"), [("netG", 1), ("netD", 0)])
def test_by_the_text(runs: str, expected: int) -> None:
    assert len(lines(ADVERSARIAL.format(runs=runs))) == expected


@pytest.mark.parametrize(
    ("switch", "given", "expected"),
    [("pass", "x", 1), ("pass", "model", 0), ("penalty_net.eval()", "model", 1), ("pass", "model.parameters()", 1)],
)
def test_what_is_given_the_network_is_none(switch: str, given: str, expected: int) -> None:
    """A penalty over its parameters saves nothing."""
    program = f"""
    def validate(model, loader, penalty_net):
        model.eval()
        {switch}
        for x, y in loader:
            print(penalty_net({given}).item())
    """
    assert len(lines(program)) == expected


def test_what_has_no_name_is_any_of_them() -> None:
    """Which one is put in training mode is not seen."""
    program = """
    def main(model, unwrapped, loader, epochs):
        for epoch in range(epochs):
            model.eval()
            unwrapped(model).train()
            for x, y in loader:
                print(model(x).max())
    """
    assert lines(program) == []


OWN = """
class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)
        {made}

    def forward(self, x):
        return self.head(self.body(x))

    def scores(self, rows):
        {switch}
        return [{run}(x).max().item() for x in rows]

    def show(self, rows):
        {switch}
        for x in rows:
            print({run}(x).max())
"""


@pytest.mark.parametrize(
    ("switch", "run", "expected"),
    [
        ("self.eval()", "self", 2),
        ("self.eval()", "self.body", 2),
        ("self.body.eval()", "self", 0),
        ("self.body.eval()", "self.body", 0),  # perhaps a part of a forward pass
        ("rows.model.eval()", "self.body", 0),
        ("self.train()", "self", 0),
    ],
)
def test_a_method_that_evaluates_its_own_network(switch: str, run: str, expected: int) -> None:
    assert len(lines(OWN.format(made="pass", switch=switch, run=run))) == expected


def test_a_method_of_a_network_that_was_switched_before() -> None:
    """It may be a part of a forward pass."""
    assert lines(OWN.format(made="self.eval()", switch="pass", run="self")) == []


def test_a_method_that_switches_its_own_parts() -> None:
    program = """
    class Frozen(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

        def train(self, mode=True):
            super().train(mode)
            self.body.eval()
            return self

        def forward(self, x):
            return self.head(self.body(x))

    def main(zs):
        net = Frozen()
        net.train()
        for z in zs:
            print(net(z).max())
    """
    assert lines(program) == []
    assert "TLK501" in codes(NETWORK + textwrap.dedent(program.replace("net.train()\n", "net.eval()\n")))
