"""TLK201, TLK202: what is handed out is no view, or nobody edits it."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.model import importers
from tests.model import codes, dataset
from tests.test_users import found, project

TABLE = "table = pd.read_csv(root)\n"
COLUMNS = {
    "a column of text": ("np.asarray(table['question'])", "self.data[i]", False),
    "its values": ("table['question'].values", "self.data[i]", False),
    "to_numpy": ("table['question'].astype(str).to_numpy()", "self.data[i]", False),
    "an array of a column": ("np.asanyarray(table['label'])", "self.data[i]", False),
    "several elements of a column": ("table['question'].values", "self.data[i : i + 8]", True),
    "rows": ("table.values", "self.data[i]", True),
    "rows of some columns": ("table[['x', 'y']].to_numpy()", "self.data[i]", True),
    "rows that are grouped": ("table['x'].rolling(8).values", "self.data[i]", True),
    "an array of rows": ("np.asarray(table)", "self.data[i]", True),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_an_element_of_a_column_is_no_view(name: str) -> None:
    made, given, found = COLUMNS[name]
    text = dataset(f"{TABLE}self.data = {made}", f"return {given}")
    assert ("TLK201" in codes(text)) is found


ROWS = """\
import numpy as np
import torch
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, rows, size):
        self.rows = [([size], [len(each)], each) for each in rows]
        self.extra = []

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        word = self.rows[i][0]
        return word, self.rows[i][1]

    def collate(self, batch):
{collate}

    def padded(self, words, size):
        ids = torch.LongTensor(len(words), size).fill_(0)
        for i, word in enumerate(words):
            ids[i, : len(word)] = torch.LongTensor(word)
        return ids

    def kept(self, words):
        return words

    def changed(self, words):
        words[0].append(0)
        return len(words)
"""
RUN = """\
import torch
from torch.utils.data import DataLoader, TensorDataset
from rows import Rows
{more}
def main(texts, other):
    data = Rows(texts, 3)
    loader = DataLoader({given})
    for batch in loader:
        print(batch)
"""
WORDS = "words = [x[0] for x in batch]\n"
COLLATES = {
    # -- only read or copied --------------------------------------------------------------------------------------
    "read": (WORDS + "return torch.tensor(words)", []),
    "by names": ("return [torch.LongTensor(word) for word, label in batch]", []),
    "in a loop": ("n = 0\nfor i, (word, label) in enumerate(batch):\n    n += len(word)\nreturn n", []),
    "transposed": ("words, labels = zip(*batch)\nreturn torch.tensor(words), torch.tensor(list(labels))", []),
    "by columns": ("rows = list(zip(*batch))\nreturn torch.tensor(rows[0]), torch.tensor(rows[1])", []),
    "by map": ("words, labels = map(list, zip(*batch))\nreturn torch.tensor(words + labels)", []),
    "two at once": (WORDS + "for word, x in zip(words, batch):\n    print(word, x[1])\nreturn len(batch)", []),
    "sorted": ("batch.sort(key=lambda x: len(x[0]))\nreturn torch.tensor([x[0] + x[1] for x in batch])", []),
    "in a helper": (WORDS + "return self.padded(words, max(len(each) for each in words))", []),
    "into an array": (
        "a = np.ones((8, 9))\nfor j in range(8):\n    a[j][:3] = batch[j][0]\nreturn torch.tensor(a)",
        [],
    ),
    "through a list of its own": (
        "k = []\nfor x in batch:\n    k.append(x[0])\n    k += x[1]\nreturn torch.tensor(k)",
        [],
    ),
    "an entry of a list of its own": ("k = [0]\nk[0] = batch[0][0]\nreturn torch.tensor([0])", []),
    "backwards": ("for word, label in reversed(batch):\n    print(word)\nreturn len(batch)", []),
    "looked up": ("n: int = batch[0][0].index(3)\nreturn torch.tensor([x[0].copy() for x in batch]) + n", []),
    "compared": ("return torch.tensor([x[0] == x[1] if x[0] else f'{x[1]}' < 'a' for x in batch])", []),
    "its shape": ("return [x[0].shape for x in batch], [x[1].tolist() for x in batch]", []),
    "by its key": ("return torch.tensor([dict(enumerate(x)).get(0) for x in batch])", []),
    "by a name inside": ("if (first := batch[0][0]):\n    print(first)\nreturn torch.tensor([0])", []),
    "with the rest": ("word, *more = batch[0]\nreturn torch.tensor(word)", []),
    "made of them": ("return {x[0][0]: torch.tensor(x[0]) for x in batch}", []),
    # -- edited, or given out -------------------------------------------------------------------------------------
    "the samples": ("return batch", [15, 15]),
    "some of them": ("return batch[:2]", [15, 15]),
    "one part": (WORDS + "return words, torch.tensor([x[1] for x in batch])", [15]),
    "the other part": ("words, labels = zip(*batch)\nreturn torch.tensor(words), labels", [15]),
    "edited": ("for x in batch:\n    x[0].append(0)\nreturn len(batch)", [15]),
    "an entry": ("for word, label in batch:\n    word[0] = 1\nreturn len(batch)", [15]),
    "an entry of a sample": ("for x in batch:\n    x[0] += [1]\nreturn len(batch)", [15, 15]),
    "an entry less": ("del batch[0][1][0]\nreturn len(batch)", [15]),
    "a name less": ("first = batch[0]\ndel first\nreturn len(batch)", []),
    "grown": ("word = batch[0][0]\nword += [1]\nreturn len(batch)", [15]),
    "by who is not known": ("return pad([x[0] for x in batch])", [15]),
    "by a method that is not known": ("return [x[0].pad(3) for x in batch]", [15]),
    "handed on whole": ("return pad(batch)", [15, 15]),
    "in place": ("return torch.relu_(batch[0][1])", [15]),
    "that may share": ("return torch.as_tensor(batch[0][1])", [15]),
    "in a helper that edits": (WORDS + "return self.changed(words)", [15]),
    "in a helper that gives it": (WORDS + "return self.kept(words=words)", [15]),
    "handed over open": ("return self.changed(*batch)", [15, 15]),
    "kept": ("self.extra.append(batch[0][0])\nreturn len(batch)", [15]),
    "kept as an attribute": ("self.last = batch[0][0]\nreturn len(batch)", [15]),
    "in a function inside": ("def f(x):\n    return x\nreturn [f(x) for x in batch]", [15, 15]),
    "one by one": ("yield from batch", [15, 15]),
}


def reported(
    tmp_path: Path, collate: str = "return batch", given: str = "data", more: str = "", run: str = RUN
) -> list[int]:
    """The lines of the Dataset's file where what is given out is reported."""
    rows = ROWS.format(collate=indent(collate, " " * 8))
    root = project(tmp_path, rows=rows, run=run.format(given=given, more=more))
    return [line for code, line in found(root / "rows.py") if code in ("TLK201", "TLK202")]


@pytest.mark.parametrize("name", COLLATES)
def test_a_collate_function_that_only_reads(tmp_path: Path, name: str) -> None:
    body, lines = COLLATES[name]
    assert reported(tmp_path, body, "data, collate_fn=data.collate") == lines


LOADERS = {
    "the default": ("data", "", []),
    "no batches": ("data, batch_size=None", "", [15, 15]),
    "a function that reads": (
        "data, collate_fn=read",
        "def read(batch):\n    return torch.tensor([x[0] for x in batch])\n",
        [],
    ),
    "one of a library": ("data, collate_fn=read", "from reading import read\n", [15, 15]),
    "a function of two": ("data, collate_fn=read", "def read(batch, size):\n    return 0\n", [15, 15]),
    "another loader that may be given it": ("data), DataLoader(other, collate_fn=list", "", [15, 15]),
    "another loader of other data": ("data), DataLoader(TensorDataset(other), collate_fn=list", "", []),
    "nobody's": ("other", "", [15, 15]),
}


@pytest.mark.parametrize("name", LOADERS)
def test_the_loaders_of_another_file(tmp_path: Path, name: str) -> None:
    given, more, lines = LOADERS[name]
    assert reported(tmp_path, given=given, more=more) == lines


LOOKS = {
    "gone through": ("for word, label in data:\n    print(len(word))", []),
    "by an index": ("print(data[0], len(data), data.extra)", []),
    "by a helper": ("show(data)", []),
    "by nobody": ("", []),
    "edited": ("for sample in data:\n    sample[0].append(1)", [15, 15]),
    "handed to a library": ("train(data)", [15, 15]),
    "given to the caller": ("return data", [15, 15]),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_class_that_no_loader_gets(tmp_path: Path, name: str) -> None:
    body, lines = LOOKS[name]
    run = "from rows import Rows\nfrom training import train\ndef show(data):\n    print(data[0])\n"
    run += "def main(texts):\n    data = Rows(texts, 3)\n" + indent(body, "    ")
    assert reported(tmp_path, run=run.replace("{", "{{").replace("}", "}}")) == lines


@pytest.mark.parametrize("more", ["class More(Rows):\n    pass", "print(Rows([], 1))", "kept = []"])
def test_what_is_not_seen_of_a_class_leaves_it_as_it_was(tmp_path: Path, more: str) -> None:
    assert reported(tmp_path, run="from rows import Rows\n" + more) == [15, 15]


def test_a_class_that_has_a_subclass_in_its_file(tmp_path: Path) -> None:
    """Who makes the subclass is not asked."""
    rows = ROWS.format(collate="        return None")
    run = "from rows import Rows\ndata = Rows([], 3)\nprint(data[0])\n"
    plain = project(tmp_path / "plain", rows=rows, run=run)
    below = project(tmp_path / "below", rows=rows + "\nclass More(Rows):\n    pass\n", run=run)
    told = [[line for code, line in found(root / "rows.py") if code != "TLK101"] for root in (plain, below)]
    assert told == [[], [15, 15]]


def test_samples_that_are_no_display(tmp_path: Path) -> None:
    run = RUN.format(given="data, collate_fn=data.collate", more="")
    for made, count in (("torch.tensor([x[0] for x in batch])", 0), ("[x[0] for x in batch]", 1)):
        rows = ROWS.format(collate=f"        return {made}")
        root = project(tmp_path, rows=rows.replace("return word, self.rows[i][1]", "return word"), run=run)
        assert [code for code, _ in found(root / "rows.py")].count("TLK202") == count
    rows = ROWS.format(collate="        return torch.tensor([x[0] for x in batch])")
    entries = rows.replace("return word, self.rows[i][1]", "return {'a': word, 'b': self.rows[i][1]}").replace(
        "x[0]", "x['a']"
    )
    root = project(tmp_path, rows=entries, run=run)
    assert "TLK202" not in [code for code, _ in found(root / "rows.py")]


PATHS = """\
from torch.utils.data import DataLoader, Dataset

class Paths(Dataset):
    def __init__(self, file):
        self.paths = [line.strip() for line in open(file)]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return len(self.paths[i])

class Feeder(DataLoader):
    def __init__(self, data, size, **more):
        super().__init__(data, batch_size=size{given})

class Plain(DataLoader):
    pass
"""
ALONE = {
    "nobody says how many": ("DataLoader(Paths(file), batch_size=8)", "", True),
    "none": ("DataLoader(Paths(file), num_workers=0)", "", True),
    "two": ("DataLoader(Paths(file), num_workers=2)", "", False),
    "some": ("DataLoader(Paths(file), **more)", "", False),
    "a class of its own": ("Feeder(Paths(file), 8)", "", True),
    "one of two has some": ("DataLoader(Paths(file)), DataLoader(other, num_workers=2)", "", False),
    "a loader of another function": ("load(Paths(file), 8)", "", False),
}


@pytest.mark.parametrize("name", ALONE)
def test_loaders_of_other_files_without_workers(tmp_path: Path, name: str) -> None:
    made, given, silent = ALONE[name]
    run = "from torch.utils.data import DataLoader\nfrom building import load\nfrom paths import Feeder, Paths\n\n"
    run += f"def main(file, other, more):\n    return {made}\n"
    root = project(tmp_path, paths=PATHS.format(given=given), run=run.replace("{", "{{").replace("}", "}}"))
    assert ("TLK101" in [code for code, _ in found(root / "paths.py")]) is not silent
    assert "TLK101" in [code for code, _ in found(root / "paths.py", Config(assume_workers="yes"))]


@pytest.mark.parametrize(
    ("given", "made", "silent"),
    [
        ("", "FeedLoader", False),
        ("", "FeedDataLoader", True),
        (", num_workers=4", "FeedDataLoader", False),
        (", **more", "FeedDataLoader", False),
        ("", "PlainDataLoader", True),  # made as torch's own
    ],
)
def test_a_loader_class_that_asks_for_no_workers(tmp_path: Path, given: str, made: str, silent: bool) -> None:
    paths = PATHS.format(given=given).replace("Feeder", "FeedDataLoader").replace("Plain", "PlainDataLoader")
    run = f"from paths import Paths, {made}\n\ndef main(file):\n    return {made}(Paths(file), 8)\n"
    root = project(tmp_path, paths=paths, run=run)
    assert ("TLK101" in [code for code, _ in found(root / "paths.py")]) is not silent


def test_a_split_of_a_memory_mapped_dataset_is_none_of_pythons_lists() -> None:
    init = "import datasets\nself.data = datasets.load_from_disk(root){}"
    read = "row = self.data[i]\nreturn row['image'], row.get('text').strip()"
    length = "def __len__(self):\n    return len(self.data)"
    for part in ("", "[data]", "['train']"):
        assert "TLK101" not in codes(dataset(init.format(part), read, length))


def test_what_only_tests_make_is_a_librarys(tmp_path: Path) -> None:
    run = "import unittest\nfrom torch.utils.data import DataLoader\nfrom paths import Paths\nDataLoader(Paths('a'))\n"
    root = project(tmp_path, paths=PATHS.format(given=""), checks__run=run)
    assert "TLK101" in [code for code, _ in found(root / "paths.py")]
    importers.forget()
    root = project(tmp_path, checks__run=run.replace("import unittest\n", ""))
    assert "TLK101" not in [code for code, _ in found(root / "paths.py")]
