"""Fixes of the Dataset rules: copies of what is handed out or edited, and arrays in the place of lists."""

from __future__ import annotations

import pytest

from tests.fixer import fixed, left, mended, reasons
from tests.model import IMPORTS, dataset

LOADED = """\
def collate(batch): return batch
DataLoader(Rows(1, 2), num_workers=count, collate_fn=collate)
"""

ARRAY, TENSOR = "self.data = np.zeros((9, 9))", "self.data = torch.zeros(9, 9)"
RECORDS, FLAT = "self.data = [{'a': [i]} for i in range(root)]", "self.data = [{'a': i} for i in range(root)]"
LISTS = "self.data = [[i] for i in range(root)]"
PARSED = "self.data = json.load(open(root))"

COPIES = {
    "a row of an array": (ARRAY, "return self.data[i]", "return self.data[i].copy()"),
    "a row of a tensor": (TENSOR, "return self.data[i]", "return self.data[i].clone()"),
    "one of a tuple": (TENSOR, "return self.data[i], i", "return self.data[i].clone(), i"),
    "two of a tuple": (
        TENSOR,
        "return (self.data[i], self.data[i + 1])",
        "return (self.data[i].clone(), self.data[i + 1].clone())",
    ),
    "values of a dict": (
        TENSOR,
        "return {'x': self.data[i], 'y': self.data[i].T}",
        "return {'x': self.data[i].clone(), 'y': self.data[i].T.clone()}",
    ),
    "a keyword": (TENSOR, "return dict(x=self.data[i])", "return dict(x=self.data[i].clone())"),
    "parentheses": (TENSOR, "return (self.data[i])", "return (self.data[i].clone())"),
    "parentheses with a comment": (
        TENSOR,
        "return (\n    # row\n    self.data[i]\n)",
        "return (\n    # row\n    self.data[i].clone()\n)",
    ),
    "a variable": (TENSOR, "x = self.data[i]\nreturn x", "x = self.data[i]\nreturn x.clone()"),
    "a ternary": (
        TENSOR,
        "return self.data[i] if i else self.data[0]",
        "return self.data[i].clone() if i else self.data[0].clone()",
    ),
    "perhaps None": (TENSOR, "return self.data[i] if i else None", "return self.data[i].clone() if i else None"),
    "a walrus": (TENSOR, "return (x := self.data[i])", "return (x := self.data[i]).clone()"),
    "yielded": (TENSOR, "yield self.data[i]", "yield self.data[i].clone()"),
    "a line shared": (TENSOR, "x = 1; return self.data[i]", "x = 1; return self.data[i].clone()"),
    "a view of a view": (ARRAY, "return self.data[i][1:]", "return self.data[i][1:].copy()"),
    "a nested record": (RECORDS, "return self.data[i]", "return copy.deepcopy(self.data[i])"),
    "a flat record": (FLAT, "return self.data[i]", "return copy.copy(self.data[i])"),
    "a flat list": (LISTS, "return self.data[i]", "return copy.copy(self.data[i])"),
    "a record in a bare tuple": (LISTS, "return self.data[i], 1", "return copy.copy(self.data[i]), 1"),
    "records of a ternary": (
        LISTS,
        "return self.data[i] if i else self.data[0]",
        "return copy.copy(self.data[i]) if i else copy.copy(self.data[0])",
    ),
    "a record in parentheses": (LISTS, "return (self.data[i])", "return (copy.copy(self.data[i]))"),
    "a walrus of a record": (LISTS, "return (x := self.data[i])", "return (copy.copy((x := self.data[i])))"),
    "a record over lines": (
        LISTS,
        "return self.data[\n    i  # which\n]",
        "return copy.copy(self.data[\n    i  # which\n])",
    ),
    "an edited row of a tensor": (
        TENSOR,
        "r = self.data[i]\nr.mul_(2)\nreturn r + 1",
        "r = self.data[i].clone()\nr.mul_(2)\nreturn r + 1",
    ),
    "an edited row of an array": (
        ARRAY,
        "r = self.data[i]\nr *= 2\nreturn r + 1",
        "r = self.data[i].copy()\nr *= 2\nreturn r + 1",
    ),
    "an edited record": (
        RECORDS,
        "r = self.data[i]\nr['b'] = 1\nreturn 1",
        "r = self.data[i].copy()\nr['b'] = 1\nreturn 1",
    ),
    "an edited part of a record": (
        RECORDS,
        "r = self.data[i]\nr['a'].append(1)\nreturn 1",
        "r = copy.deepcopy(self.data[i])\nr['a'].append(1)\nreturn 1",
    ),
    "an edited record in parentheses": (
        RECORDS,
        "r = (self.data[i])\nr['b'] = 1\nreturn 1",
        "r = (self.data[i].copy())\nr['b'] = 1\nreturn 1",
    ),
    "an edited part": (
        RECORDS,
        "r = self.data[i]['a']\nr.append(1)\nreturn 1",
        "r = self.data[i]['a'].copy()\nr.append(1)\nreturn 1",
    ),
    "an edited record of a tuple": (
        RECORDS,
        "r, s = self.data[i], 1\nr['b'] = 1\nreturn s",
        "r, s = self.data[i].copy(), 1\nr['b'] = 1\nreturn s",
    ),
    "an edited view that is handed out": (
        TENSOR,
        "r = self.data[i]\nr += 1\nreturn r",
        "r = self.data[i].clone()\nr += 1\nreturn r",
    ),
}


@pytest.mark.parametrize(("init", "before", "after"), COPIES.values(), ids=COPIES)
def test_what_is_stored_is_copied(init: str, before: str, after: str) -> None:
    assert fixed(dataset(init, before) + LOADED, unsafe=True, codes="TLK2") == dataset(init, after) + LOADED
    assert fixed(dataset(init, after) + LOADED, codes="TLK2") == dataset(init, after) + LOADED


OBJECTS = """\
class Record:
    def __init__(self, x):
        self.x = x
"""
OF_OBJECTS = "self.data = [Record(i) for i in range(root)]"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return self.data[i]", "return copy.deepcopy(self.data[i])"),
        ("r = self.data[i]\nr['x'] = 1\nreturn 1", "r = copy.deepcopy(self.data[i])\nr['x'] = 1\nreturn 1"),
    ],
)
def test_copies_of_objects_are_unsafe(before: str, after: str) -> None:
    text = OBJECTS + dataset(OF_OBJECTS, before) + LOADED
    (finding,) = left(text, codes="TLK2")
    assert finding.fixable == "unsafe"
    assert fixed(text, unsafe=True, codes="TLK2") == OBJECTS + dataset(OF_OBJECTS, after) + LOADED


EDITED_IN_PLACE = "is not read from the Dataset at one place, into one variable"


@pytest.mark.parametrize(
    ("sample", "shown"),
    [
        ("self.data[i]['a'].append(1)\nreturn 1", "`self.data[i]['a']`"),
        ("self.data[i].update(b=1)\nreturn 1", "`self.data[i]`"),
        ("r = self.data[i]\nif i:\n    r = self.data[0]\nr['b'] = 1\nreturn 1", "`r`"),
        ("r = self.data[i]\ns = self.data[i]\nr['b'] = 1\nreturn s['b']", "`r`"),
        ("for r in self.data:\n    r['b'] = 1\nreturn 1", "`r`"),
    ],
)
def test_an_edit_without_a_place_for_the_copy_is_left(sample: str, shown: str) -> None:
    found = {each.unfixed for each in left(dataset(RECORDS, sample) + LOADED, unsafe=True, codes="TLK203")}
    assert found == {f"{shown} {EDITED_IN_PLACE}"}


GLOB = "self.data = sorted(glob.glob(root))"
PACKED = "self.data = np.array([each.encode() for each in sorted(glob.glob(root))], dtype=np.bytes_)"

ARRAYS = {
    "strings": (GLOB, "return open(self.data[i])", PACKED, "return open(self.data[i].decode())"),
    "strings read twice": (
        GLOB,
        "return open(self.data[i]), self.data[i - 1], len(self.data)",
        PACKED,
        "return open(self.data[i].decode()), self.data[i - 1].decode(), len(self.data)",
    ),
    "strings read by an alias": (
        GLOB,
        "paths = self.data\nreturn open(paths[i])",
        PACKED,
        "paths = self.data\nreturn open(paths[i].decode())",
    ),
    "strings read in parentheses": (
        GLOB,
        "return open((self.data[i]))",
        PACKED,
        "return open((self.data[i].decode()))",
    ),
    "strings that are gone through": (
        GLOB,
        "return [each for each in self.data if each != self.data[i]]",
        "self.data = np.array(sorted(glob.glob(root)), dtype=np.str_)",
        "return [each for each in self.data if each != self.data[i]]",
    ),
    "strings filled in a loop": (
        "self.data = []\nfor x in os.listdir(root):\n    self.data.append(os.path.join(root, x))",
        "return open(self.data[i])",
        "self.data = []\nfor x in os.listdir(root):\n    self.data.append(os.path.join(root, x))\n"
        "self.data = np.array([each.encode() for each in self.data], dtype=np.bytes_)",
        "return open(self.data[i].decode())",
    ),
    "strings filled on one line": (
        "self.data = []\nfor x in os.listdir(root): self.data.append(x)  # all",
        "return open(self.data[i])",
        "self.data = []\nfor x in os.listdir(root): self.data.append(x)  # all\n"
        "self.data = np.array([each.encode() for each in self.data], dtype=np.bytes_)",
        "return open(self.data[i].decode())",
    ),
    "a conditional expression": (
        "self.data = [f'{x}' if x else 'none' for x in open(root)] if 0 else [str(x) for x in open(root)]",
        "return self.data[i]",
        None,
        None,
    ),
    "numbers": (
        "self.data = [int(x) for x in open(root)]",
        "return self.data[i]",
        "self.data = np.array([int(x) for x in open(root)])",
        "return self.data[i].item()",
    ),
}


@pytest.mark.parametrize(("init", "sample", "array", "read"), ARRAYS.values(), ids=ARRAYS)
def test_lists_become_arrays(init: str, sample: str, array: str | None, read: str | None) -> None:
    text = dataset(init, sample) + LOADED
    (finding,) = left(text, codes="TLK101")
    if array is None or read is None:
        assert finding.fixable is None
        return
    assert finding.fixable == "unsafe"
    after = dataset(array, read) + LOADED
    assert fixed(text, unsafe=True, codes="TLK101") == after
    assert fixed(after, unsafe=True, codes="TLK101") == after


NOT_PROVEN = "its elements are not proven to be all strings or all numbers"
ONLY_LISTS = "only lists of strings or numbers fit an array"

NO_ARRAYS = {
    "tuples": ("self.data = [(x, 1) for x in open(root)]", "return open(self.data[i][0])", NOT_PROVEN),
    "paths": ("self.data = [pathlib.Path(x) for x in open(root)]", "return self.data[i]", NOT_PROVEN),
    "unknown": ("self.data = [f(x) for x in open(root)]", "return open(self.data[i])", NOT_PROVEN),
    "a mixture": ("self.data = [*os.listdir(root), 1]", "return open(self.data[i])", NOT_PROVEN),
    "a dict": ("self.data = {x: 1 for x in open(root)}", "return self.data[i]", ONLY_LISTS),
    "a parsed file": (PARSED, "return self.data[i]", ONLY_LISTS),
    "bound twice": (
        GLOB + "\nif data:\n    self.data = glob.glob(data)",
        "return open(self.data[i])",
        "`self.data` is assigned in several places",
    ),
    "sorted in place": (
        GLOB + "\nself.data.sort()",
        "return open(self.data[i])",
        "`self.data` is changed in place at line 7",
    ),
    "an f-string": (GLOB, "return open(f'{self.data[i]}')", "it stands inside an f-string"),
    "numbers gone through": (
        "self.data = [float(x) for x in open(root)]",
        "return sum(x for x in self.data) + self.data[i]",
        "it is iterated over, and NumPy numbers are not Python numbers",
    ),
    "handed on": (GLOB, "return open(self.data[i]), f(self.data)", "`data` is used otherwise at line 10"),
    "a slice": (GLOB, "return open(self.data[i]), self.data[1:]", "`data` is used otherwise at line 10"),
    "read while it is made": (
        GLOB + "\nself.first = self.data[0]",
        "return open(self.data[i])",
        "it is read in `__init__` at line 7",
    ),
    "several statements": (
        "self.data = []\nfor x in os.listdir(root): self.data.append(x)\nself.n = 1; self.m = 2",
        "return open(self.data[i])",
        None,
    ),
    "a shared line": (
        "self.data = []; self.data.extend(os.listdir(root)); self.n = 1",
        "return open(self.data[i])",
        "line 6 holds several statements",
    ),
    "a shared line, at its end": (
        "self.data = []; self.data.extend(os.listdir(root))",
        "return open(self.data[i])",
        "line 6 holds several statements",
    ),
}


@pytest.mark.parametrize(("init", "sample", "reason"), NO_ARRAYS.values(), ids=NO_ARRAYS)
def test_lists_that_stay(init: str, sample: str, reason: str | None) -> None:
    text = dataset(init, sample) + LOADED
    if reason is None:
        assert "self.n = 1; self.m = 2" in fixed(text, unsafe=True, codes="TLK101")
    else:
        assert reasons(text, unsafe=True, codes="TLK101") == [reason]


def test_a_use_outside_of_the_class_is_seen() -> None:
    text = dataset(GLOB, "return open(self.data[i])") + LOADED + "rows = Rows(1, 2)\nprint(rows.data)\n"
    (reason,) = reasons(text, unsafe=True, codes="TLK101")
    assert reason == "`.data` is used at line 15"


def test_two_rules_in_one_run() -> None:
    text = dataset(GLOB + "\nself.rows = torch.zeros(9, 9)", "return open(self.data[i]), self.rows[i]") + LOADED
    done = mended(IMPORTS + text, unsafe=True)
    assert sorted(each.code for each, _ in done.fixed) == ["TLK101", "TLK201"]
    assert "return open(self.data[i].decode()), self.rows[i].clone()" in done.text


def test_an_object_that_keeps_its_results_is_not_copied() -> None:
    text = (
        """\
class Graph:
    def __init__(self, path):
        self.path = path

    def tensor(self):
        self.cached = torch.load(self.path)
        return self.cached

"""
        + dataset("self.data = [Graph(path) for path in open(root)]")
        + LOADED
    )
    assert [each[:34] for each in reasons(text, unsafe=True, codes="TLK202")] == ["its class caches results on the ob"]
    other = text.replace("self.cached = ", "cached = ").replace("self.cached", "cached")
    assert "copy.deepcopy(" in fixed(other, unsafe=True, codes="TLK202")


def test_an_element_that_get_gives_is_left() -> None:
    text = dataset("self.data = {f: {} for f in open(root)}", "r = self.data.get(i)\nr['b'] = 1\nreturn 1") + LOADED
    assert [each[:16] for each in reasons(text, codes="TLK203")] == ["`r` is not read "]


def test_a_part_with_a_name_of_its_own_needs_a_deep_copy() -> None:
    sample = "r = self.data[i]\np = r['a']\np.append(1)\nr['b'] = 1\nreturn 1"
    after = sample.replace("self.data[i]", "copy.deepcopy(self.data[i])")
    assert fixed(dataset(RECORDS, sample) + LOADED, codes="TLK203") == dataset(RECORDS, after) + LOADED
