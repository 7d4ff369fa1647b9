"""`from module import *` of the project's own modules: definitions behind names that are bound nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.model import firstparty
from tests.test_project import found, put

BASE = """
    import json
    from torch.utils.data import Dataset

    class Base(Dataset):
        def __init__(self, path):
            self.rows = read(path)

        def __len__(self):
            return len(self.rows)

    def read(path):
        return json.load(open(path))
"""
OWN = """
    from torch.utils.data import DataLoader, Dataset
    {imported}

    class Own(Dataset):
        def __init__(self, path):
            self.rows = read(path)

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return self.rows[i]["x"]

    loader = DataLoader(Own("x"), num_workers=8)
"""
BELOW = """
    from torch.utils.data import DataLoader
    {imported}

    class Own(Base):
        {body}

    loader = DataLoader(Own("x"), num_workers=8)
"""
NET = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.body, self.head = nn.Linear(8, width), nn.Linear(width, 4)

        def forward(self, x):
            return self.head(self.body(x))

        def score(self, x):
            return self.head(self.body(x))
"""
TRAINER = """
    import torch
    {imported}

    class Trainer:
        def __init__(self, width, device):
            self.net = {made}(width).to(device)

        def scores(self, loader):
            found = []
            for x, _ in loader:
                found.append(self.net.score(x).max(1)[0].tolist())
            return found
"""


@pytest.fixture(autouse=True)
def _fresh() -> None:
    firstparty.forget()


@pytest.mark.parametrize(
    ("imported", "codes"),
    [
        ("from base import *", ["TLK101"]),
        ("from .base import *", ["TLK101"]),
        ("from other import *\n    from base import *", ["TLK101"]),
        ("from base import *\n    from other import *", []),
        ("from again import *", ["TLK101"]),
        ("from os.path import *", []),
        ("from base import *\n\n    def read(path):\n        return None", []),
    ],
)
def test_a_helper_that_came_with_all_names_of_a_module(tmp_path: Path, imported: str, codes: list[str]) -> None:
    """Of two modules that have the name, the one whose names came last."""
    put(
        tmp_path,
        base=BASE,
        other="def read(path):\n    return 1\n",
        again="from base import *\n",
        own=OWN.format(imported=imported),
    )
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "own.py") == codes


@pytest.mark.parametrize("imported", ["from base import *", "from base import Base"])
@pytest.mark.parametrize(
    ("body", "made", "codes"),
    [
        ("def __getitem__(self, i):\n            return self.rows[i]['x']", BASE, ["TLK101"]),
        ("pass", BASE, []),
        (
            "def __getitem__(self, i):\n            return self.rows[i]['x']",
            BASE + "\n    class Sampled:\n        def __getitem__(self, i):\n            return i\n",
            ["TLK101"],
        ),
    ],
)
def test_a_class_below_that_alone_makes_samples_is_told(
    tmp_path: Path, imported: str, body: str, made: str, codes: list[str]
) -> None:
    """Its base, in another file, fills what it reads: nobody would be told there."""
    put(tmp_path, base=made, own=BELOW.format(imported=imported, body=body))
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "own.py") == codes
    assert found(tmp_path / "base.py") == []


@pytest.mark.parametrize(
    ("imported", "made", "codes"),
    [
        ("from nets import *", "Net", ["TLK501"]),
        ("from nets import Net", "Net", ["TLK501"]),
        ("import nets", "nets.Net", ["TLK501"]),
        ("from missing import *", "Net", []),
    ],
)
def test_a_network_s_method_in_another_file(tmp_path: Path, imported: str, made: str, codes: list[str]) -> None:
    put(tmp_path, nets=NET, own=TRAINER.format(imported=imported, made=made))
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "own.py") == codes


TRAIN = """
    import torch
    from torch import nn
    {imported}

    def train(model, train_loader, opt):
        for epoch in range(10):
            losses = []
            opt.zero_grad()
            for x, y in train_loader:
                loss = nn.functional.mse_loss(model(x), y)
                losses.append(loss)
            update(losses)
            opt.step()
"""
PRINTS = "def update(losses):\n    print(sum(losses).item())\n"
BACK = "def update(losses):\n    sum(losses).backward()\n"


@pytest.mark.parametrize(
    ("imported", "printing", "is_told"),
    [
        ("from back import *\n    from printing import *", PRINTS, True),
        ("from back import *\n    from printing import *", f"__all__ = ['update']\n{PRINTS}", True),
        ("from back import *\n    from printing import *", f"__all__ = []\n{PRINTS}", False),
        ("from back import *\n    from printing import *", f"__all__ = ['a'] + ['b']\n{PRINTS}", False),
        ("from back import *\n    from printing import *", f"__all__ = ['update']\n__all__ += []\n{PRINTS}", False),
        ("from back import *\n    from printing import *", f"{PRINTS}del update\n", False),
        ("from printing import *", f"{PRINTS}from back import *\n", False),
        ("from printing import *", f"from back import *\n{PRINTS}", True),
        ("from printing import update", f"{PRINTS}update = other\n", False),
        ("from printing import update", f"{PRINTS}update = timed(update)\n", True),
        ("from printing import update", f"{PRINTS}update: object = other\n", False),
        ("from printing import *\n    from library import *", PRINTS, False),
        ("from library import *\n    from printing import *", PRINTS, True),
        ("from printing import *\n    from torch.nn import *", PRINTS, True),
    ],
)
def test_which_of_several_definitions_a_name_has(tmp_path: Path, imported: str, printing: str, is_told: bool) -> None:
    """Told is what is certain: where another module may have the last word, nobody knows what `update` does."""
    put(tmp_path, back=BACK, printing=printing, own=TRAIN.format(imported=imported))
    (tmp_path / "pyproject.toml").touch()
    assert ("TLK501" in found(tmp_path / "own.py")) is is_told


@pytest.mark.parametrize(("name", "codes"), [("_read", []), ("read", ["TLK101"])])
def test_private_names_do_not_come_with_all_names(tmp_path: Path, name: str, codes: list[str]) -> None:
    put(tmp_path, base=BASE.replace("read", name), own=OWN.format(imported="from base import *").replace("read", name))
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path / "own.py") == codes
