"""Where the source says that a Dataset's containers are bound and filled."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from flake8_torchleak.recorder import filled_at, workers

SOURCE = """\
import functools
ROWS: list = []
SEEN, OTHER = {}, 1
def elsewhere():
    ROWS = [1]
    SEEN.setdefault(1, []).append(2)
@functools.cache
def load(path):
    return path
class Base:
    shared = {}
    names: list
    def __init__(this, names):
        this.names, this.few = names, []
        this.names[0] = 1
    @functools.lru_cache
    def read(self, at):
        return at
    @staticmethod
    def none():
        Base.shared[1] = 2
class Rows(Base):
    def __getitem__(self, at):
        self.few += [at]
        self.few[0]["x"].append(at)
        self.few.insert(0, at); self.few.extend([at])
        self.few.index(at)
        other.few.append(at)
        def inner():
            ROWS[at] = 1
        return at
"""


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    (tmp_path / "rows.py").write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("data.rows", tmp_path / "rows.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def told(lines: filled_at.Lines) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    bound, filled = ([(each.line, each.function) for each in places] for places in (lines.bound, lines.filled))
    return bound, filled


@pytest.mark.parametrize(
    ("name", "bound", "filled"),
    [
        ("names", [(12, "Base"), (14, "Base.__init__")], [(15, "Base.__init__")]),
        (
            "few",
            [(14, "Base.__init__")],
            [(24, "Rows.__getitem__"), (25, "Rows.__getitem__"), (26, "Rows.__getitem__")],
        ),
        ("shared", [(11, "Base")], [(21, "Base.none")]),
        ("read", [(17, "Base")], []),
        ("unknown", [], []),
    ],
)
def test_attributes(module: ModuleType, name: str, bound: object, filled: object) -> None:
    assert told(filled_at.attribute(module.Rows, name)) == (bound, filled)


@pytest.mark.parametrize(
    ("name", "bound", "filled"),
    [
        ("ROWS", [(2, "")], [(30, "Rows.__getitem__.inner")]),
        ("SEEN", [(3, "")], [(6, "elsewhere")]),
        ("load", [(8, "")], []),
    ],
)
def test_globals(module: ModuleType, name: str, bound: object, filled: object) -> None:
    assert told(filled_at.variable(module.Rows, name)) == (bound, filled)


def test_paths(module: ModuleType) -> None:
    seen = workers.Workers()
    loader = type("Loader", (), {"dataset": module.Rows([1]), "multiprocessing_context": None})()
    seen._look(loader)
    assert told(seen._lines("Rows.names[*]"))[0] == [(12, "Base"), (14, "Base.__init__")]
    assert told(seen._lines("Base.shared"))[0] == [(11, "Base")]
    assert told(seen._lines("data.rows.SEEN"))[0] == [(3, "")]
    assert seen._lines("Nobody.names") == filled_at.Lines()
    seen.read()


def test_no_source(module: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text("x = = 1")
    assert filled_at.attribute(module.Rows, "names") == filled_at.Lines()
    (tmp_path / "rows.py").unlink()
    assert filled_at.attribute(module.Rows, "names") == filled_at.Lines()
    assert filled_at.attribute(int, "real") == filled_at.Lines()
