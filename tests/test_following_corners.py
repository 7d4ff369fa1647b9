"""Following a program: forms of statements and calls that are rare, and what is asked at the edges."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import pytest

from flake8_torchleak import keepers
from flake8_torchleak.lifetime.frames import FORWARD
from flake8_torchleak.lifetime.values import Atom, Kind
from flake8_torchleak.lifetime.verdict import left
from flake8_torchleak.lint import lint
from tests.kept import grows, marked, program, reported, training
from tests.model import module

KEEP = "def keep(store, value): store.append(value)\n"
OR_NONE = KEEP + "def maybe(v, i):\n    if i % 2:\n        return v\n    return None\n"
BASES = (
    "class Low:\n    def put(self, s, v):\n        s.append(v)\nclass Mid(Low):\n    pass\n"
    "class High(Mid):\n    x, y = [], []\n    def put(self, s, v):\n        super().put(s, v)\n"
)
STATE = """\
def plus(one, other): return one + other
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.h = nn.Linear(2, 1), torch.zeros(1)
    def forward(self, x):
        self.h = plus(self.h, self.fc(x).mean())
        return self.h
"""

PROGRAMS: dict[str, str] = {
    "attributes of a class that are set in pairs": training(
        "Log.rows.append(loss)  # TLK402", "class Log:\n    rows, count = [], 0\n"
    ),
    "a tensor in place that may be something else": training(
        "t = torch.zeros(1) if i % 2 else collections.Counter()\nif i % 2:\n    t.add_(loss)\nkeep(kept, t)  # TLK402",
        KEEP,
    ),
    "the forward pass of a library": training(
        "keep(kept, net.forward(x))  # TLK402", KEEP + "class Net(nn.Linear):\n    pass\n", "kept, net = [], Net(2, 1)"
    ),
    "a decorator of the program that calls a library's": training(
        "keep(kept, loss)  # TLK402", "def same(f):\n    return torch.jit.unused(f)\n@same\n" + KEEP
    ),
    "an entry of a tensor that is made of the last one": training(
        "new = torch.roll(queue, 1)\nnew[0] = loss\nqueue = new  # TLK402", "", "queue = torch.zeros(4)"
    ),
    "the first of a loop that is over": training(
        "for k, v in enumerate(rows):\n    pass\nif k == 0:\n    keep(kept, loss)  # TLK402",
        KEEP,
        "kept, rows = [], [1]",
    ),
    "once in each pass over the data": program("""
        def train(model, loader, criterion, optimizer):
            total = 0
            for epoch in range(100):
                for i, (x, y) in enumerate(loader):
                    STEP
                    if i % 5 == 3:
                        total = total + loss  # TLK401
                        break
    """),
    "an entry that is asked": training(
        "d['v'] = maybe(loss, i)\nif d['v'] is not None:\n    keep(kept, d['v'])  # TLK402", OR_NONE, "d, kept = {}, []"
    ),
    "numbers that are compared": training("if 3 >= 2:\n    keep(kept, loss)  # TLK402", KEEP),
    "the counter of a loop that is over": training(
        "for k, v in enumerate([1, 2]):\n    pass\nif k == 1:\n    keep(kept, loss)  # TLK402", KEEP
    ),
    "the counter of the loop around": training("for k in range(20):\n    if i == 0:\n        keep(kept, loss)", KEEP),
    "whether a stream is a list": training(
        "v = (e for e in [loss])\nif not isinstance(v, list):\n    keep(kept, list(v))  # TLK402", KEEP
    ),
    "what has a graph is no number": training(
        "for v in [loss, i]:\n    if isinstance(v, (float, numbers.Number)):\n        keep(kept, v)",
        "import numbers\n" + KEEP,
    ),
    "what has a graph is of another class": training(
        "for v in [loss, i]:\n    if not isinstance(v, (float, int)):\n        keep(kept, v)  # TLK402", KEEP
    ),
    "left after a few inside": training(
        "n = 0\nwhile True:\n    n += 1\n    if n >= 2:\n        break\nkeep(kept, loss)  # TLK402", KEEP
    ),
    "tried, whatever is raised": training("try:\n    v = loss.item()\nexcept:\n    v = 0\nkeep(kept, v)", KEEP),
    "the first of a sequence": training(
        "match [loss, i]:\n    case [v, *_]:\n        keep(kept, v)  # TLK402\n    case 0:\n        pass", KEEP
    ),
    "updated by step": training("put(kept, i, loss)  # TLK402", "def put(d, k, v): d.update({k: v})", "kept = {}"),
    "letters are added": training("rows += str(i)\nkeep(rows, i)", KEEP, "rows = []"),
    "a part of a network is set": training(
        "parts['a'] = nn.Linear(2, 1)\nkeep(kept, parts['a'](x))  # TLK402", KEEP, "kept, parts = [], nn.ModuleDict()"
    ),
    "of a class two below": training("High().put(kept, loss)  # TLK403", BASES),
    "deleted where it may not be": training(
        "try:\n    del missing\nexcept NameError:\n    pass\na = b = loss\ndel (a, b)\nkeep(kept, i)", KEEP
    ),
    "kept once in a loop inside": training(
        "if i == 3:\n    for k in range(20):\n        keep(kept, loss)\n    break", KEEP
    ),
    "left after going on": training("if i % 2 == 0:\n    continue\nkeep(kept, i)\nbreak", KEEP),
    "fields by names in a list": training(
        "keep(kept, Row(loss, i))  # TLK402", KEEP + "Row = collections.namedtuple('Row', ['v', 'n'])"
    ),
    "fields by names in a text": training(
        "keep(kept, Row(loss, i).n)", KEEP + "Row = collections.namedtuple('Row', 'v, n')"
    ),
    "one of two tensors in place": training(
        "t = torch.zeros(1) if i % 2 else torch.ones(1)\nt.add_(loss)\nkeep(kept, t.detach())", KEEP
    ),
    "second derivatives without gradients": training(
        "with torch.enable_grad():\n    out = criterion(model(x), y) ** 2\nwith torch.no_grad():\n"
        "    keep(kept, torch.autograd.grad(out, list(model.parameters()), create_graph=True))  # TLK402",
        KEEP,
    ),
    "lists in lists in lists": training("keep(kept, [[[[loss]]]])", KEEP, "kept = collections.deque(maxlen=2)"),
    "a base that nothing is known of": training(
        "Log().add(kept, loss)  # TLK403",
        "Base = eval('object')\nclass Log(Base):\n    def add(self, s, v):\n        s.append(v)",
    ),
}

STATIC: dict[str, str] = {
    "what numpy would refuse": training("print(loss.numpy())\nkeep(kept, loss)", KEEP),
    "super outside of classes": training("keep(kept, odd())", KEEP + "def odd():\n    return super().odd()"),
    "keys that are no names": training("keep(kept, i, **{0: loss})", "def keep(s, v, **more): s.append(v)"),
    "a record of what is spread": training(
        "keep(kept, Row(**more).v)", KEEP + "@dataclass\nclass Row:\n    v: Any", "kept, more = [], eval('{}')"
    ),
    "a variable made of itself": training("keep(rows, i)", KEEP + "rows = rows"),
    "a network that makes a step itself": program("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.total = nn.Linear(2, 1), 0
            def forward(self, x):
                out = self.fc(x)
                out.mean().backward()
                return out
    """),
    "a state of a network": training(
        "net(x)",
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.h = torch.zeros(1)\n"
        "    def forward(self, x):\n        self.h = self.h + x.mean()\n        return self.h",
        "net = Net()",
    ),
    "a step of a parameter": program("""
        def one(m, x):
            m.zero_grad()
            m(x).mean().backward()
    """),
    "a framework differentiates a list": program("""
        def fit(loader, trainer, net):
            for x in loader:
                trainer.manual_backward([net(x).mean(), 1])
    """),
    "a closure for what nothing is known of": training(
        "keep(kept, o.step(lambda: loss))", KEEP, "kept, o = [], eval('optimizer')"
    ),
    "in place on what two calls give": training("table()(i).add_(loss)", "", "table = eval('make')"),
    "a state that goes on through a network's own calls": training("net.forward(x)", STATE, "net = Net()"),
    "a state that goes on through an object's own calls": training(
        "net.forward(x)", STATE.replace("nn.Module", "object").replace("mean())", "mean())  # TLK401"), "net = Net()"
    ),
    "deep copies of parts of batches of workers": program("""
        def fit(rows, kept):
            for x, y in DataLoader(rows, num_workers=2):
                one = {"x": x, "more": [y, (x, y)]}
                keep(kept, copy.deepcopy(one))
        def keep(store, value): store.append(value)
    """),
    "copies of what parts of batches are in": program("""
        def fit(rows, kept):
            for x, y in DataLoader(rows, num_workers=2):
                one = {"x": x, "more": [y, (x, y)]}
                keep(kept, copy.copy(one))  # TLK404
        def keep(store, value): store.append(value)
    """),
    "deep copies of lists in themselves": program("""
        def fit(rows, kept):
            for x, y in DataLoader(rows, num_workers=2):
                one, other = [x], []
                other.append(one)
                one.append(other)
                keep(kept, copy.deepcopy(one))
        def keep(store, value): store.append(value)
    """),
    "a deep copy of a record with its history": program("""
        def fit(loader, model, kept):
            for x in loader:
                out = model(x)
                out.mean().backward()
                keep(kept, copy.deepcopy({"out": out}))  # TLK402
        def keep(store, value): store.append(value)
    """),
    "all names of a module": program("from math import *\nfor x, y in train_loader:\n    print(x)"),
}


@pytest.mark.parametrize("name", [*PROGRAMS, *STATIC])
def test_corners(name: str) -> None:
    text = {**PROGRAMS, **STATIC}[name]
    assert reported(text) == marked(text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_expected_is_what_torch_keeps(name: str) -> None:
    pytest.importorskip("torch")
    assert grows(PROGRAMS[name]) is bool(marked(PROGRAMS[name]))


def test_what_the_caller_of_a_network_gave_is_the_callers() -> None:
    """A dict of states that is handed in."""
    ours, theirs = ast.parse("self.states").body[0], ast.arg("states")

    def kept(**given: object) -> Any:
        known = {"how": "store", "is_graph": True, "sites": set(), "inner": frozenset(), "dead": False, "parts": set()}
        loop = SimpleNamespace(step=FORWARD, trains=False)
        return SimpleNamespace(
            **{
                "holders": frozenset(),
                "ids": frozenset(),
                "target": None,
                "places": frozenset(),
                "calls": (),
                "owner": "Net",
                "loop": loop,
                "value": Atom(Kind.TENSOR),
                **known,
                **given,
            }
        )

    told = [kept(ids=frozenset({ours})), kept(how="sum", target=ast.Name("mean"))]
    callers = [kept(ids=frozenset({theirs}))]
    seen = SimpleNamespace(
        read_back=set(),
        read_later=set(),
        refused=set(),
        unhooked=set(),
        escaped=set(),
        spent=set(),
        plain=set(),
        history=lambda atom: atom.parts,
    )
    run: Any = SimpleNamespace(keeper=SimpleNamespace(found=[*told, *callers]), seen=seen)
    assert left(run) == told
    # A helper of another file keeps it: what is asked of the linted one is asked of the call.
    linted = module("class Net:\n    def forward(self, x):\n        keep(self, x)\n")
    (call,) = linted.tree.all(ast.Call)
    assert not keepers.is_let_go(linted, kept(at=ast.Pass(), node=call))


@pytest.mark.parametrize(
    "update",
    [
        "mean = 0.9 * self.mean + 0.1 * y.mean()",
        "mean = self.mean; mean = 0.9 * mean + 0.1 * y.mean()",
        "mean = self.mean; mean += y.mean()",
        "mean = self.mean; mean = torch.cat((mean, y))",
    ],
)
def test_a_networks_own_state_goes_on_through_a_variable(update: str) -> None:
    """The variable is gone with each call; what it is of is not."""
    text = program(f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.project, self.mean, self.count = nn.Linear(8, 8), 0, 0

            def forward(self, x):
                y = self.project(x)
                self.count += y.size(0)
                {update}
                self.mean = mean
                return y
    """)
    assert [each.code for each in lint(text)] == ["TLK601"]
