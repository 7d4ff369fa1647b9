"""Which Datasets workers can get: told by all files of a program, its settings, scripts and notebooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers, program
from flake8_torchleak.model.census import is_handed_out
from tests.test_project import put

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
MAKES = "from torch.utils.data import DataLoader\n\ndef make(held, options):\n    return DataLoader(held.train, {})\n"
HOLDS = "from rows import Rows\nfrom loaders import make\n\nclass Data:\n    train = Rows('x')\n\nmake(Data(), None)\n"


NOTES = Config(min_severity="note")


def told(
    root: Path, texts: dict[str, str], files: dict[str, str], config: Config = NOTES, rows: str = ROWS
) -> list[str]:
    """The codes of what is told of `rows.py` in a project of these files; texts: those that are no Python."""
    put(root, rows=rows, **files)
    (root / ".git").mkdir(exist_ok=True)
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")
    importers.forget()
    path = root / "rows.py"
    return [each.code for each in lint(path.read_text(encoding="utf-8"), config, path=str(path))]


ASKED = "from loaders import make\n{}\n"


@pytest.mark.parametrize(
    ("given", "more", "leaks"),
    [
        ("8", "", False),
        ("8, num_workers=0", "", False),
        ("8, num_workers=2", "", True),
        ("8, False, None, None, 0", "", False),
        ("8, False, None, None, 3", "", True),
        ("*options", "", True),
        ("**options", "", True),
        ("**options", "options = {'num_workers': 0, 'pin_memory': True}", False),
        ("**options", "options = {'num_workers': 4}", True),
        ("**options, num_workers=0", "", False),
        ("num_workers=options.n", "", True),  # nothing sets it
        ("num_workers=options.n", "p.add_argument('--n', default=0)", False),
        ("num_workers=options.n", "p.add_argument('-j', '--n', default=4)", True),
        ("num_workers=options.n", "p.add_argument('--n')", True),
        ("num_workers=options.n", "p.add_argument('--count', dest='n', default=0)", False),
        ("num_workers=options.n", "p.add_argument('--n', default=0)\nmain(['--n', '4'])", True),
        ("num_workers=options.n", "p.add_argument('--n', default=0)\nmain(['--n', '0'])\nkeys = ['n', 'm']", False),
        ("num_workers=options.n", "p.add_argument('--n', default=0)\nmerge(['data.n', 4])", True),
        ("num_workers=options.n", "p.n = 0", False),
        ("num_workers=options.n", "p.n = 0\np.n += 1", True),
        ("num_workers=options.n", "p.n: int = 0\nprint(p.n)", False),
        ("num_workers=options.n", "class Options:\n    n: int = 0", False),
        ("num_workers=options.n", "def f(p, n=0, m=1):\n    p.n = n\n    p.n = n\nf(p, n=0, m=2)", False),
        ("num_workers=options.n", "def f(p, n):\n    n = 4\n    p.n = 0", False),  # a variable of its own
        ("num_workers=options.n", "def f(p, n=0):\n    p.n = n", False),
        ("num_workers=options.n", "def f(p, n=0):\n    p.n = n\nf(p, 4)", True),
        ("num_workers=options.n", "def f(p, n=0):\n    p.n = n\nf(p, n=4)", True),
        ("num_workers=options.n", "def f(p, n=0):\n    p.n = n\nf(*p)", True),
        ("num_workers=options.n", "def f(p, *, n=0):\n    p.n = n\nf(p)", False),
        ("num_workers=options.n", "def f(p, *n):\n    p.n = n", True),
        ("num_workers=options.n", "def f(p, n=0):\n    p.n = n\nf(**{'n': 4})", True),
        ("num_workers=options.n", "def f(p, n=0):\n    p.n = n\nf(**{'n': 0})", False),
        ("num_workers=options.n", "def f(p, n):\n    p.n = n\nf(p, p.n)", True),  # goes round in a circle
        ("num_workers=options.n", "def f(p, n=3):\n    p.n = n", True),
        ("num_workers=options.n", "@option('--n', default=0)\ndef f(p, n):\n    p.n = n", False),
        ("num_workers=options.n", "@option('--n', default=2)\ndef f(p, n=0):\n    p.n = n", True),
        ("num_workers=options.n", "from functools import partial\ndef f(p, n=0):\n    p.n = n\npartial(f, n=2)", True),
        ("num_workers=options.n", "class A:\n    def __init__(self, n=0):\n        self.n = n\nA()", False),
        ("num_workers=options.n", "class A:\n    def __init__(self, n=0):\n        self.n = n\nA(1)", True),
        (
            "num_workers=options.n",
            "class A:\n    def __init__(self, n=0):\n        self.n = n\nclass B(A):\n    pass\nB(1)",
            True,
        ),
        ("num_workers=options.n", "Options(n=0)", False),
        ("num_workers=options.n", "Options(n=1)", True),
        (
            "num_workers=options.n",
            "class Options:\n    def __init__(self, n=0):\n        self.n = n\nOptions(n=1)",
            True,
        ),
        ("num_workers=options.n", "class Options:\n    def __init__(self, **all):\n        pass\nOptions(n=1)", True),
        ("num_workers=options['n']", "table = {'m': 4, 'n': 0}", False),
        ("num_workers=options['n']", "table = {'n': 1}", True),
        ("num_workers=options['n']", "table['n'] = 1", True),
        ("num_workers=options[0]", "table = {'n': 0}", True),
        ("num_workers=options.get('n', 0)", "table = {'n': 0}", False),
        ("num_workers=options.get('n')", "table = {'n': 0}", False),
        ("num_workers=options.get('n', 2)", "table = {'n': 0}", True),
        ("num_workers=options.get(n)", "table = {'n': 0}", True),
        ("num_workers=options.get('n', 0)", "setattr(options, 'n', 2)", True),
        ("num_workers=int(options.n)", "p.n = 0", False),
        ("num_workers=count(options.n)", "p.n = 0", True),
        ("num_workers=count()", "", True),
        ("num_workers=2 * options.n", "p.n = 0", False),
        ("num_workers=options.n or 0", "p.n = 0", False),
        ("num_workers=0 if options else 0", "", False),
        ("num_workers=0 if options else 2", "", True),
        ("num_workers=-options.n", "p.n = 0", True),
        ("num_workers=lambda: 0", "", True),
        ("num_workers=NUMBER", "", True),
    ],
)
def test_numbers_of_workers(tmp_path: Path, given: str, more: str, leaks: bool) -> None:
    files = {"loaders": MAKES.format(given), "main": HOLDS, "options": more}
    assert bool(told(tmp_path, {}, files)) == leaks


@pytest.mark.parametrize(
    ("binding", "leaks"),
    [
        ("NUMBER = 0", False),
        ("NUMBER = 2", True),
        ("NUMBER, other = 0, 0", True),
        ("from options import NUMBER", False),
        ("from options import COUNT as NUMBER", True),
    ],
)
def test_constants(tmp_path: Path, binding: str, leaks: bool) -> None:
    files = {
        "loaders": f"{binding}\n{MAKES.format('num_workers=NUMBER')}",
        "main": HOLDS,
        "options": "NUMBER = 0\nCOUNT = 4\n",
    }
    assert bool(told(tmp_path, {}, files)) == leaks


@pytest.mark.parametrize(
    ("name", "text", "leaks"),
    [
        ("run.sh", "python main.py --the-count 0\n", False),
        ("run.sh", "python main.py --the_count 4\n", True),
        ("run.sh", "COUNT=0\npython main.py --the_count $COUNT\n", False),
        ("run.sh", 'COUNT=8\npython main.py --the_count "$COUNT"\n', True),
        ("run.sh", "python main.py --the_count $1\n", True),
        ("base.yaml", "data:\n  the_count: 0  # none\n", False),
        ("base.yaml", "data:\n  the_count: 6\n", True),
        ("base.json", '{"the_count": 0, "other": 4}', False),
        ("base.json", '{"the_count": 4}', True),
        ("try.ipynb", '"the_count: int = 0"', True),
        ("try.ipynb", '"loader = DataLoader(rows, num_workers=0)"', False),
        ("try.ipynb", '"loader = DataLoader(rows, num_workers=4)"', True),
        ("try.ipynb", "x" * 400_001, True),
        ("data.json", "x" * 400_001, False),
    ],
)
def test_settings_scripts_and_notebooks(tmp_path: Path, name: str, text: str, leaks: bool) -> None:
    files = {"loaders": MAKES.format("num_workers=options.the_count"), "main": HOLDS, "options": "p.the_count = 0"}
    assert bool(told(tmp_path, {name: text}, files)) == leaks


@pytest.mark.parametrize(
    ("text", "leaks"),
    [
        (
            "from torch.utils.data import DataLoader, TensorDataset\nx = DataLoader(TensorDataset(1), num_workers=4)\n",
            False,
        ),
        ("from torch.utils.data import DataLoader, Subset\nx = DataLoader(Subset(given, [1]), num_workers=4)\n", True),
        ("from torch.utils.data import DataLoader\nx = DataLoader(dataset=given, num_workers=4)\n", True),
        ("from torch.utils.data import DataLoader\nx = DataLoader(num_workers=4)\n", True),
        ("from torch.utils.data import DataLoader as Loads\nx = Loads(given, num_workers=4)\n", True),
        (
            "import torch.utils.data as d\nf = partial(d.DataLoader, num_workers=4)\n",
            True,
        ),
        ("from torch.utils.data import DataLoader\nf = DataLoader\n", True),
        ("from torch.utils.data import DataLoader\nisinstance(f, DataLoader)\ndef g(x: DataLoader): pass\n", False),
        ("from other.data import DataLoader\nx = DataLoader(given)\n", True),  # its defaults are its own
        ("from timm.data import create_loader\nx = create_loader(given)\n", True),
        ("from transformers import Settings\nx = Settings(dataloader_num_workers=2)\n", True),
        ("from concurrent.futures import Threads\nx = Threads(max_workers=2)\n", False),
        ("from rows import make_loader\nx = make_loader(given)\n", False),
        ("def MyDataLoader(x): pass\nx = MyDataLoader(given)\nprint(MyDataLoader)\n", False),
        ("class MyDataLoader: pass\nx = MyDataLoader(given)\n", False),
        ("import torch.utils.data as d\nclass MyDataLoader(d.DataLoader): pass\nx = MyDataLoader(given)\n", False),
        (
            "import torch.utils.data as d\nclass OurDataLoader(d.DataLoader): pass\nOurDataLoader(1, num_workers=2)\n",
            True,
        ),
        (
            "import torch.utils.data as d\nclass Mine(d.DataLoader):\n    def __init__(self, x, n=0):\n"
            "        super().__init__(x, num_workers=n)\nx = Mine(given)\n",
            False,
        ),
        (
            "import torch.utils.data as d\nclass MyDataLoader(d.DataLoader):\n    def __init__(self, x, n=0):\n"
            "        super().__init__(x, num_workers=n)\nx = MyDataLoader(given, 4)\n",
            True,
        ),
        ("class Other:\n    def __init__(self):\n        super().__init__()\nsuper().__init__(DataLoader)\n", True),
        ("def broken(:\n    DataLoader\n", True),
    ],
)
def test_other_loaders_of_the_project(tmp_path: Path, text: str, leaks: bool) -> None:
    assert bool(told(tmp_path, {}, {"loaders": MAKES.format("8"), "main": HOLDS, "more": text})) == leaks


WORKS = """
    from torch.utils.data import DataLoader, Dataset, Subset
    from PIL import Image
    import elsewhere

    class Base(Dataset):
        pass

    class Files({base}):
        def __init__(self, given, size=4):
            self.given, self.size = 1, size
            self.given = given

        def __getitem__(self, i):
            {body}

        def load(self, name, other=1):
            self.load(name)
            return Image.open(name)

    def fit(paths):
        {makes}
        return DataLoader({data}, num_workers=8)
"""


@pytest.mark.parametrize(
    ("values", "leaks"),
    [
        ({"body": "return Image.open(self.given[i])"}, False),
        ({"body": "name = self.given[i]\n            return Image.open(name)"}, False),
        ({"body": "name = self.given[i]\n            return self.load(name)"}, False),
        ({"body": "return self.load(self.given[i])"}, False),
        ({"body": "return self.load(name=self.given[i])"}, True),
        ({"body": "return transform(self.given[i])"}, True),
        ({"body": "self.x = self.given[i]"}, True),
        ({"body": "x = y = self.given[i]\n            z = x\n            return z"}, True),
        ({"body": "return self.given[i]"}, True),
        ({"body": "return self.given.__getitem__(i)"}, True),
        ({"body": "return next(self.given)"}, True),
        ({"body": "return [each for each in self.given]"}, True),
        ({"body": "return self.given.shape + len(self.given)"}, False),
        ({"body": "return self.size[i]"}, True),
        ({"body": "return 1", "base": "Base"}, False),
        ({"body": "return 1", "base": "Subset"}, True),
        ({"body": "return 1", "makes": "other = Files(paths)", "data": "other"}, False),
        ({"body": "return 1", "makes": "other = build(paths)", "data": "other"}, True),
        ({"body": "return 1", "makes": "other = elsewhere.Files2(paths)", "data": "other"}, True),
        ({"body": "return 1", "makes": "other, _ = paths", "data": "other"}, True),
        ({"body": "return 1", "makes": "other = Files(paths)\n        other = Base()", "data": "other"}, True),
        ({"body": "return 1", "makes": "paths = Files(paths)", "data": "paths"}, True),
    ],
)
def test_loaders_with_workers_of_another_dataset(tmp_path: Path, values: dict[str, str], leaks: bool) -> None:
    """One that may hold ours, and read its samples, is as good as ours; what it opens are names of files."""
    other = WORKS.format(**{"base": "Dataset", "makes": "pass", "data": "Files(paths)", **values})
    assert bool(told(tmp_path, {}, {"loaders": MAKES.format("8"), "main": HOLDS, "other": other})) == leaks


MAIN = "from rows import Rows\nfrom torch.utils.data import DataLoader\nloader = DataLoader(Rows('x'), 8)\n"


@pytest.mark.parametrize(
    ("files", "texts", "leaks"),
    [
        ({}, {}, False),
        ({}, {"setup.py": "setup(name='x')"}, True),
        ({"more": "from rows import Rows\nclass Better(Rows): pass\nx = Better()\n"}, {}, False),
        (
            {
                "more": "from rows import Rows\nfrom torch.utils.data import DataLoader\n"
                "class Better(Rows): pass\nx = DataLoader(Better(), num_workers=2)\n"
            },
            {},
            True,
        ),
    ],
)
def test_a_library_has_users_that_nobody_sees(
    tmp_path: Path, files: dict[str, str], texts: dict[str, str], leaks: bool
) -> None:
    """But who makes the class itself shows that there are none, as before."""
    main = MAIN.replace("Rows('x'), 8", "held(Rows), 8")
    assert bool(told(tmp_path, texts, {"runs__main": main, **files})) == leaks


def test_a_module_that_is_found_by_its_place(tmp_path: Path) -> None:
    """`sys.path` is changed by who runs it: `from data.rows import Rows` of a file `lib/data/rows.py`."""
    main = "import paths\nfrom {} import Rows\nimport torch.utils.data as d\nloader = d.DataLoader(Rows('x'), {})\n"
    for module, given, leaks in [
        ("data.rows", "8", False),
        ("data.rows", "num_workers=4", True),
        ("data.lines", "8", True),
    ]:
        put(tmp_path, lib__data__rows=ROWS, lib__data__lines="", tools__main=main.format(module, given))
        (tmp_path / ".git").mkdir(exist_ok=True)
        importers.forget()
        path = tmp_path / "lib" / "data" / "rows.py"
        found = lint(path.read_text(encoding="utf-8"), Config(min_severity="note"), path=str(path))
        assert bool(found) == leaks, module


def test_who_says_that_there_are_workers_is_believed(tmp_path: Path) -> None:
    files = {"loaders": MAKES.format("8"), "main": HOLDS}
    assert told(tmp_path, {}, files, Config(min_severity="note", assume_workers="yes")) == ["TLK101"]
    assert told(tmp_path, {}, files) == []
    (tmp_path / ".git").rmdir()
    assert told(tmp_path, {}, files, Config(min_severity="note", follow_imports="no")) == ["TLK101"]


def test_large_projects_have_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"loaders": MAKES.format("8"), "main": HOLDS}
    for where, name in [(program, "_MOST_FILES"), (program, "_MOST_PARSED")]:
        with monkeypatch.context() as patch:
            patch.setattr(where, name, 1)
            assert told(tmp_path, {}, files) == ["TLK101"]
    (tmp_path / "settings").mkdir()
    for i in range(401):
        (tmp_path / "settings" / f"{i}.yaml").write_text("a: 1\n", encoding="utf-8")
    assert told(tmp_path, {}, files) == ["TLK101"]


UNUSED = "from torch.utils.data import DataLoader\n{}\nloader = DataLoader(given, num_workers=4)\n"


@pytest.mark.parametrize(
    ("main", "more", "texts", "leaks"),
    [
        ("", "", {}, False),
        ("import rows", "", {}, False),
        ("from rows import Rows", "", {}, True),  # to be used from there, perhaps
        ("import rows\nrows.Rows", "", {}, True),
        ("kind = 'Rows'", "", {}, True),
        ("from importlib import import_module", "", {}, True),
        ("globals()", "", {}, True),
        (None, "from torch.utils.data import DataLoader\nloader = DataLoader(given, num_workers=4)\n", {}, True),
        ("import sys\nsys.modules[__name__]", "", {}, False),
        ("", "", {"run.sh": "--data Rows\n"}, True),
        ("", "", {"setup.py": "setup(name='x')"}, True),
        ("", "class More(Rows): pass\n", {}, False),
        ("", "more = Rows\n", {}, True),
        ("", "def a():\n    Rows()\ndef b():\n    a()\ndef c():\n    b()\ndef d():\n    c()\n", {}, True),
        ("", "def a():\n    Rows()\n    b()\ndef b():\n    a()\n", {}, False),
        ("", "@command\ndef a():\n    Rows()\n", {}, True),
    ],
)
def test_datasets_that_a_program_never_makes(
    tmp_path: Path, main: str | None, more: str, texts: dict[str, str], leaks: bool
) -> None:
    """A file that is alone shows no program: without another one that makes loaders, what it shows is told."""
    if main is not None:
        put(tmp_path, main=UNUSED.format(main))
    (tmp_path / ".git").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "data" / "rows.py"
    path.parent.mkdir()
    put(tmp_path, data__rows=ROWS)
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    importers.forget()
    found = lint(path.read_text(encoding="utf-8"), Config(min_severity="note"), path=str(path))
    assert ("TLK101" in [each.code for each in found]) == leaks


CACHED = """
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __init__(self, path):
            self.cache = {}

        def __getitem__(self, i):
            if i not in self.cache:
                self.cache[i] = load(i)
            return self.cache[i]
"""
REMEMBERED = """
    from functools import lru_cache
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __getitem__(self, i):
            return self.parsed(i)

        @lru_cache(maxsize=None)
        def parsed(self, i):
            return load(i)
"""
OPENED = """
    import zipfile
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __init__(self, path):
            self.archive = zipfile.ZipFile(path)

        def __getitem__(self, i):
            return self.archive.read(str(i))
"""
OPENED_EARLY = """
    import zipfile
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __init__(self, path):
            self.path, self.all = path, None

        def __len__(self):
            return len(self.opened().namelist())

        def opened(self):
            if self.all is None:
                self.all = zipfile.ZipFile(self.path)
            return self.all

        def __getitem__(self, i):
            return self.opened().read(str(i))
"""
SCALED = """
    import cv2
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __getitem__(self, i):
            return cv2.resize(cv2.imread(str(i)), (400, 400))
"""
GIVEN = """
    import numpy as np
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __init__(self, path):
            self.rows = np.load(path)
            self.names = [[each] for each in open(path)]

        def __getitem__(self, i):
            return self.rows[i], self.names[i]
"""


@pytest.mark.parametrize(
    ("rows", "codes"),
    [
        (CACHED, ["TLK104"]),
        (REMEMBERED, ["TLK104"]),
        (OPENED, ["TLK105"]),
        (OPENED_EARLY, ["TLK105"]),
        (SCALED, ["TLK301"]),
    ],
)
def test_what_workers_alone_run_into(tmp_path: Path, rows: str, codes: list[str]) -> None:
    for given, expected in [("num_workers=4", codes), ("num_workers=0", [])]:
        found = told(tmp_path, {}, {"loaders": MAKES.format(given), "main": HOLDS}, rows=rows)
        assert [each for each in found if each in codes] == expected


def test_samples_of_what_is_never_made(tmp_path: Path) -> None:
    main = "import rows\nfrom torch.utils.data import DataLoader\nx = DataLoader(rows.{}, collate_fn=list)\n"
    put(tmp_path, kinds="from importlib import import_module\n")
    assert {"TLK201", "TLK202"} <= set(told(tmp_path, {}, {"main": main.format("others()")}, rows=GIVEN))
    (tmp_path / "kinds.py").unlink()
    found = told(tmp_path, {}, {"main": main.format("Rows()")}, rows=GIVEN)
    assert {"TLK201", "TLK202"} <= set(found)
    assert told(tmp_path, {}, {"main": main.format("others()")}, rows=GIVEN) == []


HOOKS = """
    import cv2
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __getitem__(self, i):
            return self.transform(i)

    class Step:
        def __call__(self, x):
            {}
            return cv2.resize(x, (400, 400))
"""


@pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("pass", True),
        ("x.train(1)", True),
        ("self.net.eval()", False),
        ("loader = DataLoader(x, num_workers=4)", False),
    ],
)
def test_objects_that_evaluate_are_no_transforms(body: str, leaks: bool) -> None:
    found = lint(HOOKS.format(body).replace("\n    ", "\n"), NOTES)
    assert ("TLK301" in [each.code for each in found]) == leaks


BASED = """
    from torch.utils.data import DataLoader, Dataset

    class Base(Dataset):
        def __init__(self):
            self.rows = []

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return self.rows[i]

    class Unused(Base):
        def __init__(self, path):
            super().__init__()
            self.rows += [line.split() for line in open(path)]

    class Used(Base):
        def __init__(self, path):
            super().__init__()
            self.rows += [line.split() for line in open(path)]
"""


def test_what_a_base_class_binds_for_a_class_that_is_used(tmp_path: Path) -> None:
    main = "from rows import {}\nfrom torch.utils.data import DataLoader\nDataLoader({}('x'), num_workers=4)\n"
    assert told(tmp_path, {}, {"main": main.format("Used", "Used")}, rows=BASED)[:1] == ["TLK101"]
    assert told(tmp_path, {}, {"main": main.format("others", "others")}, rows=BASED)[:1] != ["TLK101"]


FLAGGED = """
    import numpy as np
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __init__(self, path, split="a", wanted={default}):
            self.names = [line.strip() for line in open(path)] if path else {{}}
            self.split, self.images = split, np.load(path)
            self.wanted = wanted

        def __getitem__(self, i):
            if {test}:
                return self.names[i]
            {rest}
            return 1
"""


@pytest.mark.parametrize(
    ("default", "test", "main", "leaks"),
    [
        ("False", "self.wanted", "Rows('x')", False),
        ("False", "self.split != 'a' and self.wanted", "Rows('x', split='b')", False),
        ("False", "self.wanted and self.split", "Rows('x', 'b')", False),
        ("True", "not self.wanted", "Rows('x')", False),
        ("False", "self.wanted", "Rows('x', wanted=True)", True),
        ("False", "self.wanted", "Rows('x', 'a', True)", True),
        ("False", "self.wanted", "Rows(**options)", True),
        ("True", "self.wanted", "Rows('x')", True),
        ("True", "self.wanted and self.split", "Rows('x')", True),
        ("False", "self.wanted or self.split", "Rows('x')", True),
    ],
)
def test_what_is_behind_a_flag_that_nothing_sets(
    tmp_path: Path, default: str, test: str, main: str, leaks: bool
) -> None:
    program = f"from rows import Rows\nfrom torch.utils.data import DataLoader\nDataLoader({main}, num_workers=4)\n"
    rows = FLAGGED.format(default=default, test=test, rest="pass").replace(" if path else {}", "")
    assert ("TLK101" in told(tmp_path, {}, {"main": program}, rows=rows)) == leaks
    (tmp_path / "setup.py").write_text("setup(name='x')", encoding="utf-8")
    assert "TLK101" in told(tmp_path, {}, {"main": program}, rows=rows)


def test_views_behind_a_flag_that_nothing_sets(tmp_path: Path) -> None:
    program = (
        "from rows import Rows\nfrom torch.utils.data import DataLoader\nDataLoader(Rows('x'{}), collate_fn=kept)\n"
    )
    rows = FLAGGED.format(default="False", test="self.wanted", rest="pass").replace("self.names[i]", "self.images[i]")
    assert "TLK201" not in told(tmp_path, {}, {"main": program.format("")}, rows=rows)
    assert "TLK201" in told(tmp_path, {}, {"main": program.format(", wanted=True")}, rows=rows)


def test_a_flag_of_the_class_is_as_it_is(tmp_path: Path) -> None:
    """One that is a constant nobody can set by an argument."""
    program = "from rows import Rows\nfrom torch.utils.data import DataLoader\nDataLoader(Rows(**all), num_workers=4)\n"
    rows = FLAGGED.format(default="False", test="self.wanted", rest="pass").replace(" if path else {}", "")
    for constant, leaks in [("False", True), ("True", True)]:
        made = rows.replace("self.wanted = wanted", f"self.wanted = {constant}")
        assert ("TLK101" in told(tmp_path, {}, {"main": program}, rows=made)) == leaks
    never = program.replace("**all", "'x', 'a'")
    made = rows.replace("self.wanted = wanted", "self.wanted = False")
    assert "TLK101" not in told(tmp_path, {}, {"main": never}, rows=made)


@pytest.mark.parametrize(
    ("makes", "leaks"),
    [
        ("kept = Rows('x')\n", False),
        ("from torch.utils.data import Subset\nkept = Subset(Rows('x'), [1])\n", False),
        ("from training import fit\nfit(Rows('x'))\n", True),
        ("from training import fit\nfit(data=Rows('x'))\n", True),
        ("from training import fit\nkept = Rows('x')\nfit(kept)\n", True),
        ("from training import fit\nkept = Rows('x')\nfit(kept.rows)\n", False),
        ("from loaders import make\nmake(Rows('x'), 1)\n", False),
        ("from loaders import other\nother(Rows('x'), 1)\n", True),  # defined nowhere
        ("from training import make\nmake(Rows('x'), 1)\n", True),  # another one of that name
        ("print(Rows('x'))\n", False),
        ("from lib.loaders import make\nmake(Rows('x'), 1)\n", False),  # by way of `sys.path`
    ],
)
def test_what_is_handed_to_other_projects(tmp_path: Path, makes: str, leaks: bool) -> None:
    more = f"from rows import Rows\n{makes}"
    assert bool(told(tmp_path, {}, {"loaders": MAKES.format("8"), "main": HOLDS, "more": more})) == leaks


def test_projects_that_grow_too_large_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, rows=ROWS, main=MAIN)
    monkeypatch.setattr(program, "_MOST_FILES", 1)
    importers.forget()
    assert is_handed_out(str(tmp_path), "Rows")


@pytest.mark.parametrize(("given", "leaks"), [("8", True), ("8, num_workers=0", True), ("8, num_workers=2", True)])
def test_loaders_of_tests_alone(tmp_path: Path, given: str, leaks: bool) -> None:
    """A library's: who uses it makes others."""
    held = f"import pytest\n{MAKES.format(given)}"
    assert bool(told(tmp_path, {}, {"checks": held, "main": HOLDS.replace("loaders", "checks")})) == leaks
