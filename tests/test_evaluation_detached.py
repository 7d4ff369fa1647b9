"""TLK501: networks that run while something is trained, and whose outputs are only used without their graph: notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.lint import lint
from flake8_torchleak.model.minor import BESIDE, FROZEN

STEP = """
import copy

import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 2)

    def forward(self, x):
        return self.body(x)


class Forces(Net):
    def forward(self, x):
        x.requires_grad_()
        return torch.autograd.grad(self.body(x).sum(), x, create_graph=True)[0]


def fit(batches, log, gamma):
    net, target = Net(), Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    {before}
    for x, after in batches:
        {body}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
LOSS = "|loss = F.mse_loss(net(x), wanted)"
TARGET = "wanted = target(after).max(1)[0].detach()" + LOSS


def findings(text: str) -> list[Finding]:
    return lint(text, wanted=lambda code: code == "TLK501")


def told(body: str, before: str = "pass") -> list[str]:
    """The texts that the findings stand on, all of them notes without a fix. body: its lines, with | between them."""
    text = STEP.format(body=body.replace("|", "\n        "), before=before.replace("|", "\n    "))
    found = findings(text)
    assert all(each.severity is Severity.NOTE and not each.fixes for each in found)
    lines = text.splitlines()
    return [lines[each.span.line - 1][each.span.col : each.span.end_col] for each in found]


BODIES = {
    "at once": (TARGET, ["target(after)"]),
    "through variables": (
        "scores = target(after)|best = scores.max(1)[0] * gamma|wanted = best.detach()" + LOSS, ["target(after)"]
    ),
    "the data of it": ("wanted = target(after).data" + LOSS, ["target(after)"]),
    "as a part of what is handed on": ("loss = F.mse_loss(net(x), target(after).detach())", ["target(after)"]),
    "two of them": (
        "wanted = target(after).detach()|weight = net(after).detach()|loss = F.mse_loss(net(x), wanted) * weight.sum()",
        ["target(after)", "net(after)"],
    ),
    "what is bound anew": (
        "out = target(after)|wanted = out.detach()|out = net(x)|loss = F.mse_loss(out, wanted)", ["target(after)"]
    ),
    "with its graph as well": ("out = net(x)|wanted = out.detach()|loss = F.mse_loss(out, wanted)", []),
    "in one branch with its graph": ("out = net(x)|wanted = out.detach()|if gamma:|    wanted = out" + LOSS, []),
    "without gradients": ("with torch.no_grad():|    wanted = target(after).detach()" + LOSS, []),
    "in code that is not seen": ("out = target(after)|log(out)|wanted = out.detach()" + LOSS, []),
    "what to do next": ("wanted = after|rank = target(after).argmax(1)" + LOSS, ["target(after)"]),
    "only compared": ("wanted = after|better = target(after).max() > target(x).max()" + LOSS, []),
    "kept, as advised": (
        "wanted = after|log.append(target(after).detach())|gamma += target(x).detach().sum()|"
        "log[0] = target(x).detach()|log.best = target(x).data" + LOSS,
        [],
    ),
    "added up": ("wanted = after|gamma = gamma + target(x).detach().sum()" + LOSS, []),
    "added up by a function": ("wanted = after|gamma = log.sum(gamma, target(x).detach())" + LOSS, []),
    "under the name of its input": ("after = target(after).detach()|wanted = after" + LOSS, ["target(after)"]),
    "written to": ("wanted = after|target.body.weight.data = net.body.weight.data" + LOSS, []),
    "no network": ("wanted = (after + gamma).detach()" + LOSS, []),
    "dropped": ("wanted = after.detach()|target(after)" + LOSS, []),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_what_is_only_used_without_its_graph(name: str) -> None:
    body, expected = BODIES[name]
    assert told(body) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("pass", ["target(after)"]),
        ("target.requires_grad_(False)", []),
        ("for p in target.parameters():|    p.requires_grad = False", []),
        ("target = copy.deepcopy(net)", ["target(after)"]),
        ("net.body.requires_grad_(False)", ["target(after)"]),  # another network
        ("target = Forces()", []),  # which gives derivatives itself
    ],
)
def test_networks_that_are_frozen_record_nothing(before: str, expected: list[str]) -> None:
    assert told(TARGET, before) == expected


UNSEEN = """
import torch


def step(net, target_net, batch, optimizer):
    wanted = target_net(batch).detach()
    loss = (net(batch) - wanted).pow(2).mean()
    loss.backward()
    optimizer.step()


def main(net, target_net, batches, optimizer):
    {before}
    start = target_net(batches).detach()
    {then}
"""
STEPS = "step(net, target_net, start, optimizer)"


@pytest.mark.parametrize(("before", "expected"), [("pass", 1), ("target_net.freeze()", 0)], ids=["seen", "perhaps"])
def test_networks_that_nobody_makes_here(before: str, expected: int) -> None:
    """Where any parameters may be frozen, those of a network that is not followed may be. `main` runs once."""
    assert len(findings(UNSEEN.format(before=before, then=STEPS))) == expected


def test_by_callers_without_gradients() -> None:
    text = UNSEEN.format(before="pass", then=f"with torch.no_grad():\n        {STEPS}")
    assert findings(text.replace("    loss.backward()\n    optimizer.step()\n", "    return loss.item()\n")) == []


def test_a_program_that_trains_at_its_top() -> None:
    text = """
import torch

for x in batches:
    wanted = target_net(x).detach()
    loss = (net(x) - wanted).sum()
    loss.backward()
    optimizer.step()
"""
    assert len(findings(text)) == 1
    assert findings(text.replace("for x in batches:", "if x:")) == []


def test_a_unit_test_is_none() -> None:
    text = UNSEEN.format(before="pass", then="").replace("def step", "import pytest\n\n\ndef test_step")
    assert findings(text) == []


def test_what_is_told_already() -> None:
    """The first finding of a function's evaluation stands for all of it."""
    text = """
import torch


def evaluate(net, target_net, loader):
    net.eval()
    for x in loader:
        wanted = target_net(x).detach()
        print((net(x) - wanted).abs().mean().item())
"""
    assert len(findings(text)) == 1


ADAPTED = """
import torch


def adapt(learner, batch, loss):
    for _ in range(3):
        {inner}
    return loss(learner(batch), batch)


def main(net, loss, batches):
    net.train()
    for batch in batches:
        learner = copy(net)
        error = adapt(learner, batch, loss)
        print(error.item())
"""


@pytest.mark.parametrize(("inner", "expected"), [("learner.adapt(loss(learner(batch), batch))", 0)])
def test_what_a_helper_may_differentiate(inner: str, expected: int) -> None:
    assert len(findings(ADAPTED.format(inner=inner).replace("net.train()\n", "net.describe()\n"))) == expected


def test_a_training_file_is_looked_through_for_it(tmp_path: Path) -> None:
    """Neither `eval` nor a name in it speaks of evaluation."""
    path = tmp_path / "train.py"
    path.write_text(UNSEEN.format(before="pass", then=STEPS), encoding="utf-8")
    (only,) = lint(path.read_text(encoding="utf-8"), path=str(path), wanted=lambda code: code == "TLK501")
    assert only.message.startswith("memory is wasted on every call of `step`")
    assert only.message.endswith("run it under `torch.no_grad()`")
    assert [each.text for each in only.notes] == ["what it gives is only used without its graph"]


FREEZES = """
import torch


def frozen(part):
    {how}
    return part


def step(net, target_net, batch, optimizer):
    {here}
    wanted = target_net(batch).detach()
    loss = (net(batch) - wanted).pow(2).mean()
    loss.backward()
    optimizer.step()


def main(net, target_net, batches, optimizer, config):
    {before}
    for batch in batches:
        step(net, target_net, batch, optimizer)
"""
ALL = "for p in part.parameters():\n        p.requires_grad = False"


@pytest.mark.parametrize(
    ("how", "here", "before", "expected"),
    [
        ("pass", "pass", "pass", 1),
        (ALL, "pass", "net.head = frozen(net.head)", 1),
        (ALL, "pass", "frozen(target_net)", 0),
        (ALL, "pass", "frozen(target_net.body)", 0),
        (ALL, "pass", "frozen(config.nets[0])", 0),  # whichever that is
        (ALL, "pass", "frozen(*config)", 0),
        (ALL.replace("False", "True"), "pass", "frozen(target_net)", 1),
        (ALL.replace("False", "config"), "pass", "frozen(target_net)", 0),
        ("part.requires_grad_(False)", "pass", "frozen(target_net)", 0),
        ("part.requires_grad_(False)", "pass", "frozen(net)", 1),
        ("part.requires_grad_()", "pass", "frozen(target_net)", 1),
        ("part.requires_grad_(requires_grad=False)", "pass", "frozen(target_net)", 0),
        ("part.freeze()", "pass", "frozen(target_net)", 0),
        ("part.freeze()", "pass", "frozen(net)", 1),
        ("for n, p in part.named_parameters():\n        p.requires_grad = 'head' in n", "pass", "frozen(net.head)", 1),
        ("for p in list(part):\n        p.requires_grad = False", "pass", "pass", 0),
        ("for p in parameters(part):\n        p.requires_grad = False", "pass", "pass", 0),
        ("for p in [part]:\n        p.requires_grad = False", "pass", "pass", 0),
        ("pass", "net.requires_grad_(False)", "pass", 1),
        ("pass", "target_net.eval().requires_grad_(False)", "pass", 0),
    ],
)
def test_who_is_frozen(how: str, here: str, before: str, expected: int) -> None:
    assert len(findings(FREEZES.format(how=how, here=here, before=before))) == expected


@pytest.mark.parametrize(("first", "expected"), [("net.requires_grad_(False)", 0), ("net.requires_grad_()", 1)])
def test_who_imports_it_may_freeze(tmp_path: Path, first: str, expected: int) -> None:
    text = FREEZES.format(how="pass", here="pass", before="pass")
    (tmp_path / "job.py").write_text(f"from steps import main\n\n{first}\nmain(net)\n", encoding="utf-8")
    steps = tmp_path / "steps.py"
    steps.write_text(text, encoding="utf-8")
    assert len(lint(text, path=str(steps), wanted=lambda code: code == "TLK501")) == expected


@pytest.mark.parametrize(
    ("returned", "expected"),
    [("target_net(x).detach()", 1), ("total + target_net(x).detach()", 0), ("target_net(x).argmax(1).item()", 0)],
)
def test_what_a_step_returns(returned: str, expected: int) -> None:
    """Numbers are for whoever gets them, and sums are kept."""
    text = (
        f"import torch\n\n\ndef step(net, target_net, x, total):\n    net(x).sum().backward()\n    return {returned}\n"
    )
    assert len(findings(text)) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("pass", [BESIDE]),
        ("target.load_state_dict(net.state_dict())", [BESIDE]),
        ("target.requires_grad_(False)", []),
        ("target = copy.deepcopy(net); freeze(target)", [FROZEN]),
        ("target = copy.deepcopy(net); target.freeze_all()", [FROZEN]),
        ("target = copy.deepcopy(net); unfreeze(net)", [BESIDE]),
        ("frozen = target; target = copy.deepcopy(net)", [BESIDE]),
        ("target = copy.deepcopy(net)", [BESIDE]),
        ("net.body.requires_grad_(False)", [BESIDE]),
    ],
)
def test_every_batch_of_a_loader(before: str, expected: list[str]) -> None:
    """Where the network is not frozen, by name, and the names of what makes it do not say that it is."""
    body = TARGET.replace("|", "\n        ")
    text = STEP.format(body=body, before=before).replace("batches", "loader")
    assert [each.reason for each in findings(text)] == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("AutoModel", ["TLK501"]),
        ("AutoTokenizer", []),
        ("TFAutoModel", []),
        ("AutoProcessor", []),
        ("WavTokenizerModel", ["TLK501"]),
        ("EfficientNet", ["TLK501"]),
    ],
)
def test_what_a_library_reads_from_a_file(made: str, expected: list[str]) -> None:
    text = STEP.format(body=TARGET.replace("|", "\n        "), before=f"target = {made}.from_pretrained('x')")
    library = "efficientnet_pytorch" if made == "EfficientNet" else "transformers"
    text = text.replace("import copy\n", f"from {library} import {made}\n").replace("target", "teacher")
    assert [each.code for each in findings(text)] == expected


@pytest.mark.parametrize(
    ("nets", "expected"),
    [
        ("def net():\n    pass\n", [BESIDE]),
        ("def net(path):\n    return torch.load(path).requires_grad_(False)\n", [FROZEN]),
    ],
)
def test_a_network_that_another_file_makes(tmp_path: Path, nets: str, expected: list[str]) -> None:
    text = STEP.format(body=TARGET.replace("|", "\n        "), before="pass").replace("batches", "loader")
    (tmp_path / ".git").mkdir()
    (tmp_path / "nets.py").write_text(f"import torch\n{nets}")
    path = tmp_path / "steps.py"
    path.write_text(f"import nets\n{text}")
    found = lint(path.read_text(), path=str(path), wanted=lambda code: code == "TLK501")
    assert [each.reason.partition(";")[0] for each in found] == expected
