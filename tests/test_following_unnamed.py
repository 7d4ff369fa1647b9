"""Following a program in which no name says what anything is: what is done with it does."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint
from tests.kept import marked, program, reported

EVALUATED = {
    "eval() before the loop": ("a.eval()", "c.append(a(x))  # TLK402"),
    "training mode switched off": ("a.train(False)", "c.append(a(x))"),  # perhaps `a` is a trainer, and False data
    "parameters alone": ("list(a.parameters())", "c.append(a(x))"),  # which show no evaluation
    "an optimizer is no network": ("a.zero_grad(); b.eval()", "c.append(a(x))"),
    "moved to a device": ("a.eval()", "c.append(a(x.to(d)))  # TLK402"),
    "an entry of it": ("a.eval()", "c.append(a(x.get('image')))  # TLK402"),
    "by another method": ("a.eval()", "c.append(a.encode(x))  # TLK402"),
    "what does not change": ("a.eval()", "c.append(a(d))"),
    "what a method makes of what does not change": ("a.eval()", "c.append(a(d.to(d)))"),
    "without gradients": ("a.eval()", "with torch.no_grad():\n            c.append(a(x))"),
    "a number of it": ("a.eval()", "c.append(a(x).item())"),
    "frozen": ("a.eval().requires_grad_(False)", "c.append(a(x))"),
}


@pytest.mark.parametrize("name", EVALUATED)
def test_what_is_put_in_evaluation_mode_is_a_network(name: str) -> None:
    before, body = EVALUATED[name]
    text = program(f"def f(a, b, d):\n    c = []\n    {before}\n    for x, y in b:\n        {body}\n    return c\n")
    assert reported(text) == marked(text)


@pytest.mark.parametrize(
    ("made", "mark"),
    [
        ("nn.DataParallel(a)", "  # TLK401"),
        ("nn.parallel.DistributedDataParallel(a, device_ids=[0])", "  # TLK401"),
        ("torch.compile(a)", ""),  # functions, too
    ],
)
def test_what_is_wrapped_to_run_in_parallel_is_a_network(made: str, mark: str) -> None:
    text = program(f"""
def f(a, b, o):
    w = {made}
    s = 0.0
    for x in b:
        out = w(x)
        z = out["one"].mean()
        o.zero_grad()
        z.backward()
        o.step()
        s += out["two"].mean(){mark}
    return s
""")
    assert reported(text) == marked(text)


@pytest.mark.parametrize(
    ("imported", "made", "mark"),
    [
        ("from averages import Running", "Running(window=3)", ""),  # it may keep a number, as many do
        ("import averages", "averages.running.Mean()", ""),
        ("from averages import running", "running()", "  # TLK402"),  # a function may give a list
        ("from queue import Batch", "Batch()", "  # TLK402"),
        ("", "[]", "  # TLK402"),
        ("", "given", "  # TLK402"),
    ],
)
@pytest.mark.parametrize("put", ["append(loss)", "extend([loss])"])
def test_nothing_is_known_of_what_a_librarys_class_keeps(imported: str, made: str, mark: str, put: str) -> None:
    body = "for x, y in b:\n        loss = nn.functional.mse_loss(a(x), y)\n        loss.backward()\n        o.step()\n"
    text = program(
        f"{imported}\ndef fit(a: nn.Module, b, o, given):\n    kept = {made}\n    {body}        kept.{put}{mark}\n"
        "        print(kept.aggregate())\n"
    )
    assert reported(text) == marked(text)


DRAWN = """
import torch
import torch.nn.functional as F

def f(a, b, c, d, e):
    k = []
    for x, y in b:
        {made}
        c.zero_grad(); z.backward(); c.step()
        k.append({kept})
    return k
"""


@pytest.mark.parametrize(
    ("made", "kept", "expected"),
    [
        ("o = a(x); z = F.cross_entropy(o, y)", "o.mean()", 1),
        ("o = a(x); z = F.cross_entropy(o, y.to(d))", "o", 1),
        ("o = a(x); z = F.cross_entropy(o, y['m'].cuda()) / 2", "o", 1),
        ("o = a(x['i']); z = F.mse_loss(o['p'], y) + F.mse_loss(o['q'], y)", "o['q']", 1),
        ("o = a(x); z = F.cross_entropy(o, y)", "y", 0),
        ("o = a(x); z = F.cross_entropy(o, y.to(d))", "y.to(d)", 0),
        ("o = a(x); z = F.mse_loss(o, d(y))", "o", 0),  # of which of the two, nobody sees
        ("o = a(x); z = F.mse_loss(o, d)", "o", 0),
        ("z = F.mse_loss(x, d)", "d", 0),
        ("o = x; z = F.mse_loss(o, y)", "o", 0),
    ],
)
def test_what_a_loop_draws_has_no_history(made: str, kept: str, expected: int) -> None:
    """Of what is differentiated, the rest has it: what a call made of it."""
    found = [each for each in lint(DRAWN.format(made=made, kept=kept)) if each.code == "TLK402"]
    assert len(found) == expected
