"""What is no stored element any more: loops that are gone through at least once bind anew, and masks give copies."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

TEXT = """
from torch.utils.data import Dataset

class Clips(Dataset):
    def __init__(self, table):
        self.table = {{k: list(v) for k, v in table.items()}}
        self.names = list(self.table)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        chosen = self.table[self.names[i]]
        parts = [list(chosen), list(chosen)]
        for part in {over}:
            {before}
            {then}
            if len(chosen) > 3:
                break
        chosen.append(chosen[-1])
        return len(chosen)
"""


@pytest.mark.parametrize(
    ("over", "before", "changed"),
    [
        ("range(10)", "print(part)", False),
        ("[1, 2]", "print(part)", False),
        ("(i,)", "print(part)", False),
        ("range(0)", "print(part)", True),
        ("range(i)", "print(part)", True),
        ("range(1, i)", "print(part)", True),
        ("[]", "print(part)", True),
        ("parts", "print(part)", True),
        ("range(10)", "if part: break", True),
        ("range(10)", "if part: continue", True),
        ("range(10)", "with part:\n                if i: break\n                chosen = parts[0]", True),
    ],
)
def test_what_a_loop_binds_at_least_once(over: str, before: str, changed: bool) -> None:
    text = TEXT.format(over=over, before=before, then="pass" if "with" in before else "chosen = parts[0]")
    assert [each.code for each in lint(text) if each.code == "TLK203"] == ["TLK203"] * changed


MASKED = """
import pickle
import numpy as np
from torch.utils.data import Dataset

class Scenes(Dataset):
    def __init__(self, path, flags):
        self.infos = list(sorted(pickle.load(open(path, "rb"))["infos"]))
        self.flags = flags

    def __len__(self):
        return len(self.infos)

    def __getitem__(self, i):
        info = self.infos[i]
        {mask}
        speed = info["speed"][mask]
        bad = np.isnan(speed)
        speed[bad] = 0.0
        return speed.sum()
"""


@pytest.mark.parametrize(
    ("mask", "changed"),
    [
        ("mask = info['points'] > 0", False),
        ("mask = info['valid'] if self.flags else info['points'] > 0", True),
        ("mask = info['valid']\n        if self.flags: mask = info['points'] > 0", False),
        ("mask = 'fast'", True),
        ("mask = i % 3", True),
    ],
)
def test_what_a_mask_gives_is_a_copy(mask: str, changed: bool) -> None:
    found = [each.code for each in lint(MASKED.format(mask=mask)) if each.code == "TLK203"]
    assert found == ["TLK203"] * changed
