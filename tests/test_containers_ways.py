"""TLK101: containers that are made in one of several ways, from tables, databases and what a library's class holds."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

CODE = """
import numpy as np
import torchvision
from torch.utils.data import DataLoader, Dataset
from given import given


class Rows({base}):
    def __init__(self, root, table, path, other):
        super().__init__(root)
        {body}

    def rows(self, root, path):
        if path:
            return np.load(path, allow_pickle=True)
        found = []
        for each in root.glob("*"):
            found.append((each, str(each)))
        return found

    def __getitem__(self, i):
        return self.found[i]


loader = DataLoader(Rows(*given()), num_workers=4)
"""
BODIES = {
    "a column of what is a table by its methods": (
        "frame = table[table.fold == 1].reset_index(drop=True)\n        self.found = frame['path'].tolist()", 1),
    "a column of what may be anything": ("self.found = table['path'].tolist()", 0),
    "a list, or what was stored of one": ("self.found = self.rows(root, path)", 1),
    "the keys of a database": ("self.found = [key for key, _ in table.cursor()]", 1),
    "the rows of a query": ("self.found = list(table.execute('select *').fetchall())", 1),
    "what may be anything": ("self.keys = [key for key, _ in table.things()]", 0),
    "the keys of a database, under a name for small things": ("self.keys = [key for key, _ in table.cursor()]", 1),
}  # fmt: skip


def found(body: str, base: str = "Dataset") -> list[list[str]]:
    text = CODE.format(body=body, base=base)
    text = text.replace("self.found[i]", "self.keys[i]") if "self.keys" in body else text
    text = text.replace("self.found[i]", "self.found[self.path]") if "self.found = {}" in body else text
    told = lint(text, wanted=lambda code: code == "TLK101")
    return [[note.text for note in each.notes] for each in told]


@pytest.mark.parametrize("name", BODIES)
def test_what_a_dataset_holds(name: str) -> None:
    body, expected = BODIES[name]
    assert len(found(body)) == expected


@pytest.mark.parametrize(
    ("attribute", "base", "expected"),
    [
        ("samples", "torchvision.datasets.ImageFolder", 1),
        ("imgs", "torchvision.datasets.ImageFolder", 1),
        ("targets", "torchvision.datasets.ImageFolder", 0),
        ("samples", "Dataset", 0),
    ],
)
def test_what_is_made_of_a_list_of_the_base_class(attribute: str, base: str, expected: int) -> None:
    body = f"self.found = {{}}\n        for path, _ in self.{attribute}:\n            self.found[path] = [path]"
    told = [each for each in found(body, base) if not any("torchvision" in note for note in each)]
    assert len(told) == expected


def test_the_other_ways_are_shown() -> None:
    body = """if other:
            self.found = [each.split() for each in open(path)]
        else:
            self.found = [line for line in open(root)]"""
    (notes,) = found(body)
    assert "it is bound here as well" in notes
    (notes,) = found(body.replace("[line for line in open(root)]", "other"))
    assert "it is bound here as well" not in notes
