"""A note says why it is no more than that; what is more gives no reason."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.finding import Finding, FixLevel, Severity, Span, gathered
from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers, unused
from flake8_torchleak.rule import all_rules
from flake8_torchleak.shells.cli import main
from tests.test_fixtures import FILES, found_in
from tests.test_project import put

USUAL = {each.code: each.severity for each in all_rules()}
SAID = {"TLK301"}
"""What these say of notes stands in the message."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name[:6]}/{path.stem}")
def test_fixtures(path: Path) -> None:
    for each in found_in(path.read_text(encoding="utf-8")):
        if each.severity is not Severity.NOTE:
            assert each.reason == ""
        elif USUAL.get(each.code, Severity.NOTE) is not Severity.NOTE and each.code not in SAID:
            assert each.reason, each.message


STEPS = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    class Score(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(1, 1)

        def forward(self, x):
            return self.net(x)

        def tell(self, x):
            self.eval()
            return self.net(x).argmax().item()

    def run_it(x):
        net = Score()
        net.eval()
        return net(x).argmax().item()
"""
ONCE = "it is in no loop here: one graph a call, as large as one in training"


def reasons(root: Path, text: str = STEPS, **files: str) -> list[str]:
    """Of the notes on a module of a project of these files."""
    put(root, steps=text, **files)
    (root / ".git").mkdir(exist_ok=True)
    importers.forget()
    path = root / "steps.py"
    return [each.reason for each in lint(path.read_text(encoding="utf-8"), path=str(path))]


NOBODY = "; no Python file or setting in sight names "


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("from steps import Score, run_it\nrun_it(1)\nScore().tell(1)\n", [ONCE, ONCE]),
        ("from steps import run_it\nrun_it(1)\n", [f"{ONCE}{NOBODY}`tell`", ONCE]),
        ("from steps import Score\nScore().tell(1)\n", [ONCE, f"{ONCE}{NOBODY}`run_it`"]),
        ("def tell():\n    pass\ndef run_it():\n    pass\n", [f"{ONCE}{NOBODY}`tell`", f"{ONCE}{NOBODY}`run_it`"]),
        ("import steps  # tell, and run_it\n", [ONCE, ONCE]),  # whoever wrote that may know who runs it
    ],
)
def test_what_nothing_names(tmp_path: Path, main: str, expected: list[str]) -> None:
    assert reasons(tmp_path, main=main) == expected


@pytest.mark.parametrize(("name", "text"), [("job.yaml", "run: run_it"), ("README.md", "`run_it`: one score")])
def test_names_in_what_is_no_code(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert reasons(tmp_path, main="import steps\nScore().tell(1)\n") == [ONCE, ONCE]


@pytest.mark.parametrize(
    "made",
    [
        "@register\n    def run_it(x):",
        "class Steps(Trainer):\n        def run_it(self, x):",
        "class Steps(nn.Module):\n        def forward(self, x):",
        "class Steps(metaclass=Registry):\n        def __call__(self, x):",
    ],
)
def test_who_need_not_be_named(tmp_path: Path, made: str) -> None:
    """What is registered, what a library calls by its own name, and what a class above makes known."""
    body = STEPS.partition("    def run_it")[0] + f"    {made}\n"
    indent = " " * (8 if made.startswith("@") else 12)
    body += "".join(f"{indent}{each}\n" for each in ("net = Score()", "net.eval()", "return net(x).argmax().item()"))
    found = reasons(tmp_path, body, main="import steps\nScore().tell(1)\nSteps\n")
    assert found == [ONCE, ONCE] or found == [ONCE]


def test_only_where_all_users_are_in_sight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = [f"{ONCE}{NOBODY}`tell`", f"{ONCE}{NOBODY}`run_it`"]
    assert reasons(tmp_path, main="") == named
    (tmp_path / "setup.py").write_text("from setuptools import setup\nsetup()\n", encoding="utf-8")
    assert reasons(tmp_path, main="") == [ONCE, ONCE]
    (tmp_path / "setup.py").unlink()
    monkeypatch.setattr(unused, "_MOST_FILES", 1)
    assert reasons(tmp_path, main="") == [ONCE, ONCE]
    path = tmp_path / "alone.py"
    path.write_text(dedent(STEPS), encoding="utf-8")
    assert [each.reason for each in lint(dedent(STEPS))] == [ONCE, ONCE]


NOWHERE = f"{ONCE}; no Python file in sight names the module"


@pytest.mark.parametrize(
    ("more", "files", "expected"),
    [
        ("", {}, NOWHERE),
        ("\n    import sys\n    sys.path.append('..')\n    'text'\n", {}, NOWHERE),
        ("\n    print(run_it(1))\n", {}, ONCE),
        ("\n    for i in range(3):\n        run_it(i)\n", {}, ONCE),
        ("\n    if __name__ == '__main__':\n        run_it(1)\n", {}, ONCE),
        ("", {"other": "from steps import Score\n"}, ONCE),
        ("", {"other": "import runpy\nrunpy.run_path('steps.py')\n"}, ONCE),
        ("", {"other": "import os, \\\n    steps\n"}, ONCE),
        ("", {"other": "from importlib import import_module\nfor each in NAMES:\n    import_module(each)\n"}, ONCE),
        ("\n    import fire\n    fire.Fire(run_it)\n", {}, ONCE),
    ],
)
def test_modules_that_nothing_imports(tmp_path: Path, more: str, files: dict[str, str], expected: str) -> None:
    text = STEPS + "\n    def use():\n        Score().tell(run_it(use))\n" + more
    assert reasons(tmp_path, text, main="x = 1\n", **files) == [expected, expected]


def test_code_that_fails_or_is_a_test_is_called_so(tmp_path: Path) -> None:
    text = STEPS + "\n    def loop(net, data, optimizer):\n        kept = []\n        for x in DataLoader(data):\n"
    text += "            loss = net(x).mean()\n            loss.backward()\n            optimizer.step()\n"
    text += "            kept.append(net(x))\n{}        return len(kept)\n"
    used = "from steps import loop, run_it\nloop(1, 2, 3)\nrun_it(1).tell\n"
    assert "" in reasons(tmp_path, text.format(""), main=used)
    assert "the code around it fails" in reasons(tmp_path, text.format("        unbound\n"), main=used)
    nowhere = text.format("").replace("import torch\n", "import torch\n    from helper import gone\n", 1)
    assert any("is not there" in each for each in reasons(tmp_path, nowhere, main=used, helper="x = 1\n"))
    alone = reasons(tmp_path, text.format("") + "\n    if __name__ == '__main__':\n        run_it(1)\n", main="")
    assert any("nothing in the project runs it" in each for each in alone)
    tested = text.format("").replace("import torch\n", "import torch\n    import pytest\n", 1)
    assert all("in a test" in each for each in reasons(tmp_path, tested, main=used))


RECORDS = """
import json
from torch.utils.data import DataLoader, Dataset

class Records(Dataset):
    def __init__(self, path):
        self.rows = json.load(open(path))
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return self.rows[i]["text"], self.rows[i]["label"]
"""


ASKED = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
args = parser.parse_args()
for text, label in DataLoader(Records("rows.json"), batch_size=4, shuffle=True, num_workers=args.workers):
    print(text, label)
"""


def test_who_has_workers() -> None:
    found = {each.code: each for each in lint(RECORDS)}
    assert found["TLK101"].reason == "no Python file in sight gives it to a loader with workers"
    assert {each.severity for each in lint(RECORDS, Config(assume_workers="yes"))} == {Severity.WARNING}
    (asked,) = [each for each in lint(RECORDS + ASKED) if each.code == "TLK101"]
    assert asked.reason == "there are no workers unless an option asks for them"


def test_reports_tell_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, steps=STEPS, main="")
    (tmp_path / ".git").mkdir()
    importers.forget()
    said = f"{ONCE}{NOBODY}`tell`"
    assert main(["check", "--min-severity=note"]) == 1
    assert f"    only a note: {said}\n" in capsys.readouterr().out
    for _ in range(2):  # the second time from the cache
        assert main(["check", "--min-severity=note", "--output-format=json"]) == 1
        assert next(each["reason"] for each in json.loads(capsys.readouterr().out)) == said


def test_what_takes_the_severity_of_another_one_is_no_note() -> None:
    span = Span(1, 0, 1, 1)
    leader = Finding("TLK501", "a", "m", span, Severity.NOTE, FixLevel.HINT, reason="it is little")
    member = Finding("TLK402", "b", "m", Span(2, 0, 2, 1), Severity.NOTE, FixLevel.HINT, under=("TLK501", span))
    assert [each.reason for each in gathered([leader, member])] == ["it is little"]
