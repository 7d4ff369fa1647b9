"""TLK501: programs in which nothing is differentiated, whatever becomes of what their networks give."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint
from tests.test_evaluation_elsewhere import found as found_in


def found(folder: Path, files: dict[str, str], name: str) -> list[Severity]:
    """In a project: without one nobody knows what else belongs to a program."""
    (folder / "pyproject.toml").touch()
    return found_in(folder, files, name)


NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        return self.body(x)
"""
SCRIPT = """
import torch
from torch.utils.data import DataLoader
from nets import Net
{imports}


def run(data, sink):
    net = Net()
    for x in DataLoader(data):
        out = net(x)
        {body}


if __name__ == "__main__":
    run(range(4), print)
"""
USES = {
    "kept by something": ("sink.rows = out.softmax(1)", [Severity.WARNING]),
    "handed to code that nobody sees": ("sink(out.argmax(1))", [Severity.WARNING]),
    "given to torch": ("sink(torch.sigmoid(out))", [Severity.NOTE]),
    "calculated with": ("sink(out + 1)", [Severity.NOTE]),
    "compared": ("sink(out > 0.5)", [Severity.WARNING]),
    "asked whether it is something": ("sink(out is x)", []),
    "a part of it": ("sink(out[0].mean())", [Severity.NOTE]),
    "not seen to be a tensor": ("sink(out)", []),
    "saved as it is": ("torch.save(out, sink)", [Severity.WARNING]),
    "given to another network": ("sink(net(out))", [Severity.NOTE]),
    "handed to code that gets the network, too": ("sink(net, out.mean())", []),
    "by names": ("sink(model=net, loss=out.mean())", []),
    "dropped": ("sink(x)", []),
}


@pytest.mark.parametrize("name", USES)
def test_what_becomes_of_outputs(tmp_path: Path, name: str) -> None:
    body, expected = USES[name]
    files = {"nets": NET, "job": SCRIPT.format(imports="", body=body)}
    assert found(tmp_path, files, "job") == expected


BODY = "sink.rows = out.softmax(1)"
OTHERS = {
    "a file that trains": ("from train import fit", "def fit(loss):\n    loss.backward()\n", 0),
    "a file that asks for gradients": ("from train import fit", "def fit(x):\n    x.requires_grad_()\n", 0),
    "a file that leaves it to a trainer": ("from train import fit", "def fit(job):\n    Trainer(job).run()\n", 0),
    "a file that turns gradients off for all": (
        "from train import fit",
        "import torch\n\n\ndef fit():\n    torch.set_grad_enabled(False)\n",
        0,
    ),
    "a file that shows the graph": ("from train import fit", "def fit(x):\n    print(x.grad_fn)\n", 0),
    "a library that trains": ("import accelerate", "", 0),
    "what is loaded by its name": ("import importlib", "", 0),
    "a function of torch's that is differentiated": (
        "from train import Twice",
        "class Twice:\n    @staticmethod\n    def backward(ctx, grad):\n        return grad\n",
        1,
    ),
    "a file that only helps": ("from train import fit", "def fit(x):\n    return x + 1\n", 1),
    "a file behind a file": ("from between import fit", "", 0),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_files_that_it_imports(tmp_path: Path, name: str) -> None:
    imports, text, expected = OTHERS[name]
    files = {"nets": NET, "job": SCRIPT.format(imports=imports, body=BODY), "train": text}
    files |= {"between": "from behind import fit\n", "behind": "def fit(loss):\n    loss.backward()\n"}
    assert found(tmp_path, files, "job") == [Severity.WARNING] * expected


PART = SCRIPT.partition("\n\nif __name__")[0].format(imports="", body=BODY)
USERS = {
    "nobody": ("", 0),
    "a program": ("from job import run\n\n\nif __name__ == '__main__':\n    run([], None)\n", 1),
    "a part of something": ("from job import run\n", 0),
    "a program that trains": (
        "from job import run\n\n\nif __name__ == '__main__':\n    run([], None).backward()\n",
        0,
    ),
    "a program that uses what trains": (
        "from job import run\nimport learn\n\n\nif __name__ == '__main__':\n    run()\n",
        0,
    ),
}


@pytest.mark.parametrize("name", USERS)
def test_the_files_that_import_it(tmp_path: Path, name: str) -> None:
    text, expected = USERS[name]
    files = {"nets": NET, "job": PART, "main": text, "learn": "def fit(loss):\n    loss.backward()\n"}
    assert found(tmp_path, files, "job") == [Severity.WARNING] * expected


def test_more_users_than_are_looked_at(tmp_path: Path) -> None:
    starts = {f"main{at}": "from job import run\n\nif __name__ == '__main__':\n    run([], None)\n" for at in range(14)}
    assert found(tmp_path, {"nets": NET, "job": PART, **starts}, "job") == []


def test_more_files_than_are_looked_at(tmp_path: Path) -> None:
    parts = {f"part{at}": f"import part{at + 1}\n" for at in range(70)} | {"part70": ""}
    text = SCRIPT.format(imports="import part0", body=BODY)
    assert found(tmp_path, {"nets": NET, "job": text, **parts}, "job") == []


def test_without_a_project(tmp_path: Path) -> None:
    assert found_in(tmp_path, {"nets": NET, "job": SCRIPT.format(imports="", body=BODY)}, "job") == []


def test_a_script_without_functions(tmp_path: Path) -> None:
    """Its loop is at the top of the file."""
    text = """
    import torch
    from nets import Net
    from torch.utils.data import DataLoader

    net = Net()
    for x in DataLoader(range(4)):
        print(net(x).argmax(1))
    """
    assert found(tmp_path, {"nets": NET, "job": text}, "job") == [Severity.WARNING]
    assert [
        each for each in lint(textwrap.dedent(text)) if each.code == "TLK501"
    ] == []  # of what it imports nothing is seen


def test_what_only_makes_a_network(tmp_path: Path) -> None:
    text = """
import torch
from torch.utils.data import DataLoader


def build(net, x):
    model = net(x)
    return model.cuda()


if __name__ == "__main__":
    for x in DataLoader(range(4)):
        found = build(net, x)
        found.eval()
"""
    assert found(tmp_path, {"job": text}, "job") == []


def test_a_network_that_a_function_of_the_file_runs(tmp_path: Path) -> None:
    text = (
        SCRIPT.format(imports="", body="pass")
        .replace("net(x)", "sink(ran(net, x))")
        .replace("def run(", "def ran(net, x):\n    out = net(x)\n    return out.squeeze(0)\n\n\ndef run(")
    )
    assert found(tmp_path, {"nets": NET, "job": text}, "job") == [Severity.NOTE]
