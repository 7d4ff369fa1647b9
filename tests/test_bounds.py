"""The analysis takes work that grows with a file, not faster, and says where it leaves something out."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from flake8_torchleak.finding import BOUND, OF_PROJECT, Finding, Severity
from flake8_torchleak.lint import lint
from flake8_torchleak.model import flow, inorder
from flake8_torchleak.model.bounds import unfinished
from flake8_torchleak.model.flow import MOST_DEFINITIONS
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.tracks import Track
from flake8_torchleak.model.values import Kind
from flake8_torchleak.shells.cli import main
from tests.conftest import flake8
from tests.model import IMPORTS, dataset, module, step, value

MANY = MOST_DEFINITIONS + 30
TERM = "        if flags.use_{n}:\n            loss = loss + terms[{n}](x)\n"
SUM = "        if flags.use_{n}:\n            sums += terms[{n}](x)\n"
BODIES: dict[str, Callable[[int], str]] = {
    "optional terms": lambda n: "".join(TERM.format(n=k) for k in range(n)),
    "optional terms of a sum that goes on": lambda n: "".join(SUM.format(n=k) for k in range(n)),
    "elif arms": lambda n: (
        "        if a:\n            pass\n"
        + "".join(f"        elif a == {k}:\n            loss = loss + terms[{k}](x)\n" for k in range(n))
    ),
    "match cases": lambda n: (
        "        match a:\n"
        + "".join(f"            case {k}:\n                loss = loss + terms[{k}](x)\n" for k in range(n))
    ),
    "one name again": lambda n: "".join(f"        loss = loss * 0.5 + terms[{k}](x)\n" for k in range(n)),
    "appends": lambda n: "".join(f"        rows.append(loss.detach() * {k})\n" for k in range(n)),
    "loops": lambda n: "".join(f"        for p in terms[{k}]:\n            loss = loss + p(x)\n" for k in range(n)),
    "a chain of calls": lambda n: "        loss = loss" + ".add(1)" * n + "\n",
    "a sum": lambda n: "        loss = loss" + " + x" * n + "\n",
    "early returns": lambda n: "".join(
        f"        if a == {k}:\n            loss = {k}\n            return loss\n" for k in range(n)
    ),
}


def training(body: str, end: str = "") -> str:
    """A training function with these lines in its step, and a store of the loss before and after them."""
    return (
        "def train(model, loader, terms, flags, a):\n    first, last, rows, sums = [], [], [], 0\n"
        "    for x, y in loader:\n        loss = F.mse_loss(model(x), y)\n        first.append(loss)\n"
        f"{body}{end}        last.append(loss)\n        loss.backward()\n    return first, last, rows\n"
    )


def found(text: str, code: str) -> list[Finding]:
    return [each for each in lint(IMPORTS + text) if each.code == code]


def work(text: str) -> int:
    """The steps that evaluating every expression of a text takes."""
    model = module(text)
    for node in model.tree.all(ast.Name, ast.Call, ast.BinOp):
        model.infer.value(node)
    return model.infer.steps


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_the_steps_grow_with_the_length(body: Callable[[int], str]) -> None:
    once, twice = work(training(body(120))), work(training(body(240)))
    assert twice < 2.2 * once


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_is_kept_before_and_after_much_of_the_same_is_found(body: Callable[[int], str]) -> None:
    stores = [each.span.line for each in found(training(body(MANY)), "TLK402")]
    lines = (IMPORTS + training(body(MANY))).splitlines()
    assert [lines[line - 1].strip() for line in stores if "rows" not in lines[line - 1]] == [
        "first.append(loss)",
        "last.append(loss)",
    ]


def test_a_proof_asks_about_nothing_twice() -> None:
    def asked(count: int) -> int:
        model = module(training(BODIES["optional terms"](count)))
        last = [each for each in model.tree.all(ast.Name) if each.id == "loss"][-1]
        assert model.proof.is_tensor(last)
        return sum(len(memo) for name, memo in vars(model.proof).items() if name.endswith("_remembered"))

    assert asked(60) <= 2.2 * asked(30)


def calls(text: str) -> int:
    """The calls of functions, of Python or built in, that checking and fixing a text takes."""
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        lint(IMPORTS + text, fixes=True)
    finally:
        sys.setprofile(before)
    return counted


BLOCKS = {
    "Datasets": (
        "class Rows{n}(Dataset):\n    def __init__(self, root):\n        self.rows = torch.load(root)\n\n"
        "    def __getitem__(self, index):\n        return self.rows[index], self.rows\n\n\n"
        "def change{n}(x):\n    x[0] = 1\n\n\n"
    ),
    "holders": (
        "class Meter{n}:\n    def __init__(self):\n        self.total = 0\n\n    def update(self, model, loader):\n"
        "        for x, y in loader:\n            loss = F.mse_loss(model(x), y)\n            loss.backward()\n"
        "            self.total += loss\n        print(self.total)\n\n\n"
    ),
    "evaluations": (
        "def evaluate{n}(model, loader):\n    model.eval()\n    losses = []\n    for x, y in loader:\n"
        "        loss = F.mse_loss(model(x), y)\n        losses.append(loss)\n    return losses\n\n\n"
    ),
    "stores in one function": (
        "    for x, y in loader:\n        loss = F.mse_loss(model(x), y)\n        loss.backward()\n"
        "        many.append(loss)\n        print(many)\n"
    ),
    "samples handed on": "def use{n}(x):\n    x[0] += 1\n    use{n}(x)\n\n\nfor b in loader:\n    use{n}(b)\n\n\n",
}
SLOW = ("holders", "evaluations", "stores in one function")
"""Of these: seconds each."""


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(BLOCKS[name], id=name, marks=[pytest.mark.long, pytest.mark.watched] * (name in SLOW))
        for name in BLOCKS
    ],
)
def test_checking_and_fixing_grow_with_the_length(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "MOST_DEFINITIONS", 5)  # as many as there are to look at in a long file
    head = "" if "{n}" in block else "def train(model, loader):\n    many = []\n"

    def whole(count: int) -> int:
        return calls(head + "".join(block.replace("{n}", str(n)) for n in range(count)))

    whole(1)  # what is worked out once a process
    few, some, many = whole(40), whole(70), whole(100)  # what is remembered of a value is full at 40
    assert many - some <= 1.01 * (some - few)


def reaching(text: str, key: str) -> tuple[Module, list[str]]:
    """The values that may reach the argument of `use(...)` in a text."""
    model = module(text)
    use = next(each for each in model.tree.all(ast.Call) if isinstance(each.func, ast.Name) and each.func.id == "use")
    values = [each.value for each in model.flow.reaching(key, use.args[0])]
    return model, [ast.unparse(each) for each in values if each is not None]


def test_of_many_values_the_nearest_reach_and_the_last_that_is_passed_for_sure() -> None:
    text = "x = -2\nx = -1\n" + "".join(f"if a:\n    x = {n}\n" for n in range(MANY)) + "use(x)\n"
    model, values = reaching(text, "x")
    assert values == [*map(str, range(MANY - 1, MANY - 1 - MOST_DEFINITIONS, -1)), "-1"]
    assert unfinished(model) == (
        model.root,
        "this module is too large to analyse in full: more than 200 values may reach a use of `x`;"
        " leaks in it may be missed",
        "analysis-bound",
    )


def test_of_many_values_the_loop_variable_is_passed_for_sure() -> None:
    text = "for x in -1:\n" + "".join(f"    if a:\n        x = {n}\n" for n in range(MANY)) + "    use(x)\n"
    _, values = reaching(text, "x")
    assert values[-1] == "-1"


def test_many_values_of_which_none_is_passed_for_sure() -> None:
    _, values = reaching("".join(f"if a:\n    x = {n}\n" for n in range(MANY)) + "use(x)\n", "x")
    assert values == [*map(str, range(MANY - 1, MANY - 1 - MOST_DEFINITIONS, -1))]


def test_of_many_values_that_a_loop_brings_the_last_reach() -> None:
    text = "x = -1\nfor i in a:\n    use(x)\n" + "".join(f"    if a:\n        x = {n}\n" for n in range(MANY))
    model, values = reaching(text, "x")
    assert values == ["-1", *map(str, range(MANY - MOST_DEFINITIONS, MANY))]
    assert unfinished(model) is not None


def test_many_values_from_outside() -> None:
    text = "def f():\n    use(x)\n" + "".join(f"x = {n}\n" for n in range(MANY))
    model, values = reaching(text, "x")
    assert len(values) == MOST_DEFINITIONS
    assert unfinished(model) is not None


def test_a_value_of_the_other_branch_does_not_reach_and_costs_nothing_either() -> None:
    body = "".join(f"    if b:\n        x = {n}\n" for n in range(MANY))
    model, values = reaching(f"x = -1\nif a:\n{body}else:\n    use(x)\n", "x")
    assert values == ["-1"]
    assert unfinished(model) is None


def test_what_reaches_an_if_is_looked_for_once_for_all_of_its_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    before = flow.Flow._before

    def counted(self: flow.Flow, track: Track, use: ast.AST, after: int) -> Iterator[int]:
        for index in before(self, track, use, after):
            looked.append(index)
            yield index

    monkeypatch.setattr(flow.Flow, "_before", counted)
    arms = "".join(f"elif a == {n}:\n    x = {n}\n" for n in range(50))
    uses = "".join(f"elif a == {n}:\n    x = use(x)\n" for n in range(100))
    model = module(f"x = -1\nif a:\n    pass\n{arms}if a:\n    pass\n{uses}")
    for call in model.tree.all(ast.Call):
        reached = model.flow.reaching("x", call.args[0])
        assert [ast.unparse(each.value) for each in reached if each.value] == [*map(str, range(49, -1, -1)), "-1"]
    assert len(looked) == 51 * 2  # for the first arm, and for the `if`


def test_the_test_of_an_earlier_branch_reaches_what_its_body_does_not() -> None:
    _, values = reaching("x = 0\nif (x := 1):\n    x = 2\nelif (x := 3):\n    x = 4\nelse:\n    use(x)\n", "x")
    assert values == ["3"]


def test_definitions_that_depend_on_each_other_all_round_a_loop_are_known() -> None:
    chain = "".join(f"    if a:\n        v{n + 1} = v{n}\n" for n in range(120))
    model = module(f"v0 = torch.zeros(3)\nv120 = 1\nfor i in a:\n{chain}    if a:\n        v0 = v120\n    use(v0)\n")
    use = next(each for each in model.tree.all(ast.Call) if getattr(each.func, "id", "") == "use")
    assert model.infer.value(use.args[0]).kind is Kind.TENSOR
    assert not model.infer.exhausted


def test_a_long_chain_of_definitions_is_followed_to_its_start() -> None:
    chain = "".join(f"v{n + 1} = v{n}\n" for n in range(300))
    assert value(f"v0 = torch.zeros(3)\n{chain}y = v300\n").kind is Kind.TENSOR


def test_questions_are_nested_so_deeply_and_no_deeper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inorder, "MOST_DEPTH", 8)
    model = module("x = y = " + "[" * 20 + "torch.zeros(3)" + "]" * 20 + "\n")
    assert model.infer.value(model.tree.all(ast.Assign)[-1].value).kind is Kind.LIST
    assert unfinished(model) == (
        model.root,
        "this module is too large to analyse in full; leaks in it may be missed",
        "analysis-bound",
    )


def test_a_file_that_is_analysed_in_full_says_nothing() -> None:
    assert unfinished(module("x = 1\n")) is None
    assert found(training(BODIES["optional terms"](5)), BOUND) == []


def test_it_is_said_once_a_file_of_the_first_function() -> None:
    text = training(BODIES["match cases"](MANY))
    (note,) = found(text + text.replace("train", "again"), BOUND)
    assert note.message == (
        "`train` (and 1 more) is too large to analyse in full: more than 200 values may reach a use of `loss`;"
        " leaks in it may be missed"
    )
    assert (note.severity, note.slug) == (Severity.NOTE, "analysis-bound")
    assert note.span.line == IMPORTS.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "".join(f"class A{n}({f'A{n - 1}' if n else 'Dataset'}):\n    pass\n" for n in range(60)),
            "it has more than 50 base classes",
        ),
        (
            "class Rows(Dataset):\n    def __getitem__(self, i):\n        return self.f0(i)\n"
            + "".join(f"    def f{n}(self, i):\n        return self.f{n + 1}(i)\n" for n in range(70)),
            "reading a sample runs more than 60 functions",
        ),
        (
            "def f(loader):\n    rows = []\n    for x in loader:\n"
            + "        rows.append(1)\n" * MANY
            + "    return rows\n\n\ny = f(loader)\n",
            "`rows` is changed at more than 200 places",
        ),
    ],
)
def test_other_bounds_are_said_too(text: str, why: str) -> None:
    model = module(text)
    for each in model.datasets.all:
        assert isinstance(each.calls_in, dict)
    for call in model.tree.all(ast.Call):
        model.infer.value(call)
    left = unfinished(model)
    assert left is not None
    assert why in left[1]


def sample(returned: str, rest: str = "") -> str:
    """A Dataset with rows that gives out an expression."""
    return (
        "class Rows(Dataset):\n    def __init__(self, root):\n        self.rows = [[line] for line in open(root)]\n\n"
        f"    def __getitem__(self, i):\n        pair = self.rows[i], 1\n        return {returned}\n\n{rest}"
    )


def test_a_sample_of_many_parts_is_looked_at_in_full() -> None:
    assert len(found(sample("self.rows[i], " + "0, " * 300), "TLK202")) == 1
    assert len(found(sample("pair, pair"), "TLK202")) == 1


def test_what_a_sample_depends_on_by_too_many_expressions_is_said() -> None:
    rest = "    @functools.cache\n    def read(self, n):\n        return np.load(n)\n"
    assert [len(found(sample("self.read(i)", rest), code)) for code in ("TLK104", BOUND)] == [1, 0]
    many = sample("self.read([i, " + "i0, " * 300 + "])", rest)
    assert [len(found(many, code)) for code in ("TLK104", BOUND)] == [0, 1]
    (note,) = found(many, BOUND)
    assert "a sample depends on more than 100 expressions" in note.message


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file that is too large to analyse in full, and has nothing else to report."""
    calls = "".join(f"def f{n}(x):\n    f{n + 1}(x)\n    f{n + 1}(x)\n" for n in range(24))
    text = f"{calls}def f24(x):\n    return x.sum()\n" + step("f0(loss)\nkept.append(loss.item())")
    (tmp_path / "large.py").write_text(IMPORTS + text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_says_it_and_its_status_does_not_change(large: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--isolated", "--select=TLK4", "large.py"]) == 0
    assert "Not shown: 1 note" in capsys.readouterr().out
    assert main(["check", "--isolated", "--select=TLK4", "--min-severity=note", "large.py"]) == 0
    assert "TLK003 note: the calls in `train` were not all followed" in capsys.readouterr().out
    assert main(["check", "--isolated", "--min-severity=note", "--output-format=json", "large.py"]) == 0
    assert [each["code"] for each in json.loads(capsys.readouterr().out)] == [BOUND]
    assert main(["check", "--isolated", "--ignore=TLK003", "large.py"]) == 0
    assert "TLK003" not in capsys.readouterr().out


def test_it_is_neither_listed_in_a_baseline_nor_given_a_noqa(large: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (large / "large.py").read_text()
    assert main(["baseline", "write", "--isolated", "large.py"]) == 0
    assert "lists 0 findings" in capsys.readouterr().out
    main(["check", "--isolated", "--add-noqa", "large.py"])
    assert (large / "large.py").read_text() == before


def test_flake8_says_it(large: Path) -> None:
    head = "class Rows(Dataset):\n    def __getitem__(self, i):\n        x = self.rows\n"
    many = "".join(f"        if i == {n}:\n            x = self.rows[{n}]\n" for n in range(MANY))
    (large / "large.py").write_text(f"{IMPORTS}{head}{many}        return x\n")
    assert b" TLK003 `__getitem__` is too large" in flake8("--select=TLK", "large.py", cwd=large).stdout


def test_flake8_is_not_failed_by_a_large_project(large: Path) -> None:
    (large / "pyproject.toml").touch()
    names = [f"Base{n}" for n in range(60)]
    for name in names:
        (large / f"{name.lower()}.py").write_text(f"class {name}:\n" + "    x = 1\n" * 200)
    imports = "".join(f"from {name.lower()} import {name}\n" for name in names)
    text = imports + IMPORTS + "class Rows(Dataset):\n    def __init__(self):\n        self.rows = [1]\n"
    text += "    def __getitem__(self, i):\n" + "".join(f"        {name}()\n" for name in names)
    (large / "many.py").write_text(text + "        return self.rows[i]\n")
    (note,) = [each for each in lint(text, path=str(large / "many.py")) if each.code == BOUND]
    assert note.slug == OF_PROJECT
    assert note.message.startswith("not all of this module's project was looked at")
    assert flake8("--select=TLK", "many.py", cwd=large).stdout == b""
    assert b"TLK003" not in flake8("--select=TLK", "--min-severity=note", "many.py", cwd=large).stdout


def test_flake8_is_not_failed_by_a_deep_program(large: Path) -> None:
    helpers = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n\n\n" for n in range(8)) + "def f8(x):\n    return x\n"
    text = f"import torch\n{helpers}\n\ndef train(model, loader, optimizer):\n    kept = []\n    for x in loader:\n"
    text += "        loss = model(x)\n        loss.backward()\n        last = f0(loss)\n        kept.append(last)\n"
    (large / "deep.py").write_text(f"{text}    return kept\n")
    (note,) = [each for each in lint((large / "deep.py").read_text(), fixes=True) if each.code == BOUND]
    assert note.slug == OF_PROJECT
    assert note.message.endswith("it is called through more than 3 functions; leaks may be missed")
    assert b"TLK003" not in flake8("--select=TLK", "deep.py", cwd=large).stdout


def test_a_noqa_is_not_called_unused_where_something_was_left_out(
    large: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (large / "large.py").read_text()
    (large / "large.py").write_text(text.replace("loss.backward()", "loss.backward()  # noqa: TLK401"))
    main(["check", "--isolated", "--report-unused-noqa", "large.py"])
    assert "TLK002" not in capsys.readouterr().out


def test_explain_tells_what_it_means(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "analysis-bound"]) == 0
    assert "the nearest 200" in capsys.readouterr().out


def test_what_trains_beside_an_evaluation_is_not_a_part_of_it() -> None:
    model = module(
        "def run(model, train_loader, val_loader, optimizer):\n    for x, y in train_loader:\n"
        "        loss = F.mse_loss(model(x), y)\n        loss.backward()\n        optimizer.step()\n"
        "    model.eval()\n    for x, y in val_loader:\n        print(F.mse_loss(model(x), y))\n"
    )
    first, last = model.tree.all(ast.For)
    assert len(model.evaluations) == 1
    assert model.evaluation(first) is None
    assert model.evaluation(last) is model.evaluations[0]


def test_where_a_variable_is_made_of_itself_many_times_a_handle_is_looked_for_once() -> None:
    branches = "".join(f"if root == {n}:\n    a = a[{n}] if data else [a]\n" for n in range(60))
    assert calls(dataset(f"a = data\n{branches}self.data = a")) < 400_000
