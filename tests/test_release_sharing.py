"""Copies of what a Dataset hands out: safe only where nobody in reach edits what may be a sample."""

from __future__ import annotations

from pathlib import Path

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
    "what a function of the module gets": (
        "def crop(row):\n    row[0] = 1\ndef show(row):\n    crop(row)\nfor rows in loader:\n    show(rows)\n",
        "unsafe",
        "unsafe",
    ),
    "its data": ("for rows in loader:\n    rows.data += 1\n", "unsafe", "unsafe"),
    "its data, set": ("for rows in loader:\n    rows.data = 1\n", "unsafe", "unsafe"),
    "another attribute, set": ("for rows in loader:\n    rows.name = 1\n", "safe", "safe"),
    "an attribute of it": ("for rows in loader:\n    rows.x.fill_(1)\n", "unsafe", "unsafe"),
    "an attribute of what nobody hands over": ("def init(m):\n    m.weight.data.fill_(1)\n", "safe", "safe"),
    "a view": ("for rows in loader:\n    rows.view(-1)[0] = 1\n", "unsafe", "unsafe"),
    "a view by a function": ("for rows in loader:\n    np.asarray(rows)[0] = 1\n", "unsafe", "unsafe"),
    "a function of its own": ("for rows in loader:\n    load()[len(rows)] = 1\n", "safe", "safe"),
    "out": ("for rows in loader:\n    np.add(1, 2, out=rows)\n", "unsafe", "unsafe"),
    "a function in place": ("for rows in loader:\n    torch.relu_(rows)\n", "unsafe", "unsafe"),
    "what only reads in place": ("for rows in loader:\n    model.copy_(rows)\n", "safe", "safe"),
    "inplace": ("for rows in loader:\n    torch.relu(rows, inplace=True)\n", "unsafe", "unsafe"),
    "not inplace": ("for rows in loader:\n    torch.relu(rows, inplace=False)\n", "safe", "safe"),
    "a frame inplace": ("for rows in loader:\n    rows.drop('a', inplace=True)\n", "safe", "unsafe"),
    "copyto": ("for rows in loader:\n    np.copyto(rows, 0)\n", "unsafe", "unsafe"),
    "at": ("for rows in loader:\n    np.add.at(rows, 0, 1)\n", "unsafe", "unsafe"),
    "at, of another function": ("for rows in loader:\n    np.logical_or.at(rows, 0, 1)\n", "unsafe", "unsafe"),
    "drawn into": ("import cv2\nfor rows in loader:\n    cv2.line(rows, 1, 2)\n", "unsafe", "unsafe"),
    "a method of the type": ("for rows in loader:\n    list.append(rows, 1)\n", "unsafe", "unsafe"),
    "an operator": ("import operator\nfor rows in loader:\n    operator.iadd(rows, 1)\n", "unsafe", "unsafe"),
    "a special method": ("for rows in loader:\n    rows.__setitem__(0, 1)\n", "unsafe", "unsafe"),
    "unpacked into": ("for rows in loader:\n    (rows[0], *rows[1]), b = load()\n", "unsafe", "unsafe"),
    "a loop's target": ("for rows in loader:\n    for rows[0] in range(3):\n        pass\n", "unsafe", "unsafe"),
    "a with's target": ("for rows in loader:\n    with open('a') as rows[0]:\n        pass\n", "unsafe", "unsafe"),
    "a with without one": ("for rows in loader:\n    with torch.no_grad():\n        pass\n", "safe", "safe"),
    "deleted": ("for rows in loader:\n    del rows[0]\n", "unsafe", "unsafe"),
    "annotated": ("for rows in loader:\n    rows[0]: int = 1\n", "unsafe", "unsafe"),
    "an entry in place": ("for rows in loader:\n    rows['a'] += 1\n", "unsafe", "unsafe"),
    "one of a display": ("for rows in loader:\n    for row in [rows, rows]:\n        row[0] = 1\n", "unsafe", "unsafe"),
    "one of a comprehension": ("for rows in loader:\n    [row.fill_(1) for row in [rows]]\n", "unsafe", "unsafe"),
    "a sample in a comprehension": ("[rows.fill_(1) for rows in loader]\n", "unsafe", "unsafe"),
    "none in a comprehension": ("[row.fill_(1) for row in load()]\n", "safe", "safe"),
    "a number that a function counts": ("def count(i):\n    i -= 1\n", "safe", "safe"),
    "a collate function": (
        "def merge(rows):\n    rows[0].x.fill_(1)\nother = DataLoader(Rows(100), collate_fn=merge)\n",
        "unsafe",
        "unsafe",
    ),
    "one whose name is a network's": ("def train(model):\n    model[0].fill_(0)\n", "unsafe", "unsafe"),
    "what was unpacked from a display": ("first, second = [0], [1]\nfirst[0] = 1\n", "safe", "safe"),
    "another name": ("for rows in loader:\n    other = rows\n    other[0] = 1\n", "unsafe", "unsafe"),
    "what was edited before": ("total = 0\nfor n in range(3):\n    total += n\n    total += 1\n", "safe", "safe"),
    "an attribute": ("loader.rows = 1\nloader.kept[0] = 1\n", "safe", "safe"),
    "an exception": ("try:\n    print()\nexcept OSError as error:\n    error.args += ('a',)\n", "safe", "safe"),
    "a match": ("match load():\n    case [first, *_]:\n        first[0] = 1\n", "safe", "safe"),
    "a method of some object": ("class Box:\n    def put(self, row):\n        row[0] = 1\n", "unsafe", "unsafe"),
    "an element of itself": ("class Box:\n    def put(self, i):\n        self[i] = 1\n", "safe", "safe"),
    "a lambda": ("crop = lambda row: row.fill(1)\n", "unsafe", "unsafe"),
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


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ("{'a': torch.ones(2)}", "safe"),
        ("{'a': torch.ones(2, requires_grad=False)}", "safe"),
        ("{'a': torch.ones(2, requires_grad=True) * 2}", "unsafe"),  # torch: only leaves support deepcopy
        ("{'a': torch.tensor([1.0], requires_grad=True) * 2}", "unsafe"),
    ],
)
def test_tensors_with_a_history_cannot_be_copied_deeply(element: str, expected: str) -> None:
    assert level(ROWS.format(f"[{element} for _ in range(root)]"), "TLK202") == expected


def test_a_dataset_that_edits_its_own_elements() -> None:
    text = ARRAYS.replace("return self.data[i]", "row = self.data[i]\n        row += 1\n        return self.data[i]")
    assert level(text, "TLK201") == "unsafe"


OWN = {
    "by a view": "self.data[i].reshape(-1)[0] = 1",
    "by a function": "shift(self.data[i])",
    "by a method": "self.shift(self.data[i])",
    "by a name": "row = self.data[i]\n        shift(row=row)",
    "an attribute of it": "shift_attribute(self.data[i])",
}


@pytest.mark.parametrize("own", OWN.values(), ids=OWN)
def test_a_dataset_that_edits_its_own_elements_in_other_ways(own: str) -> None:
    helpers = "def shift(row):\n    row += 1\ndef shift_attribute(row):\n    row.x += 1\n"
    method = "    def shift(self, row):\n        row += 1\n"
    text = ARRAYS.replace("    def __len__", method + "    def __len__")
    text = text.replace("return self.data[i]", f"{own}\n        return self.data[i]")
    assert level(helpers + text, "TLK201") == "unsafe"


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ("for rows in DataLoader(Rows(1)):\n    rows[0] = 1\n", "unsafe"),
        ("from edit import shift\nfor rows in DataLoader(Rows(1)):\n    shift(rows)\n", "unsafe"),
        ("import edit\nfor rows in DataLoader(Rows(1)):\n    edit.shift(rows)\n", "unsafe"),
        ("from edit import shift\nloader = DataLoader(Rows(1), collate_fn=shift)\n", "unsafe"),
        ("from edit import shift\nfor rows in DataLoader(Rows(1)):\n    shift(len(rows))\n", "safe"),
        ("for rows in DataLoader(Rows(1)):\n    print(rows)\n", "safe"),
        ("def crop(row):\n    row[0] = 1\n", "safe"),  # nobody hands it a sample
    ],
)
def test_modules_that_use_the_dataset(user: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "rows.py").write_text(IMPORTS + ARRAYS)
    (tmp_path / "train.py").write_text(IMPORTS + "from rows import Rows\n" + user)
    (tmp_path / "edit.py").write_text("def shift(row):\n    row += 1\n")
    found = lint(IMPORTS + ARRAYS, fixes=True, path=str(tmp_path / "rows.py"))
    assert {fix.level.value for each in found if each.code == "TLK201" for fix in each.fixes} == {expected}


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
    "an entry of what others read": ("row['b'] = 1", "self.data[i]['a']", "safe"),
    "an entry of what others count": ("row['b'] = 1", "len(self.data)", "safe"),
    "an entry of what others go through": ("row['b'] = 1", "iter(self.data)", "unsafe"),
    "an entry of what others give": ("row['b'] = 1", "self.data", "unsafe"),
    "an element that others may read": ("row[0] = 1", "self.data[i]['a']", "unsafe"),
    "an element that nobody reads": ("row[0] = 1", "1", "safe"),
}


@pytest.mark.parametrize(("edit", "other", "expected"), EDITS.values(), ids=EDITS)
def test_edits_that_repeat_themselves(edit: str, other: str, expected: str) -> None:
    found = lint(IMPORTS + RECORD.format(edit=edit, other=other), fixes=True)
    assert {fix.level.value for each in found if each.code == "TLK203" for fix in each.fixes} == {expected}


def test_an_entry_of_what_is_read_from_outside() -> None:
    text = RECORD.format(edit="row['c'] = i", other="1") + "print(Rows(1).data)\n"
    found = lint(IMPORTS + text, fixes=True)
    assert {fix.level.value for each in found if each.code == "TLK203" for fix in each.fixes} == {"unsafe"}


SHIFT = "def shift(row):\n    row += 1\ndef hand_on(row):\n    shift(row)\n"
BATCHES = (
    "def collect(data):\n    kept = []\n    for x, y in DataLoader(data, num_workers=2):\n        {}\n    return kept\n"
)
KEPT = {
    "as it is": ("kept.append(y.numpy())", "safe"),
    "edited": ("kept.append(y.numpy())\n        y += 1", ""),
    "edited by another name": ("kept.append(y.numpy())\n        z = y\n        z[0] = 1", ""),
    "through the holder": ("kept.append(y.numpy())\n        kept[-1][0] = 1", ""),
    "through a call": ("kept.append(y.numpy())\n        list(kept)[0][0] = 1", ""),
    "by a view": ("kept.append(y.numpy())\n        y.view(-1)[0] = 1", ""),
    "by a function": ("kept.append(y.numpy())\n        shift(y)", ""),
    "by a function of a function": ("kept.append(y.numpy())\n        hand_on(y)", ""),
    "by a function of its own": ("kept.append(y.numpy())\n        shift(kept)", "safe"),
    "of another": ("kept.append(y.numpy())\n        z = [1]\n        z[0] = 1", "safe"),
    "asked about": ("kept.append(y.numpy())\n        print(y.data_ptr())", "unsafe"),
}


@pytest.mark.parametrize(("body", "expected"), KEPT.values(), ids=KEPT)
def test_batches_that_are_edited(body: str, expected: str) -> None:
    found = [each for each in lint(IMPORTS + SHIFT + BATCHES.format(body), fixes=True) if each.code == "TLK404"]
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
    "by a function": ("kept.append(whole[:10, :10])\n        shift(whole)", ""),
    "by its data": ("kept.append(whole[:10, :10])\n        whole.T[0] = 1", ""),
    "edited by another name": ("kept.append(whole[:10, :10])\n        part = whole\n        part[0] = 1", ""),
    "through the holder": ("kept.append(whole[:10, :10])\n        kept[-1][0] = 1", ""),
    "through a call": ("kept.append(whole[:10, :10])\n        list(kept)[-1][0] = 1", ""),
}


@pytest.mark.parametrize(("body", "expected"), VIEWS.values(), ids=VIEWS)
def test_views_that_are_edited(body: str, expected: str) -> None:
    found = [each for each in lint(IMPORTS + SHIFT + CROPS.format(body), fixes=True) if each.code == "TLK205"]
    assert {fix.level.value for each in found for fix in each.fixes} == ({expected} if expected else set())
    assert bool(expected) or found[0].unfixed == "an array is edited in place here, and a view sees it"


def test_a_view_that_another_file_edits(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "draw.py").write_text("def shift(row):\n    row += 1\ndef show(row):\n    print(row)\n")
    for name, expected in (("shift", set[str]()), ("show", {"safe"})):
        body = f"kept.append(whole[:10, :10])\n        {name}(whole)"
        text = f"{IMPORTS}from draw import {name}\n" + CROPS.format(body)
        found = [each for each in lint(text, fixes=True, path=str(tmp_path / "a.py")) if each.code == "TLK205"]
        assert {fix.level.value for each in found for fix in each.fixes} == expected
