"""A fix keeps what the code computes and ends what leaked: both texts are run, with the real torch and NumPy."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fixer import mended

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

SETUP = """\
import copy
import os

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
"""


def runs(text: str, call: Callable[[dict[str, Any]], Any], unsafe: bool = False) -> tuple[Any, Any, str]:
    """What `call` makes of a module before and after its fixes, and all that was printed: the same both times."""
    before = SETUP + text
    after = mended(before, unsafe).text
    assert after != before
    results, printed = [], []
    for each in (before, after):
        torch.manual_seed(0)
        names: dict[str, Any] = {"__name__": "fixed"}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(each, "fixed", "exec"), names)
            results.append(call(names))
        printed.append(out.getvalue())
    if not unsafe:
        assert printed[0] == printed[1]
    return results[0], results[1], after


def same(one: Any, other: Any) -> bool:
    """Whether two results are of one type, and equal in all that is in them."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and bool(torch.equal(one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and bool(np.array_equal(one, other))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def graphs(value: Any) -> int:
    """How many tensors of a result carry a graph."""
    if isinstance(value, torch.Tensor):
        return int(value.grad_fn is not None)
    if isinstance(value, dict):
        value = list(value.values())
    return sum(map(graphs, value)) if isinstance(value, (list, tuple)) else 0


TRAIN = """\
class Meter:
    def __init__(self):
        self.total, self.count = 0, 0
    def update(self, value, n=1):
        self.total += value * n
        self.count += n
def train():
    model, criterion = nn.Linear(3, 1), nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    loader = [(torch.rand(4, 3), torch.rand(4, 1)) for _ in range(5)]
    total, kept, meter = 0, [], Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {}
    return total, kept, meter.total, model.weight.detach()
"""


STATEMENTS = [
    "total += loss",
    "kept.append({'loss': loss, 'n': len(x)})",
    "kept.append(loss); total += loss; meter.update(loss * 2)",
    "total += (loss\n                  # half\n                  / 2)",
    "total = total + loss * 2",
    "total = loss + total",
    "total += (loss + 1) if meter.count else loss",
    "kept.append(loss)",
    "kept.append((loss, 1))",
    "kept += [loss, -loss]",
    "meter.update(loss, n=2)",
]


@pytest.mark.parametrize(
    "statement",
    [
        *STATEMENTS[:2],
        *(pytest.param(each, marks=[pytest.mark.long, pytest.mark.watched]) for each in STATEMENTS[2:4]),
        *(pytest.param(each, marks=pytest.mark.long) for each in STATEMENTS[4:]),
    ],
)
def test_sums_and_stores(statement: str) -> None:
    before, after, _ = runs(TRAIN.format(statement), lambda names: names["train"]())
    assert graphs(before) > 0
    assert graphs(after) == 0
    assert same(before, after)


@pytest.mark.parametrize("shown", ["f'{total / 5:.4f}'", "f'{max(total, 0):.4f}'"])
def test_sums_that_become_numbers_show_the_same(shown: str) -> None:
    text = TRAIN.format("total += loss").replace("    return total, kept", f"    print({shown})\n    return kept")
    with contextlib.redirect_stdout(io.StringIO()):
        before, after, fixed = runs(text, lambda names: (names["train"](), None), unsafe=True)
    assert "total += loss.item()" in fixed
    assert same(before, after)
    printed = []
    for each in (SETUP + text, fixed):
        torch.manual_seed(0)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            names: dict[str, Any] = {}
            exec(each, names)
            names["train"]()
        printed.append(out.getvalue())
    assert printed[0] == printed[1]


LABELS = """\
class Rows(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, i):
        return torch.full((2,), i), i
def collect():
    loader = DataLoader(Rows(), batch_size=2, num_workers={})
    kept = []
    for x, y in loader:
        {}
    return kept
"""


@pytest.mark.parametrize(
    "statement",
    ["kept.append(y.numpy())", "kept.append(x.detach())", "kept.append((x.detach()[0], y.numpy()))"],
)
def test_batches_own_their_memory(statement: str) -> None:
    text = LABELS.format(2, statement)
    before, after, _ = runs(text, lambda names: names["collect"]())
    assert same(before, after)
    for old, new in zip(before, after):
        for one, other in zip(old, new) if isinstance(old, tuple) else [(old, new)]:
            assert is_shared(one)
            assert not is_shared(other)


def is_shared(value: Any) -> bool:
    """Whether memory belongs to a batch from a worker."""
    if isinstance(value, np.ndarray):
        return value.base is not None
    return bool(value.is_shared())


ROWS = """\
class Rows(Dataset):
    def __init__(self):
        self.data = {}
    def __len__(self):
        return len(self.data)
    def __getitem__(self, i):
        {}
def collate(batch): return batch
rows = Rows()
loader = DataLoader(rows, num_workers=0, collate_fn=collate)
"""

DATA = {
    "arrays": ("np.arange(12.0).reshape(3, 4)", "return self.data[i]"),
    "views of arrays": ("np.arange(12.0).reshape(3, 4)", "return np.flip(self.data[i]), i"),
    "tensors": ("torch.arange(12.0).reshape(3, 4)", "return self.data[i]"),
    "views of tensors": ("torch.arange(12.0).reshape(3, 4)", "return {'x': self.data[i][1:], 'i': i}"),
    "one of two": ("torch.arange(12.0).reshape(3, 4)", "return self.data[i] if i else self.data[1]"),
    "records": ("[{'a': [n, n]} for n in range(3)]", "return self.data[i]"),
    "flat records": ("[{'a': n} for n in range(3)]", "return self.data[i], i"),
    "lists": ("[[n, n] for n in range(3)]", "return self.data[i]"),
}


def edit(value: Any) -> None:
    """Change all that can be changed in a sample."""
    if isinstance(value, (np.ndarray, torch.Tensor)):
        value *= 0
        value -= 1
    elif isinstance(value, (list, tuple, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            edit(each)
        if isinstance(value, list):
            value.append("edited")
        elif isinstance(value, dict):
            value["edited"] = True


@pytest.mark.parametrize(("data", "sample"), DATA.values(), ids=DATA)
def test_an_edited_sample_leaves_the_dataset_alone(data: str, sample: str) -> None:
    def samples(names: dict[str, Any]) -> tuple[Any, bool]:
        given = [names["rows"][i] for i in range(3)]
        whole = names["copy"].deepcopy(names["rows"].data)
        for each in given:
            edit(each)
        return whole, same(names["rows"].data, whole)

    before, after, _ = runs(ROWS.format(data, sample), samples)
    assert same(before[0], after[0])
    assert (before[1], after[1]) == (False, True)
    one, other, _ = runs(ROWS.format(data, sample), lambda names: [names["rows"][i] for i in range(3)])
    assert same(one, other)


MUTATED = {
    "a record": ("[{'a': [n]} for n in range(3)]", "r = self.data[i]; r['b'] = 1\n        return len(r)"),
    "a part": ("[{'a': [n]} for n in range(3)]", "r = self.data[i]; r['a'].append(1)\n        return sum(r['a']) + i"),
    "a row": ("np.ones((3, 4))", "r = self.data[i]; r *= 2\n        return r + 1"),
    "a tensor": ("torch.ones(3, 4)", "r = self.data[i]; r.mul_(2)\n        return r + 1"),
}


@pytest.mark.parametrize(("data", "sample"), MUTATED.values(), ids=MUTATED)
def test_a_sample_is_the_same_each_time(data: str, sample: str) -> None:
    def twice(names: dict[str, Any]) -> tuple[Any, bool]:
        rows = names["rows"]
        whole = names["copy"].deepcopy(rows.data)
        first = [rows[i] for i in range(3)]
        [rows[i] for i in range(3)]
        return first, same(rows.data, whole)

    before, after, _ = runs(ROWS.format(data, sample), twice, unsafe=True)
    assert same(before[0], after[0])
    assert (before[1], after[1]) == (False, True)


FILLED = """\
class Names(Dataset):
    def __init__(self, path):
        {}
    def __len__(self):
        return len(self.data)
    def __getitem__(self, i):
        {}
names = Names(PATH)
loader = DataLoader(names, num_workers=2)
"""


@pytest.mark.parametrize(
    ("init", "sample"),
    [
        ("self.data = [f'é{n}.jpg' for n in os.listdir(path)]", "return self.data[i], self.data[-1]"),
        ("self.data = []\n        for n in os.listdir(path): self.data.append(f'{n}')", "return self.data[i] + '.jpg'"),
        ("self.data = sorted([name.strip() for name in os.listdir(path)])", "return self.data[i]"),
        ("self.data = [f'{n}' for n in os.listdir(path)]", "return sum(each < self.data[i] for each in self.data)"),
        ("self.data = [int(n) for n in os.listdir(path)]", "return self.data[i]"),
        ("self.data = [float(n) for n in os.listdir(path)]", "return self.data[i] / 3, [self.data[i]]"),
    ],
)
def test_arrays_give_what_lists_gave(tmp_path: Path, init: str, sample: str) -> None:
    for number in range(20):
        (tmp_path / str(number)).touch()

    def samples(names: dict[str, Any]) -> tuple[Any, Any, type]:
        rows = names["names"]
        return [rows[i] for i in range(len(rows))], list(names["loader"]), type(rows.data)

    text = FILLED.format(init, sample).replace("PATH", repr(str(tmp_path)))
    before, after, _ = runs(text, samples, unsafe=True)
    assert same(before[:2], after[:2])
    assert (before[2], after[2]) == (list, np.ndarray)


EVALUATION = """\
import functools
def timed(f):
    @functools.wraps(f)
    def g(*a): return f(*a)
    return g
found = {}
def register(f):
    found[f.__name__] = f
    return f
class Evaluation:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
"""
METHOD = """\
    def validate(self):
        self.model.eval()
        outputs = []
        for x, y in self.loader:
            outputs.append(self.model(x).sigmoid())
        return outputs
"""
GIVEN = METHOD.replace("self.", "").replace("(self)", "(model, loader)")
YIELDED = METHOD.replace("outputs.append(", "yield (").replace("return outputs", "outputs.clear()")

METHODS: dict[str, tuple[str, Callable[[Any, Any, Any], Any]]] = {
    "plain": (METHOD, lambda made, *_: made.validate()),
    "property": ("    @property\n" + METHOD, lambda made, *_: made.validate),
    "cached property": ("    @functools.cached_property\n" + METHOD, lambda made, *_: made.validate),
    "wrapped": ("    @timed\n" + METHOD, lambda made, *_: made.validate()),
    "registered": ("    @register\n" + METHOD, lambda made, *_: made.validate()),
    "wrapped and registered": ("    @register\n    @timed\n" + METHOD, lambda made, *_: made.validate()),
    "static": ("    @staticmethod\n" + GIVEN, lambda made, *given: made.validate(*given)),
    "class": (
        "    @classmethod\n" + GIVEN.replace("(model, ", "(cls, model, "),
        lambda made, *given: type(made).validate(*given),
    ),
    "generator": (YIELDED, lambda made, *_: list(made.validate())),
    "static generator": (
        "    @staticmethod\n" + YIELDED.replace("self.", "").replace("(self)", "(model, loader)"),
        lambda made, *given: list(made.validate(*given)),
    ),
}


@pytest.mark.parametrize(("method", "call"), METHODS.values(), ids=METHODS)
def test_evaluation_without_gradients(method: str, call: Callable[[Any, Any, Any], Any]) -> None:
    def evaluated(names: dict[str, Any]) -> tuple[Any, Any]:
        model, loader = torch.nn.Linear(3, 2), [(torch.rand(4, 3), 0) for _ in range(3)]
        made = names["Evaluation"](model, loader)
        registered = names["found"].get("validate")
        return call(made, model, loader), registered and registered(made)

    before, after, fixed = runs(EVALUATION + method, evaluated, unsafe=True)
    assert "    @torch.no_grad()\n" in fixed
    assert len(before[0]) == graphs(before[0]) == 3
    assert graphs(after[0]) == graphs(after[1]) == 0
    assert all(map(torch.equal, before[0], after[0]))
    assert torch.is_grad_enabled()
