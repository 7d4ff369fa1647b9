"""Tensors that take shape, type or place of another one take none of its history."""

from __future__ import annotations

import pytest

from flake8_torchleak.lifetime.libraries import AS_ANOTHER
from flake8_torchleak.lint import lint

PROGRAM = """
import torch

def fit(loader, net, optimizer):
    kept = []
    for x in loader:
        y = torch.ones(4, 1)
        out = net(x)
        loss = out.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append({})
    return kept
"""
SHAPED = ["expand_as", "reshape_as", "to", "type_as", "view_as"]


def told(kept: str) -> bool:
    return any(each.code == "TLK402" for each in lint(PROGRAM.format(kept)))


def test_the_table_holds_those_that_were_tried() -> None:
    assert sorted(AS_ANOTHER) == SHAPED


@pytest.mark.parametrize("name", SHAPED)
def test_the_history_of_the_other_one_is_not_kept(name: str) -> None:
    assert not told(f"y.{name}(out)")
    assert told(f"out.{name}(y)")
    assert told("y.mul(out)")


@pytest.mark.parametrize("name", SHAPED)
def test_torch_takes_none(name: str) -> None:
    torch = pytest.importorskip("torch")
    with_history, without = torch.ones(2, 1, requires_grad=True) * 2, torch.ones(2, 1)
    assert not getattr(without, name)(with_history).requires_grad
    assert getattr(with_history, name)(without).requires_grad
