"""TLK501: functions that train under a condition, and run the same network with gradients on where it does not hold."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest

from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.gate import Subject, by_statements
from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from flake8_torchleak.model.outline import Outline

HEAD = """
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
"""
RUN = """
def run(net, loader, {parameters}):
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        {train}
        total += loss.item()
    return total


def main(net, train_set, val_set, opt, flag):
    for epoch in range(9):
        net.train()
        run(net, DataLoader(train_set), {trains})
        net.eval()
        {evaluates}
"""


def found(text: str, path: Path | None = None) -> list[Finding]:
    place = str(path) if path is not None else None
    text = HEAD + textwrap.dedent(text)
    return lint(text, path=place, wanted=lambda code: code == "TLK501")


def program(parameters: str, train: str, trains: str, evaluates: str) -> str:
    body = train.replace("\n", "\n        ")
    given = evaluates.format(run="run(net, DataLoader(val_set), ")
    return RUN.format(parameters=parameters, train=body, trains=trains, evaluates=given)


def said(text: str) -> str:
    """What is to be done: what `set_grad_enabled` is given; "" if nothing is said."""
    messages = [each.message for each in found(text)]
    assert len(messages) < 2
    if not messages:
        return ""
    assert messages[0].startswith("memory is wasted where `run` does not train: `net(...)` builds")
    return messages[0].partition("use `torch.set_grad_enabled(")[2][:-2]


STEP = "loss.backward()\n    opt.step()"
TOLD = {
    "an optimizer, or None": ("opt=None", f"if opt is not None:\n    {STEP}", "opt", "{run})", "opt is not None"),
    "an optimizer": ("opt=None", f"if opt:\n    {STEP}", "opt", "{run})", "bool(opt)"),
    "None by name": ("*, opt", f"if opt:\n    {STEP}", "opt=opt", "{run}opt=None)", "bool(opt)"),
    "a mode": ("opt, mode='train'", f"if mode == 'train':\n    {STEP}", "opt", "{run}opt, 'val')", "mode == 'train'"),
    "another mode": (
        "opt, mode",
        f"if mode != 'val':\n    {STEP}",
        "opt, 'train'",
        "{run}opt, mode='val')",
        "mode != 'val'",
    ),
    "several modes": (
        "opt, mode",
        f"if mode in ('train', 'tune'):\n    {STEP}",
        "opt, 'train'",
        "{run}opt, 'val')",
        "mode in ('train', 'tune')",
    ),
    "none of several modes": (
        "opt, mode",
        f"if mode not in ['val', 'test']:\n    {STEP}",
        "opt, 'train'",
        "{run}opt, 'val')",
        "mode not in ['val', 'test']",
    ),
    "a flag": ("opt, train", f"if train:\n    {STEP}", "opt, True", "{run}opt, False)", "train"),
    "the opposite of a flag": ("opt, val", f"if not val:\n    {STEP}", "opt, False", "{run}opt, True)", "not val"),
    "the other branch": (
        "opt, val",
        f"if val:\n    print(x)\nelse:\n    {STEP}",
        "opt, False",
        "{run}opt, True)",
        "not val",
    ),
    "the opposite of a comparison": (
        "opt, mode",
        f"if not mode == 'val':\n    {STEP}",
        "opt, 'train'",
        "{run}opt, 'val')",
        "mode != 'val'",
    ),
    "left before": (
        "opt, train",
        "if not train:\n    print(loss.item())\n    continue\nloss.backward()\nopt.step()",
        "opt, True",
        "{run}opt, False)",
        "train",
    ),
    "left before otherwise": (
        "opt, train",
        "if train:\n    print(loss.item())\nelse:\n    continue\nloss.backward()\nopt.step()",
        "opt, True",
        "{run}opt, False)",
        "train",
    ),
    "a part of a condition": (
        "opt, train",
        f"if loss > 0 and (x.any() and train):\n    {STEP}",
        "opt, True",
        "{run}opt, False)",
        "train",
    ),
    "one of two": ("opt, a, b", f"if a or b:\n    {STEP}", "opt, 1, 0", "{run}opt, False, False)", "bool(a or b)"),
    "none of two": ("opt, a, b", f"if not (a or b):\n    {STEP}", "opt, 0, 0", "{run}opt, False, True)", "not b"),
    "an expression": ("opt, train", "loss.backward() if train else None", "opt, True", "{run}opt, False)", "train"),
    "a variable of it": (
        "opt=None",
        f"train = opt is not None\nif train:\n    {STEP}",
        "opt",
        "{run})",
        "bool(train)",
    ),
    "the network's own": ("opt", f"if net.training:\n    {STEP}", "opt", "{run}opt)", "net.training"),
    "a value of the caller's loop": (
        "opt, mode",
        f"if mode == 'train':\n    {STEP}",
        "opt, 'train'",
        "for mode in ('train', 'val'):\n            {run}opt, mode)",
        "mode == 'train'",
    ),
}


@pytest.mark.parametrize(("parameters", "train", "trains", "evaluates", "test"), TOLD.values(), ids=TOLD)
def test_what_trains_under_a_condition_is_told(
    parameters: str, train: str, trains: str, evaluates: str, test: str
) -> None:
    assert said(program(parameters, train, trains, evaluates)) == test


MODE = ("opt, mode", f"if mode == 'train':\n    {STEP}", "opt, 'train'")
QUIET = {
    "all train": (*MODE, "{run}opt, 'train')"),
    "what mode it is, is not known": (*MODE, "{run}opt, flag)"),
    "gradients are off there": (*MODE, "with torch.no_grad():\n            {run}opt, 'val')"),
    "what it gives is differentiated": (*MODE, "loss = {run}opt, 'val')\n        loss.backward()"),
    "arguments nobody can see": (
        "opt=None, mode='val'", f"if mode == 'train':\n    {STEP}", "opt, 'train'", "{run}*flag)",
    ),
    "keywords nobody can see": (
        "opt=None, mode='val'", f"if mode == 'train':\n    {STEP}", "opt, 'train'", "{run}**flag)",
    ),
    "trained anyway": (
        "opt, mode", "loss.backward()\nif mode == 'train':\n    opt.step()", "opt, 'train'", "{run}opt, 'val')",
    ),
    "trained as well": (
        "opt, mode", f"if mode == 'train':\n    {STEP}\nloss.backward()", "opt, 'train'", "{run}opt, 'val')",
    ),
    "by data": ("opt, mode", f"if loss > 1:\n    {STEP}", "opt, 'train'", "{run}opt, 'val')"),
    "by a closure": (
        "opt, mode",
        "def closure():\n    loss.backward()\nif mode == 'train':\n    loss.backward()\nopt.step(closure)",
        "opt, 'train'",
        "{run}opt, 'val')",
    ),
    "by what is not known": ("opt, mode", f"if mode in opt.modes:\n    {STEP}", "opt, 'train'", "{run}opt, 'val')"),
    "an option of that name": ("opt, flag", f"if flag.training:\n    {STEP}", "opt, flag", "{run}opt, flag)"),
    "in an order": ("opt, level", f"if level > 1:\n    {STEP}", "opt, 2", "{run}opt, 0)"),
    "of three": ("opt, level", f"if 0 == level == 2:\n    {STEP}", "opt, 2", "{run}opt, 0)"),
    "by another name for it": (
        "opt, mode", f"mode = flagged(mode)\nif mode == 'train':\n    {STEP}", "opt, 'train'", "{run}opt, 'val')",
    ),
    "gradients are switched": (
        "opt, mode",
        "with torch.set_grad_enabled(mode == 'train'):\n    loss = F.cross_entropy(net(x), y)\n"
        f"if mode == 'train':\n    {STEP}",
        "opt, 'train'",
        "{run}opt, 'val')",
    ),
    "a switch in one of two expressions": (
        "opt, mode",
        "torch.set_grad_enabled(True) if mode == 'train' else torch.set_grad_enabled(False)\n"
        f"loss = F.cross_entropy(net(x), y)\nif mode == 'train':\n    {STEP}",
        "opt, 'train'",
        "{run}opt, 'val')",
    ),
    "a switch behind a condition": (
        "opt, mode",
        "mode == 'train' or torch.set_grad_enabled(False)\nloss = F.cross_entropy(net(x), y)\n"
        f"if mode == 'train':\n    {STEP}",
        "opt, 'train'",
        "{run}opt, 'val')",
    ),
    "inputs need gradients": (
        "opt, mode", f"x.requires_grad_()\nif mode == 'train':\n    {STEP}", "opt, 'train'", "{run}opt, 'val')",
    ),
}  # fmt: skip


@pytest.mark.parametrize("parts", QUIET.values(), ids=QUIET)
def test_what_needs_gradients_or_may_is_silent(parts: tuple[str, str, str, str]) -> None:
    text = program(*parts)
    if "set_grad_enabled" in text:  # before the network is run
        text = text.replace("        loss = F.cross_entropy(net(x), y)\n", "", 1)
    assert said(text) == ""


PHASES = """
def fit(net, loaders, opt):
    {before}
    for phase in {phases}:
        for x, y in loaders[phase]:
            loss = F.cross_entropy(net(x), y)
            if phase == "train":
                loss.backward()
                opt.step()
            print(loss.item())
"""


@pytest.mark.parametrize(
    ("phases", "before", "count"),
    [
        ('["train", "val"]', "pass", 1),
        ('("train",)', "pass", 0),
        ("both", 'both = ["train", "val"]', 1),
        ("loaders", "pass", 0),
        ("both", "both = loaders.keys()", 0),
        ('["train", opt.phase]', "pass", 0),
    ],
)
def test_phases_of_one_loop(phases: str, before: str, count: int) -> None:
    assert len(found(PHASES.format(phases=phases, before=before))) == count


MODES = """
def fit(net, loaders, opt, names):
    for name, loader in zip(names, loaders):
        {switch}
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            if {test}:
                loss.backward()
                opt.step()
            print(loss.item())
"""
BOTH = "if {test}:\n            {then}\n        else:\n            {other}"
TRAIN = 'name == "train"'
SWITCHES = {
    "one branch each": (BOTH.format(test=TRAIN, then="net.train()", other="net.eval()"), TRAIN, 1),
    "an expression": (f"net.train() if {TRAIN} else net.eval()", TRAIN, 1),
    "what train is given": (f"net.train({TRAIN})", TRAIN, 1),
    "what train is given by name": (f"net.train(mode={TRAIN})", TRAIN, 1),
    "a part of the condition": (f"net.train({TRAIN})", f"{TRAIN} and opt", 1),
    "the other way round": (BOTH.format(test='name != "train"', then="net.eval()", other="net.train()"), TRAIN, 1),
    "negated": (f"net.train({TRAIN})", f"not (name != {TRAIN.split()[-1]})", 1),
    "as long as it evaluates": (BOTH.format(test=TRAIN, then="net.eval()", other="net.train()"), TRAIN, 0),
    "in both branches": (BOTH.format(test=TRAIN, then="net.eval()", other="net.eval()"), TRAIN, 0),
    "another condition": (f"net.train({TRAIN})", "opt", 0),
    "another variable by then": (f"net.train({TRAIN})\n        name = loader.name", TRAIN, 0),
    "a constant": ("net.train(True)", TRAIN, 0),
    "no training mode": (f"if {TRAIN}:\n            pass\n        else:\n            net.eval()", TRAIN, 0),
    "another network": (BOTH.format(test=TRAIN, then="opt.net.train()", other="net.eval()"), TRAIN, 0),
    "a call, which may give another thing": ("net.train(names.train())", "names.train()", 0),
    "an attribute": ("net.train(loader.trains)", "loader.trains", 1),
    "an attribute that is set": ("net.train(loader.trains)\n        loader.trains = y", "loader.trains", 0),
    "a helper of that name": (f"train({TRAIN})", TRAIN, 0),
}


@pytest.mark.parametrize(("switch", "test", "count"), SWITCHES.values(), ids=SWITCHES)
def test_who_decides_over_the_mode_decides_over_gradients(switch: str, test: str, count: int) -> None:
    told = found(MODES.format(switch=switch, test=test))
    assert len(told) == count
    if told:
        assert re.search(r"torch.set_grad_enabled\((name == 'train'|not .*|bool\(loader.trains\))\)", told[0].message)
        assert re.fullmatch("evaluation mode where not `(name == 'train'|loader.trains)`", told[0].notes[-1].text)


@pytest.mark.parametrize("rest", ["\ndef other(net):\n    net.train()\n", "\nnet.train()\n"])
def test_training_mode_in_other_functions_is_no_matter(rest: str) -> None:
    """It was an internal error where the branch that sets evaluation mode has no other."""
    alone = f"if {TRAIN}:\n            pass\n        else:\n            net.eval()"
    both = BOTH.format(test=TRAIN, then="net.train()", other="net.eval()")
    assert [len(found(MODES.format(switch=each, test=TRAIN) + rest)) for each in (alone, both)] == [0, 1]


@pytest.mark.parametrize(("off", "count"), [("with torch.no_grad():", 0), ("if nets:", 1)])
def test_who_calls_it_turns_gradients_off(off: str, count: int) -> None:
    text = MODES.format(switch=f"net.train({TRAIN})", test=TRAIN)
    caller = f"\ndef main(nets, loaders, opt, names):\n    {off}\n        fit(nets, loaders, opt, names)\n"
    assert len(found(text + caller)) == count


def test_a_network_that_runs_only_where_it_trains() -> None:
    text = PHASES.format(phases='["train", "val"]', before="pass")
    text = text.replace(
        'if phase == "train":\n                loss',
        'if phase == "train":\n                out = net(x)\n                print(len(out))\n                loss',
    )
    assert not found(text.replace("F.cross_entropy(net(x), y)", "y.sum()"))


STEPS = """
class Job:
    def step(self, x, y, train):
        loss = F.cross_entropy(self.net(x), y)
        if train:
            self.update(loss)
        return loss.item()

    def update(self, loss):
        loss.backward()
        self.opt.step()

    def run(self, a, b):
        for x, y in a:
            self.step(x, y, True)
        for x, y in b:
            self.step(x, y, False)


class Net(torch.nn.Module):
    def forward(self, x, train):
        loss = self.net(x).sum()
        if train:
            loss.backward()
        return loss


def use(x):
    return Net().forward(x, False)
"""


def test_a_step_by_itself_is_a_note() -> None:
    (told,) = found(STEPS)
    assert told.severity is Severity.NOTE
    assert told.message.startswith("memory is wasted where `step` does not train: `self.net(...)` builds")


def test_evidence_and_no_fix() -> None:
    text = program("opt, mode='train'", f"if mode == 'train':\n    {STEP}", "opt", "{run}opt, 'val')")
    (told,) = lint(HEAD + text, fixes=True, wanted=lambda code: code == "TLK501")
    assert told.severity is Severity.WARNING
    assert not told.fixes
    assert [each.text for each in told.notes] == [
        "evaluation loop",
        "differentiated only where `mode == 'train'`",
        "called here",
    ]
    assert told.unfixed == (
        "`run` trains as well: put what it runs under `with torch.set_grad_enabled(mode == 'train'):`"
    )


OTHER = """
from engine import run


def validate(net, loader, opt):
    run(net, loader, opt, "val")
"""


@pytest.mark.parametrize(("off", "count"), [("", 1), ("@torch.no_grad()", 0)])
def test_calls_in_other_files(tmp_path: Path, off: str, count: int) -> None:
    text = program(*MODE, "{run}opt, 'train')")
    path = tmp_path / "engine.py"
    path.write_text(HEAD + textwrap.dedent(text))
    (tmp_path / "validation.py").write_text("import torch\n" + OTHER.replace("def val", f"{off}\ndef val"))
    told = found(text, path)
    assert len(told) == count
    assert not told or told[0].notes[-1].text == "called in validation.py, line 8"


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("def f(a, b):\n    for x in a:\n        if b:\n            b(x).backward()\n", True),
        ("def f(a, b):\n    for x in a:\n        if not b:\n            continue\n        a(x).backward()\n", True),
        ("def f(a, b):\n    if b == 1:\n        return\n    a(1).backward()\n", True),
        ("def f(a, b):\n    if b():\n        return\n    a(1).backward()\n", False),
        ("def f(a, b):\n    if b:\n        print(b)\n    a(1).backward()\n", False),
        ("def f(a, b):\n    if b:\n        return\n", False),
    ],
)
def test_the_gate(text: str, passes: bool) -> None:
    outline = Outline(ast.parse(text), text)
    found = by_statements(frozenset({Subject.EVALUATION}), outline, ())
    assert (Subject.EVALUATION in found) is passes


def test_the_remedy_ends_the_graphs_and_changes_no_training() -> None:
    torch = pytest.importorskip("torch")

    def trained(switched: bool) -> tuple[list[bool], object]:
        torch.manual_seed(0)
        net = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        graphs: list[bool] = []
        for mode in ("train", "val", "train"):
            for x in torch.ones(2, 3, 4):
                with torch.set_grad_enabled(mode == "train" or not switched):
                    loss = net(x).square().mean()
                if mode == "train":
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                else:
                    graphs.append(loss.requires_grad)
        return graphs, net.weight.detach().clone()

    before, weights = trained(False)
    after, same = trained(True)
    assert before == [True, True]
    assert after == [False, False]
    assert torch.equal(weights, same)


def test_a_unit_test_is_silent() -> None:
    text = PHASES.format(phases='["train", "val"]', before="pass").replace("def fit(net, ", "def test_fit(net, ")
    assert not found("import pytest\n" + text)


NAMED = """
class Trainer:
    def __init__(self, net, opt):
        self.net, self.opt = net, opt

    def step(self, loader=(), train=False):
        for x, y in loader:
            loss = F.cross_entropy(self.net(x), y)
            if train:
                loss.backward()
                self.opt.step()
            print(loss.item())

    def fit(self, loader, scheduler):
        self.step(loader, True)
        scheduler.step()


class Other:
    def step(self):
        return self.step()


def main(trainer, net, opt, loader):
    {made}
    job.step(loader)
"""


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("job = Trainer(net, opt)", 1),
        ("job = trainer", 0),
        ("job = Other()", 0),
        ("job = Trainer(net, opt) if opt else Other()", 0),
        ("job = Trainer(net, opt)\n    if opt:\n        job = Other()", 0),
    ],
)
def test_others_of_that_name_are_no_matter(made: str, count: int) -> None:
    assert len(found(NAMED.format(made=made))) == count


def test_an_heir_that_runs_it() -> None:
    heir = "\n\nclass Tester(Trainer):\n    def test(self, loader):\n        self.step(loader)\n"
    assert len(found(NAMED.format(made="job = trainer") + heir)) == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("from engine import run\nrun(net, loader, opt, 'val')\n", 1),
        ("import engine\nengine.run(net, loader, opt, 'val')\n", 1),
        ("from .engine import run\nrun(net, loader, opt, 'val')\n", 1),
        ("from other import run\nimport engine\nrun(net, loader, opt, 'val')\n", 0),
        ("import engine\n\ndef run(*_):\n    pass\n\nrun(net, loader, opt, 'val')\n", 0),
    ],
)
def test_a_function_of_another_file(tmp_path: Path, text: str, count: int) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "__init__.py").touch()
    path = tmp_path / "engine.py"
    path.write_text(HEAD + textwrap.dedent(program(*MODE, "{run}opt, 'train')")))
    (tmp_path / "validation.py").write_text(f"import torch\nfrom nets import net, loader, opt\n{text}")
    assert len(found(program(*MODE, "{run}opt, 'train')"), path)) == count


INSIDE = """
def run(net, loader, opt=None):
    def step({parameters}):
        loss = F.cross_entropy(net(x), y)
        if opt is not None:
            loss.backward()
            opt.step()
        return loss.item()

    return sum(step(x, y{given}) for x, y in loader)


def main(net, train_loader, val_loader, opt):
    run(net, train_loader, opt)
    run(net, val_loader)
"""


@pytest.mark.parametrize(
    ("parameters", "given", "count"), [("x, y", "", 1), ("x, y, opt", ", opt", 0), ("x, y, opt=None", "", 1)]
)
def test_a_function_asks_variables_of_the_one_around(parameters: str, given: str, count: int) -> None:
    assert len(found(INSIDE.format(parameters=parameters, given=given))) == count


SWITCHED = """
import torch
from torch.utils.data import DataLoader

def run(net, data, opt, train=True):
    net.train() if train else net.eval()
    for x in DataLoader(data):
        loss = net(x).mean()
        if train:
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
"""


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ("", 1),  # who calls it is not in sight
        ("run(net, data, opt)", 0),
        ("run(net, data, opt, True)\nrun(net, data, opt, train=1)", 0),
        ("run(net, data, opt)\nrun(net, data, opt, False)", 1),
        ("run(net, data, opt)\nrun(net, data, opt, not done)", 1),
        ("run(net, data, opt)\nrun(net, data, *rest)", 1),
        ("for train in (True, False):\n    run(net, data, opt, train)", 1),
    ],
)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_who_calls_it_may_only_train(tmp_path: Path, calls: str, count: int, elsewhere: bool) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "engine.py"
    text = SWITCHED if elsewhere else f"{SWITCHED}\n{calls}\n"
    path.write_text(text)
    (tmp_path / "main.py").write_text(f"import torch\nfrom engine import run\n{calls}\n" if elsewhere else "")
    importers.forget()
    assert len(found(text, path)) == count


def test_a_notebook_may_call_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "engine.py"
    text = f"{SWITCHED}\nrun(net, data, opt)\n"
    path.write_text(text)
    importers.forget()
    assert found(text, path) == []
    notebook = '{"cells": [{"cell_type": "code", "source": "SOURCErun(net, data, opt, False)"}]}'
    (tmp_path / "demo.ipynb").write_text(notebook.replace("SOURCE", "from engine import run\\n"))
    importers.forget()
    assert len(found(text, path)) == 1
    (tmp_path / "demo.ipynb").write_text(notebook.replace("SOURCE", "from torch import nn\\n"))  # a run of its own
    importers.forget()
    assert found(text, path) == []


def test_a_package_may_be_called_by_anybody(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("from setuptools import setup\nsetup(name='x')\n")
    path = tmp_path / "engine.py"
    text = f"{SWITCHED}\nrun(net, data, opt)\n"
    path.write_text(text)
    importers.forget()
    assert len(found(text, path)) == 1
    assert len(found(text)) == 1  # of a text alone nobody knows where it is from
