"""TLK203 through copies that are not deep: their entries hold the stored objects, until something else is put there."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.finding import Finding, FixLevel
from flake8_torchleak.lint import lint
from tests.fixer import mended

DATASET = """
import copy
import json
import random

import numpy as np
from torch.utils.data import Dataset


class Boxes(Dataset):
    def __init__(self, file, transform):
        self.records = json.load(open(file))
        self.images = [np.load(each["image"]) for each in self.records]
        self.pairs = [{{"image": np.load(each["image"]), "name": each["name"]}} for each in self.records]
        self.transform = transform

    def shift(self, row):
        row["boxes"].append(1)

    def push(self, boxes):
        boxes.append(1)

    def again(self, row):
        same = row
        self.shift(same)

    def __len__(self):
        return len(self.records)

    def __getitem__(self, i):
{body}
"""


def whole(body: str) -> str:
    return DATASET.format(body=textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8))


def found(body: str) -> list[Finding]:
    return lint(whole(body), wanted=lambda code: code == "TLK203", fixes=True)


TOLD = {
    "dict": "r = dict(self.records[i])\nr['boxes'].append(1)\nreturn r",
    "copy": "r = self.records[i].copy()\nr['boxes'].append(1)\nreturn r",
    "copy.copy": "r = copy.copy(self.records[i])\nr['boxes'].append(1)\nreturn r",
    "a display": "r = {**self.records[i], 'index': i}\nr['boxes'].append(1)\nreturn r",
    "a variable": "r = dict(self.records[i])\nboxes = r['boxes']\nboxes.append(1)\nreturn r",
    "two names": "r = dict(self.records[i])\ns = r\ns['boxes'].append(1)\nreturn r",
    "a list of it": "rows = list(self.records)\nrows[i]['seen'] = i\nreturn rows[i]",
    "a slice": "rows = self.records[i : i + 2]\nrows[0]['seen'] = i\nreturn rows",
    "a slice that is gone over": "for r in self.records[i : i + 2]:\n    r['seen'] = i\nreturn i",
    "added to": "r = dict(self.records[i])\nr['boxes'] += [i]\nreturn r",
    "an array": "r = dict(self.pairs[i])\nr['image'] *= 2\nreturn r",
    "a part of an array": "r = dict(self.pairs[i])\nr['image'][0] = i * r['image'][0]\nreturn r",
    "a sorted list": "rows = sorted(self.records)\nrows[0]['seen'] = i\nreturn rows",
    "another entry is put": "r = dict(self.records[i])\nr['image'] = np.load('x')\nr['boxes'].append(1)\nreturn r",
    "asked before": "r = dict(self.records[i])\nprint(r)\nr['boxes'].append(1)\nreturn r",
    "handed on behind it": "r = dict(self.records[i])\nr['boxes'].append(1)\nreturn self.transform(r)",
    "in two steps": "a, b = dict(self.records[i]), 0\na, b = b, a\nb['boxes'].append(1)\nreturn b",
    "looked at before": "r = dict(self.records[i])\nr.get('boxes')\nr['boxes'].append(1)\nreturn r",
    "unpacked, of a display": "a, b = sorted(self.records)\na['seen'] = i\nreturn b",
    "a helper": "r = dict(self.records[i])\nself.shift(r)\nreturn r",
    "a helper's helper": "r = dict(self.records[i])\nself.again(r)\nreturn r",
    "a helper that is handed a new copy": "self.shift(dict(self.records[i]))\nreturn i",
    "a helper that is handed an entry": "r = dict(self.records[i])\nself.push(r['boxes'])\nreturn r",
    "an inner function": "r = dict(self.records[i])\ndef put(x):\n    r['boxes'].append(x)\nput(i)\nreturn r",
    "an entry is taken out": "r = dict(self.records[i])\ndel r['image']\nr['boxes'].append(1)\nreturn r",
}


@pytest.mark.parametrize("name", TOLD)
def test_what_a_copy_shares_is_changed(name: str) -> None:
    (one,) = found(TOLD[name])
    if "display" in name or "gone over" in name or "helper" in name or "inner" in name:
        assert one.fixes or one.unfixed
    else:
        done = mended(whole(TOLD[name]), unsafe=True, codes="TLK203")
        assert [each.level for each in one.fixes] == [FixLevel.UNSAFE]
        assert "copy.deepcopy(" in done.text
        assert lint(done.text, wanted=lambda code: code == "TLK203") == []


SHUFFLED = {
    "random.shuffle(self.records[i]['words'])": 1,
    "words = self.records[i]['words']; random.shuffle(words)": 1,
    "np.random.shuffle(self.records[i]['words'])": 1,
    "np.random.shuffle(self.images[i])": 1,
    "r = dict(self.records[i]); random.shuffle(r['words'])": 1,
    "r = dict(self.records[i]); r['words'] = []; random.shuffle(r['words'])": 0,
    "words = list(self.records[i]['words']); random.shuffle(words)": 0,
    "words = self.records[i]['words']; random.choice(words)": 0,
    "random.shuffle(self.transform)": 0,
    "random.shuffle()": 0,
}


@pytest.mark.parametrize("body", SHUFFLED)
def test_what_is_stored_is_shuffled(body: str) -> None:
    text = "\n".join(body.split("; ")) + "\nreturn i"
    assert len(found(text)) == SHUFFLED[body]


QUIET = {
    "deep": "r = copy.deepcopy(self.records[i])\nr['boxes'].append(1)\nreturn r",
    "the copy itself": "r = dict(self.records[i])\nr['seen'] = i\nr.pop('boxes')\nreturn r",
    "the entry is copied": "r = dict(self.records[i])\nr['boxes'] = list(r['boxes'])\nr['boxes'].append(1)\nreturn r",
    "each entry is": "r = dict(self.records[i])\nfor k in r:\n    r[k] = list(r[k])\nr['boxes'].append(1)\nreturn r",
    "by update": "r = dict(self.records[i])\nr.update(boxes=[])\nr['boxes'].append(1)\nreturn r",
    "in the display": "r = {**self.records[i], 'boxes': []}\nr['boxes'].append(1)\nreturn r",
    "the part is copied": "r = dict(self.records[i])\nboxes = list(r['boxes'])\nboxes.append(1)\nreturn r",
    "somebody may have": "r = dict(self.records[i])\nself.transform(r)\nr['boxes'].append(1)\nreturn r",
    "somebody may have, by name": "r = dict(self.records[i])\nself.transform(x=r)\nr['boxes'].append(1)\nreturn r",
    "one of two": "r = dict(self.records[i])\nif i:\n    r = {'boxes': []}\nr['boxes'].append(1)\nreturn r",
    "a number": "r = dict(self.records[i])\nr['count'] += 1\nreturn r",
    "a text": "r = dict(self.pairs[i])\nr['name'] += '.png'\nreturn r",
    "copies in a display": "r, s = dict(self.records[i]), 2\nfor a, b in [(r, s)]:\n    a['boxes'].append(b)\nreturn r",
    "of a copy with a name": "rows = list(self.records)\nrows[0] = {}\nfor r in rows:\n    r['seen'] = i\nreturn i",
    "an array's copy": "x = self.images[i].copy()\nx[0] = 2\nreturn x",
    "a helper, behind that": "r = dict(self.records[i])\nr['boxes'] = []\nself.shift(r)\nreturn r",
    "a helper, behind another": "r = dict(self.records[i])\nself.transform(r)\nself.shift(r)\nreturn r",
    "a helper that is handed another": "r = dict(self.records[i])\nr['boxes'] = []\nself.push(r['boxes'])\nreturn r",
    "a helper of one of two": "r = dict(self.records[i])\nif i:\n    r = {'boxes': []}\nself.shift(r)\nreturn r",
    "a helper, by many names": (
        "a = dict(self.records[i])\nb = a\nc = b\nd = c\ne = d\nf = e\ng = f\nself.shift(g)\nreturn g"
    ),
    "an inner function, behind that": (
        "r = dict(self.records[i])\nr['boxes'] = []\ndef put(x):\n    r['boxes'].append(x)\nput(i)\nreturn r"
    ),
    "added to, and replaced": "r = dict(self.records[i])\nr['boxes'] = []\nr['boxes'] += [i]\nreturn r",
    "of something else": "r = dict(self.transform)\nr['boxes'] += [i]\nreturn r",
    "of an attribute": "self.last = dict(self.records[i])\nself.last['boxes'].append(1)\nreturn i",
    "set apart": "r = dict(self.records[i])\nr['boxes', 0] = 1\nr['boxes'].append(1)\nreturn r",
    "by many names": "a = dict(self.records[i])\nb = a\nc = b\nd = c\ne = d\nf = e\nf['boxes'].append(1)\nreturn f",
}


@pytest.mark.parametrize("name", QUIET)
def test_what_a_copy_owns_may_be_changed(name: str) -> None:
    assert found(QUIET[name]) == []


def test_the_copy_is_to_be_deep() -> None:
    (whole,) = found(TOLD["dict"])
    (part,) = found(TOLD["a variable"])
    assert whole.message.endswith("just before the change, write `r = copy.deepcopy(r)`")
    assert part.message.endswith("make the copy that it is read from a deep one (`copy.deepcopy`)")
