"""Following a program: what factories give by name, and what libraries make and run in their own way."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest

from flake8_torchleak.finding import Finding
from flake8_torchleak.lifetime.stepping import Stepping
from flake8_torchleak.lint import lint

TRAINER = """
import torch
from lib import TABLE, find, lib
from torch.utils.data import DataLoader

{factory}

class Trainer:
    def __init__(self, config, rows):
        self.tokenizer = make(config.tokenizer)
        self.model = make(config.model)
        self.optimizer = make(config.optimizer, params=self.model.parameters())
        self.loader = DataLoader(rows, batch_size=8)

    @torch.no_grad()
    def generate(self, x):
        self.model.eval()
        return self.model(x)

    def texts(self):
        found = []
        for x in self.loader:
            rows = self.generate(x)
            found.append([self.{who}.decode(row) for row in rows])
        return found
"""
FACTORIES = [
    "def make(config, **more):\n    target = find(config.target)\n    return target(**config.rest)",
    "def make(config, **more):\n    target = find(config.target)\n    made = target(**config.rest)\n    return made",
    "def make(config, **more):\n    return getattr(lib, config.name)(**config.rest)",
    "def make(config, **more):\n    return TABLE[config.name](config)",
    "def make(config, **more):\n    target = TABLE[config.name]\n    return target(config) if config else None",
]


def told(text: str) -> list[Finding]:
    return lint(text)


@pytest.mark.parametrize("factory", FACTORIES)
def test_two_things_of_one_factory_are_not_one(factory: str) -> None:
    """That one of them is put in evaluation mode says nothing of the other; of itself it does."""
    assert not told(TRAINER.format(factory=factory, who="tokenizer"))
    assert {each.code for each in told(TRAINER.format(factory=factory, who="model"))} == {"TLK402", "TLK501"}


SAID = """
import torch
from torch import nn

class Policy(nn.Module):
    def forward(self, x):
        return x

def get(name, out){said}:
    return TABLE[name](out)

def train(model, loader, opt):
    total = 0
    for x, y in loader:
        opt.zero_grad()
        loss = get("a", model(x))
        loss.backward()
        opt.step()
        total += loss
    return total
"""


@pytest.mark.parametrize(
    ("said", "leaks"),
    [("", True), (" -> object", True), (" -> torch.Tensor", True), (" -> Policy", False), (" -> float", False)],
)
def test_what_a_factory_is_said_to_give(said: str, leaks: bool) -> None:
    found = [each.code for each in told(SAID.format(said=said))]
    assert found == ["TLK401"] * leaks


LIBRARY = """
import torch
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModel, AutoTokenizer, T5ForConditionalGeneration
from sentence_transformers import CrossEncoder, SentenceTransformer
import diffusers, transformers

def run(rows, x):
    loader = DataLoader(rows, batch_size=8)
    kept = []
{body}
    return kept
"""
MADE = [
    ('net = AutoModel.from_pretrained("x")', "net(batch)", True),
    ('net = AutoModel.from_pretrained("x").cuda()', "net(batch)", True),
    ('net = T5ForConditionalGeneration.from_pretrained("x")', "net(batch)", True),
    ('net = diffusers.UNet2DModel.from_pretrained("x")', "net(batch)", True),
    ('net = AutoModel.from_pretrained("x")\nnet.train()', "net(batch)", False),
    ('net = AutoModel.from_pretrained("x")\nnet.requires_grad_(False)', "net(batch)", False),
    ('net = AutoTokenizer.from_pretrained("x")', "net(batch)", False),
    ('net = AutoModel.from_config("x")', "net(batch)", True),  # by its use
    ('net = transformers.TFAutoModel.from_pretrained("x")', "net(batch)", False),
    ('net = diffusers.AutoPipelineForInpainting.from_pretrained("x")', "net(batch)", False),
    ('net = SentenceTransformer("x")\nnet.eval()', "net.encode(batch)", False),
    ('net = SentenceTransformer("x").cuda()\nnet.eval()', "net.encode_query(batch)", False),
    ('net = SentenceTransformer("x")\nnet.eval()', "net(batch)", True),
    ('net = CrossEncoder("x")\nnet.eval()', "net.predict(batch)", False),
]


@pytest.mark.parametrize(("made", "run", "builds"), MADE)
def test_networks_of_libraries(made: str, run: str, builds: bool) -> None:
    body = f"{made}\nfor batch in loader:\n    out = {run}\n    kept.append(out.mean().item())"
    found = [each for each in told(LIBRARY.format(body=indent(body, " " * 4))) if each.severity.value == "warning"]
    assert [each.code for each in found] == ["TLK501"] * builds
    if "from_pretrained" in made and builds:
        assert any("`from_pretrained` gives a network in evaluation mode" in note.text for note in found[0].notes)


def test_what_a_library_computes_without_gradients_keeps_no_graph() -> None:
    body = 'net = SentenceTransformer("x")\nnet.eval()\nfor batch in loader:\n    kept.append(net.encode(batch))'
    assert not told(LIBRARY.format(body=indent(body, " " * 4)))


WRAPPED = """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        {set}

    def forward(self, x):
        return self.fc(x)

    def layers(self, loader):
        found = []
        for x in loader:
            found.append(self.fc(x).cpu())
        return torch.cat(found)

def run(loader):
    model = DistributedDataParallel(Net())
    model.eval()
    with torch.no_grad():
        print(model.module.layers(loader))
"""


@pytest.mark.parametrize(
    ("stored", "guard", "seen"),
    [
        ("pass", "torch.no_grad()", True),
        ("self.module = None", "torch.no_grad()", True),
        ("pass", "torch.enable_grad()", False),
        ("self.module = None", "open(__file__)", False),
    ],
)
def test_what_a_wrapper_holds_is_the_network(stored: str, guard: str, seen: bool) -> None:
    """Its method is called without gradients, and by nobody else, whatever `module` is."""
    assert bool(told(WRAPPED.format(set=stored).replace("torch.no_grad()", guard))) is not seen


LOGS = """
import torch

def train(model, rows, optimizer, log):
    criterion = torch.nn.NLLLoss()
    total = 0
    for row in rows:
        loss = criterion({0}, torch.LongTensor(row))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
    return total
"""


@pytest.mark.parametrize("given", ["model(row).log()", "model(row).exp()", "model(row)"])
def test_a_logarithm_is_no_log(given: str) -> None:
    assert [each.code for each in told(LOGS.format(given))] == ["TLK401"]


ERRORS = """
import threading
import torch
from lib import Engine

def run(model, x):
    errors = []

    def work():
        try:
            model(x).sum().backward()
        except RuntimeError as error:
            errors.append(error)

    {start}
    return errors
"""


@pytest.mark.parametrize(
    ("start", "leaks"),
    [
        ("threading.Thread(target=work).start()", False),
        ("threading.Timer(3, work).start()", False),
        ("Engine(work).run(x)", True),
    ],
)
def test_a_thread_calls_what_it_is_handed_once(start: str, leaks: bool) -> None:
    assert bool([each for each in told(ERRORS.format(start=start)) if each.code == "TLK408"]) is leaks


def test_a_state_that_is_gone_through_by_a_call_is_detached_in_place() -> None:
    state = """
class State:
    def __init__(self, parts):
        self.parts = parts

    def detach_(self):
        for part in self.parts{0}:
            part.detach()
"""
    text = (
        f"import torch\n{state}\ndef train(net, loader, state, opt):\n    for x in loader:\n        net(x).backward()\n"
    )
    (found,) = (each for each in told(text.replace("{0}", ".values()")) if each.code == "TLK406")
    assert found.message.endswith("write `part.detach_()`")
    (found,) = (each for each in told(text.replace("{0}", "")) if each.code == "TLK406")
    assert found.message.endswith("write `self.parts = tuple(part.detach() for part in self.parts)`")


ORDERS = [
    ("def a(): b()\ndef b(): c()\ndef c(): pass", "abc"),
    ("def c(): pass\ndef b(): c()\ndef a(): b()\na()", "abc"),
    ("def a(): b()\ndef b(): a()\ndef c(): b()\nc()\ndef d(): c()", "dcba"),  # what is in a circle: when it is its turn
    ("def a(): b()\ndef b(): a()\na()", "ab"),
    ("def a(): a()\na()\ndef b(): a()", "ba"),
    ("def a(): pass\nclass C:\n    def a(self): pass\n    def b(self): self.a()", "baa"),
]


@pytest.mark.parametrize(("text", "order"), ORDERS)
def test_callers_are_followed_first(text: str, order: str) -> None:
    assert "".join(function.name for function, _ in Stepping(ast.parse(text)).callers_first()) == order


def test_who_is_handed_on_is_followed_before_what_it_calls() -> None:
    """What it calls is then seen as it is called: without gradients."""
    text = WRAPPED.format(set="pass") + "\nif __name__ == '__main__':\n    spawn(run, 4)\n"
    assert not told(text)
