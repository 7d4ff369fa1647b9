"""Following whole programs in which nothing differentiates: what their networks leave behind in loops is in vain."""

from __future__ import annotations

import gc
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from flake8_torchleak.lint import lint
from tests import kept as kept_by
from tests.kept import IMPORTS, marked

HEAD = """
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
cell, head = nn.GRUCell(2, 2), nn.Linear(2, 1)
data = [torch.rand(3, 2) for _ in range(12)]
kept, total, state = [], 0.0, torch.zeros(3, 2)
"""


def whole(body: str, above: str = "") -> str:
    """A program that is run from its first statement."""
    return IMPORTS + dedent(above).strip("\n") + HEAD + dedent(body).strip("\n") + "\n"


def over(body: str, above: str = "") -> str:
    """The same, with a loop over data."""
    return whole("for x in data:\n" + indent(dedent(body).strip("\n"), "    "), above)


def found_in(text: str, path: str | None = None) -> list[tuple[int, str]]:
    codes = (*kept_by.CODES, "TLK406", "TLK604")
    found = lint(text, path=path) if path is not None else lint(text)
    return sorted((each.span.line, each.code) for each in found if each.code in codes)


RUNNER = """
class Runner:
    def __init__(self, net, data):
        self.net, self.data, self.rows = net, data, []

    def run(self):
        for x in self.data:
            self.push(self.net(x))  # TLK402
        return self.rows

    def push(self, value):
        self.rows.append(value)
"""
STEPS = """
class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(2, 2)

    def forward(self, x):
        states, state, turned = [], x[:, 0], getattr(torch, "fl" + "ip")(x, (1,))
        for i in range(x.size(1)):
            state = self.cell(turned[:, i], state)
            states.append(state)
        return torch.stack(states, 1)
"""
KEEP = "def keep(store, value): store.append(value)"
REJECT = "def reject(value):\n    raise ValueError('no')"

KEPT: dict[str, str] = {
    "outputs": over("kept.append(net(x))  # TLK402"),
    "outputs, through a helper": over("keep(kept, net(x))  # TLK402", KEEP),
    "outputs of passes of many steps": whole(
        "steps = Steps()\nfor _ in range(12):\n    kept.append(steps(torch.rand(3, 12, 2)))  # TLK402", STEPS
    ),
    "a sum": over("total = total + net(x).sum()  # TLK401"),
    "what is drawn in each step": whole("for _ in range(12):\n    kept.append(net(torch.rand(3, 2)))  # TLK402"),
    "in an object": whole("rows = Runner(net, data).run()", RUNNER),
    "in a function": whole(
        "def run():\n    for x in data:\n        kept.append(net(x))  # TLK402\nif __name__ == 'program':\n    run()"
    ),
    "made under no_grad before": over("with torch.no_grad():\n    x = x * 2\nkept.append(net(x))  # TLK402"),
    "a state, under the name of the next one": over("state = cell(x, state)  # TLK406"),
    "a state, through an operation": over("new = cell(x, state)\nstate = new.clamp(-1, 1)  # TLK406"),
    "a state in a list": whole(
        "states = [state]\nfor x in data:\n    new = cell(x, states[0])\n    states[0] = new  # TLK406"
    ),
    "a state, and a second name of it": over("new = cell(x, state)\nstate = new.clamp(-1, 1)  # TLK406\nlast = state"),
    "an exception": over(
        "try:\n    reject(net(x))\nexcept ValueError as error:\n    keep(kept, error)  # TLK408", KEEP + "\n" + REJECT
    ),
}
RELEASED: dict[str, str] = {
    "detached": over("kept.append(net(x).detach())"),
    "without gradients": over("with torch.no_grad():\n    kept.append(net(x))"),
    "numbers": over("total += net(x).sum().item()"),
    "one slot": over("last = net(x)"),
    "steps of one pass": whole(
        "for i in range(2):\n    print(i)\nprint(Steps().forward(torch.rand(3, 12, 2)).shape)", STEPS
    ),
    "frozen": whole("net.requires_grad_(False)\nfor x in data:\n    kept.append(net(x))"),
    "a state, detached": over("state = cell(x, state).detach()"),
    "a state that nobody hands on": over("new = cell(x, state)\nlast = new"),
    "an exception's text": over(
        "try:\n    reject(net(x))\nexcept ValueError as error:\n    keep(kept, str(error))", KEEP + "\n" + REJECT
    ),
}
"""What keeps nothing."""

EXCUSED: dict[str, str] = {
    "differentiated behind the loop": over("kept.append(net(x))") + "torch.stack(kept).sum().backward()\n",
    "differentiated by torch.autograd": over("kept.append(net(x))")
    + "torch.autograd.grad(torch.stack(kept).sum(), list(net.parameters()))\n",
    "a part of one tensor": whole("batch = torch.rand(12, 3, 2)\nfor i in range(12):\n    kept.append(net(batch[i]))"),
    "few": whole("for i in range(5):\n    kept.append(net(torch.rand(3, 2)))"),
    "the same in each step": whole("x = torch.rand(3, 2)\nfor i in range(12):\n    kept.append(net(x))"),
    "handed to what may train it": over("kept.append(net(x))", "import trainer") + "trainer.fit(net, kept)\n",
    "its optimizer handed to what may use it": over("kept.append(net(x))", "import trainer")
    + "trainer.fit(torch.optim.SGD(net.parameters(), 0.1))\n",
    "in an object that is handed to what may train it": over("kept.append(net(x))", "import trainer\nclass Box: pass")
    + "box = Box()\nbox.net = net\ntrainer.fit(box)\n",
    "an object with a method that nobody can see": over(
        "kept.append(box.net(x))",
        "import trainer\nclass Box(trainer.Base):\n    def __init__(self): self.net = nn.Linear(2, 1)\nbox = Box()",
    )
    + "box.fit()\n",
    "a network that only its name speaks of": whole(
        "from elsewhere import load_model\nmodel = load_model()\nfor x in data:\n    kept.append(model(x))"
    ),
    "a function that nobody calls": whole("def run(net):\n    for x in data:\n        kept.append(net(x))"),
}
"""What keeps something that somebody may want, or that does not grow with what it is given."""


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str) -> None:
    assert found_in(KEPT[name]) == marked(KEPT[name]) != []


@pytest.mark.parametrize("name", [*RELEASED, *EXCUSED])
def test_not_kept(name: str) -> None:
    assert found_in({**RELEASED, **EXCUSED}[name]) == []


@pytest.mark.parametrize("name", [*KEPT, *RELEASED])
def test_what_is_expected_is_what_torch_keeps(name: str) -> None:
    pytest.importorskip("torch")
    text = {**KEPT, **RELEASED}[name]
    grown = _alive_after(text.replace("range(12)", "range(24)")) - _alive_after(text)
    assert (grown >= 12) is (name in KEPT), grown


def _alive_after(text: str) -> int:
    namespace: dict[str, Any] = {"__name__": "program"}
    gc.collect()
    before = kept_by.alive()
    exec(compile(text, "program.py", "exec", dont_inherit=True), namespace)
    return kept_by.alive() - before


OTHER = """
def run(net, rows):
    {}

def long(net):
{}
"""


@pytest.mark.parametrize(
    ("body", "call", "found"),
    [
        ("print(len(rows))", "run(net, kept)", ["TLK402"]),
        ("rows[0].sum().backward()", "run(net, kept)", []),
        ("pass", "long(net)", []),  # not followed: it may train
    ],
)
def test_what_other_files_do(tmp_path: Path, body: str, call: str, found: list[str]) -> None:
    (tmp_path / "other.py").write_text(OTHER.format(body, "    net = [net, 1, 2, 3]\n" * 30))
    text = over("kept.append(net(x))", "from other import run, long") + call + "\n"
    (tmp_path / "main.py").write_text(text)
    assert [code for _, code in found_in(text, str(tmp_path / "main.py"))] == found
