"""More rare ways through the model and through following, each with what looks alike and is fine."""

from __future__ import annotations

import re

import pytest

from flake8_torchleak.finding import Finding, FixLevel, Severity
from flake8_torchleak.lint import lint
from tests.kept import program, training
from tests.test_model_corners import rows

NETWORK = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(2, 2)
    def forward(self, x, h):
        return self.rnn(x, h)

def train(loader):
    net = Net()
    opt = torch.optim.SGD(net.parameters())
    h = (torch.zeros(1, 1, 2), torch.zeros(1, 1, 2))
    for x in loader:
        out, new = net(x, h)
        h = {new}
        out.sum().backward({retain})
        opt.step()
"""
INNER = """\
def train(loader):
    net = nn.GRU(2, 2)
    opt = torch.optim.SGD(net.parameters())
    h = None
    def step(x):
        nonlocal h
        out, new = net(x, h)
        h = {new}{marker}
        return out
    for x in loader:
        step(x).sum().backward()
        opt.step()
"""
STEP = """\
losses = []

def training_step(model, criterion, optimizer, x, y):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append({kept})
    return loss
"""
ALIASED = """\
class Meter:
    def __init__(self):
        self.sum = 0
        self.update = self.add
    def add(self, value):
        self.sum += value
"""
LOG = """\
class Log:
    def __init__(self):
        self.losses = []

{elsewhere}
"""
READ = "def show(log):\n    print(log.losses[0].numpy())"
TRIED = "def show(log):\n    try:\n        print(log.losses[0].numpy())\n    except RuntimeError:\n        pass"
DIFFERENTIATED = "def back(log):\n    torch.autograd.grad(log.losses[0], log.x)"
BUFFER = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))
        self.lin = nn.Linear(1, 1)
    def forward(self, x):
        out = self.lin(x)
        {first}
        {then}
        return out
"""
HANDED = """\
from torch.utils.data import Dataset

class Base(Dataset):
    def __init__(self, rows=()):
        self.rows = rows
    def prepare(self):
        pass
    def __getitem__(self, i):
        return self.rows[i]

class Other(Base):
    def __init__(self, rows):
        {first}

rows = [str(each) for each in open("names")]
loader = DataLoader(Other(rows), num_workers=2)
"""
COLLECT = """\
def collect(data):
    kept = []
    for {batch} in {loader}:
        {step}
    return kept
"""
MOVED = """\
def collect(data):
    kept = []
    for batch in DataLoader(data, num_workers=2):
        for k in {keys}:
            batch[{key}] = batch[{key}].to("cuda")
        kept.append(batch["x"]){marker}
    return kept
"""
RETRIED = """\
def run(loader):
    m0 = nn.Linear(1, 1)
{names}    for x in loader:
        try:
            out = m0(x)
        except RuntimeError as error:
            if "out of memory" in str(error):
                out = m{last}(x){marker}
        yield out
"""


def step(loss: str, kept: str) -> str:
    """A step with its loss made in another way, of which a list that is returned keeps something."""
    return training(kept, after="return kept").replace("loss = criterion(model(x), y)", loss, 1)


def retried(names: int, marker: str = "") -> str:
    """A retry by another name of the network."""
    text = "".join(f"    m{n + 1} = m{n}\n" for n in range(names))
    return program(RETRIED.format(names=text, last=names, marker=marker))


PROGRAMS = {
    "a state in a variable around": program(INNER.format(new="new", marker="  # TLK406")),
    "a state in a variable around, cut": program(INNER.format(new="new.detach()", marker="")),
    "a step that nobody is seen to call": program(STEP.format(kept="loss")).replace("(loss)\n", "(loss)  # TLK402\n"),
    "a step that nobody is seen to call, a number": program(STEP.format(kept="loss.item()")),
    "opened on one more condition": rows("pass")
    .replace(
        "            self.file = h5py.File(self.path)",
        "            if self.n is None:\n                self.file = h5py.File(self.path)",
    )
    .replace("self.path, self.file = path, None", "self.path, self.file, self.n = path, None, None"),
    "opened on one more condition, and closed": rows("self.file.close()", leaks=False)
    .replace(
        "            self.file = h5py.File(self.path)",
        "            if self.n is None:\n                self.file = h5py.File(self.path)",
    )
    .replace("self.path, self.file = path, None", "self.path, self.file, self.n = path, None, None"),
    "a method under another name": training("m.update(loss)  # TLK403", ALIASED, "m = Meter()"),
    "a method under another name, a number": training("m.update(loss.item())", ALIASED, "m = Meter()"),
    "a base's constructor that is not run": program(HANDED.format(first="super().prepare(); self.path = rows[0]")),
    "a base's constructor that is run": program(HANDED.format(first="super().__init__(rows)  # TLK101")),
    "another key is moved": program(MOVED.format(keys="(1,)", key='"y"', marker="  # TLK404")),
    "moved key by key": program(MOVED.format(keys="batch", key="k", marker="")),
    "batches as lists of rows": program(
        COLLECT.format(batch="x, y", loader="DataLoader(data, num_workers=2)", step="kept += list(y)  # TLK404")
    ),
    "batches as lists of numbers": program(
        COLLECT.format(batch="x, y", loader="DataLoader(data, num_workers=2)", step="kept += y.tolist()")
    ),
    "a file's name is not the parameter": program(
        'def run(model, x):\n    for each in []:\n        model = each\n    with open("f") as other:\n        pass\n'
        "    other.register_forward_hook(print)\n    return other(x)"
    ),
    "applied, and something else is": program(
        "def run(model, other, x):\n    def add(module):\n        module.register_forward_hook(print)  # TLK604\n"
        "    other.apply(add, 2)\n    other.apply(print)\n    model.apply(add)\n    return model(x)"
    ),
    "applied to another": program(
        "def run(model, other, x):\n    def add(module):\n        module.register_forward_hook(print)\n"
        "    model.apply(print)\n    return model(x)"
    ),
    "a part of what a model gives": step("loss = model(x).loss.mean()", "kept.append(loss)  # TLK402"),
    "a part of what a model gives, a number": step("loss = model(x).loss.mean()", "kept.append(loss.item())"),
    "one of two that a model gives": step("loss, n = model(x)", "kept.append(loss)  # TLK402"),
    "one of two that a model gives, cut": step("loss, n = model(x)", "kept.append(loss.detach())"),
    "multiplied": training("total *= loss  # TLK401", before="total = 1"),
    "multiplied by a number": training("total *= loss.item()", before="total = 1"),
    "two names of one sum": training("a = b = a + loss  # TLK401", before="a = b = 0"),
    "two names of one sum of numbers": training("a = b = a + float(loss)", before="a = b = 0"),
    "an entry and one of another table": training(
        't["a"] = other.get("a", 0) + loss + t["a"]  # TLK401', before='t, other = {"a": 0}, {}', after="return t"
    ),
    "an entry and one of another table, numbers": training(
        't["a"] = other.get("a", 0) + loss.item() + t["a"]', before='t, other = {"a": 0}, {}', after="return t"
    ),
    "retried by its fourth name": retried(3, "  # TLK408"),
    "retried by a name too far away": retried(4),
    "a buffer, behind a count": program(BUFFER.format(first="self.count += 1", then="self.mean += out  # TLK601")),
    "a buffer, scaled before": program(BUFFER.format(first="self.mean.mul_(0.9)", then="self.mean += out  # TLK601")),
    "a buffer, scaled before, cut": program(BUFFER.format(first="self.mean.mul_(0.9)", then="self.mean += out.data")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_ways(name: str) -> None:
    text = PROGRAMS[name]
    expected = [(at, code) for at, line in enumerate(text.splitlines(), 1) for code in re.findall(r"# (TLK\d+)$", line)]
    found = [(each.span.line, each.code) for each in lint(text, fixes=True)]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("new", "retain", "severity"),
    [
        ("new", "", Severity.NOTE),  # the second backward() would raise: something that is not seen cuts it off
        ("new", "retain_graph=True", Severity.ERROR),
        ("tuple(each.detach() for each in new)", "", None),
    ],
)
def test_a_state_that_the_next_step_would_fail_on(new: str, retain: str, severity: Severity | None) -> None:
    found = lint(program(NETWORK.format(new=new, retain=retain)))
    assert [(each.code, each.severity) for each in found] == ([("TLK406", severity)] if severity else [])


@pytest.mark.parametrize(
    ("elsewhere", "why"),
    [
        (TRIED, "the code tries whether `.numpy()` raises"),
        (DIFFERENTIATED, "`log.losses` can be read by all code that has the object"),
        (READ, "`log.losses` can be read by all code that has the object"),
    ],
    ids=["tried", "differentiated", "read"],
)
def test_what_other_functions_do_with_an_attribute(elsewhere: str, why: str) -> None:
    def found(value: str) -> list[Finding]:
        body = f"value = nn.functional.mse_loss(model(x), y)\nlog.losses.append({value})"
        return lint(training(body, LOG.format(elsewhere=elsewhere), "log = Log()"), fixes=True)

    (kept,) = found("value")
    assert (kept.code, kept.unfixed) == ("TLK402", f"`value` may be differentiated later: {why}")
    assert found("value.item()") == []


@pytest.mark.parametrize(
    "loss",
    [
        "loss = model(x).loss.mean()",
        "loss, n = model(x)",
        "loss = 0\n        for part in model:\n            loss = loss + part(x)\n        loss = loss.mean()",
    ],
)
def test_what_a_model_computed_is_spent(loss: str) -> None:
    text = step(loss, "kept.append(loss)")
    retained = text.replace("backward()", "backward(retain_graph=True)")  # ... left for another pass
    fixes = [
        [f.level for e in lint(each, fixes=True) if e.code == "TLK402" for f in e.fixes] for each in (text, retained)
    ]
    assert fixes == [[FixLevel.SAFE], []]
