"""What readers of code that nobody had seen before found wrong: each with what must still be told."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.test_project import put


def told(text: str, code: str, path: Path | None = None) -> list[str]:
    """Severities of what is told under a code."""
    importers.forget()
    found = lint(textwrap.dedent(text), Config(min_severity="note"), path=str(path) if path is not None else None)
    return [each.severity.value for each in found if each.code == code]


FED = """
    {imports}
    from torch.utils.data import DataLoader

    def collect(model, data):
        model.eval()
        {switch}
        kept = []
        for x in DataLoader(data):
            {around}
                out = model(x)
            kept.append(out)
        print(len(kept))
"""


@pytest.mark.parametrize(
    ("imports", "switch", "around", "leaks"),
    [
        ("import torch", "pass", "if True:", True),
        ("import torch", "torch.autograd.set_grad_enabled(False)", "if True:", False),
        ("import torch", "torch.autograd.grad_mode.set_grad_enabled(False)", "if True:", False),
        ("import torch", "torch.autograd.set_grad_enabled(True)", "if True:", True),
        ("import torch", "pass", "with torch.autograd.set_grad_enabled(False):", False),
        ("from lib import *", "pass", "with torch.no_grad():", False),
        ("from lib import *", "pass", "with torch.set_grad_enabled(False):", False),
        ("from lib import *", "pass", "with torch.enable_grad():", True),
    ],
)
def test_gradients_that_are_switched_by_other_names(imports: str, switch: str, around: str, leaks: bool) -> None:
    assert bool(told(FED.format(imports=imports, switch=switch, around=around), "TLK402")) == leaks


COPIED = """
    import copy
    import json
    from torch.utils.data import Dataset

    def cleaned(sources):
        for source in sources:
            for sentence in source:
                sentence["value"] = "x" + sentence["value"]
        return sources

    class Rows(Dataset):
        def __init__(self, path):
            self.rows = json.load(open(path))

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            rows = [self.rows[i]]
            return str(cleaned({given}))
"""


@pytest.mark.parametrize(
    ("given", "leaks"),
    [
        ('[each["said"] for each in rows]', True),
        ('copy.copy([each["said"] for each in rows])', True),
        ('copy.deepcopy([each["said"] for each in rows])', False),
        ("copy.deepcopy(rows)", False),
        ("copy.copy(rows)", True),
    ],
)
def test_parts_of_deep_copies_are_nobody_elses(given: str, leaks: bool) -> None:
    assert bool(told(COPIED.format(given=given), "TLK203")) == leaks


def test_parts_of_parts_of_copies_end_somewhere() -> None:
    text = COPIED.format(given="copy.deepcopy([[[[[[rows]]]]]])")
    assert not told(text, "TLK203")


GATHERED = """
    import torch

    def test(net, head, batches):
        net.eval()
        for i in range(1000):
            parts = [net(each) for each in batches]
            print(head(parts))
"""


def test_what_a_comprehension_gathers_in_each_round() -> None:
    assert told(GATHERED, "TLK402") == ["note"]
    once = GATHERED.replace("for i in range(1000):", "if True:")
    assert told(once, "TLK402") == ["error"]


VIEWS = """
    import numpy as np
    from torch.utils.data import Dataset

    class Rows(Dataset):
        def __init__(self, path):
            self.rows = np.load(path)

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return self.rows[i]
"""
LOADS = "import torch\nfrom rows import Rows\nloader = torch.utils.data.DataLoader(get_dataset(Rows), {})\n"


@pytest.mark.parametrize(
    ("files", "leaks"),
    [
        ({}, True),
        ({"train": "import torch\n"}, True),
        ({"train": LOADS.format("batch_size=4")}, False),
        ({"train": LOADS.format("collate_fn=other")}, True),
        ({"train": LOADS.format("batch_size=None")}, True),
        ({"train": LOADS.format("4"), "other": "import torch\ndef collate(batch):\n    return batch\n"}, True),
    ],
)
def test_samples_where_all_loaders_of_the_project_copy(tmp_path: Path, files: dict[str, str], leaks: bool) -> None:
    put(tmp_path, rows=VIEWS, **files)
    (tmp_path / ".git").mkdir()
    path = tmp_path / "rows.py"
    assert bool(told(path.read_text(encoding="utf-8"), "TLK201", path)) == leaks


HOOKED = """
    import torch

    def run(model, data):
        for i in range(1000):
            seen = []

            def hook(module, inputs, outputs):
                seen.append(outputs[0])

            model.register_full_backward_hook(hook)
            loss = model(data).sum()
            loss.backward()
            print(seen[0])
"""


def test_leaks_in_tests_are_notes() -> None:
    assert set(told(HOOKED, "TLK604")) == {"error"}
    assert set(told(HOOKED.replace("import torch", "import torch\n    import pytest"), "TLK604")) == {"note"}


def test_caches_where_the_file_itself_shows_no_workers() -> None:
    text = (
        VIEWS.replace("self.rows = np.load(path)", "self.paths, self.cache = path, {}")
        .replace("return self.rows[i]", "self.cache[i] = np.load(self.paths[i])\n            return self.cache[i] * 2")
        .replace("len(self.rows)", "len(self.paths)")
    )
    assert told(text, "TLK104") == ["error"]
    assert told(text + "\n    fit(Rows(paths))\n", "TLK104") == ["note"]


CARRIED = """
    import torch
    from torch import nn

    class Agent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTMCell(4, 4)
            self.hx, self.cx, self.state = None, None, None

        def start(self, n):
            {start}

        def forward(self, x, mask):
            if mask is None:
                self.hx, self.cx = self.lstm(x, (self.hx, self.cx))
                return self.hx
            {carry}
"""
MASKED = "self.hx[mask], self.cx[mask] = self.lstm(x, (self.hx[mask], self.cx[mask]))"
LOCAL = "h, c = self.state\n            h, c = self.lstm(x, (h, c))\n            self.state = (h, c)"


@pytest.mark.parametrize(
    ("start", "carry", "leaks"),
    [
        ("pass", MASKED, 2),
        ("self.hx, self.cx = torch.zeros(n, 4), torch.zeros(n, 4)", MASKED, 0),
        ("pass", LOCAL, 2),
        ("self.hx = self.cx = self.state = None", LOCAL, 0),
        ("self.state = torch.zeros(n, 4), torch.zeros(n, 4)", LOCAL, 1),
        ("self.other = None", MASKED, 2),
    ],
)
def test_states_that_another_method_starts_anew(start: str, carry: str, leaks: int) -> None:
    """Also where a part of the state is set, or it goes on through variables."""
    assert told(CARRIED.format(start=start, carry=carry), "TLK601") == ["error"] * leaks


LISTS = """
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __init__(self, n):
            self.rows = [[str(k)] for k in range(n)]

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return self.rows[i]

    def collate(rows):
        for row in rows:
            {}
        return len(rows)

    loader = DataLoader(Rows(100), num_workers=2, collate_fn=collate)
"""


@pytest.mark.parametrize(
    ("edit", "leaks"),
    [("row.append(1)", True), ("add = row.append; add(1)", True), ("print(row.count)", False), ("pass", False)],
)
def test_edits_by_bound_methods_in_workers(edit: str, leaks: bool) -> None:
    assert bool(told(LISTS.format(edit), "TLK202")) == leaks
