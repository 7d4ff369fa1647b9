"""Attributes of networks that hold what steps made: lists, dicts and sums, and not layers."""

from __future__ import annotations

import pytest

from tests.kept import grows, marked, reported, training

BAD = {
    "a list": ("model.kept = []", "model.kept.append(loss)  # TLK402"),
    "a list that grows by others": ("model.kept = []", "model.kept.extend([loss])  # TLK402"),
    "a display added": ("model.kept = []", "model.kept += [loss]  # TLK402"),
    "a list in a dict": ("model.kept = {'a': []}", "model.kept['a'].append(loss)  # TLK402"),
    "a list in a dict, made when it is missing": (
        "model.kept = {}",
        "if 'a' not in model.kept:\n    model.kept['a'] = []\nmodel.kept['a'].append(loss)  # TLK402",
    ),
    "entries of a dict": ("model.kept = {}", "model.kept[i] = loss  # TLK402"),
    "a sum": ("model.kept = 0", "model.kept += loss  # TLK401"),
    "a sum in a dict": ("model.kept = {'a': 0}", "model.kept['a'] += loss  # TLK401"),
    "of a part": ("model.part = nn.Linear(1, 1); model.part.kept = []", "model.part.kept.append(loss)  # TLK402"),
}
GOOD = {
    "anew in each step": ("", "model.kept = []\nmodel.kept.append(loss)"),
    "an entry anew in each step": ("model.kept = {}", "model.kept['a'] = []\nmodel.kept['a'].append(loss)"),
    "emptied": ("model.kept = []", "model.kept.append(loss)\nmodel.kept.clear()"),
    "taken out": ("model.kept = []", "model.kept.append(loss)\nmodel.kept.pop()"),
    "one slot": ("model.kept = None", "model.kept = loss"),
    "one entry": ("model.kept = [0]", "model.kept[0] = loss"),
    "released": ("model.kept = []", "model.kept.append(loss.detach())"),
    "numbers": ("model.kept = 0", "model.kept += loss.item()"),
    "layers": ("model.kept = nn.ModuleList()", "model.kept.append(nn.Linear(1, 2))"),
    "a layer in place of another": ("model.kept = nn.ModuleList([model])", "model.kept[0] = nn.Linear(1, 2)"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_a_network_is_given_to_remember_is_kept(case: str) -> None:
    before, body = BAD[case]
    text = training(body, before=before)
    assert reported(text) == marked(text)
    assert grows(text)


@pytest.mark.parametrize("case", GOOD)
def test_what_does_not_pile_up_is_not(case: str) -> None:
    before, body = GOOD[case]
    text = training(body, before=before)
    assert reported(text) == []
    assert not grows(text)


OPEN = {
    "a list": ("model.rows.append(loss)  # TLK402", "model.rows = []"),
    "a list in a dict": ("model.rows['a'].append(loss)  # TLK402", "model.rows = {'a': []}"),
    "emptied": ("model.rows.append(loss)\nmodel.rows.clear()", "model.rows = []"),
    "an entry anew": ("model.rows['a'] = []\nmodel.rows['a'].append(loss)", "model.rows = {}"),
    "layers": ("model.rows.append(nn.Linear(1, 2))", "model.rows = nn.ModuleList()"),
}


@pytest.mark.parametrize("case", OPEN)
def test_the_same_where_it_was_made_out_of_sight(case: str) -> None:
    body, made = OPEN[case]
    text = training(body, before="model.train()")
    assert reported(text) == marked(text)
    assert grows(training(body, before=made)) is bool(marked(text))
