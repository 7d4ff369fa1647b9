"""Objects of classes that derive from a container, entries that are bound anew, methods that only a subclass has."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

LOOP = """
import collections
from collections import OrderedDict, UserDict, UserList, deque


{above}


def train(model, loader, criterion, optimizer):
    {before}
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        {keep}
"""


def found(keep: str, before: str = "pass", above: str = "") -> list[str]:
    return [each.code for each in lint(LOOP.format(keep=keep, before=before, above=above)) if each.code[:4] == "TLK4"]


@pytest.mark.parametrize(
    ("base", "body", "codes"),
    [
        ("dict", "self.setdefault(name, []).append(value)", ["TLK403"]),
        ("dict", "self[name] = self.get(name, 0) + value", ["TLK403"]),
        ("dict", "self.update({len(self): value})", ["TLK403"]),
        ("OrderedDict", "self.setdefault(name, []).append(value)", ["TLK403"]),
        ("collections.defaultdict", "self.setdefault(name, []).append(value)", ["TLK403"]),
        ("UserDict", "self.setdefault(name, []).append(value)", ["TLK403"]),
        ("list", "self.append(value)", ["TLK403"]),
        ("list", "super().append((name, value))", ["TLK403"]),
        ("UserList", "self.append(value)", ["TLK403"]),
        ("deque", "self.append(value)", ["TLK403"]),
        ("set", "self.add(value)", ["TLK403"]),
        ("dict", "self.setdefault(name, []).append(value.item())", []),
        ("dict", "self[name] = value", []),  # the last one
        ("list", "self.append(value)\n        if len(self) > 10:\n            self.pop(0)", []),
        ("list", "super().append(value.detach())", []),
        ("list", "super().sort()", []),
    ],
)
def test_what_a_project_s_own_container_keeps(base: str, body: str, codes: list[str]) -> None:
    above = f"class Log({base}):\n    def put(self, name, value):\n        {body}\n"
    assert found('log.put("loss", loss)', "log = Log()", above) == codes


@pytest.mark.parametrize(("made", "codes"), [("maxlen=10", []), ("[], 10", []), ("", ["TLK402"]), ("[]", ["TLK402"])])
def test_a_bounded_one_keeps_the_last(made: str, codes: list[str]) -> None:
    above = f"class Log(deque):\n    def __init__(self):\n        super().__init__({made})\n"
    assert found("log.append(loss)", "log = Log()", above) == codes


@pytest.mark.parametrize(
    ("keep", "before", "codes"),
    [
        ('h["loss"] = h["loss"] + [loss]', 'h = {"loss": []}', ["TLK402"]),
        ('h["loss"] = h.get("loss", []) + [loss]', "h = {}", ["TLK402"]),
        ('h["loss"] = [*h["loss"], loss]', 'h = {"loss": []}', ["TLK402"]),
        ('h["loss"] = h["loss"] + [loss.item()]', 'h = {"loss": []}', []),
        ('h["loss"] = [loss]', 'h = {"loss": []}', []),
        ('h["loss"] = h["other"] + [loss]', 'h = {"loss": [], "other": []}', []),
    ],
)
def test_an_entry_that_is_bound_anew(keep: str, before: str, codes: list[str]) -> None:
    assert found(keep, before) == codes


BELOW = """
class Base:
    def __init__(self):
        self.history = []

    def fit(self, loader):
        for batch in loader:
            self.history.append(self.one(batch))


class {name}(Base):
    def __init__(self, model, optimizer):
        super().__init__()
        self.model, self.optimizer = model, optimizer

    def one(self, batch):
        loss = self.model(batch).sum()
        loss.backward()
        self.optimizer.step()
        return {value}
"""


@pytest.mark.parametrize(("value", "codes"), [("loss", ["TLK402"]), ("loss.item()", [])])
def test_a_method_that_only_the_class_below_has(value: str, codes: list[str]) -> None:
    assert [each.code for each in lint(BELOW.format(name="Mine", value=value))] == codes
