"""Evaluation without gradients: where the decorator goes, and what is left to a person."""

from __future__ import annotations

import pytest

from tests.fixer import mended

VALIDATE = """\
def validate(model, loader):
    model.eval()
    for x, y in loader:
        print((model(x).argmax(1) == y).sum().item())
"""
WRAPPER = "def timed(f):\n    def g(*a): return f(*a)\n    return g\n"

DECORATED = {
    "nothing": ("", "@torch.no_grad()\n"),
    "one that registers": ("@app.command()\n", "@app.command()\n@torch.no_grad()\n"),
    "one of the file that wraps": (WRAPPER + "@timed\n", WRAPPER + "@torch.no_grad()\n@timed\n"),
    "both": (WRAPPER + "@app.x\n@timed\n@timed\n", WRAPPER + "@app.x\n@torch.no_grad()\n@timed\n@timed\n"),
    "a wrapper above one that registers": (
        WRAPPER + "@timed\n@app.x\n",
        WRAPPER + "@timed\n@app.x\n@torch.no_grad()\n",
    ),
    "a cache": ("import functools\n@functools.cache\n", "import functools\n@torch.no_grad()\n@functools.cache\n"),
    "a script": ("@torch.jit.ignore\n", "@torch.jit.ignore\n@torch.no_grad()\n"),
    "several lines": ("@app.command(\n    1,\n)\n", "@app.command(\n    1,\n)\n@torch.no_grad()\n"),
    "comments": ("@app.command()  # a\n# b\n", "@app.command()  # a\n# b\n@torch.no_grad()\n"),
    "blanks": ("@ app.command\n\n", "@ app.command\n\n@torch.no_grad()\n"),
    "a form feed": ("\f", "@torch.no_grad()\n\f"),
    "a noqa on another line": (
        WRAPPER + "@timed  # noqa: TLK501\n",
        WRAPPER + "@torch.no_grad()\n@timed  # noqa: TLK501\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), DECORATED.values(), ids=DECORATED)
def test_gradients_are_turned_off_by_a_decorator(before: str, after: str) -> None:
    head = "import torch\n"
    (finding,) = mended(head + before + VALIDATE).left
    assert finding.fixable == "unsafe"
    assert mended(head + before + VALIDATE, unsafe=True).text == head + after + VALIDATE
    assert mended(head + after + VALIDATE, unsafe=True).text == head + after + VALIDATE


@pytest.mark.parametrize(
    ("head", "after", "written"),
    [
        ("import torch\n", "import torch\n", "torch.no_grad"),
        ("import torch as t\n", "import torch as t\n", "t.no_grad"),
        ("import torch.nn as nn\n", "import torch\nimport torch.nn as nn\n", "torch.no_grad"),
        ("from torch import nn\n", "import torch\nfrom torch import nn\n", "torch.no_grad"),
        ("from torch import no_grad\n", "from torch import no_grad\n", "no_grad"),
        ("from .x import torch\n", "from torch import no_grad\n\nfrom .x import torch\n", "no_grad"),
    ],
)
def test_no_grad_as_it_is_imported(head: str, after: str, written: str) -> None:
    assert mended(head + VALIDATE, unsafe=True).text == f"{after}@{written}()\n{VALIDATE}"


METHOD = """\
import torch
class Trainer:
{}    def validate(self, loader):
        self.model.eval()
        for x, y in loader:
            self.model(x)
"""


@pytest.mark.parametrize("tab", [False, True], ids=["spaces", "tabs"])
@pytest.mark.parametrize(
    "decorators", ["", "    @property\n", "    @classmethod\n", "    @x\n    @property\n    # a\n"]
)
def test_methods(decorators: str, tab: bool) -> None:
    text, after = METHOD.format(decorators), METHOD.format(decorators + "    @torch.no_grad()\n")
    if tab:
        text, after = text.replace("    ", "\t"), after.replace("    ", "\t")
    assert mended(text, unsafe=True).text == after


LEFT = {
    "async": (
        "import torch\nasync " + VALIDATE,
        "no_grad as a decorator does not reach into an async function",
    ),
    "a module": (
        "import torch\nmodel.eval()\nfor x, y in loader:\n    model(x)\n",
        "the loop is at module level: put it under `with torch.no_grad():`",
    ),
    "one that trains": (
        "import torch\ndef fit(model, loader, criterion):\n    for x, y in loader:\n"
        "        loss = criterion(model(x), y)\n        loss.backward()\n"
        "    model.eval()\n    for x, y in loader:\n        print((model(x) == y).sum().item())\n",
        "`fit` trains as well: put the loop under `with torch.no_grad():`",
    ),
    "a decorator that begins on another line": (
        "import torch\n" + WRAPPER + "@ (\n    timed)\n" + VALIDATE,
        "its result would not be clean, or libcst cannot tell",
    ),
}


@pytest.mark.parametrize(("text", "reason"), LEFT.values(), ids=LEFT)
def test_evaluation_that_is_left(text: str, reason: str) -> None:
    done = mended(text, unsafe=True, codes="TLK501")
    assert done.text == text
    assert [each.unfixed for each in done.left] == [reason]


def test_gradients_off_make_other_fixes_needless() -> None:
    text = (
        "import torch\ndef validate(model, loader, criterion):\n    model.eval()\n    total, kept = 0, []\n"
        "    for x, y in loader:\n        loss = criterion(model(x), y)\n        loss.sqrt()\n        total += loss\n"
        "        kept.append(loss)\n    return total, kept\n"
    )  # fmt: skip
    done = mended(text, unsafe=True)
    assert done.text == text.replace("def ", "@torch.no_grad()\ndef ")
    assert (done.found, [each.code for each, _ in done.fixed], done.left) == (3, ["TLK501"], ())
    assert mended(text).text == text, "a caller may differentiate what is returned"
    shown = text.replace("return total, kept", "print(total, len(kept))")
    released = shown.replace("+= loss", "+= loss.detach()").replace("(loss)", "(loss.detach())")
    assert mended(shown).text == released
