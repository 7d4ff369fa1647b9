"""Following a program: which parts of batches are tensors, what is certain, and where both looks disagree."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import Any

import pytest

from flake8_torchleak.finding import Severity
from tests.kept import findings, marked, program, reported

KEEP = "def keep(store, value): store.append(value)\n"
NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
    def forward(self, x, y):
        out = self.fc(x)
        return {"loss": nn.functional.mse_loss(out, y), "out": out, "logs": {"n": out.mean()}}
"""


def batches(body: str, given: str = "batch", above: str = KEEP) -> str:
    """A loop over a DataLoader that a parameter is, whatever puts its batches together."""
    head = f"{above}\ndef fit(train_loader, kept, net=nn.Identity()):\n    for {given} in train_loader:\n"
    return program(head + indent(body, " " * 8))


def workers(body: str, more: str = "num_workers=2") -> str:
    """A loop over a DataLoader with workers that the program makes."""
    return program(f"{KEEP}\ndef fit(rows, kept):\n    for batch in DataLoader(rows, {more}):\n{indent(body, ' ' * 8)}")


PARTS: dict[str, str] = {
    # -- by the loader ------------------------------------------------------------------------------------------
    "of workers": workers("keep(kept, batch)  # TLK404"),
    "an entry, of workers": workers("keep(kept, batch['blob'])  # TLK404"),
    "an entry that is text, of workers": workers("keep(kept, batch['caption'])"),
    "of so many workers as somebody says": workers("keep(kept, batch['blob'])  # TLK404", "num_workers=count"),
    "of no workers": workers("keep(kept, batch['blob'])", "num_workers=0"),
    "of workers that put together what is not seen": workers(
        "keep(kept, batch['blob'])", "num_workers=2, collate_fn=together"
    ),
    # -- by a name ----------------------------------------------------------------------------------------------
    "an entry by its name": batches("keep(kept, batch['image'])  # TLK404"),
    "an entry of no telling name": batches("keep(kept, batch['blob'])"),
    "an entry by its variable": batches("keep(kept, images)  # TLK404", "images, names"),
    "text by its variable": batches("keep(kept, names)", "images, names"),
    "the whole that has a named entry": batches("print(batch['image'])\nkeep(kept, batch)  # TLK404"),
    "an attribute by its name": batches("keep(kept, batch.labels)  # TLK404"),
    "an attribute that is text": batches("keep(kept, batch.file_name)"),
    # -- by a use -----------------------------------------------------------------------------------------------
    "given to a function of torch": batches("torch.relu(batch['blob'])\nkeep(kept, batch['blob'])  # TLK404"),
    "given to a loss": batches("loss = criterion(nn.Linear(2, 1)(a), b)\nkeep(kept, b)  # TLK404", "a, b"),
    "given to a jacobian": batches("torch.autograd.functional.jacobian(net, a)\nkeep(kept, a)  # TLK404", "a, b"),
    "given to a network": batches("nn.Linear(2, 1)(a)\nkeep(kept, a)  # TLK404", "a, b"),
    "beside what is given to a network": batches("nn.Linear(2, 1)(a)\nkeep(kept, b)", "a, b"),
    "the whole whose part is given to a network": batches("nn.Linear(2, 1)(b[0])\nkeep(kept, b)  # TLK404", "b"),
    "a row of what is given to a network": batches("nn.Linear(2, 1)(a)\nkeep(kept, a[0])  # TLK404", "a, b"),
    "a row by a range": batches("print(a[:, 0])\nkeep(kept, a)  # TLK404", "a, b"),
    "a copy by a mask": batches("print(a[:, 0])\nkeep(kept, a[b > 0])", "a, b"),
    "an array of it": batches("keep(kept, a.numpy())  # TLK404", "a, b"),
    "a row of an array of it": batches("for row in a.numpy():\n    keep(kept, row)", "a, b"),
    "moved to the CPU": batches("keep(kept, images.to('cpu'))  # TLK404", "images, names"),
    "moved elsewhere": batches("keep(kept, images.to('cuda'))", "images, names"),
    "extended by what nothing shows": batches("more(kept, a)", "a, b", "def more(store, value): store.extend(value)"),
    "extended by what a use shows": batches(
        "torch.relu(a)\nmore(kept, a)  # TLK404", "a, b", "def more(store, value): store.extend(value)"
    ),
    # -- whatever the loader is called --------------------------------------------------------------------------
    "made in another function": program(
        KEEP + "def make(rows):\n    return DataLoader(rows, num_workers=2)\n"
        "def fit(rows, kept):\n    for b in make(rows):\n        keep(kept, b)  # TLK404"
    ),
    "made in another function, in a comprehension": program(
        "def make(rows):\n    return DataLoader(rows, num_workers=2)\n"
        "def fit(rows):\n    return [b for b in make(rows)]  # TLK404"
    ),
    "drawn one by one": program(
        "def fit(rows, kept):\n    drawn = iter(DataLoader(rows, num_workers=2))\n    while True:\n"
        "        kept.append(next(drawn))  # TLK404"
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_batches(name: str) -> None:
    assert reported(PARTS[name]) == marked(PARTS[name])


@pytest.mark.parametrize("name", ["a row by a range", "a copy by a mask", "an array of it", "moved to the CPU"])
def test_what_is_told_shares_memory_with_the_batch(name: str) -> None:
    torch = pytest.importorskip("torch")
    namespace: dict[str, Any] = {}
    exec(PARTS[name], namespace)
    kept: list[Any] = []
    first, second = torch.rand(4, 3), torch.rand(4)
    namespace["fit"]([(first, second)], kept)
    shared = {first.untyped_storage().data_ptr(), second.untyped_storage().data_ptr()}
    assert (torch.as_tensor(kept[0]).untyped_storage().data_ptr() in shared) is bool(marked(PARTS[name]))


def severity(text: str) -> Severity:
    (found,) = findings(text)
    assert [(found.span.line, found.code)] == marked(text)
    return found.severity


def stepped(kept: str, result: str, loss: str, above: str = "", model: str = "model(x, y)", after: str = "") -> str:
    """A step whose loss is one of several things that a call gives."""
    lines = [
        above,
        "def fit(loader, model, optimizer, criterion):",
        "    kept, total = [], 0",
        "    for i, (x, y) in enumerate(loader):",
        f"        {result} = {model}",
        f"        {loss}.backward()",
        "        optimizer.step()",
        f"        {kept}",
        indent(dedent(after), "        "),
    ]
    return program("\n".join(lines))


PLUS = "def plus(one, other):\n    return one + other\n"
NEW_NET = KEEP + "net = nn.Linear(2, 1)\nweight = nn.Parameter(torch.ones(1))\n"
LATER = "if i % 10 == 0 and i != 0:\n    print(total)\n    total = 0"
ANEW = "if i % 10 == 0:\n    print(total)\n    total = 0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # What a network gives beside its loss are outputs; what these hold may be numbers for a report.
        (stepped("kept.append(out['out'])  # TLK402", "out", "out['loss']"), Severity.ERROR),
        (stepped("kept.append(out['logs']['n'])  # TLK402", "out", "out['loss']"), Severity.NOTE),
        (stepped("kept.append(out)  # TLK402", "loss, out", "loss"), Severity.ERROR),
        # A sum that starts anew now and then, of what was freed, and of what was not.
        (stepped("total += loss  # TLK401", "loss", "loss", model="criterion(model(x), y)", after=ANEW), Severity.NOTE),
        (
            stepped("total += model(x).mean()  # TLK401", "loss", "loss", model="criterion(model(x), y)", after=ANEW),
            Severity.WARNING,
        ),
        # The same, but for the first iteration.
        (
            stepped("total += loss  # TLK401", "loss", "loss", model="criterion(model(x), y)", after=LATER),
            Severity.NOTE,
        ),
        (
            stepped("total += model(x).mean()  # TLK401", "loss", "loss", model="criterion(model(x), y)", after=LATER),
            Severity.WARNING,
        ),
        # The same by helpers.
        (stepped("total = plus(total, net(x))  # TLK401", "loss", "loss", PLUS + NEW_NET), Severity.ERROR),
        (
            stepped("total = plus(total, net(x))  # TLK401", "loss", "loss", PLUS + NEW_NET, after=ANEW),
            Severity.WARNING,
        ),
        (stepped("total = plus(total, weight * i)  # TLK401", "loss", "loss", PLUS + NEW_NET), Severity.ERROR),
        (stepped("keep(kept, logs['n'])  # TLK402", "loss, logs", "loss", NEW_NET, "net(x)"), Severity.NOTE),
        (stepped("keep(kept, logs)  # TLK402", "loss, logs", "loss", NEW_NET, "net(x)"), Severity.ERROR),
    ],
)
def test_severity(text: str, expected: Severity) -> None:
    assert severity(text) is expected


CERTAIN = {
    "summed over a generator": program("""
        def step(model, x, y, optimizer):
            out = model(x, y)
            loss = out.mean()
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            return (out - y).abs().mean()
        def fit(loader, optimizer):
            model = nn.Linear(2, 1)
            total = sum(step(model, x, y, optimizer) for x, y in loader)  # TLK401
            return total
    """),
    "read of a generator": program("""
        def outputs(loader):
            model = nn.Linear(2, 1)
            return (model(x) for x in loader)
        def fit(loader):
            kept = []
            for out in outputs(loader):
                kept.append(out)  # TLK402
            print(len(kept))
    """),
    "of data made in each iteration": program("""
        def sample(model, count):
            kept = []
            model.eval()
            for _ in range(count):
                kept.append(model(torch.randn(4, 2)))  # TLK402
            print(len(kept))
    """),
    "of parts of what a list holds": program("""
        def sample(model):
            kept, rows = [], [{"x": torch.rand(4, 2), "y": 1} for _ in range(100)]
            model.eval()
            for row in rows:
                kept.append(model(row["x"]))  # TLK402
            print(len(kept))
    """),
}


@pytest.mark.parametrize("name", CERTAIN)
def test_what_is_certain(name: str) -> None:
    assert severity(CERTAIN[name]) is not Severity.NOTE


DIFFERENTIATED = {
    "a sum, by a helper": program("""
        def learn(losses, optimizer):
            torch.stack([each.mean() for each in losses]).sum().backward()
            optimizer.step()
        def fit(model, loader, optimizer):
            total = sum(model(x).mean() for x in loader)
            learn([total], optimizer)
    """),
    "rows in records": program("""
        class Store:
            def __init__(self):
                self.rows = []
            def put(self, v):
                self.rows.append({"v": v})
        def fit(model, loader, optimizer):
            store = Store()
            for x in loader:
                store.put(model(x))
            torch.stack([v.mean() for v in [row["v"] for row in store.rows]]).sum().backward()
            optimizer.step()
    """),
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_what_is_differentiated_later(name: str) -> None:
    assert reported(DIFFERENTIATED[name]) == []
