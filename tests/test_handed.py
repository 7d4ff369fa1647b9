"""State that a Dataset hands to the constructor of its base, which keeps it."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

TEXT = """
import glob
from torch.utils.data import Dataset

class Base(Dataset):
    def __init__(self, items, size=1):
        self.items, self.size = items, size
    def __len__(self):
        return len(self.items)
    def __getitem__(self, i):
        return open(self.items[i]).read()

class Own({base}):
    def __init__(self, root):
        {made}
{more}
"""
LIST = "sorted(glob.glob(root))"
HANDED = {
    "by super": ("Base", f"super().__init__({LIST})", "", [15]),
    "by super with names": ("Base", f"super(Own, self).__init__({LIST})", "", [15]),
    "by keyword": ("Base", f"super().__init__(items={LIST})", "", [15]),
    "by the base's name": ("Base", f"Base.__init__(self, {LIST})", "", [15]),
    "by a variable": ("Base", f"paths = {LIST}; super().__init__(paths)", "", [15]),
    "to the base of the base": (
        "Middle",
        f"super().__init__({LIST})",
        "class Middle(Base):\n    def other(self):\n        return 1",
        [15],
    ),
    "an array": ("Base", f"import numpy as np; super().__init__(np.array({LIST}, dtype=np.bytes_))", "", []),
    "a few": ("Base", "super().__init__(('a', 'b'))", "", []),
    "something else": ("Base", "super().__init__(root, 2)", "", []),
    "several": ("Base", f"super().__init__(*{LIST})", "", []),
    "nothing": ("Base", "print(root)", "", []),
}


@pytest.mark.parametrize(("base", "made", "more", "lines"), HANDED.values(), ids=HANDED)
def test_what_is_handed_to_the_base(base: str, made: str, more: str, lines: list[int]) -> None:
    text = TEXT.format(base=base, made=made, more="")
    text = text.replace("class Own", f"{more}\nclass Own") if more else text
    moved = [line + (more.count("\n") + 1 if more else 0) for line in lines]
    assert [each.span.line for each in lint(text) if each.code == "TLK101"] == moved
