"""Live values, whose holder somebody else may differentiate: no fix, safe or unsafe, whatever the holder is."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from flake8_torchleak.model.release import trail
from tests.fixer import fixed, reasons
from tests.model import module

ALL = ("TLK401", "TLK402", "TLK403", "TLK404", "TLK5")


def training(push: str, use: str, start: str = "kept = []", before: str = "") -> str:
    """A function that keeps the losses of an epoch, live, and then does something with them."""
    return (
        dedent(before).strip("\n")
        + ("\n" if before else "")
        + "def train(model, loader, opt, device):\n"
        + indent(dedent(start).strip(), "    ")
        + "\n    for x, y in loader:\n        loss = F.mse_loss(model(x), y)\n"
        + indent(dedent(push).strip(), "        ")
        + "\n"
        + indent(dedent(use).strip(), "    ")
        + "\n"
    )


def stays(text: str) -> None:
    for unsafe in (False, True):
        assert fixed(text, unsafe, ALL) == text


HOLDERS = {
    "a list": ("kept = []", "kept.append(loss)", "torch.stack(kept).mean()"),
    "a display that grows": ("kept = []", "kept += [loss]", "sum(kept)"),
    "an extended list": ("kept = []", "kept.extend([loss])", "sum(kept)"),
    "a list of tuples": ("kept = []", "kept.append((loss, 1))", "sum(each for each, _ in kept)"),
    "a list of dicts": ("kept = []", "kept.append({'a': loss})", "sum(each['a'] for each in kept)"),
    "a dict": ("kept = {}", "kept[x] = loss", "sum(kept.values())"),
    "a dict of lists": ("kept = {'a': []}", "kept['a'].append(loss)", "sum(kept['a'])"),
    "a defaultdict": (
        "kept = collections.defaultdict(list)", "kept['a'].append(loss)", "torch.stack(kept['a']).sum()"
    ),
    "a deque": ("kept = collections.deque()", "kept.append(loss)", "sum(kept)"),
    "a sum": ("total = 0", "total += loss", "total"),
    "a sum of its own kind": ("total = 0", "total = total + loss", "(total / 3)"),
    "a sum in a dict": ("total = {'a': 0}", "total['a'] += loss", "total['a']"),
    "an attribute": ("model.kept = []", "model.kept.append(loss)", "sum(model.kept)"),
}  # fmt: skip

WAYS = {
    "backward": "{}.backward()",
    "backward later": "value = {}\nprint(value)\nvalue.backward()",
    "torch.autograd.grad": "torch.autograd.grad({}, list(model.parameters()))",
    "torch.autograd.backward": "torch.autograd.backward([{}])",
    "a helper": "update(opt, {})",
    "a helper's keyword": "update(opt=opt, objective={})",
    "an imported helper": "optimise(opt, {})",
    "an imported module": "mylib.engine.step(opt, {})",
    "a method of a parameter": "opt.backward_all({})",
    "a display": "optimise(opt, [1, {}])",
    "unpacked": "optimise(opt, *[{}])",
    "keywords unpacked": "optimise(opt, **{{'loss': {}}})",
    "partial": "step = functools.partial(update, opt, {})\nstep()",
    "a lambda": "step = lambda: {}\nopt.step(step)",
    "a closure": "def closure():\n    value = {}\n    value.backward()\n    return value\nopt.step(closure)",
    "a closure that gives it out": "def closure():\n    return {}\noptimise(closure)",
    "a generator": "for each in ({} for _ in range(1)):\n    each.backward()",
    "text that is run": "eval('something')",
    "text that is run as statements": "exec(model)",
    "all variables": "print(locals())",
    "all variables by another name": "print(vars())",
    "a function that reads text": "print(*map(eval, opt))",
    "yielded": "yield {}",
    "returned": "return {}",
    "returned in a tuple": "return 1, {}",
    "raised": "raise Done({})",
    "a queue": "opt.queue.put({})",
    "an attribute of an object": "opt.objective = {}",
    "an entry of an object": "opt.state['objective'] = {}",
    "a global": "global LAST\nLAST = {}",
    "map": "list(map(update, [opt], [{}]))",
    "a gradient scaler": "opt.scaler.scale({}).backward()",
    "accelerate": "opt.accelerator.backward({})",
    "a walrus": "if (value := {}) is not None:\n    value.backward()",
    "a with": "with opt.scale_loss({}) as scaled:\n    scaled.backward()",
    "a match": "match {}:\n    case value:\n        value.backward()",
    "a ternary": "value = {} if opt else None\nvalue.backward()",
    "a copy": "value = copy.copy([{}])\nvalue[0].backward()",
    "a swap": "first, second = {}, 1\nfirst.backward()",
    "a hook": "{}.register_hook(print)",
    "its history asked": "print({}.requires_grad)",
    "its function asked": "print({}.grad_fn)",
    "an unknown method": "{}.frobnicate()",
    "called": "{}(opt)",
    "a constructor": "Objective({}).optimise()",
    "a star": "first, *rest = [1, {}]\nrest[0].backward()",
    "a loop": "for each in [{}]:\n    each.backward()",
    "an awaited call": "opt.gather({}).result()",
    "a custom Function": "Scale.apply({}).backward()",
    "a print with a hook": "print(opt.hook({}))",
}

UPDATE = """
import functools, mylib.engine
from mylib import Done, optimise
def update(opt, objective):
    opt.zero_grad()
    objective.backward()
    opt.step()
class Objective:
    def __init__(self, value):
        self.value = value
    def optimise(self):
        self.value.backward()
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g
"""


# Every way with every holder; in short runs each way with one holder, and each holder with some ways.
PAIRS = [
    pytest.param(
        way,
        holder,
        marks=() if number % len(HOLDERS) == place or way in ("backward", "a helper", "returned") else pytest.mark.long,
    )
    for number, way in enumerate(WAYS)
    for place, holder in enumerate(HOLDERS)
]


@pytest.mark.parametrize(("way", "holder"), PAIRS)
def test_live_values_are_left_alone(way: str, holder: str) -> None:
    start, push, objective = HOLDERS[holder]
    stays(training(push, WAYS[way].format(objective), start, UPDATE))


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_nobody_can_differentiate_is_released(holder: str) -> None:
    start, push, objective = HOLDERS[holder]
    shown = training(push, f"print(float({objective}))", start, UPDATE)
    if holder == "an attribute":
        stays(shown)
    else:
        assert "loss.detach()" in fixed(shown, codes=ALL)


def test_the_names_of_an_object_are_no_variables() -> None:
    assert "loss.detach()" in fixed(training("kept.append(loss)", "print(vars(model), sum(kept).item())"), codes=ALL)


def test_a_method_called_eval_reads_no_text() -> None:
    assert "loss.detach()" in fixed(training("kept.append(loss)", "model.eval()\nprint(sum(kept).item())"), codes=ALL)


HISTORY = {
    "by a nested function": """
        def train(model, loader):
            kept, total = [], 0
            def step(x, y):
                nonlocal kept, total
                loss = F.mse_loss(model(x), y)
                loss.backward()
                total = total * 0.9 + loss
                kept += [total]
            for x, y in loader:
                step(x, y)
            print(kept[-1]{})
        """,
    "by another method": """
        class Trainer:
            def fit(self, model, loader):
                self.total, self.kept = 0, ()
                for x, y in loader:
                    loss = F.mse_loss(model(x), y)
                    loss.backward()
                    self.total = self.total * 0.9 + loss
                    self.kept = self.kept + (self.total,)
            def show(self):
                print(self.kept[-1]{})
        """,
    "of another object": """
        def train(model, loader, stats):
            total = 0
            for x, y in loader:
                loss = F.mse_loss(model(x), y)
                loss.backward()
                total = total * 0.9 + loss
                stats.kept += [total]
            print(stats.kept[-1]{})
        """,
}


@pytest.mark.parametrize("way", HISTORY)
def test_spent_values_whose_history_is_asked_for_elsewhere(way: str) -> None:
    text = dedent(HISTORY[way])
    stays(text.format(".grad_fn"))
    assert "loss.detach()" in fixed(text.format(".shape"), codes=ALL)


ASKED = {
    "a part of it is set": ("self.kept[-1].tag = 1", False),
    "its identity": ("print(self.kept[-1] is self.best)", True),
    "its identity as a number": ("print(id(self.kept[-1]))", True),
    "each shape": ("for each in self.kept: print(each.shape)", False),
    "each history": ("for each in self.kept: print(each.grad_fn)", True),
    "handed to a function of any number": ("count(*self.kept)", False),
}


@pytest.mark.parametrize(("use", "stays_so"), ASKED.values(), ids=ASKED)
def test_what_is_asked_of_spent_values(use: str, stays_so: bool) -> None:
    text = dedent(HISTORY["by another method"]).replace("print(self.kept[-1]{})", use)
    text += "def count(*each):\n    print(len(each))\n"
    if stays_so:
        stays(text)
    else:
        assert "loss.detach()" in fixed(text, codes=ALL)


NUMPY = """
def train(model, loader):
    kept = ()
    def step(x, y):
        nonlocal kept
        loss = F.mse_loss(model(x), y)
        loss.backward()
        kept = kept + (loss,)
    for x, y in loader:
        step(x, y)
    {}
    print(len(kept))
"""


def test_numpy_raises_where_there_is_a_history() -> None:
    stays(NUMPY.format("try:\n        kept[-1].numpy()\n    except RuntimeError:\n        pass"))


PUT = {
    "a container that is handed over": ("kept", ""),
    "a container of an object": ("", "    kept = model.kept\n"),
    "one of several": ("", "    for kept in model.kept:\n        pass\n"),
}


@pytest.mark.parametrize(("parameter", "before"), PUT.values(), ids=PUT)
def test_a_container_that_is_not_made_here(parameter: str, before: str) -> None:
    text = f"def put(loss, {parameter}):\n{before}    kept.append(loss)\n"
    given = ", model.all" if parameter else ""
    stays(text + training(f"put(total{given})\ntotal = total + loss", "print(total)", "total = 0"))


def test_what_is_put_into_what_a_call_gives() -> None:
    stays(training("total = total + loss\nbox().append(total)", "print(total)", "total = 0"))


def test_attributes_that_are_too_many_to_follow_may_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    text = dedent(HISTORY["by another method"]).format(".shape")
    assert "loss.detach()" in fixed(text, codes=ALL)
    monkeypatch.setattr(trail, "_MOST_VARIABLES", 0)
    stays(text)


def test_a_holder_whose_history_is_asked_for_by_its_name() -> None:
    text = """\
class Trainer:
    def __init__(self):
        self.kept = []
    def train(self, model, loader, other):
        for x, y in loader:
            loss = F.mse_loss(model(x), y)
            loss.backward()
            self.kept.append(loss)
        {}
"""
    (reason,) = reasons(text.format("print(other.kept[0].requires_grad)"), codes="TLK402")
    assert "`.requires_grad` is asked for" in reason
    assert "loss.detach()" in fixed(text.format("print(other.kept[0].shape)"), codes=("TLK402",))


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("from shared import *\ndef train(loss):\n    kept.append(loss)\n", False),
        ("class Run:\n    kept = []\n    kept.append(loss)\n", False),
        ("def train(loss):\n    kept = []\n    kept.append(loss)\n", True),
    ],
)
def test_a_holder_that_no_function_has_for_itself(text: str, own: bool) -> None:
    model = module(text)
    (call,) = model.tree.all(ast.Call)
    why = model.release.reason(call.args[0], "kept", call)
    assert ("`kept` is not a variable of its own" in why) is not own
