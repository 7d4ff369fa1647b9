"""Layers and losses of torch's own, wherever they are made: they compute with what they get, and differentiate nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint

EVALUATED = """
import torch
from torch import nn
from elsewhere import Loss

{before}

def score(model, loader{parameter}):
    {made}
    total = 0.0
    for x, y in loader:
        out = model(x)
        total += {called}(out["logits"], y).sum().item()
    return total

{behind}
"""


@pytest.mark.parametrize(
    ("made", "called", "expected"),
    [
        ("criterion = nn.CrossEntropyLoss()", "criterion", 1),
        ("criterion = nn.CrossEntropyLoss(reduction='none').to('cpu')", "criterion", 1),
        ("pass", "nn.functional.cross_entropy", 1),
        ("criterion = Loss()", "criterion", 0),
        ("criterion = nn.Sequential(Loss())", "criterion", 1),
        ("made = nn.Sequential(Loss())", "made", 1),
        ("cell = nn.GRUCell(4, 4)", "cell", 1),
        ("criterion = nn.MSELoss() if loader else Loss()", "criterion", 0),
        ("criterion, other = nn.MSELoss(), 1", "criterion", 1),
    ],
)
def test_a_loss_that_is_made_there(made: str, called: str, expected: int) -> None:
    found = lint(EVALUATED.format(before="", parameter="", made=made, called=called, behind=""))
    assert sum(each.code == "TLK501" for each in found) == expected


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        ("score(net, loader, nn.MSELoss())", 1),
        ("score(net, loader, nn.MSELoss())\nscore(net, loader, criterion=nn.L1Loss())", 1),
        ("score(net, loader, nn.MSELoss())\nscore(net, loader, Loss())", 0),
        ("score(net, loader)", 0),
        ("", 0),
        ("def run(net, loss):\n    score(net, loader, loss)\nrun(net, nn.MSELoss())", 1),
        ("def run(net, loss):\n    score(net, loader, loss)\nrun(net, Loss())", 0),
        ("def run(net, loss):\n    loss = loss\n    score(net, loader, loss)\nrun(net, nn.MSELoss())", 1),
    ],
)
def test_a_loss_that_is_handed_over(behind: str, expected: int) -> None:
    text = EVALUATED.format(before="", parameter=", criterion", made="pass", called="criterion", behind=behind)
    assert sum(each.code == "TLK501" for each in lint(text)) == expected


def test_a_parameter_of_a_lambda() -> None:
    made = "run = lambda criterion, out, y: criterion(out, y)"
    text = EVALUATED.format(before="", parameter="", made=made, called="(lambda loss, out, y: loss(out, y))", behind="")
    text = text.replace('(out["logits"], y)', '(nn.MSELoss(), out["logits"], y)')
    assert sum(each.code == "TLK501" for each in lint(text)) == 0


@pytest.mark.parametrize(("made", "expected"), [("nn.MSELoss()", 1), ("Loss()", 0)])
def test_a_loss_that_an_object_has(made: str, expected: int) -> None:
    text = f"""
from torch import nn
from elsewhere import Loss

class Scorer:
    def __init__(self, model):
        self.model, self.batches = model, 0
        self.criterion = {made}

    def score(self, loader):
        total = 0.0
        for x, y in loader:
            total += self.criterion(self.model(x), y).item()
        return total
"""
    assert sum(each.code == "TLK501" for each in lint(text)) == expected


@pytest.mark.parametrize(
    "made",
    [
        "self.criterion = self.criterion.cuda()",
        "self.criterion = self.other; self.other = self.criterion",
        "self.criterion = nn.MSELoss(); self.criterion = self.criterion.to(device)",
    ],
)
def test_bindings_that_go_in_circles(made: str) -> None:
    text = f"""
from torch import nn

class Scorer:
    def __init__(self, model, device):
        self.model = model
        {made}

    def score(self, loader):
        total = 0.0
        for x, y in loader:
            total += self.criterion(self.model(x), y).item()
        return total
"""
    assert not [each for each in lint(text) if each.code == "TLK000"]


@pytest.mark.parametrize(("given", "expected"), [("nn.L1Loss()", 1), ("Own()", 0), ("", 0)])
def test_callers_in_other_files_hand_over_losses_too(tmp_path: Path, given: str, expected: int) -> None:
    behind = "score(net, loader, nn.MSELoss())"
    text = EVALUATED.format(before="", parameter=", criterion=None", made="pass", called="criterion", behind=behind)
    place = tmp_path / "scoring.py"
    place.write_text(text)
    user = f"from torch import nn\nfrom scoring import score\nfrom own import Own\nscore(net, loader, {given})\n"
    (tmp_path / "using.py").write_text(user)
    (tmp_path / "pyproject.toml").touch()
    assert sum(each.code == "TLK501" for each in lint(text, path=str(place))) == expected
