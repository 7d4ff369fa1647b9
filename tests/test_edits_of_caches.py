"""TLK203: caches with a limit that are kept in a record of a Dataset, and records themselves."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

SHARDS = """
import torch
from torch.utils.data import Dataset

class Shards(Dataset):
    def __init__(self, folders):
        self.sources = {{}}
        for each in folders:
            self.sources[each] = self.start(each)

    def start(self, folder):
        return {{"folder": folder, "cache": {{}}, "order": []}}

    def __len__(self):
        return len(self.sources)

    def load(self, source, number):
        cache, order = source["cache"], source["order"]
        {change}
        return cache[number]

    def __getitem__(self, i):
        return self.load(self.sources[str(i)], i % 9)
"""
LIMITED = """
        if len(cache) > 9:
            del cache[order.pop(0)]
        cache[number] = torch.load(source["folder"])
        order.append(number)
"""
RECORD = """
        source["image"] = torch.load(source["folder"])
        del source["folder"]
"""


@pytest.mark.parametrize(("change", "found"), [(LIMITED, False), (RECORD, True), ("order.pop(0)", True)])
def test_a_cache_with_a_limit_is_no_record(change: str, found: bool) -> None:
    codes = {each.code for each in lint(SHARDS.format(change=change.strip()))}
    assert ("TLK203" in codes) is found
