"""Lists that hooks fill and that are emptied too late, or with others only (TLK604); caches by name (TLK104)."""

from __future__ import annotations

import re

import pytest

from flake8_torchleak.lint import lint

HALF = """\
'''Two lists that the hooks of an object fill: one is emptied, the other forgotten; or both, and only too late.'''

import torch


class Watch:
    def __init__(self, layer):
        self.given, self.made = [], []
        self.handles = [
            layer.register_forward_pre_hook(self.before),
            layer.register_forward_hook(self.behind),
        ]

    def before(self, layer, args):
        self.given.append(args)  # TLK604

    def behind(self, layer, args, output):
        self.made.append(output)

    def reset(self):
        self.made = []

    def close(self):
        for handle in self.handles:
            handle.remove()


class Relevance:
    '''Empties its lists before each run: what the last one left stays until then, graph and all.'''

    def __init__(self, network, layer):
        self.network = network
        self.maps, self.slopes = [], []
        self.first = layer.register_forward_hook(self.keep_map)
        self.second = layer.register_full_backward_hook(self.keep_slope)

    def keep_map(self, layer, args, output):
        found = output
        if isinstance(found, tuple):
            found = found[0]
        self.maps.append(found.cpu())  # TLK604

    def keep_slope(self, layer, before, slopes):
        self.slopes = [slopes[0].cpu(), *self.slopes]

    def __call__(self, image):
        self.maps, self.slopes = [], []
        return self.network(image)

    def close(self):
        self.first.remove()
        self.second.remove()


def relevance(network, layer, image):
    '''One map of an image.'''
    watch = Relevance(network, layer)
    watch(image).max().backward()
    found = torch.relu(watch.maps[0] * watch.slopes[0].mean(dim=(2, 3), keepdim=True))
    watch.close()
    return found
"""
WHOLE = """\
'''Lists of hooks that are emptied with each other, when they were used, or that hold no graph.'''


class Watch:
    def __init__(self, layer):
        self.given, self.made, self.sizes = [], [], []
        self.handles = [
            layer.register_forward_pre_hook(self.before),
            layer.register_forward_hook(self.behind),
        ]

    def before(self, layer, args):
        self.given.append(args)

    def behind(self, layer, args, output):
        self.made.append(output)
        self.sizes.append(output.shape)

    def reset(self):
        self.made = []
        self.given = []

    def close(self):
        for handle in self.handles:
            handle.remove()


class Relevance:
    '''Keeps the maps cut from their graph.'''

    def __init__(self, network, layer):
        self.network = network
        self.maps, self.slopes = [], []
        self.first = layer.register_forward_hook(self.keep_map)
        self.second = layer.register_full_backward_hook(self.keep_slope)

    def keep_map(self, layer, args, output):
        found = output.detach()
        self.maps.append(found)

    def keep_slope(self, layer, before, slopes):
        self.slopes = [slopes[0].cpu(), *self.slopes]

    def __call__(self, image):
        self.maps, self.slopes = [], []
        return self.network(image)

    def close(self):
        self.first.remove()
        self.second.remove()


class Emptied(Relevance):
    '''Empties its list when it was used.'''

    def __init__(self, network, layer):
        self.network, self.found = network, []
        self.first = layer.register_forward_hook(self.keep)
        self.second = layer.register_full_backward_hook(self.keep_slope)

    def keep(self, layer, args, output):
        self.found.append(output)

    def relevance(self, image):
        self.network(image).max().backward()
        made = [each.detach() for each in self.found]
        self.found = []
        return made
"""
BY_NAME = """\
'''A cache by name, where each sample has a name of its own; what is read, a class below this one says.'''

import numpy as np
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __init__(self, names):
        self.names = np.array(names)
        self.known = {}

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        try:
            return self.known[name]
        except KeyError:
            scan = self.read(name)
            self.known[name] = scan  # TLK104
            return scan

    def read(self, name):
        raise NotImplementedError


class Slices(Scans):
    def __init__(self, names, cases):
        super().__init__(names)
        self.cases, self.handles = cases, {}

    def __getitem__(self, index):
        case = self.cases[index]
        if case not in self.handles:
            self.handles[case] = self.read(case)
        return self.handles[case][index]


def loader(names, cases):
    return DataLoader(Scans(names), num_workers=4), DataLoader(Slices(names, cases), num_workers=4)
"""


@pytest.mark.parametrize("text", [HALF, WHOLE, BY_NAME], ids=["half", "whole", "by name"])
def test_what_is_marked_is_found(text: str) -> None:
    lines = enumerate(text.splitlines(), 1)
    marked = [(at, found[0]) for at, line in lines if (found := re.findall(r"# (TLK\d{3})$", line))]
    assert [(each.span.line, each.code) for each in lint(text)] == marked


FUNCTION = """
import copy
import torch
class Probe:
    def __init__(self, net):
        self.net, self.hooked, self.last = net, False, None
    def keep(self, part, args, output):
        self.last = output.detach()
    def run(self, model, x, parts):
        {}
def hook_all(model, hook):
    for part in model.modules():
        part.register_forward_hook(hook)
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("model.fc.register_forward_hook(self.keep)\n        return model(x)", True),
        ("self.net.register_forward_hook(self.keep)\n        return self.net.forward(x)", True),
        ("hook_all(model, self.keep)\n        return model(x)", True),
        ("model(x)\n        model.fc.register_forward_hook(self.keep)", False),
        ("model.fc.register_forward_hook(self.keep)\n        for p in parts:\n            model(p)", False),
        ("if not self.hooked:\n            self.net.register_forward_hook(self.keep)\n        self.net(x)", False),
        ("if not hasattr(model, 'seen'):\n            model.register_forward_hook(self.keep)\n        model(x)", False),
        ("other = make()\n        other.register_forward_hook(self.keep)\n        other(x)", False),
        ("register_forward_hook = print\n        register_forward_hook(self.keep)\n        model(x)", False),
        ("model = copy.deepcopy(model)\n        model.register_forward_hook(self.keep)\n        model(x)", False),
        ("parts[0].register_forward_hook(self.keep)\n        model(x)", False),
    ],
)
def test_hooks_for_one_run(body: str, found: bool) -> None:
    assert [each.code for each in lint(FUNCTION.format(body)) if "hooks pile up: each call" in each.message] == [
        "TLK604"
    ] * found


MEASURE = """
import torch
from zoo import measure

{decorator}
def count(net, x):
    for part in net.modules():
        part.register_forward_hook(lambda part, given, out: print(out.shape))
    return net(x)

{after}
"""


@pytest.mark.parametrize(
    ("decorator", "after", "expected"),
    [
        ("", "", "warning"),
        ("@measure('count')", "", "note"),  # who calls it may copy the network for it
        ("@measure('count')", "for x in rows: count(net, x)", "warning"),
    ],
)
def test_hooks_for_one_run_of_what_is_registered(decorator: str, after: str, expected: str) -> None:
    found = lint(MEASURE.format(decorator=decorator, after=after))
    assert [(each.code, each.severity.value) for each in found] == [("TLK604", expected)]


def test_hooks_of_tests() -> None:
    text = FUNCTION.format("self.net.register_forward_hook(self.keep)\n        self.net(x)")
    assert [each.code for each in lint(text)] == ["TLK604"]
    assert not lint("import unittest\n" + text)
