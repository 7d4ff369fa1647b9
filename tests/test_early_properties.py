"""TLK105: handles that a property opens on its first use, which is not in a worker."""

from __future__ import annotations

import pytest

from tests.model import codes

LAZY = """
import h5py
class Rows(Dataset):
    def __init__(self, path):
        self.path, self._file = path, None
        {init}
    @{kind}
    def file(self):
        if self._file is None:
            self._file = h5py.File(self.path, "r")
        return self._file
    def __len__(self):
        return {length}
    def __getitem__(self, i):
        return {read}
DataLoader(Rows("x"), num_workers=4)
"""


@pytest.mark.parametrize(
    ("init", "length", "kind", "read", "expected"),
    [
        ("pass", "len(self.file['x'])", "property", "self.file['x'][i]", 1),
        ("self.size = len(self.file['x'])", "self.size", "property", "self.file['x'][i]", 1),
        ("self.size = len(self.file['x'])\n        self._file = None", "self.size", "property", "self.file['x'][i]", 0),
        ("pass", "100", "property", "self.file['x'][i]", 0),
        ("pass", "len(self.file['x'])", "property", "i", 0),
        ("pass", "len(self.file()['x'])", "staticmethod", "i", 0),
    ],
)
def test_what_a_property_opens(init: str, length: str, kind: str, read: str, expected: int) -> None:
    text = LAZY.format(init=init, length=length, kind=kind, read=read)
    assert codes(text).count("TLK105") == expected
