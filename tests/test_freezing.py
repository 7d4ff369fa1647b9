"""Evaluations of networks that somebody may freeze, in the same file or in one that uses it: notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from flake8_torchleak.model.freezing import _FREEZES
from tests.test_project import put

EVALUATE = """
    from torch import nn
    from torch.utils.data import DataLoader

    def evaluate(net: nn.Module, rows):
        net.eval()
        {keeps}
        for x in DataLoader(rows):
            {keep}(net(x))
"""


@pytest.mark.parametrize(
    ("text", "freezes"),
    [
        ("each.requires_grad = False", True),
        ("each.requires_grad=flag", True),
        ("net.requires_grad_(False)", True),
        ("net.requires_grad_(requires_grad=flag)", True),
        ("net.freeze()", True),
        ("each.requires_grad = True", False),
        ("each.requires_grad == False", False),
        ("net.requires_grad_(True)", False),
        ("net.requires_grad_(requires_grad=True)", False),
        ("x.requires_grad_()", False),
        ("torch.ones(1, requires_grad=False)", False),
        ("net.freeze_bn()", False),
    ],
)
def test_what_freezes(text: str, freezes: bool) -> None:
    assert bool(_FREEZES.search(text)) is freezes


@pytest.mark.parametrize(("keeps", "keep", "code"), [("", "print", "TLK501"), ("kept = []", "kept.append", "TLK501")])
@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        ("net.freeze()", "note"),
        ("net.requires_grad_(learns)", "note"),
        ("# net.requires_grad_(learns)", "warning"),
        ("for each in net.parameters(): each.requires_grad = learns", "note"),
        ("for part in net.children():\n    for each in part.parameters(): each.requires_grad = False", "note"),
        (
            "for part in net.children():\n    if part:\n        for each in part.parameters(): each.requires_grad = 0",
            "warning",
        ),
        ("for each in net.parameters():\n    if each.ndim > 1: each.requires_grad = False", "warning"),
        ("for each in net.parameters():\n    if each.requires_grad: each.requires_grad = False", "note"),
        ("for each in net.parameters():\n    if other.requires_grad: each.requires_grad = False", "warning"),
        ("for each in net.parameters():\n    if each.requires_grad: pass\n    else: each.requires_grad = 0", "warning"),
        ("for each in net.head.parameters(): each.requires_grad = False", "warning"),
        ("for each in rest: each.requires_grad = False", "warning"),
        ("other.requires_grad_(learns)", "warning"),
        ("mine = other.requires_grad_(learns)\nother.requires_grad = False\nevaluate(other, [1])", "note"),
        ("net.requires_grad_(True)", "warning"),
        ("net.freeze_bn()", "warning"),
    ],
)
def test_in_a_file_that_uses_it(tmp_path: Path, caller: str, expected: str, keeps: str, keep: str, code: str) -> None:
    text = EVALUATE.format(keeps=keeps, keep=keep)
    put(
        tmp_path,
        run=text,
        main=f"from run import evaluate\nimport nets\nnet = nets.net()\n{caller}\nevaluate(net, [1])\n",
    )
    (tmp_path / ".git").mkdir()
    path = tmp_path / "run.py"
    importers.forget()
    found = lint(path.read_text(encoding="utf-8"), path=str(path))
    shown = [each.severity.value for each in found if each.code == code]
    assert [each if each == "note" else "warning" for each in shown] == [expected]


def test_callers_below_a_folder_that_a_script_adds(tmp_path: Path) -> None:
    """`sys.path.insert(0, "lib")`: `core.run` is `lib/core/run.py`."""
    put(
        tmp_path,
        lib__core__run=EVALUATE.format(keeps="", keep="print"),
        tools__main="import torch\nfrom core.run import evaluate\nwith torch.no_grad():\n    evaluate(1, 2)\n",
    )
    (tmp_path / ".git").mkdir()
    path = tmp_path / "lib" / "core" / "run.py"
    importers.forget()
    assert importers.importers(str(path), (), 9)[0] == [str(tmp_path / "tools" / "main.py")]
    assert lint(path.read_text(encoding="utf-8"), path=str(path)) == []


HELPER = """
    from torch import nn
    from torch.utils.data import DataLoader

    def run(net, x):
        return net(x)

    def evaluate(net: nn.Module, rows):
        net.eval()
        for x in DataLoader(rows):
            print({call})

    def start(net, other, learns):
        {freezing}
        evaluate(net, [1])
"""


@pytest.mark.parametrize(
    ("freezing", "call", "expected"),
    [
        ("pass", "net(x)", "warning"),
        ("net.requires_grad_(learns)", "net(x)", "note"),
        ("net.requires_grad_(learns)", "net.forward(x)", "note"),
        ("net.head.requires_grad_(learns)", "net(x)", "warning"),
        ("other.requires_grad_(learns)", "net(x)", "warning"),
        ("mine = net; mine.requires_grad_(learns); evaluate(mine, [1])", "net(x)", "note"),
        ("mine = net; mine.head.requires_grad_(learns); evaluate(mine, [1])", "net(x)", "warning"),
        ("other.requires_grad_(learns)", "run(net, x)", "note"),  # which may be handed that one
        ("for each in other: each.requires_grad = learns", "run(net, x)", "warning"),
    ],
)
def test_in_its_own_file(tmp_path: Path, freezing: str, call: str, expected: str) -> None:
    put(tmp_path, run=HELPER.format(freezing=freezing, call=call))
    (tmp_path / ".git").mkdir()
    path = tmp_path / "run.py"
    importers.forget()
    found = lint(path.read_text(encoding="utf-8"), path=str(path))
    assert [each.severity.value for each in found if each.code == "TLK501"] == [expected]
