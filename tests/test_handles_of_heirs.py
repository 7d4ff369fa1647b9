"""Handles that a base opens by a method which a class overrides, and hands on through containers."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

VOLUMES = """
import h5py
import numpy as np
from torch.utils.data import DataLoader, Dataset

class Volumes(Dataset):
    def __init__(self, path, names):
        file = self.open(path)
        self.parts = self.checked(file, names)

    def open(self, path):
        raise NotImplementedError

    @staticmethod
    def parts_of(file, names):
        raise NotImplementedError

    def checked(self, file, names):
        parts = self.parts_of(file, names)
        {check}
        return parts

    def __getitem__(self, i):
        return self.parts[0][i]

class Lazy(Volumes):
    def open(self, path):
        return h5py.File(path, {mode})

    @staticmethod
    def parts_of(file, names):
        return [{part} for name in names]

loader = DataLoader(Lazy("a.h5", ["x"]), num_workers=4)
"""


@pytest.mark.parametrize(
    ("check", "mode", "part", "severities"),
    [
        ("pass", "'r'", "file[name]", ["note"]),
        ("pass", "'r+'", "file[name]", ["error"]),
        ("pass", "'r'", "file[name][:]", []),
        ("parts = tuple(reversed(parts))", "'r'", "file[name]", ["note"]),
        ("parts = list(map(lambda part: part, parts))", "'r'", "file[name]", ["note"]),
        ("parts = list(map(lambda part: part[:], parts))", "'r'", "file[name]", []),
        ("parts = list(map(np.asarray, parts))", "'r'", "file[name]", []),
        (
            "wide = lambda p: p[None] if p.ndim == 2 else p\n        parts = list(map(wide, parts))",
            "'r'",
            "file[name]",
            ["note"],
        ),
        (
            "wide = np.asarray\n        parts = list(map(wide, parts))",
            "'r'",
            "file[name]",
            [],
        ),
    ],
)
def test_what_a_base_opens_by_what_a_class_overrides(check: str, mode: str, part: str, severities: list[str]) -> None:
    text = VOLUMES.format(check=check, mode=mode, part=part)
    assert [each.severity.value for each in lint(text) if each.code == "TLK105"] == severities


def test_a_base_that_opens_nothing_is_no_finding() -> None:
    text = VOLUMES.format(check="pass", mode="'r'", part="file[name]").replace('Lazy("a', 'Volumes("a')
    text = text.replace("class Lazy(Volumes)", "class Lazy")
    assert [each.code for each in lint(text) if each.code == "TLK105"] == []


def test_containers_that_are_made_of_each_other_end() -> None:
    """Each name may be any of several values, which name the others: nothing is looked into twice."""
    names = "abcdefghijkl"
    swaps = "\n            ".join(f"if path == {a!r}: {a} = list({b})" for a in names for b in names if a != b)
    text = f"""
import h5py
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, path):
        {" = ".join(names)} = []
        while path:
            {swaps}
        self.parts = list(a)

    def __getitem__(self, i):
        return self.parts[i]

loader = DataLoader(Rows("a"), num_workers=4)
"""
    assert [each.code for each in lint(text) if each.code == "TLK105"] == []
