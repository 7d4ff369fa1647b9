"""What other files tell beyond definitions: loaders that use a module, guards of OpenCV, a model's own switch."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty
from flake8_torchleak.shells.cli import main
from tests.test_project import METER, STEP, found, put

ROWS = """
    import json
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __init__(self, path):
            self.rows = [json.loads(line) for line in open(path)]

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return self.rows[i]["x"]
"""

LOADER = "from torch.utils.data import DataLoader\n{imported}\nloader = DataLoader(Rows('x'), 8{more})\n"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    firstparty.forget()


@pytest.mark.parametrize(
    ("imported", "more", "codes"),
    [
        ("from rows import Rows", "", []),
        ("from rows import Rows", ", num_workers=0", []),
        ("import rows\nRows = rows.Rows", ", num_workers=0", []),
        ("from rows import Rows", ", num_workers=4", ["TLK101"]),
        ("from rows import Rows", ", num_workers=args.workers", ["TLK101"]),
        ("from rows import Rows", ", **options", ["TLK101"]),
        ("from rows import Rows", ", True, None, None, 4", ["TLK101"]),
        ("from other import rows, Rows", "", []),  # then nothing makes an object of this one
        ("from rows import Rows\n(", "", ["TLK101"]),
    ],
)
def test_loaders_nearby_may_show_that_there_are_no_workers(
    tmp_path: Path, imported: str, more: str, codes: list[str]
) -> None:
    put(
        tmp_path,
        data__rows=ROWS,
        data__other="Rows = rows = 1\n",
        data__train=LOADER.format(imported=imported, more=more),
        data__unrelated="import rows\n",
    )
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "data" / "rows.py") == codes
    assert found(tmp_path / "data" / "rows.py", Config(assume_workers="yes")) == ["TLK101"]


def test_a_loader_in_the_folder_above_counts(tmp_path: Path) -> None:
    put(tmp_path, data__rows=ROWS, train=LOADER.format(imported="from data.rows import Rows", more=""))
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "data" / "rows.py") == []


def test_one_loader_with_workers_is_enough(tmp_path: Path) -> None:
    files = {"one": "", "two": ", num_workers=2"}
    put(tmp_path, rows=ROWS, **{n: LOADER.format(imported="from rows import Rows", more=m) for n, m in files.items()})
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "rows.py") == ["TLK101"]


@pytest.mark.parametrize("place", ["tests__rows", "tests__data__rows"])
def test_datasets_of_tests_are_left_alone(tmp_path: Path, place: str) -> None:
    put(tmp_path, rows=ROWS, **{place: ROWS})
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "rows.py") == ["TLK101"]
    assert found(tmp_path.joinpath(*place.split("__")).with_suffix(".py")) == []
    assert lint("import pytest\n" + dedent(ROWS)) == []


IMAGES = """
    import cv2
    from torch.utils.data import Dataset
    {imported}

    class Images(Dataset):
        def __init__(self, files):
            self.files = files

        def __getitem__(self, i):
            return cv2.resize(cv2.imread(self.files[i]), (320, 320))
"""


@pytest.mark.parametrize(
    ("imported", "codes"),
    [
        ("", ["TLK301"]),
        ("import setup_cv2", []),
        ("from setup_cv2 import ready", []),
        ("from pkg import setup", []),
        ("from . import setup_cv2", []),
        ("import absent", ["TLK301"]),
        ("import pkg", ["TLK301"]),
    ],
)
def test_what_the_module_imports_may_limit_opencv(tmp_path: Path, imported: str, codes: list[str]) -> None:
    guard = "import cv2\ncv2.setNumThreads(0)\nready = True\n"
    files = {"images": IMAGES.format(imported=imported), "setup_cv2": guard, "pkg__setup": guard, "pkg__init__": ""}
    put(tmp_path / "lib", **files)
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "lib" / "images.py") == codes


MODEL = """
    import torch

    class TinyModel(torch.nn.Module):
        def forward(self, x, mode="train"):
            if mode == "inference":
                {block}
                    return self.generated(x)
            return self.layer(x)
"""

EVALUATION = """
    import torch
    from models import TinyModel

    def evaluate(loader):
        model = {made}
        model.eval()
        for x, y in loader:
            print(model(x, mode="inference").argmax(1))
"""


@pytest.mark.parametrize(
    ("block", "made", "codes"),
    [
        ("with torch.no_grad():", "TinyModel()", []),
        ("if True:", "TinyModel()", ["TLK501"]),
        ("with torch.no_grad():", "TinyModel().cuda() if gpu else TinyModel()", ["TLK501"]),
    ],
)
def test_a_model_that_switches_gradients_off_itself(tmp_path: Path, block: str, made: str, codes: list[str]) -> None:
    put(tmp_path, models=MODEL.format(block=block), run=EVALUATION.format(made=made))
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "run.py") == codes


INHERITED = """
    import json
    from torch.utils.data import Dataset

    class Base(Dataset):
        def __init__(self, path, cached={default}, *, shown=True):
            if shown:
                print(path)
            if cached:
                self.rows = [json.loads(line) for line in open(path)]
            else:
                self.path = path

        def __len__(self):
            return 10

        def __getitem__(self, i):
            return self.rows[i]["x"]

    class Small(Base):
        {init}
"""


@pytest.mark.parametrize(
    ("default", "init", "lines"),
    [
        ("False", "def __init__(self, path):\n            super().__init__(path)", 1),
        ("None", "def __init__(self, path):\n            super().__init__(path, shown=False)", 1),
        ("False", "def __init__(self, path):\n            super().__init__(path, True)", 1),
        ("True", "def __init__(self, path):\n            super().__init__(path)", 1),
        ("False", "def __init__(self, *a):\n            super().__init__(*a)", 1),
        ("False", "def __init__(self, **k):\n            super().__init__(**k)", 1),
        ("False", "pass", 1),
    ],
)
def test_the_base_itself_is_judged_as_before(default: str, init: str, lines: int) -> None:
    codes = [each.code for each in lint(dedent(INHERITED).format(default=default, init=init))]
    assert codes.count("TLK101") == lines


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("super().__init__(path)", []),
        ("super().__init__(path, shown=False)", []),
        ("super().__init__(path, True)", ["TLK101"]),
        ("super().__init__(path, cached=cached)", ["TLK101"]),
        ("super().__init__(path, *cached)", ["TLK101"]),
        ("super().__init__(path, **cached)", ["TLK101"]),
        ("Base.__init__(self, path)", ["TLK101"]),
    ],
)
def test_what_an_inherited_constructor_leaves_out(tmp_path: Path, call: str, codes: list[str]) -> None:
    base = dedent(INHERITED).format(default="False", init="pass").partition("class Small")[0]
    own = f"from base import Base\nclass SmallDataset(Base):\n    def __init__(self, path, cached):\n        {call}\n"
    put(tmp_path, base=base, small=own)
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "small.py") == codes


BASE = """
import json
from torch.utils.data import Dataset

class Base(Dataset):
    def __init__(self, path):
        self.rows = json.load(open(path))
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return self.rows[i]["text"]
"""


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("def __init__(self, path):\n        super().__init__(path)", []),
        (
            "def __init__(self, path):\n        super().__init__(path)\n        self.rows.append({'text': path})",
            ["TLK101"],
        ),
        (
            "def __init__(self, path):\n        super().__init__(path)\n        self.rows = json.load(open(path))",
            ["TLK101"],
        ),
        ("def __getitem__(self, i):\n        return self.rows[i]['name']", []),
    ],
)
def test_a_class_does_not_repeat_the_finding_of_its_base(tmp_path: Path, body: str, codes: list[str]) -> None:
    put(tmp_path, base=BASE, heir=f"import json\nfrom base import Base\nclass HeirDataset(Base):\n    {body}\n")
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "heir.py") == codes
    assert found(tmp_path / "base.py") == ["TLK101"]


def test_answers_raise_new_questions_only_so_often(tmp_path: Path) -> None:
    own = """
        from base import Rows
        from reading import read

        class SmallDataset(Rows):
            def __init__(self, path):
                self.rows = read(path)
    """
    reading = "import json\ndef read(path):\n    return [json.loads(line) for line in open(path)]\n"
    put(tmp_path, base=ROWS, reading=reading, own=own)
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "own.py") == ["TLK101"]


@pytest.mark.parametrize(
    ("before", "imported", "codes"),
    [
        ("lmdb, _ = optional_import('lmdb')", "lmdb.open", ["TLK105"]),
        ("lmdb = importlib.import_module('lmdb')", "lmdb.open", ["TLK105"]),
        ("opened, _ = optional_import('lmdb', name='open')", "opened", ["TLK105"]),
        ("opened = optional_import('lmdb', name=chosen)", "opened", []),
        ("_, lmdb = optional_import('lmdb')", "lmdb.open", []),
        ("lmdb = optional_import(chosen)", "lmdb.open", []),
        ("lmdb = optional_import()", "lmdb.open", []),
        ("lmdb = made('lmdb')", "lmdb.open", []),
    ],
)
def test_modules_that_a_function_imports(before: str, imported: str, codes: list[str]) -> None:
    text = f"""
        import importlib
        from torch.utils.data import Dataset
        {before}

        class Rows(Dataset):
            def __init__(self, path):
                self.env = {imported}(path)

            def __getitem__(self, i):
                return self.env.begin().get(i)
    """
    assert [each.code for each in lint(dedent(text))] == codes


@pytest.mark.parametrize(
    ("made", "codes"),
    [
        (
            "files = [h5py.File(p) for p in paths]\n        for f in files:\n            self.all.append((f, 1))",
            ["TLK105"],
        ),
        ("for f in [h5py.File(paths)]:\n            self.all.append(f['x'])", ["TLK105"]),
        ("for name in h5py.File(paths):\n            self.all.append(name)", []),
        ("for f in given:\n            self.all.append(f)", []),
    ],
)
def test_handles_in_lists(made: str, codes: list[str]) -> None:
    text = f"""
import h5py
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, paths, given):
        self.all = []
        {made}

    def __getitem__(self, i):
        return self.all[i]["x"]
"""
    assert [each.code for each in lint(text) if each.code == "TLK105"] == codes


@pytest.mark.parametrize(
    ("collate", "codes"),
    [
        ("", ["TLK404"]),
        (", collate_fn=None", ["TLK404"]),
        (", collate_fn=default_collate", ["TLK404"]),
        (", collate_fn=stacked", ["TLK404"]),
        (", collate_fn=partial(stacked, 1)", ["TLK404"]),
        (", collate_fn=lambda b: torch.stack(b)", ["TLK404"]),
        (", collate_fn=self.stacked", ["TLK404"]),
        (", collate_fn=plain", []),
        (", collate_fn=lambda b: torch.load(b[0])", []),
        (", collate_fn=elsewhere", []),
    ],
)
def test_batches_of_what_are_no_tensors(collate: str, codes: list[str]) -> None:
    text = f"""
import torch
from functools import partial
from torch.utils.data import DataLoader

def stacked(batch):
    return torch.stack(batch)

def plain(batch):
    return list(batch)

class Run:
    def stacked(self, batch):
        return torch.stack(batch)

    def all(self, dataset):
        kept = []
        for x in DataLoader(dataset, 8, num_workers=4{collate}):
            kept.append(x)
        return kept
"""
    # TLK405 tells that all batches are held, whatever they are made of.
    assert [each.code for each in lint(text) if each.code < "TLK9" and each.code != "TLK405"] == codes


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("[(int(a), int(b)) for a, b in lines]", "store `torch.tensor(...)` of it, a row for each"),
        ("{k: [] for k in lines}", "store `PackedDict(...)`"),
        ("[Path(each) for each in lines]", "store `np.array([bytes(p) for p in ...])`, `Path(x.decode())` at the read"),
        ("[np.load(each) for each in lines]", ", a spawned one all of it; store one `torch.cat(...)`, and offsets"),
        ("[int(each) for each in lines]", "store `torch.tensor(...)` of it"),
        ("{each for each in lines}", "store `np.array(sorted(...))`"),
    ],
)
def test_the_remedy_fits_what_is_held(rows: str, words: str) -> None:
    text = f"""
import numpy as np
from pathlib import Path
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, path):
        lines = open(path).readlines()
        self.rows = {rows}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return f(self.rows[i]), sorted(self.rows)
"""
    (finding,) = [each for each in lint(text) if each.code == "TLK101"]
    assert words in finding.message
    assert finding.remedy


@pytest.mark.parametrize(
    ("name", "codes"),
    [("rows", ["TLK101"]), ("lang_ids", []), ("caption_lens", []), ("speaker_ids", []), ("image_ids", ["TLK101"])],
)
def test_numbers_of_which_there_are_few(name: str, codes: list[str]) -> None:
    text = ROWS.replace("self.rows", f"self.{name}").replace("json.loads(line)", "int(line)").replace('["x"]', "")
    assert [each.code for each in lint(dedent(text))] == codes


def test_what_a_slice_of_hdf5_holds() -> None:
    text = """
        import h5py
        from torch.utils.data import Dataset

        class Rows(Dataset):
            def __init__(self, path):
                rows = h5py.File(path)["x"]
                self.rows = []
                for i in range(len(rows)):
                    self.rows.append({value})

            def __len__(self):
                return len(self.rows)

            def __getitem__(self, i):
                return self.rows[i].copy()
    """
    for value in ("rows[i:5]", "rows[i, :]", "rows[...]"):
        (finding,) = [e for e in lint(dedent(text).format(value=value)) if e.code == "TLK101"]
        assert "(list of array)" in finding.message


@pytest.mark.parametrize("code", ["TLK101", "TLK401", "TLK501", "TLK604", "TLK901"])
def test_who_selects_less_finds_the_same(tmp_path: Path, code: str) -> None:
    long = "def load(path):\n" + "    x = 1\n" * 1300 + "    return x\n"
    own = """
        import torch
        from torch.utils.data import Dataset
        from big import load
        from nog import quiet
        from base import Base

        class Rows(Dataset):
            def __init__(self, path, rows):
                self.rows, self.given = load(path), rows

            def __len__(self):
                return len(self.given)

            def __getitem__(self, i):
                return self.rows[i], self.given[i]

        class Grabber(Base):
            def __init__(self, model):
                model.fc.register_forward_hook(self.keep)

        @quiet
        def evaluate(model, loader):
            model.eval()
            total = 0
            for x, y in loader:
                total += model(x).sum()
            return total
    """
    nog = "import torch\ndef quiet(f):\n    return torch.no_grad()(f)\n"
    put(tmp_path, big=long, nog=nog, base="import torch\nclass Base(torch.nn.Module):\n    pass\n", own=own)
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "own.py"
    everything = lint(path.read_text(), path=str(path))
    some = lint(path.read_text(), path=str(path), wanted=lambda each: each == code)
    assert some == [each for each in everything if each.code == code]


def test_any_file_name_will_do(tmp_path: Path) -> None:
    put(tmp_path, **{"rows(old": ROWS, "train": LOADER.format(imported="import rows", more="")})
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "rows(old.py") == ["TLK101"]


def test_a_run_sees_what_has_changed_since_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = "import torch\nfrom meters import Average\n\ndef train(model, loader, criterion, optimizer):\n"
    own += "    m = Average()\n"
    own += "    for x, y in loader:\n        loss = criterion(model(x), y)\n        loss.backward()\n"
    own += "        optimizer.step()\n        m.update(loss)\n"
    put(tmp_path, meters=METER, own=own)
    (tmp_path / "pyproject.toml").touch()
    assert main(["check", "own.py"]) == 1
    put(tmp_path, meters=METER.replace("+= value", "+= value.item()"))
    assert main(["check", "own.py"]) == 0


@pytest.mark.parametrize(
    ("more", "statement", "codes"),
    [
        ("", "meter.update(loss)", ["TLK403"]),
        ("import pytest", "meter.update(loss)", []),  # the loops of tests are short
        ("import pytest", "meter.update(loss); total += loss", []),
    ],
)
def test_tests_are_not_followed(tmp_path: Path, more: str, statement: str, codes: list[str]) -> None:
    more_meters = "\ndef masked_loss(loss):\n    return loss.item()\n"
    imported = f"from meters import Average, masked_loss\n    {more}"
    step = STEP.format(imported=imported, before="meter, total = Average(), 0", statement=statement)
    put(tmp_path, meters=dedent(METER) + more_meters, train=step)
    assert sorted(found(tmp_path / "train.py")) == codes
    assert not found(tmp_path / "train.py", Config(follow_imports="no"))
