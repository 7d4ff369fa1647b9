"""What following calls does where there is too much to follow: it gives up that part alone, says so, and ends."""

from __future__ import annotations

import ast
import builtins
import keyword
import sys
import threading
from pathlib import Path

import pytest

from flake8_torchleak.config import DEFAULT, Config
from flake8_torchleak.finding import BOUND
from flake8_torchleak.lifetime import (
    builtin,
    containers,
    deep,
    follow,
    foreign,
    libraries,
    networks,
    operations,
    runner,
    unseen,
)
from flake8_torchleak.lifetime.follow import Followed, followed
from flake8_torchleak.lifetime.nodes import has_fewer, walk
from flake8_torchleak.lifetime.stepping import Stepping
from flake8_torchleak.lifetime.values import Atom, Kind, Value, few_loops, few_past, join
from flake8_torchleak.lifetime.world import Scope
from flake8_torchleak.lint import lint
from flake8_torchleak.model.module import Module
from flake8_torchleak.source import Source

HEAD = "import torch\n\n\ndef keep(kept, value):\n    kept.append(value)\n\n\n"
STEP = """\
def {name}(model, loader, criterion, optimizer):
    kept = []
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
{body}
        keep(kept, loss)
    return kept


"""


def step(name: str, body: str = "        pass") -> str:
    """A training step that keeps its loss through a helper."""
    return STEP.format(name=name, body=body)


def follow_text(text: str) -> Followed:
    """A text, followed."""
    return followed(Module(Source(text), ast.parse(text), DEFAULT, None))


def doubling(count: int) -> str:
    """Functions of which each calls the next one twice."""
    calls = "".join(f"def f{n}(x):\n    f{n + 1}(x)\n    f{n + 1}(x)\n\n\n" for n in range(count))
    return f"{calls}def f{count}(x):\n    {'x = x + 1; ' * 60}\n    return x\n\n\n"


def eightfold(count: int) -> str:
    """Functions of which each calls the next one eight times."""
    calls = "".join(f"def f{n}(x):\n" + f"    f{n + 1}(x)\n" * 8 for n in range(count))
    return f"{calls}def f{count}(x):\n    return x\n"


def stored(text: str) -> list[tuple[str, int]]:
    """The findings of stores and of bounds."""
    return [(each.code, each.span.line) for each in lint(text, Config()) if each.code in ("TLK402", BOUND)]


def lines(text: str, part: str) -> list[int]:
    """Where a text has a part."""
    return [n for n, line in enumerate(text.splitlines(), 1) if part in line]


@pytest.mark.parametrize("calls", [doubling(9), eightfold(7)])
def test_what_takes_too_many_steps_is_given_up_alone_and_that_is_said(
    calls: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_LEAST", 3000)
    text = HEAD + calls + step("hard", "        f0(loss)") + step("easy")
    hard, easy = lines(text, "keep(kept, loss)")
    assert stored(text) == [(BOUND, lines(text, "def hard")[0]), ("TLK402", easy)]
    found = follow_text(text)
    assert not found.whole
    said = [each.message for each in lint(text, Config()) if each.code == BOUND]
    assert len(said) == 1
    assert "the calls in `hard` were not all followed: following it takes more than" in said[0]
    monkeypatch.undo()
    assert stored(text.replace("f0(loss)", "f6(loss)")) == [("TLK402", hard), ("TLK402", easy)]


def test_what_was_set_by_what_is_given_up_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_LEAST", 3000)
    top = "kept = []\nfor x, y in DataLoader(rows):\n    keep(kept, model(x))\n    f0(x)\n"
    text = HEAD.replace("torch\n", "torch\nfrom torch.utils.data import DataLoader\n") + doubling(9) + top
    found = follow_text(text)
    assert not found.whole
    assert not found.kept
    assert not follow_text(text.replace("f0(x)\n", "f9(x)\n").replace("model(x)", "x")).kept


def test_nesting_that_exceeds_the_stack_is_given_up_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEAD + step("hard", f"        if {'not ' * 2500}x:\n            pass") + step("easy")
    monkeypatch.setattr(deep, "_RECURSION", 0)
    assert stored(text) == [(BOUND, lines(text, "def hard")[0]), ("TLK402", lines(text, "keep(kept, loss)")[1])]
    assert any("it is nested too deeply" in each.message for each in lint(text, Config()))


@pytest.mark.parametrize(
    "body",
    [
        "loss = loss" + " + loss" * 2500,
        "loss = " + "f(" * 190 + "loss" + ")" * 190,
        "loss = loss" + ".mean()" * 900,
        "loss = loss" + ".part" * 2500,
        "loss = " + "-" * 2500 + "loss",
        "if x:\n    a = 1\n" + "".join(f"elif y == {n}:\n    a = {n}\n" for n in range(900)),
        "\n".join("    " * n + "if x:" for n in range(90)) + "\n" + "    " * 90 + "a = x",
        "\n".join("    " * n + f"def g{n}():" for n in range(90)) + "\n" + "    " * 90 + "return x",
        "match x:\n    case " + "[" * 150 + "a" + "]" * 150 + ":\n        pass",
        "match x:\n    case Point(at=a) | {'k': b, **c} | [*d]:\n        pass",
    ],
    ids=["sum", "calls", "methods", "attributes", "minus", "elif", "ifs", "functions", "match", "patterns"],
)
def test_deep_nesting_ends_and_leaves_the_limit_as_it_was(body: str) -> None:
    limit = sys.getrecursionlimit()
    inner = "\n".join("        " + line for line in body.splitlines())
    text = HEAD + step("train", inner) + body.replace("loss", "x") + "\n"
    found = follow_text(text)
    assert sys.getrecursionlimit() == limit
    assert {each.how for each in found.kept} <= {"store"}


def test_the_recursion_limit_is_set_back_by_the_last_of_many_threads() -> None:
    limit = sys.getrecursionlimit()
    both = threading.Barrier(2, timeout=60)
    seen: list[int] = []

    def work(waits: bool) -> None:
        with deep.room():
            both.wait()
            if waits:
                both.wait()  # the other one has left
            seen.append(sys.getrecursionlimit())
        if not waits:
            seen.append(sys.getrecursionlimit())
            both.wait()

    threads = [threading.Thread(target=work, args=(waits,)) for waits in (True, False)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sys.getrecursionlimit() == limit
    assert seen == [max(limit, deep._RECURSION)] * 3


def test_what_loops_left_of_a_value_is_bounded() -> None:
    assert few_loops(frozenset(range(64))) == frozenset(range(64))
    assert few_loops(frozenset(range(100))) == frozenset([*range(16), *range(84, 100)])
    past = frozenset((n, "site") for n in range(100))
    assert {loop for loop, _ in few_past(past)} == {*range(16), *range(84, 100)}
    few = frozenset({(1, "site")})
    assert few_past(few) is few


def test_a_scope_knows_its_names_from_one_walk() -> None:
    text = (
        "def f(a, *b, c=1, **d):\n    global g\n    nonlocal h\n    import os.path, sys as s\n    g = h = i = 1\n"
        "    [(j := k) for k in a]\n    try:\n        yield\n    except E as e:\n        pass\n"
        "    l = lambda m: (yield)\n    class C:\n        n = 1\n"
        "    match a:\n        case {'x': o, **p} | [q, *r] | K(t=u) as v:\n"
        "            del w\n"
    )
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    scope = Scope(node)
    assert scope.own == {*"abcdijeloC", "os", "s", *"pqruvw"} - {"g", "h"}
    assert scope.globals == {"g"}
    assert scope.yields
    assert [each for each in walk(ast.parse("{**a}")) if isinstance(each, ast.Name)]
    lambda_ = ast.parse("lambda z: 1", mode="eval").body
    assert isinstance(lambda_, ast.Lambda)
    assert Scope(lambda_).own == {"z"}


def test_what_matters_is_what_calls_a_step_over_any_number_of_functions() -> None:
    chain = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n\n\n" for n in range(50))
    root = ast.parse(
        chain + "def f50(x):\n    x.backward()\n    f0(x)\n\n\ndef other(x):\n    return [y for y in [*x, None]]\n"
    )
    steps = Stepping(root)
    assert [function.name for function, _ in steps.functions if not steps.matters(function)] == ["other"]


LAYER = """\
class Layer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        {made}

    def forward(self, x):
        return self.{called}(x)

    def {name}(self, *x):
        self.last = x

    def through(self, x):
        return {through}
"""


@pytest.mark.parametrize(
    ("made", "called", "name", "through", "matters"),
    [
        ("pass", "inner", "set_last", "x", False),
        ("pass", "set_last", "set_last", "x", True),
        ("pass", "through", "set_last", "self.set_last(x)", True),
        ("pass", "through", "set_last", "x", False),
        ("pass", "inner.forward", "set_last", "x", False),
        ("inner.register_forward_hook(self.behind)", "inner", "behind", "x", True),
        ("inner.apply(self.behind)", "inner", "behind", "x", False),
    ],
)
def test_a_forward_pass_matters_by_what_it_reaches(
    made: str, called: str, name: str, through: str, matters: bool
) -> None:
    """A setter that no pass calls keeps nothing of a pass."""
    steps = Stepping(ast.parse(LAYER.format(made=made, called=called, name=name, through=through)))
    assert [function.name for function, _ in steps.functions if steps.matters(function)] == ["forward"] * matters


def test_values_are_joined_as_one_where_there_is_one() -> None:
    one: Value = (Atom(Kind.TENSOR, "a"),)
    assert join([(), one]) is one
    assert join([one, (Atom(Kind.TENSOR, "b"),)]) == (Atom(Kind.TENSOR, "a"), Atom(Kind.TENSOR, "b"))
    assert join([]) == ()


def names() -> list[str]:
    """Every name of a library that is known, and every text in the parts that say what calls do: methods' names."""
    found = {name for name in dir(builtins) if name.islower()}
    for part in (libraries, builtin, containers, foreign, networks, operations, unseen):
        tree = ast.parse(Path(str(part.__file__)).read_text(encoding="utf-8"))
        found |= {each.value for each in walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return sorted(
        each for each in found if all(part.isidentifier() and not keyword.iskeyword(part) for part in each.split("."))
    )


ARGUMENTS = (
    "",
    "x",
    "[]",
    "x, 1",
    "*[]",
    "*x",
    "**x",
    "x, y, 1",
    "loader",
    "key=x",
    "[], x",
    "lambda: 1",
    "None, 'a', x",
)


QUICK = ("*x",)
"""What is tried every time; a call of every name takes a second."""
WATCHED = ("", "lambda: 1", "[], x")


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(
            given,
            marks=[*[pytest.mark.long] * (given not in QUICK), *[pytest.mark.watched] * (given in WATCHED)],
        )
        for given in ARGUMENTS
    ],
)
def test_calls_with_any_arguments_are_followed(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_LEAST", 10_000_000)
    calls = "".join(f"        {name}({given})\n" for name in names())
    holders = ("x", "kept", "{}", "{**y}", "()", "deque(maxlen=3)", "optimizer", "model", "loader", "loss", "1")
    methods = "".join(
        f"        ({holder}).{name}({given})\n" for name in names() if "." not in name for holder in holders
    )
    imports = "".join(f"import {each}\n" for each in sorted({n.rpartition(".")[0] for n in names() if "." in n}))
    for text in (calls, methods):
        whole = f"from collections import deque\n{imports}{HEAD}" + step("train", text.rstrip("\n"))
        assert follow_text(whole).whole


def test_nodes_are_counted_as_python_walks_them() -> None:
    root = ast.parse(Path(__file__).read_text())
    for node in (root, *root.body):
        count = sum(1 for _ in ast.walk(node))
        assert has_fewer(node, count + 1)
        assert not has_fewer(node, count)


DECORATED = """
import lib


def other(x):
    for each in x:
        print(each)
    return x


def fit(model, loader, optimizer, flag):
    kept = []
    for x in loader:
        if flag:
            step(model, x, optimizer, kept)


@lib.register(other)
def step(model, x, optimizer, kept):
    if x is not None:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        kept.append(loss)
"""


def test_steps_may_run_out_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a decorator as well, which is asked while a call of what it decorates begins."""
    monkeypatch.setattr(runner, "_LARGEST_SHARE", 0)
    ends = set()
    for steps in range(150):
        monkeypatch.setattr(runner, "_RESERVED", steps)
        ends.add(follow_text(HEAD + DECORATED).whole)
    assert ends == {True, False}


def test_more_fields_of_named_tuples_than_are_remembered_are_put_in_order() -> None:
    """What a call makes of them stands where the named tuple is made: nothing in the class has a place of its own."""
    lines = [
        "import collections",
        "import torch",
        *(f"Out{i} = collections.namedtuple('Out{i}', 'v')" for i in range(50)),
    ]
    lines += [
        "def fit(net, loader, optimizer, made):",
        "    total = 0",
        "    for x in loader:",
        "        loss = net(x)",
    ]
    lines += [f"        loss = loss + Out{i}(**made._asdict()).v" for i in range(50)]
    lines += ["        loss.backward()", "        optimizer.step()", "        total += loss"]
    assert [each.code for each in lint("\n".join(lines))] == ["TLK401"]
