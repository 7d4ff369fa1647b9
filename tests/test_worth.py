"""Severity by worth: what is true, and small more often than not, is a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.config import DEFAULT, Config
from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty
from tests.model import messages

ROWS = """
import csv, glob, json, pickle
from typing import NamedTuple
from torch.utils.data import DataLoader, Dataset

class Photo(NamedTuple):
    path: str
    label: int

class Rows(Dataset):
    def __init__(self, root):
        {filled}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]
"""
PATHS = "self.rows = sorted(glob.glob(root))"
RECORDS = {
    "parsed": "self.rows = json.load(open(root))",
    "parsed line by line": "self.rows = [json.loads(line) for line in open(root)]",
    "parsed, by key": "self.rows = {name: json.load(open(name)) for name in glob.glob(root)}",
}
OTHERS = {
    "unpickled": "self.rows = pickle.load(open(root, 'rb'))",  # nobody sees what
    "paths": PATHS,
    "numbers": "self.rows = [len(path) for path in glob.glob(root)]",
    "tuples of numbers": "self.rows = [(len(path), i) for i, path in enumerate(glob.glob(root))]",
    "tuples with text": "self.rows = [(path, 0) for path in glob.glob(root)]",
    "lists": "self.rows = [line.split() for line in open(root)]",
    "dicts": "self.rows = [{'path': path} for path in glob.glob(root)]",
    "in a dict": "self.rows = {name: [name] for name in glob.glob(root)}",
}


def severities(text: str, path: str | None = None, config: Config = DEFAULT) -> list[str]:
    firstparty.forget()
    return [each.severity.value for each in lint(text, config, path=path) if each.code == "TLK101"]


@pytest.mark.parametrize("name", [*RECORDS, *OTHERS])
@pytest.mark.parametrize(
    ("loader", "expected"),
    [
        ("", ("note", "note")),
        ("DataLoader(Rows('.'), num_workers=4)", ("warning", "note")),
        ("DataLoader(Rows('.'), num_workers=args.n)", ("warning", "note")),
        ("parser.add_argument('--workers')", ("warning", "note")),
        ("make(num_workers=4)", ("warning", "note")),
        ("make(num_workers=0)", ("note", "note")),
        ("DataLoader(Other('.'), num_workers=4)", ("warning", "note")),
    ],
)
def test_copies_in_workers(name: str, loader: str, expected: tuple[str, str]) -> None:
    text = ROWS.format(filled={**RECORDS, **OTHERS}[name]) + loader + "\n"
    assert severities(text) == [expected[name in OTHERS]]


def test_the_loader_of_this_very_dataset_decides() -> None:
    records = ROWS.format(filled=RECORDS["parsed"])
    assert severities(records + "DataLoader(Rows('.'))\nDataLoader(Other('.'), num_workers=4)\n") == []
    assert severities(records + "DataLoader(Rows('.'), **options)\nDataLoader(Other('.'), num_workers=4)\n") == ["note"]


def test_workers_may_be_assumed() -> None:
    assert severities(ROWS.format(filled=PATHS), config=Config(assume_workers="yes")) == ["warning"]


@pytest.mark.parametrize(("imported", "expected"), [("from rows import Rows", "warning"), ("import torch", "note")])
def test_who_imports_the_dataset_may_speak_of_workers(tmp_path: Path, imported: str, expected: str) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "rows.py").write_text(ROWS.format(filled=RECORDS["parsed"]))
    (tmp_path / "train.py").write_text(f"{imported}\nloader(Rows('.'), num_workers=args.workers)\n")
    assert severities((tmp_path / "rows.py").read_text(), str(tmp_path / "rows.py")) == [expected]


@pytest.mark.parametrize(
    ("own", "of_user", "expected"),
    [
        ("", "model.eval()", "note"),
        ("model.eval()", "", "note"),
        ("", "model.eval()\nloss.backward()", "warning"),
        ("loss.backward()", "model.eval()", "warning"),
        ("", "", "warning"),
    ],
)
def test_what_is_only_evaluated_with(tmp_path: Path, own: str, of_user: str, expected: str) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "rows.py").write_text(f"{ROWS.format(filled=RECORDS['parsed'])}{own}\n")
    (tmp_path / "run.py").write_text(f"from rows import Rows\nloader(Rows('.'), num_workers=args.workers)\n{of_user}\n")
    assert severities((tmp_path / "rows.py").read_text(), str(tmp_path / "rows.py")) == [expected]


@pytest.mark.parametrize(
    ("options", "of_user", "expected"),
    [
        ("", "model.eval()", "note"),
        (", shuffle=False", "model.eval()", "note"),
        (", shuffle=True", "model.eval()", "warning"),
        (", sampler=sampler", "model.eval()", "warning"),
        ("", "model.eval()\nloss.backward()", "warning"),
        ("", "", "warning"),
    ],
)
def test_what_is_only_evaluated_with_in_order(tmp_path: Path, options: str, of_user: str, expected: str) -> None:
    """Whatever else the project trains: each worker copies its own share once."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "rows.py").write_text(ROWS.format(filled=RECORDS["parsed"]) + "\ndef fit(loss):\n    loss.backward()\n")
    made = f"DataLoader(Rows('.'), num_workers=4{options})"
    (tmp_path / "run.py").write_text(
        f"from rows import Rows\nfrom torch.utils.data import DataLoader\n{made}\n{of_user}\n"
    )
    assert severities((tmp_path / "rows.py").read_text(), str(tmp_path / "rows.py")) == [expected]


@pytest.mark.parametrize(
    ("loader", "expected"),
    [("", "note"), ("DataLoader(Rows('.'), collate_fn=list)", "warning"), ("DataLoader(Rows('.'), None)", "warning")],
)
def test_objects_that_are_handed_out(loader: str, expected: str) -> None:
    text = ROWS.format(filled=OTHERS["lists"]) + loader + "\n"
    assert [each.severity for each in lint(text) if each.code == "TLK202"] == [Severity(expected)]


EVALUATION = """
import torch
def test(model, test_loader):
    model.eval()
    for x, y in test_loader:
        out = model(Variable(x, {}))
        print({})
"""


@pytest.mark.parametrize(
    ("given", "shown", "expected"),
    [
        ("volatile=True", "out.data[0]", ""),
        ("volatile = True", "out.data.cpu()[0]", ""),
        ("volatile=True", "out.data.item()", "warning"),
        ("volatile=True", "out.to('cpu')", "warning"),
        ("volatile=True", "out", "note"),
        ("requires_grad=False", "out.data[0]", "note"),
        ("requires_grad=False", "out.max()", "warning"),
    ],
)
def test_evaluation_that_only_runs_where_volatile_worked(given: str, shown: str, expected: str) -> None:
    assert of("TLK501", EVALUATION.format(given, shown)) == ([expected] if expected else [])


def test_scripts_beside_the_dataset_may_speak_of_workers(tmp_path: Path) -> None:
    """At the project's top, which somebody has made a package."""
    for name in (".git", "__init__.py"):
        (tmp_path / name).touch()
    (tmp_path / "rows.py").write_text(ROWS.format(filled=RECORDS["parsed"]))
    (tmp_path / "train.py").write_text("import rows\nloader(rows.Rows('.'), num_workers=args.workers)\n")
    assert severities((tmp_path / "rows.py").read_text(), str(tmp_path / "rows.py")) == ["warning"]


def of(code: str, text: str, path: str | None = None) -> list[str]:
    """Severities of what a rule finds."""
    return [each.severity.value for each in lint(text, path=path) if each.code == code]


@pytest.mark.parametrize("loader", ["", "DataLoader(Rows('.'), num_workers=4)"])
def test_lists_of_what_is_not_known(loader: str) -> None:
    """Of a list of large arrays a worker copies the headers alone: who does not know what it holds only notes it."""
    text = ROWS.format(filled="self.rows = [load(path) for path in glob.glob(root)]") + loader + "\n"
    assert severities(text) == ["note"]


CACHED = """
import torch
from torch.utils.data import Dataset

class Images(Dataset):
    def __init__(self, paths, cache={}):
        self.paths, self.kept = paths, {{}}
        self.cache = cache

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        image = torch.load(self.paths[i])
        if {}:
            self.kept[i] = image
        return image
"""


@pytest.mark.parametrize(
    ("default", "test", "expected"),
    [
        ("False", "self.cache", "note"),
        ("None", "self.cache is not None and i not in self.kept", "note"),
        ("True", "i not in self.kept", "error"),
        ("False", "i not in self.kept", "error"),
    ],
)
def test_caches_that_one_asks_for(default: str, test: str, expected: str) -> None:
    assert of("TLK104", CACHED.format(default, test)) == [expected]


def test_a_flag_that_is_no_argument_chooses_nothing() -> None:
    text = CACHED.format("False", "i not in self.kept and self.size").replace("self.cache = cache", "self.size = 3")
    assert of("TLK104", text) == ["error"]
    inner = CACHED.format("False", "i not in self.kept").replace("if i not", "if self.cache.on or i not")
    assert of("TLK104", inner.replace("self.cache = cache", "self.cache = cache or Options()")) == ["error"]


GUEST = """
from torch import nn

class Guest:
    def __init__(self, model):
        self.shape = None
        model.layer4.register_forward_hook(self.hook)

    def hook(self, module, given, output):
        self.shape = output.shape

def explain(model):
    return Guest(model)
"""


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ("", "note"),
        ("explain(model)", "note"),
        ("for image in images:\n    explain(model)", "warning"),
        ("while True:\n    Guest(model)", "warning"),
    ],
)
def test_guests_that_are_made_again(used: str, expected: str) -> None:
    assert of("TLK604", f"{GUEST}\n{used}\n") == [expected]


OPENCV = """
import cv2
from torch.utils.data import DataLoader, Dataset

class Photos(Dataset):
    def __getitem__(self, i):
        return cv2.resize(cv2.imread(self.paths[i]), (448, 448))
"""


@pytest.mark.parametrize("loader", ["", "DataLoader(Photos(), num_workers=4)"])
def test_threads_of_workers(loader: str) -> None:
    """No difference in time was measured."""
    assert of("TLK301", f"{OPENCV}\n{loader}\n") == ["note"]


ZIPPED = """
import zipfile
from torch.utils.data import Dataset

class Zipped(Dataset):
    def __init__(self, path):
        self.path, self.archive = path, None
        self.names = self.opened().namelist()
    {}
    def opened(self):
        if self.archive is None:
            self.archive = zipfile.ZipFile(self.path)
        return self.archive

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        return self.opened().read(self.names[i])
"""
STATE = """
    def __getstate__(self):
        return {**self.__dict__, "archive": None}
"""


@pytest.mark.parametrize(("state", "expected"), [("", "warning"), (STATE, "note")])
def test_archives_of_who_thinks_of_spawned_workers(state: str, expected: str) -> None:
    assert of("TLK105", ZIPPED.format(state)) == [expected]


DATABASE = """
import lmdb
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, path):
        self.env = lmdb.open(path{})

    def __getitem__(self, i):
        with self.env.begin() as transaction:
            return transaction.get(str(i).encode())
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (", readonly=True, lock=False", "note"),
        (", readonly=True", "error"),
        (", readonly=True, lock=lock", "error"),
        (", lock=False", "note"),
        ("", "error"),
    ],
)
def test_databases_that_are_only_read(given: str, expected: str) -> None:
    """Measured with py-lmdb 3.0: of 100,000 reads of forked workers none was wrong."""
    assert of("TLK105", DATABASE.format(given)) == [expected]


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        ("write=False", "note"),
        ("None, None, False", "note"),
        ("buffers=True", "note"),
        ("write=True", "error"),
        ("None, None, True", "error"),
        ("write=self.writes", "error"),
    ],
)
def test_databases_without_locks_that_are_written(begin: str, expected: str) -> None:
    assert of("TLK105", DATABASE.format(", lock=False").replace("begin()", f"begin({begin})")) == [expected]


@pytest.mark.parametrize(("given", "expected"), [(", readonly=True, lock=False", "note"), ("", "warning")])
def test_databases_that_are_only_read_and_opened_early(given: str, expected: str) -> None:
    text = ZIPPED.format("").replace("zipfile.ZipFile(self.path)", f"lmdb.open(self.path{given})")
    assert of("TLK105", text.replace("import zipfile", "import lmdb")) == [expected]
    both = ZIPPED.format(STATE).replace("zipfile.ZipFile(self.path)", f"lmdb.open(self.path{given})")
    assert of("TLK105", both.replace("import zipfile", "import lmdb")) == ([] if given else ["note"])


def test_what_is_said_of_databases_that_are_only_read() -> None:
    """Forked workers read what is there; py-lmdb 3.0: \"cannot pickle 'Environment' object\" for the others."""
    (kept,) = messages(DATABASE.format(", readonly=True, lock=False"), "TLK105")
    assert kept.startswith("spawned workers fail: `self.env` (LMDB environment) cannot be pickled; in ")
    text = ZIPPED.format("").replace("zipfile.ZipFile(self.path)", "lmdb.open(self.path, readonly=True, lock=False)")
    (early,) = messages(text.replace("import zipfile", "import lmdb"), "TLK105")
    assert "(LMDB environment), which `" in early
    assert early.startswith("spawned workers fail: `self.")


TAKEN = """
import numpy as np
from torch.utils.data import Dataset

class Clouds(Dataset):
    def __init__(self, root, tree):
        self.clouds, self.tree = np.load(root), tree
        self.parts = [np.load(root)]

    def __getitem__(self, i):
        index = {}
        cloud = {}
        cloud[0] *= 0.5
        return cloud.sum()
"""


@pytest.mark.parametrize(
    ("index", "read", "expected"),
    [
        ("self.tree.query(i)[0]", "self.clouds[index]", ["note"]),
        ("self.tree.query(i)[0]", "self.parts[0][index]", ["note"]),
        ("i", "self.clouds[index]", ["error"]),
        ("int(self.tree.query(i))", "self.clouds[index]", ["error"]),
        ("self.tree.query(i)[0]", "self.clouds[:4]", ["error"]),
        ("self.tree.query(i)[0]", "self.parts[index]", ["error"]),
        ("np.arange(4)", "self.clouds[index]", []),
    ],
)
def test_rows_that_may_be_copies(index: str, read: str, expected: list[str]) -> None:
    assert of("TLK203", TAKEN.format(index, read)) == expected


WN, WW = ["note", "warning"], ["warning", "warning"]
ASKED = """
import json
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, path, ready={default}):
        self.ready = ready
        self.done = json.load(open(path))
        self.rows = json.load(open(path))

    def __len__(self):
        return max(len(self.rows), len(self.done))

    def row(self, i):
        return self.rows[i]

    def __getitem__(self, i):
        {read}

loader = DataLoader(Rows("x.json"), num_workers=4)
"""


@pytest.mark.parametrize(
    ("default", "read", "expected"),
    [
        ("True", "return self.done[i] if self.ready else 0", ["warning"]),
        ("True", "if self.ready:\n            return self.done[i]\n        else:\n            return self.row(i)", WN),
        ("True", "if not self.ready:\n            return self.row(i)\n        return self.done[i]", WN),
        ("True", "if not self.ready:\n            return self.rows[i]\n        return self.done[i]", WN),
        ("False", "if self.ready:\n            return self.row(i)\n        return self.done[i]", WN),
        # On by default, not known, no flag of the object, or read in another way, too.
        ("False", "if not self.ready:\n            return self.row(i)\n        return self.done[i]", WW),
        ("size()", "if not self.ready:\n            return self.row(i)\n        return self.done[i]", WW),
        ("True", "if not ready:\n            return self.row(i)\n        return self.done[i]", WW),
        ("True", "if not self.ready:\n            return self.row(i)\n        return self.done[i], self.rows[i]", WW),
        ("True", "if self.row(i):\n            return self.done[i]\n        return 0", WW),
    ],
)
def test_state_that_only_a_flag_has_samples_read(default: str, read: str, expected: list[str]) -> None:
    assert sorted(severities(ASKED.format(default=default, read=read))) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("RowsTest", "note"),
        ("ValRows", "note"),
        ("rows_eval", "note"),
        ("TestRows", "note"),
        ("Valuable", "warning"),
        ("Retest", "warning"),
        ("Rows", "warning"),
    ],
)
def test_classes_for_evaluation_by_their_names(name: str, expected: str) -> None:
    text = ROWS.format(filled=RECORDS["parsed"]) + "loader = DataLoader(Rows('.'), num_workers=4)\n"
    assert severities(text.replace("Rows(", f"{name}(")) == [expected]


def test_what_lies_beside_the_records_that_are_counted() -> None:
    """Numbers for each record, as a rule: a note."""
    text = ASKED.format(default="True", read="return self.rows[i], self.done[i]")
    assert severities(text) == WW
    assert sorted(severities(text.replace("max(len(self.rows), len(self.done))", "len(self.rows)"))) == WN


SLOTS = """
import torch
from torch.utils.data import DataLoader, Dataset

class Streams(Dataset):
    def __init__(self, streams):
        self.streams = [load(each) for each in streams]

    def __len__(self):
        return len(self.streams)

    def __getitem__(self, i):
        self.streams[i] = {}
        return next(self.streams[i])
"""


@pytest.mark.parametrize(("kept", "count"), [("again(self.streams[i])", 0), ("again(self.streams[0])", 1)])
def test_entries_that_are_made_of_what_is_there(kept: str, count: int) -> None:
    assert len(of("TLK104", SLOTS.format(kept))) == count


def test_caches_without_workers_by_default() -> None:
    text = SLOTS.format("again(self.streams[0])") + "loader = DataLoader(Streams([]), num_workers=args.workers)\n"
    assert of("TLK104", text) == ["error"]
    assert of("TLK104", text + "parser.add_argument('--workers', default=0)\n") == ["note"]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("y.numpy()", "error"),
        ("y.numpy()[:2]", "error"),
        ("y.numpy()[0]", "note"),
        ("y.numpy()[0, :]", "error"),
        ("y[0]", "error"),  # of one dimension, too: a tensor in the same memory
    ],
)
def test_an_entry_of_an_array_may_be_a_number(kept: str, expected: str) -> None:
    """Run on numpy 2.4: of one dimension it is a number, a copy; of more a view."""
    text = f"""
from torch.utils.data import DataLoader

def collect(data, index):
    kept = []
    for x, y in DataLoader(data, batch_size=8, num_workers=4):
        kept.append({kept})
    return kept
"""
    assert [each.severity.value for each in lint(text) if each.code == "TLK404"] == [expected]


@pytest.mark.parametrize(
    ("around", "made", "behind", "expected"),
    [
        ("for epoch in range(9):", "losses = []", "print(sum(losses))", "note"),
        ("while more():", "losses = []", "print(sum(losses))", "note"),
        ("if more():", "losses = []", "print(sum(losses))", "warning"),  # it may be all of the training
        ("for epoch in range(9):", "pass", "print(sum(losses))", "warning"),
        ("for epoch in range(9):", "losses = []", "kept.append(losses)", "warning"),
        ("for epoch in range(9):", "losses = []", "show(losses)", "warning"),
        ("for epoch in range(9):", "losses = kept[epoch]", "print(sum(losses))", "warning"),
    ],
)
def test_freed_graphs_in_what_is_made_anew_each_epoch(around: str, made: str, behind: str, expected: str) -> None:
    """Of eleven such findings of six repositories that readers judged none was worth a change."""
    text = f"""
from torch.utils.data import DataLoader

def train(model, data, opt, kept):
    losses = []
    {around}
        {made}
        for x in DataLoader(data):
            loss = model(x).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss)
        {behind}
"""
    assert [each.severity.value for each in lint(text) if each.code == "TLK402"] == [expected]
