"""TLK203: what is set in a stored element proves that it can be changed, whatever it is."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint
from tests.model import codes, dataset


@pytest.mark.parametrize(
    ("init", "edit", "expected"),
    [
        ("self.data = list(data)", "row[:, 1:] = 0", 1),
        ("self.data = list(data)", "row[:, 1:] *= 2", 1),
        ("self.data = list(data)", "row['image'] = 0", 1),
        ("self.data = list(data)", "row[0] = 0", 1),
        ("self.data = tuple(data)", "row[0] = 0", 1),
        ("self.data = {k: v for k, v in data.items()}", "row['image'] = 0", 1),
        ("self.data = {k: v for k, v in data.items()}", "row[:, 1:] = 0", 1),
        ("self.data = {k: v for k, v in data.items()}", "row[i] = 0", 0),  # a table of tables may be a cache
        ("self.data = data", "row['image'] = 0", 0),  # may make its elements when it is asked
        ("self.data = data", "row[0] = 6 - row[0]", 1),  # a row of a list or an array: others are set by name
        ("self.data = data", "row[-1] += 1", 1),
        ("self.data = data", "row[:, 1:] *= 2", 1),
        ("self.data = data", "row[0, 1:] = 0", 1),
        ("self.data = data", "row[i] = 0", 0),
        ("self.data = data", "row[-i] = 0", 0),
        ("self.data = data", "row *= 2", 0),
        ("self.dataset = data", "row = self.dataset[i]; row[0] = 0", 0),
        ("self.data = h5py.File(root)", "row[0] = 0", 0),
        ("self.data = list(data)", "row.image = 0", 0),
        ("self.data = list(data)", "del row[0]", 0),
        ("self.data = list(data)", "row.add_(1)", 1),
        ("self.data = list(data)", "row.add(1)", 0),
        ("self.data = list(data)", "row.update(image=0)", 1),
        ("self.data = data", "row.update(image=0)", 0),
        ("self.data = data", "row.add_(1)", 0),
        ("self.data = pickle.load(open(root, 'rb'))", "row.update(image=0)", 1),
        ("self.data = pickle.load(open(root, 'rb'))", "row['image'] = 0", 1),
        ("self.data = pickle.load(open(root, 'rb'))", "row[i] = 0", 0),
        ("self.data = list(data)", "row = row.copy(); row['image'] = 0", 0),
        ("self.data = list(data)", "row = dict(row); row['image'] = 0", 0),
        ("self.data = list(data)", "if 'image' not in row: row['image'] = 0", 0),
    ],
)
def test_stored_elements_of_unknown_kind(init: str, edit: str, expected: int) -> None:
    sample = f"row = self.data[i]\n{edit}\nreturn 0"
    assert codes(dataset(init, sample)).count("TLK203") == expected


@pytest.mark.parametrize(("init", "expected"), [("self.data = data", "note"), ("self.data = list(data)", "error")])
def test_what_holds_them_is_seen_or_not(init: str, expected: str) -> None:
    found = lint(dataset(init, "row = self.data[i]\nrow[0] = 6 - row[0]\nreturn 0"))
    assert [each.severity.value for each in found if each.code == "TLK203"] == [expected]


@pytest.mark.parametrize(
    ("name", "read", "expected"),
    [
        ("__getitem__", "self.data[i]", 1),
        ("__getitem__", "self.data[self.index[i]]", 0),
        ("__getitem__", "self.data[i:i + 1]", 0),
        ("__getitems__", "self.data[i]", 0),
    ],
)
def test_what_gives_copies_for_arrays_of_indices(name: str, read: str, expected: int) -> None:
    text = dataset("self.data = data\nself.index = root", f"row = {read}\nrow[:, 0] *= 2\nreturn 0")
    assert codes(text.replace("__getitem__", name)).count("TLK203") == expected
