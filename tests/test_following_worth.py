"""How much is kept: whole graphs for certain, nodes of freed ones, one an epoch; and one finding for one cause."""

from __future__ import annotations

from textwrap import indent

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint
from tests.kept import findings, grows, marked, program, reported, training

KEEP = "def keep(store, value): store.append(value)\n"
NET = "net = nn.Linear(2, 2)"
STEP = "out = net(x)\nloss = nn.functional.mse_loss(out, y)\nopt.zero_grad()\nloss.backward({})\nopt.step()\n"


def step(kept: str, retained: str = "", after: str = "print(len(kept))", step: str = STEP) -> str:
    """A training loop with a network for certain, in which something is kept behind the step."""
    lines = (
        f"{KEEP}def f(loader: DataLoader, opt):\n"
        f"    {NET}\n"
        "    kept, total = [], 0\n"
        "    for x, y in loader:\n"
        f"{indent(step.format(retained), ' ' * 8)}        {kept}\n"
        f"    {after}\n"
    )
    return program(lines)


def epochs(inside: str, behind: str, before: str = "") -> str:
    """Epochs: something done in each step, and something kept behind the last one."""
    lines = (
        f"{KEEP}def f(loader: DataLoader, opt, count):\n"
        f"    {NET}\n"
        "    kept = []\n"
        "    for epoch in range(count):\n"
        f"        total = 0\n{indent(before, ' ' * 8)}\n"
        "        for x, y in loader:\n"
        f"{indent(STEP.format(''), ' ' * 12)}            {inside}\n"
        f"        {behind}\n"
        "    return kept\n"
    )
    return program(lines)


WORTH = {
    "the loss": (step("kept.append(loss)"), ["warning"]),
    "the loss, by a helper": (step("keep(kept, loss)"), ["warning"]),
    "the loss, summed": (step("total += loss"), ["warning"]),
    "the output, of which the loss is made": (step("kept.append(out)"), ["warning"]),
    "what is made of the output": (step("total += (out - y).abs().mean()"), ["warning"]),
    "a second call": (step("kept.append(net(x).mean())"), ["error"]),
    "a second call, by a helper": (step("keep(kept, net(x).mean())"), ["error"]),
    "a second call, returned": (step("kept.append(net(x).mean())", after="return kept"), ["error"]),
    "a second call, by a helper, returned": (step("keep(kept, net(x).mean())", after="return kept"), ["error"]),
    "a second call, handed on": (step("kept.append(net(x).mean())", after="plot(kept)"), ["error"]),
    "the loss whose graph is retained": (step("kept.append(loss)", "retain_graph=True"), ["error"]),
    "the loss whose graph is retained, by a helper": (step("keep(kept, loss)", "retain_graph=True"), ["error"]),
    "the loss whose graph is retained, summed": (step("total += loss", "retain_graph=True"), ["error"]),
    "the loss whose graph is freed later": (
        step("kept.append(loss)", "retain_graph=True", step=STEP + "loss.backward()\n"), ["warning"],
    ),
    "the loss, one an epoch": (epochs("pass", "kept.append(loss)"), ["note"]),
    "the loss, one an epoch, by a helper": (epochs("pass", "keep(kept, loss)"), ["note"]),
    "a sum, one an epoch": (epochs("total += loss", "kept.append(total)"), ["warning", "warning"]),
    "a sum, divided, one an epoch": (epochs("total += loss", "kept.append(total / 10)"), ["warning", "warning"]),
    "a second call, one an epoch": (epochs("pass", "kept.append(net(x).mean())"), ["error"]),
    "the loss of an unknown network": (
        step("kept.append(loss)", step=STEP.replace("net(x)", "run(x)")), ["warning"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WORTH)
def test_how_much_is_kept(name: str) -> None:
    text, expected = WORTH[name]
    assert [each.severity.value for each in findings(text)] == expected


def test_a_sum_that_is_returned_may_be_differentiated() -> None:
    text = program("""
        def f(tasks, steps):
            net, total = nn.Linear(2, 2), 0
            for x, y, z in tasks:
                net(z).sum().backward()
                total = plus(total, nn.functional.mse_loss(net(x), y))
            return total
        def plus(one, other): return one + other
    """)
    assert [each.severity for each in findings(text)] == [Severity.NOTE]


BACK = """
        def f(loader: DataLoader, opt, count):
            net, {} = nn.Linear(2, 2), 0
            for epoch in range(count):
                for i, (x, y) in enumerate(loader):
                    loss = nn.functional.mse_loss(net(x), y)
                    {}
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                    {}
"""


@pytest.mark.parametrize(
    ("adds", "later", "expected"),
    [
        ("total += loss", "if i % 9 == 0 and i != 0: total = 0", ["note"]),
        ("total = total + loss", "if i % 9 == 0 and i: total = 0.0", ["note"]),
        ("total += net(x).mean()", "if i % 9 == 0 and i != 0: total = 0", ["warning"]),
        ("total += loss", "if i % 9 == 0 and i != 0: print(total)", ["warning"]),
        ("total += loss", "if i % 9 == 0 and i != 0: other = 0", ["warning"]),
        ("total += loss", "if i % 9 == 0 and i != 0: total = total / 9", ["warning"]),
    ],
)
def test_sums_that_are_set_back_now_and_then(adds: str, later: str, expected: list[str]) -> None:
    assert [each.severity.value for each in findings(program(BACK.format("total", adds, later)))] == expected


TABLES = """
def f(loader: DataLoader, opt, writer, chunks):
    net = nn.Linear(2, 2)
    drawn, kept = iter(loader), []
    {outside}
    for step in range(1000):
        x, y = next(drawn)
        opt.zero_grad()
        {inside}
        for a, b in chunks(x, y):
            losses = chunks(net(a), b)
            total = 0
            for name, loss in losses.items():
                one = loss.mean()
                total += one / 4
                parts[name] = parts.get(name, 0) + one
            total.backward()
        for name, value in parts.items():
            writer.add_scalar(name, value, step)
        opt.step()
        {after}
def make(): return {{}}
"""


@pytest.mark.parametrize(
    ("outside", "inside", "after", "expected"),
    [
        ("", "parts = {}", "", ["note"]),
        ("", "parts = make()", "", ["note"]),
        ("parts = {}", "", "", ["warning"]),
        ("", "parts = {}", "writer.keep(parts)", ["warning"]),
        ("", "parts = {}\n        kept.append(parts)", "", ["warning"]),
    ],
)
def test_sums_in_a_table_of_one_step(outside: str, inside: str, after: str, expected: list[str]) -> None:
    text = program(TABLES.format(outside=outside, inside=inside, after=after))
    assert [each.severity.value for each in findings(text)] == expected


PIPELINE = """
def f(model, loader, count, receive, send):
    kept, inputs = [], []
    for _ in range(count):
        x = receive()
        batch = next(loader)
        out = model.forward(batch["x"], x)
        inputs.append(x)
        kept.append(out)
    {}
"""
BEHIND = "for _ in range(count):\n        x, out = inputs.pop(0), kept.pop(0)\n        "


@pytest.mark.parametrize(
    ("behind", "count"),
    [
        (BEHIND + "send(model.backward(x, out, receive()))", 0),
        (BEHIND + "model.backward(out)", 0),
        (BEHIND + "out.backward()", 0),
        ("model.backward(x)", 1),
    ],
)
def test_what_is_taken_out_and_differentiated(behind: str, count: int) -> None:
    assert len([each for each in findings(program(PIPELINE.format(behind))) if each.severity > Severity.NOTE]) == count


def test_a_sum_in_a_table_is_one_finding() -> None:
    text = """
        def f(loader: DataLoader, opt, modes):
            net = nn.Linear(2, 2)
            sums = {mode: 0.0 for mode in modes}
            for mode in modes:
                for x, y in loader:
                    loss = nn.functional.mse_loss(net(x), y)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                    sums[mode] += loss * len(y)  # TLK401
    """
    assert reported(program(text)) == marked(program(text))


DECODING = """
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(2, 2), nn.Linear(2, 2)
    def generate(self, x, h, count):
        self.eval()
        scores = []
        for t in range(count):
            {step}
            scores.append(x)
        return torch.stack(scores)
"""
GOING_ON = "h = self.cell(x, h, t)\n            x = self.out(h)"
DRAWING = "x = self.out(rows[t])"


@pytest.mark.parametrize(("step", "expected"), [(GOING_ON, []), (DRAWING, ["error"])])
def test_what_a_sample_is_decoded_to(step: str, expected: list[str]) -> None:
    found = findings(program(DECODING.format(step=step).replace("x, h, count", "x, h, count, rows")))
    assert [each.severity.value for each in found] == expected


def once(body: str, before: str = "kept = []", above: str = "") -> str:
    return training(body, above, before)


ONCE = {
    "a copy that is added to": once("new = list(kept)\nnew.append(loss)\nkept = new  # TLK402"),
    "a copy of a dict": once("new = dict(kept)\nnew[i] = loss\nkept = new  # TLK402", "kept = {}"),
    "a longer list under two names": once("new = kept + [loss]  # TLK402\nkept = new"),
    "a copy of which nothing is new": once("new = list(kept)\nkept = new"),
    "sums in a list": once("kept = [each + loss for each in kept]  # TLK402", "kept = [0, 0]"),
    "sums in a dict": once("kept = {key: each + loss for key, each in kept.items()}  # TLK402", 'kept = {"a": 0}'),
    "a sum under two names": once("new = total + loss  # TLK401\ntotal = new", "total = 0"),
    "two sums by one helper": once(
        "one = add(one, loss)  # TLK401\nother = add(other, loss)  # TLK401",
        "one = other = 0",
        "def add(total, value): return total + value",
    ),
    "in the first step": once("if i == 0:\n    kept.append(loss)"),
    "in the first step of a range": program("""
        def train(model, loader, criterion, optimizer):
            kept = []
            for i in range(100):
                x, y = next(loader)
                STEP
                if i == 0:
                    kept.append(loss)
                elif i != 0:
                    print(i)
    """),
    "not in the first step": once("if i == 0:\n    print(i)\nelse:\n    kept.append(loss)  # TLK402"),
    "where a counter is set back": once(
        "if len(x) > 0:\n    i = 0\nif i == 0:\n    keep(kept, loss)  # TLK402", above=KEEP
    ),
    "where a counter is set back, stored there": once(
        "if len(x) > 0:\n    i = 0\nif i == 0:\n    kept.append(loss)  # TLK402"
    ),
    "a counter of its own": once("if n < 3:\n    kept.append(loss)\nn += 1", "kept, n = [], 0"),
    "if it is text": once("if isinstance(loss, str):\n    kept.append(loss)"),
    "if it is no tensor": once("if not isinstance(loss, torch.Tensor):\n    kept.append(loss)"),
    "an entry, if it is text": once('out = {"a": loss}\nif isinstance(out["a"], str):\n    kept.append(out["a"])'),
    "an entry, if it is a tensor": once(
        'out = {"a": loss}\nif isinstance(out["a"], torch.Tensor):\n    kept.append(out["a"])  # TLK402'
    ),
    "behind continue, before break": once("if len(x) > 2:\n    continue\nkept.append(loss)\nbreak"),
    "before continue and break": once("kept.append(loss)  # TLK402\nif len(x) > 2:\n    continue\nbreak"),
    "with continue, and before break": once(
        "if len(x) > 2:\n    kept.append(loss)  # TLK402\n    continue\nkept.append(loss)\nbreak"
    ),
    "behind a break by the length of a batch": once("if len(x) > 3:\n    break\nkept.append(loss)  # TLK402"),
    "if a batch is short": once("if len(x) < 30:\n    keep(kept, loss)  # TLK402", above=KEEP),
    "if little is kept": once("if len(kept) < 3:\n    keep(kept, loss)", above=KEEP),
    "until enough is kept": once("if len(kept) > 3:\n    break\nkept.append(loss)"),
}


@pytest.mark.parametrize("name", ONCE)
def test_one_finding(name: str) -> None:
    assert reported(ONCE[name]) == marked(ONCE[name])


@pytest.mark.parametrize(
    "name", [each for each in ONCE if "batch" not in each and "continue" not in each and "range" not in each]
)
def test_what_is_expected_is_what_torch_keeps(name: str) -> None:
    pytest.importorskip("torch")
    expected = bool(marked(ONCE[name]))
    assert grows(ONCE[name]) is expected


def test_a_state_and_what_is_made_of_it() -> None:
    text = program("""
        def f(loader: DataLoader):
            cell, h = nn.GRUCell(2, 2), torch.zeros(1, 2)
            for x, y in loader:
                new = cell(x, h)
                h = new * 0.9
    """)
    assert [each.code for each in lint(text) if each.code in ("TLK401", "TLK406")] == ["TLK406"]


OTHERS = {
    "a loader": ("from torch.utils.data import DataLoader\n", "return list(loader)", "warning"),
    "a loader of a training file": ("def g(loss):\n    loss.backward()\n", "return list(loader)", "warning"),
    "a name alone": ("", "return list(loader)", "note"),
    "a name alone, repeated": ("import itertools\n", "return itertools.cycle(loader)", "note"),
    "sorted": ("from torch.utils.data import DataLoader\n", "return sorted(loader)", ""),
    "sorted by something": ("from torch.utils.data import DataLoader\n", "return sorted(loader, key=len)", "warning"),
    "a list": ("from torch.utils.data import DataLoader\n", "print(loader[0])\n    return list(loader)", ""),
    "a dict": ("from torch.utils.data import DataLoader\n", "print(loader.items())\n    return list(loader)", ""),
    "another one is a dict": ("", "print(more.items())\n    return list(loader)", "note"),
    "what a call gives": ("", "return list(get_loader())", "note"),
    "made there": (
        "from torch.utils.data import DataLoader\n", "loader = DataLoader(more)\n    return sorted(loader)", "warning",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_a_loaders_name_says(name: str) -> None:
    above, body, level = OTHERS[name]
    text = f"import torch\n{above}\ndef f(loader, more):\n    {body}\n"
    assert [each.severity.value for each in lint(text) if each.code == "TLK405"] == [level] * bool(level)


ROWS = """
def fit(encoder, head, train_loader, criterion, optimizer):
    encoder.train()
    head.train()
    kept = {}
    for data in train_loader:
        out, other = head(encoder(data["x"])), head(encoder(data["y"]))
        loss = criterion(USED, other)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for i, name in enumerate(data["names"]):
            kept[name] = KEPT
    print(kept)
"""


@pytest.mark.parametrize(
    ("used", "kept", "expected"),
    [
        ("out", "out[i]", Severity.WARNING),  # a row of what was differentiated
        ("out[0]", "out[1]", Severity.ERROR),  # another output
        ("out[0]", "out[i]", Severity.ERROR),  # perhaps
        ("out", "encoder(data['z'])[i]", Severity.ERROR),
    ],
)
def test_rows_of_what_was_differentiated(used: str, kept: str, expected: Severity) -> None:
    text = program(ROWS.replace("USED", used).replace("KEPT", kept))
    (found,) = (each for each in lint(text) if each.code == "TLK402")
    assert (found.severity, "nodes" in found.message) == (expected, expected is Severity.WARNING)
