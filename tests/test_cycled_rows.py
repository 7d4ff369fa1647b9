"""Batches that are kept all at once, of data that is in memory as a whole anyway."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

KEPT = """
from torch.utils.data import DataLoader, TensorDataset, random_split

def fit(rows, labels, other, step, loader):
    data = TensorDataset(rows, labels)
    {}
    batches = [batch for batch in loader]
    for batch in batches:
        step(batch).backward()
"""


@pytest.mark.parametrize(
    ("loader", "expected"),
    [
        ("loader = DataLoader(data, batch_size=4)", ["note"]),
        ("loader = DataLoader(dataset=data, batch_size=4)", ["note"]),
        ("loader = DataLoader(TensorDataset(rows), batch_size=4)", ["note"]),
        ("loader = DataLoader(other, batch_size=4)", ["warning"]),
        ("loader = DataLoader(batch_size=4)", ["warning"]),
        ("pass", ["note"]),
    ],
)
def test_batches_of_tensors(loader: str, expected: list[str]) -> None:
    assert [each.severity.value for each in lint(KEPT.format(loader)) if each.code == "TLK405"] == expected


def test_batches_of_what_is_handed_in() -> None:
    text = KEPT.format("pass").replace("[batch for batch in loader]", "list(loader)")
    assert [each.severity.value for each in lint(text) if each.code == "TLK405"] == ["warning"]
