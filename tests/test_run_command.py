"""`torchleak run` and the pytest fixture, as users start them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flake8_torchleak.recorder.program import NoProgram, Program
from flake8_torchleak.shells import pytest_plugin, record
from flake8_torchleak.shells.cli import main
from tests.conftest import python, torchleak
from tests.recorded import few_modules as few_modules
from tests.recorded import network, optimizer

pytest_plugins = ["pytester"]

TRAIN = """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

def train(model, loader, optimizer):
    losses = []
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(KEEP)

def evaluate(model, loader):
    losses = []
    for x, y in loader:
        losses.append(F.cross_entropy(model(x), y))
    return losses

if __name__ == "__main__":
    print("training")
    model = torch.nn.Linear(8, 3)
    data = DataLoader(TensorDataset(torch.randn(400, 8), torch.randint(0, 3, (400,))), batch_size=4)
    train(model, data, torch.optim.SGD(model.parameters(), lr=0.1))
    if len(data) < 50:
        evaluate(model, data)
    raise RuntimeError("after training")
"""
LEAKY, HEALTHY = TRAIN.replace("KEEP", "loss"), TRAIN.replace("KEEP", "loss.item()")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(LEAKY)
    (tmp_path / "healthy.py").write_text(HEALTHY)
    return tmp_path


def test_a_leak_is_confirmed(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--isolated", "--steps", "30", "--html", "page.html", "train.py"]) == 1
    out = capfd.readouterr().out
    assert out.startswith("training\ntorchleak run: 30 optimizer steps")
    confirmed = out.partition("Confirmed")[2]
    assert "train.py:12: TLK402" in confirmed
    assert "`train.losses[*]` keeps an autograd graph: +" in confirmed
    assert (folder / "page.html").read_text().count("<svg") == 2


def test_a_program_that_fails(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--isolated", "--until-exit", "--light", "healthy.py"]) == 2
    shown = capfd.readouterr()
    assert "RuntimeError: after training" in shown.err
    assert "it raised RuntimeError: after training" in shown.out
    assert "No growth was confirmed." in shown.out


def test_a_healthy_program_that_is_stopped(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--isolated", "--steps=30", "--output-file", "report.txt", "healthy.py"]) == 0
    assert capfd.readouterr().out == "training\n"
    assert "No growth was confirmed." in (folder / "report.txt").read_text()


@pytest.mark.long
@pytest.mark.watched
def test_json_has_stdout_to_itself(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--isolated", "--steps=30", "--output-format=json", "train.py"]) == 1
    shown = capfd.readouterr()
    assert json.loads(shown.out)["leaks"]
    assert "training" in shown.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name the script to run"),
        (["--steps=0", "train.py"], "--steps 0: growth is judged over at least 20 steps"),
        (["--steps=many", "train.py"], "invalid int value"),
        (["missing.py"], "missing.py: no such file"),
        (["."], ".: is a folder"),
        (["broken.py"], "broken.py:2: invalid syntax"),
        (["nul.py"], "null bytes"),
        (["-m", "missing.module"], "missing.module: no such module"),
        (["-m", "parts"], "parts: a package without a module __main__"),
        (["-m", "fails.train"], "fails.train: RuntimeError: at import"),
        (["--output-file=no/such/report.txt", "train.py"], "--output-file: "),
        (["--html=no/such/page.html", "train.py"], "--html: "),
        (["--html=train.py", "train.py"], "is a source file"),
    ],
)
def test_what_cannot_be_run(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    (folder / "broken.py").write_text("x = 1\nx = = 2\n")
    (folder / "nul.py").write_bytes(b"x = 1\0\n")
    (folder / "parts").mkdir()
    (folder / "parts" / "__init__.py").write_text("")
    (folder / "fails").mkdir()
    (folder / "fails" / "__init__.py").write_text("raise RuntimeError('at import')\n")
    assert status(["run", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("torchleak: error: ")
    assert words in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def status(arguments: list[str]) -> int | str | None:
    """The exit status of the command, which argparse may end itself."""
    try:
        return main(arguments)
    except SystemExit as error:
        return error.code


def test_a_script_that_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tokenize.open", refuse)
    with pytest.raises(NoProgram, match=r"train\.py: Permission denied"):
        Program("train.py").find()


ENDS = """\
import os, signal, sys, torch
LOSSES = []
def train(steps):
    p = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.1)
    for _ in range(steps):
        loss = (p * p).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        LOSSES.append(loss)
how = sys.argv[1:]
train(0 if "early" in how else 30)
if "folder" in how:
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
if "interrupt" in how:
    raise KeyboardInterrupt
if "end" in how:
    signal.raise_signal(signal.SIGTERM)
if "words" in how:
    sys.exit("bye")
if "--code" in how:
    sys.exit(3)
if "zero" in how:
    sys.exit(0)
"""


@pytest.mark.parametrize(
    ("arguments", "expected", "words"),
    [
        (["interrupt"], 1, "; it was interrupted"),
        (["end"], 1, "; it was interrupted"),
        (["words"], 1, "; it exited with 'bye'"),
        (["--code", "--lr=0.1"], 1, "; it exited with 3"),
        (["zero"], 1, "30 optimizer steps in"),
        (["folder"], 1, "30 optimizer steps in"),
        (["early"], 2, "Nothing was judged: no step was seen."),
        (["early", "--code"], 2, "; it exited with 3"),
    ],
)
@pytest.mark.parametrize("module", [False, pytest.param(True, marks=pytest.mark.long)], ids=["script", "module"])
def test_whatever_ends_a_program(
    folder: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], expected: int, words: str, module: bool
) -> None:
    (folder / "ends.py").write_text(ENDS)
    name = ["-m", "ends"] if module else ["ends.py"]
    assert main(["run", "--isolated", "--until-exit", "--output-file=report.txt", *name, *arguments]) == expected
    report = (folder / "report.txt").read_text()
    assert words in report
    if expected == 1:
        assert "`LOSSES[*]` keeps an autograd graph: +" in report
        assert "made at ends.py:7 in train" in report
    assert capfd.readouterr().err == ("bye\n" if "words" in arguments else "")


def test_a_program_without_torch(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "plain.py").write_text("print('plain')\n")
    assert main(["run", "--isolated", "plain.py"]) == 2
    out = capfd.readouterr().out
    assert out.startswith("plain\ntorchleak run: no steps in ")
    assert "Nothing was judged: no step was seen." in out


def test_a_report_that_cannot_be_written_at_last_is_shown(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "out").mkdir()
    (folder / "removes.py").write_text("import os\nos.rmdir('out')\n")
    for option in ("--output-file=out/report.txt", "--html=out/page.html"):
        (folder / "out").mkdir(exist_ok=True)
        assert main(["run", "--isolated", option, "removes.py"]) == 2
        shown = capfd.readouterr()
        assert "Nothing was judged" in shown.out
        assert shown.err.startswith(f"torchleak: error: {option.partition('=')[0]}: ")


@pytest.mark.parametrize(("missing", "advice"), [("torch", "install PyTorch"), ("rich", "flake8-torchleak[run]")])
def test_what_is_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str, advice: str
) -> None:
    monkeypatch.setitem(sys.modules, "flake8_torchleak.shells.record", None)

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            if name == "flake8_torchleak.shells.record":
                raise ModuleNotFoundError(name=missing)

    monkeypatch.delitem(sys.modules, "flake8_torchleak.shells.record")
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    assert main(["run", "train.py"]) == 2
    error = capsys.readouterr().err
    assert f"needs {missing}" in error
    assert advice in error
    assert error.count("\n") == 1


def test_lines_of_files_without_source(tmp_path: Path) -> None:
    policy: Any = SimpleNamespace(config=None, takes=lambda path: None, taken=lambda path, text, found: found)
    linted = record._Linted(policy)
    assert linted.lines("<string>") == set()
    assert linted.source("<string>") == []
    assert linted.seen == []


@pytest.mark.long
def test_what_ran_and_what_did_not(folder: Path) -> None:
    """In a process without a coverage tool, which traces lines itself."""
    done = torchleak(
        "run", "--isolated", "--steps=30", "train.py", cwd=folder, COVERAGE_PROCESS_CONFIG="", COVERAGE_PROCESS_START=""
    )
    assert done.returncode == 1
    out = done.stdout.decode()
    assert "train.py:12: TLK402" in out.partition("Confirmed")[2].partition("Not reached")[0]
    assert "train.py:17: TLK501" in out.partition("Not reached")[2]


USES = """\
import pytest
import torch

def train(steps, keep):
    p = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.1)
    losses = []
    for _ in range(steps):
        loss = (p * p).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss if keep else loss.item())

def test_healthy(no_leaks):
    train(30, False)

def test_leak(no_leaks):
    train(30, True)

def test_block(no_leaks):
    train(30, True)
    with no_leaks(steps=30):
        train(30, False)

def test_block_that_leaks(no_leaks):
    with no_leaks(steps=30):
        train(30, True)

def test_too_few_steps(no_leaks):
    with no_leaks(steps=30, light=True):
        train(20, False)

def test_too_few_steps_without_a_number(no_leaks):
    with no_leaks():
        train(19, False)

def test_nothing_is_judged(no_leaks):
    train(19, False)

def test_plain():
    train(30, True)
"""


@pytest.mark.long
@pytest.mark.watched
def test_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_uses=USES)
    # pytester forgets what was imported meanwhile, and torch imports half of itself with the first optimizer.
    optimizer(network())
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:randomly", "-W", "default")
    # What the fixture itself records is judged when the test is over: an error at its teardown.
    done.assert_outcomes(passed=5, failed=3, errors=1, warnings=1)
    done.stdout.fnmatch_lines(["*`train.losses[[]*[]]` keeps an autograd graph*", "*test_uses.py:9*"])
    done.stdout.fnmatch_lines(["*20 steps were seen, at least 30 are needed*"])
    done.stdout.fnmatch_lines(["*19 steps were seen, at least 20 are needed*"])
    done.stdout.fnmatch_lines(["*no_leaks: 19 steps were seen, too few to judge*"])


def test_pytest_shows_the_fixture(tmp_path: Path) -> None:
    done = python("-m", "pytest", "-p", "no:cacheprovider", "--fixtures", cwd=tmp_path)
    shown = done.stdout.decode()
    assert "no_leaks -- " in shown
    assert "Fail the test if training or evaluation code in it keeps graphs" in shown


def test_the_plugin_loads_nothing(tmp_path: Path) -> None:
    code = "import flake8_torchleak.shells.pytest_plugin, sys; sys.stderr.write(' '.join(sys.modules))"
    done = python("-c", code, cwd=tmp_path, COVERAGE_PROCESS_CONFIG="", COVERAGE_PROCESS_START="")
    loaded = set(done.stderr.decode().split())
    assert pytest_plugin.__name__ in loaded
    assert not loaded & {"torch", "psutil", "rich", "matplotlib", "flake8_torchleak.recorder"}
