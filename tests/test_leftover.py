"""What nothing in a project runs: names that are worked out, stand in settings, or in what is left over itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak import rule
from flake8_torchleak.finding import Severity
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
    expected = "note" if program else "warning"
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


RUNS = """
    import torch

    class Runner:
        def __init__(self, model):
            self.model = model

        {before}def evaluate(self, x):
            print(self.model(x).argmax(1).tolist())

        def other(self, x):
            print(x)
"""
MAIN = "from runs import Runner\nif __name__ == '__main__':\n    Runner(print).{}(1)\n"


def notes(root: Path, main: str, before: str = "", base: str = "", **files: str) -> list[str]:
    """The codes of the notes in `Runner`, in a project with this program."""
    text = RUNS.format(before=before).replace("Runner:", f"Runner({base}):" if base else "Runner:")
    put(root, runs=text, main=main, **files)
    (root / ".git").mkdir(exist_ok=True)
    importers.forget()
    path = root / "runs.py"
    return [each.code for each in lint(path.read_text(encoding="utf-8"), path=str(path))]


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        (MAIN.format("evaluate"), ["TLK501"]),
        (MAIN.format("other"), []),
        (MAIN.format("other") + "# evaluate\n", []),
        (MAIN.format("other") + "def evaluate():\n    pass\n", []),
        (MAIN.format("other") + "run = 'evaluate'\n", ["TLK501"]),
        (MAIN.format("other") + "getattr(print, input())\n", ["TLK501"]),
        (MAIN.format("other") + "getattr(\n    print, f'{input()}')\n", ["TLK501"]),
        (MAIN.format("other") + "getattr(print(), 'flush')\n", ["TLK501"]),
        (MAIN.format("other") + "getattr(print, 'flush')\n", []),
        (MAIN.format("other").replace("__main__", "main"), ["TLK501"]),  # no program: its users are not in sight
        (MAIN.format("other") + "from importlib import import_module\nimport_module(input())\n", ["TLK501"]),
    ],
)
def test_notes_of_a_method_that_nothing_calls(tmp_path: Path, main: str, expected: list[str]) -> None:
    assert notes(tmp_path, main) == expected


@pytest.mark.parametrize(
    ("before", "base", "expected"),
    [
        ("@torch.jit.ignore\n        ", "", ["TLK501"]),
        ("", "torch.nn.Module", []),
        ("", "object", []),
        ("", "lib.Trainer", ["TLK501"]),  # which may call it
    ],
)
def test_what_a_library_may_call(tmp_path: Path, before: str, base: str, expected: list[str]) -> None:
    main = MAIN.format("other")
    if base:
        main = main.replace("from runs", "import lib, torch\nfrom runs")
    text = f"import lib\n{main}" if base else main
    assert notes(tmp_path, text, before, base) == expected


def test_a_function_that_nothing_names_whoever_imports_its_module(tmp_path: Path) -> None:
    """Two modules of a name: which of them is imported is not told apart."""
    files = {"lib__runs": "x = 1\n", "use": "from lib.runs import x\nprint(x)\n"}
    assert notes(tmp_path, MAIN.format("other").replace("Runner(print).other(1)", "print(1)"), **files) == []
    assert notes(tmp_path, MAIN.format("evaluate"), **files) == ["TLK501"]


def test_notes_of_code_that_fails(tmp_path: Path) -> None:
    main = MAIN.format("evaluate")
    assert notes(tmp_path, main, "def evaluate(self, x):\n            print(missing)\n\n        ") == ["TLK501"]
    text = RUNS.format(before="").replace("print(self.model", "print(missing, self.model")
    put(tmp_path, runs=text)
    importers.forget()
    path = tmp_path / "runs.py"
    assert not lint(path.read_text(encoding="utf-8"), path=str(path))


def test_who_hears_no_notes_does_not_wait_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert notes(tmp_path, MAIN.format("other")) == []
    monkeypatch.setattr(rule, "is_never_run", None)
    path = tmp_path / "runs.py"
    found = lint(path.read_text(encoding="utf-8"), path=str(path), least=Severity.WARNING)
    assert [each.severity for each in found] == [Severity.NOTE]  # which may be left out, or not


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ("getattr(runs, input())\n", ["TLK501"]),
        ("getattr(runs.x, input())\n", ["TLK501"]),
        ("getattr(runs, 'x')\n", []),
        ("getattr(print, input())\n", []),
        ("getattr(print(), input())\n", ["TLK501"]),
    ],
)
def test_a_class_that_a_module_is_asked_for(tmp_path: Path, looks: str, expected: list[str]) -> None:
    """In a module that seems to be another one's, as two have its name."""
    files = {"lib__runs": "x = 1\n", "lib__use": f"from lib import runs\n{looks}"}
    assert notes(tmp_path, "import lib.use\nif __name__ == '__main__':\n    print(1)\n", **files) == expected


def test_more_files_than_names_are_sought_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files have `runs` for a name: only what stands in no file of the program tells that nothing calls it."""
    files = {"lib__runs": "x = 1\n", "use": "from lib.runs import x\nprint(x)\n"}
    assert notes(tmp_path, MAIN.format("other"), **files) == []
    assert mentions.names_used(str(tmp_path), "") is not None
    monkeypatch.setattr(mentions, "_MOST_PROGRAMS", 1)
    assert mentions.names_used(str(tmp_path), "") is None
