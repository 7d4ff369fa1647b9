"""Conditions that are asked again: what one of two ways left is there again where the same way is taken."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.lifetime import recalling
from flake8_torchleak.lint import lint

LOOP = """
import torch
from torch.utils.data import DataLoader

def fit(model, data, opt, keep, other, args):
    for epoch in range(100):
        {first}
        for x in DataLoader(data):
            loss = model(x).mean()
            loss.backward()
            opt.step()
            {inside}
        {between}
        {last}
"""
FIRST = "if {}:\n    kept = []"
LAST = "if {}:\n    kept = torch.stack(kept)\n    print(kept.argmax())"


def accumulates(first: str, last: str, inside: str = "", between: str = "") -> bool:
    """Whether what an epoch makes of its list is said to hold that of the epoch before."""
    text = LOOP.format(
        first=textwrap.indent(first, " " * 8).strip(),
        inside=textwrap.indent(inside or "pass", " " * 12).strip(),
        between=textwrap.indent(between or "pass", " " * 8).strip(),
        last=textwrap.indent(last, " " * 8).strip(),
    )
    return any(each.code == "TLK401" for each in lint(text))


STORE = "if {}:\n    kept.append(loss.exp())"


@pytest.mark.parametrize(
    ("first", "again", "told"),
    [
        ("keep", "keep", False),
        ("keep is not None", "keep is not None", False),
        ("args.keep", "args.keep", False),
        ("keep == 'all'", "keep == 'all'", False),
        ("keep and other", "keep and other", False),
        ("keep", "keep and other", False),  # where both hold, the first does
        ("keep", "other", True),
        ("keep", "keep or other", True),
        ("keep()", "keep()", True),  # may be another thing each time
        ("args.mode.keep", "args.mode.keep", True),
        ("model.training", "model.training", True),
    ],
)
def test_the_same_condition(first: str, again: str, told: bool) -> None:
    assert accumulates(FIRST.format(first), LAST.format(again), STORE.format(again)) is told


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        ("if not keep:\n    pass\nelse:\n    kept = []", LAST.format("keep"), False),
        ("if keep is None:\n    pass\nelse:\n    kept = []", LAST.format("keep is not None"), False),
        ("if keep != 'all':\n    pass\nelse:\n    kept = []", LAST.format("keep == 'all'"), False),
        (
            "if keep not in ('all', 'some'):\n    pass\nelse:\n    kept = []",
            LAST.format("keep in ('all', 'some')"),
            False,
        ),
        ("if keep:\n    kept = []\nelif other:\n    pass", LAST.format("keep"), True),  # of two ways only
        ("if keep:\n    kept = []\nelse:\n    continue", LAST.format("keep"), False),
    ],
)
def test_its_opposite(first: str, last: str, told: bool) -> None:
    assert accumulates(first, last, STORE.format("keep")) is told


@pytest.mark.parametrize(
    ("between", "told"),
    [
        ("keep = other", True),
        ("args.keep = other", False),
        ("other = keep", False),
        ("if keep:\n    print(kept)", False),
        ("if other:\n    print(keep)", False),
        ("for keep in data:\n    pass", True),
    ],
)
def test_what_it_asks_may_be_set(between: str, told: bool) -> None:
    assert accumulates(FIRST.format("keep"), LAST.format("keep"), STORE.format("keep"), between) is told


def test_a_condition_behind_one_that_never_holds() -> None:
    """What is remembered is of the first condition that may hold, not of the one that `if` begins with."""
    first = "never = False\nif never:\n    pass\nelif keep:\n    kept = []"
    assert not accumulates(first, LAST.format("keep"), STORE.format("keep"), "if never:\n    print(1)")


def test_where_none_of_several_conditions_held_before() -> None:
    last = "if other:\n    pass\nelif keep:\n    kept = torch.stack(kept)"
    assert not accumulates(FIRST.format("keep"), last, STORE.format("keep"))


def test_attributes_may_be_set() -> None:
    first, last, inside = FIRST.format("args.keep"), LAST.format("args.keep"), STORE.format("args.keep")
    assert not accumulates(first, last, inside, "args.other = 1")
    assert accumulates(first, last, inside, "args.keep = other")


def test_what_is_kept_in_both_ways_is_told() -> None:
    """And the list that a condition makes is still one that outlives the step."""
    text = LOOP.format(
        first=FIRST.format("keep").replace("\n    ", "\n            "), inside="pass", between="", last=""
    )
    stored = text.replace("pass", "if keep:\n                kept.append(loss)")
    assert [each.code for each in lint(stored)] == ["TLK402"]


def test_at_the_top_of_a_module() -> None:
    body = LOOP.format(
        first="if keep:\n            kept = []",
        inside="if keep:\n                kept.append(loss.exp())",
        between="",
        last="if keep:\n            kept = torch.stack(kept)\n            print(kept.argmax())",
    )
    head, _, rest = body.partition("def fit(model, data, opt, keep, other, args):\n")
    text = f"{head}from somewhere import model, data, opt, keep\n{textwrap.dedent(rest)}"
    assert not any(each.code == "TLK401" for each in lint(text))


def test_many_variables() -> None:
    """Variables are remembered before other things; past a bound, none is."""
    names = [f"a{at}" for at in range(40)]
    first = "if keep:\n    kept = []\n    " + "\n    ".join(f"{each} = 1" for each in names)
    assert accumulates(first, LAST.format("keep"), STORE.format("keep")) is False
    late = "if keep:\n    " + "\n    ".join(f"{each} = 1" for each in names) + "\n    kept = []"
    assert accumulates(late, LAST.format("keep"), STORE.format("keep")) is True


def test_after_many_changes_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recalling, "_MOST_SINCE", 0)
    assert accumulates(FIRST.format("keep"), LAST.format("keep"), STORE.format("keep"))
