"""Training loops that are left by a count: of a few iterations, if the program shows that, else of a whole training."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

TRAIN = """
import torch

NUM = 4

def fit(model, loader, opt, args, debug, limit=3):
    kept, few = [], 5
    more = 5 if debug else 10
    for i, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        kept.append(loss)
        if {condition}:
            break
    return torch.stack(kept).mean().item()
"""


@pytest.mark.parametrize(
    ("condition", "is_told"),
    [
        ("i >= 5", False),
        ("i >= few", False),
        ("i >= NUM", False),
        ("i >= 1 + 1 + 3", False),
        ("i == 2 * few", False),
        ("i > few - 1", False),
        ("i > few // 2", False),
        ("i >= more", False),
        ("i >= (5 if debug else 10)", False),
        ("i >= min(5, len(loader))", False),
        ("i >= max(1, 3)", False),
        ("i >= int(few)", False),
        ("len(kept) >= args.most", False),
        ("i >= max(1, args.steps)", True),
        ("i >= args.steps + 1", True),
        ("i >= len(loader)", True),
        ("i >= args.steps", True),
        ("i >= 20_000", True),
        ("i >= 5 if debug else args.steps", True),
        ("i >= (5 if debug else args.steps)", True),
    ],
)
def test_how_many_iterations_a_condition_counts(condition: str, is_told: bool) -> None:
    found = lint(TRAIN.format(condition=condition))
    assert ("TLK402" in [each.code for each in found]) is is_told
