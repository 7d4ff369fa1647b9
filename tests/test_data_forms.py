"""One leak of a Dataset in many forms: whatever way a cache is filled, a file opened or a list read, it is told."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from flake8_torchleak.finding import Finding
from flake8_torchleak.lint import lint
from flake8_torchleak.model import early
from tests.test_project import put

HEAD = """
import collections, functools, json, zipfile
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

ARCHIVE = zipfile.ZipFile("x")
"""
LOADER = """
def main(paths):
    for batch in DataLoader(Scans(paths), num_workers=8, batch_size=4):
        print(batch)
"""


def program(init: str, sample: str, rest: str = "", above: str = "") -> str:
    body = f"""
class Scans(Dataset):
    def __init__(self, paths):
        self.paths = np.array(paths)
{indent(dedent(init), " " * 8)}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
{indent(dedent(sample), " " * 8)}

{indent(dedent(rest), " " * 4)}
"""
    return HEAD + above + body + LOADER


def told(text: str, code: str, path: Path | None = None) -> list[Finding]:
    return [each for each in lint(text, path=str(path) if path is not None else None) if each.code == code]


LOAD = "np.load(self.paths[i])"
READ = f"def _load(self, i): return {LOAD}"
FILLED = [
    ("self.c = {}", f"if i not in self.c:\n    self.c.update({{i: {LOAD}}})", "", True),
    ("self.c = {}", f"self.c.update({{i: {LOAD}, 'last': i}})", "", True),
    ("self.c = {}", f"self.c.update({{**self.c, 'last': {LOAD}}})", "", False),
    ("self.c = {}", f"self.c.update(last={LOAD})", "", False),
    ("self.c = {}", f"cache = self.c\ncache[i] = {LOAD}", "", True),
    ("self.c = {}", f"cache = self.c if i else {{}}\ncache[i] = {LOAD}", "", False),
    ("self.c = {}", f"cache = self.c\ncache[i] = {LOAD}\nif len(cache) > 9:\n    cache.popitem()", "", False),
    ("self.c = {}", f"cache = self.c\ncache[i] = {LOAD}\nif len(self.c) > 9:\n    self.c.clear()", "", False),
    ("self.c = {}", f"self.d[i] = {LOAD}", "@property\ndef d(self): return self.c", True),
    ("self.c = {}", f"cache = self.d\ncache[i] = {LOAD}", "@property\ndef d(self): return self.c", True),
    ("pass", f"cache = type(self).c\ncache[i] = {LOAD}", "c = {}", True),
    ("pass", f"self.__class__.c[i] = {LOAD}", "c = {}", True),
    ("pass", f"Scans.c[i] = {LOAD}", "c = {}", True),
    ("self.c = {'x': {}}", f"self.c['x'][i] = {LOAD}", "", True),
    ("self.c = {'x': {}}", f"self.c[i]['x'] = {LOAD}", "", False),
    ("self.c = {'x': {}}", f"self.c['x']['y'][i] = {LOAD}", "", False),
    ("self.c = {'x': {}}", f"self.c['x'] = {{}}\nself.c['x'][i] = {LOAD}", "", False),
    ("self.c = {'x': []}", "self.c['x'].append(i)", "", True),
    ("self.c = collections.defaultdict(list)", f"self.c[i].append({LOAD})", "", True),
    ("self.c = collections.defaultdict(list)", f"self.c[i % 3].append({LOAD})", "", True),
    ("self.c = {}", f"self.c['x'].append({LOAD})", "", False),  # there is no such entry
    ("self.c = dict()", f"self.c['x'].append({LOAD})", "", False),
    ("self.c = []", f"self.c[0].append({LOAD})", "", False),
    ("self.load = functools.lru_cache(maxsize=None)(self._load)", "self.load(i)", READ, True),
    ("self.load = functools.lru_cache(maxsize=9)(self._load)", "self.load(i)", READ, False),
    ("self.load = functools.cache(self._load)", "self.load(i)", READ, True),
    ("self.load = functools.cache(self._load)", "self.load('all')", READ, False),
    ("self.load = functools.cache(self._load)", "self.load(i)", "def _load(self, i): return len(self.paths)", False),
    ("self.load = functools.cache(self.paths.load)", "self.load(i)", "", False),
    ("self.load = functools.cache(read)", "self.load(self.paths[i])", "", True),
    ("self.load = functools.cache()", "self.load(self.paths[i])", "", False),
    ("self.load, self.n = functools.cache(read), 1", "self.load(self.paths[i])", "", True),
    ("self.load = functools.cache(read) if paths else read", "self.load(self.paths[i])", "", False),
]  # fmt: skip


@pytest.mark.parametrize(("init", "sample", "rest", "leaks"), FILLED)
def test_ways_to_fill_a_cache(init: str, sample: str, rest: str, leaks: bool) -> None:
    text = program(init, f"{sample}\nreturn {LOAD}", rest, "def read(path):\n    return np.load(path)\n")
    assert bool(told(text, "TLK104")) is leaks


def test_what_grows_inside_is_named_with_the_part() -> None:
    text = program("self.c = {'x': {}, 'y': []}", f"self.c['x'][i] = {LOAD}\nself.c['y'].append(i)\nreturn i")
    first, second = (each.message for each in told(text, "TLK104"))
    assert "`self.c['x']` (dict)" in first
    assert "`self.c['y']` (list)" in second
    assert "del self.c['y'][:-1000]" in second


STREAMS = [
    ("for path in self.paths:\n    self.c[path] = np.load(path)\n    yield self.c[path]", True),
    ("for part in range(3):\n    self.c[part] = np.load(self.paths[part])\n    yield self.c[part]", False),
    ("for path in self.paths:\n    self.c[path] = np.load(path)\nreturn iter(self.c)", False),
]


@pytest.mark.parametrize(("body", "leaks"), STREAMS)
def test_streams_fill_caches_too(body: str, leaks: bool) -> None:
    text = f"""
class Scans(IterableDataset):
    def __init__(self, paths):
        self.paths, self.c = np.array(paths), {{}}

    def __iter__(self):
{indent(body, " " * 8)}
"""
    assert bool(told(HEAD + text + LOADER, "TLK104")) is leaks


OPENED = [
    ("pass", "ARCHIVE.read(str(i))", "", "warning"),
    ("pass", "ARCHIVE.read(str(i))\nARCHIVE.read('all')", "", "warning"),  # once
    ("pass", "print(ARCHIVE.filename)", "", ""),
    ("pass", "ARCHIVE = zipfile.ZipFile('x')\nARCHIVE.read(str(i))", "", ""),
    ("pass", "self.f.read(str(i))", "f = zipfile.ZipFile('x')", "warning"),
    ("self.f = None", "self.f.read(str(i))", "f = zipfile.ZipFile('x')", ""),
    ("self.f = paths", "self.f.read(str(i))", "", "error"),
    ("self.f = self.found", "self.f.read(str(i))", "@functools.cached_property\ndef found(self): return 1", ""),
]


@pytest.mark.parametrize(("init", "sample", "rest", "severity"), OPENED)
def test_files_that_are_opened_outside(init: str, sample: str, rest: str, severity: str) -> None:
    text = program(init, f"{sample}\nreturn i", rest).replace("Scans(paths)", "Scans(zipfile.ZipFile('z'))")
    found = told(text, "TLK105")
    assert [each.severity.value for each in found] == [severity] * bool(severity)
    assert all("open it in `__getitem__`, on first use" in each.message for each in found)


def test_workers_that_are_not_forked_import_the_module_anew() -> None:
    text = program("pass", "return ARCHIVE.read(str(i))")
    assert not told(text.replace("num_workers=8", "num_workers=8, multiprocessing_context='spawn'"), "TLK105")


PARTS = [
    ("def row(self, i): return self.f['rows'][i]", True),
    ("def row(self, i): return h5py.File('x', 'r+')['rows'][i]", False),
    ("def opened(self): return h5py.File('x', 'r+')\ndef row(self, i): return self.opened()['rows'][i]", False),
]


@pytest.mark.parametrize(("rest", "leaks"), PARTS)
def test_a_method_that_gives_a_part_of_what_is_open_opens_nothing(rest: str, leaks: bool) -> None:
    opens = "self.opened()" if "opened" in rest else "h5py.File(paths, 'r+')"
    text = "import h5py\n" + program(f"self.f = {opens}", "return self.row(i), self.f['rows'][i]", rest)
    assert bool(told(text, "TLK105")) is leaks


OPENERS = """
class Packed(Scans):
    def opened(self, path):
        return zipfile.ZipFile(path)
"""


@pytest.mark.parametrize(
    "declared",
    [
        "def opened(self, path):\n    raise NotImplementedError",
        "@abc.abstractmethod\ndef opened(self, path):\n    return path",
        "def opened(self, path):\n    raise KeyError(path)",
        "def opened(self, path):\n    return path",
        "def opened(self, path):\n    'Nothing to open.'",
    ],
)
def test_a_method_that_is_left_to_the_class_below(declared: str) -> None:
    text = "import abc\n" + program("self.f = self.opened(paths)", "return self.f.read(str(i))", declared)
    assert told(text.replace(LOADER, OPENERS + LOADER.replace("Scans", "Packed")), "TLK105")
    assert not told(text, "TLK105")  # without that class
    nothing = OPENERS.replace("zipfile.ZipFile(path)", "path")
    assert not told(text.replace(LOADER, nothing + LOADER.replace("Scans", "Packed")), "TLK105")


FIRST = [
    ("self._open()", True),
    ("self._open()\nself._close()", False),
    ("self._open()\nself._close()\nself._open()", True),
    ("self._open()\nself.f.close()", False),
    ("self._open()\ndel self.f", False),
    ("self._open()\nself.f = None", False),
    ("self._open()\ntry:\n    pass\nexcept OSError:\n    self.f.close()", True),
    ("self._count()", False),
    ("self._count(self._open())", False),
    ("self._count()\nself._look()", True),
    ("self._again()", True),
]


@pytest.mark.parametrize(("init", "leaks"), FIRST)
def test_what_the_constructor_leaves_open(init: str, leaks: bool) -> None:
    rest = """
    def _open(self):
        if self.f is None:
            self.f = zipfile.ZipFile("x")
        return self

    def _close(self):
        if self.f is not None:
            self.f.close()
            self.f = None

    def _count(self, *_):
        self._open()
        self.n = len(self.f.namelist())
        self._close()

    def _look(self):
        self._open().f.testzip()

    def _again(self):
        self._open()
        self._again()
    """
    text = program(f"self.f = None\n{init}", "self._open()\nreturn self.f.read(str(i))", rest)
    assert bool(told(text, "TLK105")) is leaks


def test_what_is_open_may_be_one_of_several() -> None:
    rest = """
    def _open(self, i):
        if self.f is None:
            self.f = zipfile.ZipFile("x")
        if i > 3:
            self.f = self.all[i]
    """
    text = program("self.f, self.all = None, []\nself._open(0)", "self._open(i)\nreturn self.f.read(str(i))", rest)
    assert told(text, "TLK105")
    assert not told(text.replace("self.all[i]", "opened(i)"), "TLK105")  # perhaps anew


def test_more_steps_than_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = "def _open(self):\n    if self.f is None:\n        self.f = zipfile.ZipFile('x')"
    text = program("self.f = None\nself._open()", "self._open()\nreturn self.f.read(str(i))", rest)
    assert told(text, "TLK105")
    monkeypatch.setattr(early, "_MOST_STEPS", 1)
    assert not told(text, "TLK105")


KEPT = [
    ("self.n = len(self.f.namelist())", True),
    ("self.n = len(self.f.namelist())\ndel self.f", False),
    ("self.n = 3", False),
]


@pytest.mark.parametrize(("init", "leaks"), KEPT)
def test_a_property_that_keeps_what_it_opens(init: str, leaks: bool) -> None:
    rest = """
    @functools.cached_property
    def f(self):
        if not self.n:
            return
        return zipfile.ZipFile("x")

    @functools.cached_property
    def g(self):
        return len(self.paths)
    """
    found = told(program(init, "return self.f.read(str(i * self.g))", rest), "TLK105")
    assert bool(found) is leaks
    assert all("`self.f.close(); del self.f`" in each.message for each in found)
    assert all("do not ask for `self.f` there" in each.remedy for each in found)


def test_a_property_that_keeps_a_video() -> None:
    rest = "@functools.cached_property\ndef f(self):\n    return cv2.VideoCapture('x')"
    text = "import cv2\n" + program("self.n = self.f.get(7)", "return self.f.read()", rest)
    (found,) = told(text, "TLK105")
    assert "`del self.f`" in found.message
    assert "close" not in found.message


PARSED = [
    "self.rows = []\nfor each in paths:\n    self.rows += json.load(open(each))",
    "self.rows = []\nfor each in paths:\n    self.rows.extend(json.load(open(each)))",
    "self.rows = list(json.load(open(paths)))",
    "self.rows = list(filter(None, json.load(open(paths))))",
    "self.rows = []\nfor each in paths:\n    for row in json.load(open(each)):\n        self.rows.append(row)",
    "self.rows = []\nfor each in paths:\n    data = json.load(open(each))\n    self.rows.extend(data['rows'])",
    "self.rows = sorted(json.load(open(paths)), key=len)",
    "rows = []\nfor each in paths:\n    rows = rows + json.load(open(each))\nself.rows = rows",
]


@pytest.mark.parametrize("init", PARSED)
def test_ways_to_read_records(init: str) -> None:
    text = program(init, "return self.rows[i]['x']").replace("len(self.paths)", "len(self.rows)")
    (found,) = told(text, "TLK101")
    assert found.severity.value == "warning"
    assert "arrays" not in found.message
    (line,) = {number for number, each in enumerate(text.splitlines(), 1) if "self.rows = " in each}
    assert found.span.line == line  # where it is made, not where it is filled


def project(root: Path, first: str, second: str) -> Path:
    put(root, base=HEAD.replace('zipfile.ZipFile("x")', "None") + dedent(first))
    path = root / "run.py"
    path.write_text(HEAD.replace('zipfile.ZipFile("x")', "None") + f"from base import *\n{dedent(second)}{LOADER}")
    (root / ".git").mkdir()
    return path


BASE = """
class BaseDataset(Dataset):
    def __init__(self, paths):
        self.paths, self.c = np.array(paths), {}

    def __len__(self):
        return len(self.paths)

    def load(self, i):
        self.c[i] = np.load(self.paths[i])
        return self.c[i]

@functools.cache
def read(path):
    return np.load(path)
"""


def test_a_base_class_of_another_file_that_does_not_show_what_samples_run(tmp_path: Path) -> None:
    sample = "class Scans(BaseDataset):\n    def __getitem__(self, i):\n        return self.load(i).copy()\n"
    path = project(tmp_path, BASE, sample.replace("BaseDataset", "base.BaseDataset"))
    text = path.read_text().replace("from base import *", "import base")
    (found,) = told(text, "TLK104", path)
    assert "self.load(i)" in text.splitlines()[found.span.line - 1]
    assert "limit its size in `BaseDataset`" in found.message
    assert any(each.path and "an entry is added here" in each.text for each in found.notes)
    assert not told((tmp_path / "base.py").read_text(), "TLK104", tmp_path / "base.py")


def test_a_base_class_that_shows_it_itself(tmp_path: Path) -> None:
    whole = BASE.replace("    def load(", "    def __getitem__(self, i):\n        return self.load(i)\n\n    def load(")
    path = project(tmp_path, whole, "class Scans(base.BaseDataset):\n    pass\n")
    text = path.read_text().replace("from base import *", "import base")
    assert not told(text, "TLK104", path)
    assert told(
        (tmp_path / "base.py").read_text() + LOADER.replace("Scans", "BaseDataset"), "TLK104", tmp_path / "base.py"
    )


def test_a_function_of_another_file_that_remembers(tmp_path: Path) -> None:
    sample = """
    class Scans(Dataset):
        def __init__(self, paths):
            self.paths = np.array(paths)

        def __len__(self):
            return len(self.paths)

        def __getitem__(self, i):
            return base.read(self.paths[i]).copy()
    """
    path = project(tmp_path, BASE, sample)
    (found,) = told(path.read_text().replace("from base import *", "import base"), "TLK104", path)
    assert "`read` caches its result for every sample" in found.message
    assert not found.fixes


SERVED = """
from torch.utils.data import DataLoader
from scans import Other, Scans

class Data:
    def __init__(self, paths, some):
        self.rows = None
        if some:
            self.rows = Scans(paths)
        else:
            self.rows = Other(paths)
        self.other = Other(paths)

    def loaders(self):
        return DataLoader(self.rows, num_workers={0}), DataLoader(self.other, num_workers={1})
"""


@pytest.mark.parametrize(
    ("workers", "given", "told_of"),
    [((0, 4), "", False), ((4, 0), "", True), ((0, 4), "\n[project]\n", True), ((0, 4), "test", True)],
)
def test_which_loader_gets_it(tmp_path: Path, workers: tuple[int, int], given: str, told_of: bool) -> None:
    """One of two classes in an attribute: the loader of that says whether there are workers, and no other."""
    rest = "\nclass Other(Dataset):\n    def __getitem__(self, i):\n        return i\n"
    text = program("self.c = {}", f"self.c[i] = {LOAD}\nreturn self.c[i].copy()").replace(LOADER, rest)
    served = SERVED.format(*workers) + ("import pytest\n" if given == "test" else "")
    put(tmp_path, scans=text, data=served)
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text(given if given != "test" else "")
    assert bool(told(text, "TLK104", tmp_path / "scans.py")) is told_of
