"""Lists over a few tasks, which live for one call and are joined at its end: a note, where nothing shows more."""

from __future__ import annotations

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint
from tests.model import IMPORTS

TASKS = """
class Meta:
    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.losses = model, optimizer, []
    def adapt(self, batch):
        loss = F.mse_loss(self.model(batch[0]), batch[1])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
    def update(self, supports, queries, loader):
        losses = []
        for support, query in zip(supports, queries):
            self.adapt(support)
            losses.append(F.mse_loss(self.model(query[0]), query[1]))
        print(torch.stack(losses).mean().item(), len(losses))
"""
LOOP = "for support, query in zip(supports, queries):"
JOINED = "print(torch.stack(losses).mean().item(), len(losses))"

CHANGED = {
    "a few tasks": ("", "", Severity.NOTE),
    "one sequence": (LOOP, "for support, query in supports:", Severity.NOTE),
    "a step of training in the loop": (
        "self.adapt(support)",
        "self.adapt(support); self.optimizer.step()",
        Severity.ERROR,
    ),
    "a loader": ("zip(supports, queries)", "zip(supports, loader)", Severity.ERROR),
    "batches of a loader alone": ("zip(supports, queries)", "loader", Severity.ERROR),
    "something that is made": ("zip(supports, queries)", "self.tasks(supports)", Severity.ERROR),
    "a number of times": (
        LOOP,
        "for query in range(len(supports)):\n            support = query = supports[query]",
        Severity.ERROR,
    ),
    "what is computed": (LOOP, "tasks = supports + queries\n        for support, query in tasks:", Severity.ERROR),
    "an attribute": (LOOP, "for support, query in self.supports:", Severity.ERROR),
    "a loop without end": (LOOP, "while supports:\n            support, query = supports.pop()", Severity.ERROR),
    "loops in each other": (
        LOOP,
        f"for loader in queries:\n          self.adapt(loader)\n          {LOOP}",
        Severity.ERROR,
    ),
    "a list that is handed on": (JOINED, f"print(losses[0])\n        {JOINED}", Severity.ERROR),
    "a list that is not read": (JOINED, "pass", Severity.ERROR),
    "a list that lives on": ("losses.append", "self.losses.append", Severity.ERROR),
    "a list that is handed in": ("losses = []\n        for", "losses = self.losses\n        for", Severity.ERROR),
    "a parameter": ("queries, loader):\n        losses = []", "queries, loader, losses):", Severity.ERROR),
    "an empty zip": ("zip(supports, queries)", "zip()", Severity.ERROR),
}


@pytest.mark.parametrize(("old", "new", "level"), CHANGED.values(), ids=CHANGED)
def test_a_list_over_tasks(old: str, new: str, level: Severity) -> None:
    text = IMPORTS + TASKS.replace(old, new)
    found = [each.severity for each in lint(text) if each.code == "TLK402"]
    assert found == [level]


RETAINED = """
{imported}
class Statistics:
    def fill(self, module):
        for _ in range(3):
            module.zero_grad()
            loss = torch.norm(module(torch.randn(5, 2)))
            loss.backward(retain_graph=True)
"""


@pytest.mark.parametrize(("imported", "count"), [("", 1), ("import unittest", 0), ("import pytest", 0)])
def test_nothing_is_said_of_retained_graphs_in_tests(imported: str, count: int) -> None:
    text = IMPORTS + RETAINED.format(imported=imported)
    assert [each.code for each in lint(text)].count("TLK407") == count
