"""Facts that are spelt in ways which the spelling laws do not write: each a short program."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model.files import File
from tests.training.program import on_disk

TRAINING = """\
import contextlib, importlib, operator, torch
%s

class Averages:
    def __init__(self):
        self.rows = []

def train(rows, net: torch.nn.Linear):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    kept = []
    for x, y in torch.utils.data.DataLoader(rows):
        loss = torch.nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        %s
    return kept
"""
EVALUATION = """\
import contextlib, importlib, torch
%s

def measure(rows, net: torch.nn.Linear):
    net.eval()
    total = 0.0
    %s
    for x, y in torch.utils.data.DataLoader(rows):
        total += torch.nn.functional.mse_loss(net(x), y)
    return total
"""


def codes(text: str) -> list[str]:
    return [each.code for each in lint(text)]


SILENT = {
    "a switch at the top of the module": EVALUATION % ("torch.set_grad_enabled(False)", ""),
    "the last of two switches": EVALUATION % ("torch.set_grad_enabled(True)\ntorch.set_grad_enabled(mode=False)", ""),
    "a function that throws the switch": EVALUATION
    % ("def quiet():\n    torch.set_grad_enabled(False)", "quiet(); torch.set_grad_enabled(False)"),
    "both branches throw it": EVALUATION
    % ("", "if rows:\n        torch.set_grad_enabled(False)\n    else:\n        torch.set_grad_enabled(False)"),
    "a decorated function of the library": TRAINING % ("", "kept.append(torch.no_grad(lambda: net(x))())"),
    "one that is decorated by a call": TRAINING % ("", "kept.append(torch.inference_mode()(lambda: net(x))())"),
    "a switch that asks first": TRAINING
    % (
        "",
        "torch.set_grad_enabled(False); was = torch.is_grad_enabled(); kept.append(net(x))\n"
        "        torch.set_grad_enabled(True)",
    ),
    "entered on a stack, which is closed": TRAINING
    % (
        "",
        "stack = contextlib.ExitStack()\n        stack.enter_context(torch.no_grad())\n"
        "        kept.append(net(x))\n        stack.close()",
    ),
    "a class made anew by its type": TRAINING
    % ("", "box = Averages()\n        box.rows.append(loss)\n        box = type(box)()"),
    "what a context manager keeps until it is left": TRAINING
    % (
        "class Stack:\n    def __init__(self):\n        self.rows = []\n    def __enter__(self):\n"
        "        self.rows.append(self.value)\n    def __exit__(self, *error):\n        self.rows.pop()\n"
        "stack = Stack()",
        "stack.value = loss\n        with stack:\n            print(x)",
    ),
    "an import by name": TRAINING
    % ("", "with importlib.import_module('torch').no_grad():\n            kept.append(net(x))"),
    "a method by its name, with what it is given": TRAINING
    % ("", "kept.append(loss)\n        operator.methodcaller('pop', 0)(kept)"),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    assert codes(SILENT[name]) == []


FOUND = {
    "a switch at the top, and on again": (
        EVALUATION % ("torch.set_grad_enabled(False)\ntorch.set_grad_enabled(True)", ""), ["TLK501", "TLK401"]),
    "what else is called at the top": (
        EVALUATION % ("torch.manual_seed(False)\nprint(True)", ""), ["TLK501", "TLK401"]),
    "what takes too long to see": (
        EVALUATION % (f"run = [{'1, ' * 3000}]\nrun(False)", ""), ["TLK501", "TLK401"]),
    "one of two branches throws it": (
        EVALUATION % ("", "if rows:\n        torch.set_grad_enabled(False)"), ["TLK401"]),
    "a mode that nobody knows": (EVALUATION % ("", "torch.set_grad_enabled(rows)"), ["TLK401"]),
    "inference mode that is off": (
        TRAINING % ("", "with torch.inference_mode(False):\n            kept.append(loss)"), ["TLK402"]),
    "a stack that holds something else": (
        TRAINING
        % ("", "stack = contextlib.ExitStack(); stack.enter_context(x)\n        stack.close(); kept.append(loss)"),
        ["TLK402"]),
    "entered by hand, something else": (
        EVALUATION % ("", "lock = rows.lock()\n    lock.__enter__()"), ["TLK501", "TLK401"]),
    "a part of a network that is frozen": (
        TRAINING
        % (
            "",
            "for layer in net.modules():\n            if isinstance(layer, torch.nn.BatchNorm2d):\n"
            "                layer.requires_grad_(False)\n        kept.append(net(x).mean())",
        ),
        ["TLK402"]),
    "a method that has no name": (
        TRAINING % ("", "kept.append(loss)\n        operator.methodcaller(rows)(kept)"), ["TLK402"]),
    "a method of nothing": (
        TRAINING % ("", "kept.append(loss)\n        operator.methodcaller('clear')()"), ["TLK402"]),
    "an import of who knows what": (
        TRAINING % ("", "with importlib.import_module(rows).lock():\n            kept.append(loss)"), ["TLK402"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    text, expected = FOUND[name]
    assert sorted(codes(text)) == sorted(expected)


LIB = """\
import torch, numpy as np
import torch.utils.data
off = torch.no_grad
quiet = off
one = other
other = one
made = torch.zeros(1)
try:
    from torch import inference_mode as fast
except ImportError:
    import sys
    fast = off
if made:
    on = torch.enable_grad
"""


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("torch", "torch"),
        ("np", "numpy"),
        ("off", "torch.no_grad"),
        ("quiet", "torch.no_grad"),
        ("one", ""),
        ("made", ""),
        ("fast", "torch.inference_mode"),
        ("on", "torch.enable_grad"),
        ("nothing", ""),
    ],
)
def test_what_a_file_hands_on(name: str, known: str) -> None:
    assert File("lib.py", LIB).handed_on(name) == known


@pytest.mark.parametrize(
    ("start", "used"),
    [
        ("from lib import off", "off()"),
        ("import lib", "lib.off()"),
        ("import lib", "lib.torch.no_grad()"),
        ("from lib import *", "fast()"),
        ("from .lib import *", "quiet()"),
        ("from other import off", "off()"),
    ],
)
def test_what_another_module_hands_on(start: str, used: str) -> None:
    body = f"with {used}:\n        for x, y in torch.utils.data.DataLoader(rows):\n            total += net(x).mean()"
    text = EVALUATION.partition("    for x, y")[0] % (start, body) + "    return total\n"
    with on_disk({"main.py": text, "lib.py": LIB, "other.py": "from lib import off\n"}) as folder:
        assert [each.code for each in lint(text, path=str(folder / "main.py"))] == []


RENAMED = """\
{}
def collect(rows):
    kept = []
    for x, y in batches(rows, num_workers=2):
        kept.append(y)
    return kept
"""


@pytest.mark.parametrize(
    ("start", "found"),
    [
        ("from torch.utils.data import DataLoader as batches", ["TLK404"]),
        ("import torch\nbatches = torch.utils.data.DataLoader", ["TLK404"]),
        ("from torch.utils.data import Dataset, DataLoader\nfrom other import batches", []),
        ("import torch\nprint(torch.utils.data.\\\n    DataLoader\n)", []),
    ],
)
def test_a_loader_under_another_name(start: str, found: list[str]) -> None:
    assert codes(RENAMED.format(start)) == found


WORKERS = """\
import cv2, torch
class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 9
    def __getitem__(self, index):
        return cv2.resize(cv2.imread(str(index)), (800, 800))
def quiet():
    cv2.setNumThreads({})
def start(worker):
    quiet()
def load():
    return torch.utils.data.DataLoader(Images(), num_workers=4, worker_init_fn=start)
"""


@pytest.mark.parametrize(("given", "found"), [("0", []), ("nthreads=0", []), ("", ["TLK301"])])
def test_threads_that_a_helper_switches_off(given: str, found: list[str]) -> None:
    assert codes(WORKERS.format(given)) == found
