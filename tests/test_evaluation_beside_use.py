"""TLK501 beside training, by use: what is only read in a loop over batches that trains nothing; what is bound anew."""

from __future__ import annotations

from textwrap import dedent

import pytest

from flake8_torchleak.lint import lint

FIT = """
import torch
from torch import nn
from elsewhere import captured, timed


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body, self.head = nn.Linear(8, width), nn.Linear(width, 4)

    def forward(self, x):
        return self.head(self.body(x))

    def score(self, x):
        return self.head(self.body(x))

    def logged(self, x):
        hidden = self.body(x)
        keep(hidden)
        return self.head(hidden)

    @torch.no_grad()
    def quiet(self, x):
        return self.head(self.body(x))


class Forces(Net):
    def forward(self, x):
        x.requires_grad_()
        return torch.autograd.grad(self.body(x).sum(), x, create_graph=True)[0]


{helpers}

def fit(train_loader, opt, made):
    net = Net(4)
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    found = []
    for x, y in train_loader:
        {body}
    return found
"""
HELPER = "def scored(net, x):\n    return net.score(x)\n"


@pytest.mark.parametrize(
    ("helpers", "body", "expected"),
    [
        ("", "found.append(net(x).detach().mean(0))", 1),
        ("", "found.append(net.score(x).detach().mean(0))", 1),
        ("", "found.append(net.score(x).argmax(1).numpy())", 1),
        ("", "found.append(net.quiet(x).detach())", 0),
        ("", "found.append(net.logged(x).detach())", 0),
        ("", "found.append(net.score(x))", 0),
        (HELPER, "found.append(scored(net, x).detach())", 1),
        ("@captured(model, optimizer)\n" + HELPER, "found.append(scored(net, x).detach())", 0),
        ("@captured(model, optimizer)\ndef scored(net, x):\n    return net(x)\n",
         "found.append(scored(net, x).detach())", 0),
        ("def scored(net, x):\n    out = net(x)\n    out.sum().backward()\n    return out\n",
         "found.append(scored(net, x).detach())", 0),
        ("def scored(net, x):\n    net(x).sum().backward()\n    return x * 2\n",
         "found.append(scored(net, x).detach())", 0),
        ("def scored(net, x):\n    net.train()\n    return net(x)\n",
         "found.append(scored(net, x).detach())", 1),
        ("@timed\n" + HELPER, "found.append(scored(net, x).detach())", 1),
        (
            "def scored(net, x):\n    out = net.score(x)\n    out.sum().backward()\n    return out\n",
            "found.append(scored(net, x).detach())",
            0,
        ),
        ("def scored(net, x):\n    with torch.no_grad():\n        return net.score(x)\n",
         "found.append(scored(net, x).detach())", 0),
        ("", "out = net(x)\n        out /= 2\n        found.append(out.detach().mean())\n        scaler(out, opt)", 0),
        ("", "out = net(x)\n        value = out.detach()\n        out *= 2\n        out.sum().backward()", 0),
        ("", "out = net(x)\n        v = out.detach()\n        out = 0\n        out += 1\n        made(out, v)", 1),
    ],
)  # fmt: skip
def test_what_is_only_read_in_a_loop_that_trains_nothing(helpers: str, body: str, expected: int) -> None:
    found = lint(FIT.format(helpers=helpers, body=body))
    assert sum(each.code == "TLK501" for each in found) == expected


@pytest.mark.parametrize(("made", "expected"), [("Net", 1), ("Forces", 0)])
def test_a_network_that_differentiates_in_its_forward_pass(made: str, expected: int) -> None:
    """One of its calls was followed: those beside it run the same network."""
    twice = "if y is None:\n            out = net(x)\n        else:\n            out = net(2 * x)\n"
    body = f"{twice}        found.append(out.data)"
    text = FIT.format(helpers="", body=body).replace("net = Net(4)", f"net = {made}(4)")
    assert (sum(each.code == "TLK501" for each in lint(text)) > 0) is bool(expected)


TRIAL = """
import torch
from determined.pytorch import PyTorchTrial

class Mnist({base}):
    def {name}(self, batch, batch_idx):
        out = self.model(batch)
        loss = torch.nn.functional.cross_entropy(out, batch).item()
        return {{"loss": loss, "hits": out.argmax(1).sum().item()}}
"""


@pytest.mark.parametrize(
    ("base", "name", "expected"),
    [
        ("PyTorchTrial", "evaluate_batch", 0),
        ("Trainer", "evaluate_batch", 1),
        ("PyTorchTrial", "score_batch", 1),
    ],
)
def test_a_trial_s_hooks_run_without_gradients(base: str, name: str, expected: int) -> None:
    """By `_validate` of Determined's harness, which is under `no_grad`."""
    assert sum(each.code == "TLK501" for each in lint(TRIAL.format(base=base, name=name))) == expected


def test_a_helper_of_training_and_validation_is_differentiated_in_one_of_them() -> None:
    """What training differentiates was made there, though the same lines made what validation reads."""
    text = dedent("""
        import torch

        class Trainer:
            def total(self, output):
                found = 0
                for key in output.losses:
                    found += output.losses[key]
                return found

            def train(self, loader):
                for data in loader:
                    output = self.model(data)
                    loss = self.total(output)
                    loss.backward()
                    self.opt.step()
                    self.validate(loader)

            def validate(self, loader):
                model = self.model
                model.eval()
                summed = torch.zeros(1)
                for data in loader:
                    output = model(data)
                    loss = self.total(output)
                    summed += loss.detach()
                return summed.item()
    """)
    assert [each.code for each in lint(text) if each.code == "TLK501"] == ["TLK501"]


FILLED = """
import torch
from torch import nn

def go(net, train_loader, opt):
    crit = nn.CrossEntropyLoss()
    for e in range(5):
        losses = torch.zeros(len(train_loader))
        for i, (x, y) in enumerate(train_loader):
            loss = crit(net(x), y)
            print(loss.item())
            {kept}
        opt.zero_grad()
        losses.mean().backward()
        opt.step()
"""


@pytest.mark.parametrize(("kept", "expected"), [("losses[i] = loss", 0), ("losses[i] = loss.item()", 1)])
def test_a_tensor_that_is_filled_by_index_is_differentiated(kept: str, expected: int) -> None:
    found = lint(FILLED.format(kept=kept))
    assert sum(each.code == "TLK501" for each in found) == expected
