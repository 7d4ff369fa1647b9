"""What other files tell beyond definitions: loaders that use a module, guards of OpenCV, a model's own switch."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty
from tests.test_project import found, put

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
        ("from other import rows, Rows", "", ["TLK101"]),
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
            return cv2.resize(cv2.imread(self.files[i]), (32, 32))
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
