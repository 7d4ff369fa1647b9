"""TLK407: graphs of several losses. Where it tells, torch runs the step without `retain_graph`; it does not always
where it is silent, as it must be if a part of the graph may be gone through again."""

from __future__ import annotations

import ast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flake8_torchleak.lint import lint

HEAD = """
import torch
from torch import nn


def run(loader, device, extra=None):
    net, other, head = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
    opt = torch.optim.SGD([*net.parameters(), *other.parameters(), *head.parameters()], lr=0.0)
    for x in loader:
        {}
        opt.step()
"""
SOURCES = ["x", "x.to(device)", "torch.randn_like(x)", "a", "b", "a.detach()", "b.detach()"]
NETS = ["net", "other", "head"]


def program(body: list[str]) -> str:
    return HEAD.format("\n        ".join(body))


def told(text: str) -> list[int]:
    return [each.span.line for each in lint(text, wanted=lambda code: code == "TLK407")]


@st.composite
def bodies(draw: st.DrawFn) -> list[str]:
    """Two outputs, and two losses of these, of the data, or of outputs without their graph, one after the other."""
    net = st.sampled_from(NETS)
    made = [f"a = {draw(net)}({draw(st.sampled_from(SOURCES[:3]))})"]
    made.append(f"b = {draw(net)}({draw(st.sampled_from([*SOURCES[:4], SOURCES[5]]))})")
    source = st.sampled_from(SOURCES)
    losses = []
    for name in ("first", "second"):
        terms = draw(st.lists(st.builds("{}({})".format, net, source), min_size=1, max_size=2))
        losses.append(f"{name} = ({' * '.join(terms)}).sum()")
    where = draw(st.integers(0, 2))
    second = [losses[1]] if where else []
    body = [*made, losses[0], *([] if where else [losses[1]]), "first.backward(retain_graph=True)"]
    body += [draw(st.sampled_from(["pass", "a = net(x)", "b = other(x)", "opt.zero_grad()"])), *second]
    return [*body, "second.backward()"]


def runs(text: str) -> bool:
    torch = pytest.importorskip("torch")
    space: dict[str, object] = {}
    exec(compile(ast.parse(text), "<program>", "exec"), space)
    try:
        space["run"]([torch.ones(2, 3), torch.ones(2, 3)], "cpu")  # type: ignore[operator]
    except RuntimeError as error:
        assert "second time" in str(error)
        return False
    return True


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bodies())
def test_what_is_told_runs_without_it(body: list[str]) -> None:
    text = program(body)
    if told(text):
        assert runs(text.replace("retain_graph=True", "retain_graph=False"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (["a = net(x)", "first, second = head(a).sum(), other(a).sum()"], 0),
        (["a = net(x)", "first, second = head(a.detach()).sum(), other(a).sum()"], 0),  # of one statement
        (["a = net(x)", "first = head(a.detach()).sum()", "second = other(a).sum()"], 1),
        (["first = net(x).sum()", "second = net(x).sum()"], 1),
        (["first = net(x).sum()", "second = extra(x)"], 1),
        (["first = net(x).sum()", "second = first * 2"], 0),
        (["first = net(x).sum()", "second = extra.loss"], 1),  # made elsewhere, and not of this
        (["first = net(x).sum()", "for second in (first,):", "    pass"], 0),
        (["first = net(x).sum()", "losses = [first]", "for second in losses:", "    pass"], 0),
        (["first = net(x).sum()", "for second in extra:", "    pass"], 1),
        (["with extra as a:", "    b = a * 2", "    first, second = net(b).sum(), head(b).sum()"], 0),
        (["with extra as a:", "    b = a * 2", "first = net(b).sum()", "second = head(b).sum()"], 0),
    ],
)
def test_what_two_losses_have_in_common(body: list[str], expected: int) -> None:
    text = program([*body, "first.backward(retain_graph=True)", "second.backward()"])
    assert len(told(text)) == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("x.to(extra)", 1),
        ("x + torch.zeros(3, device=extra)", 1),
        ("x + torch.zeros(3, out=extra)", 0),
        ("x + extra", 0),
    ],
)
def test_what_is_handed_in(made: str, expected: int) -> None:
    """It may have a graph of its own; not a device."""
    assert len(told(program([f"loss = net({made}).sum()", "loss.backward(retain_graph=True)"]))) == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("torch.autograd.grad(net(x).sum(), net.weight)", 1),
        ("torch.autograd.grad(loss, net.weight)", 0),
        ("torch.autograd.grad()", 0),
        ("extra.grad(loss)", 0),
        ("extra.penalty(x)", 0),
        ("extra.accelerator.backward(head(x).sum())", 1),
        ("extra.accelerator.backward(loss)", 0),
        ("again(loss)", 0),
        ("again(x)", 0),  # nobody looks what it differentiates
        ("extra.take(loss)", 0),
        ("extra.take(loss.item(), x)", 1),
        ("loss = head(x).sum()\n        extra.take(loss)", 1),  # another one
    ],
)
def test_what_comes_later(after: str, expected: int) -> None:
    text = program(["loss = net(x).sum()", "loss.backward(retain_graph=True)", after])
    assert len(told(text + "\n\ndef again(value):\n    (value * 2).sum().backward()\n")) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("again(other(x))", 1),
        ("slope = extra.penalty(x)", 1),
        ("other(x).sum().backward()", 1),
        ("loss = other(x).sum()\n        loss.backward()", 1),
    ],
)
def test_what_comes_before_needs_no_graph_that_is_kept_then(before: str, expected: int) -> None:
    text = program([before, "loss = net(x).sum()", "loss.backward(retain_graph=True)"])
    assert len(told(text + "\n\ndef again(value):\n    (value * 2).sum().backward()\n")) == expected


HELPED = """
import torch
from torch import nn


def step(loss, optimizer, more=None):
    {first}
    loss.backward(retain_graph=True)
    {then}


def again(value):
    (value * 2).sum().backward()


def train(net, head, loader, optimizer, loss=None):
    for x in loader:
        out = net(x)
        loss = out.sum()
        {call}
"""


@pytest.mark.parametrize(
    ("first", "then", "call", "expected"),
    [
        ("pass", "optimizer.step()", "step(loss, optimizer)", 1),
        ("pass", "optimizer.step()", "step(optimizer=optimizer, loss=loss)", 1),
        ("pass", "optimizer.step()", "step(loss, optimizer)\n        step(net(x).sum(), optimizer)", 0),  # of two
        ("pass", "optimizer.step()", "step(*loss)", 0),
        ("loss = loss * more", "optimizer.step()", "step(loss, optimizer)", 0),
        ("pass", "more.backward()", "step(loss, optimizer)", 0),
        ("pass", "optimizer.step()", "step(loss, optimizer)\n        out.mean().backward()", 0),
        ("pass", "optimizer.step()", "step(loss, optimizer)\n        again(out)", 0),
        ("pass", "optimizer.step()", "step(loss, optimizer)\n        again(head(x))", 0),  # of more than what it gets
        ("pass", "optimizer.step()", "step(loss, optimizer)\n        head(x).sum().backward()", 1),
        ("pass", "optimizer.step()", "head(x).sum().backward()\n        step(loss, optimizer)", 1),
        ("pass", "pass", "print(loss)", 0),
    ],
)
def test_a_function_that_differentiates_what_it_gets(first: str, then: str, call: str, expected: int) -> None:
    assert len(told(HELPED.format(first=first, then=then, call=call))) == expected


OBJECT = """
import torch
from torch import nn


class Trainer:
    def __init__(self, net, weight, device):
        self.net, self.weight, self.device = net, weight, device
        self.fake = None

    def generate(self, x):
        {stored}

    def train(self, loader, opt):
        for x in loader:
            self.net.train()
            x = x.to(self.device)
            self.generate(x)
            first = (self.net(x) * {factor}).sum()
            first.backward(retain_graph=True)
            second = (self.net(x) * {other}).sum()
            second.backward()
            opt.step()
"""


@pytest.mark.parametrize(
    ("stored", "factor", "other", "expected"),
    [
        ("pass", "self.weight", "self.weight", 1),
        ("self.fake = self.net(x)", "self.weight", "self.weight", 1),
        ("self.fake = self.net(x)", "self.fake", "self.weight", 0),
        ("self.fake = self.net(x)", "self.weight", "self.fake", 0),
        ("self.fake = self.net(x)", "self.fake.detach()", "self.fake.data", 1),
        ("pass", "self.fake", "self.weight", 1),  # set by the constructor alone
    ],
)
def test_what_an_object_holds(stored: str, factor: str, other: str, expected: int) -> None:
    assert len(told(OBJECT.format(stored=stored, factor=factor, other=other))) == expected


@pytest.mark.parametrize(("stored", "expected"), [("self.fake = self.net(x)", 0), ("pass", 1)])
def test_what_an_object_holds_under_another_name(stored: str, expected: int) -> None:
    text = OBJECT.format(stored=stored, factor="part", other="self.net(part)")
    assert len(told(text.replace("first = ", "part = self.fake * 2\n            first = "))) == expected


def test_more_variables_than_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    body = ["a = net(x)", "b = a * 2", "first, second = b.sum(), 0", "first.backward(retain_graph=True)"]
    text = program([*body, "second = other(x).sum()", "second.backward()"])
    assert told(text)
    monkeypatch.setattr("flake8_torchleak.model.retaining._MOST_VARIABLES", 1)
    assert not told(text)


def test_data_that_is_made_of_data_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = [f"x{n} = x{n - 1 or ''} * 2" for n in range(1, 8)]
    body = [*chain, "first, second = net(x7).sum(), 0", "first.backward(retain_graph=True)"]
    text = program([*body, "second = other(x7).sum()", "second.backward()"])
    assert told(text)
    monkeypatch.setattr("flake8_torchleak.model.retaining._MOST_VARIABLES", 5)
    assert not told(text)
