"""Edits that mend a stored part: they are made once, and the next read finds nothing to do."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

EDITS = """
import json
import numpy as np
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, path):
        self.rows = [json.loads(line) for line in open(path)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        {}
        return row["a"]
"""


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ("if np.isnan(row['a']): row['a'] = 0.0", "note"),
        ("if not isinstance(row['a'], bytes): row['a'] = row['a'].encode()", "note"),
        ("if type(row['a']) is str: row['a'] = float(row['a'])", "note"),
        ("for key in row:\n            if np.isnan(row[key]):\n                row[key] = 0", "note"),
        ("if row['a'] > 3: row['a'] = row['a'] - 3", "error"),
        ("if np.isnan(row['b']): row['a'] = row['a'] - 3", "error"),
        ("if np.isnan(row['a']): pass\n        else: row['a'] = row['a'] - 3", "error"),
        ("if round(row['a']): row['a'] = row['a'] - 3", "error"),
        ("while np.isnan(row['a']): row['a'] = row['a'] - 3", "error"),
    ],
)
def test_parts_of_another_kind(edit: str, expected: str) -> None:
    """Run: after two epochs each row is as it was after the first one; of `- 3` it is not."""
    found = [each.severity.value for each in lint(EDITS.format(edit)) if each.code == "TLK203"]
    assert found == [expected]
