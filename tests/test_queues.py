"""Queues of an iterable Dataset: what its own methods fill and empty is there to be changed."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

QUEUES = """
from collections import deque
from torch.utils.data import IterableDataset

class Even(IterableDataset):
    def __init__(self, rows, labels):
        self.rows = rows
        self.waiting = {{label: {made} for label in labels}}
        self.other = {{label: {made} for label in labels}}

    def __iter__(self):
        for row in self.rows:
            {adds}
            for each in self.{taken}.values():
                yield {takes}
            print(self.waiting, self.other)
"""
ADDS = "self.waiting[row['label']].append(row)"


@pytest.mark.parametrize(
    ("made", "adds", "taken", "takes", "count"),
    [
        ("deque(maxlen=9)", ADDS, "waiting", "each.popleft()", 0),
        ("[]", ADDS, "waiting", "each.pop(0)", 0),
        ("[]", ADDS, "waiting", "each[:]\n                del each[:]", 0),
        ("[]", "self.waiting[row['label']].extend([row])", "waiting", "each.pop()", 0),
        ("deque(maxlen=9)", ADDS, "waiting", "each[0]", 1),
        ("[]", ADDS, "waiting", "list(each)\n                self.waiting[label] = []", 0),
        ("[]", ADDS, "waiting", "list(each)\n                self.waiting[label] = [row]", 1),
        ("[]", ADDS, "waiting", "list(each)\n                self.other[label] = []", 1),
        ("deque(maxlen=9)", ADDS, "other", "each.popleft()", 1),
        ("{}", "self.waiting[row['label']].update(row)", "waiting", "each.pop(0)", 1),
    ],
)
def test_elements_that_are_filled_and_emptied(made: str, adds: str, taken: str, takes: str, count: int) -> None:
    """Run: an epoch of 500 rows from two such queues gives the same 500 rows as the next one."""
    text = QUEUES.format(made=made, adds=adds, taken=taken, takes=takes)
    assert [each.code for each in lint(text)].count("TLK203") == count
