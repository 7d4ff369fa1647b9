"""A loader that is repeated, or collected: what to write in its place keeps no batch, and gives them as before."""

from __future__ import annotations

import itertools
import re
from textwrap import indent

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


GO_OVER = "go over the loader, store what is used (numbers, `.clone()` of a field)"
RETURN = "return `loader`, loop over that where batches are used"
COLLECTED = {
    "gone over": ("for batch in list(loader):\n    print(batch)", "loop over `loader` itself"),
    "numbered": ("for i, batch in enumerate(list(loader)):\n    print(batch)", "loop over `loader` itself"),
    "a variable that is gone over": (
        "batches = list(loader)\nfor batch in batches:\n    print(batch)",
        "loop over `loader` itself",
    ),
    "counted and gone over": (
        "batches = list(loader)\nfor batch in batches:\n    print(batch, len(batches))",
        "loop over `loader` itself",
    ),
    "in a comprehension": ("print([len(batch) for batch in list(loader)])", "loop over `loader` itself"),
    "returned": ("return list(loader)", RETURN),
    "returned as one of two": ("batches = [*loader]\nreturn batches, 1", RETURN),
    "returned by number": ("return {i: x for i, x in enumerate(loader)}", RETURN.replace("`loader`", "the loader")),
    "put into an order": ("return sorted(loader, key=len)", f"sort only what is used of each batch{GO_OVER[38:]}"),
    "handed on": ("show(list(loader))", GO_OVER),
    "an attribute": ("self.batches = list(loader)", GO_OVER),
    "two names": ("one = other = list(loader)\nreturn one", GO_OVER),
    "never used": ("batches = list(loader)", GO_OVER),
}


@pytest.mark.parametrize(("body", "advice"), COLLECTED.values(), ids=COLLECTED)
def test_batches_that_are_collected_go_where_they_are_used(body: str, advice: str) -> None:
    text = "def collect(self, data):\n    loader = DataLoader(data, batch_size=2)\n" + indent(body, "    ")
    found = said(f"{text}\n", "TLK405").rpartition("; ")[2]
    assert found.replace("`enumerate(loader)`", "the loader") == advice
    if advice == RETURN and "1" not in body:
        remedied = run("def collect(self, data):\n    loader = DataLoader(data, batch_size=2)\n    return loader\n")
        assert [each.tolist() for each in remedied["collect"](None, range(4))] == [[0, 1], [2, 3]]
