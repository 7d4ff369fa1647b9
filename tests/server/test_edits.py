"""Texts that are edited again and again: what is found after each edit is what somebody finds who opens them then."""

from __future__ import annotations

import ast
import gc
import random
from pathlib import Path

import pytest

from flake8_torchleak.finding import Finding
from flake8_torchleak.server.checking import Checker
from flake8_torchleak.server.documents import View
from flake8_torchleak.stopping import Stopped, stopped_if
from tests.server.test_diagnostics import METER, TRAINING

FIXTURES = Path(__file__).parents[2] / "fixtures"
STATEMENTS = (
    *("x = 1", "x = f(", "# why", "", "pass", "total += loss", "meter.update(loss)", "self.values.clear()", '"""', "@"),
    *("values.append(loss.detach())", "return value.item()", "if x:", "with torch.no_grad():", "import torch", ")"),
    *("def update(self, value):", "class Meter:", "from meter import Meter", "from helper import push", "loss ="),
    *("push(kept, loss)", "kept.append(value)", "del meter", "value = value.detach()", "loss.backward()", "x = (1,"),
)
HELPER = """\
def push(kept, value):
    kept.append(value)
"""
PUSHING = TRAINING.replace("import torch\n", "import torch\nfrom helper import push\n").replace(
    "    meter = Meter()\n", "    meter, kept = Meter(), []\n"
)
PUSHING = PUSHING.replace("meter.update(loss)\n", "meter.update(loss)\n        push(kept, loss)\n")
PROJECT = {"meter.py": METER, "helper.py": HELPER, "training.py": PUSHING}
NETWORK = """\
import torch
from torch import nn
class Net(nn.Module):
    version = VERSION
    def __init__(self):
        super().__init__()
        self.layer, self.memory = nn.Linear(2, 2), nn.LSTM(2, 2)
    def forward(self, x):
        return self.memory(self.layer(x))[0]
def train(loader, epochs):
    net, kept = Net(), []
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for epoch in range(epochs):
        version = VERSION
        for x in loader:
            loss = sum([each.mean() for each in net(x)])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            kept.append(loss)
    return kept
"""
EDITS = 12
"""Each a few letters or a line, in one of the files."""


def edited(text: str, chosen: random.Random) -> str:
    """A text with one line more, or less, or with some letters more or less in one."""
    lines = text.split("\n")
    at = chosen.randrange(len(lines))
    kind = chosen.random()
    if kind < 0.45:
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines.insert(at, indent + chosen.choice(STATEMENTS))
    elif kind < 0.65:
        del lines[at]
    else:
        col = chosen.randrange(len(lines[at]) + 1)
        gone = chosen.choice((0, 0, 1, 4))
        lines[at] = lines[at][:col] + chosen.choice(("", "x", "(", " ", ".", "'")) + lines[at][col + gone :]
    return "\n".join(lines)


def look(checker: Checker, path: Path, text: str) -> list[Finding] | None:
    return checker.check(View(path.as_uri(), text, "utf-16")).findings


def followed(seed: int, folder: Path, count: int = EDITS) -> int:
    """Edit a project's open files, one after the other; how many findings were compared."""
    chosen = random.Random(seed)
    start = dict(PROJECT)
    if chosen.random() < 0.4:
        fixture = chosen.choice(sorted(FIXTURES.glob("*/bad_*.py")))
        start["training.py"] = fixture.read_text(encoding="utf-8")
    for name, text in start.items():
        (folder / name).write_text(text, encoding="utf-8")
    texts = {str(folder / name): text for name, text in start.items()}
    checker, compared = Checker(print), 0
    for _ in range(count):
        path = chosen.choice(list(texts))
        texts[path] = edited(start[Path(path).name] if chosen.random() < 0.1 else texts[path], chosen)
        checker.show(texts)
        if chosen.random() < 0.3:  # somebody types on: what is checked now is stopped somewhere
            left = iter(range(chosen.randrange(40)))
            try:
                with stopped_if(lambda left=left: next(left, None) is None):  # type: ignore[misc]
                    look(checker, Path(path), texts[path])
            except Stopped:
                continue
        for each, text in texts.items():
            fresh = Checker(print)
            fresh.show(texts)
            expected = look(fresh, Path(each), text)
            assert look(checker, Path(each), text) == expected, (seed, each, text)
            compared += len(expected or [])
    return compared


def test_versions_that_are_gone_leave_nothing(tmp_path: Path) -> None:
    path, checker = tmp_path / "training.py", Checker(print)

    def nodes(versions: range) -> int:
        for version in versions:
            text = NETWORK.replace("VERSION", str(version))
            checker.show({str(path): text})
            assert look(checker, path, text)
        gc.collect()
        return sum(isinstance(each, ast.AST) for each in gc.get_objects())

    before = nodes(range(5))
    assert nodes(range(5, 30)) < before + 50


def test_after_each_edit(tmp_path: Path) -> None:
    assert sum(followed(seed, tmp_path) for seed in range(6)) > 20


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 200))
def test_after_each_of_many_edits(seed: int, tmp_path: Path) -> None:
    followed(seed, tmp_path, 3 * EDITS)
