"""How many different keys a cache can have, and how many objects a list: few of them cost next to nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model.containers import containers
from tests.model import codes, dataset, module
from tests.test_rules_state import DATA, LIBRARIES


@pytest.mark.parametrize(
    ("key", "few"),
    [
        ("i % 5", True),
        ("i % 999", True),
        ("i % 1000", False),
        ("i % 5.5", False),
        ("i % -5", False),
        ("5 % i", False),
        ("i % root", False),
        ("i & 7", True),
        ("i | 7", False),
        ("(i % 5, i % 7)", True),
        ("(i % 5, i)", False),
        ("i % 5 + 3", True),
        ("-(i % 5)", True),
        ("-i", False),
        ("'%d' % i", False),
        ("f'{i % 5}'", True),
        ("str(i).endswith('1')", True),
        ("str(i)", False),
        ("i in self.other", True),
        ("i > 7", True),
        ("not i", True),
        ("bool(i)", True),
        ("int(i)", False),
        ("('a', 'b')[i]", True),
        ("('a', 'b')[i:]", False),
        ("(i, 'b')[0]", False),
        ("{0: 'a', 1: 'b'}[i % 2]", True),
        ("self.few[i]", True),
        ("self.many[i]", False),
        ("'a' if i > 7 else 'b'", True),
        ("i if i > 7 else 'b'", False),
    ],
)
def test_keys_of_few_values_are_no_growth(key: str, few: bool) -> None:
    init = DATA + "self.c, self.few = {}, ['x', 'y']\nself.many = [int(each) for each in open(root)]\n"
    text = LIBRARIES + dataset(init, f"self.c[{key}] = self.data[i]\nreturn torch.tensor(self.data[i])", "")
    assert ("TLK104" in codes(text)) is not few


@pytest.mark.parametrize(
    ("made", "few"),
    [
        ("[KINDS[len(row) % 3] for row in open(root)]", True),
        ("[KINDS[:2] for row in open(root)]", False),
        ("[row for row in open(root)]", False),
        ("[row or 'none' for row in open(root)]", False),
        ("[row and 'one' or 'none' for row in open(root)]", False),
        ("['one' and 'two' for row in open(root)]", True),
        ("[{0: 'a', 1: 'b'}[len(row) % 2] for row in open(root)]", True),
        ("[{0: row, 1: 'b'}[len(row) % 2] for row in open(root)]", False),
        ("[(row, 'b')[len(row) % 2] for row in open(root)]", False),
        ("[TABLE.get(row, 'none') for row in open(root)]", True),
        ("[TABLE.get(row, row) for row in open(root)]", False),
        ("[TABLE.pop(row) for row in open(root)]", False),
        ("[len(row) % 256 == 3 for row in open(root)]", True),
        ("[str(len(row) % 256) for row in open(root)]", False),
        ("[len(row) % 256 for row in open(root)]", True),
        ("[len(row) % 257 for row in open(root)]", False),
        ("list(reversed(['none'] * len(root)))", True),
        ("root.split() + ['none'] * len(root)", False),
        ("sorted(open(root))", False),
        ("['none'] * len(root) if root else ['some' for _ in open(root)]", True),
        ("[*['a' for _ in open(root)], *open(root)]", False),
        ("[pair for pair, _ in ((1, 2), (3, 4)) for row in open(root)]", False),
        ("[" + "'a' if row else (" * 12 + "'b'" + ")" * 12 + " for row in open(root)]", False),
    ],
)
def test_lists_of_few_objects_are_no_growth(made: str, few: bool) -> None:
    before = "KINDS = ['car', 'bus', 'tram']\nTABLE = {'l': 'left', 'r': 'right'}\n"
    text = (
        LIBRARIES
        + before
        + dataset(f"self.c = {made}", "return self.c[i]", "def __len__(self):\n    return len(self.c)")
    )
    assert ("TLK101" in codes(text)) is not few


@pytest.mark.parametrize(
    ("init", "few"),
    [
        ("c = []\nfor row in open(root):\n    c.append('none')\nself.c = c", True),
        ("c = []\nfor row in open(root):\n    c.append(row)\nself.c = c", False),
        ("c = []\nfor row in open(root):\n    c += ['none']\nself.c = c", True),
        ("c = ['x']\nc += list(open(root))\nself.c = c", False),
        ("self.c = []\nfor row in open(root):\n    self.c.extend(['none', 'some'])", True),
        ("self.c = []\nfor row in open(root):\n    self.c.extend(['none', row])", False),
        ("c = []\nfor row in open(root):\n    c.insert(0, 'none')\nself.c = c", True),
        ("c = []\nfor row in open(root):\n    c.append()\nself.c = c", False),
        ("c, d = [], []\nfor row in open(root):\n    c.append('none')\nself.c, self.d = c, d", True),
        ("word = ''\nself.c = []\nfor row in open(root):\n    word += row\n    self.c.append(word)", False),
        ("self.c = []\nfor row in open(root):\n    first, rest = row.split()\n    self.c.append(first)", False),
        ("self.c = []\nfor word in KINDS:\n    for row in open(root):\n        self.c.append(word)", True),
        ("self.c = []\nfor row in open(root):\n    for word in row:\n        self.c.append(word + 'x')", False),
        ("self.c = []\nfor row in open(root):\n    kinds = ['a', row]\n    self.c.append(kinds[len(row) % 2])", False),
        ("self.c = [[]] * 9\nfor row in open(root):\n    self.c[len(row)].append(row)", False),
        ("self.c = []\nself.fill(root)", False),
        ("self.c = []\ndef put(word):\n    self.c.append(word)\nfor row in open(root):\n    put('none')", True),
        ("self.c = []\ndef put(word):\n    self.c.append(word)\nfor row in open(root):\n    put(row)", False),
        ("t = {}\nt['c'] = []\nfor row in open(root):\n    t['c'].append('none')\nself.c = t['c']", True),
        ("t = {}\nt['c'] = []\nfor row in open(root):\n    t['c'].append(row)\nself.c = t['c']", False),
        (
            "t = {}\nt['c'] = []\nt['d'] = []\nfor row in open(root):\n"
            "    t['c'].append('none')\n    t['d'].append(row)\nself.c = t['c']",
            True,
        ),
        (
            "t = {}\nt['c'] = []\nt['d'] = []\nfor row in open(root):\n"
            "    t['c'].append('none')\n    t['d'].append(row)\nself.c = t['d']",
            False,
        ),
        ("c = []\ndef put(w):\n    a = w\n    c.append(a)\nfor row in open(root):\n    put('no')\nself.c = c", True),
        ("c = []\ndef put(w):\n    a = w\n    c.append(a)\nfor row in open(root):\n    put(row)\nself.c = c", False),
        (
            "c = []\ndef put(w):\n    (lambda v: c.append(v))(w)\nfor row in open(root):\n    put('no')\nself.c = c",
            True,
        ),
        (
            "\n".join(
                ["c0 = ['none' for row in open(root)]", *(f"c{n + 1} = c{n}" for n in range(12)), "self.c = c12"]
            ),
            False,
        ),
    ],
)
def test_lists_that_are_filled_with_few_objects(init: str, few: bool) -> None:
    rest = "def __len__(self):\n    return len(self.c)\n"
    if "fill" in init:
        rest += "def fill(self, root):\n    for row in open(root):\n        self.c.append('none')"
    text = LIBRARIES + "KINDS = ['car', 'bus', 'tram']\n" + dataset(init, "return self.c[i]", rest)
    assert ("TLK101" in codes(text)) is not few


FOLDERS = """\
self.files, self.labels = [], []
for label in {outer}:
    folder = os.path.join(root, label)
    self.files.append(folder)
    for name in {inner}:
        self.labels.append({put})
"""


@pytest.mark.parametrize(
    ("outer", "inner", "put", "kept"),
    [
        ("os.listdir(root)", "os.listdir(folder)", "label", False),
        ("sorted(os.listdir(root))", "glob.glob(root + '/' + label + '/*.png')", "label", False),
        ("os.listdir(root)", "os.listdir(folder)", "name", True),
        ("os.listdir(root)", "os.listdir(folder)", "label + name", True),
        ("os.listdir(root)", "os.listdir(root)", "label", True),  # not what lies in it
        ("os.listdir(root)", "open(folder)", "label", True),
        ("open(root)", "os.listdir(folder)", "label", True),
    ],
)
def test_the_name_of_a_folder_for_each_file_in_it(outer: str, inner: str, put: str, kept: bool) -> None:
    init = FOLDERS.format(outer=outer, inner=inner, put=put)
    found = [
        each.name
        for each in containers(
            module(dataset(init, "return self.labels[i]", "def __len__(self):\n    return len(self.labels)"))
        )
        if each.known
    ]
    assert ("self.labels" in found) is kept


def test_a_folder_is_known_by_the_loop_around_alone() -> None:
    init = "self.labels = []\nfor label in os.listdir(root):\n    self.labels.append(label)\n"
    assert [each.name for each in containers(module(dataset(init, "return self.labels[i]")))] == ["self.labels"]


def test_a_bound_that_holds_most_of_a_dataset_is_a_bound() -> None:
    fixture = Path(__file__).parents[1] / "fixtures" / "TLK104_growing_worker_cache" / "bad_large_bound.py"
    text = fixture.read_text(encoding="utf-8")
    (found,) = (each for each in lint(text) if each.code == "TLK104")
    assert (found.severity.value, "bounds it" in found.reason) == ("note", True)
    (found,) = (each for each in lint(text.replace("len(self.cache) <", "index <")) if each.code == "TLK104")
    assert found.severity.value == "error"
