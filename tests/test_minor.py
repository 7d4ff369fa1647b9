"""TLK501: evaluations that cost little, whose graph is cut off at once, or that build none."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty
from tests.test_worth_of_place import severities

LOOP = """
import torch
from torch.utils.data import DataLoader

def validate(net, data):
    net.eval()
    rows = []
    for x, y in DataLoader(data):
        {}
    return rows
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out = net(x)\n        out.detach_()\n        rows.append(out)", "note"),
        ("with torch.autocast('cpu'):\n            out = net(x)\n            out.detach_()", "note"),
        ("out = net(x)\n        rows.append(out.sum().item())\n        out.detach_()", "warning"),
        ("out = net(x)\n        y.detach_()\n        rows.append(out.sum().item())", "warning"),
        ("out, more = net(x), 1\n        out.detach_()", "warning"),
        ("out = net(x)", "warning"),
        ("out = net(x); rows.append(out)", "warning"),
        ("rows.append(net(x).sum().item())", "warning"),
        ("rows.append(net(x.unsqueeze(0)).sum().item())", "warning"),  # of a loader: a batch, whatever is put around it
    ],
)
def test_outputs_whose_graph_is_cut_off_at_once(body: str, expected: str) -> None:
    assert severities("TLK501", LOOP.format(body)) == [expected]


PLAYED = """
import numpy as np
import torch
from torch.autograd import Variable

def test_env(env, net):
    net.eval()
    total = 0
    for state in env.turns():
        {}
        total += env.look(total)
    return total

def train(env, net, optimizer, loader):
    for x in loader:
        loss = net(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        test_env(env, net)
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out = net(torch.tensor(state).unsqueeze(0).to('cpu'))", "note"),
        ("x = torch.tensor(state)[None]\n        out = net(x)", "note"),
        ("x = torch.tensor(state)[None, :]\n        out = net(state=x.float())", "note"),
        ("x = np.expand_dims(state, 0)\n        out = net(Variable(torch.from_numpy(x)).cuda())", "note"),
        ("x = state[np.newaxis, :]\n        out = net(torch.from_numpy(x).float())", "note"),
        ("out = net(torch.unsqueeze(torch.tensor(state), 1))", "warning"),
        ("out = net(torch.tensor(state))", "warning"),
        ("out = net(torch.tensor(state).unsqueeze(1))", "warning"),
        ("out = net(torch.tensor(state)[0])", "warning"),
        ("out = net(torch.tensor(state).expand(9, 9))", "warning"),
        ("out = net(state)", "warning"),
        ("out = net(state + 1)", "warning"),
    ],
)
def test_batches_of_one_item(body: str, expected: str) -> None:
    assert severities("TLK501", PLAYED.format(body)) == [expected]


ANSWERED = """
import torch
import torch.nn.functional as F

def test_env(env, net):
    net.eval()
    state, total = torch.tensor(env.reset()), 0
    for turn in env.turns():
        {}
        total += 1
    return total
"""


@pytest.mark.parametrize(
    "body",
    [
        "state = env.step(net(state).argmax().item())",
        "out = net(state)\n        action = F.softmax(out, 1).argmax().item()\n        "
        "state, _ = env.step(action)\n        state = torch.tensor(state)",
        "x = torch.tensor(env.seen)\n        env.seen = env.step(net(state=x).sample())",
        "state, reward, done, cut, info = env.step(net(state))",
        "out = net(torch.tensor(env.look(turn)))",
    ],
)
def test_inputs_that_are_made_one_by_one(body: str) -> None:
    """A game, a robot: each input is made of the answer to what the network gave before, or asked for."""
    text = ANSWERED.format(body) + PLAYED.partition("return total\n")[2]
    assert severities("TLK501", text) == ["note"]


def test_one_pass_at_each_call() -> None:
    """The loop is the caller's: the function runs the network once, as a step of the training does."""
    text = (
        PLAYED.replace("    for state in env.turns():\n        {}\n        total", "    {}\n    total")
        .replace("train(", "fit(")
        .replace("total = 0", "total, state = 0, env.state")
    )
    text = text.replace("def test_env", "def evaluate").replace("        test_env", "        evaluate")
    assert severities("TLK501", text.format("out = net(torch.tensor(state))")) == ["note"]


COUNTED = """
import torch
from torch import nn
from torch.utils.data import DataLoader

def evaluate(net: nn.Module, images, steps, batches: DataLoader):
    net.eval()
    for {loop}:
        print(net({given}).argmax(1))

def fit(net: nn.Module, loader: DataLoader, opt, images):
    for x in loader:
        loss = net(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        evaluate(net, images, 9, loader)
"""


@pytest.mark.parametrize(
    ("loop", "given", "expected"),
    [
        ("i in range(steps)", "images[i]", "note"),
        ("i in range(0, steps, 8)", "images[i:i + 8]", "warning"),
        ("i in range(0, steps, 8)", "images[i:i + 8, :, 0]", "warning"),
        ("i in range(0, steps, 8)", "collated(images[i:i + 8])", "warning"),
        ("i in range(0, steps, 8)", "collated(images[:8])", "note"),
        ("i in range(steps)", "read(images[i])", "note"),
        ("image in images", "read(image)", "note"),
        ("path in ['a.png', 'b.png'] + names", "read(path)", "note"),
        ("image in images", "{'x': image.float() / 255, 'size': 9}", "warning"),
        ("image in images", "*image", "warning"),
        ("i in range(0, steps, 8)", "collated(9)", "note"),
        ("image in images", "image[0]", "warning"),
        ("image in images", "image[steps]", "note"),
        ("image in images", "torch.randn(2, 3)", "note"),
        ("image in images", "[torch.cat((image, image))]", "note"),
        ("i in tqdm(range(steps))", "images[i]", "note"),
        ("i in range(len(images))", "images[i]", "warning"),
        ("image in images", "image", "warning"),
        ("i, image in enumerate(images)", "image", "warning"),
    ],
)
def test_loops_that_count(loop: str, given: str, expected: str) -> None:
    """Of 17 loops over numbers in repositories, as readers judged them, 4 were worth a change."""
    assert severities("TLK501", COUNTED.format(loop=loop, given=given)) == [expected]


PLACES = """
import torch
from torch import nn
from torch.utils.data import DataLoader

def {name}(net: nn.Module, images, batches: DataLoader):
    net.eval()
    {body}
"""


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("evaluate", "return [net(images[i]).argmax() for i in range(len(images))]", "warning"),
        ("evaluate", "return [net(x).argmax() for x in images]", "warning"),
        ("evaluate", "for x in batches:\n        for part in x:\n            print(net(part).argmax())", "warning"),
        (
            "evaluate",
            "for x in batches:\n        for part in x:\n            print(net(part.unsqueeze(dim=0)))",
            "note",
        ),
        ("evaluate", "for x in batches:\n        for i in range(9):\n            print(net(x))", "warning"),
        ("evaluate", "for x in batches:\n        print(net(x).argmax())", "warning"),
        (
            "evaluate",
            "for i in range(0, len(images), 3):\n        part = images[i:i + 3]\n        print(net(collated(part)))",
            "warning",
        ),
        ("evaluate", "for x in images:\n        a = x; b = a; c = b; d = c; e = d; print(net(e))", "warning"),
        ("evaluate", "for x in images:\n        a = x; b = a; c = b; d = c; e = d; f = e; print(net(f))", "note"),
        ("visualize", "for x in batches:\n        print(net(x).argmax())", "note"),
        ("eval_demo", "for x in batches:\n        print(net(x).argmax())", "note"),
        ("evaluate_plots", "for x in batches:\n        print(net(x).argmax())", "warning"),
        ("demonstrate_eval", "for x in batches:\n        print(net(x).argmax())", "warning"),
        ("evaluate_provisionally", "for x in batches:\n        print(net(x).argmax())", "warning"),
    ],
)
def test_places_names_and_parts_of_batches(name: str, body: str, expected: str) -> None:
    text = PLACES.format(name=name, body=body)
    assert severities("TLK501", text) == [expected]


@pytest.mark.parametrize(
    ("file", "expected"), [("demo.py", "note"), ("plot_scores.py", "note"), ("scores.py", "warning")]
)
def test_files_for_show(tmp_path: Path, file: str, expected: str) -> None:
    text = PLACES.format(name="evaluate", body="for x in batches:\n        print(net(x).argmax())")
    (tmp_path / file).write_text(text)
    found = lint(text, path=str(tmp_path / file), wanted=lambda code: code == "TLK501")
    assert [each.severity.value for each in found] == [expected]


HANDED = """
import torch
from torch import nn

def infer(net, image, more):
    {body}

def evaluate(net: nn.Module, images):
    net.eval()
    for image in images:
        print(infer(net, image, 1).argmax(1))
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return net(torch.from_numpy(image).unsqueeze(0))", "note"),
        ("x = torch.from_numpy(image)[None]\n    return net(x)", "note"),
        ("return net(torch.from_numpy(image))", "warning"),
        ("torch.stack([image.unsqueeze(0)])\n    return net(image)", "warning"),
        ("other.run(image.unsqueeze(0))\n    return net(image)", "warning"),
    ],
)
def test_a_helper_that_makes_a_batch_of_one_item(body: str, expected: str) -> None:
    text = (
        HANDED.format(body=body)
        + """
def fit(net: nn.Module, loader, opt, images):
    for x in loader:
        loss = net(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        evaluate(net, images)
"""
    )
    assert severities("TLK501", text) == [expected]


def test_loops_that_count_in_one_over_batches() -> None:
    text = COUNTED.format(loop="i in range(steps)", given="x[i]").replace(
        "    for i in range(steps):\n", "    for x in batches:\n      for i in range(steps):\n"
    )
    assert severities("TLK501", text) == ["warning"]


@pytest.mark.parametrize(
    "cut",
    ["out = rows = net(x)", "rows += net(x)", "if x is None:\n            out = net(x)\n        out.detach_()"],
)
def test_outputs_that_are_not_cut_off_next(cut: str) -> None:
    assert severities("TLK501", LOOP.format(cut)) == ["warning"]


HELPED = """
import torch
from torch.autograd import Variable
from torch.utils.data import DataLoader
{}

def validate(net, data):
    net.eval()
    for x in DataLoader(data):
        print(extract(net, x))
"""
EXTRACT = """
from torch.autograd import Variable

def extract(net, x):
    net.eval()
    x = Variable(x, volatile={})
    return net(x).data.cpu()
"""


@pytest.mark.parametrize(("volatile", "expected"), [("True", ["note"]), ("False", ["warning"])])
def test_helpers_of_the_time_of_volatile(tmp_path: Path, volatile: str, expected: list[str]) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "extracting.py").write_text(EXTRACT.format(volatile))
    text = HELPED.format("from extracting import extract")
    path = tmp_path / "validate.py"
    path.write_text(text)
    assert severities("TLK501", text, path) == expected
    firstparty.forget()


PREPARED = """
import torch
from torch import nn
from torch.utils.data import DataLoader

class Net(nn.Module):
    {decorator}
    def forward(self, x):
        return self.layer(x)

def validate(data, accelerator):
    net = Net()
    {wrapped}
    net.eval()
    for x in DataLoader(data):
        print(net(x))
"""


@pytest.mark.parametrize(
    ("decorator", "wrapped", "expected"),
    [
        ("@torch.no_grad()", "net = accelerator.prepare(net)", []),
        ("@torch.no_grad()", "pass", []),
        ("@timed", "net = accelerator.prepare(net)", ["warning"]),
        ("@torch.no_grad()", "net = accelerator.prepare(other)", ["warning"]),
    ],
)
def test_networks_that_turn_gradients_off_themselves(decorator: str, wrapped: str, expected: list[str]) -> None:
    assert severities("TLK501", PREPARED.format(decorator=decorator, wrapped=wrapped)) == expected


MADE = """
import torch
from tools import import_module

model = import_module("model")

def evaluate(config):
    net = model.net(config).cuda()
    return net

def fit(config, loader):
    {}
    optimizer = torch.optim.Adam(model.parameters())
    for x in loader:
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        evaluate(config)
"""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("net = model.net(config).cuda()\n    net.load_state_dict(config.state)", []),
        ("net = model.net(config).cuda()", ["note"]),
        ("model.net(config)", ["note"]),
        ("net = model.other.net(config)\n    net.load_state_dict(config.state)", ["note"]),
    ],
)
def test_what_makes_a_network_does_not_run_it(made: str, expected: list[str]) -> None:
    assert severities("TLK501", MADE.format(made)) == expected


SHARDS = """
import webdataset as wds
from torch.utils.data import DataLoader, IterableDataset

class Urls(IterableDataset):
    def __init__(self, urls):
        self.urls = list(urls)

    def __iter__(self):
        yield from self.urls

def pipeline(urls):
    {}
"""


@pytest.mark.parametrize(
    ("pipeline", "count"),
    [
        ("return wds.DataPipeline([Urls(urls), wds.split_by_worker, wds.shuffle(9)])", 0),
        ("from webdataset import split_by_worker\n    return wds.DataPipeline(Urls(urls), split_by_worker)", 0),
        ("return wds.DataPipeline([Urls(urls), wds.shuffle(9)])", 1),
        ("print(wds.split_by_worker)\n    urls = Urls(urls)\n    return urls", 1),
        ("print(wds.split_by_worker)\n    return DataLoader(Urls(urls), num_workers=4)", 1),
    ],
)
def test_streams_that_a_later_stage_divides(pipeline: str, count: int) -> None:
    assert len(severities("TLK303", SHARDS.format(pipeline))) == count


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ("x = Variable(x, volatile=True)\n", "note"),
        ("x = Variable(x, volatile=is_test)\n", "note"),
        ("x = Variable(x, volatile=False)\n", "warning"),
        ("x = Variable(x, volatile=True)\nwith torch.no_grad(): pass\n", "warning"),
        ("x = Variable(x)\n", "warning"),
    ],
)
def test_programs_of_before_no_grad(beside: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "data.py").write_text(beside, encoding="utf-8")
    path = tmp_path / "evaluate.py"
    path.write_text(LOOP.format("print(net(x))"), encoding="utf-8")
    firstparty.forget()
    assert severities("TLK501", path.read_text(encoding="utf-8"), path) == [expected]


def test_what_a_program_of_before_no_grad_keeps(tmp_path: Path) -> None:
    """Its inputs may build no graph, as another file makes them."""
    (tmp_path / ".git").mkdir()
    path = tmp_path / "evaluate.py"
    text = LOOP.format("rows.append(net({}))")
    for given, expected in (("Variable(x)", "note"), ("x", "note")):
        (tmp_path / "data.py").write_text("x = Variable(x, volatile=is_test)\n", encoding="utf-8")
        path.write_text(text.format(given), encoding="utf-8")
        firstparty.forget()
        assert severities("TLK402", path.read_text(encoding="utf-8"), path) == [expected]
    keeper = "from torch.autograd import Variable\ndef keep(rows, net, x):\n    rows.append(net(Variable(x)))\n"
    (tmp_path / "keeper.py").write_text(keeper, encoding="utf-8")
    path.write_text("from keeper import keep\n" + LOOP.format("keep(rows, net, x)"), encoding="utf-8")
    firstparty.forget()
    assert severities("TLK402", path.read_text(encoding="utf-8"), path) == ["note"]
