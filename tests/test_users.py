"""Who uses a module: the files that import it, and what they tell about its helpers and meters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.fixing.fix import fix
from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.test_project import put

RESIZE = "import cv2\n\n\ndef shrink(image):\n    return cv2.resize(image, (800, 800))\n"
PHOTOS = """
    {imports}
    from torch.utils.data import Dataset

    class Photos(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            return {sample}
"""
METER = """
    import torch

    class ScoreMeter:
        def __init__(self):
            self.scores = []

        def update(self, scores):
            self.scores.append(scores)

        def value(self):
            return torch.cat(self.scores).mean()
"""


@pytest.fixture(autouse=True)
def _fresh() -> None:
    importers.forget()


def project(root: Path, **files: str) -> Path:
    put(root, **files)
    (root / "pyproject.toml").touch()
    return root


def found(path: Path, config: Config | None = None) -> list[tuple[str, int]]:
    findings = lint(path.read_text(encoding="utf-8"), config or Config(), path=str(path))
    return [(each.code, each.span.line) for each in findings]


def names(root: Path, module: str, *words: str) -> list[str]:
    return [
        os.path.relpath(each, root).replace(os.sep, "/")
        for each in importers.importers(str(root / module), words, 99)[0]
    ]


# -- importers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("from pkg.tools import shrink\n", True),
        ("from .tools import shrink\n", True),
        ("from . import other, tools\n", True),
        ("from .tools import (\n    shrink,\n)\n", True),
        ("from .tools import *\n", True),
        ("import pkg.tools as tools, os\n", True),
        ("def late():\n    from pkg import tools\n", True),
        ("from elsewhere.tools import shrink\n", False),
        ("from pkg.other import tools\n", False),
        ("import tools\n", False),
        ("tools = shrink = 1\n", False),
    ],
)
def test_who_imports_a_module(tmp_path: Path, text: str, imports: bool) -> None:
    root = project(tmp_path, pkg____init__="", pkg__tools=RESIZE, pkg__user=text, pkg__other="tools = 1\n")
    assert names(root, "pkg/tools.py") == (["pkg/user.py"] if imports else [])


def test_through_another_module_and_no_further(tmp_path: Path) -> None:
    files = {"one": "from tools import shrink", "two": "from one import shrink", "three": "from two import shrink"}
    root = project(tmp_path, tools=RESIZE, **{name: f"{text}\nDataset = 1\n" for name, text in files.items()})
    assert names(root, "tools.py") == ["one.py", "two.py"]
    assert names(root, "tools.py", "Dataset") == ["one.py", "two.py"]
    assert names(root, "tools.py", "Nothing") == []
    assert names(root, "pyproject.toml") == []


def test_a_package_is_imported_by_its_name(tmp_path: Path) -> None:
    whole = {"pkg____init__": "from .tools import shrink\n", "main": "from pkg import shrink\n"}
    root = project(tmp_path, pkg__tools=RESIZE, **whole)
    assert names(root, "pkg/__init__.py") == ["main.py"]
    assert names(root, "pkg/tools.py") == ["pkg/__init__.py", "main.py"]


def test_circles_end(tmp_path: Path) -> None:
    root = project(tmp_path, one="import two\n", two="import one\n")
    assert names(root, "one.py") == ["two.py"]


def test_only_files_of_the_project_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = "import tools\n"
    root = project(tmp_path, tools=RESIZE, below__user=user, venv__user=user, link=user)
    (root / ".hidden").mkdir()
    (root / ".hidden" / "user.py").write_text(user)
    (root / "linked").symlink_to(root / "below", target_is_directory=True)
    (root / "gone.py").symlink_to(root / "nowhere.py")
    assert names(root, "tools.py") == ["link.py", "below/user.py"]
    importers.forget()
    monkeypatch.setattr(importers, "_MOST_FILES", 2)
    assert names(root, "tools.py") == []


def test_no_more_files_are_read_than_is_bearable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project(tmp_path, tools=RESIZE, **{f"user{n}": "import tools\n" for n in range(5)})
    monkeypatch.setattr(importers, "_MOST_READ", 3)
    assert len(names(root, "tools.py")) == 3


def test_without_a_marker_only_the_folder_itself(tmp_path: Path) -> None:
    put(tmp_path, tools=RESIZE, user="import tools\n", below__user="from tools import shrink\n")
    assert names(tmp_path, "tools.py") == ["user.py"]
    (tmp_path / "setup.cfg").touch()
    importers.forget()
    assert names(tmp_path, "tools.py") == ["user.py", "below/user.py"]


# -- OpenCV in helpers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("imports", "sample", "more", "reported"),
    [
        ("from tools import shrink", "shrink(i)", "", True),
        ("import tools", "tools.shrink(i)", "", True),
        ("from middle import prepare", "prepare(i)", "", True),
        ("from tools import shrink", "i", "", False),
        ("import cv2\nfrom tools import shrink", "shrink(cv2.resize(i, (300, 300)))", "", False),  # reported there
        ("import cv2\nfrom tools import shrink\ncv2.setNumThreads(0)", "shrink(i)", "", False),
        ("from first import blur\nfrom tools import shrink", "blur(shrink(i))", "", False),  # the first alone
        ("from tools import shrink", "shrink(i)", "\n\ncv2.setNumThreads(0)\n", False),
    ],
)
def test_a_helper_of_a_dataset_of_another_module(
    tmp_path: Path, imports: str, sample: str, more: str, reported: bool
) -> None:
    root = project(
        tmp_path,
        tools=RESIZE + more,
        first="import cv2\n\ndef blur(image):\n    return cv2.GaussianBlur(image, (3, 3), 0)\n",
        middle="from tools import shrink\n\ndef prepare(image):\n    return shrink(image)\n",
        photos=PHOTOS.format(imports=imports.replace("\n", "\n    "), sample=sample),
    )
    assert found(root / "tools.py") == ([("TLK301", 1)] if reported else [])
    assert found(root / "tools.py", Config(follow_imports="no")) == []
    assert not [code for code, _ in found(root / "middle.py")]


def test_one_dataset_without_a_guard_is_enough(tmp_path: Path) -> None:
    photos = {
        f"data__{name}": PHOTOS.format(imports=f"import cv2, tools{guard}", sample="tools.shrink(i)")
        for name, guard in {"first": "\n    cv2.setNumThreads(0)", "second": ""}.items()
    }
    root = project(tmp_path, tools="import os\n" + RESIZE, **photos)
    assert found(root / "tools.py") == [("TLK301", 2)]


def test_no_more_is_asked_than_is_bearable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flake8_torchleak.model.module._MOST_ROUNDS", 0)
    root = project(tmp_path, tools=RESIZE, photos=PHOTOS.format(imports="import tools", sample="tools.shrink(i)"))
    assert found(root / "tools.py") == []
    monkeypatch.undo()
    assert found(root / "tools.py") == [("TLK301", 1)]


def test_helpers_that_compute_nothing_or_import_late_are_fine(tmp_path: Path) -> None:
    photos = PHOTOS.format(imports="from tools import read", sample="read(i)")
    late = "def read(p):\n    import cv2\n    return cv2.pyrDown(p)\n"
    for text in ("import cv2\n\ndef read(p):\n    return cv2.imread(p)\n", late):
        root = project(tmp_path, tools=text, photos=photos)
        importers.forget()
        assert found(root / "tools.py") == []


def test_the_message_names_the_dataset_and_its_file(tmp_path: Path) -> None:
    root = project(tmp_path, tools=RESIZE, photos=PHOTOS.format(imports="import tools", sample="tools.shrink(i)"))
    path = root / "tools.py"
    (finding,) = lint(path.read_text(), path=str(path))
    assert finding.message == (
        "may be slow: each worker starts an OpenCV thread per core (`shrink` runs for every sample of `Photos`, "
        "photos.py); add `cv2.setNumThreads(0)` below the imports"
    )
    fixed = fix(path.read_text(), Config(), unsafe=True, takes=lambda code: code == "TLK301", path=str(path))
    assert "cv2.setNumThreads(0)" in fixed.text


def test_a_user_that_cannot_be_parsed_tells_nothing(tmp_path: Path) -> None:
    root = project(tmp_path, tools=RESIZE, photos="from tools import shrink\nclass Photos(Dataset:\n")
    assert found(root / "tools.py") == []


# -- meters -------------------------------------------------------------------------------------------------------

FEED = """
    import torch
    from meters import ScoreMeter

    def run(model, loader, optimizer, criterion):
        meter = ScoreMeter()
        for x, y in loader:
            scores = model(x)
            {step}
"""


@pytest.mark.parametrize(
    ("step", "reported"),
    [
        ("criterion(scores, y).backward(); meter.update(scores)", True),
        ("meter.update(scores.detach())", False),
        ("meter.update(helper(y, scores))", True),
        ("with torch.no_grad(): meter.update(model(x))", False),
        ("other.update(scores.detach())", False),
        ("update(scores)", True),
    ],
)
def test_a_meter_that_others_feed(tmp_path: Path, step: str, reported: bool) -> None:
    root = project(tmp_path, meters=METER, train=FEED.format(step=step))
    assert found(root / "meters.py") == ([("TLK904", 9)] if reported else [])


@pytest.mark.parametrize(
    ("kept", "fixed"),
    [
        ("self.scores.append(scores)", "self.scores.append(scores.detach())"),
        ("self.total += scores.view(-1).sum()", None),
        ("self.total += torch.exp(scores)", "self.total += torch.exp(scores).detach()"),
    ],
)
def test_the_meter_is_made_to_detach_where_a_tensor_is_proven(kept: str, fixed: str | None) -> None:
    text = f"""\
import torch


class ScoreMeter:
    def update(self, scores):
        {kept}

    def value(self):
        return torch.cat(self.scores)
"""
    done = fix(text, Config(), unsafe=True, takes=lambda code: code == "TLK904")
    assert done.text == (text.replace(kept, fixed) if fixed else text)
    assert ("proven" in done.left[0].unfixed) if fixed is None else not done.left


@pytest.mark.parametrize(
    "body",
    [
        "self.scores.append(float(scores))",
        "self.scores.append(scores.item())",
        "self.indices.append(pred_labels.cpu())",
        "self.rows.append(scores)",
        "self.shapes.append(scores.shape)",
        "self.name = scores",
        "self.last['scores'] = scores.cpu()",
    ],
)
def test_a_meter_that_keeps_no_tensor_for_sure(body: str) -> None:
    text = (
        "import numpy, torch\n\nclass ScoreMeter:\n    def update(self, scores, pred_labels):\n"
        f"        {body}\n\n    def rows_of(self):\n        torch.cat()\n        return numpy.stack(self.rows)\n"
    )
    assert lint(text) == []


def test_tests_have_small_meters() -> None:
    assert lint("import pytest\n" + METER.replace("\n    ", "\n")) == []
