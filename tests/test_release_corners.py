"""What becomes of a holder, and what is freed, in the forms that are rare: each is followed, or taken for unknown."""

from __future__ import annotations

import ast

import pytest

from tests.fixer import fixed
from tests.model import module, step

LIVE = "kept.append(torch.sigmoid(model(x)))"
RELEASED = "kept.append(torch.sigmoid(model(x)).detach())"
DECORATED = "def twice(f): return f\n@twice\ndef show(v): print(v)\n"
CHAIN = "def a(v): b(v)\ndef b(v): c(v)\ndef c(v): d(v)\ndef d(v): print(v)\n"
USES = {
    "as an index": ("", "print(x[kept])", True),
    "in a test of a comprehension": ("", "print([n for n in x if kept])", True),
    "under another name, shown": ("", "print(len(other := kept))", True),
    "under another name, handed on": ("", "print(len(other := kept))\nuse(other)", False),
    "matched": ("", "match kept:\n    case _: pass", False),
    "unpacked, the rest shown": ("", "first, *rest = kept\nprint(len(rest))", True),
    "unpacked, the rest handed on": ("", "first, *rest = kept\nuse(rest)", False),
    "gone through beside another": ("", "print([n for n in kept for n in x])", True),
    "a part that carries history": ("", "print(kept[0].T)", True),
    "a part that carries history, handed on": ("", "use(kept[0].T)", False),
    "through a function of torch": ("", "print(F.relu(kept[0]))", True),
    "through a function of torch, handed on": ("", "use(F.relu(kept[0]))", False),
    "sorted by a formula": ("", "print(sorted(kept, key=lambda n: n + 1))", True),
    "sorted by a call": ("", "print(sorted(kept, key=lambda n: use(n)))", False),
    "turned into numbers": ("", "use(list(map(float, kept)))", True),
    "a helper that gives it back": ("def same(v): return v\n", "print(same(kept))", True),
    "a helper that gives it back, handed on": ("def same(v): return v\n", "use(same(kept))", False),
    "a helper with a decorator": (DECORATED, "show(kept)", False),
    "helpers of helpers of helpers": (CHAIN, "a(kept)", False),
    "many names": ("", "a0 = kept\n" + "\n".join(f"a{n + 1} = a{n}" for n in range(50)) + "\nprint(a50)", False),
}


@pytest.mark.parametrize(("before", "after", "safe"), USES.values(), ids=USES)
def test_what_becomes_of_a_holder(before: str, after: str, safe: bool) -> None:
    text = step(LIVE, before, after)
    assert fixed(text, codes="TLK402") == (step(RELEASED, before, after) if safe else text)


def loop(body: str, before: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    head = f"{before}def train(model, loader, n, criterion):\n    kept = []\n    for x, y in loader:\n"
    return f"{head}{lines}    return kept\n"


LOSS = "loss = F.mse_loss(model(x), y)\n"
FREED = {
    "by either part of a ternary": (
        "loss = F.mse_loss(model(x), y) if n else model(x).mean()\nloss.backward()\nkept.append(loss)",
        True,
    ),
    "an attribute": (LOSS + "x.loss = loss\nx.loss.backward()\nkept.append(loss)", True),
    "an attribute of two values": (
        LOSS + "if n:\n    x.loss = loss\nelse:\n    x.loss = loss * 2\nx.loss.backward()\nkept.append(loss)",
        False,
    ),
    "added to in place": (LOSS + "loss += model(x).mean()\nloss.backward()\nkept.append(loss)", True),
    "added to in place, by sums alone": (
        "loss = n.sum()\nloss += n.mean()\nloss.backward()\nkept.append(loss)",
        False,
    ),
    "where an exception is caught": (
        LOSS + "loss.backward()\ntry:\n    check(x)\nexcept OSError:\n    kept.append(loss)",
        True,
    ),
    "under a lock": ("with n:\n    loss = F.mse_loss(model(x), y)\n    loss.backward()\nkept.append(loss)", True),
    "behind, with another in between": (
        LOSS + "kept.append(loss)\nother = model(x).mean()\nother.backward()\nloss.backward()",
        False,
    ),
}


@pytest.mark.parametrize(("body", "spent"), FREED.values(), ids=FREED)
def test_what_is_freed(body: str, spent: bool) -> None:
    text = loop(body)
    after = loop(body.replace("kept.append(loss)", "kept.append(loss.detach())"))
    assert fixed(text, codes="TLK402") == (after if spent else text)


METHODS = """\
class Trainer:
    def __init__(self, model):
        self.model, self.loss, self.kept = model, None, []
    def step(self, x, y):
        self.loss = F.mse_loss(self.model(x), y)
        self.loss.backward()
        self.kept.append({value})
    def fit(self, loader):
        for x, y in loader:
            self.step(x, y)
"""


def test_an_attribute_of_the_object() -> None:
    found = module(METHODS.format(value="self.loss"))
    (store,) = [call for call in found.tree.all(ast.Call) if getattr(call.func, "attr", "") == "append"]
    assert found.release.spent.is_spent(store.args[0], "self.kept", store)


GIVEN = {
    "nobody": ("", True),
    "a loss": ("def main(model, x, y):\n    step(F.mse_loss(model(x), y))\n", True),
    "a sum": ("def main(p):\n    step((p + 1).sum())\n", False),
}


@pytest.mark.parametrize(("caller", "spent"), GIVEN.values(), ids=GIVEN)
def test_what_a_function_is_handed(caller: str, spent: bool) -> None:
    found = module("kept = []\ndef step(loss):\n    loss.backward()\n    kept.append(loss)\n" + caller)
    (store,) = [call for call in found.tree.all(ast.Call) if getattr(call.func, "attr", "") == "append"]
    assert found.release.spent.is_spent(store.args[0], "kept", store) is spent


def test_a_lambda_is_not_looked_into() -> None:
    found = module("f = lambda v: kept.append(v)")
    (store,) = found.tree.all(ast.Call)
    assert not found.release.spent.is_spent(store.args[0], "kept", store)


def test_what_is_an_objective_itself() -> None:
    found = module(
        "def f(loss, kept):\n    loss.backward()\n    kept.append(loss)\n    torch.stack(kept).sum().backward()"
    )
    (store,) = [call for call in found.tree.all(ast.Call) if getattr(call.func, "attr", "") == "append"]
    assert not found.release.spent.is_spent(store.args[0], "kept", store)
