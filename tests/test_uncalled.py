"""Methods that nothing runs: a note, as far as names tell; whatever may run one leaves it what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers, uncalled
from tests.test_project import put

FIT = """
    import torch
    from torch.utils.data import DataLoader

    class Fitting{bases}:
        def __init__(self, model, optimizer):
            self.model, self.optimizer = model, optimizer

        {decorator}def fit(self, data):
            total = 0
            for x in DataLoader(data):
                loss = self.model(x).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss
            print(total)

        def go(self):
            pass
"""
MAIN = "from fitting import Fitting\nfitting = Fitting(None, None)\nfitting.go()\n"


def severity(root: Path, main: str = "", rest: str = "", bases: str = "", decorator: str = "", **files: str) -> str:
    """Of the sum in `fit`, in a project of these files."""
    put(root, fitting=FIT.replace("{bases}", bases).replace("{decorator}", decorator) + rest, main=MAIN + main, **files)
    (root / ".git").mkdir(exist_ok=True)
    path = root / "fitting.py"
    importers.forget()
    found = [each for each in lint(path.read_text(encoding="utf-8"), path=str(path)) if each.code == "TLK401"]
    (only,) = found
    return only.severity.value


@pytest.mark.parametrize(
    ("main", "rest", "expected"),
    [
        ("", "", "note"),
        ("fitting.fit(1)\n", "", "warning"),
        ("run = [fitting.fit]\n", "", "warning"),
        ("steps = ['fit']\n", "", "warning"),
        ("# fitting.fit(1)\n", "", "note"),
        ("getattr(fitting, name)(1)\n", "", "warning"),
        ("getattr(fitting, 'other')(1)\n", "", "note"),
        ("getattr(fitting, 'fit')(1)\n", "", "warning"),
        ("getattr(fitting, f'{mode}t')(1)\n", "", "warning"),
        ("eval('fitting.' + name)\n", "", "warning"),
        ("eval(f'fitting.{name}')\n", "", "warning"),
        ("eval(f'{name}.go()')\n", "", "warning"),
        ("text = 'fitting.'\neval(text + name)\n", "", "warning"),
        ("text = 'fitting.%s(1)'\neval(text % name)\n", "", "warning"),
        ("eval(name)\n", "", "note"),  # a name of that file
        ("eval(options.model)(1)\n", "", "note"),
        ("print('All of it is done.', '0.5')\neval(name)\n", "", "note"),
        ("exec(name)\n", "", "warning"),
        ("net.eval()\n", "", "note"),
        ("import importlib\nimportlib.import_module(name).run()\n", "", "note"),  # of a module, not of an object
        ("", "\n        def twice(self):\n            self.fit(1)\n", "note"),
        ("", "\n        def twice(self):\n            self.fit(1)\n            self.twice()\n", "note"),
        ("def twice(x):\n    x.fit(1)\ndef thrice(x):\n    twice(x)\n    x.fit(1)\n", "", "note"),
        ("", "\n        def __call__(self):\n            self.fit(1)\n", "warning"),
        ("", "\n        def forward(self):\n            self.fit(1)\n", "warning"),
        ("", "\n        @command\n        def twice(self):\n            self.fit(1)\n", "warning"),
        ("def once():\n    fitting.fit(1)\n", "", "note"),
        ("def once():\n    fitting.fit(1)\nonce()\n", "", "warning"),
        ("class Better(Fitting):\n    def fit(self, data):\n        super().fit(data)\n", "", "note"),
    ],
)  # fmt: skip
def test_who_names_a_method(tmp_path: Path, main: str, rest: str, expected: str) -> None:
    assert severity(tmp_path, main, rest) == expected


@pytest.mark.parametrize(
    ("bases", "decorator", "expected"),
    [
        ("(object)", "", "note"),
        ("(Trainer)", "", "warning"),  # which may call it
        ("", "@torch.enable_grad()\n        ", "note"),  # which only wraps it
        ("", "@torch.jit.export\n        ", "warning"),
        ("", "@register\n        ", "warning"),
    ],
)
def test_who_may_call_it_without_naming_it(tmp_path: Path, bases: str, decorator: str, expected: str) -> None:
    assert severity(tmp_path, bases=bases, decorator=decorator) == expected


@pytest.mark.parametrize("name", ["run.sh", "config.yaml", "README.md", "demo.ipynb"])
def test_names_beside_the_code(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("fit the data\n", encoding="utf-8")
    assert severity(tmp_path) == "warning"


@pytest.mark.parametrize(("readme", "expected"), [("pip install rows", "warning"), ("Hello.", "note")])
def test_a_package_has_users_that_nobody_sees(tmp_path: Path, readme: str, expected: str) -> None:
    (tmp_path / "setup.py").write_text("from setuptools import setup\nsetup(name='rows')\n", encoding="utf-8")
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    assert severity(tmp_path) == expected


def test_only_so_many_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = "".join(
        f"\n        def f{i}(self):\n            self.{'fit' if not i else f'f{i - 1}'}(1)\n" for i in range(3)
    )
    assert severity(tmp_path, rest=chain) == "note"
    longer = chain + "\n        def f3(self):\n            self.f2(1)\n"
    assert severity(tmp_path, rest=longer) == "warning"
    monkeypatch.setattr(uncalled, "_MOST_FILES", 1)
    assert severity(tmp_path) == "warning"


def test_of_a_class_that_nothing_names_the_users_are_not_in_sight(tmp_path: Path) -> None:
    put(tmp_path, fitting=FIT.replace("{bases}", "").replace("{decorator}", ""))
    (tmp_path / ".git").mkdir()
    importers.forget()
    path = tmp_path / "fitting.py"
    found = lint(path.read_text(encoding="utf-8"), path=str(path))
    assert [each.severity.value for each in found if each.code == "TLK401"] == ["warning"]
    own = path.read_text(encoding="utf-8") + "\nfitting = Fitting(1, 2)\nfitting.go()\n"
    path.write_text(own, encoding="utf-8")
    importers.forget()
    found = lint(own, path=str(path))
    assert [each.severity.value for each in found if each.code == "TLK401"] == ["note"]


def test_what_cannot_be_read_may_hold_anything(tmp_path: Path) -> None:
    assert severity(tmp_path, broken="fitting.fit(\n") == "warning"


OTHER = """class {name}{bases}:
    def fit(self, data):
        pass
    def go(self):
        self.fit(1)
{name}().go()
"""


@pytest.mark.parametrize(
    ("name", "bases", "rest", "expected"),
    [
        ("Other", "", "", "note"),  # its own method
        ("Fitting", "", "", "note"),  # another class of that name
        ("Other", "(Fitting)", "from fitting import Fitting\n", "warning"),
        ("Other", "(Base)", "from fitting import Fitting\nclass Base(Fitting): pass\n", "warning"),
        ("Other", "", "from fitting import Fitting\nclass Both(Fitting): pass\n", "note"),
        ("Fitting", "(Fitting)", "from fitting import Fitting\n", "warning"),
    ],
)
def test_objects_of_other_classes_speak_of_methods_of_their_own(
    tmp_path: Path, name: str, bases: str, rest: str, expected: str
) -> None:
    assert severity(tmp_path, other=rest + OTHER.format(name=name, bases=bases)) == expected


def test_a_class_that_derives_from_both_may_have_either_method(tmp_path: Path) -> None:
    both = OTHER.format(name="Other", bases="") + "from fitting import Fitting\nclass Both(Other, Fitting): pass\n"
    assert severity(tmp_path, other=both) == "warning"


@pytest.mark.parametrize(
    ("bases", "expected"),
    [("", "note"), ("(object)", "note"), ("(Fitting)", "note"), ("(pl.LightningModule)", "warning")],
)
def test_who_names_it_may_be_run_by_a_framework(tmp_path: Path, bases: str, expected: str) -> None:
    user = f"class Lit{bases}:\n    def training_step(self, batch):\n        self.fitting.fit(batch)\n"
    assert severity(tmp_path, main=f"import pytorch_lightning as pl\n{user}") == expected


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("import steps\ngetattr(steps, name)(1)\n", "note"),  # of a module
        ("import steps\ngetattr(fitting, 'go')()\ngetattr(steps, name)(1)\n", "note"),
        ("import lib.steps as steps\ngetattr(steps, name)(1)\n", "note"),
        ("from lib import steps\ngetattr(steps, name)(1)\n", "warning"),  # which may be an object
        ("for name in ('go', 'stop'):\n    getattr(fitting, name)(1)\n", "note"),
        ("for name in ('go', 'fit'):\n    getattr(fitting, name)(1)\n", "warning"),
        ("WORDS = ['go', 'stop']\nall(getattr(fitting, name) for name in WORDS)\n", "note"),
        ("WORDS = ['go']\nWORDS = more\nall(getattr(fitting, name) for name in WORDS)\n", "warning"),
        ("WORDS = MORE = ['go']\nWORDS += more\nall(getattr(fitting, name) for name in WORDS)\n", "warning"),
        ("for name in words():\n    getattr(fitting, name)(1)\n", "warning"),
        ("getattr(fitting, options.name)(1)\n", "warning"),
        ("for name, _ in ('go', 'on'):\n    getattr(fitting, name)(1)\n", "warning"),
        ("def run(name):\n    getattr(fitting, name)(1)\nfor name in ('go',):\n    run(name)\n", "warning"),
        ("with open(1) as name:\n    getattr(fitting, name)(1)\n", "warning"),
        ("from operator import methodcaller\nmethodcaller('go')(fitting)\n", "note"),
        ("from operator import methodcaller\nmethodcaller(name)(fitting)\n", "warning"),
    ],
)
def test_names_that_are_worked_out(tmp_path: Path, main: str, expected: str) -> None:
    assert severity(tmp_path, main=main) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("from fitting import fit, go\\ngo()", "note"),
        ("from fitting import (\\n    fit,\\n    go)\\ngo()", "note"),
        ("from fitting import fit as go\\ngo()", "warning"),
        ("from fitting import go\\nfit()", "warning"),
    ],
)
def test_what_a_notebook_only_imports(tmp_path: Path, cell: str, expected: str) -> None:
    code = f'{{"cell_type": "code", "source": ["{cell}"], "outputs": ["fit"]}}'
    text = f'{{"cells": [{code}, {{"cell_type": "markdown", "source": "fit"}}, 1]}}'
    (tmp_path / "demo.ipynb").write_text(text, encoding="utf-8")
    assert severity(tmp_path) == expected


@pytest.mark.parametrize("text", ["[1, 2]", '{"worksheets": ["fit"]}', "fit"])
def test_notebooks_of_other_versions_may_say_anything(tmp_path: Path, text: str) -> None:
    (tmp_path / "demo.ipynb").write_text(text, encoding="utf-8")
    assert severity(tmp_path) == ("warning" if "fit" in text else "note")
