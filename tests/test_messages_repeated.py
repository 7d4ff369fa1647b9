"""A loader that is repeated gives its batches again and again, and keeps none of them."""

from __future__ import annotations

import itertools
import re

import pytest

from flake8_torchleak.lint import lint
from tests.model import IMPORTS, messages
from tests.test_messages_pasted import run, said

REPEATED = {
    "a loader": ("itertools.cycle(loader)", "itertools.chain.from_iterable(itertools.cycle([loader]))"),
    "its batches, numbered": ("itertools.cycle(enumerate(loader))", "enumerate(loader)"),
    "an iterator": ("itertools.cycle(iter(loader))", "itertools.chain.from_iterable(itertools.cycle([loader]))"),
    "a long name": ("itertools.cycle(loader_of_all_pictures)", "loader_of_all_pictures"),
}


@pytest.mark.parametrize(("repeated", "code"), REPEATED.values(), ids=REPEATED)
def test_a_loader_is_repeated_without_its_batches(repeated: str, code: str) -> None:
    name = re.findall("loader\\w*", repeated)[0]
    text = f"def train(data):\n    {name} = DataLoader(data, batch_size=2)\n    return {{}}\n"
    advice = said(text.format(repeated), "TLK405").rpartition("; ")[2]
    if "chain" in code:
        assert advice == f"use `{code}`"
        remedied = text.format(code)
    else:
        assert advice == f"in a generator `while True: yield from {code}`"
        remedied = text.replace("return {}", f"while True:\n        yield from {code}")
    assert not messages(IMPORTS + remedied, "TLK405")
    batches = itertools.islice(run(remedied, itertools=itertools)["train"](range(4)), 4)
    assert [(x[1] if isinstance(x, tuple) else x).tolist() for x in batches] == [[0, 1], [2, 3]] * 2


def test_an_iterator_is_not_repeated_by_a_fix() -> None:
    """It has ended after the first round, and would be asked for ever."""
    text = f"{IMPORTS}def train(data):\n    loader = DataLoader(data)\n    return itertools.cycle({{}})\n"
    (fixed,) = [each for each in lint(text.format("loader"), fixes=True) if each.code == "TLK405"]
    (left,) = [each for each in lint(text.format("iter(loader)"), fixes=True) if each.code == "TLK405"]
    assert fixed.fixes
    assert not left.fixes
