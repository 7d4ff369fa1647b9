"""Whether a program has workers is asked in one way for all rules that are about workers alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.test_project import put

HEAD = """
    import json
    import numpy as np
    import pandas as pd
    import torch
    from torch.utils.data import DataLoader, Dataset, IterableDataset
"""
READS = """
        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return self.rows[i]
"""
MADE = """
    class Rows(Dataset):
        def __init__(self, path):
            self.rows = {}
"""
STREAM = """
    class Rows(IterableDataset):
        def __init__(self, path):
            self.path = path

        def __iter__(self):
            with open(self.path) as file:
                yield from file
"""
ROWS = {
    "TLK101": MADE.format("[json.loads(line) for line in open(path)]") + READS,
    "TLK102": MADE.format("np.array([json.loads(line) for line in open(path)], dtype=object)") + READS,
    "TLK103": MADE.format("[torch.tensor(json.loads(line)) for line in open(path)]") + READS,
    "TLK303": STREAM,
    "TLK902": MADE.format("pd.read_csv(path)") + READS.replace("self.rows[i]", "self.rows.iloc[i]"),
}
OPTION = """
    import argparse
    from rows import Rows
    from torch.utils.data import DataLoader

    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    options = parser.parse_args()
    DataLoader(Rows("x"), 8, num_workers=options.workers)
"""


def told(root: Path, code: str, rows: str, main: str, script: str = "") -> list[Finding]:
    """The findings of a rule in `rows.py`, in a project with another file and a script."""
    put(root, rows=HEAD + rows, main=main)
    (root / ".git").mkdir(exist_ok=True)
    (root / "run.sh").write_text(script, encoding="utf-8")
    importers.forget()
    path = root / "rows.py"
    return [each for each in lint(path.read_text(encoding="utf-8"), path=str(path)) if each.code == code]


@pytest.mark.parametrize("code", ROWS)
def test_workers_that_only_an_option_asks_for(tmp_path: Path, code: str) -> None:
    assert not told(tmp_path, code, ROWS[code], OPTION)
    (found,) = told(tmp_path, code, ROWS[code], OPTION, "python main.py --workers 4")
    if code != "TLK303":
        assert "with workers (by default none) " in found.message
        assert found.severity is Severity.NOTE
    (found,) = told(tmp_path, code, ROWS[code], OPTION.replace("options.workers", "4"))
    assert "by default none" not in found.message


@pytest.mark.parametrize("code", ["TLK102", "TLK902"])
def test_flags_that_nothing_sets(tmp_path: Path, code: str) -> None:
    rows = ROWS[code].replace("(self, path)", "(self, path, whole=False)")
    rows = rows.replace("self.rows = ", "self.whole = whole\n            self.rows = ")
    guarded = rows.replace("return self.rows", "if self.whole:\n                return self.rows")
    main = OPTION.replace("options.workers", "4")
    assert not told(tmp_path, code, guarded, main)
    assert told(tmp_path, code, guarded, main.replace('Rows("x")', 'Rows("x", whole=True)'))


LISTED = """
    def load(path, workers=0):
        rows = [json.loads(line) for line in open(path)]
        return DataLoader(rows, 8, num_workers={})
"""


@pytest.mark.parametrize(
    ("number", "script", "severity"),
    [
        ("workers", "", None),
        ("2", "", Severity.WARNING),
        ("options.workers", "", None),
        ("options.workers", "python main.py --workers 4", Severity.NOTE),
    ],
)
def test_lists_in_loaders(tmp_path: Path, number: str, script: str, severity: Severity | None) -> None:
    main = OPTION.split("DataLoader(Rows")[0].replace("import Rows", "import load") + "load('x')\n"
    found = told(tmp_path, "TLK106", LISTED.format(number), main, script)
    assert [each.severity for each in found] == ([severity] if severity else [])
    assert all(("by default none" in each.message) == bool(script) for each in found)
    (tmp_path / "setup.py").write_text("setup(name='x')", encoding="utf-8")
    assert told(tmp_path, "TLK106", LISTED.format(number), main, script)


SHARED = """
    class Rows(Dataset):
        def __init__(self, path):
            self.rows = torch.load(path)
            self.images = torch.zeros(100, 8)

        def __getitem__(self, i):
            return self.images[i]

    def load(path, options):
        return DataLoader(Rows(path), batch_size=None, num_workers=options.workers)
"""


@pytest.mark.parametrize("script", ["", "python main.py --workers 4"])
def test_storages_in_shared_memory(tmp_path: Path, script: str) -> None:
    main = OPTION.split("DataLoader(Rows")[0].replace("import Rows", "import load") + "load('x', options)\n"
    assert bool(told(tmp_path, "TLK204", SHARED, main, script)) == bool(script)


ON_GPU = """
    class Rows(Dataset):
        def __getitem__(self, i):
            return torch.zeros(8).cuda()

    def load(path, options):
        return DataLoader(Rows(path), 8, num_workers=options.workers)
"""


@pytest.mark.parametrize("script", ["", "python main.py --workers 4"])
def test_cuda_in_workers(tmp_path: Path, script: str) -> None:
    main = OPTION.split("DataLoader(Rows")[0].replace("import Rows", "import load") + "load('x', options)\n"
    assert bool(told(tmp_path, "TLK302", ON_GPU, main, script)) == bool(script)


KEPT = """
    def collect(loader):
        kept = []
        for x, y in loader:
            kept.append(y.numpy())
        return kept
"""
LOADS = """
    import argparse
    from rows import collect
    from torch.utils.data import DataLoader

    parser = argparse.ArgumentParser()
    parser.add_argument("--pin", default=True)
    parser.add_argument("--workers", default=0)
    options = parser.parse_args()
    collect(DataLoader(data, 8, {}))
"""


@pytest.mark.parametrize(
    ("given", "leaks"),
    [
        ("num_workers=4", True),
        ("num_workers=0", False),
        ("num_workers=options.workers", False),
        ("num_workers=4, pin_memory=True", False),
        ("num_workers=4, pin_memory=options.pin", False),
        ("num_workers=4, pin_memory=False", True),
        ("num_workers=4, pin_memory=options.other", True),
    ],
)
def test_batches_that_no_loader_leaves_in_shared_memory(tmp_path: Path, given: str, leaks: bool) -> None:
    main = LOADS.format(given)
    assert bool(told(tmp_path, "TLK404", KEPT, main)) == leaks
    assert told(tmp_path, "TLK404", KEPT, main + "    other = DataLoader(data, num_workers=2)\n")
    assert told(tmp_path, "TLK404", KEPT, LOADS.split("    collect(DataLoader")[0] + "    collect(data)\n")
    (tmp_path / "setup.py").write_text("setup(name='x')", encoding="utf-8")
    assert told(tmp_path, "TLK404", KEPT, main)
