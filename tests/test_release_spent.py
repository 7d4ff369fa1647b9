"""What is spent and what is not: a value differentiated once, for sure, may be released whoever gets its holder."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from flake8_torchleak.model.release.paths import Paths, Wanted
from flake8_torchleak.model.tree import Tree
from tests.fixer import fixed
from tests.test_bounds import calls
from tests.test_release_escapes import ALL

HELPERS = """\
import contextlib
from mylib import Accelerator, maybe, prune, optimise
@maybe
def maybe_update(loss):
    loss.backward()
async def async_update(loss):
    loss.backward()
def may_update(loss, flag):
    if flag:
        loss.backward()
def early(loss, flag):
    if flag:
        return
    loss.backward()
def rebinding(loss):
    loss = loss.detach().requires_grad_()
    loss.backward()
def gen(loss):
    yield
    loss.backward()
def retaining(loss):
    loss.backward(retain_graph=True)
if optimise:
    def twice(loss):
        pass
else:
    def twice(loss):
        loss.backward()
def replaced(loss):
    loss.backward()
replaced = maybe(replaced)
"""
LOOP = """\
def train(model, net, loader, opt, flag, device):
    kept = []
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        other = F.mse_loss(net(x), y)
"""


def handed(step: str) -> str:
    """A loop with these statements, whose list goes to code that nobody can see."""
    lines = "".join(f"        {line}\n" for line in step.splitlines())
    return f"{HELPERS}{LOOP}{lines}    optimise(opt, kept)\n"


LIVE = {
    "an element that is set between": "two = [loss, other]\ntwo[0].backward()\ntwo[0] = other\nkept.append(two[0])",
    "an element of a tensor that is set between": (
        "two = torch.stack([loss, other])\ntwo[0].backward()\ntwo[0] = other\nkept.append(two[0])"
    ),
    "retain": "loss.backward(retain_graph=True)\nkept.append(loss)",
    "retain flag": "loss.backward(retain_graph=flag)\nkept.append(loss)",
    "retain pos": "loss.backward(None, True)\nkept.append(loss)",
    "kw": "loss.backward(**flag)\nkept.append(loss)",
    "create": "loss.backward(create_graph=True)\nkept.append(loss)",
    "inputs": "loss.backward(inputs=[x])\nkept.append(loss)",
    "cond": "if flag: loss.backward()\nkept.append(loss)",
    "cond after": "kept.append(loss)\nif flag: loss.backward()",
    "continue": "kept.append(loss)\nif flag: continue\nloss.backward()",
    "try": "try:\n    loss.backward()\nexcept RuntimeError:\n    pass\nkept.append(loss)",
    "try2": "try:\n    kept.append(loss)\n    loss.backward()\nexcept RuntimeError:\n    pass",
    "suppress": "with contextlib.suppress(RuntimeError):\n    loss.backward()\nkept.append(loss)",
    "rebound": "kept.append(loss)\nloss = other\nloss.backward()",
    "and": "flag and loss.backward()\nkept.append(loss)",
    "ternary": "loss.backward() if flag else None\nkept.append(loss)",
    "lambda": "f = lambda: loss.backward()\nkept.append(loss)",
    "either": "(loss if flag else other).backward()\nkept.append(loss)",
    "either2": "total = loss if flag else other\ntotal.backward()\nkept.append(loss)",
    "zeros": "(torch.zeros_like(loss) + other).backward()\nkept.append(loss)",
    "argmax": "(torch.argmax(loss) + other).backward()\nkept.append(loss)",
    "detached": "(loss.detach() + other).backward()\nkept.append(loss)",
    "item": "(loss.item() + other).backward()\nkept.append(loss)",
    "torchdetach": "(torch.detach(loss) + other).backward()\nkept.append(loss)",
    "tensor": "(torch.tensor(loss) + other).backward()\nkept.append(loss)",
    "astensor": "(torch.isnan(loss) + other).backward()\nkept.append(loss)",
    "round": "(torch.is_tensor(loss) + other).backward()\nkept.append(loss)",
    "compare": "((loss > 0) * other).backward()\nkept.append(loss)",
    "shape": "(loss.shape[0] * other).backward()\nkept.append(loss)",
    "data": "(loss.data + other).backward()\nkept.append(loss)",
    "no grad": "with torch.no_grad():\n    a = loss * 2\n(a + other).backward()\nkept.append(loss)",
    "no grad2": (
        "with torch.no_grad():\n    total = loss + other\ntotal.requires_grad_()\ntotal.backward()\nkept.append(loss)"
    ),
    "out part": "out = model(x)\nout[0].mean().backward()\nkept.append(out[1].sigmoid())",
    "dict part": "out = model(x)\nout['a'].mean().backward()\nkept.append(out['b'].sigmoid())",
    "unpacked": "a, b = model(x)\na.mean().backward()\nkept.append(b.sigmoid())",
    "list part": "pair = [loss, other]\npair[0].backward()\nkept.append(pair[1].mean())",
    "linear": "w = model.weight.sum()\nw.backward()\nkept.append(w)",
    "linear2": "w = sum(p.sum() for p in model.parameters())\nw.backward()\nkept.append(w)",
    "linear3": "w = torch.trace(model.weight)\nw.backward()\nkept.append(w)",
    "linear4": "w = torch.diag(model.weight).sum()\n(w + loss).backward()\nkept.append(w)",
    "tril": "w = torch.tril(model.weight).sum()\n(w + loss).backward()\nkept.append(w)",
    "engine": "eng = Accelerator()\neng.backward(loss)\nkept.append(loss)",
    "unknown engine": "net.backward(loss)\nkept.append(loss)",
    "scale": "opt.scale(loss).backward()\nkept.append(loss)",
    "decorated": "maybe_update(loss)\nkept.append(loss)",
    "async": "async_update(loss)\nkept.append(loss)",
    "helper if": "may_update(loss, flag)\nkept.append(loss)",
    "helper return": "early(loss, flag)\nkept.append(loss)",
    "helper rebinds": "rebinding(loss)\nkept.append(loss)",
    "helper gen": "gen(loss)\nkept.append(loss)",
    "redefined": "twice(loss)\nkept.append(loss)",
    "redefined2": "replaced(loss)\nkept.append(loss)",
    "helper retain": "retaining(loss)\nkept.append(loss)",
    "other iteration": "for z in loader:\n    loss = F.mse_loss(model(z), y)\n    kept.append(loss)\nloss.backward()",
    "break": "for z in loader:\n    if flag: break\n    loss.backward()\n    break\nkept.append(loss)",
    "while": "while flag:\n    loss.backward()\n    break\nkept.append(loss)",
    "match": "match flag:\n    case 1: loss.backward()\nkept.append(loss)",
    "set_grad neg": (
        "with torch.set_grad_enabled(flag):\n    l = F.mse_loss(model(x), y)\nif not flag: l.backward()\nkept.append(l)"
    ),
    "set_grad reb": (
        "with torch.set_grad_enabled(flag):\n"
        "    l = F.mse_loss(model(x), y)\nflag = y\nif flag: l.backward()\nkept.append(l)"
    ),
    "aug": "loss -= other\nloss.backward()\nkept.append(other)",
    "sum of comp if": "d = [loss, other]\nsum(v for v in d if flag).backward()\nkept.append(loss)",
    "sum half": "d = [loss, other]\nsum(d[:1]).backward()\nkept.append(other)",
    "dict changed": (
        "d = {'a': loss, 'b': other}\nd['a'] = F.mse_loss(x, y)\nsum(d.values()).backward()\nkept.append(loss)"
    ),
    "dict popped": "d = {'a': loss, 'b': other}\nd.pop('a')\nsum(d.values()).backward()\nkept.append(loss)",
    "dict del": "d = {'a': loss, 'b': other}\ndel d['a']\nsum(d.values()).backward()\nkept.append(loss)",
    "dict helper": "d = {'a': loss, 'b': other}\nprune(d)\nsum(d.values()).backward()\nkept.append(loss)",
    "list cleared": "d = [loss]\nd.append(other)\nd.remove(loss)\nsum(d).backward()\nkept.append(loss)",
    "attr": "opt.loss = loss\nopt.refresh()\nopt.loss.backward()\nkept.append(loss)",
    "stack detach": "torch.stack([loss.detach(), other]).sum().backward()\nkept.append(loss)",
    "second arg": "F.mse_loss(other, loss).backward()\nkept.append(loss)",
    "where": "torch.where(loss > 0, other, other).backward()\nkept.append(loss)",
    "gan": "fake = net(x)\nF.mse_loss(fake.detach(), y).backward()\nkept.append(fake.sigmoid())",
    "cross": "F.cross_entropy(other, loss).backward()\nkept.append(loss)",
    "pop between": "kept.append(loss)\nkept.pop().backward(retain_graph=True)\nloss.backward()",
    "len": "(len(loss) * other).backward()\nkept.append(loss)",
    "walrus": "(z := loss)\nother.backward()\nkept.append(z)",
    "int": "(loss.int() + other).backward()\nkept.append(loss)",
    "bool": "(loss.to(torch.int64) + other).backward()\nkept.append(loss)",
    "index": "other[loss].backward()\nkept.append(loss)",
    "backward else": "for z in loader: pass\nelse: loss.backward()\nkept.append(loss)",
    "exp": "opt.hook(loss.backward)\nkept.append(loss)",
    "method ref": "loss.backward\nkept.append(loss)",
}


def some(steps: dict[str, str]) -> list[Any]:
    """All, in short runs every third: each is fixed at both levels, in a text with all the helpers."""
    marks = [pytest.mark.long, pytest.mark.watched]
    return [
        pytest.param(step, id=name, marks=marks[: 2 * (number % 3 > 0)])
        for number, (name, step) in enumerate(steps.items())
    ]


@pytest.mark.parametrize("step", some(LIVE))
def test_what_may_be_differentiated_again_is_live(step: str) -> None:
    text = handed(step)
    assert fixed(text, codes=ALL) == text
    kept = [line for line in text.splitlines() if "kept." in line]
    assert [line for line in fixed(text, unsafe=True, codes=ALL).splitlines() if "kept." in line] == kept


SPENT = {
    "before": "loss.backward()\nkept.append(loss)",
    "after": "kept.append(loss)\nloss.backward()",
    "after, past idle calls": "kept.append(loss)\nprint(flag)\nopt.zero_grad()\nloss.backward()",
    "in a branch with its store": "if flag:\n    loss.backward()\n    kept.append(loss)",
    "in both branches": "if flag:\n    loss.backward()\nelse:\n    (loss * 2).backward()\nkept.append(loss)",
    "or no store": "loss_ = loss\nif flag:\n    raise ValueError\nloss_.backward()\nkept.append(loss_)",
    "in a with": "with torch.autograd.detect_anomaly():\n    loss.backward()\nkept.append(loss)",
    "in a finally": "try:\n    print(1)\nfinally:\n    loss.backward()\nkept.append(loss)",
    "in a try whose handler raises": (
        "try:\n    loss.backward()\nexcept RuntimeError:\n    raise\nelse:\n    print(1)\nkept.append(loss)"
    ),
    "options that are off": "loss.backward(retain_graph=False, create_graph=None)\nkept.append(loss)",
    "a gradient": "loss.backward(torch.ones(()))\nkept.append(loss)",
    "a gradient by name": "loss.backward(gradient=None)\nkept.append(loss)",
    "torch.autograd.backward": "torch.autograd.backward([loss, other])\nkept.append(loss)",
    "its mean": "loss.mean().backward()\nkept.append(loss)",
    "half of it": "kept.append(loss / 2)\nloss.backward()",
    "negated": "(-loss).backward()\nkept.append(loss)",
    "a sum": "(loss + other).backward()\nkept.append(loss)",
    "a sum of tensors": "torch.stack([loss, other]).sum().backward()\nkept.append(loss)",
    "the sum of a list": "both = [loss, other]\nsum([loss, other]).backward()\nkept.append(loss)",
    "a name for a sum": "total = loss + other\ntotal.backward()\nkept.append(loss)",
    "a sum in steps": "total = loss\ntotal += other\ntotal.backward()\nkept.append(other)",
    "named on the way": "(total := loss + other).backward()\nkept.append(loss)",
    "the sum of a dict": (
        "d = {'a': loss, 'b': other}\n"
        "sum(d.values()).backward()\nfor key, value in d.items():\n    kept.append(value.sigmoid())"
    ),
    "the values of a dict": (
        "d = {'a': loss, 'b': other}\nsum(v for v in d.values()).backward()\nfor value in d.values():\n"
        "    kept.append(value.sigmoid())"
    ),
    "an entry of a dict": (
        "d = {'a': loss, 'b': other}\nsum(list(d.values())).backward()\nkept.append(d['a'].sigmoid())"
    ),
    "an attribute": "opt.loss = loss * 2\nopt.loss.backward()\nkept.append(loss)",
    "of an attribute": "opt.loss = loss * 2\nopt.loss.backward()\nkept.append(opt.loss)",
    "a subscript": "d = {'a': loss * 2}\nd['a'].backward()\nkept.append(d['a'].sigmoid())",
    "moved": "kept.append(loss.to(device).cpu())\nloss.backward()",
    "a torch function of it": "kept.append(torch.exp(loss))\nloss.backward()",
    "either of two": "loss.backward()\nother.backward()\nkept.append(loss if flag else other)",
    "a loss of it": "out = model(x)\nF.mse_loss(out, y).backward()\nkept.append(out.sigmoid())",
    "scaled": "scaler = torch.cuda.amp.GradScaler()\nscaler.scale(loss).backward()\nkept.append(loss)",
    "scaled by what is updated": "opt.scaler.scale(loss).backward()\nopt.scaler.update()\nkept.append(loss)",
    "scaled by apex": "with amp.scale_loss(loss, opt) as scaled:\n    scaled.backward()\nkept.append(loss)",
    "an engine": "engine = accelerate.Accelerator()\nengine.backward(loss)\nkept.append(loss)",
    "a helper": "replace(opt, loss)\nkept.append(loss)",
    "a helper of a helper": "outer(loss)\nkept.append(loss)",
    "out of a helper": "spent = give(model, x)\nkept.append(spent)",
    "one of two of a helper": "spent, out = both(model, x)\nkept.append(spent.sigmoid())",
    "under a flag": (
        "with torch.set_grad_enabled(flag):\n"
        "    l = F.mse_loss(model(x), y)\nif flag:\n    l.backward()\nkept.append(l)"
    ),
    "a product of leaves": "w = (model.weight * model.bias).sum()\nw.backward()\nkept.append(w)",
    "raises anyway": "(loss // 1 + other).backward()\nkept.append(loss)",
}
ENDS = """\
import accelerate
from apex import amp
def replace(opt, objective):
    objective.backward()
    opt.step()
def outer(loss):
    replace(None, objective=loss)
def give(model, x):
    loss = F.mse_loss(model(x), x)
    loss.backward()
    return loss
def both(model, x):
    loss = F.mse_loss(model(x), x)
    loss.backward()
    return loss, x
"""


@pytest.mark.parametrize("step", some(SPENT))
def test_what_can_never_be_differentiated_again_is_released(step: str) -> None:
    text = ENDS + handed(step)
    after = fixed(text, codes=ALL)
    assert "kept.append(" in after
    assert after != text
    changed = [line for line in after.splitlines() if line not in text.splitlines()]
    assert all(line.strip().startswith("kept.append(") and "detach()" in line for line in changed)


def test_nothing_runs_behind_a_way_out() -> None:
    body = ast.parse("def f():\n    a()\n    raise E\n    b()\n    c()\n")
    tree = Tree(body)
    first, out, second, last = body.body[0].body  # type: ignore[attr-defined]
    paths = Paths(tree)
    assert paths.runs_before(second, Wanted(frozenset({last})))
    assert not paths.runs_before(first, Wanted(frozenset({last})))
    assert paths.runs_after(first, Wanted(frozenset({last}))) is out


def test_losses_that_are_freed_and_kept_take_time_that_grows_with_their_number() -> None:
    def work(count: int) -> int:
        step = "".join(
            f"l{n} = F.mse_loss(model(x * {n}), y)\nl{n}.backward()\nkept.append(l{n})\n" for n in range(count)
        )
        return calls(handed(step))

    few, some, many = work(20), work(35), work(50)  # from where values are cut to what is remembered
    assert many - some <= 1.01 * (some - few)


NETWORK = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
    def forward(self, x):
        out = self.a(x)
        return {}
def train(loader, opt):
    net, kept = Net(), []
    for x in loader:
        shown, loss = net(x)
        loss.backward()
        kept.append(loss)
    return kept
"""


@pytest.mark.parametrize(
    ("given", "spends"),
    [
        ("x, (out * out).mean()", True),
        ("x, out + x", True),  # nn.Linear saves its input
        ("(out * out).mean(), x + x", False),
        ("x, *[(out * out).mean()]", False),
        ("(out * out).mean()", False),
    ],
)
def test_the_part_that_a_network_gives(given: str, spends: bool) -> None:
    text = NETWORK.format(given)
    assert ("loss.detach()" in fixed(text, codes=("TLK402",))) is spends


@pytest.mark.parametrize(
    ("given", "kept", "spends"), [("loss", "loss", True), ("y, loss", "loss", False), ("loss", "other", False)]
)
def test_a_helper_that_may_differentiate_more_than_it_is_given(given: str, kept: str, spends: bool) -> None:
    text = (
        "def step(loss, extra=None):\n    loss.backward()\n    if extra is not None:\n        extra.backward()\n"
        "def train(model, loader, board):\n    kept = []\n    for x, y in loader:\n"
        "        loss, other = F.mse_loss(model(x), y), F.l1_loss(model(x), y)\n"
        f"        step({given})\n        kept.append({kept})\n    board.show(kept)\n"
    )
    assert (f"{kept}.detach()" in fixed(text, codes=("TLK402",))) is spends
