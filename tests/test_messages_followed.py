"""Who does what a message says is rid of the finding, and the program does what it did."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from flake8_torchleak.shells.pages import page
from tests.model import IMPORTS, dataset, messages

LIGHTNING = """\
import pytorch_lightning as pl
import torch
from torch.nn import functional


class Net(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        outputs = self.model(batch["x"])
        loss = functional.mse_loss(outputs, batch["y"])
        return {result}

    def training_epoch_end(self, outputs):
        self.log("spread", torch.cat([each["outputs"] for each in outputs]).std())
"""


def test_of_what_lightning_keeps_all_but_the_loss_is_to_be_detached() -> None:
    (message,) = messages(LIGHTNING.replace("{result}", '{"loss": loss, "outputs": outputs}'), "TLK402")
    assert message.startswith("memory grows every step: `outputs` is kept for `training_epoch_end` with its graph;")
    assert message.endswith("return all but `loss` with `.detach()`")
    assert not messages(LIGHTNING.replace("{result}", '{"loss": loss, "outputs": outputs.detach()}'), "TLK402")


def test_lightning_takes_the_state_of_a_recurrent_layer_out() -> None:
    assert not messages(LIGHTNING.replace("{result}", '{"loss": loss, "hiddens": outputs}'), "TLK402")


BOXES = """\
class Boxes(Dataset):
    def __init__(self, file):
        self.targets = [json.loads(line) for line in open(file)]

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return {stored}


def collate(batch):
    {before}
    for target in batch:
        {copied}
        target["boxes"]["first"] = torch.tensor(0)
        {after}
    return {given}


loader = DataLoader(Boxes("file"), batch_size=8, collate_fn=collate)
"""


def boxes(stored: str = "self.targets[i]", copied: str = "pass", apart: bool = True) -> str:
    before, after, given = ("new = []", "new.append(target)", "new") if apart else ("pass", "pass", "batch")
    return IMPORTS + BOXES.format(stored=stored, copied=copied, before=before, after=after, given=given)


def test_a_sample_with_a_name_of_its_own_is_copied_there() -> None:
    (message,) = messages(boxes(), "TLK206")
    statement = "target = copy.deepcopy(target)"
    assert message.endswith(f"; just before the change, write `{statement}`")
    assert not messages(boxes(copied=statement), "TLK206")


def test_a_sample_that_is_read_again_is_copied_by_its_dataset() -> None:
    (message,) = messages(boxes(apart=False), "TLK206")
    assert message.endswith("; copy it in `Boxes.__getitem__` (`copy.deepcopy`)")
    assert not messages(boxes("copy.deepcopy(self.targets[i])", apart=False), "TLK206")


EDITS = {
    "a variable": ("x = self.data[i]\nx['n'] = 1\nreturn x", "just before the change, write `x = copy.deepcopy(x)`"),
    "what is in one": (
        "x = self.data[i]\nx['n'].sort()\nreturn x",
        "just before the change, write `x = copy.deepcopy(x)`",
    ),
    "a long name": (
        "element_of_the_whole_dataset = self.data[i]\nelement_of_the_whole_dataset['n'] = 1\n"
        "return element_of_the_whole_dataset",
        "copy it just before the change (`copy.deepcopy`)",
    ),
    "no variable": (
        "self.data[i]['n'] = 1\nreturn self.data[i]['n']",
        "just before, write `part = copy.deepcopy(self.data[i])`, then use `part`",
    ),
    "the variable of a loop": (
        "for x in self.data[i]['n']:\n    x['m'] = 1\nreturn self.data[i]['n']",
        "change a copy: `copy.deepcopy(x)`",
    ),
}


@pytest.mark.parametrize(("sample", "advice"), EDITS.values(), ids=EDITS)
def test_where_an_element_is_copied_before_it_is_changed(sample: str, advice: str) -> None:
    text = IMPORTS + dataset("self.data = [json.loads(line) for line in open(root)]", sample)
    assert [each.rpartition("; ")[2] for each in messages(text, "TLK203")] == [advice]


STREAM = """\
def train(loader, optimizer):
    hidden = None
    for x in loader:
        hidden = cell(x, hidden)
        loss = hidden.square().mean()
        loss.backward()
        optimizer.step()
        {ending}
    return hidden
"""


def test_a_state_that_is_none_at_first_is_cut_off_at_the_end_of_each_batch() -> None:
    torch = pytest.importorskip("torch")
    made = "from torch import nn\ncell = nn.GRUCell(4, 4)\n"
    (message,) = messages(IMPORTS + made + STREAM.format(ending="pass"), "TLK406")
    statement = message.rpartition("end each batch with `")[2].removesuffix("`")
    assert statement == "hidden = hidden.detach()"
    assert not messages(IMPORTS + made + STREAM.format(ending=statement), "TLK406")
    cell = torch.nn.GRUCell(4, 4)
    namespace: dict[str, Any] = {"cell": cell}
    exec(STREAM.format(ending=statement), namespace)
    optimizer = torch.optim.SGD(cell.parameters())
    assert namespace["train"]([torch.ones(1, 4)] * 3, optimizer).grad_fn is None
    assert cell.weight_ih.grad is not None


MAKERS = ("torch.tensor", "torch.as_tensor", "torch.Tensor", "torch.FloatTensor", "torch.DoubleTensor")


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list")
@pytest.mark.parametrize("maker", MAKERS)
def test_the_stacked_arrays_give_the_same_tensor(maker: str) -> None:
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    made = "arrays = [np.arange(12.0).reshape(3, 4), np.ones((3, 4))]"
    (message,) = messages(f"{IMPORTS}{made}\nbatch = {maker}(arrays)\n", "TLK909")
    stacked = message.rpartition("wrap the list: `")[2].removesuffix("`")
    namespace = {"np": np, "torch": torch}
    exec(f"{made}\nbefore, now = {maker}(arrays), {maker}({stacked})", namespace)
    before, now = namespace["before"], namespace["now"]
    assert now.dtype == before.dtype
    assert torch.equal(now, before)


LOGGER = """\
class Logger:
    def __init__(self):
        self.totals = collections.defaultdict(float)

    def update(self, **values):
        for name, value in values.items():
            self.totals[name] += value


def train(model, loader, optimizer):
    logger = Logger()
    for x, y in loader:
        losses = model(x, y)
        loss = sum(each for each in losses.values())
        loss.backward()
        optimizer.step()
        logger.update({given})
"""


def test_of_a_dict_that_is_spread_the_values_are_detached() -> None:
    (message,) = messages(IMPORTS + LOGGER.format(given="**losses"), "TLK403")
    assert message.endswith("keeps `**losses` with the nodes of its graph; pass its tensors with `.detach()`")
    detached = "**{name: each.detach() for name, each in losses.items()}"
    assert not messages(IMPORTS + LOGGER.replace("{given}", detached), "TLK403")


UPDATES = {
    "added": ("self.seen += {}", "h.mean()", "add `h.mean().detach()`"),
    "in place": ("self.seen.add_({})", "h.mean()", "pass `h.mean().detach()` to `add_`"),
    "assigned": ("self.seen = {}", "self.seen + h", "store `(self.seen + h).detach()`"),
    "much": (
        "self.seen = {}",
        "self.decay * self.seen + (1 - self.decay) * h.mean()",
        "store the new value with `.detach()`",
    ),
}


@pytest.mark.parametrize(("update", "new", "advice"), UPDATES.values(), ids=UPDATES)
def test_the_new_value_of_a_state_is_what_is_detached(update: str, new: str, advice: str) -> None:
    torch = pytest.importorskip("torch")
    body = """
    class Level(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 1)
            self.decay = 0.5
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            h = self.layer(x).sum()
            {}
            return h
    """
    text = dedent(body)
    found = messages(IMPORTS + text.format(update.format(new)), "TLK601")
    assert [each.rpartition("; ")[2] for each in found] == [advice]
    released = update.format(f"({new}).detach()")
    assert not messages(IMPORTS + text.format(released), "TLK601")
    namespace: dict[str, Any] = {"torch": torch, "nn": torch.nn}
    exec(text.format(released), namespace)
    level = namespace["Level"]()
    for _ in range(3):
        level(torch.ones(4)).backward()
    assert level.seen.grad_fn is None
    assert level.seen != 0


@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradients_that_are_reset_before_the_next_step_keep_no_graph() -> None:
    torch = pytest.importorskip("torch")
    step = "loss.backward(create_graph=True)\noptimizer.step()\n"
    for resets in ("optimizer.zero_grad()\n", ""):
        loop = indent(f"loss = model(x).sum()\n{resets}{step}", " " * 8)
        text = f"{IMPORTS}def train(model, batches, optimizer):\n    for x in batches:\n{loop}"
        assert bool(messages(text, "TLK602")) is not bool(resets)
    layer = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters())
    for to_none in (True, False):
        layer(torch.ones(2)).square().sum().backward(create_graph=True)
        assert layer.weight.grad.grad_fn is not None
        optimizer.zero_grad(set_to_none=to_none)
        assert layer.weight.grad is None or layer.weight.grad.grad_fn is None


@pytest.mark.parametrize("what", ["a variable", "what is in one"])
def test_an_element_that_is_copied_first_is_not_changed(what: str) -> None:
    sample, advice = EDITS[what]
    statement = advice.partition("`")[2].removesuffix("`")
    copied = sample.replace("\n", f"\n{statement}\n", 1)
    text = dataset("self.data = [json.loads(line) for line in open(root)]", copied)
    assert statement in text
    assert not messages(IMPORTS + text, "TLK203")


LOADED = {
    "a list": "[json.loads(line) for line in file]",
    "a dict": "{number: json.loads(line) for number, line in enumerate(file)}",
}


@pytest.mark.parametrize("made", LOADED.values(), ids=LOADED)
def test_a_loader_is_given_what_packs_the_records(made: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    read = f"with open(path) as file:\n    rows = {made}\n"
    (message,) = messages(f"{IMPORTS}{read}loader = DataLoader(rows, num_workers=2)\n", "TLK106")
    given = re.findall(r"write `DataLoader\((.*?), \.\.\.\)` \(class: `torchleak explain TLK101`\)", message)[0]
    to_paste = dedent(page("TLK101").partition("all texts or all numbers:\n")[2].partition("Unsafe, for")[0])
    assert f"class {given.partition('(')[0]}" in to_paste
    assert not messages(f"{IMPORTS}{to_paste}{read}loader = DataLoader({given}, num_workers=2)\n", "TLK106")
    rows = [{"n": n, "text": "é" * n} for n in range(5)]
    path = tmp_path / "rows"
    path.write_text("\n".join(map(json.dumps, rows)))
    imports = "import json, pickle\nimport numpy as np, torch\nfrom torch.utils.data import DataLoader, Dataset\n"
    namespace: dict[str, Any] = {"path": str(path)}
    exec(f"{imports}{to_paste}{read}loader = DataLoader({given}, batch_size=None)\n", namespace)
    assert list(namespace["loader"]) == rows


HOOKED = """\
def read(model, x):
    {hooked}model.neck.register_forward_hook(lambda module, args, output: print(output.shape))
    result = model(x)
    {after}
    return result
"""


def test_a_hook_that_is_removed_as_the_message_says_is_fine() -> None:
    (message,) = messages(IMPORTS + HOOKED.format(hooked="", after="pass"), "TLK604")
    hooked, after = re.findall("`(.*?)`", message)
    assert (hooked, after) == ("handle = model.neck.register_forward_hook(...)", "handle.remove()")
    assert not messages(IMPORTS + HOOKED.format(hooked="handle = ", after=after), "TLK604")
