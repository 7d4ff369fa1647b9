"""What becomes of a holder, and what is freed, in the forms that are rare: each is followed, or taken for unknown."""

from __future__ import annotations

import ast
import re

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
    "hidden by another in a comprehension": ("", "use([n for n in kept for n in x])", True),
    "under the name of another in a comprehension": ("", "use([n for n in x for n in kept])", False),
    "tested before it is hidden": ("", "print([n for n in kept if use(n) for n in x])", False),
    "gone through under its own name": ("", "use([n for n in kept for n in n])", False),
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
    "under a name that a comprehension binds": (
        LOSS + "loss.backward()\n[kept.append(loss.sigmoid()) for loss in model(y)]",
        False,
    ),
    "under another name that a comprehension binds": (
        LOSS + "other = loss\nloss.backward()\n[kept.append(other.sigmoid()) for other in model(y)]",
        False,
    ),
    "of an attribute": (LOSS + "x.loss = loss\nx.loss.backward()\nkept.append(x.loss)", True),
    "of an attribute that a call may set": (
        LOSS + "n.loss = loss\nn.loss.backward()\nn.next()\nkept.append(n.loss)",
        False,
    ),
    "an attribute, perhaps of an earlier one": (
        "for z in x:\n    loss = F.mse_loss(model(z), y)\n    if n:\n        continue\n    x.loss = loss\n"
        "x.loss.backward()\nkept.append(loss)",
        False,
    ),
    "the entries of a dict, not an attribute": (
        LOSS + "d = {'a': loss}\nn.other = F.mse_loss(model(y), x)\nsum(d.values()).backward()\nkept.append(n.other)",
        False,
    ),
    "a leaf": ("loss = nn.Parameter(x).sum()\nloss.backward()\nkept.append(loss)", False),
    "a product with a leaf": ("loss = (nn.Parameter(x) * 2).sum()\nloss.backward()\nkept.append(loss)", True),
}


@pytest.mark.parametrize(("body", "spent"), FREED.values(), ids=FREED)
def test_what_is_freed(body: str, spent: bool) -> None:
    text = loop(body)
    after = loop(re.sub(r"kept.append\((x\.)?loss\)", r"kept.append(\1loss.detach())", body))
    assert fixed(text, codes="TLK402") == (after if spent else text)


WALKS = (
    "d = {{'a': F.mse_loss(model(x), y)}}\nsum(d.values()).backward()\nfor value in d.{}():\n"
    "    print(value.sigmoid())\n    kept.append({})"
)


@pytest.mark.parametrize(("method", "spent"), [("values", True), ("states", False)])
def test_what_is_gone_through_in_a_dict(method: str, spent: bool) -> None:
    value = "value if n else d['a'].sigmoid()"
    after = f"({value}).detach()" if spent else value
    assert fixed(loop(WALKS.format(method, value)), codes="TLK402") == loop(WALKS.format(method, after))


HELPER = """\
{}def helper(model, x):
    loss = F.mse_loss(model(x), x)
    loss.backward()
    {}
"""
GIVES = {
    "one of two": ("", "return x, loss", "first, spent", True),
    "behind some": ("", "return *[model(z) for z in x], loss, x", "first, spent, *rest", False),
    "behind some that are unpacked": ("", "return *[model(z) for z in x], loss, x", "first, spent, a, b", False),
    "behind what a rest takes": ("", "return x, loss, model(x).mean()", "*first, spent", False),
    "one that is not there": ("", "return x, loss", "first, second, spent", False),
    "by a generator": ("", "yield model(x)\n    yield model(x)\n    return x, loss", "first, spent", False),
    "at times nothing": ("", "if x is None:\n        return\n    return x, loss", "first, spent", False),
    "by a decorator": ("@twice\n", "return x, loss", "first, spent", False),
}


@pytest.mark.parametrize(("decorator", "end", "target", "spent"), GIVES.values(), ids=GIVES)
def test_what_a_function_gives_that_has_spent_it(decorator: str, end: str, target: str, spent: bool) -> None:
    body = target + " = helper(model, x)\nkept.append(spent.sigmoid(){})"
    helper = HELPER.format(decorator, end)
    after = ".detach()" if spent else ""
    assert fixed(loop(body.format(""), helper), codes="TLK402") == loop(body.format(after), helper)


NETWORK = """\
class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.ones(3))
    def forward(self, x):
        return {}
"""
NETWORKS = {
    "a product": ("x * self.bias", "network(x)", True),
    "a sum": ("x + self.bias", "network(x)", False),  # can be differentiated again and again
    "a sum, by its name": ("x + self.bias", "network.forward(x)", False),
}


@pytest.mark.parametrize(("result", "call", "spent"), NETWORKS.values(), ids=NETWORKS)
def test_a_network_in_reach(result: str, call: str, spent: bool) -> None:
    body = f"network = Network()\nloss = {call}.sum()\nloss.backward()\nkept.append(loss{{}})"
    network = NETWORK.format(result)
    after = ".detach()" if spent else ""
    assert fixed(loop(body.format(""), network), codes="TLK402") == loop(body.format(after), network)


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


TRAINER = """\
class Trainer:
    def __init__(self, model):
        self.model, self.kept = model, []
        {init}
    def reset(self, x):
        self.last = x
    def step(self, x, y):
        {step}
    def keep(self, x, y):
        {keep}
    def fit(self, loader):
        for x, y in loader:
            self.step(x, y)
            self.keep(x, y)
"""
MADE = "self.loss = F.mse_loss(self.model(x), y)"
ENDED = "self.loss.backward(); self.kept.append(self.loss)"
BOUND = "loss = F.mse_loss(self.model(x), y); self.last = loss; "
ATTRIBUTES = {
    "made elsewhere": ("pass", MADE, ENDED, True),
    "made elsewhere, or a leaf": ("self.loss = torch.ones((), requires_grad=True)", MADE, ENDED, False),
    "bound by others": ("pass", BOUND + "self.last.backward(); self.reset(x); self.kept.append(loss)", "pass", True),
    "bound by nobody else": (
        "pass",
        "loss = F.mse_loss(self.model(x), y); self.own = loss; self.reset(x); self.own.backward(); "
        "self.kept.append(loss)",
        "pass",
        True,
    ),
    "differentiated at times, behind": (
        "pass",
        "loss = F.mse_loss(self.model(x), y); self.kept.append(loss)\n        if x: loss.backward()",
        "pass",
        False,
    ),
    "perhaps another": ("pass", BOUND + "self.reset(x); self.last.backward(); self.kept.append(loss)", "pass", False),
    "differentiated by an engine, perhaps": (
        "pass",
        "out = self.model(x).outs; out.backward(y); self.kept.append(out.sigmoid())",
        "pass",
        False,
    ),
}


@pytest.mark.parametrize(("init", "step", "keep", "spent"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes_that_several_methods_see(init: str, step: str, keep: str, spent: bool) -> None:
    text = TRAINER.format(init=init, step=step, keep=keep)
    after = text.replace("append(self.loss)", "append(self.loss.detach())").replace(
        "append(loss)", "append(loss.detach())"
    )
    assert fixed(text, codes="TLK402") == (after if spent else text)


LIGHTNING = """\
import lightning as L
class Module(L.LightningModule):
    def training_step(self, x, y):
        out = self.model(x).sigmoid()
        loss, other = F.mse_loss(self.model(x), y), F.mse_loss(self.model(y), x)
        self.kept.append({})
        return {{"other": other, "loss": loss}}
"""


@pytest.mark.parametrize(("value", "spent"), [("loss", True), ("other", False)])
def test_lightning_differentiates_the_loss_of_a_dict(value: str, spent: bool) -> None:
    after = f"{value}.detach()" if spent else value
    assert fixed(LIGHTNING.format(value), codes="TLK402") == LIGHTNING.format(after)


GLOBAL = """\
kept = []
def step(model, x, y):
    loss = F.mse_loss(model(x), y)
    kept.append({})
    {}
    loss.backward()
def train(model, loader):
    for x, y in loader:
        step(model, x, y)
"""


@pytest.mark.parametrize(("between", "spent"), [("print(x)", True), ("others(x)", False)])
def test_a_global_that_others_may_differentiate_before(between: str, spent: bool) -> None:
    after = "loss.detach()" if spent else "loss"
    assert fixed(GLOBAL.format("loss", between), codes="TLK402") == GLOBAL.format(after, between)


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
