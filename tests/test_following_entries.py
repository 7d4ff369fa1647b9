"""Following a program: entries and what indices take, states that begin anew, what a method or a block switches off."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

MOVED = """
import numpy as np
import torch
from torch.utils.data import DataLoader

def evaluate(model, dataset, device):
    loader = DataLoader(dataset, batch_size=4, num_workers=4)
    kept = []
    with torch.no_grad():
        for batch in loader:
            {}
            model(batch["x"])
            kept.append(batch["y"])
    return kept
"""
ALL = {
    "by key": "for key in batch:\n    batch[key] = batch[key].to(device)",
    "by keys": "for key in batch.keys():\n    batch[key] = batch[key].to(device)",
    "over a list of the keys": "for key in list(batch):\n    batch[key] = batch[key].to(device)",
    "by item": "for key, value in batch.items():\n    batch[key] = value.cuda()",
    "by place": "for i in range(len(batch)):\n    batch[i] = batch[i].to(device)",
    "counted": "for i, value in enumerate(batch):\n    batch[i] = value.to(device)",
    "tensors": "for k, v in batch.items():\n    if torch.is_tensor(v):\n        batch[k] = v.to(device)",
    "of a type": "for k, v in batch.items():\n    if isinstance(v, torch.Tensor):\n        batch[k] = v.to(device)",
}
SOME = {
    "named": "for key in ['x', 'm']:\n    batch[key] = batch[key].to(device)",
    "under a condition": "for key in batch:\n    if key != 'y':\n        batch[key] = batch[key].to(device)",
    "of another": "for key in model.names:\n    batch[key] = batch[key].to(device)",
    "keys of another": "for key in model.keys():\n    batch[key] = batch[key].to(device)",
    "as many as another": "for i in range(len(model.names)):\n    batch[i] = batch[i].to(device)",
    "a few": "for i in range(2):\n    batch[i] = batch[i].to(device)",
    "called": "for key in names(batch):\n    batch[key] = batch[key].to(device)",
    "the last": "for key in batch:\n    pass\nbatch[key] = batch[key].to(device)",
    "another's key": "for key in batch:\n    for other in 'xm':\n        batch[key] = batch[key].to(device)",
    "three in a row": "for a, key, c in batch:\n    batch[key] = batch[key].to(device)",
    "its attributes": "for model.key in batch:\n    batch[model.key] = batch[model.key].to(device)",
    "an attribute of a pair": "for (model.key, v) in batch.items():\n    batch[key] = v.to(device)",
    "an attribute, counted": "for (model.key, v) in enumerate(batch):\n    batch[key] = v.to(device)",
    "an attribute, by place": "for model.key in range(len(batch)):\n    batch[key] = batch[key].to(device)",
}


def codes(text: str) -> list[str]:
    return [each.code for each in lint(text)]


def moved(loop: str) -> list[str]:
    return codes(MOVED.format(loop.replace("\n", "\n            ")))


@pytest.mark.parametrize("name", ALL)
def test_every_entry_is_moved(name: str) -> None:
    """What a batch holds then is no memory that a worker shares."""
    assert moved(ALL[name]) == []


@pytest.mark.parametrize("name", SOME)
def test_some_entries_are_moved(name: str) -> None:
    assert moved(SOME[name]) == ["TLK404"]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("batch = {'x': batch[0], 'y': batch[1]}", []),
        ("batch = {'x': batch[0], 'y': batch[1]} if device else {}", []),
        ("batch = {'x': batch[0], 'y': batch[1]} if device else {'x': 1, 'y': batch[0]}", ["TLK404"]),
    ],
)
def test_entries_of_a_dict_that_is_made_here(made: str, expected: list[str]) -> None:
    """Of one dict all are replaced; of two that it may be, one alone is gone over."""
    assert moved(f"{made}\nfor key in batch:\n    batch[key] = batch[key].to(device)") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("terms[k] = v.item()", []),
        ("if isinstance(v, torch.Tensor):\n            terms[k] = v.item()", []),
        ("if k == 'a':\n            continue\n        terms[k] = v.item()", ["TLK402"]),
        ("if k == 'a':\n            break\n        terms[k] = v.item()", ["TLK402"]),
    ],
)
def test_entries_that_become_numbers(body: str, expected: list[str]) -> None:
    """A loop over a dict that sets each entry leaves none as it was: where it is not gone through, there are none."""
    text = f"""
import torch
from torch import nn

def fit(loader, opt):
    net, kept = nn.Linear(2, 1), []
    for x, y in loader:
        terms = {{"a": net(x).mean(), "b": net(y).mean()}}
        (terms["a"] + terms["b"]).backward()
        opt.step()
        for k, v in terms.items():
            {body.replace("        ", "            ")}
        kept.append(terms)
"""
    assert codes(text) == expected


STATE = """
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 8)
        self.fresh, self.count = True, 0

    def forward(self, x):
        if {test}:
            out, self.hidden = self.lstm(x)
            self.fresh = False
        else:
            out, self.hidden = self.lstm(x, self.hidden)
        return out
{more}

def evaluate(loader):
    model = Tagger()
    model.eval()
    for x in loader:
        print(model(x))
"""


@pytest.mark.parametrize(
    ("test", "more", "expected"),
    [
        ("self.fresh", "", True),
        ("self.hidden is None", "", True),
        ("self.fresh", "    def reset(self):\n        self.fresh = True", False),
        ("self.fresh", "    def reset(self):\n        self.hidden = None", False),
        ("self.hidden is None", "    def reset(self):\n        self.hidden = None", False),
        ("self.hidden is None", "    def reset(self):\n        self.fresh = True", True),
        ("self.fresh", "    def reset(self):\n        self.count = 0", True),
        ("self.fresh", "Tagger().fresh = True", False),
    ],
)
def test_a_state_that_begins_anew(test: str, more: str, expected: bool) -> None:
    """Where a flag says so, which another method sets, or where another method binds it."""
    assert ("TLK601" in codes(STATE.format(test=test, more=more))) is expected


RESIDUAL = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, mask: torch.Tensor = None):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, 4)
        self.mlp = nn.Linear(width, width)
        self.mask = mask

    def attention(self, x):
        self.mask = self.mask.to(x.device)
        return self.attn(x, x, x, attn_mask=self.mask)[0]

    def forward(self, x):
        x = x + self.attention(x)
        x = x + self.mlp(x)
        return x
"""


def test_what_is_made_in_a_call_is_no_sum_over_calls() -> None:
    """Though a mask that stays is in its history."""
    assert codes(RESIDUAL) == []


INDEXED = """
import random
import numpy as np
import torch
from torch.utils.data import DataLoader

def evaluate(model, dataset, device, args):
    loader = DataLoader(dataset, batch_size=4, num_workers=4)
    kept = []
    with torch.no_grad():
        for x, y in loader:
            index = {}
            model(x)
            kept.append(y[{}])
    return kept
"""


@pytest.mark.parametrize("shown", ["index", "index, ::2"])
@pytest.mark.parametrize(
    ("index", "copies"),
    [
        ("np.arange(3)", True),
        ("np.arange(5)[:3]", True),
        ("np.random.choice(5, 3)", True),
        ("np.random.choice(5, size=3)", True),
        ("np.random.permutation(5)", True),
        ("random.sample(range(5), 3)", True),
        ("torch.randperm(5)", True),
        ("torch.randperm(5).detach()", True),
        ("torch.randperm(5).pin_memory()", True),
        ("[0, 1]", True),
        ("np.random.randint(0, 3, 2)", True),
        ("np.random.randint(0, 3)", False),
        ("np.random.choice(5)", False),
        ("np.arange(5)[2]", False),
        ("random.randint(0, 3)", False),
        ("len(x) // 2", False),
        ("3", False),
    ],
)
def test_what_an_index_copies(index: str, shown: str, copies: bool) -> None:
    """Measured: rows that an array of numbers, or a list, takes have memory of their own."""
    assert codes(INDEXED.format(index, shown)) == ([] if copies else ["TLK404"])


@pytest.mark.parametrize(
    ("moved", "expected"), [("y = y.cuda()", "note"), ("y = y + 0", "note"), ("x = x.cuda()", "error")]
)
def test_what_is_moved_where_there_is_a_device(moved: str, expected: str) -> None:
    text = INDEXED.format("3", ":").replace("index = 3", f"if args.cuda:\n                {moved}")
    assert [each.severity.value for each in lint(text)] == [expected]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("num_workers=4, pin_memory=True", "note"),
        ("num_workers=4, pin_memory=False", "error"),
        ("num_workers=4", "error"),
        ("num_workers=4, pin_memory=0", "error"),
        ("num_workers=4, pin_memory=None", "error"),
        ("num_workers=4, pin_memory=args.pin", "note"),
        ("shuffle=False, num_workers=4, pin_memory=1 > 0", "note"),
    ],
)
def test_loaders_that_pin_memory(given: str, expected: str) -> None:
    """With CUDA, what a worker sends is copied to page-locked memory, and its own memory is released."""
    text = INDEXED.format("3", ":").replace("num_workers=4", given)
    assert [each.severity.value for each in lint(text)] == [expected]


PARTS = """
import torch
from torch import nn

class Distance(nn.Module):
    def matched(self, x, y):
        blur = nn.Conv2d(3, 3, 3)
        {}
        found = []
        for i in range(x.size(0)):
            found.append(blur(x[i].unsqueeze(0)).max().data)
        return torch.stack(found)

    def forward(self, x, y):
        return (x - y[self.matched(x, y)]).mean()

def style(x, y, net):
    distance = Distance()
    {}
    total = 0.0
    for a, b in zip(net(x), net(y)):
        total += distance(a, b)
    return total
"""


@pytest.mark.parametrize(
    ("inside", "outside", "expected"),
    [("blur.eval()", "", False), ("self.eval()", "", True), ("", "distance.eval()", True), ("", "", False)],
)
def test_a_network_that_puts_a_part_in_evaluation_mode(inside: str, outside: str, expected: bool) -> None:
    """A loss over the layers of a network is no evaluation, though its own parts are."""
    assert ("TLK401" in codes(PARTS.format(inside, outside))) is expected


def test_entries_of_an_array_of_numbers() -> None:
    assert moved("order = np.zeros(4)\nfor i in range(len(order)):\n    order[i] = float(batch['z'][i])") == ["TLK404"]


CHUNKS = """
import torch

def rendered(model, points):
    model.eval()
    {}
    kept = []
    for i in range(0, len(points), 100):
        kept.append(model(points[i:i + 100]))
    return torch.cat(kept)

def main(model, points):
    {}
    return rendered(model, points)
"""
OFF = "with torch.no_grad():\n        model(points)"


@pytest.mark.parametrize(("inside", "outside", "expected"), [("", "", True), (OFF, "", False), ("", OFF, True)])
def test_a_function_that_turns_gradients_off_in_a_part(inside: str, outside: str, expected: bool) -> None:
    """It wants them in the rest; what a caller does elsewhere says nothing of that."""
    assert ("TLK402" in codes(CHUNKS.format(inside, outside))) is expected


def test_a_grid_of_images_has_no_history() -> None:
    """torchvision makes it without gradients."""
    text = "import torch\nfrom torchvision.utils import {}\ndef train(model, loader, opt):\n    kept = []\n"
    text += "    for x, y in loader:\n        out = model(x)\n        out.sum().backward()\n        opt.step()\n"
    text += "        kept.append({}(out))\n    return kept\n"
    assert codes(text.format("make_grid", "make_grid")) == []
    assert codes(text.format("draw_bounding_boxes", "draw_bounding_boxes")) == []
    assert codes(text.replace("utils", "ops").format("box_convert", "box_convert")) == ["TLK402"]
