"""What the tests of the recorder share: a small network, its batches, and what was kept in a run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from flake8_torchleak.recorder import Kept, Record, walk

torch.set_num_threads(1)  # small networks: more threads only get in each other's way
STEPS = 24


@pytest.fixture(autouse=True)
def few_modules(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the tests' modules only the test's own is first-party: what holds is looked for in all of them, step by step.

    To be imported by test modules. All others that pytest has loaded, and what those import, hold tables of cases,
    hundreds of thousands of objects.
    """
    looked = walk.own_modules

    def few() -> list[tuple[str, dict[str, object]]]:
        own = request.module.__name__
        return [(name, names) for name, names in looked() if name == own or not name.startswith("tests.")]

    monkeypatch.setattr(walk, "own_modules", few)


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))


def optimizer(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(net.parameters(), lr=0.01)


def batches(steps: int = STEPS) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for _ in range(steps):
        yield torch.randn(4, 8), torch.randint(0, 3, (4,))


def loader(steps: int = STEPS, workers: int = 0) -> DataLoader[tuple[torch.Tensor, ...]]:
    data = TensorDataset(torch.randn(4 * steps, 8), torch.randint(0, 3, (4 * steps,)))
    return DataLoader(data, batch_size=4, num_workers=workers)


def only(record: Record, kind: str = "graph") -> Kept:
    """The one thing of a kind that grew; nothing else did."""
    (found,) = record.growing
    assert found.kind == kind
    return found
