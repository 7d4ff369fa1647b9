"""Severity by where code stands: what nobody runs, or runs once, is a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.config import DEFAULT, Config
from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.model import messages
from tests.test_project import put

TRAINING = """
    import torch
    from torch.utils.data import DataLoader

    {decorator}
    def fit(model, data, optimizer):
        total = 0
        for x in DataLoader(data):
            loss = model(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss
        print(total)

    def other():
        pass
"""


def severities(code: str, text: str, path: Path | None = None, config: Config = DEFAULT) -> list[str]:
    importers.forget()
    found = lint(text, config, path=str(path) if path is not None else None)
    return [each.severity.value for each in found if each.code == code]


def of_project(root: Path, decorator: str = "", rest: str = "", **files: str) -> list[str]:
    put(root, steps=TRAINING.format(decorator=decorator) + rest, **files)
    (root / ".git").mkdir(exist_ok=True)
    path = root / "steps.py"
    return severities("TLK401", path.read_text(encoding="utf-8"), path)


def test_what_nothing_names_is_left_over(tmp_path: Path) -> None:
    used = {"main": "from steps import other\nother()\n"}
    assert of_project(tmp_path, **used) == ["note"]
    assert of_project(tmp_path, main="from steps import fit\nfit()\n") == ["warning"]
    assert of_project(tmp_path, main="from steps import *\nfit()\n") == ["warning"]
    assert of_project(tmp_path, decorator="@register", **used) == ["warning"]
    assert of_project(tmp_path, rest="\n    fit(1, 2, 3)\n", **used) == ["warning"]


def test_a_module_that_nobody_imports_may_be_used_elsewhere(tmp_path: Path) -> None:
    assert of_project(tmp_path) == ["warning"]
    assert of_project(tmp_path, rest="\n    if __name__ == '__main__':\n        other()\n") == ["note"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("setup.py", "from setuptools import setup\nsetup(name='x')\n", "warning"),
        ("setup.cfg", "[metadata]\nname = x\n", "warning"),
        ("pyproject.toml", "[project]\nname = 'x'\n", "warning"),
        ("pyproject.toml", "[tool.black]\n", "note"),
    ],
)
def test_of_a_package_the_users_are_not_in_sight(tmp_path: Path, name: str, text: str, expected: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert of_project(tmp_path, main="from steps import other\nother()\n") == [expected]


def test_what_a_package_hands_out_is_no_leftover(tmp_path: Path) -> None:
    put(tmp_path, lib__init__=TRAINING.format(decorator=""), main="from lib import other\nother()\n")
    (tmp_path / ".git").mkdir()
    path = tmp_path / "lib" / "__init__.py"
    assert severities("TLK401", path.read_text(encoding="utf-8"), path) == ["warning"]


def test_a_statement_of_the_module_itself_is_no_leftover(tmp_path: Path) -> None:
    hooked = "import torch\nkept, data = [], [torch.ones(1, 1)]\nmodel = torch.nn.Linear(1, 1)\n"
    hooked += "model.register_forward_hook(lambda m, i, o: kept.append(o))\nfor x in data:\n    model(x)\n"
    put(tmp_path, run=hooked + "if __name__ == '__main__':\n    pass\n")
    (tmp_path / ".git").mkdir()
    path = tmp_path / "run.py"
    assert severities("TLK604", path.read_text(encoding="utf-8"), path) == ["error"]


@pytest.mark.parametrize(
    ("imports", "there", "expected"),
    [
        ("from ..tools import log", "", "note"),
        ("from ..tools.text import log", "tools/__init__.py", "note"),
        ("from ..tools.text import log", "tools/text.cpp", "error"),
        ("from .tools import log", "lib/tools.py", "error"),
        ("from ..tools import log", "tools/__init__.py", "error"),
        ("from ... import log", "", "error"),
        ("from ....far import log", "", "note"),  # from above the repository
        ("from ..tools import log", ".gitmodules", "error"),
        ("try:\n    from ..tools import log\nexcept ImportError:\n    log = print", "", "error"),
    ],
)
def test_a_module_that_cannot_be_imported(tmp_path: Path, imports: str, there: str, expected: str) -> None:
    hooked = "import torch\nkept, data = [], [torch.ones(1, 1)]\nmodel = torch.nn.Linear(1, 1)\n"
    hooked += "model.register_forward_hook(lambda m, i, o: kept.append(o))\nfor x in data:\n    model(x)\n"
    path = tmp_path / "lib" / "run.py"
    path.parent.mkdir()
    path.write_text(f"{imports}\n{hooked}", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    if there:
        (tmp_path / there).parent.mkdir(exist_ok=True)
        (tmp_path / there).write_text("log = print\n", encoding="utf-8")
    assert severities("TLK604", path.read_text(encoding="utf-8"), path) == [expected]


HOOK = """
import torch

kept = []

def hook(module, inputs, output):
    kept.append(output)

net = make()
net.conv.register_forward_hook(hook)
{run}
"""


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("print(net(x))", "note"),
        ("for x in data:\n    net(x)", "error"),
        ("def once(x):\n    net(x)\nonce(x)", "error"),
        ("fit(net)", "error"),
    ],
)
def test_hooks_of_a_program_that_runs_once(run: str, expected: str) -> None:
    assert severities("TLK604", HOOK.format(run=run)) == [expected]


def test_hooks_that_a_loop_registers_for_one_run() -> None:
    text = HOOK.format(run="print(net(x))").replace("net.conv.r", "for each in net:\n    net.conv.r")
    assert severities("TLK604", text) == ["error"]
    assert severities("TLK604", text.replace("net.conv.", "make().")) == ["error"]


EVALUATED = """
import torch

{before}
def validate(model, items):
    {mode}
    for item in items:
        print(model(item).argmax())
        {end}

def whole(model, items):
    validate(model, items)

{after}
"""
TRAINED = """
def fit(model, items, optimizer):
    for epoch in range(9):
        for x in items:
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
        {}(model, items)
"""


@pytest.mark.parametrize(
    ("mode", "after", "end", "expected"),
    [
        ("weights = torch.load('w.pt')", "", "", "note"),
        ("weights = torch.load('w.pt')", TRAINED.format("validate"), "", "warning"),
        ("weights = torch.load('w.pt')", TRAINED.format("whole"), "", "warning"),
        ("weights = torch.load('w.pt')", TRAINED.format("other"), "", "note"),
        ("weights = torch.load('w.pt')", TRAINED.format("validate"), "break", "note"),
        ("weights = torch.load('w.pt')", "validate(model, items)", "", "note"),
        # Who puts the network in evaluation mode evaluates, whatever it goes over.
        ("model.eval()", "", "", "warning"),
        ("model.eval()", "validate(model, items)", "", "warning"),
        ("model.eval()", TRAINED.format("validate"), "break", "note"),
    ],
)
def test_evaluations_of_no_loader_away_from_training(mode: str, after: str, end: str, expected: str) -> None:
    assert severities("TLK501", EVALUATED.format(before="", mode=mode, after=after, end=end)) == [expected]


def test_evaluations_of_a_loader() -> None:
    text = EVALUATED.format(before="", mode="model.eval()", after="", end="").replace(
        "in items", "in DataLoader(items)"
    )
    text = "from torch.utils.data import DataLoader\n" + text
    assert severities("TLK501", text) == ["warning"]
    assert severities("TLK501", text.replace("argmax())\n", "argmax())\n        break\n")) == ["note"]


STORED = """
import numpy as np
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, files):
        self.rows = [np.load(file) for file in files]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        low, new = i, i * 2
        half = row / 2
        {}
        return row.sum()

{}
"""


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ("row[:, 0] = np.clip(row[:, 0], 0, 5)", "note"),
        ("row[:, 0] = row[:, 0].clip(0, 5)", "note"),
        ("row[:, 0] = np.clip(row[:, 1], 0, 5)", "error"),
        ("row[:, 0] = np.clip(row[:, 0], a_min=0, a_max=new)", "note"),
        ("row[:, 0] = np.clip(row[:, 0], 0, np.random.rand())", "error"),  # narrower each time
        ("limit = np.random.rand(); row[:, 0] = np.clip(row[:, 0], 0, limit)", "error"),
        ("row[:, 0] = np.clip(row[:, 0], 0, row.mean())", "error"),
        ("row[:, 0] = row[:, 0] / 2", "error"),
        ("row[:, 0] = half[:, 0]", "error"),
        ("row[:, -1] = new", "note"),
        ("row[:, low] = new", "error"),
        ("row.sort()", "note"),
        ("row -= 1", "error"),
        ("np.random.shuffle(row)", "error"),
        ("row[0] = row[1] = new", "error"),
    ],
)
def test_edits_that_are_settled(edit: str, expected: str) -> None:
    assert severities("TLK203", STORED.format(edit, "")) == [expected]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", "error"),
        (", num_workers=4", "note"),
        (", num_workers=0", "error"),
        (", num_workers=count", "error"),
        (", num_workers=4, persistent_workers=True", "error"),
    ],
)
def test_edits_in_workers_that_start_anew(given: str, expected: str) -> None:
    loader = f"loader = DataLoader(Rows([]), batch_size=4{given})"
    text = STORED.format("row -= 1", loader)
    assert severities("TLK203", text) == [expected]
    (found,) = messages(text, "TLK203")
    kept = "stays in each worker until its epoch ends: this change of `row`"
    assert found.startswith(kept if expected == "note" else "later epochs see this change of `row`")


RECORDS = """
import json, os
import numpy as np
from torch.utils.data import Dataset

class Records(Dataset):
    def __init__(self, file):
        self.records = json.load(open(file))
        self.root, self.names = file, dict(a=1)
        self.read = self.seen = 0

    def __len__(self):
        return len(self.records)

    def __getitem__(self, i):
        self.read += 1
        self.seen = i
        record = self.records[i]
        {}
        return str(record)
"""


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ('record["label"] = record["answer"]', "note"),
        ('record["tags"] = record.setdefault("tags", [])', "note"),
        ('record["name"] = record["name"] + str(record["id"])', "error"),
        ('record["name"] = f"{record[\'id\']}-" + str(len(record["text"]))', "note"),
        ('record["split"] = "train"', "note"),
        ('seen = {}; seen[i] = 1; record["name"] = str(len(record["text"]))', "note"),
        ('record["length"] = len(record["text"]) > 4', "note"),
        ('record["length"] = record["length"] + 1', "error"),
        ('record["last"] = record["now"]; record["now"] = i', "error"),
        ('record["last"] = record["now"]; record[name_of(i)] = i', "error"),
        ('record["image"] = load(record["path"])', "error"),  # it stays in memory
        ('record["image"] = record.pop("path")', "error"),
        ('record["image"] = record.get("path", key=i)', "error"),
        ('record["image"] = i', "note"),  # the same for the same record
        ('record["image"] = other["path"]', "error"),
        ('record["image"] = record[i]', "error"),
        ('record[i] = "train"', "note"),
        ('record[name_of(i)] = "train"', "error"),
        ('record["path"] = os.path.join(self.root, record["name"])', "note"),
        ('record["path"] = os.path.join(self.root, record["path"])', "error"),
        ('record["path"] = self.root + "/{}.png".format(record["name"])', "note"),
        ('record["path"] = "{}".format(file=record["name"])', "error"),
        ('record["path"] = (lambda: 1)()', "error"),
        ('record["dataset"] = self', "note"),
        ('record["read"] = self.read', "error"),  # one more each time
        ('record["read"] = self.seen', "error"),
        ('record["first"] = record["names"][:2]', "note"),
        ('record["first"] = record[:2]', "error"),
        ('a, b = record["pair"]; record["first"] = a', "error"),
        ('record["name"] = self.root if record.kind else None', "note"),
        ('record["mean"] = np.zeros(9) + 1', "error"),
        ('record["mean"] = MEAN', "error"),
        ('rows[0][0] = 1; record["split"] = "train"', "note"),
        ('name = i; record["name"] = name', "note"),
        ('record["names"] = [each for each in names]', "error"),
        ('record["kind"] = record["names"][record["names"]]', "note"),
        ('record["sum"] = ' + " + ".join(f"{n}" for n in range(99)), "error"),  # more than is looked at
        ("record.update(self.names)", "note"),
        ("record.update(made(i))", "error"),
        ("record.update(a=self.names)", "note"),
    ],
)
def test_entries_that_are_settled(edit: str, expected: str) -> None:
    assert severities("TLK203", RECORDS.format(edit))[:1] == [expected]


MIXED = """
from torch.utils.data import Dataset

class Mixed(Dataset):
    def __init__(self, parts):
        self.parts = {{name: {part} for name in parts}}

    def __len__(self):
        return 9

    def __getitem__(self, i):
        row = self.parts["one"][i]
        row["a"] = row["a"] + 1
        return row
"""


@pytest.mark.parametrize(("part", "expected"), [("made(name)", "note"), ("[dict(a=1), dict(a=2)]", "error")])
def test_what_an_object_may_make_when_it_is_asked(part: str, expected: str) -> None:
    assert severities("TLK203", MIXED.format(part=part)) == [expected]


def test_tensors_of_spawned_workers() -> None:
    text = """
import torch
from torch.utils.data import Dataset

class Features(Dataset):
    def __init__(self, paths):
        self.features = [torch.load(path) for path in paths]

    def __getitem__(self, i):
        return self.features[i]
"""
    assert severities("TLK103", text) == ["note"]
    assert severities("TLK103", text + "\ntorch.multiprocessing.set_start_method('spawn')\n") == ["warning"]
    assert severities("TLK103", text, config=Config(assume_workers="yes")) == ["warning"]


COLLATED = """
import numpy as np
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, file):
        self.rows = np.load(file)

    def __getitem__(self, i):
        return self.rows[i]

def measured(samples):
    return [len(each) for each in sorted(samples)]

def passed(samples):
    return list(samples)

def padded(samples):
    return somebody.pad(samples)

loader = DataLoader(Rows("x.npy"){})
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (", collate_fn=measured", ""),  # nobody can edit what nobody keeps
        (", collate_fn=padded", "note"),
        (", collate_fn=passed", "warning"),
        (", collate_fn=list", "warning"),
        (", collate_fn=somebody.s", "warning"),
        (", batch_size=None", "warning"),
    ],
)
def test_views_that_a_collate_function_only_reads(given: str, expected: str) -> None:
    assert severities("TLK201", COLLATED.format(given)) == [expected] * bool(expected)


ATTACKED = """
from torch.utils.data import DataLoader

def evaluate(net, data, {attack}):
    net.eval()
    for x, y in DataLoader(data):
        print(net({attack}.perturb(x, y)).argmax(1) == y)
"""


@pytest.mark.parametrize(("attack", "expected"), [("attack", []), ("pgd_adversary", []), ("augment", ["warning"])])
def test_an_object_that_attacks_needs_gradients(attack: str, expected: list[str]) -> None:
    """Under `no_grad` what it differentiates would raise."""
    assert severities("TLK501", ATTACKED.format(attack=attack)) == expected


UNSET = """
import json
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, path, extra=False, plain=True, more=None):
        if {test}:
            self.rows = json.load(open(path))
        else:
            {other}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]["text"]

loader = DataLoader(Rows("x"{given}), num_workers=4)
"""


@pytest.mark.parametrize(
    ("test", "given", "expected"),
    [
        ("extra", "", "note"),
        ("extra and path", "", "note"),
        ("not plain", "", "note"),
        ("extra", ", extra=True", "warning"),
        ("plain", "", "warning"),
        ("path and more", "", "warning"),
        ("not more", "", "warning"),
        ("extra or path", "", "warning"),
    ],
)
def test_records_that_are_read_for_who_asks(test: str, given: str, expected: str) -> None:
    assert severities("TLK101", UNSET.format(test=test, given=given, other="pass")) == [expected]


def test_records_that_are_read_for_who_does_not_ask() -> None:
    text = UNSET.format(test="plain", given="", other="self.rows = json.load(open(path + path))")
    assert "warning" in severities("TLK101", text)


CACHED = """
import numpy as np
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, paths):
        self.paths, self.cache = paths, {}

    def __getitem__(self, i):
        self.cache[i] = np.load(self.paths[i])
        return self.cache[i] * 2
"""
GIVEN = "from rows import Rows\nfrom torch.utils.data import DataLoader\nloader = DataLoader(Rows([]){})\n"


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("workers = 4\n", ["error"]),  # who uses it is not in sight
        ("", ["note"]),
        ("from rows import Rows\nfit(Rows([]))\n", ["note"]),
        (GIVEN.format(", num_workers=4"), ["error"]),
    ],
)
def test_caches_where_the_project_shows_no_workers(tmp_path: Path, main: str, expected: list[str]) -> None:
    put(tmp_path, rows=CACHED, main=main)
    (tmp_path / ".git").mkdir()
    path = tmp_path / "rows.py"
    assert severities("TLK104", path.read_text(encoding="utf-8"), path) == expected


EVALUATOR = """
import torch
from torch.utils.data import DataLoader

class Evaluator:
    def __init__(self, net, data, off):
        self.net, self.loader = net, DataLoader(data)
        self.net.eval()
        {switch}

    def evaluate(self):
        total = 0
        for x in self.loader:
            total += self.net(x).mean()
        return total
"""


@pytest.mark.parametrize(
    ("switch", "expected"),
    [
        ("torch.set_grad_enabled(False)", 0),
        ("torch.set_grad_enabled(True); torch.set_grad_enabled(mode=False)", 0),
        ("torch.set_grad_enabled(False); torch.set_grad_enabled(True)", 1),
        ("torch.set_grad_enabled(off)", 1),
        ("print(torch)", 1),
    ],
)
def test_a_constructor_that_turns_gradients_off(switch: str, expected: int) -> None:
    codes = [each.code for each in lint(EVALUATOR.format(switch=switch))]
    assert [codes.count("TLK401"), codes.count("TLK501")] == [expected, expected]


def test_looking_at_a_constructor_takes_no_steps_of_what_follows() -> None:
    """Its other methods may take as many as without it: `start(True)` might be the switch."""
    long = "\n".join(f"            total = total + {at} * total" for at in range(150))
    text = EVALUATOR.format(switch="start(True)").replace("            total +=", f"{long}\n            total +=")
    assert not any(each.code == "TLK003" for each in lint(text))
