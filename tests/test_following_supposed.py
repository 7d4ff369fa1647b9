"""Following a program: what several signs together show of a loss, of a layer, and of a sum that begins late."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty

STEP = """
import torch
from lib import get_loss

def train(model, loader, opt, cfg):
    criterion = get_loss(cfg)
    kept = []
    for epoch in range(cfg.epochs):
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            other = criterion(out, x)
            penalty = sum(p.pow(2).sum() for p in model.parameters())
            whole = {}
            opt.zero_grad()
            whole.backward()
            opt.step()
            {}
    return kept
"""


def found(text: str) -> list[tuple[str, Severity]]:
    return [(each.code, each.severity) for each in lint(text)]


@pytest.mark.parametrize("whole", ["loss + penalty", "0.5 * loss + penalty", "(loss + penalty) / 2", "penalty - loss"])
def test_a_term_that_is_a_loss_by_its_name(whole: str) -> None:
    """It was given what has history, speaks of a loss, and is added to what is differentiated."""
    assert found(STEP.format(whole, "kept.append(loss)")) == [("TLK402", Severity.WARNING)]


def test_a_loss_by_its_name_alone() -> None:
    """Nothing differentiates it: it may be a number for a report, or several of them."""
    assert found(STEP.format("loss + penalty", "kept.append(other)")) == [("TLK402", Severity.NOTE)]
    assert found(STEP.format("loss + penalty", "kept.append(loss.item())")) == []


LATE = """
import torch

def train(model, loader, opt, cfg):
    total, first = 0, 0
    for i, x in enumerate(loader):
        loss = model(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        {}
    return float(total)
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if i > 0:\n            total += loss", ["TLK401"]),
        ("if i:\n            total += loss", ["TLK401"]),
        ("total += loss if i else 0", ["TLK401"]),
        ("if i == 0:\n            continue\n        total += loss", ["TLK401"]),
        ("if not i:\n            total = loss\n        else:\n            total += loss", ["TLK401"]),
        ("if i == 0:\n            total += loss", []),
        ("if i > 0:\n            total = loss", []),
        ("if i > 0:\n            total = first\n        first = loss.detach()", []),
        ("if i > 0:\n            total += loss.item()", []),
    ],
)
def test_sums_that_leave_the_first_step_out(body: str, expected: list[str]) -> None:
    assert [code for code, _ in found(LATE.format(body))] == expected


LOSS = """
import torch
from torch import nn
from other import Part

class HardLoss(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.rate = cfg.rate
{long}
        {made}

    def reset(self):
        self.count: int = 0

    @staticmethod
    def nothing():
        pass

    def forward(self, pred, target):
        return self.criterion(pred, target)
"""
USER = """
import torch
from losses import HardLoss

def train(net, loader, opt, cfg):
    hard = HardLoss(cfg)
    kept = []
    for x, y in loader:
        out = net(x)
        part = hard(out, y)
        (out.mean() + part).backward()
        opt.step()
        kept.append(part)
    return kept
"""
LONG = "\n".join(f"        self.a{at} = torch.zeros({at}) + {at} * cfg.scale" for at in range(30))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("self.criterion = nn.CrossEntropyLoss(reduction='mean')", Severity.WARNING),
        ("self.criterion = nn.L1Loss() if cfg.a else nn.MSELoss()", Severity.NOTE),
        ("self.criterion, self.b = nn.MSELoss(), 1", Severity.NOTE),
        ("self.criterion = Part()", Severity.NOTE),
        ("self.criterion = cfg.criterion", Severity.NOTE),
        ("self.criterion = {}['a']", Severity.NOTE),
        (
            "if cfg.a:\n            self.criterion = nn.L1Loss()\n"
            "        else:\n            self.criterion = nn.MSELoss()",
            Severity.WARNING,
        ),
    ],
)
def test_layers_of_a_constructor_that_is_not_followed(tmp_path: Path, made: str, expected: Severity) -> None:
    """It is long, and in another file; that a layer of torch is set there shows all the same."""
    (tmp_path / "losses.py").write_text(LOSS.format(long=LONG, made=made))
    firstparty.forget()
    (tmp_path / ".git").mkdir()
    own = tmp_path / "train.py"
    own.write_text(USER)
    told = [(each.code, each.severity) for each in lint(USER, path=str(own))]
    assert told in ([("TLK402", expected)], [] if expected is Severity.NOTE else None)


PARTS = """
import torch
from lib import get_loss, get_scaler

def train(model, loader, opt, cfg):
    criterion, other, scaler = get_loss(cfg), cfg.other, {}
    kept = []
    for epoch in range(cfg.epochs):
        for x, y in loader:
            opt.zero_grad()
            out = model(x)
            print(len(out))
            {}
            opt.step()
    return kept, list(model.parameters())
"""


def test_a_loss_that_is_scaled_and_handed_to_a_function() -> None:
    body = "loss = meter.parts(x)\n            torch.autograd.backward({})\n            kept.append(loss)"
    scaled = body.format("scaler.scale(loss)")
    assert found(PARTS.format("handed", scaled)) == [("TLK402", Severity.WARNING)]
    assert found(PARTS.format("handed", body.format("[loss]"))) == [("TLK402", Severity.WARNING)]


@pytest.mark.parametrize("scaler", ["torch.cuda.amp.GradScaler()", "get_scaler(cfg)"])
def test_a_loss_that_is_scaled(scaler: str) -> None:
    body = "loss = criterion(out, y)\n            scaler.scale(loss).backward()\n            kept.append({})"
    assert found(PARTS.format(scaler, body.format("loss"))) == [("TLK402", Severity.WARNING)]
    assert found(PARTS.format(scaler, body.format("loss.item()"))) == []


@pytest.mark.parametrize(("scaled", "expected"), [("total", [("TLK402", Severity.WARNING)]), ("total, factor=2", [])])
def test_what_a_scaler_that_is_handed_over_scales_had_a_graph(scaled: str, expected: list[object]) -> None:
    """`scale` of two things is another method."""
    body = f"total = meter.parts(x)\n            scaler.scale({scaled}).backward()\n            kept.append(total)"
    assert found(PARTS.format("handed", body)) == expected


@pytest.mark.parametrize(
    ("made", "expected"), [("criterion(out, y)", Severity.WARNING), ("criterion(x, y)", Severity.NOTE)]
)
def test_a_part_of_a_loss_that_is_a_term(made: str, expected: Severity) -> None:
    """The loss is handed what has history; of another call only the variable's name speaks."""
    body = f"loss, rest = {made}\n            (out.mean() + loss).backward()\n            kept.append(loss)"
    assert found(PARTS.format("None", body)) == [("TLK402", expected)]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("losses['loss_box']", ["TLK402"]),
        ("losses['loss_box'].item()", []),
        ("sum(losses.values())", ["TLK402"]),
        ("losses['class_error']", []),
        ("losses[0]", []),
    ],
)
def test_entries_of_which_a_loop_differentiates_some(kept: str, expected: list[str]) -> None:
    """Of those that a loop picks, a loss by its key is one; an error rate beside them need not be."""
    body = "losses, weights = criterion(out, y), criterion.weights\n"
    body += "            whole = sum(losses[k] * weights[k] for k in losses if k in weights)\n"
    body += f"            whole.backward()\n            kept.append({kept})"
    assert [code for code, _ in found(PARTS.format("None", body))] == expected
    assert found(PARTS.format("None", body.replace("criterion(out, y)", "other(out, y)"))) == []
