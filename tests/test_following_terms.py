"""Following a program: sums of losses, and what their backward shows of the terms that nobody can see."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty
from tests.kept import grows, marked, program, reported

_ENDS = "optimizer.zero_grad(); {}.backward(); optimizer.step()"


def train(body: str, above: str = "", before: str = "kept, total = [], 0") -> str:
    """`train` with a loop whose body makes its own step."""
    lines = [above, "def train(model, loader, criterion, optimizer):", f"    {before}", "    for x, y in loader:"]
    return program("\n".join([*lines, *("        " + line for line in body.splitlines())]))


def summed(statement: str) -> str:
    """A step whose loss is summed up by a loop inside it."""
    return train(
        f"part_sum = 0\nfor row in range(3):\n    part_sum += criterion(model(x), y)[row]\n{statement}\n"
        + _ENDS.format("part_sum"),
        above="PARTS = nn.MSELoss(reduction='none')",
    ).replace("criterion(model(x), y)[row]", "PARTS(model(x), y)[row].mean()")


SUMS = {
    "of what an inner loop summed up": summed("total += part_sum / 3  # TLK401"),
    "of its value": summed("total += part_sum.item() / 3"),
    "of what a loop there only scales": train(
        "total = total + criterion(model(x), y).item()\nfor row in range(3):\n    total = total * 0.5"
    ),
    "kept": summed("kept.append(part_sum)  # TLK402"),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_sums(name: str) -> None:
    assert reported(SUMS[name]) == marked(SUMS[name])
    assert grows(SUMS[name]) == bool(marked(SUMS[name]))


def terms(last: str, sum_: str = "near + 0.1 * fit_loss", found: str = "None") -> str:
    """A step whose loss has two terms that objects nobody can see give."""
    return program(f"""
        def train(loader, parts, optimizer):
            kept = []
            for x, y in loader:
                fit_loss, near, found = 0, 0, {found}
                for part in parts:
                    fit_loss += part.fit(y)
                    near += part.near()
                objective = {sum_}
                {_ENDS.format("objective")}
                {last}
    """)


TERMS = {
    "a term that is a loss by its name": terms("kept.append(fit_loss)  # TLK402"),
    "its value": terms("kept.append(fit_loss.item())"),
    "a term that is none": terms("kept.append(near)"),
    "a factor that is a loss by its name": terms("kept.append(fit_loss)  # TLK402", "near - weight() * fit_loss / 2"),
    "what is called to compute a loss": terms(
        "kept.append(found)  # TLK402", "near + found * 2", "parts[0].get_loss(x)"
    ),
    "what is called for something else": terms("kept.append(found)", "near + found * 2", "parts[0].get_scale(x)"),
    "no sum": terms("kept.append(fit_loss)", "mix(near, fit_loss)"),
    "an index": terms("kept.append(fit_loss)", "near + parts[fit_loss]"),
    "a power": terms("kept.append(fit_loss)  # TLK402", "near + 2 ** fit_loss"),
}


@pytest.mark.parametrize("name", TERMS)
def test_terms_of_what_is_differentiated(name: str) -> None:
    assert reported(TERMS[name]) == marked(TERMS[name])


LAYERS = "".join(f"        self.row_{n} = torch.arange({n})\n" for n in range(40))
"""More than is followed of a constructor of another file."""
NETWORKS = f"""\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, 1)
{LAYERS}
    def forward(self, x):
        return self.body(x)

class Small(Net):
    pass

class Distance(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
{LAYERS}
    def forward(self, x):
        return (x - self.width).abs().mean()
"""


@pytest.mark.parametrize(
    ("made", "line"),
    [
        ("Net(2)", "total += net(x).mean()  # TLK401"),
        ("Small(2)", "total += net(x).mean()  # TLK401"),
        ("Net(2)", "total += net(x).mean().item()"),
        ("Distance(2)", "total += net(x)"),
    ],
)
def test_networks_whose_constructor_is_too_long_to_follow(tmp_path: Path, made: str, line: str) -> None:
    firstparty.forget()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'work'\n", encoding="utf-8")
    (tmp_path / "networks.py").write_text(NETWORKS, encoding="utf-8")
    text = program(f"""
        from networks import Distance, Net, Small
        def measure(rows):
            net, total = {made}, 0
            for x in DataLoader(rows):
                {line}
            return float(total)
    """)
    path = tmp_path / "measure.py"
    path.write_text(text, encoding="utf-8")
    assert reported(text, str(path)) == marked(text)


ENTRIES = {
    "a loader under a key": ("for x in enumerate(data['test_loader']):", "kept.append(net(x))  # TLK402"),
    "its iterator": ("for x in data['test_loader'].get_iterator():", "kept.append(net(x))  # TLK402"),
    "a loader of what is called a loader": (
        "for x in loader['test_loader'].get_iterator():",
        "kept.append(net(x))  # TLK402",
    ),
    "the value of what it gives": ("for x in data['test_loader'].get_iterator():", "kept.append(net(x).item())"),
    "what a loader has": ("for x in data['test_loader'].names():", "kept.append(net(x))"),
    "something else under a key": ("for x in data['rows'].get_iterator():", "kept.append(net(x))"),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_loaders_under_a_key(name: str) -> None:
    over, line = ENTRIES[name]
    text = program(f"""
        def measure(data):
            net, kept = nn.Linear(2, 1), []
            loader = data
            {over}
                {line}
            print(len(kept))
    """)
    assert reported(text) == marked(text)


def of_one(
    last: str, sum_: str = "first + second", made: str = "draw(parts, x)", second: str = "parts.norm(out)"
) -> str:
    """A step whose loss has two terms that are made of what a function gives that nobody can see."""
    return program(f"""
        from elsewhere import draw
        def train(loader, parts, optimizer, scale):
            kept, total, entries = [], 0, torch.zeros(3)
            for x, y in loader:
                out = {made}
                first, second = torch.dot(out * scale, y), {second}
                objective = {sum_}
                {_ENDS.format("objective")}
                {last}
    """)


TWO = "torch.dot(out, y)"
OF_ONE = {
    "a term with all that the sum begins with": of_one("kept.append(first)  # TLK402", second=TWO),
    "a term with a part of it": of_one("kept.append(second)", second=TWO),
    "both": of_one("kept.append((first, second))  # TLK402", second=TWO),
    "what both are made of": of_one("kept.append(out)", second=TWO),
    "two that are made of different things": of_one("kept.append(first)", second="parts.norm(y)"),
    "its value": of_one("kept.append(first.item())", second=TWO),
    "a term of a sum of three": of_one("kept.append(first)  # TLK402", "(first + y.mean()) + second", second=TWO),
}
NAMED = {
    "a term that is a loss by its name, beside one that is known": train(
        "out = model(x)\nfit_loss = draw(out)\nobjective = out.sum() + fit_loss\n"
        + _ENDS.format("objective")
        + "\ntotal += fit_loss  # TLK401"
    ),
    "one of three": train(
        "out = model(x)\nfit_loss = draw(out)\nobjective = (fit_loss + near(x)) * 2 + out.sum()\n"
        + _ENDS.format("objective")
        + "\ntotal += fit_loss  # TLK401"
    ),
    "another one": train(
        "out = model(x)\nnear = draw(out)\nobjective = out.sum() + near\n"
        + _ENDS.format("objective")
        + "\ntotal += near"
    ),
}
SLOTS = {
    "added to an entry of a tensor": of_one("entries[0] += first  # TLK401", second=TWO),
    "a number added to it": of_one("entries[0] += first.item()", second=TWO),
    "detached, beside another entry that is not": of_one(
        "entries[0] += first.detach()\\n                entries[1] += first  # TLK401".replace("\\n", "\n"), second=TWO
    ),
}


@pytest.mark.parametrize("name", [*OF_ONE, *NAMED, *SLOTS])
def test_what_a_backward_proves_of_terms(name: str) -> None:
    text = {**OF_ONE, **NAMED, **SLOTS}[name]
    assert reported(text) == marked(text)


PARTS = {
    "a term": train(
        "main, rest = box_loss(model(x), y)\nloss = main + 0.1 * criterion(model(x), y)\n"
        + _ENDS.format("loss")
        + "\ntotal += main * 8  # TLK401"
    ),
    "the other one is no term": train(
        "main, rest = box_loss(model(x), y)\nloss = main + 0.1 * criterion(model(x), y)\n"
        + _ENDS.format("loss")
        + "\ntotal += rest * 8"
    ),
    "a factor may be a number": train(
        "main, rest = box_loss(model(x), y)\nloss = main * criterion(model(x), y)\n"
        + _ENDS.format("loss")
        + "\ntotal += main"
    ),
    "of what is no loss": train(
        "main, rest = counted(model(x), y)\nloss = main + 0.1 * criterion(model(x), y)\n"
        + _ENDS.format("loss")
        + "\ntotal += main * 8"
    ),
    "its number": train(
        "main, rest = box_loss(model(x), y)\nloss = main + 0.1 * criterion(model(x), y)\n"
        + _ENDS.format("loss")
        + "\ntotal += main.item() * 8"
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_what_a_loss_gives(name: str) -> None:
    """What is added to what is differentiated has history, if a loss gives it; a name ending in `_value` says less."""
    text = PARTS[name].replace("    total", "    total", 1)
    text = text.replace("import collections", "from losses import box_loss, counted\nimport collections", 1)
    assert reported(text) == marked(text)


LOSS_OF_TORCH = """
import torch
from torch import nn
from torch.nn.modules.loss import _WeightedLoss


class Edges(_WeightedLoss):
    def forward(self, scores, target):
        return ({scores} - target).abs().mean()


def train(net: nn.Module, loader, criterion, optimizer):
    edges, kept = Edges().to("cpu"), []
    for x, y in loader:
        scores = net(x)
        edge_loss = edges(scores, y)
        loss = criterion(scores, y) + 0.1 * edge_loss
        loss.backward()
        optimizer.step()
        kept.append(edge_loss)
    print(kept)
"""


@pytest.mark.parametrize(("scores", "expected"), [("scores.argmax(1).float()", []), ("scores", ["TLK402"])])
def test_a_class_of_a_loss_of_torch_is_followed(scores: str, expected: list[str]) -> None:
    """Whatever the names of the class and of what it gives say."""
    found = lint(LOSS_OF_TORCH.format(scores=scores), wanted=lambda code: code.startswith("TLK4"))
    assert [each.code for each in found] == expected
