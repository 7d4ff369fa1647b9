"""Dicts whose entries have names: a step that sets them again keeps one of each."""

from __future__ import annotations

import pytest

from tests.kept import program, reported

NAMED = """
def fit(net: nn.Module, loader: DataLoader, opt):
    kept, other = {{}}, {{}}
    for batch in loader:
        opt.zero_grad()
        for {over}:
            loss = net(x).mean()
            loss.backward()
            kept[{key}] = loss
        opt.step()
        {read}
"""
ITEMS = "name, x in batch.items()"


@pytest.mark.parametrize(
    ("over", "key", "read", "count"),
    [
        (ITEMS, "name", "print(kept['total'])", 0),
        (ITEMS, "f'{name}_loss'", "print(kept['total_loss'])", 0),
        (ITEMS, "name", "", 1),
        (ITEMS, "name", "print(kept[0])", 1),
        (ITEMS, "name", "kept['total'] = 0", 1),
        (ITEMS, "name", "print(other['total'])", 1),
        (ITEMS, "x", "print(kept['total'])", 1),
        ("name, x in batch.pairs()", "name", "print(kept['total'])", 1),
        ("name, x in zip(batch, batch)", "name", "print(kept['total'])", 1),
        ("x in batch.keys()", "x", "print(kept['total'])", 0),
        ("x in batch.values()", "x", "print(kept['total'])", 1),
    ],
)
def test_entries_under_the_keys_of_another_dict(over: str, key: str, read: str, count: int) -> None:
    """Run on torch with batches of the same two keys: 2 losses are alive after 100 steps; new keys each time: 200."""
    assert len(reported(program(NAMED.format(over=over, key=key, read=read)))) == count


@pytest.mark.parametrize("key", ["step", "len(kept)"])
def test_entries_under_numbers(key: str) -> None:
    text = NAMED.format(over=ITEMS, key=key, read="print(kept['total'])").replace(
        "for batch in loader", "for step, batch in enumerate(loader)"
    )
    assert len(reported(program(text))) == 1
