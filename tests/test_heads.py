"""Networks whose class freezes all but a small head, or runs the rest without gradients: evaluating them is a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.test_project import put

NETWORK = """
    import torch
    from torch import nn

    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))

        def forward(self, x):
            return self.layers(x)

    class Deep(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.layers = nn.Conv2d(1, 1, 1)

        def forward(self, x):
            return self.layers(x)

    class Net(nn.Module):
        def __init__(self, base, layers):
            super().__init__()
            {made}

        def forward(self, x):
            {run}
"""
EVALUATE = """
    from torch.utils.data import DataLoader

    def evaluate(data, base, layers):
        net = Net(base, layers).cuda()
        net.eval()
        for x in DataLoader(data):
            print(net(x).mean().item())
"""
FROZEN = "self.base = base\n            for p in self.base.parameters(): p.requires_grad = False"
UNDER = "with torch.no_grad(): x = self.base.stem(x)\n            return self.head(x)"
PLAIN = "return self.head(self.base(x))"


@pytest.mark.parametrize(
    ("made", "run", "expected"),
    [
        ("self.base = base; self.head = nn.Linear(4, 1)", PLAIN, "warning"),
        (f"{FROZEN}\n            self.head = nn.Linear(4, 1)", PLAIN, "note"),
        (f"{FROZEN}\n            self.head = nn.Linear(4, 1).to('cpu')", PLAIN, "note"),
        (f"{FROZEN}\n            self.head = nn.Sequential(nn.Linear(4, 1), nn.ReLU())", PLAIN, "note"),
        (f"{FROZEN}\n            self.head = nn.Sequential(*layers)", PLAIN, "warning"),
        (f"{FROZEN}\n            self.head = nn.Conv2d(1, 1, 1)", PLAIN, "warning"),
        (f"{FROZEN}\n            self.head = nn.LSTM(4, 1)", PLAIN, "warning"),
        (f"{FROZEN}\n            self.head = Head()", PLAIN, "note"),
        (f"{FROZEN}\n            self.head = Deep(1)", PLAIN, "warning"),
        (f"{FROZEN}\n            self.head = layers", PLAIN, "warning"),
        (f"{FROZEN}\n            self.head = layers()", PLAIN, "warning"),
        (f"{FROZEN}\n            self.other = Deep(1)", "return self.base(x)", "note"),  # which is not run
        ("base.requires_grad_(False)\n            self.base = base; self.head = nn.Linear(4, 1)", PLAIN, "note"),
        ("self.base = base; self.head = nn.Linear(4, 1)", UNDER, "note"),
        ("self.base = base; self.head = Deep(1)", UNDER, "warning"),
        ("self.base = base; self.head = nn.Linear(4, 1)", f"x = self.base.stem(x)\n            {UNDER}", "warning"),
        ("self.head = Head()", "return self.head(x)", "warning"),  # nothing of it is frozen
    ],
)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_of_a_network_builds_a_graph(tmp_path: Path, made: str, run: str, expected: str, elsewhere: bool) -> None:
    text = NETWORK.format(made=made, run=run)
    both = text + EVALUATE if not elsewhere else "    from net import Net\n" + EVALUATE
    put(tmp_path, run=both, **({"net": text} if elsewhere else {}))
    (tmp_path / ".git").mkdir()
    path = tmp_path / "run.py"
    importers.forget()
    found = lint(path.read_text(encoding="utf-8"), path=str(path))
    assert [each.severity.value for each in found if each.code == "TLK501"] == [expected]


def test_a_class_without_a_constructor_shows_no_parts() -> None:
    text = "from torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return self.a(x)\n"
    text += "from torch.utils.data import DataLoader\nnet = Net()\nnet.eval()\n"
    text += "for x in DataLoader(data):\n    print(net(x))\n"
    assert [each.severity.value for each in lint(text) if each.code == "TLK501"] == ["warning"]


LARGE = "\n            ".join(["self.base = Deep(1)", *(f"self.conv{at} = nn.Conv2d(1, 1, 1)" for at in range(30))])
"""So much that the constructor is not followed."""
ALL = "for p in self.parameters(): p.requires_grad = False"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (f"{LARGE}\n            {ALL}", "note"),
        (f"{LARGE}\n            self.requires_grad_(False)", "note"),
        (f"{ALL}\n            {LARGE}", "warning"),  # bound behind it
        (f"{LARGE}\n            for p in layers.parameters(): p.requires_grad = False", "warning"),
        (LARGE, "warning"),
    ],
)
def test_networks_that_freeze_themselves(tmp_path: Path, made: str, expected: str) -> None:
    test_what_of_a_network_builds_a_graph(tmp_path, made, "return self.base(x)", expected, elsewhere=True)
