"""Copies of what a Dataset hands out: safe only where nobody in reach edits what may be a sample."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint
from tests.model import IMPORTS

ROWS = """\
class Rows(Dataset):
    def __init__(self, root):
        self.data = {}
    def __len__(self):
        return len(self.data)
    def __getitem__(self, i):
        return self.data[i]
loader = DataLoader(Rows(100), collate_fn=list, num_workers=2)
"""
ARRAYS = ROWS.format("np.zeros((root, 4))")
RECORDS = ROWS.format("[{'a': [n]} for n in range(root)]")

USERS = {
    "nobody": ("", "safe", "safe"),
    "one that reads": ("for rows in loader:\n    print(rows)\n", "safe", "safe"),
    "a loop": ("for rows in loader:\n    rows[0][0] = 1\n", "unsafe", "unsafe"),
    "a loop over a zip": ("for rows, n in zip(loader, range(3)):\n    rows[0] += 1\n", "unsafe", "unsafe"),
    "a loop in a loop": ("for rows in loader:\n    for row in rows:\n        row += 1\n", "unsafe", "unsafe"),
    "entries with names": ("for rows in loader:\n    rows['a'] = 1\n", "safe", "unsafe"),
    "in place": ("for rows in loader:\n    rows.clamp_(0)\n", "unsafe", "unsafe"),
    "no edit": ("for rows in loader:\n    rows.requires_grad_()\n", "safe", "safe"),
    "an element": ("row = Rows(3)[0]\nrow.sort()\n", "unsafe", "unsafe"),
    "a function that nobody calls": ("def crop(row):\n    row[0] = 1\n", "unsafe", "unsafe"),
    "a function that gets a sample": (
        "def crop(row):\n    row[0] = 1\nfor rows in loader:\n    crop(rows)\n",
        "unsafe",
        "unsafe",
    ),
    "a function that gets its own": ("def crop(row):\n    row[0] = 1\ncrop(np.zeros(3))\n", "safe", "safe"),
    "a lambda's function": ("def crop(row):\n    row[0] = 1\ncrop(*loader)\n", "unsafe", "unsafe"),
    "its own container": ("kept = {}\nkept['a'] = 1\nkept.update(b=2)\n", "safe", "safe"),
    "a number": ("for n in range(3):\n    n += 1\n", "safe", "safe"),
    "what was unpacked": ("first, second = load()\nfirst[0] = 1\n", "unsafe", "unsafe"),
    "what was unpacked from a display": ("first, second = [0], [1]\nfirst[0] = 1\n", "safe", "safe"),
    "another name": ("for rows in loader:\n    other = rows\n    other[0] = 1\n", "unsafe", "unsafe"),
    "what was edited before": ("total = 0\nfor n in range(3):\n    total += n\n    total += 1\n", "safe", "safe"),
    "an attribute": ("loader.rows = 1\nloader.kept[0] = 1\n", "safe", "safe"),
    "an exception": ("try:\n    print()\nexcept OSError as error:\n    error.args += ('a',)\n", "safe", "safe"),
    "a match": ("match load():\n    case [first, *_]:\n        first[0] = 1\n", "safe", "safe"),
    "a method of some object": ("class Box:\n    def put(self, row):\n        row[0] = 1\n", "unsafe", "unsafe"),
    "its constructor": ("class Box:\n    def __init__(self, row):\n        row[0] = 1\n", "safe", "safe"),
    "whose memory it is": ("print(np.shares_memory(loader, loader))\n", "unsafe", "unsafe"),
    "whose base it is": ("for rows in loader:\n    print(rows.base is None)\n", "unsafe", "unsafe"),
    "whether it is the same": ("print(loader is loader)\n", "unsafe", "unsafe"),
}


def level(text: str, code: str) -> str:
    (fix,) = [fix for each in lint(IMPORTS + text, fixes=True) if each.code == code for fix in each.fixes]
    return fix.level.value


@pytest.mark.parametrize(("user", "array", "record"), USERS.values(), ids=USERS)
def test_who_edits_samples(user: str, array: str, record: str) -> None:
    assert (level(ARRAYS + user, "TLK201"), level(RECORDS + user, "TLK202")) == (array, record)


def test_a_dataset_that_edits_its_own_elements() -> None:
    text = ARRAYS.replace("return self.data[i]", "row = self.data[i]\n        row += 1\n        return self.data[i]")
    assert level(text, "TLK201") == "unsafe"


RECORD = """\
class Rows(Dataset):
    def __init__(self, root):
        self.data = [{{'a': [n], 'b': 1}} for n in range(root)]
    def __len__(self):
        return len(self.data)
    def other(self, i):
        return {other}
    def __getitem__(self, i):
        row = self.data[i]
        {edit}
        return 1
"""
EDITS = {
    "an entry": ("row['c'] = i", "1", "safe"),
    "an entry by another": ("row['c'] = row['a']", "1", "safe"),
    "two entries": ("row['c'] = 1; row['d'] = row['a']", "1", "safe"),
    "an entry by itself": ("row['b'] = row['b'] + 1", "1", "unsafe"),
    "one by the other": ("row['c'] = 1; row['d'] = row['c']", "1", "unsafe"),
    "an entry by all of it": ("row['c'] = len(row)", "1", "unsafe"),
    "an entry of an entry": ("row['a'][0] = 1", "1", "unsafe"),
    "an entry that changes": ("row[i] = 1", "1", "unsafe"),
    "one more": ("row['a'].append(1)", "1", "unsafe"),
    "an entry that others read": ("row['b'] = 1", "self.data[i]['b']", "unsafe"),
}


@pytest.mark.parametrize(("edit", "other", "expected"), EDITS.values(), ids=EDITS)
def test_edits_that_repeat_themselves(edit: str, other: str, expected: str) -> None:
    found = lint(IMPORTS + RECORD.format(edit=edit, other=other), fixes=True)
    assert {fix.level.value for each in found if each.code == "TLK203" for fix in each.fixes} == {expected}


BATCHES = (
    "def collect(data):\n    kept = []\n    for x, y in DataLoader(data, num_workers=2):\n        {}\n    return kept\n"
)
KEPT = {
    "as it is": ("kept.append(y.numpy())", "safe"),
    "edited": ("kept.append(y.numpy())\n        y += 1", ""),
    "edited by another name": ("kept.append(y.numpy())\n        z = y\n        z[0] = 1", ""),
    "through the holder": ("kept.append(y.numpy())\n        kept[-1][0] = 1", ""),
    "through a call": ("kept.append(y.numpy())\n        list(kept)[0][0] = 1", ""),
    "of another": ("kept.append(y.numpy())\n        z = [1]\n        z[0] = 1", "safe"),
    "asked about": ("kept.append(y.numpy())\n        print(y.data_ptr())", "unsafe"),
}


@pytest.mark.parametrize(("body", "expected"), KEPT.values(), ids=KEPT)
def test_batches_that_are_edited(body: str, expected: str) -> None:
    found = [each for each in lint(IMPORTS + BATCHES.format(body), fixes=True) if each.code == "TLK404"]
    assert {fix.level.value for each in found for fix in each.fixes} == ({expected} if expected else set())
    assert bool(expected) or found[0].unfixed.startswith("the batch is edited in place here")


CROPS = """\
def crops(paths):
    kept, total = [], 0
    for path in paths:
        whole = np.load(path)
        {}
    return kept
"""
VIEWS = {
    "as it is": ("kept.append(whole[:10, :10])", "safe"),
    "a number beside it": ("kept.append(whole[:10, :10])\n        total += 1", "safe"),
    "edited": ("kept.append(whole[:10, :10])\n        whole *= 2", ""),
    "edited by another name": ("kept.append(whole[:10, :10])\n        part = whole\n        part[0] = 1", ""),
    "through the holder": ("kept.append(whole[:10, :10])\n        kept[-1][0] = 1", ""),
    "through a call": ("kept.append(whole[:10, :10])\n        list(kept)[-1][0] = 1", ""),
}


@pytest.mark.parametrize(("body", "expected"), VIEWS.values(), ids=VIEWS)
def test_views_that_are_edited(body: str, expected: str) -> None:
    found = [each for each in lint(IMPORTS + CROPS.format(body), fixes=True) if each.code == "TLK205"]
    assert {fix.level.value for each in found for fix in each.fixes} == ({expected} if expected else set())
    assert bool(expected) or found[0].unfixed == "an array is edited in place here, and a view sees it"
