"""Batches that are kept all at once, of data that is in memory as a whole anyway."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

KEPT = """
from torch.utils.data import DataLoader, TensorDataset, random_split

def fit(rows, labels, other, step, loader):
    data = TensorDataset(rows, labels)
    {}
    batches = [batch for batch in loader]
    for batch in batches:
        step(batch).backward()
"""


@pytest.mark.parametrize(
    ("loader", "expected"),
    [
        ("loader = DataLoader(data, batch_size=4)", ["note"]),
        ("loader = DataLoader(dataset=data, batch_size=4)", ["note"]),
        ("loader = DataLoader(TensorDataset(rows), batch_size=4)", ["note"]),
        ("loader = DataLoader(other, batch_size=4)", ["warning"]),
        ("loader = DataLoader(batch_size=4)", ["warning"]),
        ("pass", ["note"]),
    ],
)
def test_batches_of_tensors(loader: str, expected: list[str]) -> None:
    assert [each.severity.value for each in lint(KEPT.format(loader)) if each.code == "TLK405"] == expected


def test_batches_of_what_is_handed_in() -> None:
    text = KEPT.format("pass").replace("[batch for batch in loader]", "list(loader)")
    assert [each.severity.value for each in lint(text) if each.code == "TLK405"] == ["warning"]


EPOCHS = """
from itertools import cycle
from torch.utils.data import DataLoader

def epoch(step, labelled, rest):
    {start}for x, y in {iterable}:
        step(x, y).backward()

def fit(step, rows, others):
    labelled, rest = DataLoader(rows, shuffle=True), DataLoader(others)
    {loop}
"""
EACH = "for _ in range(9):\n        "


@pytest.mark.parametrize(
    ("start", "iterable", "loop", "expected"),
    [
        ("", "zip(cycle(labelled), rest)", EACH + "epoch(step, labelled, rest)", "note"),
        ("pairs = zip(rest, cycle(labelled))\n    ", "pairs", EACH + "epoch(step, labelled, rest)", "note"),
        ("", "zip(cycle(labelled), rest)", "epoch(step, labelled, rest)", "warning"),
        ("step = keep(cycle(labelled))\n    ", "rest", EACH + "epoch(step, labelled, rest)", "warning"),
        ("", "rest", EACH + "for n, x in enumerate(zip(cycle(labelled), rest)):\n            step(x)", "note"),
        ("", "rest", "for x in zip(cycle(labelled), rest):\n        step(x)", "warning"),
        ("", "rest", "for x in zip(cycle(labelled), rest):\n        for y in x:\n            step(y)", "warning"),
        ("", "rest", "kept = cycle(labelled)\n    " + EACH + "step(next(kept))", "warning"),
    ],
)
def test_cycles_that_end_with_their_loop(start: str, iterable: str, loop: str, expected: str) -> None:
    """What `itertools.cycle` saved goes when nothing refers to it any more: with the loop, or with its function."""
    text = EPOCHS.format(start=start, iterable=iterable, loop=loop)
    (found,) = (each for each in lint(text) if each.code == "TLK405")
    assert found.severity.value == expected
    assert ("until the loop ends" in found.message) is (expected == "note")
    assert "changes the order of the data" in found.remedy


def test_a_cycle_says_that_its_remedy_shuffles_anew() -> None:
    text = EPOCHS.format(start="", iterable="rest", loop="for x in cycle(iter(rest)):\n        step(x)")
    (found,) = (each for each in lint(text) if each.code == "TLK405")
    assert found.message.endswith(" (shuffles anew each round)")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("kept = cycle(loader)", 0),
        ("kept = cycle(loader) if step else None", 0),
        ("kept = step(cycle(loader))", 1),
        ("kept = cycle(loader)\n    return locals()", 1),
        ("class Kept:\n        kept = cycle(loader)\n    step(Kept)", 1),
        ("kept = cycle(loader)\n    print(kept)", 1),
        ("kept = other = cycle(loader)", 1),
        ("kept[0] = cycle(loader)", 1),
        ("step(cycle(loader))", 1),
        ("global kept\n    kept = cycle(loader)", 1),
        ("kept = cycle(loader)\n    def inner(): return next(kept)", 1),
    ],
)
def test_cycles_that_nobody_asks_for_a_batch(code: str, expected: int) -> None:
    text = f"""
from itertools import cycle
from torch.utils.data import DataLoader

kept = None

def fit(rows, step):
    loader = DataLoader(rows)
    {code}
"""
    assert len([each for each in lint(text) if each.code == "TLK405"]) == expected
