"""Code that cannot run as it stands: names that nothing binds, modules of the project that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers, missing
from tests.test_project import put

PROGRAM = """
    import os
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    {above}

    def evaluate(net: nn.Module, rows, flag):
        {before}
        net.eval()
        for x in DataLoader(rows):
            {inside}
            print(net(x).argmax(1))
        {behind}
"""


def severity(root: Path, text: str, name: str = "run", **files: str) -> str:
    """Of the evaluation in a project of these files."""
    put(root, **{name: text}, **files)
    (root / ".git").mkdir(exist_ok=True)
    path = root / f"{name.replace('__', '/')}.py"
    importers.forget()
    (found,) = (each for each in lint(path.read_text(encoding="utf-8"), path=str(path)) if each.code == "TLK501")
    return found.severity.value


def program(above: str = "", before: str = "", inside: str = "", behind: str = "") -> str:
    return PROGRAM.format(above=above, before=before, inside=inside, behind=behind)


READ = [
    ("before", "print(missing)", "note"),
    ("inside", "log(x)", "note"),
    ("behind", "return total", "note"),
    ("behind", "for each in rows: print(missing)", "note"),
    ("before", "if missing: return", "note"),  # asked in any case
    ("before", "print(missing if flag else 0)", "warning"),
    ("before", "flag or missing()", "warning"),
    ("before", "if flag: print(missing)", "warning"),
    ("before", "if flag: pass\n        else: print(missing)", "warning"),
    ("before", "while flag: print(missing)", "warning"),
    ("before", "try: print(missing)\n        except NameError: pass", "warning"),
    ("before", "try: pass\n        except OSError: print(missing)", "warning"),
    ("before", "try: print(missing)\n        finally: pass", "note"),
    ("before", "found = lambda: missing", "warning"),
    ("before", "found: missing = 1", "warning"),
    ("before", "def inner(): return missing", "warning"),
    ("before", "match flag:\n            case 1: print(missing)", "warning"),
    ("before", "print(__file__, __path__, xrange, len)", "warning"),
    ("before", "print([one for one in rows], os.sep)", "warning"),
    ("above", "from tools import *", "warning"),
    ("before", "missing: int\n        print(globals())\n        log(1)", "warning"),
]


@pytest.mark.parametrize(("place", "code", "expected"), READ)
def test_names_that_nothing_binds(tmp_path: Path, place: str, code: str, expected: str) -> None:
    lines = {place: code, "before": code if place == "before" else "print(missing)" if place == "above" else ""}
    assert severity(tmp_path, program(**lines)) == expected


CALLS = [
    ("shown(x)", "note"),
    ("shown(x, 1)", "warning"),
    ("shown(x, 1, 2)", "note"),
    ("shown(x, size=1)", "warning"),
    ("shown(size=1, x=x)", "warning"),
    ("shown(x, size=1, colour=2)", "note"),
    ("shown(*x)", "warning"),
    ("shown(**flag)", "warning"),
    ("flag and shown(x)", "warning"),
    ("kept(x)", "note"),
    ("kept(x, key=1)", "warning"),
    ("kept(x, key=1, more=2)", "warning"),
    ("kept(x, 1, 2, key=1)", "warning"),
    ("wrapped(x)", "warning"),
    ("Row(x)", "note"),
    ("flag.shown(x)", "warning"),
]
HELPERS = """
    def shown(x, size): print(x, size)

    def kept(x, *rest, key, name="", **more): print(x, rest, key, name, more)

    @retried
    def wrapped(x, size): print(x, size)

    class Row:
        def __init__(self, x, size): self.x = x
"""


@pytest.mark.parametrize(("call", "expected"), CALLS)
def test_calls_that_do_not_fit(tmp_path: Path, call: str, expected: str) -> None:
    above = "from elsewhere import retried\n" + HELPERS
    assert severity(tmp_path, program(above=above, inside=call)) == expected


def test_an_arm_that_holds_the_finding(tmp_path: Path) -> None:
    text = program().replace(
        "        for x in DataLoader(rows):", "        if flag:\n            log(1)\n        for x in DataLoader(rows):"
    )
    assert severity(tmp_path, text) == "warning"
    text = """
    from torch import nn
    from torch.utils.data import DataLoader

    def evaluate(net: nn.Module, rows, flag):
        net.eval()
        {test}
            log(1)
            for x in DataLoader(rows):
                print(net(x).argmax(1))
        else:
            print(flag)
    """
    assert severity(tmp_path, text.format(test="if flag:")) == "note"
    assert severity(tmp_path, text.format(test="if flag: pass\n        elif rows:")) == "note"


def test_an_example_leaves_names_to_its_reader(tmp_path: Path) -> None:
    text = program(inside="log(x)").replace("\n    ", "\n")
    for path in (None, str(tmp_path / "run.py")):
        assert [each.severity.value for each in lint(text, path=path)] == ["warning"]


CALLED = """
    def first(net, rows):
        missing()
        evaluate(net, rows, 1)

    def second(net, rows):
        {second}
        evaluate(net, rows, 1)
"""


@pytest.mark.parametrize(("second", "expected"), [("missing()", "note"), ("print(rows)", "warning")])
def test_all_callers_fail(tmp_path: Path, second: str, expected: str) -> None:
    text = (
        program() + CALLED.format(second=second) + "    first(nn.Linear(1, 1), [])\n    second(nn.Linear(1, 1), [])\n"
    )
    assert severity(tmp_path, text) == expected


def test_callers_in_other_files_may_not_fail(tmp_path: Path) -> None:
    text = (
        program()
        + CALLED.format(second="missing()")
        + "    first(nn.Linear(1, 1), [])\n    second(nn.Linear(1, 1), [])\n"
    )
    assert severity(tmp_path, text, main="from run import evaluate\nevaluate(1, 2, 3)\n") == "warning"


@pytest.mark.parametrize(
    ("imports", "files", "expected"),
    [
        ("from tools.text import log", {"tools____init__": ""}, "note"),
        ("import tools.text", {"tools____init__": ""}, "note"),
        ("from tools.deep.text import log", {"tools____init__": "", "tools__deep____init__": ""}, "note"),
        ("from tools.text import log", {"tools____init__": "", "tools__text": "log = print"}, "warning"),
        (
            "from tools.text import log",
            {"tools____init__": "", "lib__tools__text": "log = 1"},
            "warning",
        ),  # by sys.path
        ("from tools.text import log", {"tools____init__": "", "lib__tools__text____init__": "log = 1"}, "warning"),
        ("from tools.text import log", {"tools__other": ""}, "warning"),  # a folder alone may be any library
        ("from tools.text import log", {"tools": ""}, "warning"),
        ("from tools._C import log", {"tools____init__": ""}, "warning"),  # built
        ("from tools.text_pb2 import log", {"tools____init__": ""}, "warning"),
        ("from tools.version import log", {"tools____init__": ""}, "warning"),
        ("import tools", {"tools____init__": ""}, "warning"),
        ("from os.nothing import log", {}, "warning"),
        ("from .version import log", {}, "warning"),
    ],
)
def test_modules_of_the_project_that_are_not_there(
    tmp_path: Path, imports: str, files: dict[str, str], expected: str
) -> None:
    assert severity(tmp_path, program(above=imports), **files) == expected


@pytest.mark.parametrize(
    ("imports", "files", "expected"),
    [
        ("from tools import text", {"tools____init__": ""}, "note"),
        ("from tools import text", {"tools": "def log(): pass"}, "note"),
        ("from tools import log, text", {"tools": "def log(): pass"}, "note"),
        ("from tools import log", {"tools": "def log(): pass"}, "warning"),
        ("from tools import text", {"tools____init__": "", "tools__text": ""}, "warning"),
        ("from tools import text", {"tools____init__": "", "tools__text____init__": ""}, "warning"),
        ("from tools import *", {"tools": ""}, "warning"),
        ("from tools import text", {"tools": "from os import *"}, "warning"),
        ("from tools import text", {"tools": "def __getattr__(name): return name"}, "warning"),
        ("from tools import text", {"tools": "globals().update(a=1)"}, "warning"),
        ("from tools import __version__", {"tools": ""}, "warning"),  # written by a build
        ("try:\n        from tools import text\n    except ImportError: pass", {"tools": ""}, "warning"),
        ("from tools.deep import text", {"tools__deep": ""}, "warning"),  # a folder alone may be any library
        ("import first", {"first": "import second", "second": "from tools import text", "tools": ""}, "note"),
        ("import first", {"first": "import second", "second": "import first"}, "warning"),
        ("from first import log", {"first": "log = (", "tools": ""}, "warning"),  # another Python's, or half
        ("from .first import log", {"first": "log = 1"}, "warning"),
        ("from .first import text", {"first": "log = 1"}, "note"),
        ("from . import text", {"first": "log = 1"}, "warning"),
        ("from tools.Text import log", {"tools____init__": "", "tools__text": "log = 1"}, "warning"),  # no capitals
        ("from logging import log", {"logging": ""}, "warning"),
        ("from tools import text", {"tools": "", "__init__": ""}, "warning"),  # not what is beside, in a package
    ],
)
def test_names_that_are_not_in_modules_of_the_project(
    tmp_path: Path, imports: str, files: dict[str, str], expected: str
) -> None:
    assert severity(tmp_path, program(above=imports), **files) == expected


def test_names_that_are_not_in_a_module_beside_in_a_bare_folder(tmp_path: Path) -> None:
    text = program(above="from jobs.parts.text import missing")
    assert severity(tmp_path, text, name="jobs__run", jobs__parts__text="log = 1") == "note"
    assert severity(tmp_path, text, name="jobs__run", jobs__parts__text="missing = 1") == "warning"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, "warning"),  # a folder alone may be any library
        ({"first": "import tools.text"}, "note"),
        ({"first": "from tools.other import each", "tools__other": "each = 1"}, "note"),
        ({"first": "import tools"}, "warning"),
        ({"first": "import tools.text", "jobs__tools__text": "log = 1"}, "warning"),
    ],
)
def test_names_that_are_not_in_a_module_in_a_bare_folder(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert severity(tmp_path, program(above="from tools.text import log"), tools__text="other = 1", **files) == expected


def test_what_lies_above_a_repository_is_not_its_own(tmp_path: Path) -> None:
    text = program(above="from ...tools import log")
    assert severity(tmp_path, text, name="jobs__run") == "note"
    (tmp_path / ".git").rmdir()
    (tmp_path / ".git").write_text("gitdir: ../.git/modules/jobs\n", encoding="utf-8")  # a part of another one
    importers.forget()
    path = tmp_path / "jobs" / "run.py"
    (found,) = lint(path.read_text(encoding="utf-8"), path=str(path))
    assert found.severity.value == "warning"


@pytest.mark.parametrize(
    ("made", "names", "expected"),
    [
        ("return 1, 2, 3", "a, b", "note"),
        ("return 1, 2", "a, b, c", "note"),
        ("return 1, 2", "a, b", "warning"),
        ("return 1, 2, 3", "a, *b", "warning"),
        ("return 1, *rest", "a, b, c", "warning"),
        ("return rest", "a, b, c", "warning"),
        ("if rest:\n            return 1, 2\n        return 1, 2, 3", "a, b", "warning"),
        ("if rest:\n            return 1, 2, 4\n        return 1, 2, 3", "a, b", "note"),
        ("return [1, 2, 3]", "a, b", "warning"),  # lists change
    ],
)
def test_more_names_than_parts(tmp_path: Path, made: str, names: str, expected: str) -> None:
    """In the function itself, in the caller of a function that does so, and not where it may be left out."""
    above = f"def parts(rest):\n        {made}\n    def taken(rest):\n        {names} = parts(rest)"
    assert severity(tmp_path, program(above=above, before=f"{names} = parts(rows)")) == expected
    assert severity(tmp_path, program(above=above, before="taken(rows)")) == expected
    assert severity(tmp_path, program(above=above, before=f"if flag: {names} = parts(rows)")) == "warning"


@pytest.mark.parametrize(
    ("made", "taken", "expected"),
    [
        ("def parts():\n        return 1, 2", "a, b, c = parts()", "note"),
        ("from lib import timed\n    @timed\n    def parts():\n        return 1, 2", "a, b, c = parts()", "warning"),
        ("async def parts():\n        return 1, 2", "a, b, c = parts()", "warning"),
        ("def inner():\n        return 1, 2\n    def parts():\n        return inner()", "a, b, c = parts()", "warning"),
        ("def parts():\n        return 1, 2", "found = parts()\n        a, b, c = found", "warning"),
        ("def parts():\n        return 1, 2", "for a, b, c in [parts()]: print(a)", "warning"),
        ("parts = lambda: (1, 2)", "a, b, c = parts()", "warning"),
        (
            "class Parts:\n        def __init__(self): self.x = 1\n        def get(self): return 1, 2",
            "a, b, c = Parts().get()",
            "note",
        ),
        (
            "class Parts:\n        def get(self): return 1, 2\n        def use(self): a, b, c = self.get()",
            "Parts.use(rows)",
            "warning",  # a class below may give three
        ),
    ],
)
def test_what_gives_the_parts(tmp_path: Path, made: str, taken: str, expected: str) -> None:
    """Just what the function returns: no decorator, and no method that a class below may have."""
    assert severity(tmp_path, program(above=made, before=taken)) == expected


BARE = "from tools.text import log"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"tools__other": "", "first": "from tools.other import each"}, "note"),
        ({"tools__other": "", "first": "import other"}, "warning"),  # a library of that name, perhaps
        ({"tools__other": "", "first": "from tools.other import each", "jobs__tools__text": ""}, "warning"),
        ({"tools__other": "", "first": "from tools.other import each", "tools": ""}, "warning"),
        ({"tools__text": "log = 1", "first": "from tools.text import log"}, "warning"),
    ],
)
def test_modules_that_are_not_in_a_bare_folder(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert severity(tmp_path, program(above=BARE), **files) == expected


def test_bare_folders_among_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing, "_MOST_FILES", 1)
    files = {"tools__other": "", "first": "from tools.other import each"}
    assert severity(tmp_path, program(above=BARE), **files) == "warning"


def test_more_modules_than_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing, "_MOST_IMPORTED", 2)
    files = {"first": "import second", "second": "from tools import text", "tools": ""}
    assert severity(tmp_path, program(above="import first"), **files) == "warning"


def test_a_module_that_is_an_extension(tmp_path: Path) -> None:
    put(tmp_path, tools____init__="")
    (tmp_path / "tools" / "text.cpp").touch()
    assert severity(tmp_path, program(above="from tools.text import log")) == "warning"


@pytest.mark.parametrize("source", ["all.cpp", "all.pyx", "setup.py", "CMakeLists.txt"])
def test_a_module_that_may_be_built(tmp_path: Path, source: str) -> None:
    put(tmp_path, tools____init__="")
    (tmp_path / "tools" / source).touch()
    assert severity(tmp_path, program(above="from tools.text import log")) == "warning"
