"""Spent values that go out of sight: no safe fix where something in sight asks what may be one of them.

A value that a helper puts away, or an object was handed, may come back by a way that is not followed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.fixing.fix import fix
from tests.fixer import fixed, reasons
from tests.test_users import project

LOOP = """\
def remember(rows, row):
    rows.insert(len(rows), row)
def run(net, loader, opt, tracker, other):
    total = 0
    kept = []
    for x, y in loader:
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        total = 0.9 * total + 0.1 * loss
        now = total
        {}
{}
"""
AWAY = {
    "a helper": "remember(kept, now)",
    "an object": "tracker(now)",
    "a list of an object": "tracker.all.append(now)",
}
TRIED = "    try:\n        {}\n    except RuntimeError:\n        print('grew')"

ASKS = {
    "assigned": TRIED.format("list(kept)[-1].requires_grad = False"),
    "frozen": TRIED.format("list(kept)[-1].requires_grad_(False)"),
    "an attribute": "    print(tracker.rows[0].grad_fn)",
    "a hook": "    tracker.rows[0].register_hook(print)",
    "an array": TRIED.format("tracker.rows[0].numpy()"),
    "a copy": TRIED.format("copy.deepcopy(tracker.rows)"),
    "which it is": "    print(tracker.rows[0] is other)",
    "its number": "    print(id(tracker.last))",
    "in a loop": "    for row in tracker.rows:\n        print(row.is_leaf)",
    "in a loop or not": "    p = other\n    if not p:\n        for p in net.parameters(): pass\n    p.is_leaf",
    "in a comprehension": "    print([row.is_leaf for row in tracker.rows])",
    "in a lambda": "    print(list(filter(lambda row: row.requires_grad, tracker.rows)))",
}
OTHERS = {
    "nobody": "    print(len(kept))",
    "of parameters": "    print([p.is_leaf for p in net.parameters()])",
    "of named parameters": "    for name, p in net.named_parameters():\n        print(name, p.requires_grad)",
    "of parameters in a lambda": "    print(list(filter(lambda p: p.requires_grad, net.parameters())))",
    "of a network": "    net.eval()\n    net.requires_grad_(False)",
    "of a number": "    n = len(kept)\n    print(n.grad_fn)",
    "of what is released": "    print(tracker.rows[0].detach().requires_grad_())",
    "a gradient": "    print(tracker.rows[0].grad)",
    "an array that raises": "    print(tracker.rows[0].numpy())",
    "a copy that raises": "    print(copy.deepcopy(tracker.rows))",
    "an assignment that raises": "    for p in tracker.rows:\n        p.requires_grad = False",
    "whether it is there": "    print(tracker.rows is None)",
    "which number it is": "    print(len(kept) is other)",
    "the number of a number": "    print(id(len(kept)))",
}


@pytest.mark.parametrize("away", AWAY)
@pytest.mark.parametrize("asks", ASKS)
def test_whoever_may_get_it_back_sees_the_difference(away: str, asks: str) -> None:
    text = LOOP.format(AWAY[away], ASKS[asks])
    assert fixed(text, codes="TLK401") == text


def test_the_reason_is_said() -> None:
    (reason,) = reasons(LOOP.format(AWAY["an object"], ASKS["an attribute"]), codes="TLK401")
    assert reason.startswith("`0.1 * loss` may be what `tracker.rows[0].grad_fn` asks for its history: ")


@pytest.mark.parametrize("away", AWAY)
@pytest.mark.parametrize("others", OTHERS)
def test_who_asks_something_else_does_not(away: str, others: str) -> None:
    text = LOOP.format(AWAY[away], OTHERS[others])
    assert fixed(text, codes="TLK401") == text.replace("0.1 * loss", "(0.1 * loss).detach()")


TRAIN = """\
import torch
import torch.nn.functional as F
from tracking import Tracker
def run(net, loader, opt):
    tracker = Tracker()
    total = 0
    for x, y in loader:
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        total = total + loss
    tracker.done(total)
    return tracker
"""
TRACKING = "class Tracker:\n    def done(self, row):\n        self.row = row\n    def show(self):\n        print({})\n"


@pytest.mark.parametrize(
    ("tracking", "main", "asks"),
    [
        ("self.row", "print(run)", False),
        ("self.row.grad_fn", "print(run)", True),
        ("self.row", "print(run(None, [], None).row.grad_fn)", True),
    ],
)
def test_other_files_are_asked(tmp_path: Path, tracking: str, main: str, asks: bool) -> None:
    files = {"tracking.py": TRACKING.format(tracking), "main.py": f"from train import run\n{main}\n", "train.py": TRAIN}
    project(tmp_path, **{name.removesuffix(".py"): text for name, text in files.items()})
    after = fix(TRAIN, DEFAULT, False, lambda code: code == "TLK401", str(tmp_path / "train.py")).text
    assert (after == TRAIN) is asks
