"""Code that nobody can see and that may train: what it is made of, and what it is given, tells."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from flake8_torchleak.lifetime.history import is_same_again
from flake8_torchleak.lint import lint


def in_file(path: Path) -> list[tuple[str, str]]:
    return [(each.code, each.severity.value) for each in lint(path.read_text(), path=str(path))]


HEAD = """
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader
from elsewhere import *

"""


def found(text: str) -> list[tuple[str, str]]:
    return [(each.code, each.severity.value) for each in lint(HEAD + dedent(text)) if each.code[:4] in ("TLK4", "TLK5")]


EPOCH = """
def run_epoch(loader, model, {loss}):
    total = 0
    for x, y in loader:
        total += {loss}(model(x), y)
    return float(total)

def main(loader, criterion):
    model = nn.Linear(2, 1)
    opt = {optimizer}
    for epoch in range(9):
        model.eval()
        print(run_epoch(loader, model, {given}))
"""
LOSSES = {
    "made of an optimizer": ("LossCompute(criterion, opt)", "optim.Adam(model.parameters())", []),
    "made of one that nobody sees": ("LossCompute(criterion, opt)", "Schedule(model)", []),
    "made of a network": ("LossCompute(model, criterion)", "None", ["TLK501"]),
    "made of a part of one": ("LossCompute(model.head, criterion)", "None", ["TLK501"]),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_that_may_train_itself_is_a_note_and_its_loop_no_evaluation(name: str) -> None:
    given, optimizer, evaluations = LOSSES[name]
    told = found(EPOCH.format(loss="compute_loss", given=given, optimizer=optimizer))
    assert [code for code, _ in told if code == "TLK501"] == evaluations
    assert [severity for code, severity in told if code == "TLK401"] == ["note"]


def test_a_loss_of_what_learns_nothing_is_one() -> None:
    told = found(EPOCH.format(loss="criterion", given="LossCompute(criterion)", optimizer="None"))
    assert {code for code, _ in told} == {"TLK401", "TLK501"}
    assert "note" not in [severity for code, severity in told if code == "TLK401"]


SCALED = """
from elsewhere import Scaler, make_optimizer

def epoch(model, loader, criterion, opt, scaler, trains):
    model.train(trains)
    for x, y in loader:
        loss = criterion(model(x), y)
        {step}

def main(loader, criterion):
    model = nn.Linear(2, 1)
    opt, scaler = {made}, Scaler()
    for _ in range(9):
        epoch(model, loader, criterion, opt, scaler, False)
"""


@pytest.mark.parametrize(
    ("made", "step", "expected"),
    [
        ("optim.SGD(model.parameters(), 0.1)", "scaler(loss, opt)", []),
        ("make_optimizer(model)", "scaler(loss, opt, clip=1.0)", []),
        ("make_optimizer(model)", "scaler(loss)", ["TLK501"]),
        ("make_optimizer(1.0)", "scaler(loss, opt)", ["TLK501"]),
    ],
)
def test_code_that_gets_a_loss_and_an_optimizer_trains(made: str, step: str, expected: list[str]) -> None:
    assert sorted({code for code, _ in found(SCALED.format(made=made, step=step))}) == expected


FIGURES = """
def fit(loader, net: nn.Module, opt):
    total, kept = 0, []
    for x, y in loader:
        {outputs} = net(x)
        loss = F.mse_loss(out, y)
        opt.zero_grad(); loss.backward(); opt.step()
        {keeping}
    print(total, len(kept))
"""


@pytest.mark.parametrize(
    ("outputs", "keeping", "expected"),
    [
        ("out, figure", "total += figure", ["note"]),
        ("out, (figure, _)", "total += figure", ["note"]),
        ("out, figure", "total += out.mean()", ["warning"]),
        ("out, figure", "kept.append(figure)", ["error"]),
    ],
)
def test_what_is_added_up_beside_an_output_may_be_a_figure(outputs: str, keeping: str, expected: list[str]) -> None:
    assert [severity for _, severity in found(FIGURES.format(outputs=outputs, keeping=keeping))] == expected


MOVING = """
def fit(batches: DataLoader, net: nn.Module, opt):
    weight = net.bias * 2
    for x, y in batches:
        loss = net(x).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        weight = {moved}
"""


@pytest.mark.parametrize(
    ("moved", "adds"),
    [
        ("weight.to('cpu')", False),
        ("weight.cuda().float()", False),
        ("weight.contiguous()", False),
        ("weight.to('cpu', copy=True)", True),
        ("weight.cuda() + net.bias", True),
        ("other.cuda()", True),
    ],
)
def test_what_is_moved_to_where_it_is_adds_nothing(moved: str, adds: bool) -> None:
    (statement,) = ast.parse(f"weight = {moved}").body
    assert isinstance(statement, ast.Assign)
    assert is_same_again(statement, statement.targets[0]) != adds
    if "copy" not in moved and "other" not in moved:
        assert [code for code, _ in found(MOVING.format(moved=moved))] == (["TLK401"] if adds else [])


def test_of_other_statements_none_binds_the_same() -> None:
    (statement,) = ast.parse("weight += weight.cuda()").body
    assert isinstance(statement, ast.AugAssign)
    assert not is_same_again(statement, statement.target)


ROUNDS = """
def fit(loader, opt, parts):
    for x, y in loader:
        kept = []
        for part in parts:
            loss = part(x).mean()
            loss.backward()
            kept.append(loss)
        opt.step()
        print(len(kept))
"""


def test_a_loop_over_what_is_called_goes_over_a_few() -> None:
    assert found(ROUNDS) == []


ENDED = """
from torch.autograd import Variable

def test(loader, net: nn.Module):
    total = 0
    for x, y in loader:
        total += F.mse_loss(net(Variable(x)), Variable(y))
    print(total.{number})
"""


@pytest.mark.parametrize(("number", "expected"), [("data[0]", "note"), ("item()", "error")])
def test_code_that_runs_no_longer_is_a_note(number: str, expected: str) -> None:
    assert found(ENDED.format(number=number))[0] == ("TLK401", expected)


# -- networks that decide about gradients themselves ------------------------------------------------------------

EVALUATE = """
from build import make_network

def evaluate(loader, settings):
    net = make_network(settings)
    net.eval()
    for x in loader:
        print(net(x).sum())
"""
NETWORKS = {
    "a decorated pass": (
        """
        class Field(nn.Module):
            @torch.no_grad()
            def forward(self, x):
                return self.net(x)
        """,
        True,
    ),
    "a whole pass in a block": (
        """
        class Field(nn.Module):
            def forward(self, x):
                with torch.inference_mode():
                    return self.net[0](x)
        """,
        True,
    ),
    "a part of a pass": (
        """
        class Field(nn.Module):
            def forward(self, x):
                with torch.no_grad():
                    x = self.frozen(x)
                return self.net(x)
        """,
        False,
    ),
    "a pass that differentiates": (
        """
        class Field(nn.Module):
            def normal(self, x):
                return torch.autograd.grad(self.net(x).sum(), x)[0]
            def forward(self, x):
                return self.normal(x)
        """,
        True,
    ),
    "by its short name": (
        """
        from torch.autograd import grad
        class Field(nn.Module):
            def forward(self, x):
                return grad(self.net(x).sum(), x)[0]
        """,
        True,
    ),
    "a gradient of its own": (
        """
        class Step(torch.autograd.Function):
            def forward(ctx, x):
                return torch.autograd.grad(x, x)
        """,
        False,
    ),
    "a penalty beside it": (
        """
        class Field(nn.Module):
            def forward(self, x):
                return self.net(x)
        def penalty(out, x):
            return torch.autograd.grad(out, x)
        """,
        False,
    ),
    "none": ("class Field(nn.Module):\n    pass  # def forward, no_grad", False),
    "what does not parse": ("def forward(: no_grad", False),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_any_class_may_be_one_that_decides_itself(name: str, tmp_path: Path) -> None:
    text, decides = NETWORKS[name]
    (tmp_path / "setup.cfg").touch()
    (tmp_path / "nets.py").write_text("import torch\nfrom torch import nn\n" + dedent(text))
    (tmp_path / "run.py").write_text(EVALUATE)
    told = [severity for code, severity in in_file(tmp_path / "run.py") if code == "TLK501"]
    assert told == (["note"] if decides else ["warning"])


def test_without_a_project_nothing_else_is_asked(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(dedent(NETWORKS["a decorated pass"][0]))
    (tmp_path / "run.py").write_text(EVALUATE)
    assert [severity for _, severity in in_file(tmp_path / "run.py")] == ["warning"]


UNROLLED = """
class Solver(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 1)

    def forward(self, x):
        y = torch.zeros(len(x)){leaf}
        return self.net(torch.stack([x, y]))

def test(loader):
    net = Solver()
    net.eval()
    for x in loader:
        print(net(x).sum().item())
"""


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        (".requires_grad_()", []),
        (".requires_grad_(False)", ["TLK501"]),
        (" + torch.ones(2, requires_grad=True)", []),
        (" + torch.ones(2, requires_grad=False)", ["TLK501"]),
        ("", ["TLK501"]),
    ],
)
def test_a_pass_that_makes_leaves_needs_gradients(leaf: str, expected: list[str]) -> None:
    assert [code for code, _ in found(UNROLLED.format(leaf=leaf))] == expected
