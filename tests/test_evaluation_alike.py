"""TLK501: methods of objects whose class nobody sees, by the networks of the project that have such a method."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint
from tests.test_evaluation_elsewhere import found

NETS = """
import torch
from torch import nn


class Base(nn.Module):
    def features(self, x):
        raise NotImplementedError

    def quiet(self, x):
        "Left to those below."

    def shape(self, x):
        return x.shape

    def mixed(self, x):
        return self.body(x)


class Net(Base):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def features(self, x):
        return self.body(x)

    def stacked(self, x):
        return self.layers[0](x)

    def quiet(self, x):
        with torch.no_grad():
            return self.body(x)

    def forward(self, x):
        return self.features(x)


class Table:
    def mixed(self, x):
        return self.rows(x)


def alone(x):
    return x
"""
JOB = """
import torch
import nets
from nets import Net


def score(thing, loader, rows):
    for x in loader:
        {body}


class Other:
    def own(self, x):
        return self.own(x)

    def used(self, x):
        out = self.own(x)
        return out.detach().numpy() + Other.own(self, x).detach().numpy()
"""
NOTE = [Severity.NOTE]
BODIES = {
    "detached at once": ("rows.append(thing.features(x).detach().mean())", 1),
    "detached later": ("out = thing.features(x)\n        rows.append(out.detach().mean())", 1),
    "one of two is detached": ("out, _ = thing.features(x)\n        rows.append(out.detach().mean())", 1),
    "by the data": ("rows.append(thing.features(x).data.mean())", 1),
    "an attribute's": ("rows.append(thing.net.features(x).detach().mean())", 1),
    "through a list of layers": ("rows.append(thing.stacked(x).detach().mean())", 1),
    "never detached": ("rows.append(thing.features(x).mean().item())", 0),
    "asked for its parameters": (
        "print(list(thing.parameters()))\n        rows.append(thing.features(x).mean().item())", 1),
    "loaded and moved": (
        "thing.load_state_dict(x)\n        thing.cuda()\n        rows.append(thing.features(x).mean().item())", 1),
    "loaded": ("thing.load_state_dict(x)\n        rows.append(thing.features(x).mean().item())", 0),
    "without gradients in the network": ("rows.append(thing.quiet(x).detach().mean())", 0),
    "runs nothing": ("rows.append(thing.shape(x).detach().mean())", 0),
    "another class has one": ("rows.append(thing.mixed(x).detach().mean())", 0),
    "a function alone": ("rows.append(thing.alone(x).detach().mean())", 0),
    "no such method": ("rows.append(thing.unheard(x).detach().mean())", 0),
    "given nothing": ("rows.append(thing.features().detach().mean())", 0),
    "of a class": ("rows.append(Net.features(x).detach().mean())", 0),
    "of a module": ("rows.append(nets.features(x).detach().mean())", 0),
    "of what a call gives": ("rows.append(thing().features(x).detach().mean())", 0),
    "of text": ("thing = 'a'\n        rows.append(thing.features(x).detach().mean())", 0),
    "forward": ("rows.append(thing.forward(x).argmax(1).tolist())", 1),
    "forward, of no tensor": ("rows.append(thing.forward(x))", 0),
    "its own": ("rows.append(Other().own(x).detach().mean())", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_methods(tmp_path: Path, name: str) -> None:
    (tmp_path / "pyproject.toml").touch()
    body, expected = BODIES[name]
    assert found(tmp_path, {"nets": NETS, "job": JOB.format(body=body)}, "job") == NOTE * expected


def test_without_notes_or_a_project(tmp_path: Path) -> None:
    text = JOB.format(body=BODIES["detached at once"][0])
    assert found(tmp_path, {"nets": NETS, "job": text}, "job") == []
    (tmp_path / "pyproject.toml").touch()
    path = str(tmp_path / "job.py")
    assert not [each for each in lint(text, path=path, least=Severity.WARNING) if each.code == "TLK501"]


def test_a_project_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    text = JOB.format(body=BODIES["detached at once"][0])
    assert found(tmp_path, {"nets": NETS + "\ndef (\n", "job": text}, "job") == []


def test_one_of_two_networks_is_seen(tmp_path: Path) -> None:
    """It says more, though it comes later."""
    (tmp_path / "pyproject.toml").touch()
    text = JOB.format(body="rows.append(thing.features(net.features(x)).detach().mean())").replace(
        "    for x in loader:", "    net = Net()\n    net.eval()\n    for x in loader:"
    )
    assert found(tmp_path, {"nets": NETS, "job": text}, "job") == [Severity.WARNING]


def test_where_the_network_is_run() -> None:
    text = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader


    def outer(net, x):
        with torch.no_grad():
            net(x)
        return inner(net, x).softmax(1)


    def inner(net, x):
        return net(x)


    def score(data):
        net = nn.Linear(4, 4)
        net.eval()
        for x in DataLoader(data):
            print(outer(net, x).argmax(1))
    """
    (told,) = (each for each in lint(textwrap.dedent(text)) if each.code == "TLK501")
    assert [each.span.line for each in told.notes if each.text == "the network is run here"] == [14]
