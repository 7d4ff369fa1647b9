"""What helpers, partials, bases and iterators hide or show: how far the model looks, and what looks alike."""

from __future__ import annotations

import re

import pytest

from flake8_torchleak.lint import lint
from tests.kept import program
from tests.test_model_corners import CAM

ROWS = """\
from torch.utils.data import Dataset

def put(where, what):
    where.append(what)

def let_go(where, what):
    where.clear()

class Rows(Dataset):
    def __init__(self, names):
        self.rows = []{marker}
        push = functools.partial({put}, self.rows)
        for each in open(names):
            push(each)
    def __getitem__(self, i):
        return self.rows[i]

loader = DataLoader(Rows("x"), num_workers=2)
"""
BELOW = """\
from torch.utils.data import Dataset

class Base(Dataset):
    def __getitem__(self, i):
        return self.rows[i]
    def __len__(self):
        return len(self.rows)

class Below(Base):
    def __init__(self, n):
        self.rows = {start}
        for i in range(n):
            {fill}

loader = DataLoader(Below(100_000), num_workers=2)
"""
DRAWN = """\
def train(model, loader, criterion, optimizer):
    it = {cycle}(loader){marker}
    other = iter(loader)
    kept = []
    while True:
        x, y = next(it)
        z = next(other)
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        {keep}
"""
CHAIN = """\
def hook{last}(m):
    m.register_forward_hook(print)

{helpers}class Guest:
    def __init__(self, m):
        hook0(m){marker}
"""
LOADED = """\
def load{last}(path):
    return np.load(path)

{helpers}def crops(paths):
    kept = []
    for path in paths:
        whole = load0(path)
        kept.append(whole[:10, :10]){marker}
    return kept
"""
STREAM = """\
from torch.utils.data import IterableDataset

class Lines(IterableDataset):
    def __init__(self, path):
        self.path = path
    def __iter__(self):{marker}
        while True:
            clean = lambda text: text.strip()
            for line in open(self.path):
                yield clean(line)
            {end}

loader = DataLoader(Lines("x"), num_workers=2)
"""
METER = """\
class AUCMeter:
    def __init__(self):
        self.scores = []
    def update(self, value):
        self.scores.append({value})
    def value(self):
        return torch.cat([each.cpu() for each in self.scores])
"""
OPENED = """\
import glob
from PIL import Image

def put(where, path):
    where.append({put})

def load(path):
    image = {load}
    return image

def gather(folder):
    images = []
    for path in glob.glob(folder):
        image = load(path)
        images.append(image)
        put(images, path)
    return images
"""
IMAGE, NUMBERS = "Image.open(path)", "np.asarray(Image.open(path))"
MADE = "def row(i):\n    {gives} np.zeros(4)\n\nrows = torch.tensor([row(i) for i in range(10)])"


def chain(text: str, name: str, length: int, marker: str = "") -> str:
    """A program in which as many helpers stand between a call and what it comes to."""
    given = "m" if name == "hook" else "path"
    helpers = "".join(f"def {name}{n}({given}):\n    return {name}{n + 1}({given})\n\n" for n in range(length))
    return program(text.format(last=length, helpers=helpers, marker=marker))


PROGRAMS = {
    "emptied before each run, and by the module": program(CAM + "\ncam = Cam(net)\ncam.acts = []"),
    "filled through a partial": program(ROWS.format(put="put", marker="  # TLK101")),
    "emptied through a partial": program(ROWS.format(put="let_go", marker="")),
    "filled through a partial of a method, which is not seen": program(ROWS.format(put="list.append", marker="")),
    "filled below": program(BELOW.format(start="[]  # TLK101", fill="self.rows.append(str(i))")),
    "filled below and above": program(
        BELOW.format(start="[]  # TLK101", fill="self.rows.append(str(i))").replace(
            "        return len(self.rows)\n",
            "        return len(self.rows)\n    def add(self, row):\n        self.rows.append(str(row))\n",
        )
    ),
    "filled below, an array": program(BELOW.format(start="np.zeros(n)", fill="self.rows[i] = i")),
    "drawn from two": program(
        DRAWN.format(cycle="itertools.cycle", marker="  # TLK405", keep="kept.append(loss)  # TLK402")
    ),
    "drawn from two that end": program(DRAWN.format(cycle="iter", marker="", keep="kept.append(loss.item())")),
    "hooked by a helper's helper": chain(CHAIN, "hook", 1).replace("print)\n", "print)  # TLK604\n", 1),
    "hooked by a helper too far away": chain(CHAIN, "hook", 6),
    "loaded by a helper": chain(LOADED, "load", 1, "  # TLK205"),
    "loaded by a helper too far away": chain(LOADED, "load", 12),
    "read again and again": program(STREAM.format(end="", marker="")),
    "read once": program(STREAM.format(end="break", marker="  # TLK303")),
    "images that helpers open": program(
        OPENED.format(put=IMAGE, load=IMAGE)
        .replace(f"({IMAGE})", f"({IMAGE})  # TLK304")
        .replace(f"image = {IMAGE}", f"image = {IMAGE}  # TLK304")
    ),
    "images that helpers read": program(OPENED.format(put=NUMBERS, load=NUMBERS)),
    "joined with each one moved": program(
        METER.format(value="value  # TLK904").replace("value  # TLK904)", "value)  # TLK904")
    ),
    "joined with each one moved, numbers": program(METER.format(value="value.item()")),
    "arrays made by a helper": program(MADE.format(gives="return") + "  # TLK909"),
    "arrays made by a generator": program(MADE.format(gives="yield")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_helpers(name: str) -> None:
    text = PROGRAMS[name]
    expected = [(at, code) for at, line in enumerate(text.splitlines(), 1) for code in re.findall(r"# (TLK\d+)$", line)]
    found = [(each.span.line, each.code) for each in lint(text, fixes=True)]
    assert sorted(found) == sorted(expected)
