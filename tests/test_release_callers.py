"""Evaluations whose results go into training are none: the callers say so, in this file and in others."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.fixing.fix import fix
from flake8_torchleak.model import importers
from tests.fixer import mended
from tests.test_users import found, project

PREDICT = """\
import torch
def predict(model, loader):
    model.eval()
    outputs = []
    for x, y in loader:
        outputs.append(model(x))
    return outputs
"""
CALLERS = {
    "nobody": ("", True),
    "one that shows": ("def main(model, loader):\n    print(len(predict(model, loader)))\n", True),
    "one that hands on, after training": (
        "def main(model, loader, opt):\n    for x, y in loader:\n        model(x).sum().backward()\n"
        "    save(predict(model, loader))\n",
        True,
    ),
    "one that hands on in a loop that does not train": (
        "def main(model, loaders, board, opt):\n    for loader in loaders:\n"
        "        board.show(predict(model, loader))\n"
        "    for x, y in loaders[0]:\n        model(x).sum().backward()\n        opt.step()\n",
        True,
    ),
    "one that differentiates": (
        "def main(model, loader):\n    torch.cat(predict(model, loader)).sum().backward()\n",
        False,
    ),
    "one without gradients": (
        "def main(model, loader):\n    with torch.no_grad():\n        kept = predict(model, loader)\n"
        "    torch.cat(kept).sum().backward()\n",
        None,
    ),
    "one that hands on in its step": (
        "def main(model, loaders, opt):\n    for loader in loaders:\n        loss = combine(predict(model, loader))\n"
        "        loss.backward()\n        opt.step()\n",
        False,
    ),
    "one that hands on beside a backward of its own": (
        "def main(model, loader, loss):\n    combine(predict(model, loader))\n    loss.backward()\n",
        False,
    ),
    "one that gives it to who differentiates": (
        "def outer(model, loader):\n    return predict(model, loader)\n"
        "def main(model, loader):\n    torch.cat(outer(model, loader)).sum().backward()\n",
        False,
    ),
    "one that gives it to who shows": (
        "def outer(model, loader):\n    return predict(model, loader)\n"
        "def main(model, loader):\n    print(outer(model, loader))\n",
        True,
    ),
    "one that a step calls": (
        "def outer(model, loader):\n    return combine(predict(model, loader))\n"
        "def main(model, loaders):\n    for loader in loaders:\n        loss = outer(model, loader) + other(loader)\n"
        "        loss.backward()\n",
        False,
    ),
    "one that nobody calls": ("def outer(model, loader):\n    combine(predict(model, loader))\n", True),
    "the module itself": ("combine(predict(net, data))\n", True),
}


@pytest.mark.parametrize(("caller", "evaluates"), CALLERS.values(), ids=CALLERS)
def test_what_callers_do_with_it(caller: str, evaluates: bool | None) -> None:
    done = mended(PREDICT + caller, unsafe=True, codes="TLK501")
    assert ("@torch.no_grad()" in done.text) is bool(evaluates)
    assert (done.found > 0) is bool(evaluates)


USES = {
    "only read": ("print(len({}))", True, True),
    "differentiated": ("torch.cat({}).sum().backward()", False, False),
    "handed to what may differentiate it": ("for loss in {}: loss.backward()\n    use(loss)", False, False),
    "kept by who trains": ("model.kept = {}\n    model.loss(model.kept).backward()", True, False),
}


@pytest.mark.parametrize(("use", "told", "offered"), USES.values(), ids=USES)
def test_callers_in_other_files(tmp_path: Path, use: str, told: bool, offered: bool) -> None:
    importers.forget()
    used = use.format("predict(model, loader)")
    caller = f"import torch\nfrom scores import predict\n\ndef main(model, loader):\n    {used}\n"
    path = project(tmp_path, scores=PREDICT, main=caller) / "scores.py"
    assert (("TLK501", 6) in found(path)) is told
    done = fix(path.read_text(), DEFAULT, True, lambda code: code == "TLK501", str(path))
    assert ("@torch.no_grad()" in done.text) is offered
    if told and not offered:
        (left,) = done.left
        assert left.unfixed == "a caller uses the result of `predict` in training"


HANDED = """\
import torch
from helpers import use

def train(model, loader, optimizer):
    kept = []
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y) + model.penalty
        kept.append(loss)
    use(kept)
"""


@pytest.mark.parametrize(("use", "released"), [("print(len(losses))", True), ("sum(losses).backward()", False)])
def test_a_holder_that_is_handed_to_a_function_of_another_file(tmp_path: Path, use: str, released: bool) -> None:
    path = project(tmp_path, helpers=f"def use(losses):\n    {use}\n", main=HANDED) / "main.py"
    done = fix(path.read_text(), DEFAULT, True, lambda code: code == "TLK402", str(path))
    assert ("loss.detach()" in done.text) is released


GATHERED = """\
import torch
import torch.nn.functional as F


def losses(net, loader):
    kept, total = [], 0
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        kept.append(loss)
        total += loss
    return kept, total
"""


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("kept, total = losses(net, loader)\n    (sum(kept) + total).backward()", False),
        ("torch.stack(losses(net, loader)[0]).mean().backward()", False),
        ("print(losses(net, loader))", True),
    ],
)
def test_what_a_function_gathers_for_who_differentiates_it_in_another_file(
    tmp_path: Path, use: str, told: bool
) -> None:
    importers.forget()
    caller = f"import torch\nfrom scores import losses\n\ndef main(net, loader):\n    {use}\n"
    path = project(tmp_path, scores=GATHERED, main=caller) / "scores.py"
    assert bool({code for code, _ in found(path)} & {"TLK401", "TLK402"}) is told
