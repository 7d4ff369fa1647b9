"""Following a program: methods that a class only declares, gradients that are off at times, ways out of a helper."""

from __future__ import annotations

import ast
from textwrap import indent
from typing import Any

import pytest

from flake8_torchleak.lifetime.declared import left_open
from flake8_torchleak.lifetime.runner import Runner
from flake8_torchleak.lifetime.world import Place
from flake8_torchleak.lint import lint
from tests.kept import grows, marked, program, reported, training

ENGINE = """
class Engine:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
    def step(self, x, y):
        {stub}
    def run(self, loader):
        kept = []
        for x, y in loader:
            loss, more = self.step(x, y)
            loss.backward()
            self.optimizer.step()
            kept.append(more){mark}
        return kept
class Regression(Engine):
    def step(self, x, y):
        out = self.model(x)
        return nn.functional.mse_loss(out, y), {{"out": {kept}}}
def train(model, loader, criterion, optimizer):
    return Regression(model, optimizer).run(loader)
"""
MARK = "  # TLK402"


def engine(stub: str, kept: str, mark: str = "") -> str:
    return program(ENGINE.format(stub=stub, kept=kept, mark=mark))


def modes(setting: str, kept: str) -> str:
    """A loop whose body stands under a context manager that `setting` makes."""
    return program(
        "def train(model, loader, criterion, optimizer, quiet=False):\n"
        "    kept = []\n"
        f"{indent(setting, '    ')}\n"
        "    for x, y in loader:\n"
        "        with mode:\n"
        "            loss = criterion(model(x), y)\n"
        "            if loss.requires_grad:\n"
        "                loss.backward()\n"
        f"        {kept}\n"
        "    return kept\n"
    )


ONE = """
def one(model, criterion, x, y, kept, learns):
    loss = criterion(model(x), y)
    if learns:
        loss.backward()
        {}
    return 0
def train(model, loader, criterion, optimizer):
    kept = []
    for x, y in loader:
        one(model, criterion, x, y, kept, True)
    return kept
"""
RECORDS = """
def train(model, loader, criterion, optimizer):
    kept, losses = [], []
    for x, y in loader:
        {}
"""

PROGRAMS: dict[str, str] = {
    "left to the class below": engine("raise NotImplementedError", "out", MARK),
    "left to the class below, by a text": engine('"""One step."""', "out", MARK),
    "left to the class below, which detaches": engine("raise NotImplementedError", "out.detach()"),
    "off at times": modes("mode = torch.no_grad() if quiet else contextlib.nullcontext()", f"kept.append(loss){MARK}"),
    "off at times, numbers": modes(
        "mode = torch.no_grad() if quiet else contextlib.nullcontext()", "kept.append(loss.item())"
    ),
    "off at all times": modes(
        "mode = torch.no_grad() if quiet else torch.inference_mode()\nquiet = 1", "kept.append(x)"
    )
    .replace("model(x)", "model(x.clone())")
    .replace("kept.append(x)", "kept.append(loss)"),
    "on at times": modes(
        "mode = torch.enable_grad() if quiet else contextlib.nullcontext()", f"kept.append(loss){MARK}"
    ),
    "a helper that returns behind it": program(ONE.format(f"kept.append(loss){MARK}\n        return loss.item()")),
    "a helper that returns behind it, numbers": program(ONE.format("kept.append(loss.item())\n        return 1")),
    "a record of which the loss is made": program(
        RECORDS.format(
            "row = {}\n        row['out'] = model(x)\n        loss = criterion(row['out'], y)\n"
            f"        loss.backward()\n        kept.append(row){MARK}"
        )
    ),
    "records of which the loss is made later": program(
        RECORDS.format(
            "row = {'loss': criterion(model(x), y)}\n        kept.append(row)\n"
            "    sum(row['loss'] for row in kept).backward()"
        )
    ).replace("kept, losses = [], []", "kept = []"),
    "a cast to another type": training(f"keep(kept, loss.type(torch.float64)){MARK}", "def keep(s, v): s.append(v)"),
    "a cast by keyword": training(f"keep(kept, loss.type(dtype=torch.float64)){MARK}", "def keep(s, v): s.append(v)"),
    "a cast to whole numbers": training("keep(kept, loss.type(torch.int64))", "def keep(s, v): s.append(v)"),
    "another cast to whole numbers": training("keep(kept, loss.to(torch.long))", "def keep(s, v): s.append(v)"),
    "the name of a type": training("keep(kept, loss.type())", "def keep(s, v): s.append(v)"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_declared(name: str) -> None:
    assert reported(PROGRAMS[name]) == marked(PROGRAMS[name])


KEPT_FOR_LATER = {"records of which the loss is made later"}


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - KEPT_FOR_LATER))
def test_what_is_expected_is_what_torch_keeps(name: str) -> None:
    pytest.importorskip("torch")
    assert grows(PROGRAMS[name]) is bool(marked(PROGRAMS[name]))


DECLARED = """
from abc import abstractmethod
class Base:
    def __init__(self): self.n = 0
    def run(self): self.go(); self.one(); free()
    def go(self):
        self.two(); self.three(); self.four(); self.five(); self.six(); self.run(); self.absent()
    def one(self): pass
    @abstractmethod
    def two(self): return 1
    def three(self): raise NotImplementedError()
    def four(self): raise ValueError("no")
    def five(self): raise
    def six(self): return self.n
    @staticmethod
    def alone(): three()
class Low(Base):
    def three(self): return 3
class Other(Base):
    pass
"""


def test_what_a_method_leaves_open() -> None:
    root = ast.parse(DECLARED)
    runner = Runner(Place("", root, None, None), lambda: 100_000)
    runner.all()
    base = runner.run.names.class_info(next(each for each in root.body if isinstance(each, ast.ClassDef)), runner.own)
    assert left_open(base, base.own["run"]) == {"one", "two", "three", "absent"}
    assert left_open(base, base.own["six"]) == set()
    assert left_open(base, base.own["alone"]) == set()
    assert [each.name for each in runner.receivers.of(base, base.own["run"])] == ["Low"]
    assert [each.name for each in runner.receivers.of(base, base.own["six"])] == ["Base"]


LAYER = """
import torch
from torch import nn
class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        {made}
    def forward(self, x{more}):
        {body}
"""
BUFFER = 'self.register_buffer("mean", torch.zeros(size))'
UPDATE = "self.mean[:] = self.mean * 0.9 + x.mean(0) * 0.1"


def layer(body: str, made: str = BUFFER, more: str = "") -> list[str]:
    text = LAYER.format(body=body.replace("\n", "\n        "), made=made.replace("\n", "\n        "), more=more)
    return [each.code for each in lint(text) if each.code.startswith("TLK6")]


@pytest.mark.parametrize(
    ("body", "made", "codes"),
    [
        (f"if self.training:\n    {UPDATE}\n    return x - x.mean(0)\nreturn x - self.mean", BUFFER, ["TLK601"]),
        (f"if self.training:\n    {UPDATE}\n    return x - x.mean(0), 1\nreturn x - self.mean, 0", BUFFER, ["TLK601"]),
        (f"if self.training:\n    {UPDATE}\n    return 1, x - self.mean\nreturn x", BUFFER, []),  # of data, perhaps
        (f"if self.training:\n    {UPDATE}\nreturn x - self.mean", BUFFER, []),
        (f"out = x - self.mean\nif self.training:\n    {UPDATE}\nreturn out", BUFFER, []),
        (f"{UPDATE}\nreturn x - x.mean(0)", BUFFER, []),  # nothing says that it is for training
        (f"if not self.training:\n    {UPDATE}\nreturn x - x.mean(0)", BUFFER, []),
        (f"if self.training:\n    {UPDATE}\nreturn self.net(x)", f"{BUFFER}\nself.net = nn.Linear(size, 1)", []),
        (f"if self.training:\n    {UPDATE}\nreturn x - x.mean(0)", "self.mean = []", []),
    ],
)
def test_layers_like_batch_norm(body: str, made: str, codes: list[str]) -> None:
    assert layer(body, made) == codes


NETWORK = """
class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(3, 3), Norm(3)
    def forward(self, x):
        return self.norm({})
"""


@pytest.mark.parametrize(
    ("body", "of_layers", "kept"),
    [
        (f"{UPDATE}\n    return x - x.mean(0)", True, True),
        (f"{UPDATE.replace('x.mean(0)', 'x.mean(0).detach()')}\n    return x - x.mean(0)", True, False),
        (f"{UPDATE}\n    return x - self.mean", False, False),  # before all layers
    ],
)
def test_what_a_layer_s_buffer_keeps_in_torch(body: str, of_layers: bool, kept: bool) -> None:
    torch = pytest.importorskip("torch")
    body = f"if self.training:\n    {body}\nreturn x - self.mean"
    text = LAYER.format(body=body.replace("\n", "\n        "), made=BUFFER, more="")
    names: dict[str, Any] = {}
    exec(text + NETWORK.format("self.first(x)" if of_layers else "x"), names)
    network = names["Network"]()
    for _ in range(3):
        found = network(torch.rand(4, 3))
        if of_layers:
            found.mean().backward()
    assert (network.norm.mean.grad_fn is not None) is kept
    assert bool(layer(body)) is kept


BELOW = """
from abc import abstractmethod


class Trainer:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    {decorator}
    def step(self, model, batch):
        {stub}

    def log(self, value):
        pass

    def fit(self, model, loader):
        total = 0
        for batch in loader:
            loss = self.step(model, batch)["loss"]
            loss.backward()
            self.optimizer.step()
            self.log(loss)
            total += {value}
        return total
"""


@pytest.mark.parametrize("value", ["loss", "loss.item()"])
@pytest.mark.parametrize(
    ("decorator", "stub"),
    [
        ("", "raise NotImplementedError"),
        ("", "raise NotImplementedError('a subclass does')"),
        ("", "'''What one batch gives.'''\n        raise NotImplementedError"),
        ("", "pass"),
        ("", "..."),
        ("@abstractmethod", "return None"),
    ],
)
def test_what_a_class_below_does_in_another_file_is_not_known(decorator: str, stub: str, value: str) -> None:
    """What it gives may be anything; what a hook that does nothing is given is not kept."""
    found = lint(BELOW.format(decorator=decorator, stub=stub, value=value))
    assert [each.code for each in found] == ["TLK401"] * (value == "loss")
