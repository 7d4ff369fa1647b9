"""What a message says to do instead: code only where it is whole and can run."""

from __future__ import annotations

import ast
import re
import textwrap
from types import SimpleNamespace
from typing import Any

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model.values import Kind, Value
from flake8_torchleak.remedies import described
from flake8_torchleak.shells.pages import page
from flake8_torchleak.wording import is_cut
from tests.model import IMPORTS, dataset, step


def test_what_was_unpickled_is_described_by_no_more_than_that() -> None:
    assert described(Value(Kind.PICKLE, element=Value(Kind.DICT))) == "Python objects"


METER = (
    "class Meter:\n    def __init__(self):\n        self.all = []\n    def add(self, v):\n        self.all.append(v)\n"
)

REMEDIES = {
    "a value of which no more is known": ("kept.append(loss)", "store tensors with `.detach()`"),
    "a call": ("kept.append(F.mse_loss(model(x), y))", "store `F.mse_loss(model(x), y).detach()`"),
    "an operation": ("total += loss * 2", "write `total += (loss * 2).detach()`"),
    "what a message has no room for": (
        "kept.append(F.binary_cross_entropy_with_logits(model(x), y, weight=None))",
        "store the value with `.detach()`",
    ),
    "a sum of which much is left out": (
        "total += F.binary_cross_entropy_with_logits(model(x), y) + 1",
        "add the value with `.detach()`",
    ),
    "one of two without history": ("kept.append(F.l1_loss(x, y) if n else loss)", "detach `loss`"),
    "two that are long": ("total += F.smooth_l1_loss(model(x), y) if n else loss", "add the value with `.detach()`"),
    "two short ones": ("total += loss if n else -loss", "write `total += (loss if n else -loss).detach()`"),
    "a number in one branch": ("total += loss if n else 0.0", "detach `loss`"),
    "a released one in one branch": ("meter.add(loss.item() if n else loss)", "detach `loss`"),
    "a list": ("meter.add([loss, *y])", "pass tensors with `.detach()`"),
    "a dict": ("meter.add({'loss': loss})", "pass tensors with `.detach()`"),
    "a variable that is a list": ("several = [loss, loss]\nmeter.add(several)", "pass tensors with `.detach()`"),
}


@pytest.mark.parametrize(("body", "remedy"), REMEDIES.values(), ids=REMEDIES)
def test_remedies(body: str, remedy: str) -> None:
    text = IMPORTS + step(body, before=METER, after="print(total, kept, meter)").replace(
        "total, kept = 0, []", "total, kept, meter = 0, [], Meter()"
    )
    found = {each.message.rpartition("; ")[2] for each in lint(text) if each.code in ("TLK401", "TLK402", "TLK403")}
    assert found == {remedy}


def test_a_sum_without_end_is_cut() -> None:
    term: ast.expr = ast.Name("loss")
    for _ in range(5000):
        term = ast.BinOp(term, ast.Add(), ast.Name("loss"))
    assert is_cut(term)
    assert not is_cut(ast.Name("loss"))


FILLED = {
    "records": ("[{'name': str(n), 'box': [n, n]} for n in range(len(root))]", "self.data[i]"),
    "lists": ("[[n, str(n)] for n in range(len(root))]", "self.data[i]"),
    "a dict of records": ("{str(n): {'box': n} for n in range(len(root))}", "self.data[str(i)]"),
    "texts": ("[f'image {n}.jpg' for n in range(len(root))]", "self.data[i]"),
    "numbers": ("[n / 2 for n in range(len(root))]", "self.data[i]"),
    "arrays": ("[np.arange(ord(n)) for n in glob.glob(root)]", "self.data[i].tolist()"),
    "rows of numbers": ("[(n, n + 1) for n in range(len(root))]", "self.data[i]"),
}


@pytest.mark.parametrize(("data", "read"), FILLED.values(), ids=FILLED)
def test_the_remedy_of_a_list_runs_gives_the_same_samples_and_silences_the_finding(data: str, read: str) -> None:
    pytest.importorskip("torch")
    text = IMPORTS + dataset(f"self.data = {data}", f"return {read}")
    (finding,) = [each for each in lint(text) if each.code == "TLK101"]
    quoted = re.findall(r"`(self\..*?)`", finding.remedy)
    stored = "\n".join(each for each in quoted if " = " in each)
    after = read
    if " = " not in quoted[-1]:
        after = read.replace("self.data[i]", quoted[-1])
    elif ".item()" in finding.remedy:
        after = f"{read}.item()"
    elif stored.startswith("self.data = torch.tensor"):
        after = f"tuple({read}.tolist())"
    to_paste = textwrap.dedent(page("TLK101").partition("all texts or all numbers:\n")[2].partition("Unsafe, for")[0])
    remedied = IMPORTS + to_paste + dataset(f"self.data = {data}\n{stored}", f"return {after}")
    assert "TLK101" not in [each.code for each in lint(remedied)]
    before, now = rows(text), rows(remedied)
    assert [now[i] for i in range(12)] == [before[i] for i in range(12)]


def rows(text: str) -> Any:
    """The Dataset of a text, of twelve samples."""
    namespace: dict[str, Any] = {"glob": SimpleNamespace(glob=list)}
    lines = text.replace(IMPORTS, "import pickle\nimport numpy as np, torch\nfrom torch.utils.data import Dataset\n")
    exec(compile(lines, "rows.py", "exec"), namespace)
    return namespace["Rows"]("abcdefghijkl", None)
