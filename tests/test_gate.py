"""The gate: what is told of a file before its tree is indexed, and answers that are kept."""

from __future__ import annotations

import ast
import re

import pytest

from flake8_torchleak.gate import Subject, by_statements, by_words_of_loops
from flake8_torchleak.model.index import Index
from flake8_torchleak.model.outline import Outline, _comprehends, lines_of
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.rule import Rule, all_rules


def rule(code: str) -> Rule:
    """The rule of a code."""
    return next(each for each in all_rules() if each.code == code)


def passes(code: str, text: str) -> bool:
    """Whether the look of a rule at statements lets a text through."""
    return rule(code).may_find_in(Outline(ast.parse(text), text))


@pytest.mark.parametrize(
    ("text", "let_through"),
    [
        ("x = np.zeros(9)\nkept.append(x[2:5])", True),
        ("x = np.zeros(9)\nkept.append(x[rows[0]:5])", True),
        ("x: Array = np.zeros(9)\nkept.append(x[2, 3])", True),
        ("x, y = np.zeros(9), 1\nkept.append(x[2:5])", True),
        ("x = model(batch)\nkept.append(x.logits[:, 1])", True),
        ("x = np.zeros(9)\nkept.append(x[2])", False),
        ("x = np.zeros(9)\nkept.append(max[2:5], self.x[2:5], x[1])", False),
        ("x = np.zeros(9)\nkept.append(y[2:5])", False),
        ("x = zeroed(9)\nkept.append(x[2:5])  # np.zeros(9)", False),
        ("x = np.array(9)\nkept.append(x[2:5])", False),
        ("x = np.zeros(9)\nkept.extend(x[2:5])", False),
    ],
)
def test_views_are_sought_where_an_array_is_made_cut_and_put(text: str, let_through: bool) -> None:
    assert passes("TLK205", text) is let_through


@pytest.mark.parametrize(
    ("statement", "let_through"),
    [
        ("self.mean = self.momentum * self.mean + x", True),
        ("self.mean += self.momentum * x", True),
        ("self.mean[0] = self.momentum", True),
        ("self.mean.mul_(self.momentum).add_(x)", True),
        ("self.mean = self.momentum * x", False),
        ("mean[0] = self.momentum", False),
        ("mean = self.momentum", False),
        ("self.update(self.momentum)", False),
        ("keep(self, self.momentum)", True),
        ("x = states.keep(x, owner=self)", True),
        ("x = getattr(self, 'momentum')", False),
        ("'momentum'", False),
    ],
)
def test_buffers_are_sought_where_an_attribute_is_updated(statement: str, let_through: bool) -> None:
    text = f"class Norm(nn.Module):\n    def forward(self, x):\n        {statement}"
    assert passes("TLK601", text) is let_through
    assert not passes("TLK601", text.replace("forward", "forwards"))


def test_a_buffer_is_updated_in_forward_or_in_what_it_calls() -> None:
    text = """
class Norm(nn.Module):
    def __init__(self):
        self.momentum = self.momentum or 1

    def forward(self, x):
        return self.step(x)

    def step(self, x):
        {}
"""
    assert passes("TLK601", text.format("self.mean += x"))
    assert not passes("TLK601", text.format("self.mean = x"))
    assert not passes("TLK601", text.format("self.mean += x").replace("self.step", "self.stop"))


IMAGES = "from PIL import Image\n"


@pytest.mark.parametrize(
    ("code", "text", "let_through"),
    [
        ("TLK304", IMAGES + "images.append(Image.open(path))", True),
        ("TLK304", IMAGES + "images.append((Image.open(path), 1))", True),
        ("TLK304", IMAGES + "images = [Image.open(path) for path in paths]", True),
        ("TLK304", IMAGES + "images = {path: Image.open(path) for path in paths}", True),
        ("TLK304", IMAGES + "images += [Image.open(path)]", True),
        ("TLK304", IMAGES + "images.extend(Image.open(path) for path in paths)", True),
        ("TLK304", IMAGES + "images.extend(load(path) for path in paths)", False),
        ("TLK304", IMAGES + "image = Image.open(path)", True),
        ("TLK304", IMAGES + "images.append(Image.open(path).convert('RGB'))", False),
        ("TLK304", IMAGES + "'''Image.open(path)'''", False),
        ("TLK304", "images.append(Image.open(path))", False),
        ("TLK502", "class Net(LightningModule):\n    def training_step(self): ...", True),
        ("TLK502", "class Net(LightningModule):\n    def forward(self): ...", False),
        ("TLK603", "class Exp(torch.autograd.Function): ...", True),
        ("TLK603", "class Exp(Module): ...  # no (Function)", False),
        ("TLK406", "for x in loader:\n    h = GRU(x, h)", True),
        ("TLK406", "for x in layers:\n    h = GRU(x, h)", False),
        ("TLK406", "class State:\n    def detach_(self): ...\n    def detach(self): ...", True),
        ("TLK405", "batches = itertools.cycle(stream)", True),
        ("TLK405", "batches = list(loaders['train'])", True),
        ("TLK405", "batches = tuple(train_dl)", True),
        ("TLK405", "batches = list(handles)", False),
        ("TLK405", "batches = list(reload(x))  # loader", False),
        ("TLK405", "loaders = list(names)", False),
        ("TLK602", "loss.backward(create_graph=True)", True),
        ("TLK602", "grad(loss, create_graph=True)", False),
    ],
)
def test_rules_look_at_statements(code: str, text: str, let_through: bool) -> None:
    assert passes(code, text) is let_through


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("batches = iter(train_loader)\nwhile True:\n    x = next(batches)", True),
        ("from .loaders import Mixin\nwhile True:\n    x = next(batches)", False),
        ("'''See [`~loaders.Mixin`].'''\nwhile True:\n    x = next(batches)", False),
        ("class Exp(Function):\n    def backward(ctx, x):\n        while True: ...", False),
        ("while True:\n    loss.backward()", True),
        ("while True:\n    self.manual_backward(loss)", True),
    ],
)
def test_batches_are_drawn_from_what_is_a_loader_by_name(text: str, steps: bool) -> None:
    found = by_statements(frozenset({Subject.STEPS}), Outline(ast.parse(text), text), ())
    assert bool(found) is steps


@pytest.mark.parametrize(
    ("text", "evaluates"),
    [
        ("def validate(net):\n    for x in data: net(x)\nnet.load_state_dict(x)", True),
        ("def validate(net):\n    for x in data: net(x)", True),  # if who calls it has set the network's mode
        ("def validate(data):\n    for x in data: net(x)", False),
        ("def validate(net):\n    for x in data: net(x)\nuse(no_grad)", False),
        ("def gather(net):\n    for x in train_loader: net(x)", True),  # if only numbers are kept of it
        ("def validate(net): net(data)\nloss.backward()", True),
        ("def test_it(net):\n    for x in data: net(x)\nimport pytest\ntorch.load(x)", False),
    ],
)
def test_evaluation_needs_a_model_that_is_prepared(text: str, evaluates: bool) -> None:
    found = by_statements(frozenset({Subject.EVALUATION}), Outline(ast.parse(text), text), ())
    assert bool(found) is evaluates


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_the_parser_does(end: str) -> None:
    text = end.join(["x = 1", "model.eval()", "y", "for x in y: model.eval(); z.eval()", ""])
    assert list(lines_of(text, ".eval(")) == [2, 4, 4]


@pytest.mark.parametrize(
    ("switch", "evaluates"),
    [
        ("model.eval()", True),
        ("model = build(\n        1,\n    ).eval()", True),
        ("with model.eval():\n        pass", True),
        ("@model.eval()\n    def run():\n        pass", True),
        ("model.train(False)", True),
        ("model.train()", False),
        ("eval(model)  # not .eval()", False),
        ("'''\n.eval()\n'''", False),
    ],
)
def test_a_switch_to_evaluation_is_found_on_its_lines(switch: str, evaluates: bool) -> None:
    text = f"def run(model, batches):\n    {switch}\n    for batch in batches:\n        model(batch)\n"
    found = by_statements(frozenset({Subject.EVALUATION}), Outline(ast.parse(text), text), ())
    assert bool(found) is evaluates


def test_loops_need_a_word_of_them() -> None:
    subjects = frozenset({Subject.TORCH, Subject.STEPS})
    assert by_words_of_loops(subjects, "for batch in loader: ...") == subjects
    assert by_words_of_loops(subjects, "for each in names: ...") == {Subject.TORCH}


def test_an_answer_is_worked_out_once_for_each_question_and_object() -> None:
    class Counter:
        def __init__(self) -> None:
            self.asked: list[int] = []

        @remembered
        def half(self, number: int) -> int | None:
            self.asked.append(number)
            return number // 2 or None

    one, other = Counter(), Counter()
    assert [one.half(1), one.half(1), one.half(4), one.half(4), other.half(4)] == [None, None, 2, 2, 2]
    assert (one.asked, other.asked) == ([1, 4], [4])


def test_an_index_gives_what_is_nearest_to_its_root_first() -> None:
    index = Index(ast.parse("f(g(h()))\nclass A(B): c()").body[0])
    assert [ast.unparse(each) for each in index.by_depth(ast.Call, ast.ClassDef)] == ["f(g(h()))", "g(h())", "h()"]
    assert [each.id for each in index.all(ast.Name)] == ["f", "g", "h"]
    assert index.all(ast.While) == []


@pytest.mark.parametrize(
    ("line", "may"),
    [
        ("total = sum(loss(x) for x in loader)", True),
        ("rows = [f(x)  # here\n        for x in loader]", False),  # the loop's own words are first in its line
        ("total = sum(f(x) for x in rows)", False),
        ("# for a word in a loader", False),
        ("x = 1  # a word for a word in a loader", True),
        ("loader = [x for x in rows]", False),
        ("loader = sum(x for x, in rows)  # a loader", True),
        ("x = [y for y of loader]", False),
        ("'for', 'in', 'oade', " * 5000 + "'loader'", True),
        ("'for', 'of', 'oade', " * 5000 + "'loader'", False),
    ],
)
def test_a_line_may_hold_a_comprehension_over_a_loader(line: str, may: bool) -> None:
    assert any(map(_comprehends, line.split("\n"))) is may
    if len(line) < 100:
        pattern = r"[^\s#][^\n#]*\bfor\b[^\n]*\bin\b[^\n]*oader"  # the same, in cubic time
        assert (re.search(pattern, line) is not None) is may
