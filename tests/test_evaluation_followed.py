"""Evaluations that following the program shows: through helpers, methods, wrappers, with the mode set elsewhere."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.lint import lint
from tests.model import codes

NETWORK = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)
        def encode(self, x):
            return self.a(x)
        def forward(self, x):
            return self.b(self.encode(x))
"""
PROGRAMS = {
    "a helper that runs the forward pass": (
        """
        def run(net, x):
            return net.forward(x)
        def main(frames):
            net = Net()
            net.eval()
            for x in frames:
                y = {}run(net, x)
                print(y.max())
    """
    ),
    "a method of the network other than its forward pass": (
        """
        def main(frames):
            net = Net()
            net.eval()
            for x in frames:
                y = {}net.encode(x)
                print(y.max())
    """
    ),
    "a wrapper that keeps the network": (
        """
        class Wrapper:
            def __init__(self):
                self.net = Net().eval()
            def landmarks(self, image):
                return self.net(image).argmax()
        def main(frames):
            wrapper = Wrapper()
            for x in frames:
                y = {}wrapper.landmarks(x)
                print(y)
    """
    ),
    "the mode is set by the caller": (
        """
        def scores(net, frames):
            for x in frames:
                y = {}net(x)
                print(y.max())
        def main(frames):
            net = Net()
            net.eval()
            scores(net, frames)
    """
    ),
    "the mode is set where the network is made": (
        """
        net = Net().eval().cuda()
        for x in frames:
            y = {}net(x)
            print(y.max())
    """
    ),
    "a network that is loaded as a whole": (
        """
        net = torch.load("net.pt")
        net.cuda()
        net.eval()
        for x in frames:
            y = {}net.forward(x)
            print(y.max())
    """
    ),
    "a network of a hub": (
        """
        net = torch.hub.load("a/b", "net").cuda().eval()
        for x in frames:
            y = {}net(x)
            print(y.max())
    """
    ),
    "the mode is set in another function, for a comprehension": (
        """
        class Wrapper:
            def __init__(self):
                self.net = Net().eval()
            def scores(self, frames):
                return [{}self.net(x).max() for x in frames]
    """
    ),
    "by hand, one of a thousand": (
        """
        def main(data):
            net = Net()
            net.eval()
            for i in range(len(data)):
                for scale in (1, 2):
                    y = {}net(data[i] * scale)
                    print(y.max())
    """
    ),
}


def written(program: str, before: str = "") -> str:
    return NETWORK + textwrap.indent(textwrap.dedent(program.format(before)), "    ")


@pytest.mark.parametrize("name", PROGRAMS)
def test_evaluations(name: str) -> None:
    assert "TLK501" in codes(written(PROGRAMS[name]))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    "switch",
    ["torch.set_grad_enabled(False)\n", "torch.autograd.set_grad_enabled(False)\n"],
)
def test_nothing_is_told_where_gradients_are_off(name: str, switch: str) -> None:
    """At the top, so that all that is called afterwards is without them."""
    text = written(PROGRAMS[name])
    assert "TLK501" not in codes(switch + textwrap.dedent(text))


QUIET = {
    "what it gives is differentiated": """
        def main(frames, opt):
            net = Net()
            net.eval()
            for x in frames:
                loss = run(net, x).mean()
                loss.backward()
                opt.step()
        def run(net, x):
            return net.encode(x)
    """,
    "a few rounds": """
        def main(x):
            net = Net()
            net.eval()
            for scale in (1, 2, 4):
                print(net.encode(x * scale).max())
    """,
    "no loop": """
        def main(x):
            net = Net()
            net.eval()
            print(net.encode(x).max())
    """,
    "layers that learn nothing": """
        def pad(x):
            pad2d = nn.ZeroPad2d((0, 3, 0, 0))
            return pad2d(x)
        def main(frames):
            net = Net()
            net.eval()
            for x in frames:
                print(pad(x).max())
    """,
    "what tokenizers do, too": """
        def main(frames, net):
            net.eval()
            for x in frames:
                print(net.crf.decode(x))
    """,
    "trained again": """
        def main(frames):
            net = Net()
            net.eval()
            net.train()
            for x in frames:
                print(net.encode(x).max())
    """,
    "gradients are off in the helper": """
        def run(net, x):
            with torch.no_grad():
                return net.encode(x)
        def main(frames):
            net = Net()
            net.eval()
            for x in frames:
                print(run(net, x).max())
    """,
    "perhaps off": """
        def main(frames, phase):
            net = Net()
            net.eval()
            for x in frames:
                with torch.set_grad_enabled(phase == "train"):
                    print(net.encode(x).max())
    """,
    "frozen": """
        def main(frames):
            net = Net()
            net.eval()
            net.requires_grad_(False)
            for x in frames:
                print(net.encode(x).max())
    """,
    "it would raise": """
        def main(frames):
            net = Net()
            net.eval()
            for x in frames:
                print(net(x).numpy())
    """,
    "an attack": """
        def main(frames):
            net = Net()
            net.eval()
            for x in frames:
                x.requires_grad_()
                print(net.encode(x).max())
    """,
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_no_evaluation_in_vain(name: str) -> None:
    assert "TLK501" not in codes(written(QUIET[name].replace("{", "{{").replace("}", "}}")))


def test_no_fix_where_other_functions_are_involved() -> None:
    """One of them may train: a decorator would end that."""
    text = """
        import torch
        from torch import nn

        def run(net, x):
            return inner(net, x)

        def inner(net, x):
            return net(x)

        def main(net: nn.Module, agent, frames):
            net.eval()
            for x in frames:
                agent.learn(x)
                print(run(net, x).max())
    """
    (found,) = [each for each in lint(textwrap.dedent(text), fixes=True) if each.code == "TLK501"]
    assert (found.fixes, found.unfixed.partition(",")[0]) == ((), "other functions are involved")
