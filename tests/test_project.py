"""What other files of the project tell: found as Python would find them, read and never run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from textwrap import dedent

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty, project, reading
from flake8_torchleak.shells.cli import main

BASE = """
    from torch.utils.data import Dataset

    class Records(Dataset):
        def __len__(self):
            return len(self.records)

        def __getitem__(self, i):
            return self.make(self.records[i])
"""

OWN = """
    import json
    {imported}

    class PhotoDataset({base}):
        def __init__(self, path):
            self.records = json.load(open(path))

        def make(self, record):
            return len(record)
"""

STEP = """
    import torch
    {imported}

    def train(model, loader, criterion, optimizer):
        {before}
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {statement}
"""

METER = """
    class Average:
        def __init__(self):
            self.total = 0

        def update(self, value):
            self.total += value
"""


@pytest.fixture(autouse=True)
def _fresh() -> None:
    """Folders change from test to test: what was read before is forgotten."""
    firstparty.forget()


def put(root: Path, **files: str) -> None:
    """Write files below a folder; "a__b" stands for a/b.py, "a__init__" for a/__init__.py."""
    for name, text in files.items():
        path = root.joinpath(*name.replace("__init__", "__INIT").split("__"))
        path = path.with_name(path.name.replace("INIT", "__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))


def found(path: Path, config: Config | None = None) -> list[str]:
    """The codes found in a file that knows where it is."""
    return [each.code for each in lint(path.read_text(), config or Config(), path=str(path)) if each.code < "TLK9"]


def dataset(imported: str, base: str = "Records") -> str:
    return dedent(OWN).format(imported=imported, base=base)


@pytest.mark.parametrize(
    ("imported", "base"),
    [
        ("from .base import Records", "Records"),
        ("from . import base", "base.Records"),
        ("from pkg.data.base import Records as R", "R"),
        ("import pkg.data.base", "pkg.data.base.Records"),
        ("from pkg.data import base as b", "b.Records"),
        ("from ..shown import Records", "Records"),
        ("from pkg.starred import Records", "Records"),
    ],
)
def test_a_base_class_is_found(tmp_path: Path, imported: str, base: str) -> None:
    put(
        tmp_path,
        pkg__init__="",
        pkg__data__init__="",
        pkg__data__base=BASE,
        pkg__shown="from pkg.data.base import Records\n",
        pkg__starred="from pkg.data.base import *\n",
        pkg__data__photos=dataset(imported, base),
    )
    (tmp_path / "pyproject.toml").touch()
    photos = tmp_path / "pkg" / "data" / "photos.py"
    assert found(photos) == ["TLK101"]
    assert found(photos, Config(follow_imports="no")) == []


@pytest.mark.parametrize("folder", ["src", "."])
def test_layouts_without_packages(tmp_path: Path, folder: str) -> None:
    root = tmp_path / folder
    put(root, space__base=BASE, tools__photos=dataset("from space.base import Records"))
    (tmp_path / "setup.cfg").touch()
    assert found(root / "tools" / "photos.py") == ["TLK101"]


def test_a_script_beside_its_modules(tmp_path: Path) -> None:
    put(tmp_path, base=BASE, photos=dataset("from base import Records"))
    assert found(tmp_path / "photos.py") == ["TLK101"]


def test_evidence_says_which_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, base=BASE, photos=dataset("from base import Records"))
    assert main(["check", "--min-severity=note", "photos.py"]) == 1
    assert "note: base.py:9: read for every sample in `__getitem__`\n" in capsys.readouterr().out
    assert main(["check", "--min-severity=note", "--output-format=json", "photos.py"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert row["notes"][-1]["path"] == "base.py"
    assert main(["check", "base.py"]) == 0  # what is found in another file is not reported here


@pytest.mark.parametrize(
    "text",
    [
        "def broken(:\n",
        "# -*- coding: no-such-thing -*-\n",
        "from base import Records\n",
        "from other import Records\n",
        "Records = object\n",
        "if True:\n    from base import *\n",
    ],
)
def test_what_cannot_be_read_or_leads_nowhere_is_unknown(tmp_path: Path, text: str) -> None:
    put(tmp_path, photos=dataset("from base import Records"))
    (tmp_path / "base.py").write_text(text)
    assert found(tmp_path / "photos.py") == []


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LARGEST", 10)
    put(tmp_path, base=BASE, photos=dataset("from base import Records"))
    assert found(tmp_path / "photos.py") == []


def test_links_out_of_the_project_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path, outside__base=BASE, inside__photos=dataset("from base import Records"))
    (tmp_path / "inside" / "pyproject.toml").touch()
    (tmp_path / "inside" / "base.py").symlink_to(tmp_path / "outside" / "base.py")
    assert found(tmp_path / "inside" / "photos.py") == []


def test_a_folder_reached_through_a_link_is_the_folder(tmp_path: Path) -> None:
    """Its files are the project's, under whichever path; `..` behind a link leads out of where that leads to."""
    put(tmp_path, real__inside__base=BASE, real__inside__photos=dataset("from base import Records"))
    (tmp_path / "real" / "pyproject.toml").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "inside")
    assert found(tmp_path / "link" / "photos.py") == found(tmp_path / "real" / "inside" / "photos.py") == ["TLK101"]
    for path in ("link/base.py", "real/inside/../inside/base.py", "link/../inside/base.py", "link", "none/base.py"):
        assert reading.Reader().real(str(tmp_path / path)) == os.path.realpath(tmp_path / path)


def test_only_so_many_files_and_lines_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, base=BASE, photos=dataset("from base import Records"))
    monkeypatch.setattr(firstparty, "_MOST_FILES", 0)
    assert found(tmp_path / "photos.py") == ["TLK003"]
    monkeypatch.undo()
    monkeypatch.setattr(project, "_MOST_LINES", 0)
    assert found(tmp_path / "photos.py") == ["TLK003"]


def test_a_class_that_was_not_kept_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "_MOST_LINES", 3)
    bases = "class First:\n    pass\n\n\nclass Second(First):\n    pass\n\n\nclass Third(Second):\n    pass\n"
    own = "from bases import First, Third\nclass OneDataset(First, Third):\n    pass\n"
    put(tmp_path, bases=bases, own=own)
    assert found(tmp_path / "own.py") == ["TLK003"]


def test_modules_that_import_each_other(tmp_path: Path) -> None:
    put(tmp_path, base="from photos import PhotoDataset\n" + dedent(BASE), photos=dataset("from base import Records"))
    assert found(tmp_path / "photos.py") == ["TLK101"]


def test_a_base_of_a_base(tmp_path: Path) -> None:
    middle = "from base import Records\n\nclass Middle(Records):\n    pass\n"
    put(tmp_path, base=BASE, middle=middle, photos=dataset("from middle import Middle", "Middle"))
    assert found(tmp_path / "photos.py") == ["TLK101"]


def test_a_base_that_packs_its_records(tmp_path: Path) -> None:
    packs = "    def __setattr__(self, name, value):\n        object.__setattr__(self, name, pack(value))\n"
    plain = BASE.replace("Records(Dataset)", "Records").replace("from torch.utils.data import Dataset", "")
    put(tmp_path, base=plain + packs, photos=dataset("from base import Records"))
    assert found(tmp_path / "photos.py") == []


@pytest.mark.parametrize(
    ("meter", "codes"), [(METER, ["TLK403"]), (METER.replace("+= value", "+= value.item()"), []), ("", [])]
)
def test_a_meter_from_elsewhere_is_read(tmp_path: Path, meter: str, codes: list[str]) -> None:
    text = dedent(STEP).format(
        imported="from utils.meters import Average", before="losses = Average()", statement="losses.update(loss)"
    )
    put(tmp_path, utils__meters=meter, run=text)
    assert found(tmp_path / "run.py") == codes


def test_a_helper_that_gives_a_number(tmp_path: Path) -> None:
    statement = "total += shown(loss)\n            kept_total += kept(loss)"
    text = STEP.format(imported="from helpers import shown, kept", before="total = kept_total = 0", statement=statement)
    put(tmp_path, helpers="def shown(x):\n    return x.item()\ndef kept(x):\n    return x * 2\n", run=text)
    run = tmp_path / "run.py"
    lines = run.read_text().splitlines()
    assert [lines[each.span.line - 1].strip() for each in lint(run.read_text(), path=str(run))] == [
        "kept_total += kept(loss)"
    ]


GUARDS = {
    "decorator": """
        def quiet(function):
            def run(*arguments):
                with torch.no_grad():
                    return function(*arguments)
            return run
    """,
    "manager": """
        @contextmanager
        def quiet():
            with torch.inference_mode():
                yield
    """,
    "plain": """
        def quiet(function):
            return function
    """,
}


@pytest.mark.parametrize(("guard", "codes"), [("decorator", []), ("manager", []), ("plain", ["TLK501"])])
def test_what_switches_gradients_off(tmp_path: Path, guard: str, codes: list[str]) -> None:
    body = "    model.eval()\n    for x, y in loader:\n        out = model(x)\n        print(out.argmax(1))\n"
    if guard == "manager":
        body = "    with quiet():\n" + "".join(f"    {line}\n" for line in body.splitlines())
    head = "" if guard == "manager" else "@quiet\n"
    put(tmp_path, guards="import torch\nfrom contextlib import contextmanager\n" + dedent(GUARDS[guard]))
    (tmp_path / "run.py").write_text(
        f"import torch\nfrom guards import quiet\n{head}def validate(model, loader):\n{body}"
    )
    assert found(tmp_path / "run.py") == codes


OPENCV = """
    import cv2
    from torch.utils.data import Dataset

    class Photos(Dataset):
        def __getitem__(self, i):
            return cv2.resize(cv2.imread(f"{i}.png"), (800, 800))
"""
LIMITING = """
    import cv2

    def set_up():
        cv2.setNumThreads(0)

    def other():
        cv2.ocl.setUseOpenCL(False)
"""
LIMITED = "import cv2\nfrom torch.utils.data import DataLoader\ncv2.setNumThreads(0)\n"


@pytest.mark.parametrize(
    ("files", "codes"),
    [
        ({"pkg__init__": ""}, ["TLK301"]),
        ({"pkg__init__": "import cv2\ncv2.setNumThreads(0)\n"}, []),
        ({"pkg__init__": "", "train": "import cv2 as cv\ncv.setNumThreads(0)\n"}, []),
        ({"pkg__init__": "", "tools__train": "from cv2 import *\nsetNumThreads( 0)\n"}, []),
        (
            {"pkg__init__": "", "train": "import cv2\nif __name__ == '__main__':\n    cv2.setNumThreads(0)\n"},
            ["TLK301"],
        ),
        ({"pkg__init__": "import cv2\ncv2.setNumThreads(4)\n"}, ["TLK301"]),
        ({"pkg__init__": "from .limits import set_up\n\nset_up()\n", "pkg__limits": LIMITING}, []),
        ({"pkg__init__": "from .limits import set_up as go\n\ngo()\n", "pkg__limits": LIMITING}, []),
        ({"pkg__init__": "from .limits import set_up, other\n\nother()\n", "pkg__limits": LIMITING}, ["TLK301"]),
        ({"pkg__init__": "from .limits import set_up\n", "pkg__limits": LIMITING}, ["TLK301"]),
        ({"pkg__init__": "def set_up():\n    pass\nset_up()\nprint()\n", "pkg__limits": LIMITING}, ["TLK301"]),
        ({"pkg__init__": "from numpy import set_up\n\nset_up()\n"}, ["TLK301"]),
        ({"pkg__init__": "", "runs__fit__go": f"from pkg.photos import Photos\n{LIMITED}DataLoader(Photos())\n"}, []),
        ({"pkg__init__": "", "runs__fit__go": f"{LIMITED}DataLoader(Photos(), num_workers=2)\n"}, ["TLK301"]),
    ],
)
def test_opencv_is_limited_elsewhere(tmp_path: Path, files: dict[str, str], codes: list[str]) -> None:
    put(tmp_path, pkg__photos=OPENCV, **files)
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "pkg" / "photos.py") == codes


def test_opencv_in_a_base_elsewhere_is_reported_there(tmp_path: Path) -> None:
    own = "from base import Photos\nclass CropDataset(Photos):\n    pass\n"
    put(tmp_path, base="import cv2\n" + dedent(OPENCV), own=f"import cv2\n{own}")
    assert found(tmp_path / "own.py") == []
    assert found(tmp_path / "base.py") == ["TLK301"]


def test_state_that_a_base_binds_is_reported_where_it_is_filled(tmp_path: Path) -> None:
    base = """
        from torch.utils.data import Dataset

        class Records(Dataset):
            def __init__(self, records):
                self.records = records

            def __len__(self):
                return len(self.records)

            def __getitem__(self, i):
                return len(self.records[i])
    """
    own = """
        import json
        from base import Records

        class HandedDataset(Records):
            def __init__(self, path):
                super().__init__(json.load(open(path)))

        class FilledDataset(Records):
            def __init__(self, paths):
                super().__init__([])
                for path in paths:
                    self.records.extend(json.load(open(path)))
    """
    put(tmp_path, base=base, own=own)
    text = (tmp_path / "own.py").read_text()
    shown = [text.splitlines()[each.span.line - 1].strip() for each in lint(text, path=str(tmp_path / "own.py"))]
    assert shown == ["super().__init__(json.load(open(path)))", "self.records.extend(json.load(open(path)))"]


def test_a_helper_by_its_module_and_a_collate_function(tmp_path: Path) -> None:
    text = STEP.format(
        imported="import helpers; from torch.utils.data import DataLoader; from helpers import join",
        before="total = 0; loader = DataLoader(loader.dataset, collate_fn=join, num_workers=2)",
        statement="total += helpers.kept(loss)",
    )
    helpers = "from nets import model\n\ndef kept(x):\n    return x * model(2)\n\ndef join(batch):\n    return batch\n"
    put(tmp_path, helpers=helpers, nets="def model(x):\n    return x\n", run=text)
    assert found(tmp_path / "run.py") == ["TLK401"]


def test_text_without_a_place_is_checked_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, base=BASE)
    text = dataset("from base import Records")
    assert lint(text, path="stdin") == lint(text) == []
    assert [each.code for each in lint(text, path="not_yet_saved.py")] == ["TLK101"]


def test_a_helper_elsewhere_that_evaluates_is_reported_where_the_loop_is(tmp_path: Path) -> None:
    own = """
        import torch
        from helpers import show

        def validate(model, loader):
            for x in loader:
                show(model, x)
    """
    put(tmp_path, helpers="def show(model, x):\n    model.eval()\n    return model(x)\n", own=own)
    assert found(tmp_path / "own.py") == ["TLK501"]
    assert found(tmp_path / "helpers.py") == []


def test_what_two_definitions_need_of_a_third_file_is_read_once(tmp_path: Path) -> None:
    put(
        tmp_path,
        lines="def read(path):\n    return [[each] for each in open(path)]\n",
        sides="""
            from lines import read

            def left(path):
                return read(path)

            def right(path):
                return read(path)
        """,
        rows="""
            from torch.utils.data import Dataset
            from sides import left, right

            class Rows(Dataset):
                def __init__(self, path):
                    self.left = left(path)
                    self.right = right(path)

                def __getitem__(self, i):
                    return self.left[i], self.right[i]
        """,
    )
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "rows.py").count("TLK101") == 2
