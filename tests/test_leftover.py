"""What nothing in a project runs: names that are worked out, stand in settings, or in what is left over itself."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers, mentions
from flake8_torchleak.model.mentions import stands_beside
from tests.test_project import put

STEPS = """
    import torch
    from torch.utils.data import DataLoader

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
USED = "from steps import other\nother()\n"


def chain(length: int) -> str:
    """A program with functions that call each other, the first `fit`, and are not called."""
    calls = "".join(f"def f{i}():\n    f{i - 1}()\n" for i in range(length)).replace("f-1", "fit")
    return f"{calls}if __name__ == '__main__':\n    pass\n"


def severity(root: Path, rest: str = "", place: str = "steps", **files: str) -> str:
    """Of the sum in `fit`, in a project of these files, `main` among them."""
    put(root, **{place: STEPS + rest}, **files)
    (root / ".git").mkdir(exist_ok=True)
    path = root / f"{place.replace('__', '/')}.py"
    importers.forget()
    (found,) = lint(path.read_text(encoding="utf-8"), path=str(path))
    return found.severity.value


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("\n    def once():\n        fit(1, 2, 3)\n", "note"),  # itself named by nothing
        ("\n    def once():\n        fit(1, 2, 3)\n\n    def twice():\n        once()\n", "note"),
        ("\n    def once():\n        fit(1, 2, 3)\n        twice()\n\n    def twice():\n        once()\n", "note"),
        ("\n    @command\n    def once():\n        fit(1, 2, 3)\n", "warning"),
        ("\n    class Run:\n        def once(self):\n            fit(1, 2, 3)\n", "note"),
        ("\n    once = fit\n", "warning"),
        ('\n    BY_NAME = {"fit": 1}\n', "warning"),
        ('\n    __all__ = ["fit", "other"]\n', "note"),
        ("\n    # fit(1, 2, 3)\n", "note"),
        ("\n    def eval(self):\n        return self\n", "note"),
        ("\n    eval(input())\n", "warning"),
        ("\n    def eval(net):\n        return net\n\n    eval(1)\n", "note"),  # of its own
        ("\n    from tools import eval\n    eval(1)\n", "note"),
        ("\n    def eval(net):\n        return net\n\n    eval(1)\n    exec(input())\n", "warning"),
        ("\n    run = globals()[input()]\n", "warning"),
    ],
)
def test_what_mentions_it_in_its_own_file(tmp_path: Path, rest: str, expected: str) -> None:
    assert severity(tmp_path, rest, main=USED) == expected


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("import steps\nsteps.other()\n", "note"),
        ("import steps\nsteps.fit(1, 2, 3)\n", "warning"),
        ("import steps\nimport numpy as np\nnp.linalg.fit(1)\nsteps.other()\n", "note"),  # has a name of its own
        ("import steps\nfrom numpy import linalg as la\nla.fit(1)\nsteps.other()\n", "note"),
        ("import steps\nimport lib\nlib.deep.fit(1)\nsteps.other()\n", "note"),
        ("import steps as lib\nlib.fit(1)\n", "warning"),
        ("from steps import fit, other\nother()\n", "note"),
        ("from steps import fit as run, other\nrun(1, 2, 3)\n", "warning"),
        ("import steps\ngetattr(steps, input())()\n", "warning"),
        ("import steps\ngetattr(steps, 'other')()\n", "note"),
        ("import steps\nother = object()\ngetattr(other, input())()\n", "note"),
        ("import steps\ndef run():\n    steps.fit(1, 2, 3)\n", "warning"),  # who uses this file is not in sight
        ("import steps\ndef run():\n    steps.fit(1, 2, 3)\nrun()\n", "warning"),
        ("import steps\nimport_module(input())\n", "warning"),
        ("import steps\ndef run(:\n", "warning"),
        ("import steps\n" + chain(2), "note"),
        ("import steps\n" + chain(9), "warning"),
    ],
)
def test_what_mentions_it_in_a_file_that_uses_the_module(tmp_path: Path, main: str, expected: str) -> None:
    """Where a file cannot be parsed, or chains of names are long, nothing is said."""
    assert severity(tmp_path, main=main) == expected


def test_a_package_hands_names_on(tmp_path: Path) -> None:
    files = {"lib__init__": "from lib.steps import fit, other\nrun = 1\n", "main": "from lib import other\nother()\n"}
    assert severity(tmp_path, place="lib__steps", **files) == "note"
    files["lib__init__"] += "def once():\n    fit(1, 2, 3)\n"
    assert severity(tmp_path, place="lib__steps", **files) == "warning"


def test_settings_name_what_is_run(tmp_path: Path) -> None:
    for name, text, expected in [
        ("README.md", "We fit the data.\n", "note"),
        ("run.sh", "python main.py --step fit\n", "warning"),
        ("conf/step.yaml", "_target_: steps.fit\n", "warning"),
        ("conf/step.yaml", "_target_: steps.outfit\n", "note"),
        ("build/step.yaml", "_target_: steps.fit\n", "note"),
    ]:
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
        assert severity(tmp_path, main=USED) == expected, (name, text)
        place.unlink()


def test_a_file_that_no_other_imports_may_be_run(tmp_path: Path) -> None:
    """One that lies in a package finds those beside it by their names, when it is run there."""
    assert severity(tmp_path, main="import torch\n") == "warning"
    inside = {"lib__init__": "", "lib__main": "from steps import other\nother()\n", "use": "import lib.steps\n"}
    assert severity(tmp_path, place="lib__steps", **inside) == "warning"


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("other()", "note"),
        ("for _ in range(3):\n        other()", "note"),
        ("with open(__file__):\n        print(other())", "note"),
        ("found = other()", "warning"),
        ("print(1)", "warning"),
        ("for _ in range(3):\n        print(1)", "warning"),
        ("if other():\n        pass", "warning"),
    ],
)
def test_a_file_that_runs_its_functions_is_a_program(tmp_path: Path, rest: str, expected: str) -> None:
    assert severity(tmp_path, f"\n    {rest}\n", main="import torch\n") == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("fit(1, 2, 3)", "note"),  # of its own
        ("from torch import nn\nfit(1, 2, 3)", "note"),
        ("%matplotlib inline\nnet.eval()\nfit(1, 2, 3)", "note"),
        ("from steps import other\nfit(1, 2, 3)", "warning"),
        ("import os, steps\nsteps.fit(1, 2, 3)", "warning"),
        ("import lib.steps as lib\nlib.fit(1, 2, 3)", "warning"),
        ("%run steps.py\nfit(1, 2, 3)", "warning"),
        ("!python main.py\nfit(1, 2, 3)", "warning"),
        ("eval('fit')", "warning"),
        ("import runpy\nfit(1, 2, 3)", "warning"),
    ],
)
def test_a_notebook_that_gets_at_no_module(tmp_path: Path, source: str, expected: str) -> None:
    cells = [{"cell_type": "code", "source": [f"{line}\n" for line in source.splitlines()]}]
    (tmp_path / "demo.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert severity(tmp_path, main=USED) == expected


def test_past_so_many_texts_any_name_may_stand_in_one(tmp_path: Path) -> None:
    for i in range(401):
        (tmp_path / f"{i}.yaml").write_text("a: 1\n", encoding="utf-8")
    importers.forget()
    assert stands_beside(str(tmp_path), "b")
    (tmp_path / "0.yaml").unlink()
    importers.forget()
    assert not stands_beside(str(tmp_path), "b")
    assert stands_beside(str(tmp_path), "a")


@pytest.mark.parametrize("readme", ["", "Run steps.py first."])
@pytest.mark.parametrize("program", ["", "if __name__ == '__main__':\n    print(1)\n"])
def test_what_nothing_imports_among_programs(tmp_path: Path, program: str, readme: str) -> None:
    if readme:
        (tmp_path / "README.md").write_text(readme)
    files = {"run": program} if program else {}
    expected = "note" if program and not readme else "warning"
    assert severity(tmp_path, place="lib__steps", **files) == expected


def test_where_the_project_ends_is_not_known(tmp_path: Path) -> None:
    text = STEPS + "\n    def unused():\n        fit(1, 2, 3)\n"
    put(tmp_path, lib____init__="", lib__steps=text, lib__run="if __name__ == '__main__':\n    print(1)\n")
    path = tmp_path / "lib" / "steps.py"
    importers.forget()
    (found,) = lint(path.read_text(encoding="utf-8"), path=str(path))
    assert found.severity.value == "warning"
    (tmp_path / ".git").mkdir()
    importers.forget()
    (found,) = lint(path.read_text(encoding="utf-8"), path=str(path))
    assert found.severity.value == "note"


def test_what_a_program_imports_by_names_that_it_works_out(tmp_path: Path) -> None:
    run = "import importlib\nif __name__ == '__main__':\n    importlib.import_module(input())\n"
    assert severity(tmp_path, place="lib__steps", run=run) == "warning"


def test_more_files_than_are_asked_whether_they_are_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentions, "_MOST_PROGRAMS", 1)
    assert severity(tmp_path, place="lib__steps", run="if __name__ == '__main__':\n    print(1)\n") == "warning"


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("elsewhere__main", "from steps import fit\nfit(1, 2, 3)\n", "warning"),  # run from anywhere, it may find it
        ("elsewhere__main", "import steps\nsteps.fit(1, 2, 3)\n", "warning"),
        ("elsewhere__main", "from tools.steps import fit\nfit(1, 2, 3)\n", "note"),
        ("elsewhere__main", "from .steps import fit\nfit(1, 2, 3)\n", "note"),
        ("elsewhere__main", "from torchvision import steps\nsteps.fit(1, 2, 3)\n", "note"),
        ("elsewhere__main", "import sys\nsys.path.append('..')\nimport steps\nsteps.fit(1, 2, 3)\n", "warning"),
    ],
)
@pytest.mark.parametrize("beside", [False, True])
def test_a_module_of_the_same_name_may_be_another(
    tmp_path: Path, place: str, text: str, expected: str, beside: bool
) -> None:
    """Python looks first where the program lies."""
    files = {place: text, "used__main": USED, "used__steps_too": "", **({"elsewhere__steps": ""} if beside else {})}
    found = severity(tmp_path, place="used__steps", **files)
    assert found == ("note" if beside and "sys" not in text else expected)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("", "note"),
        ("\n    fit(1, 2, 3)\n", "warning"),
        ("\n    def once():\n        fit(1, 2, 3)\n", "note"),
        ("\n    def once():\n        fit(1, 2, 3)\n        once()\n", "note"),
        ("\n    def once():\n        fit(1, 2, 3)\n    once()\n", "warning"),
        ("\n    @command\n    def once():\n        fit(1, 2, 3)\n", "warning"),
        ("\n    RUN = ['fit']\n", "warning"),
        ("\n    run = globals()[input()]\n", "warning"),
    ],
)
def test_cells_of_a_notebook_name_what_is_run(rest: str, expected: str) -> None:
    text = textwrap.dedent(f"{STEPS}{rest}\n    other()\n")
    (found,) = lint(text, path="demo.ipynb")
    assert found.severity.value == expected
    if expected == "note":
        (found,) = lint(text.replace("\nother()\n", ""), path="demo.ipynb")
        assert found.severity.value == "warning"  # nothing of it is used


def test_what_stands_in_no_definition_of_a_notebook_is_run() -> None:
    text = "import torch\nkept, data = [], [torch.ones(1, 1)]\nmodel = torch.nn.Linear(1, 1)\n"
    text += "model.register_forward_hook(lambda m, i, o: kept.append(o))\nfor x in data:\n    model(x)\n"
    assert [each.severity.value for each in lint(text, path="demo.ipynb") if each.code == "TLK604"] == ["error"]
