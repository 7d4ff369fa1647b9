"""Whatever changes between two runs: what is kept gives the same bytes of report as looking at everything again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flake8_torchleak.shells.cache import evidence
from flake8_torchleak.shells.cli import main


@pytest.fixture(autouse=True)
def one_file_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first file are looked up as in a run over thousands: once for all that they rest on."""
    monkeypatch.setattr(evidence, "_MANY", 1)


STEP = """\
import torch
{imports}

def train(model, loader, criterion, optimizer, meter):
    total = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += {added}
        {call}
    return total
"""
IMPORTS = ("", "from helper import keep", "from pack.helper import keep", "from . import helper", "import pack.helper")
CALLS = ("pass", "keep(loss)", "helper.keep(loss)", "meter.update(loss)", "pack.helper.keep(loss)")
HELPERS = (
    "import torch\nkept = []\ndef keep(x):\n    kept.append(x)\n",
    "import torch\nkept = []\ndef keep(x):\n    kept.append(0)\n",  # as long as the one before
    "from other import keep\n",
    "import torch\n\n@torch.no_grad()\ndef keep(x):\n    return x\n",
    "kept = (\n",
)
EVALUATION = """\
import torch
{imports}

def evaluate(model, loader):
    model.eval()
    return [model(x).argmax() for x, _ in loader]
"""
USERS = (
    "import torch\nfrom main import evaluate\nwith torch.no_grad():\n    evaluate(model, loader)\n",
    "import torch\nfrom main import evaluate\nevaluate(model, loader)\n",
    "from pack.main import evaluate\n\ndef run(model):\n    evaluate(model, DataLoader(data, num_workers=4))\n",
    "import main as other\n",
)
DATA = """\
import json
from torch.utils.data import Dataset
{imports}

class Rows(Dataset):
    def __init__(self, root):
        self.rows = [json.loads(line) for line in open(root)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]
"""
TEXTS = st.one_of(
    st.builds(
        STEP.format, imports=st.sampled_from(IMPORTS), added=st.sampled_from(("loss", "loss.item()")),
        call=st.sampled_from(CALLS),
    ),
    st.sampled_from(HELPERS),
    st.builds(EVALUATION.format, imports=st.sampled_from(IMPORTS)),
    st.sampled_from(USERS),
    st.builds(DATA.format, imports=st.sampled_from(IMPORTS)),
)  # fmt: skip
NAMES = tuple(
    f"{folder}{name}.py" for folder in ("", "pack/", "src/pack/") for name in ("main", "helper", "other", "__init__")
)
SETTINGS = (
    "", 'loss-names = ["criterion"]\n', 'follow-imports = "no"\n', 'select = ["TLK4"]\n', 'exclude = ["pack/"]\n',
            'per-file-ignores = { "main.py" = ["TLK4"] }\n')  # fmt: skip

CHANGES = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), TEXTS),
    st.tuples(st.just("same time"), st.sampled_from(NAMES), TEXTS),
    st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    st.tuples(st.just("remove"), st.sampled_from(("pack", "src", ".git"))),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("rename"), st.just("pack"), st.sampled_from(("src", "tests"))),
    st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from((*NAMES, "../outside.py"))),
    st.tuples(st.just("link"), st.just("pack"), st.sampled_from(("src/pack", "../elsewhere"))),
    st.tuples(st.just("set"), st.sampled_from(SETTINGS)),
    st.tuples(st.just("ignore"), st.sampled_from(("", "pack/\n", "main.py\n"))),
    st.tuples(st.just("git")),
    st.tuples(st.just("break"), st.binary(max_size=20)),
)


def change(top: Path, how: str, *what: Any) -> None:
    """One change of a project. What cannot be done is not."""
    place = top / what[0] if what and how not in ("set", "ignore", "break") else top
    try:
        if how == "write":
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(what[1])
        elif how == "same time":  # and as long, as far as comments can make it so
            before = place.stat()
            text = what[1]
            place.write_text(text + "#" * max(0, before.st_size - len(text)))
            os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif how == "remove":
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        elif how == "rename":
            (top / what[1]).parent.mkdir(parents=True, exist_ok=True)
            place.rename(top / what[1])
        elif how == "link":
            place.symlink_to(top / what[1])
        elif how == "set":
            (top / "pyproject.toml").write_text(f"[tool.torchleak]\n{what[0]}")
        elif how == "ignore":
            (top / ".gitignore").write_text(what[0])
        elif how == "git":
            (top / ".git").mkdir()
        else:
            for each in (top / ".torchleak_cache").glob("*.json"):
                raw = each.read_bytes()
                middle = len(raw) // 2
                each.write_bytes(raw[:middle] + what[0] + raw[middle + len(what[0]) :])
    except OSError:
        pass


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit status of the command, what it prints, and what it complains of."""
    status = main(["check", *arguments])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def compared(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rounds: list[list[tuple[Any, ...]]],
    settle: bool,
) -> None:
    """Compare the reports with and without what is kept, after each round of changes."""
    top = tmp_path / "project"
    shutil.rmtree(tmp_path, ignore_errors=True)
    (tmp_path / "elsewhere").mkdir(parents=True)
    (tmp_path / "elsewhere" / "helper.py").write_text(HELPERS[0])
    (tmp_path / "outside.py").write_text(HELPERS[0])
    top.mkdir()
    (top / "pyproject.toml").write_text("[tool.torchleak]\n")
    monkeypatch.chdir(top)
    # As if all had been changed long ago: what the file system says is believed.
    monkeypatch.setattr("flake8_torchleak.model.signs._SETTLED", -1 if settle else 2_000_000_000)
    for changes in rounds:
        for each in changes:
            change(top, *each)
        plain = report(capsys, "--no-cache")
        assert report(capsys) == plain
        assert report(capsys) == plain
        assert report(capsys, "pack", "main.py") == report(capsys, "--no-cache", "pack", "main.py")


ROUNDS = st.lists(st.lists(CHANGES, min_size=1, max_size=6), min_size=2, max_size=5)
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=6, suppress_health_check=QUIET)
@given(ROUNDS, st.booleans())
def test_the_report_is_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rounds: list[list[tuple[Any, ...]]],
    settle: bool,
) -> None:
    compared(tmp_path, monkeypatch, capsys, rounds, settle)


@pytest.mark.long
@settings(max_examples=400, suppress_health_check=QUIET)
@given(ROUNDS, st.booleans())
def test_the_report_is_the_same_after_many_changes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rounds: list[list[tuple[Any, ...]]],
    settle: bool,
) -> None:
    compared(tmp_path, monkeypatch, capsys, rounds, settle)
