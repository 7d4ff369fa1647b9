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
        ("for each in net.head.parameters(): each.requires_grad = False", "note"),
        ("net.freeze()", "note"),
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
