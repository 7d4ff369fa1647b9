"""Following a program through other files of its project, and where following ends: budget, depth, alternatives."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.fixing.fix import fix
from flake8_torchleak.lifetime.follow import followed, forget
from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty
from flake8_torchleak.model.files import File
from flake8_torchleak.model.module import Module
from flake8_torchleak.source import Source, parse
from tests.kept import marked, program, reported, training

HELPERS = """\
import collections
from typing import Any, NamedTuple
from .inner import put as keep_there, Base
from . import inner as below

def keep(store, value):
    store.append(value)

def let_go(store, value):
    store.append(value.item())

def keep_below(store, value):
    keep_there(store, value)

def keep_by_module(store, value):
    below.put(store, value)

def same(value):
    return value

class Log:
    def __init__(self):
        self.rows = []
    def add(self, value):
        self.rows.append(value)
    @property
    def last(self):
        return self.rows[-1]

class Short(Base):
    pass

class Row(NamedTuple):
    value: Any
    count: int = 0

everything = []
some: Any = collections.deque(maxlen=3)
Pair = collections.namedtuple("Pair", "first second")

def long(store, value):
    lines = []
{long}
    store.append(value)
    return lines
"""
INNER = """\
import collections

def put(store, value):
    store.append(value)

class Base:
    def __init__(self):
        self.rows = collections.deque(maxlen=3)
    def add(self, value):
        self.rows.append(value)
"""


@pytest.fixture(autouse=True)
def _fresh() -> None:
    firstparty.forget()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package `work` with helpers in two modules."""
    package = tmp_path / "work"
    package.mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'work'\n", encoding="utf-8")
    (package / "__init__.py").write_text("from work.helpers import Pair\n", encoding="utf-8")
    long = "\n".join(f"    lines.append('row {n}')" for n in range(60))
    (package / "helpers.py").write_text(HELPERS.replace("{long}", long), encoding="utf-8")
    (package / "inner.py").write_text(INNER, encoding="utf-8")
    return package


@pytest.mark.parametrize(
    ("imported", "body", "before"),
    [
        ("from work.helpers import keep", "keep(kept, loss)  # TLK402", ""),
        ("from .helpers import keep", "keep(kept, loss)  # TLK402", ""),
        ("from work import helpers", "helpers.keep(kept, loss)  # TLK402", ""),
        ("import work.helpers", "work.helpers.keep(kept, loss)  # TLK402", ""),
        ("import work.helpers as h", "h.keep(kept, loss)  # TLK402", ""),
        ("from work.helpers import let_go", "let_go(kept, loss)", ""),
        ("from work.helpers import keep", "keep(kept, i)", ""),
        ("from work.helpers import keep_below", "keep_below(kept, loss)  # TLK402", ""),
        ("from work.helpers import keep_by_module", "keep_by_module(kept, loss)  # TLK402", ""),
        ("from work.helpers import same, keep", "keep(kept, same(loss))  # TLK402", ""),
        ("from work.helpers import same, keep", "keep(kept, same(i))", ""),
        ("from work.helpers import Log", "log.add(loss)  # TLK403", "log = Log()"),
        ("from work.helpers import Log", "log.add(loss.item())\nprint(log.last)", "log = Log()"),
        ("from work.helpers import Short", "log.add(loss)", "log = Short()"),
        ("from work.helpers import Row", "kept.append(Row(loss))  # TLK402", ""),
        ("from work.helpers import Row", "kept.append(Row(loss).count)", ""),
        ("from work.helpers import long", "long(kept, loss)  # TLK402", ""),
        ("from work.helpers import long", "long(kept, i)", ""),
        ("from work.helpers import long", "long(kept, lambda: i)", ""),
        ("from work.helpers import absent", "absent(kept, loss)", ""),
        ("from work.helpers import *", "keep(kept, loss)  # TLK402", ""),
        ("from .helpers import *", "log.add(loss)  # TLK403", "log = Log()"),
        ("from work.helpers import *", "let_go(kept, loss)", ""),
        ("from work.helpers import *\ndef keep(store, value): pass", "keep(kept, loss)", ""),
        ("from . import *", "keep(kept, loss)", ""),
        ("from .helpers import *\nfrom .inner import *", "keep(kept, loss)  # TLK402\nput(kept, loss)  # TLK402", ""),
        ("from work.helpers import everything", "everything.append(loss)  # TLK402", ""),
        ("from work.helpers import everything", "everything.append(loss.item())", ""),
        ("from work import helpers", "helpers.everything.append(loss)  # TLK402", ""),
        ("from work.helpers import some", "some.append(loss)", ""),
        ("from work.helpers import Pair", "kept.append(Pair(loss, i))  # TLK402", ""),
        ("from work.helpers import Pair", "kept.append(Pair(loss.item(), i))", ""),
        ("from work import Pair", "kept.append(Pair(loss, i).second)", ""),
    ],
)
def test_helpers_of_other_files(project: Path, imported: str, body: str, before: str) -> None:
    text = training(body, imported, f"kept = []\n{before}")
    path = project / "train.py"
    path.write_text(text, encoding="utf-8")
    assert reported(text, str(path)) == marked(text)


NETWORKS = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
    def forward(self, x):
        return self.fc(x)

class Plain:
    def __call__(self, x):
        return 0

class Trainer:
    def __init__(self, loader, net: Net):
        self.kept = []
        for x in loader:
            loss = net(x).mean()
            loss.backward()
            self.kept.append(loss)
    def run(self):
        pass
"""


@pytest.mark.parametrize(("declared", "found"), [("Net", ["TLK402"]), ("Plain", []), ("Trainer", [])])
def test_parameters_that_are_declared_as_classes_of_other_files(project: Path, declared: str, found: list[str]) -> None:
    """What their constructors keep is reported in their own file."""
    (project / "networks.py").write_text(NETWORKS, encoding="utf-8")
    text = program(f"""
        from work.networks import {declared}
        def keep(store, value): store.append(value)
        def fit(loader, thing: {declared}, optimizer, kept):
            for x in loader:
                keep(kept, thing(x))
                optimizer.step()
    """)
    path = project / "train.py"
    path.write_text(text, encoding="utf-8")
    assert [code for _, code in reported(text, str(path))] == found
    assert [code for _, code in reported(NETWORKS, str(project / "networks.py"))] == ["TLK402"]


KEEP = "def keep(store, value): store.append(value)"


def test_what_was_found_before_the_budget_was_spent_is_reported() -> None:
    levels = "".join(f"def f{n}(v):\n    return [{', '.join([f'f{n + 1}(v)'] * 8)}]\n" for n in range(7))
    later = "def later(model, loader):\n    for x in loader:\n        f0(model(x)).backward()\n"
    text = training("keep(kept, loss)  # TLK402", KEEP) + levels + "def f7(v):\n    return v\n" + later
    assert reported(text) == marked(text)


@pytest.mark.parametrize("deep", ["-" * 400 + "i", "[" * 80 + "i" + "]" * 80, "i" + ".real" * 400])
def test_deep_expressions_end(deep: str) -> None:
    text = training(f"print({deep})\nkeep(kept, loss)  # TLK402", KEEP)
    assert reported(text) == marked(text)


def test_calls_within_calls_end() -> None:
    chain = "".join(f"def f{n}(s, v):\n    f{n + 1}(s, v)\n" for n in range(30))
    text = program(chain + "def f30(s, v):\n    s.append(v)\n") + training("f25(kept, loss)  # TLK402\nf0([], loss)")
    assert reported(text) == marked(text)


@pytest.mark.parametrize("made", ["wrap", "Wrapped"])
def test_an_object_of_another_file_is_not_detached(project: Path, made: str) -> None:
    """It has methods of a tensor's names; what they give is its own affair."""
    (project / "wrapped.py").write_text(
        "class Wrapped:\n    def __init__(self, loss):\n        self.loss = loss\n"
        "    def backward(self):\n        self.loss.backward()\n"
        "    def detach(self):\n        self.loss = self.loss.detach()\n"
        "def wrap(loss):\n    made = [Wrapped(loss)]\n    return made.pop()\n"
    )
    body = f"wrapped = {made}(loss)\nwrapped.backward()\nkept.append(wrapped)"
    text = training(body, f"from work.wrapped import {made}")
    done = fix(text, DEFAULT, False, lambda code: code == "TLK402", str(project / "main.py"))
    (left,) = [each for each in done.left if each.code == "TLK402"]
    assert (done.text, left.unfixed) == (text, "`wrapped` is not proven to be a tensor")


def test_a_batch_that_an_object_of_another_file_keeps(project: Path) -> None:
    """What is kept there is told at the call here: nothing is asked about code that is not the file's."""
    text = training("log.add(y)  # TLK404", "from work.helpers import Log", "log = Log()")
    path = str(project / "main.py")
    assert [(at, code) for at, code in reported(text, path) if code == "TLK404"] == marked(text)


STATEFUL = """\
import torch
from torch import nn

def stateful(step):
    def run(loader):
        h = None
        for x in loader:
            h = step(x, h)
    return run

class Learner:
    def __init__(self, loader):
        net = nn.GRU(2, 2)
        opt = torch.optim.SGD(net.parameters())
        h = None
        for x in loader:
            out, h = net(x, h)
            out.sum().backward(retain_graph=True)
            opt.step()
"""
STEPPED = """\
from work.stateful import Learner, stateful

class Mine(Learner):
    def train(self, model, loader, optimizer):
        for x in loader:
            model(x).sum().backward()
            optimizer.step()

net = nn.GRU(2, 2)
opt = torch.optim.SGD(net.parameters())

@stateful
def step(x, h):
    out, new = net(x, h)
    out.sum().backward(retain_graph=True)
    opt.step()
    return {new}

def main(loader):
    step(loader){marker}
"""


@pytest.mark.parametrize(("new", "marker"), [("new", "  # TLK406"), ("new.detach()", "")])
def test_a_state_that_another_file_carries_on(project: Path, new: str, marker: str) -> None:
    """What a constructor over there keeps is that file's own business."""
    (project / "stateful.py").write_text(STATEFUL, encoding="utf-8")
    text = program(STEPPED.format(new=new, marker=marker))
    path = project / "train.py"
    path.write_text(text, encoding="utf-8")
    found = lint(text, path=str(path), wanted=lambda code: code == "TLK406")
    assert [(each.span.line, each.code) for each in found] == [
        (at, "TLK406") for at, line in enumerate(text.splitlines(), 1) if "# TLK406" in line
    ]


@pytest.mark.parametrize(("body", "found"), [("module.outputs.append(value)", True), ("print(module, value)", False)])
def test_a_network_hands_itself_to_a_helper_that_keeps_its_output(tmp_path: Path, body: str, found: bool) -> None:
    """Nothing in the network's own file sets or changes an attribute outside of the constructor."""
    (tmp_path / "states.py").write_text(f"def remember(module, value):\n    {body}\n")
    text = (
        "import states\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.project = nn.Linear(8, 8)\n        self.outputs = []\n\n"
        "    def forward(self, x):\n        y = self.project(x)\n        states.remember(self, y)\n        return y\n"
    )
    (tmp_path / "net.py").write_text(text)
    told = [(each.code, each.span.line) for each in lint(text, path=str(tmp_path / "net.py"))]
    assert told == [("TLK601", 13)] * found


SCRIPT = """\
import torch.nn.functional as F
from helpers import keep
from plots import Plot, draw

class Chart(Plot):
    pass

{more}
rows = []
for x, y in data:
    loss = F.mse_loss(net(x), y)
    loss.backward()
    keep(rows, loss)
"""


@pytest.mark.parametrize(
    ("more", "needed"),
    [
        ("", {"helpers.py"}),
        ("chart = Chart()", {"helpers.py", "plots.py"}),
        ("try:\n    from plots import legend\nexcept ImportError:\n    legend = None", {"helpers.py", "plots.py"}),
    ],
)
def test_a_file_is_read_where_something_of_it_is_needed(
    more: str, needed: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "helpers.py").write_text("def keep(store, value):\n    store.append(value)\n")
    (tmp_path / "plots.py").write_text("legend = []\nclass Plot:\n    pass\ndef draw(rows):\n    pass\n")
    read: set[str] = set()
    begin = File.__init__

    def noting(self: File, path: str, text: str) -> None:
        read.add(Path(path).name)
        begin(self, path, text)

    monkeypatch.setattr(File, "__init__", noting)
    text = SCRIPT.format(more=more)
    firstparty.forget()
    module = Module(Source(text), parse(text), DEFAULT, str(tmp_path / "main.py"))
    try:
        (kept,) = followed(module).kept
        assert kept.place.path.endswith("helpers.py")
    finally:
        forget(module)
        firstparty.forget()
    assert read == needed


def beside(project: Path, module: str, body: str, before: str) -> tuple[str, str]:
    """Check that a step with this behind it, which a module beside it helps, tells what it marks; its path and text."""
    (project / "helping.py").write_text(module, encoding="utf-8")
    text = training(body, "from work.helping import *", f"kept = []\n{before}")
    path = project / "train.py"
    path.write_text(text, encoding="utf-8")
    assert reported(text, str(path)) == marked(text)
    return str(path), text


DEEP = "".join(
    f"def f{n}(model, x):\n    x = f{n - 1}(model, x)\n    x = f{n - 1}(model, x)\n    return f{n - 1}(model, x)\n\n"
    for n in range(1, 9)
)
MANY = "\n".join(f"        print({n}, model.training, {n} + 1)" for n in range(40))
GENERATING = f"""\
import torch

def f0(model, x):
    return model(x)

{DEEP}
@torch.no_grad()
def generate(model, x):
    return f8(model, x)

def plain(model, x):
    return f8(model, x)

class Meter:
    def __init__(self):
        self.rows = []
    def update(self, value):
        self.rows.append(value)

def update(model, meter, value):
    meter.update(value)

def update_later(then, value):
    then(value)

def pair(model, x):
    return model(x), x

class Tracker:
    def __init__(self):
        self.losses = []
    def flush(self, model, step):
{MANY}
        self.losses.clear()

class Evaluator:
    def __init__(self):
        self.batches = []
    @torch.no_grad()
    def process(self, model, batch):
{MANY}
        self.batches.append(batch)

class Attack:
    def __init__(self):
        self.history = []
    @torch.no_grad()
    def run(self, model, x):
{MANY}
        with torch.enable_grad():
            self.history.append(model(x).mean())

def gather(model, batch, into):
    if True:
{MANY}
    into.append(batch)
"""


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("print(generate(model, x))\nkept.append(loss)  # TLK402", ""),
        ("with torch.no_grad():\n    print(plain(model, x))\nkept.append(loss)  # TLK402", ""),
        ("kept.append(generate(model, x))", ""),
        ("with torch.no_grad():\n    meter.update(loss)  # TLK403", "meter = Meter()"),
        ("with torch.no_grad():\n    update(model, meter, loss)  # TLK403", "meter = Meter()"),
        ("with torch.no_grad():\n    update_later(lambda value: kept.append(value), loss)  # TLK402", ""),
        ("tracker.losses.append(loss)\nwith torch.no_grad():\n    tracker.flush(model, i)", "tracker = Tracker()"),
        ("evaluator.process(model, x)  # TLK404", "evaluator = Evaluator()"),
        ("attack.run(model, x)  # TLK403", "attack = Attack()"),
        ("with torch.no_grad():\n    gather(model, x, kept)  # TLK404", ""),
        ("with torch.no_grad():\n    kept.append(pair(model, x))  # TLK404", ""),
    ],
)
def test_what_runs_a_network_without_gradients_is_not_followed(project: Path, body: str, before: str) -> None:
    """All that it makes has no graph; what is handed to it with one may still be kept there."""
    path, text = beside(project, GENERATING, body, before)
    assert not [each for each in lint(text, path=path) if each.code == "TLK003"]


CHAINS = """\
class Meter:
    def __init__(self):
        self.reset()
    def reset(self):
        self.values = []

class Meters:
    def __init__(self):
        self.all = {"loss": Meter()}
    def reset(self):
        for each in self.all.values():
            each.reset()
    def update(self, key, value):
        self.all[key].values.append(value)

class Logger:
    def __init__(self):
        self.meters = Meters()
    def start(self):
        self.meters.reset()
    def log(self, value):
        self.meters.update("loss", value)

class Tracker:
    def __init__(self):
        self.losses = []
    def reset(self):
        self._reset()
    def _reset(self):
        self._clear()
    def _clear(self):
        self.losses.clear()
"""


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("log.start()\nlog.log(loss)", "log = Logger()"),
        ("log.log(loss)  # TLK403", "log = Logger()"),
        ("tracker.losses.append(loss)\ntracker.reset()", "tracker = Tracker()"),
        ("tracker.losses.append(loss)  # TLK402", "tracker = Tracker()"),
    ],
)
def test_small_methods_below_small_methods(project: Path, body: str, before: str) -> None:
    """Each is followed: what the last one empties is empty."""
    beside(project, CHAINS, body, before)


TRAINING = """\
import torch
from torch import nn

def fit(model, loader, criterion, optimizer, kept=None):
    losses = []
    for x, y in loader:
        loss = criterion(model(x), y); optimizer.zero_grad(); loss.backward(); optimizer.step()
        {store}.append(loss)
    return {given}
"""
MAIN = """\
import torch
from torch.utils.data import DataLoader
from work.training import fit

def main(model, data, criterion, optimizer):
    kept, loader = [], DataLoader(data)
    for epoch in range(999):
        got = fit(model, loader, criterion, optimizer, kept)
        {after}
"""


@pytest.mark.parametrize(
    ("store", "given", "after", "here", "there"),
    [
        ("losses", "None", "pass", [], ["TLK402"]),  # it is over with the call, and told where it is
        ("losses", "len(losses)", "pass", [], ["TLK402"]),
        ("kept", "None", "pass", ["TLK402"], []),  # what is handed over keeps it
        ("losses", "loss", "kept.append(got)", ["TLK402"], ["TLK402"]),
    ],
)
def test_what_a_call_keeps_while_it_runs(
    project: Path, store: str, given: str, after: str, here: list[str], there: list[str]
) -> None:
    training = TRAINING.format(store=store, given=given)
    (project / "training.py").write_text(training, encoding="utf-8")
    main = MAIN.format(after=after)
    path = project / "main.py"
    path.write_text(main, encoding="utf-8")
    assert [code for _, code in reported(main, str(path))] == here
    found = reported(training, str(project / "training.py"))
    assert [code for _, code in found] == (there or [code for _, code in found])
