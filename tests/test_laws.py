"""Laws 1 to 3: fixtures that are written another way get the same findings; the shares have floors that only go up.

Some laws over the rules about graphs here, all laws over all fixtures with `-m long`; `python -m tests.laws` prints.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from flake8_torchleak.finding import Severity
from tests.laws.__main__ import main, shown, table
from tests.laws.floors import FLOORS, LOOK_ALIKES
from tests.laws.program import Program
from tests.laws.table import LAWS, RENAME, Rate, Seen, baseline, fixtures, matched, rate, reshaped, results, traced

LATER = [pytest.mark.long, pytest.mark.watched]
FAST = ("outline", *(pytest.param(each, marks=LATER) for each in ("while_next", "rename", "in_record")))
"""Of those over the rules about graphs."""


@pytest.mark.parametrize("law", FAST)
def test_findings_about_graphs_are_kept(law: str) -> None:
    texts = {path: text for path, text in fixtures().items() if path.startswith(("TLK4", "TLK6"))}
    found = rate(results(texts, law))
    kept, before = found.of("TLK4+6")
    assert before > 20
    assert kept / before >= FLOORS[law][0] - SLACK, f"{kept} of {before}"


EXPLAINED = 0.99
"""Of what is found: what renaming keeps, or loses after the finding said that it rests on a name."""
SLACK = 0.03
"""Fixtures of other rules hold such findings, too; the floors are made of all."""


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_findings_are_kept(law: str) -> None:
    found = rate(results(fixtures(), law))
    quiet = rate(results({**fixtures(prefix="good_"), **fixtures(prefix="fixed_")}, law))
    print("\n".join(table([(law, found, quiet)])))
    graph, everything = FLOORS[law]
    assert found.files
    assert found.share("TLK4+6") >= graph
    assert found.share("all") >= everything
    assert law != RENAME or min(map(found.told, ("TLK4+6", "all"))) >= EXPLAINED
    assert sum(quiet.new.values()) <= LOOK_ALIKES.get(law, 0)


def test_every_law_has_a_floor() -> None:
    assert list(FLOORS) == list(LAWS)
    assert LOOK_ALIKES.keys() <= LAWS.keys()


# -- what the laws write ------------------------------------------------------------------------------------

PROGRAM = """\
import torch
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, rows):
        self.rows = [dict(row) for row in rows]
        self.seen = []
    def __getitem__(self, i):
        self.seen.append(i)
        return self.rows[i]

def scale(value, by=2):
    \"\"\"Twice.\"\"\"
    done = value * by
    return done

@torch.no_grad()
def shape(model, loader):
    for x, y in loader:
        return model(x).shape

def train(model, loader, opt):
    kept, slots = [], {}
    total = 0
    for x, y in loader:
        loss = (model(x) - y).mean()
        loss.backward()
        total += loss
        slots[len(slots)] = scale(loss)
        kept.append(loss)
    return kept, total, slots

def predict(model, loader):
    outputs = []
    for x, _ in loader:
        outputs.append(model(x))
    return outputs

def mean(model, loader):
    total = 0.0
    for x in loader:
        y = model(x)
        total += y
    return total

def measure(model, loader):
    with torch.no_grad():
        return [model(x) for x in loader if x.sum() > 0]

def tell(model, flag):
    if flag:
        model.train()
        print(flag)
"""
EXAMPLES = {
    "rename": ["v14 += v7", "for v16, v17 in v6:", "self.a0 = "],
    "outline": ["put(kept, loss)", "total = plus(total, loss)", "def put(where, what):\n    where.append(what)"],
    "outline_module": ["from outlined_helpers import put, plus", "put(outputs, model(x))"],
    "two_level": ["    put_inner(where, what)", "put(kept, loss)"],
    "outline_method": ["    def keep_seen(self, what):\n        self.seen.append(what)", "self.keep_seen(i)"],
    "closure": ["    def put1(what):\n        nonlocal total\n        total += what", "        put2(loss)"],
    "bound_method": ["push1 = kept.append\n    for x, y", "push1(loss)", "push = self.seen.append\n        push(i)"],
    "partial": ["push1 = partial(put, kept)", "push1(loss)", "from functools import partial"],
    "outline_value": ["loss = made(y, model, x)", "def made(y, model, x):\n    return (model(x) - y).mean()"],
    "outline_call": ["def act(loss):\n    loss.backward()", "        act(loss)"],
    "outline_slot": ["place(slots, loss)", "def place(slots, loss):\n    slots[len(slots)] = scale(loss)"],
    "outline_body": ["one_step(outputs, model, x)", "def one_step(outputs, model, x):\n    outputs.append(model(x))"],
    "inline": ["value_scale = loss\n", "done_scale = value_scale * by_scale", "slots[len(slots)] = done_scale"],
    "in_record": ["kept.append(Row(loss))", "return ([row.value for row in kept], total", "class Row(NamedTuple)"],
    "dataclass": ["outputs.append(Row(model(x)))", "@dataclasses.dataclass\nclass Row:"],
    "in_dict": ["box['total'] += loss", "return (kept, box['total'], slots)", "box = {}"],
    "in_attribute": ["box.total += loss", "box = SimpleNamespace()"],
    "in_method": ["class Runner:", "def predict(self, model, loader):"],
    "as_property": ["@property\n    def seen_view(self):\n        return self.seen", "return self.rows_view[i]"],
    "read_method": ["return self.fetch_rows(i)", "def fetch_rows(self, position):\n        return self.rows[position]"],
    "base_class": ["class RowsBase(Dataset):\n\n    def __init__(", "class Rows(RowsBase):\n\n    def __getitem__("],
    "methods_in_base": [
        "class RowsBase(Dataset):\n\n    def __getitem__(",
        "class Rows(RowsBase):\n\n    def __init__(",
    ],
    "plain_assign": ["total = total + loss"],
    "plus_list": ["kept += [loss]", "outputs += [model(x)]"],
    "extend_list": ["kept.extend([loss])", "self.seen.extend([i])"],
    "unpack": ["for item1 in loader:\n        x, y = item1"],
    "indexed": ["for item1 in loader:\n        x = item1[0]\n        y = item1[1]"],
    "while_next": [
        "it1 = iter(loader)\n    while True:\n        try:\n            x, y = next(it1)\n        except StopIt"
    ],
    "while_sentinel": ["while (item1 := next(it1, end1)) is not end1:\n        x, y = item1"],
    "to_comprehension": ["outputs = [model(x) for x, _ in loader]", "nonlocal total", "kept = [step(item) for item in"],
    "extend_generator": [
        "outputs.extend((model(x) for x, _ in loader))",
        "kept.extend((step(item) for item in loader))",
    ],
    "sum_generator": [
        "def step1(x):\n        y = model(x)\n        return y",
        "total = sum((step1(x) for x in loader))",
    ],
    "to_loop": ["for x_each in loader:\n            if x_each.sum() > 0:\n                made1.append(model(x_each))"],
    "no_grad_decorator": ["@torch.no_grad()\ndef measure("],
    "no_grad_with": ["def shape(model, loader):\n    with torch.no_grad():\n        for x, y in loader:"],
    "backward_function": ["        torch.autograd.backward(loss)\n"],
    "split_if": ["    if flag:\n        model.train()\n    if flag:\n        print(flag)"],
    "under_flag": [
        "if flag1:\n        outputs = []\n    else:\n        outputs = None",
        "if flag1:\n            outputs.append(model(x))\n    return outputs",
        "import sys\nflag1 = len(sys.argv)",
    ],
}


@pytest.mark.parametrize("law", LAWS)
def test_what_a_law_writes(law: str) -> None:
    program = Program(ast.parse(PROGRAM))
    assert LAWS[law](program)
    text = ast.unparse(program.tree)
    compile(text, "main.py", "exec")
    for each in EXAMPLES[law]:
        assert each in text, text
    assert traced(program, text).keys() >= {1}
    assert bool(program.others) is (law == "outline_module")


@pytest.mark.parametrize("law", LAWS)
def test_a_law_leaves_what_it_does_not_know(law: str) -> None:
    program = Program(ast.parse("import torch\nprint(torch.ones(1))\n"))
    assert LAWS[law](program) == 0
    assert ast.unparse(program.tree) == "import torch\nprint(torch.ones(1))"


@pytest.mark.parametrize(
    ("law", "text"),
    [
        ("in_record", "kept = []\nfor x in xs:\n    kept.append(x)\nkept.extend(ys)"),
        ("in_record", "kept = []\nother = kept\nfor x in xs:\n    kept.append(x)"),
        ("in_record", "kept = [first]\nfor x in xs:\n    kept.append(x)"),
        ("in_record", "def fill(kept):\n    for x in xs:\n        kept.append(x)"),
        ("in_record", "class A:\n    def __init__(self):\n        for x in xs:\n            self.kept.append(x)"),
        ("in_record", "class A:\n    def update(self, x):\n        self.kept.append(x)\nprint(A().kept)"),
        ("plain_assign", "total = torch.zeros(1)\nfor x in xs:\n    total += x"),
        ("plus_list", "for x in xs:\n    kept.append(x)"),
        ("while_next", "for x in xs:\n    pass\nelse:\n    print()"),
        ("while_next", "for x in (1, 2):\n    print(x)"),
        ("to_comprehension", "kept = []\nfor x in xs:\n    if x:\n        break\n    kept.append(x)"),
        ("to_comprehension", "kept = []\nprint(kept)\nfor x in xs:\n    kept.append(x)"),
        ("to_comprehension", "kept = []\nfor x in xs:\n    kept.append(len(kept))"),
        ("to_comprehension", "kept = []\nfor x in xs:\n    kept.append(x)\nprint(x)"),
        ("to_comprehension", "kept = []\nfor x in xs:\n    y = x\n    kept.append(y)\n    y = 2"),
        ("sum_generator", "total = 1\nfor x in xs:\n    total += x"),
        ("outline_body", "for x in xs:\n    y = f(x)\nprint(y)"),
        ("outline_body", "y = 0\nfor x in xs:\n    y += x"),
        ("outline_body", "for x in xs:\n    if x:\n        continue"),
        ("outline_value", "for x in xs:\n    y = f(lambda: x)"),
        ("inline", "def f(x):\n    if x:\n        return 1\n    return 2\ny = f(1)"),
        ("inline", "def f(*x):\n    return x\ny = f(1)"),
        ("inline", "def f(x):\n    return x\ny = f(*z)"),
        ("base_class", "class A:\n    def __init__(self):\n        self.__x = 1\n    def f(self):\n        pass"),
        (
            "methods_in_base",
            "class A:\n    def __init__(self):\n        pass\n    def f(self):\n        pass\n    g = f",
        ),
        ("no_grad_with", "@torch.no_grad()\ndef f():\n    yield 1"),
        ("backward_function", "import torch\nengine.backward(loss)\nloss.backward(gradient=x)\nloss.forward()\nx = 1"),
        ("backward_function", "loss.backward()"),
        ("split_if", "if a():\n    b = 1\n    c = 2"),
        ("split_if", "if a:\n    a = 1\n    b = 2\nif a:\n    b = 1"),
        ("split_if", "if a:\n    b = 1\n    c = 1\nelse:\n    d = 2"),
        ("split_if", "while x:\n    if a:\n        break\n        b = 1"),
        ("under_flag", "def f(xs):\n    kept = []\n    for x in kept:\n        pass"),
        ("under_flag", "def f(xs):\n    kept = []\n    def g():\n        kept.append(1)\n    g()"),
        ("under_flag", "kept = []\nkept.append(1)"),
        ("under_flag", "def f(xs):\n    kept = [1]\n    kept.append(1)\n    more = []"),
    ],
)
def test_a_law_leaves_what_would_mean_something_else(law: str, text: str) -> None:
    assert LAWS[law](Program(ast.parse(text))) == 0


def test_reshaped_programs_train_and_retain_the_same() -> None:
    checked(range(3))


@pytest.mark.long
def test_many_reshaped_programs_train_and_retain_the_same() -> None:
    tried = checked(range(3, 50))
    print(tried)
    assert sum(count > 3 for count in tried.values()) > 25


def checked(numbers: range) -> dict[str, int]:
    """Generated programs under every law: they print, learn and retain what they did; how many each law changed."""
    pytest.importorskip("torch")
    pytest.importorskip("numpy")
    from tests.training.generate import program
    from tests.training.measure import kept
    from tests.training.program import ENTRY
    from tests.training.run import run, warm

    warm()
    tried = dict.fromkeys(LAWS, 0)
    for number in numbers:
        files = program(77, number).files
        before, graph = run(files), kept(files).graph
        for name, law in LAWS.items():
            changed = Program(ast.parse(files[ENTRY]))
            if law(changed):
                tried[name] += 1
                new = {**files, ENTRY: ast.unparse(changed.tree), **changed.others}
                after = run(new)
                for each in ("error", "printed", "parameters", "gradients"):
                    assert getattr(after, each) == getattr(before, each), f"{name}, program {number}: {new[ENTRY]}"
                assert bool(kept(new).graph) is bool(graph), f"{name}, program {number}: {new[ENTRY]}"
    return tried


# -- the same finding ---------------------------------------------------------------------------------------


def seen(code: str, *origins: int, where: str = "train") -> Seen:
    return Seen(code, Severity.ERROR, frozenset(origins), frozenset({where} if origins else ()), 1, "")


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (seen("TLK401", 3), seen("TLK401", 3), True),
        (seen("TLK401", 3), seen("TLK402", 3), False),
        (seen("TLK401", 3), seen("TLK401", 9), True),
        (seen("TLK401", 3), seen("TLK401", 9, where="test"), False),
        (seen("TLK401", 3), seen("TLK401"), True),
        (seen("TLK401", 3, 7), seen("TLK401", 7, where="test"), True),
    ],
)
def test_when_a_finding_is_the_same(old: Seen, new: Seen, same: bool) -> None:
    assert ([*matched([old], [new])] == [(old, new)]) is same


def test_a_finding_keeps_one_and_the_nearest() -> None:
    old = [seen("TLK401", 3), seen("TLK401", 5)]
    assert [*matched(old, [seen("TLK401", 5)])] == [(old[1], old[1])]
    assert len([*matched(old, [seen("TLK401"), seen("TLK401", 9)])]) == 2


def test_findings_are_traced_to_the_old_text() -> None:
    path = "TLK401_accumulated_graph/bad_epoch_loop.py"
    text = fixtures()[path]
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "# TLK401" in each)
    (only,) = baseline(text)
    assert (only.code, {*only.origins}, {*only.definitions}) == ("TLK401", {line}, {"train_one_epoch"})
    one = reshaped(path, text, "outline")
    assert one is not None
    assert one.before == (only,)
    assert "total" not in one.text
    assert "running_loss = plus(running_loss, loss)" in one.text
    assert reshaped(path, text, "no_grad_with") is None


def test_the_rates_count_what_is_kept_lost_and_new() -> None:
    path, text = next(iter(fixtures().items()))
    one = reshaped(path, text, "rename")
    assert one is not None
    old, other = seen("TLK401", 3), seen("TLK601", 4)
    quieter = replace(old, severity=Severity.NOTE)
    extra = seen("TLK501", 5)
    one = replace(one, before=(old, replace(other, named=True)), after=(quieter, extra), kept=((old, quieter),))
    total = rate([one])
    assert [total.of(family) for family in ("TLK4", "TLK6", "TLK4+6", "all")] == [(1, 1), (0, 1), (1, 2), (1, 2)]
    assert (total.files, total.quieter, dict(total.new)) == (1, 1, {"TLK501": 1})
    assert (one.lost, one.new) == ([replace(other, named=True)], [extra])
    assert [total.told(family) for family in ("TLK4", "TLK6")] == [1, 1]
    assert (total.share("all"), Rate().share("all")) == (0.5, 1.0)
    said = [*shown(one)]
    assert said[1].startswith("-- lost TLK601 (line 4 of the file)")
    assert any("NEW TLK501" in line for line in said)
    assert not [*shown(one, ("TLK3",))]


def test_the_command_prints_rates_and_what_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad_one.py").write_text(PROGRAM)
    monkeypatch.setattr("sys.argv", ["laws", str(tmp_path), "--only", "plain_assign,read_method"])
    assert main() == 0
    out = capsys.readouterr().out
    assert re.search(r"^1 files, \d+ findings as they are$", out, re.MULTILINE)
    assert re.search(r"^\| plain_assign \| \d+/(\d+) = 1.00 \|", out, re.MULTILINE)
    monkeypatch.setattr("sys.argv", ["laws", str(tmp_path), "--show", "rename"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("== bad_one.py under rename\n-- lost TLK")
