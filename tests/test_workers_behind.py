"""Whether there are workers behind a loader: looked up where it is made, and a note where only its name says so."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from flake8_torchleak.config import DEFAULT, Config
from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty
from tests.model import IMPORTS
from tests.test_project import put

KEEP = """
def run({parameters}):
    {made}
    kept = []
    for x, y in {loader}:
        kept.append(y.cpu())
    return kept
"""
DATA = """
class Data:
    def pair(self, rows):
        return DataLoader(rows), DataLoader(rows, num_workers=2)
    def some(self, rows):
        return [DataLoader(rows)]
    def loader(self, rows):
        return DataLoader(rows)
def loaders(rows):
    return DataLoader(rows), DataLoader(rows, num_workers=2)
def either(rows, n):
    if n:
        return DataLoader(rows), 1
    return rows
"""

MADE = {
    "a parameter": ("loader", "pass", "loader", "note"),
    "one that is wrapped": ("loader", "pass", "enumerate(loader)", ""),
    "a loader without workers": ("rows", "loader = DataLoader(rows)", "loader", ""),
    "a loader with some": ("rows", "loader = DataLoader(rows, num_workers=2)", "loader", "error"),
    "a loader with any number": ("rows, n", "loader = DataLoader(rows, num_workers=n)", "loader", "error"),
    "a loader with options": ("rows, options", "loader = DataLoader(rows, **options)", "loader", "note"),
    "a method of something": ("data", "loader = data.loader()", "loader", "note"),
    "a function of no file in reach": ("rows", "loader = make(rows)", "loader", "note"),
    "a part of something": ("data", "loader, other = data.loaders()", "loader", ""),
    "a number that is asked for": ("loader, num_workers", "print(num_workers)", "loader", "note"),
    "a setting": ("loader, config", "print(config['num_workers'])", "loader", "note"),
    "an attribute": ("loader, config", "print(config.workers)", "loader", "note"),
    "prose": ("loader", "print('the workers are busy')", "loader", "note"),
    "a number that is handed on": ("loader, f", "f(workers=2)", "loader", "note"),
    "a number that is none": ("loader, f", "f(num_workers=0)", "loader", "note"),
    "another loader with workers": ("loader, rows", "other = DataLoader(rows, num_workers=3)", "loader", "note"),
    "another loader without": ("loader, rows", "other = DataLoader(rows)", "loader", "note"),
}


def levels(text: str, config: Config = DEFAULT, path: Path | None = None) -> list[Severity]:
    """The levels of what is found of TLK404."""
    found = lint(text, config, path=str(path) if path is not None else None)
    return [each.severity for each in found if each.code == "TLK404"]


@pytest.mark.parametrize(("parameters", "made", "loader", "level"), MADE.values(), ids=MADE)
def test_what_speaks_for_workers(parameters: str, made: str, loader: str, level: str) -> None:
    text = IMPORTS + KEEP.format(parameters=parameters, made=made, loader=loader)
    if loader != "loader":
        text = text.replace("for x, y in", "for i, (x, y) in")
        level = "note"
    assert [each.value for each in levels(text)] == [level] * bool(level)


GIVEN = {
    "the first of a function's": ("first_loader, other = loaders(rows)", "first_loader", 0),
    "the second of a function's": ("other, second_loader = loaders(rows)", "second_loader", 1),
    "the first of a method's": ("first_loader, other = Data().pair(rows)", "first_loader", 0),
    "the second of a method's": ("other, second_loader = Data().pair(rows)", "second_loader", 1),
    "of an object in a variable": ("data = Data()\n    first_loader, _ = data.pair(rows)", "first_loader", 0),
    "of an object, wrapped": ("data = Data()\n    a_loader, _ = data.pair(rows)", "enumerate(a_loader)", 0),
    "of an object, iterated": (
        "data = Data()\n    a_loader, _ = data.pair(rows)\n    b_loader = iter(a_loader)",
        "b_loader",
        0,
    ),
    "in an iterator": ("first_loader, _ = loaders(rows)\n    batches = iter(first_loader)", "enumerate(batches)", 0),
    "an iterator over a part": (
        "data_loader, _ = loaders(rows)\n    data_loader = iter(data_loader)",
        "data_loader",
        0,
    ),
    "another method": ("data_loader = Data().load(rows)", "data_loader", 1),
    "a method of no class": ("data_loader = rows.loader()", "data_loader", 1),
    "what is no call": ("data_loader = rows", "data_loader", 1),
    "one of several": ("(first_loader, _), n = loaders(rows), 1", "first_loader", 0),
    "of a list": ("first_loader, = Data().some(rows)", "first_loader", 0),
    "a part that is none": ("_, _, third_loader = loaders(rows)", "third_loader", 0),
    "of one of two": ("first_loader, _ = either(rows, 1)", "first_loader", 0),
    "by two": ("a_loader, _ = loaders(rows)\n    if rows:\n        _, a_loader = loaders(rows)", "a_loader", 1),
}


@pytest.mark.parametrize(("made", "loader", "count"), GIVEN.values(), ids=GIVEN)
def test_where_the_loader_is_made(made: str, loader: str, count: int) -> None:
    text = IMPORTS + DATA + KEEP.format(parameters="rows", made=made, loader=loader)
    if loader.startswith("enumerate"):
        text = text.replace("for x, y in", "for i, (x, y) in")
    out_of_sight = made in ("data_loader = Data().load(rows)", "data_loader = rows.loader()", "data_loader = rows")
    assert levels(text) == [Severity.NOTE if out_of_sight else Severity.ERROR] * count


def test_an_attribute_that_gets_a_part() -> None:
    text = f"""{IMPORTS}{DATA}
class Run:
    def __init__(self, rows):
        self.first_loader, self.second_loader = Data().pair(rows)
    def first(self):
        kept = []
        for x, y in self.first_loader:
            kept.append(y.cpu())
        return kept
    def second(self):
        kept = []
        for x, y in self.second_loader:
            kept.append(y.cpu())
        return kept
"""
    lines = [each.span.line for each in lint(text) if each.code == "TLK404"]
    assert lines == [text.count("\n", 0, text.index("def second")) + 4]


def test_the_user_may_say_that_there_are_workers() -> None:
    text = IMPORTS + KEEP.format(parameters="loader", made="pass", loader="loader")
    assert levels(text, Config(assume_workers="yes")) == [Severity.WARNING]


SOLVER = """
    import torch
    from data import get_loader
    class Solver:
        def __init__(self, x, y):
            self.loader = get_loader(x, y)
        def test(self, model):
            labels = []
            for x, y in self.loader:
                labels.append(y.cpu())
            return labels
"""
USED = """
    import torch
    def score(loader):
        kept = []
        for x, y in loader:
            kept.append(y.cpu())
        return kept
"""


@pytest.mark.parametrize(("workers", "count"), [("0", 0), ("2", 1)])
def test_a_loader_of_another_file(tmp_path: Path, workers: str, count: int) -> None:
    firstparty.forget()
    made = f"def get_loader(x, y):\n    return DataLoader(x, num_workers={workers})\n"
    made = "from torch.utils.data import DataLoader\n" + made
    put(tmp_path, data=made, solver=SOLVER)
    path = tmp_path / "solver.py"
    assert levels(path.read_text(), path=path) == [Severity.ERROR] * count


@pytest.mark.parametrize("call", ["", "workers = 4"])
def test_a_file_that_imports_this_one_may_speak_of_workers(tmp_path: Path, call: str) -> None:
    """It does not say that this loader has some."""
    firstparty.forget()
    put(tmp_path, score=USED, main=f"from score import score\n{call}\nscore(make())\n")
    path = tmp_path / "score.py"
    assert levels(dedent(USED), path=path) == [Severity.NOTE]
