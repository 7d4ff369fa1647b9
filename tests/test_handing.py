"""What a function changes of what it is handed, gives, and reads of an object: as if it stood at the call."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.fixing.fix import fix
from flake8_torchleak.lint import lint
from tests.model import IMPORTS, codes, module

STATE = """
def put(where, what):
    where.append(what)

def put_all(where, what):
    put(where, what)

def put_in(where, key, what):
    where[key] = what

def put_named(*, what, where):
    where.append(what)

def forget(where, what):
    where = []
    where.append(what)

def line_of(where, line):
    where.append(line.strip())

def fill(owner, root):
    for line in open(root):
        owner.rows.append(line.strip())

class Adding:
    def add(self, what):
        self.rows.append(what)

class Put:
    @staticmethod
    def put(where, what):
        where.append(what)

class Rows(Dataset):
    def __init__(self, root):
        self.rows = {start}
{fill}
    def __len__(self):
        return len(self.rows)
{keep}
    @property
    def view(self):
        return self.rows
    def __getitem__(self, i):
        return {read}
"""
FILLS = {
    "a function": ("[]", "for line in open(root):\n    put(self.rows, line)", 1),
    "a function of a function": ("[]", "for line in open(root):\n    put_all(self.rows, line)", 1),
    "by name": ("[]", "for line in open(root):\n    put_named(where=self.rows, what=line)", 1),
    "an entry": ("{}", "for n, line in enumerate(open(root)):\n    put_in(self.rows, n, line)", 1),
    "a static method": ("[]", "for line in open(root):\n    Put.put(self.rows, line)", 1),
    "a method": ("[]", "for line in open(root):\n    self.keep(line)", 1),
    "a nested function": (
        "[]",
        "def keep(line):\n    self.rows.append(line)\nfor line in open(root):\n    keep(line)",
        1,
    ),
    "a partial by name": (
        "[]",
        "push = functools.partial(put_named, where=self.rows)\nfor line in open(root):\n    push(what=line)",
        1,
    ),
    "a method by its class's name": ("[]", "for line in open(root):\n    Adding.add(self, line)", 1),
    "by stars": ("[]", "for line in open(root):\n    put(*[self.rows, line])", 0),
    "by two stars": ("[]", "for line in open(root):\n    put_named(**{'where': self.rows, 'what': line})", 0),
    "what a call gives": ("[]", "for line in open(root):\n    put(list(self.rows), line)", 0),
    "no function of the file": ("[]", "push = root.push\nfor line in open(root):\n    push(line)", 0),
    "a named entry": ("{'all': []}", "for line in open(root):\n    put(self.rows['all'], line)", 1),
    "a bound method": ("[]", "push = self.rows.append\nfor line in open(root):\n    push(line)", 1),
    "a partial": ("[]", "push = functools.partial(put, self.rows)\nfor line in open(root):\n    push(line)", 1),
    "what the function makes": ("[]", "for line in open(root):\n    line_of(self.rows, line)", 1),
    "a property": ("[]", "for line in open(root):\n    self.view.append(line)", 1),
    "the object itself": ("[]", "fill(self, root)", 1),
    "drawn one by one": ("[]", "it = iter(open(root))\nwhile True:\n    self.rows.append(next(it))", 1),
    "a list that is added": ("[]", "for line in open(root):\n    self.rows += [line]", 1),
    "a nested function in a generator": (
        "[]",
        "def keep(line):\n    self.rows.append(line)\n    return 0\nself.n = sum(keep(line) for line in open(root))",
        1,
    ),
    "of a few": ("[]", "for name in ('a', 'b'):\n    put(self.rows, name)", 0),
    "the function's own": ("[]", "for line in open(root):\n    forget(self.rows, line)", 0),
    "another list": ("[]", "rows = []\nfor line in open(root):\n    put(rows, line)\nself.sum = len(rows)", 0),
    "packed afterwards": (
        "[]",
        "rows = []\nfor line in open(root):\n    put(rows, line)\nself.rows = np.array(rows, dtype=np.bytes_)",
        0,
    ),
    "one of few objects": ("[]", "for line in open(root):\n    put(self.rows, 'yes' if line else 'no')", 0),
}


@pytest.mark.parametrize(("start", "fill", "count"), FILLS.values(), ids=FILLS)
@pytest.mark.parametrize("read", ["self.rows[i]", "self.view[i]", "(lambda rows: rows)(self.view[i])"])
def test_who_fills_a_dataset(start: str, fill: str, count: int, read: str) -> None:
    filled = "\n".join(f"        {each}" for each in fill.splitlines())
    keep = "    def keep(self, what):\n        self.rows.append(what)" if "self.keep" in fill else ""
    text = "import functools\n" + STATE.format(start=start, fill=filled, read=read, keep=keep)
    found = [code for code in codes(text) if code == "TLK101"]
    assert found == ["TLK101"] * count


def test_a_helper_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "helpers.py").write_text("def put(where, what):\n    where.append(what)\n", encoding="utf-8")
    text = (
        "from torch.utils.data import Dataset\nfrom helpers import put\n\nclass Rows(Dataset):\n"
        "    def __init__(self, root):\n        self.rows = []\n        for line in open(root):\n"
        "            put(self.rows, line)\n"
        "    def __len__(self):\n        return len(self.rows)\n"
        "    def __getitem__(self, i):\n        return len(self.rows[i])\n"
    )
    path = tmp_path / "rows.py"
    path.write_text(text, encoding="utf-8")
    assert [each.code for each in lint(text, path=str(path))] == ["TLK101"]


def test_nothing_is_fixed_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    helper = (
        "import numpy as np\n\ndef keep(crops, path):\n    image = np.load(path)\n    crops.append(image[:9, :9])\n"
    )
    (tmp_path / "helpers.py").write_text(helper, encoding="utf-8")
    text = (
        "import torch\nimport numpy as np\nfrom helpers import keep\n\ndef run(paths):\n    crops = []\n"
        "    first = np.load(paths[0])\n    keep(crops, first[:9])\n"
        "    for path in paths:\n        keep(crops, path)\n    return crops\n"
    )
    path = tmp_path / "rows.py"
    path.write_text(text, encoding="utf-8")
    for each in lint(text, path=str(path), fixes=True):
        assert not each.fixes


READS = """
def first(owner, i):
    return owner.rows[i]

def read(owner, i):
    return len(owner.rows[i])

def alone(owner, i):
    return len(owner.rows[i])

class Base(Dataset):
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return {sample}

class Rows(Base):
    def __init__(self, root):
        self.rows = [{{"line": line}} for line in open(root)]
"""
SAMPLES = {
    "read by a helper": ("read(self, i)", ["TLK101"]),
    "given by a helper": ("first(self, i)", ["TLK202", "TLK101"]),
    "a helper of something else": ("alone(other, i)", []),
    "by itself": ("self.rows[i]", ["TLK202", "TLK101"]),
    "made anew": ("dict(self.rows[i])", ["TLK101"]),
}


@pytest.mark.parametrize(("sample", "found"), SAMPLES.values(), ids=SAMPLES)
def test_what_a_base_reads_and_gives(sample: str, found: list[str]) -> None:
    assert [code for code in codes(READS.format(sample=sample)) if code in ("TLK101", "TLK202")] == found


EDITS = """
def strip(record):
    record["text"].sort()

def clean(record):
    strip(record)

def copied(record):
    record = dict(record)
    record["text"] = 1

class Rows(Dataset):
    def __init__(self, root):
        self.rows = [json.loads(line) for line in open(root)]
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return self.rows[i]{copy}

def collate(records):
    for record in records:
        {edit}
    return records

DataLoader(Rows(1), num_workers=2, collate_fn=collate)
"""


@pytest.mark.parametrize(
    ("edit", "copy", "count"),
    [
        ("record['text'] = 1", "", 1),
        ("strip(record)", "", 1),
        ("clean(record)", "", 1),
        ("copied(record)", "", 0),
        ("print(record)", "", 0),
        ("strip(record)", "['text'][:]", 0),
    ],
)
def test_a_collate_function_and_its_helpers(edit: str, copy: str, count: int) -> None:
    assert codes(EDITS.format(edit=edit, copy=copy)).count("TLK206") == count


def test_what_a_helper_changes_is_not_copied_in_the_helper_of_others() -> None:
    """Who hands a sample to a helper may read it afterwards."""
    text = IMPORTS + EDITS.format(edit="set_text(record)", copy="").replace(
        "def strip", "def set_text(record):\n    record['text'] = 1\n    return record\n\ndef strip"
    )
    fixed = fix(text, Config(), unsafe=True, takes=lambda code: code == "TLK206")
    assert "def set_text(record):\n    record['text'] = 1\n" in fixed.text


VIEWS = """
class Crop(NamedTuple):
    image: object

def crop(path):
    image = np.load(path)
    return image[:9, :9]

def load(path):
    return np.load(path)

def keep(crops, path):
    image = np.load(path)
    crops.append(image[:9, :9])

def keep_both(crops, rest, path):
    image = np.load(path)
    crops.append(image[:9])
    rest.append(image[9:])

def keep_one(crops, path):
    image = np.load(path)
    crops.append(image[:9])
    return image[9:]

def run(paths):
    crops, rest = [], []
    for path in paths:
        {body}
    return crops, rest
"""
KEPT = {
    "a helper that makes and keeps it": ("keep(crops, path)", 1),
    "a helper that gives it": ("crops.append(crop(path))", 1),
    "a helper that loads it": ("image = load(path); crops.append(image[:9, :9])", 1),
    "a list that is added": ("image = load(path); crops += [image[:9, :9]]", 1),
    "in a record": ("image = load(path); crops.append(Crop(image[:9, :9]))", 1),
    "both parts": ("keep_both(crops, rest, path)", 0),
    "the other part is given": ("rest.append(keep_one(crops, path))", 0),
    "all of it": ("crops.append(load(path))", 0),
}


@pytest.mark.parametrize(("body", "count"), KEPT.values(), ids=KEPT)
def test_views_that_helpers_keep(body: str, count: int) -> None:
    text = "from typing import NamedTuple\n" + VIEWS.format(body=body)
    assert codes(text).count("TLK205") == count


def test_changes_know_their_place() -> None:
    """The call is where a change is made; the loops are those of the call, and of the helper."""
    model = module(
        """
        def put(where, lines):
            for line in lines:
                where["rows"].append(line)

        def run(files):
            table = {"rows": []}
            for file in files:
                put(table, open(file))
            return table
        """
    )
    run = model.root.body[-1]
    (change,) = [each for each in model.flow.mutations(run)["table"] if each.within]  # type: ignore[arg-type]
    assert (change.method, change.depth, len(model.flow.loops(change))) == ("append", 1, 2)


def test_a_recursive_helper_ends() -> None:
    model = module(
        """
        def put(where, what, n=0):
            where.append(what)
            put(where, what, n + 1)

        def run(kept):
            put(kept, 1)
        """
    )
    assert 0 < len(model.flow.mutations(model.root.body[-1])["kept"]) < 10  # type: ignore[arg-type]
