"""Numbers that are put into a list again and again are one object: bound in a loop around, or counted apart."""

from __future__ import annotations

import pytest

from tests.test_blind_reading import told

FILLED = """
    import os
    from torch.utils.data import Dataset

    class Photos(Dataset):
        def __init__(self, root):
            kinds, self.names, self.rows, n = [], [], [], 0
            {}

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return self.rows[i]
"""
FOLDERS = """
            folders = [os.path.join(root, each) for each in os.listdir(root)]
            for i in range(len(folders)):
                for name in os.listdir(folders[i]):
                    self.rows.append({})
"""
GOES_UP = """
            for folder in os.listdir(root):
                n += 1
                for name in os.listdir(folder):
                    self.rows.append({})
"""
LINES = """
            for line in open(root).readlines():
                name = line.split(",")[0]
                if {}:
                    {}
                    {}
                self.rows.append(n)
"""


@pytest.mark.parametrize(
    ("filling", "leaks"),
    [
        (FOLDERS.format("i"), False),
        (FOLDERS.format("int(name)"), True),
        (FOLDERS.format("(i, name)"), True),
        (GOES_UP.format("n"), False),
        (GOES_UP.format("n + int(name)"), True),
        (GOES_UP.replace("n += 1", "n = int(folder)").format("n"), False),
        (GOES_UP.replace("n += 1", "n = [folder]").format("n"), True),
        (GOES_UP.replace("n += 1", "pass").format("len(self.rows)"), True),
        (GOES_UP.replace("for folder in os.listdir(root):", "while n < 9:").format("n"), False),
        (LINES.format("name not in kinds", "kinds.append(name)", "n += 1"), False),
        (LINES.format("name not in kinds", "kinds.append(name)", "n += len(name)"), True),
        (LINES.format("name not in kinds", "kinds.append(line)", "n += 1"), True),
        (LINES.format("name not in kinds", "kinds.remove(name)", "n += 1"), True),
        (LINES.format("name not in kinds", "self.names.append(name)", "n += 1"), True),
        (LINES.format("name not in kinds", "pass", "n += 1"), True),
        (LINES.format("name in kinds", "kinds.append(name)", "n += 1"), True),
        (LINES.format("name", "kinds.append(name)", "n += 1"), True),
        (LINES.format("name not in kinds", "kinds.append(name)", "n = int(line)"), True),
    ],
)
def test_numbers_of_which_there_are_as_many_as_rounds_around(filling: str, leaks: bool) -> None:
    assert bool(told(FILLED.format(filling.strip()), "TLK101")) == leaks
