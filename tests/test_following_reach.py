"""Which functions of a file may run which others, which of them are followed for steps, and how long that is tried."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.finding import Severity
from flake8_torchleak.lifetime.budget import Over
from flake8_torchleak.lifetime.follow import followed
from flake8_torchleak.lifetime.heap import Heap
from flake8_torchleak.lifetime.reach import Reach
from flake8_torchleak.lifetime.stepping import Stepping
from flake8_torchleak.lifetime.uses import Uses
from flake8_torchleak.lint import lint
from flake8_torchleak.model.module import Module
from flake8_torchleak.source import Source

FILE = """
def free(): pass
def alone(): pass

class Base:
    def __init__(self): pass
    def above(self): pass
    def __iter__(self): pass

class Own(Base):
    def start(self):
        {body}
    def beside(self): pass
    def forward(self): pass

class Below(Own, Unseen):
    def under(self): pass

class Other(Generic[T]):
    def beside(self): pass
    def far(self): pass

class Twin(Base[int]):
    def twin(self): pass
"""


def functions(text: str) -> Stepping:
    return Stepping(ast.parse(dedent(text)))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pass", []),
        ("free()", ["free"]),
        ("free", ["free"]),
        ("from x import free as other", ["free"]),
        ("from x import free", []),
        ("x.free()", ["free"]),
        ("self.beside()", ["Own.beside"]),
        ("x.beside()", ["Other.beside", "Own.beside"]),
        ("self.above()", ["Base.above"]),
        ("self.under()", ["Below.under"]),
        ("self.twin()", ["Twin.twin"]),
        ("self.far()", ["Other.far"]),
        ("beside()", []),
        ("Base()", ["Base.__init__", "Base.__iter__"]),
        ("Below()", ["Base.__init__", "Base.__iter__", "Own.forward"]),
        ("Other()", []),
        ("start", []),
    ],
)
def test_what_a_function_may_run(body: str, expected: list[str]) -> None:
    steps = functions(FILE.replace("{body}", body))
    reach = Reach(steps.functions, steps.classes)
    names = {each: f"{owner.name}." * (owner is not None) + each.name for each, owner in steps.functions if owner}
    names |= {each: each.name for each, owner in steps.functions if owner is None}
    (start,) = (each for each in names if each.name == "start")
    assert sorted(names[each] for each in reach.below(start)) == expected
    assert sorted(names[each] for each in reach.all_below([start]) - {start}) == expected
    for each, name in names.items():
        assert (start in reach.all_above([each])) == (name in expected or each is start)


def test_a_static_method_has_no_object() -> None:
    text = FILE.replace("    def start(self):", "    @staticmethod\n    def start(self):")
    steps = functions(text.replace("{body}", "self.beside()"))
    reach = Reach(steps.functions, steps.classes)
    (start,) = (each for each, _ in steps.functions if each.name == "start")
    assert len(reach.below(start)) == 2


def test_a_chain_of_classes_ends_somewhere() -> None:
    chain = "class C0:\n    def __init__(self): pass\n"
    chain += "".join(f"class C{n + 1}(C{n}): pass\n" for n in range(40))
    steps = functions(chain + "def near(): C5()\ndef far(): C40()\n")
    reach = Reach(steps.functions, steps.classes)
    near, far = (each for each, _ in steps.functions if each.name in ("near", "far"))
    assert [each.name for each in reach.below(near)] == ["__init__"]
    assert not reach.below(far)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for x in y:\n    net(x)", True),
        ("for x in y:\n    self.net.step(x)", True),
        ("while x:\n    nets[0](x)", True),
        ("rows = [net(x) for x in y]", True),
        ("rows = list(map(net, y))", False),
        ("for x in y:\n    rows += map(net, x)", True),
        ("for x in y:\n    print(x)", False),
        ("for x in y.items():\n    rows.append(x.strip())", False),
        ("for x in y:\n    x += 1", False),
        ("net(x)", False),
    ],
)
def test_loops_that_may_run_a_network(text: str, expected: bool) -> None:
    assert Uses(ast.parse(text)).runs is expected


PREPARED = """
def work(net, data):
    for x in data:
        net(x)

def alone(data):
    work(net, data)

def prepares(net):
    net.eval()
    work(net, rows)

class Job:
    def __init__(self):
        self.data = DataLoader(rows)

    def run(self):
        for x in self.data:
            self.log(x)

    def log(self, x):
        pass

class Idle:
    def __init__(self):
        self.data = []

    def idle(self):
        for x in self.data:
            print(x)
"""


@pytest.mark.parametrize(
    ("above", "expected"), [("", {"prepares", "run"}), ("net.eval()", {"work", "alone", "prepares", "run", "idle"})]
)
def test_loops_that_something_prepares(above: str, expected: set[str]) -> None:
    """Not what stands in the same file: what the function itself may run, its object's constructor, the module."""
    steps = functions(above + PREPARED)
    assert {each.name for each, _ in steps.functions if steps.matters(each)} == expected
    assert not any(steps.surely(each) for each, _ in steps.functions if each.name != "prepares")


def test_differentiating_by_hand_makes_steps_of_loops() -> None:
    steps = functions(
        "def attack(x):\n    for i in range(9):\n        x = x - torch.autograd.grad(f(x), x)[0]\n"
        "def once(x):\n    return torch.autograd.grad(f(x), x)\n"
        "def other(x):\n    for i in range(9):\n        x.grad.zero_()\n"
    )
    assert [each.name for each, _ in steps.functions if steps.matters(each)] == ["attack"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("self.last = x", True),
        ("self.last += x", True),
        ("self.kept.append(x)", True),
        ("self.last, n = x, 1", True),
        ("self.last = [1, x]", True),
        ("self.last = x.shape", False),
        ("self.last = x.shape[0]", False),
        ("self.last = rows[0]", True),
        ("self.last = {'n': 1, **{}}", False),
        ("self.last = -(1 + len(x))", False),
        ("self.last = 1 if x is None else int(x)", False),
        ("self.last = f'{x}'", False),
        ("self.last = x.detach()", False),
        ("self.last = x.mean()", True),
        ("self.last: int", False),
        ("self.steps += 1", False),
        ("self.steps.add_(1)", False),
        ("self.kept.append(x.item())", False),
        ("keep(self, x)", True),
        ("print(self, x)", False),
        ("attend = self.attend; attend(self, x)", False),
        ("self.net.register_forward_hook(x)", True),
        ("x.last = x", False),
    ],
)
def test_passes_that_keep_more_than_numbers(line: str, expected: bool) -> None:
    steps = functions(f"class Net(Module):\n    def forward(self, x):\n        {line}\n        return x\n")
    assert any(steps.matters(each) for each, _ in steps.functions) is expected


def test_a_static_method_keeps_nothing_in_its_object() -> None:
    text = "class Net(Module):\n    def forward(self, x):\n        return self.pad(x, 1)\n\n    {mark}\n"
    text += "    def pad(x, n):\n        return fill(x, n)\n"
    for mark, expected in (("@staticmethod", False), ("", True)):
        steps = functions(text.replace("{mark}", mark))
        assert any(steps.matters(each) for each, _ in steps.functions) is expected


def test_names_of_programs_are_those_that_their_statements_run() -> None:
    """A base or a decorator that stands in another file, and what parameters have by default, run nothing of this."""
    run = "def run(data):\n    for x in data:\n        net(x)\n"
    for text, expected in (
        (run, False),
        (run + "run(rows)\n", True),
        (run + "if rows:\n    run(rows)\n", True),
        (run + "class A:\n    rows = run(rows)\n", True),
        (run + "@run\ndef other(): pass\n", True),
        (run + "def other(x=run): pass\n", False),
        (run + "@other\ndef third(): pass\n", False),
        (run + "rows = [net(x) for x in data]\n", True),
        (run + "rows = [x.strip() for x in data]\n", False),
    ):
        assert functions(text).at_top is expected, text


TRAIN = """
def main(loader, net, optimizer):
    {before}
    kept = []
    for x, y in loader:
        loss = (net(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        {keep}
    return kept


def push(rows, row):
    rows.append(row)
"""
LONG = "\n    ".join(f"a{n} = names.get(b{n} + {n}, c{n})" for n in range(1500))
"""Statements that take more steps than are done before a loop proves to be one of steps."""


def test_what_shows_no_step_for_long_is_given_up_where_nobody_wants_notes() -> None:
    """It is said of none: nothing speaks for a leak there."""
    for before, least, expected in (
        ("pass", Severity.WARNING, True),
        (LONG, Severity.NOTE, True),
        (LONG, Severity.WARNING, False),
    ):
        text = "import torch\n" + TRAIN.format(before=before, keep="push(kept, loss)")
        found = {each.code for each in lint(text, least=least)}
        assert found == ({"TLK402"} if expected else set())


def test_what_was_done_with_before_is_not_followed_again() -> None:
    """But what was being followed when the steps were spent is, on its own."""
    text = TRAIN.format(before="pass", keep="kept.append(loss)").replace("main", "train")
    text += f"""

def first(names):
    for each in names:
        names.push(each)


def second(loader, net, optimizer):
    {LONG}
    train(loader, net, optimizer)


def main(names, loader, net, optimizer):
    first(names)
    second(loader, net, optimizer)
    net.eval()
"""
    module = Module(Source(text), ast.parse(text), DEFAULT, notes=False)
    run = followed(module).run
    visited = {each.name for each in run.visited if isinstance(each, ast.FunctionDef)}
    assert visited == {"main", "first", "second", "train"}
    assert [each.how for each in run.keeper.found] == ["store"]


def _spend(heap: Heap, steps: int) -> None:
    for _ in range(steps):
        heap.spend()


def test_a_budget_in_two_parts() -> None:
    heap = Heap()
    heap.allow(1000, 300)
    assert (heap.unspent, heap.is_unproven) == (1000, True)
    with pytest.raises(Over):
        _spend(heap, 400)
    assert heap.is_unproven
    heap.allow(1000, 300)
    _spend(heap, 200)
    heap.spur()
    assert (heap.unspent, heap.is_unproven) == (800, False)
    _spend(heap, 700)
    heap.allow(10)
    assert (heap.unspent, heap.is_unproven) == (10, False)
    heap.allow(10, 300)
    assert (heap.unspent, heap.is_unproven) == (10, False)
