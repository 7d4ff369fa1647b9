"""Evaluation that needs gradients, and evaluation whose callers in other files turn them off."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from flake8_torchleak.lint import lint
from tests.kept import program

FORCES = """
class Forces(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)
    def forward(self, x):
        energy = self.net(x.requires_grad_(True)).sum()
        return energy, self.derived(energy, x)
    def derived(self, energy, x):
        return -torch.autograd.grad(energy, x, create_graph=True)[0]
"""
PARTS = """
class Fitted(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)
    def forward(self, x):
        z = torch.zeros(3, requires_grad=True)
        (self.net(z) - x).mean().backward()
        return z.detach()
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = {}()
    def forward(self, x):
        return self.encode(x)
    def encode(self, x):
        return self.part(x)
"""
PLAIN = """
class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)
    def forward(self, x):
        return self.net(x), x
    def penalty(self, x):
        return torch.autograd.grad(self(x)[0].sum(), x, create_graph=True)[0].norm()
"""
HELPERS = """
def derivative(u, x):
    return torch.autograd.grad(u.sum(), x, create_graph=True)[0]
def residual(u, x):
    return derivative(u, x) - u
def deviation(u, x):
    return (u - x).abs()
def unfrozen(x):
    return x.requires_grad_()
def frozen(x):
    return x.requires_grad_(False)
"""


def evaluating(network: str, above: str = "", given: str = "", after: str = "", used: str = "out.mean()") -> str:
    """A file with an evaluation of `network`, whose method or function is called at the end."""
    body = (
        f"def evaluate({given}loader: DataLoader):\n"
        f"    {network}.eval()\n"
        "    total = 0.0\n"
        "    for x, y in loader:\n"
        f"        out = {network}(x)\n"
        f"        total += {used}.item()\n"
        "    return total\n"
    )
    return program(f"{dedent(above)}\n{body}\n{after}")


def made(how: str) -> str:
    """An evaluation of a network that the function makes itself."""
    body = f"def evaluate(loader: DataLoader):\n    model = {how}\n"
    return evaluating("model").replace("def evaluate(loader: DataLoader):\n", body)


TABLE = FORCES + PLAIN + 'TABLE = {"forces": Forces, "plain": Plain}\nOTHER = {"plain": Plain}\n'
CALLED = "def main(data):\n    model = {}\n    evaluate(model, DataLoader(data))\n"
NEEDED = {
    "the network differentiates": FORCES + made("Forces()"),
    "moved": FORCES + made("Forces().to('cpu')"),
    "wrapped": FORCES + made("nn.DataParallel(Forces())"),
    "of a factory": FORCES + "def build():\n    print(1)\n    return Forces()\n" + made("build()"),
    "taken from a table": TABLE + made("TABLE['forces']()"),
    "taken from a table by a method": TABLE + made("TABLE.get('forces')()"),
    "handed in": FORCES + evaluating("model", "", "model, ", CALLED.format("Forces()")),
    "handed in, by its annotation": FORCES + evaluating("model", "", "model: Forces, "),
    "handed in, by an annotation in words": FORCES + evaluating("model", "", "model: 'Forces', "),
    "a part of what a function returns": FORCES
    + "def build():\n    return Forces(), 1\n"
    + made("0; model, n = build()"),
    "a part of it differentiates": FORCES + PARTS.format("Forces") + made("Whole()"),
    "a part of it trains": PARTS.format("Fitted") + made("Whole()"),
    "handed in by a name": FORCES + evaluating("model", "", "model, ", CALLED.format("Forces().to('cpu')")),
    "an attribute": program(FORCES)
    + "class Trainer:\n    def __init__(self):\n        self.model = Forces()\n"
    + indent(evaluating("self.model", "", "self, ").partition("\n\n")[2], "    "),
    "a helper of a helper": HELPERS + evaluating("model", "", "model, ", used="residual(out, x).mean()"),
    "a helper that asks for it": HELPERS + evaluating("model", "", "model, ", used="unfrozen(out).mean()"),
    "a helper of torch's": evaluating(
        "model", "", "model, ", used="torch.autograd.functional.jacobian(model, x).mean()"
    ),
    "the input asks for it": evaluating("model", "", "model, ").replace(
        "        out =", "        x.requires_grad = True\n        out ="
    ),
    "the function itself": evaluating("model", "", "model, ", used="torch.autograd.grad(out, x)[0].mean()"),
    "a network that is frozen there": evaluating("model.requires_grad_(False)", "", "model, "),
}
NOT_NEEDED = {
    "taken from a table of others": TABLE + made("OTHER['plain']()"),
    "taken from what is no table": TABLE + made("load().get('plain')()"),
    "taken from what is no dict": TABLE + "ROWS = [Forces]\n" + made("ROWS[0]()"),
    "the network does not": PLAIN + made("Plain()"),
    "handed in": PLAIN + evaluating("model", "", "model, ", CALLED.format("Plain()")),
    "by its annotation": PLAIN + FORCES + evaluating("model", "", "model: Plain, "),
    "by an annotation of a library": FORCES + evaluating("model", "", "model: nn.Module, "),
    "another part of what a function returns": FORCES
    + PLAIN
    + "def build():\n    return Plain(), Forces()\n"
    + made("0; model, other = build()"),
    "no part of what is returned": FORCES + "def build():\n    return load()\n" + made("0; model, n = build()"),
    "no part of it does": PLAIN + PARTS.format("Plain") + made("Whole()"),
    "a network beside it does": FORCES + PLAIN + made("Plain()"),
    "a helper does not": HELPERS + evaluating("model", "", "model, ", used="deviation(out, x).mean()"),
    "a helper that lets go": HELPERS + evaluating("model", "", "model, ", used="frozen(out).mean()"),
    "a network that calls itself": FORCES + made("model") + "model = evaluate\n",
    "wrapped again and again": made("Plain()").replace(
        "    model.eval()", "    for i in range(3):\n        model = wrapped(model)\n    model.eval()"
    ),
    "a function of a network": evaluating("model", "", "model, ", used="(lambda net: net(out))(model).mean()"),
    "handed on by itself": evaluating("model", "", "model, ", used="evaluate(model, y)"),
}


@pytest.mark.parametrize("name", NEEDED)
def test_gradients_that_are_needed(name: str) -> None:
    assert [each.code for each in lint(program(NEEDED[name])) if each.code == "TLK501"] == []


@pytest.mark.parametrize("name", NOT_NEEDED)
def test_gradients_that_are_not(name: str) -> None:
    assert [each.code for each in lint(program(NOT_NEEDED[name])) if each.code == "TLK501"] == ["TLK501"]


USERS = {
    "with no_grad around": ("with torch.no_grad():\n    evaluate(model, loader)", 0),
    "with gradients on": ("evaluate(model, loader)", 1),
    "both": ("evaluate(model, loader)\nwith torch.no_grad():\n    evaluate(model, loader)", 1),
    "not at all": ("print(evaluate)", 1),
    "one of its own": ("def evaluate(m, l): return 1\nwith torch.no_grad():\n    evaluate(model, loader)", 1),
    "as part of the module": ("with torch.no_grad():\n    steps.evaluate(model, loader)", 0),
}


@pytest.mark.parametrize("name", USERS)
def test_callers_in_another_file(name: str, tmp_path: Path) -> None:
    body, count = USERS[name]
    (tmp_path / "pyproject.toml").write_text("")
    steps, run = tmp_path / "steps.py", tmp_path / "run.py"
    steps.write_text(evaluating("model", "", "model, "))
    run.write_text(
        f"import torch\nimport steps\nfrom steps import evaluate\ndef main(model, loader):\n{indent(body, '    ')}\n"
    )
    found = [each.code for each in lint(steps.read_text(), path=str(steps)) if each.code == "TLK501"]
    assert found == ["TLK501"] * count


def test_a_network_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "networks.py").write_text(program(FORCES + PLAIN))
    for name, count in (("Forces", 0), ("Plain", 1)):
        text = f"from networks import {name}\n" + made(f"{name}()")
        found = lint(text, path=str(tmp_path / "evaluation.py"))
        assert len([each for each in found if each.code == "TLK501"]) == count


OF_CLASSES = {
    "with no_grad, and a method of another class": ("Tester(model)", "Other(model)", 0),
    "with no_grad, and one of the same": ("Tester(model)", "Tester(model)", 1),
    "with no_grad, and one of what is not seen": ("Tester(model)", "make(model)", 1),
    "with no_grad, and one of what is handed in": ("Tester(model)", "model", 1),
}


@pytest.mark.parametrize("name", OF_CLASSES)
def test_callers_of_methods_in_another_file(name: str, tmp_path: Path) -> None:
    first, second, count = OF_CLASSES[name]
    (tmp_path / "pyproject.toml").write_text("")
    text = "def evaluate(" + evaluating("self.model", "", "self, ").partition("def evaluate(")[2]
    (tmp_path / "steps.py").write_text(program("class Tester:\n" + indent(text, "    ")))
    (tmp_path / "run.py").write_text(
        "import torch\nfrom steps import Tester\nfrom others import Other, make\n"
        f"def main(model, loader):\n    tester, other = {first}, {second}\n"
        "    with torch.no_grad():\n        tester.evaluate(loader)\n    other.evaluate(loader)\n"
    )
    path = tmp_path / "steps.py"
    assert [each.code for each in lint(path.read_text(), path=str(path)) if each.code == "TLK501"] == ["TLK501"] * count
