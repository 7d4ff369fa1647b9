"""Following takes work that grows with the text, whatever is in it, finds what is kept, and says where it ends."""

from __future__ import annotations

import ast

import pytest

from flake8_torchleak.config import DEFAULT, Config
from flake8_torchleak.finding import BOUND
from flake8_torchleak.lifetime import follow
from flake8_torchleak.lifetime.runner import Runner
from flake8_torchleak.lifetime.world import Place
from flake8_torchleak.lint import lint
from flake8_torchleak.model.infer import Infer
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.values import Kind as Known
from flake8_torchleak.model.values import Size, Value, join
from flake8_torchleak.source import Source
from tests.test_following_bounds import HEAD, doubling, lines, step, stored
from tests.test_robust import calls_during


def long_step(before: str, block: str, count: int) -> str:
    """A training step that ends in a leak, with so many times a block in it; {n} counts."""
    body = "\n".join([before, *(block.format(n=n) for n in range(count))])
    return HEAD + step("train", "\n".join("        " + line for line in body.splitlines() if line))


IN_A_STEP = {
    "entries of a dict that are read by a variable": ("table = {}", "table['{n}'] = loss.item()\na = table[kind]"),
    "values of a dict": ("table = {}", "table['{n}'] = loss.item()\nfor a in table.values():\n    keep(kept, a)"),
    "attempts": ("", "try:\n    keep(kept, loss.item())\nexcept ValueError as error:\n    errors.append(str(error))"),
}


@pytest.mark.parametrize("name", IN_A_STEP)
def test_work_grows_with_a_step_and_not_with_its_square(name: str) -> None:
    few, many = (calls_during(long_step(*IN_A_STEP[name], count)) for count in (15, 120))
    assert many < 12 * few


def test_a_condition_is_read_once() -> None:
    def text(count: int) -> str:
        test = "if " + " or ".join(f"kind.use_{n}" for n in range(count)) + ":"
        return long_step("table = {}\n" + test, "    table[{n}] = []", count)

    few, many = (calls_during(text(count)) for count in (15, 120))
    assert many < 12 * few


def test_copies_of_copies_end() -> None:
    text = long_step("", "more = [*kept, loss.item()]\nkept = more + kept", 500)
    assert not [each.message for each in lint(text, Config()) if each.code == "TLK000"]


AT_THE_TOP = {
    "classes one below another": "class C{n}(C{m}):\n    def training_step(self, x):\n        return self.net{n}(x)\n",
    "functions of one name": "def f{n}(x):\n    def inner(y):\n        return y\n    return inner(x)\n",
}


@pytest.mark.parametrize("name", AT_THE_TOP)
def test_work_grows_with_a_module_and_not_with_its_square(name: str) -> None:
    few, many = (
        calls_during(HEAD + step("train") + "".join(AT_THE_TOP[name].format(n=n, m=n - 1) for n in range(1, count)))
        for count in (25, 200)
    )
    assert many < 12 * few


def test_names_of_a_branch_are_looked_up_once() -> None:
    def text(count: int) -> str:
        names = "".join(f"    name{n} = {n}\n" for n in range(count))
        reads = "\n".join(f"        keep(kept, name{n})" for n in range(count))
        return f"{HEAD}if torch.cuda.is_available():\n{names}\n\n{step('train', reads)}"

    few, many = (calls_during(text(count)) for count in (25, 200))
    assert many < 12 * few


def test_what_is_looked_at_counts_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_LEAST", 0)
    monkeypatch.setattr(follow, "_PER_NODE", 4)
    for before, name in (("one = Thing()", "one"), ("", "y")):  # an object, and what nothing is known of
        text = long_step(before, f"{name}.at{{n}} = loss.detach()\nreport({name})", 200)
        assert any("takes more than" in each.message for each in lint(text, Config()) if each.code == BOUND)
        assert BOUND not in [code for code, _ in stored(text.replace(f"report({name})", "report(1)"))]


def test_those_behind_functions_that_take_all_steps_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_LEAST", 1000)
    monkeypatch.setattr(follow, "_PER_NODE", 0)
    text = HEAD + doubling(9) + "".join(step(f"hard{n}", "        f0(loss)") for n in range(20)) + step("easy")
    assert stored(text) == [(BOUND, lines(text, "def hard0")[0]), ("TLK402", lines(text, "keep(kept, loss)")[-1])]


def handing_on(count: int) -> str:
    """A step, and so many helpers: each hands on to the next one what it is given, and the last one keeps it."""
    helpers = "".join(f"def h{n}(kept, value):\n    h{n + 1}(kept, value)\n\n\n" for n in range(count - 1))
    last = f"def h{count - 1}(kept, value):\n    kept.append(value)\n\n\n"
    return helpers + last + step("train").replace("keep(kept, loss)", "h0(kept, loss)")


def test_calls_that_are_too_deep_are_said_where_history_is_handed_on() -> None:
    found = handing_on(9)
    assert stored(found) == [("TLK402", lines(found, "h0(kept, loss)")[0])]
    deep = handing_on(10)
    assert stored(deep) == [(BOUND, lines(deep, "def train")[0])]
    said = next(each.message for each in lint(deep, Config()) if each.code == BOUND)
    assert "the calls in `train` were not all followed: they are more than 9 deep" in said
    assert not stored(deep.replace("h0(kept, loss)", "h0(kept, loss.item())"))


def test_what_is_under_one_of_many_keys_is_found() -> None:
    before = "table = {" + ", ".join(f"'k{n}': []" for n in range(50)) + "}"
    text = step("train").replace("kept = []", before).replace("keep(kept, loss)", "table['k49'].append(loss)")
    assert ("TLK402", lines(text, "table['k49'].append")[0]) in stored(text)


def test_a_class_looks_among_a_bounded_number_of_bases() -> None:
    chain = "class C0(Module):\n    pass\n" + "".join(
        f"class C{n}(C{n - 1}, Other{n}):\n    def m{n}(self):\n        pass\n" for n in range(1, 90)
    )
    root = ast.parse(chain)
    runner = Runner(Place("", root, None, None), lambda: 0)
    classes = [each for each in root.body if isinstance(each, ast.ClassDef)]
    info = [runner.run.names.class_info(each, runner.own) for each in classes][-1]
    assert [each.name for each in info.order] == [f"C{n}" for n in range(89, 29, -1)]
    assert len(info.foreign) == 60
    assert info.method("m30") is not None
    assert info.method("m1") is None


def test_a_method_is_followed_on_a_few_of_the_classes_below_its_own() -> None:
    below = "".join(
        f"class D{n}(Base):\n    def __init__(self, net):\n        self.net, self.kept = net, []\n\n\n"
        for n in range(9)
    )
    text = f"class Base:\n    def training_step(self, x):\n        self.kept.append(self.net(x).mean())\n\n\n{below}"
    root = ast.parse(text)
    runner = Runner(Place("", root, None, None), lambda: 100_000)
    runner.all()
    classes = (each for each in root.body if isinstance(each, ast.ClassDef))
    infos = {each.name: runner.run.names.class_info(each, runner.own) for each in classes}
    step = infos["Base"].own["training_step"]
    assert [each.name for each in runner.receivers.of(infos["Base"], step)] == ["D0", "D1", "D2", "D3"]
    assert [each.name for each in runner.receivers.of(infos["D8"], step)] == ["D8"]


def test_the_elements_of_a_display_are_those_of_what_is_spread_in_it() -> None:
    def element(text: str) -> object:
        module = Module(Source(text), ast.parse(text), DEFAULT, None)
        infer: Infer = module.infer
        last = module.root.body[-1]
        assert isinstance(last, ast.Expr)
        found = infer.value(last.value).element
        return found.kind.name if found is not None else None

    assert element("a = ['x']\n[*a, 'y']") == "STRING"
    assert element("a = {'k': 'x'}\n{**a, 'l': 'y'}") == "STRING"
    assert element("[*a, *b]") == "UNKNOWN"
    assert element("{**a}") == "UNKNOWN"


def test_containers_in_containers_are_told_apart_to_a_depth() -> None:
    def nest(depth: int) -> Value:
        value = Value(Known.LIST, size=Size.GROWS)
        for _ in range(depth):
            value = Value(Known.LIST, element=value)
        return value

    assert nest(5).grows
    assert not nest(10).grows
    whole = join([nest(5), Value(Known.LIST, element=Value(Known.LIST))])
    deep = join([nest(20), nest(20)])
    assert whole.grows
    depth = 0
    while deep.element is not None:
        deep, depth = deep.element, depth + 1
    assert depth == 8
