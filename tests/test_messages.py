"""What a message shows of the code, and that who does what it says is rid of the finding, and trains as before."""

from __future__ import annotations

import ast
from textwrap import dedent, indent
from typing import Any

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.wording import called_with, short
from tests.model import IMPORTS, dataset

CUTS = {
    "what fits": ("a.mean().detach()", "a.mean().detach()"),
    "a chain, whose end tells": ("encoded.last_hidden_state_of_all[:, -1].detach()", "encoded...[:, -1].detach()"),
    "arguments in a chain": ("generator(noise_of_a_fixed_seed, of=classes).cpu()", "generator(...).cpu()"),
    "the first arguments": (
        "model(images, masks, boxes_of_all_the_images, more)",
        "model(images, masks, ...)",
    ),
    "an index": ("rows[first_of_the_selected:last_of_the_selected].sum()", "rows[...].sum()"),
    "an operation in a chain": (
        "(first_of_several + second_of_several + third).sum()",
        "(first_of_several ... + third).sum()",
    ),
    "a dict": ("{'name': name, 'image': image, **all_the_others, 'step': 1}", "{'name': name, 'image': image, ...}"),
    "a list": ("[first_element, second_element, third_element]", "[first_element, second_element, ...]"),
    "a tuple": ("(first_element, second_element, third_element)", "(first_element, second_element, ...)"),
    "a comprehension": (
        "{i: batch for i, batch in enumerate(train_loader)}",
        "{i: batch for i, ...(train_loader)}",
    ),
    "one long name": ("a" * 60, f"{'a' * 18}...{'a' * 18}"),
    "a long name in a call": (f"{'a' * 60}(x)", f"{'a' * 18}...(x)"),
}


@pytest.mark.parametrize(("text", "shown"), CUTS.values(), ids=CUTS)
def test_long_expressions_lose_their_middle(text: str, shown: str) -> None:
    assert short(ast.parse(text, mode="eval").body) == shown
    assert len(shown) <= 40


PARTS = {
    "short": ("x.cuda()", "func", "x.cuda()"),
    "a method": ("torch.from_numpy(np.load(self.paths[index])).cuda()", "func", ".cuda()"),
    "a method with arguments": ("torch.from_numpy(np.load(self.paths[index])).cuda(0)", "func", ".cuda(...)"),
    "its argument": ("torch.from_numpy(np.load(self.paths[index])).to('cuda')", "first", ".to('cuda')"),
    "its first": ("torch.stack(all_the_labels).to('cuda', non_blocking=True)", "first", ".to('cuda', ...)"),
    "a keyword": ("torch.tensor([len(x) for x in all_of], device='cuda')", "last", "torch.tensor(..., device='cuda')"),
    "a long name": (f"{'a' * 40}(1, device='cuda')", "last", f"{'a' * 40}(..., device='cuda')"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "which", "shown"), PARTS.values(), ids=PARTS)
def test_of_a_call_the_part_is_shown_that_matters(text: str, which: str, shown: str) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    told = {"func": call.func, "first": [*call.args, call][0], "last": [call, *call.keywords][-1]}[which]
    assert called_with(call, told) == shown


def messages(text: str, code: str) -> list[str]:
    return [each.message for each in lint(text) if each.code == code]


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
    assert message.endswith(f"; first write `{statement}`")
    assert not messages(boxes(copied=statement), "TLK206")


def test_a_sample_that_is_read_again_is_copied_by_its_dataset() -> None:
    (message,) = messages(boxes(apart=False), "TLK206")
    assert message.endswith("; copy it in `Boxes.__getitem__` (`copy.deepcopy`)")
    assert not messages(boxes("copy.deepcopy(self.targets[i])", apart=False), "TLK206")


EDITS = {
    "a variable": ("x = self.data[i]\nx['n'] = 1\nreturn x", "first write `x = copy.deepcopy(x)`"),
    "what is in one": ("x = self.data[i]\nx['n'].sort()\nreturn x", "first write `x = copy.deepcopy(x)`"),
    "a long name": (
        "element_of_the_whole_dataset = self.data[i]\nelement_of_the_whole_dataset['n'] = 1\n"
        "return element_of_the_whole_dataset",
        "copy it first (`copy.deepcopy`)",
    ),
    "no variable": ("self.data[i]['n'] = 1\nreturn self.data[i]['n']", "change a copy of it (`copy.deepcopy`)"),
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
    stacked = message.rpartition("stack them first: `")[2].removesuffix("`")
    namespace = {"np": np, "torch": torch}
    exec(f"{made}\nbefore, now = {maker}(arrays), {stacked}", namespace)
    before, now = namespace["before"], namespace["now"]
    assert now.dtype == before.dtype
    assert torch.equal(now, before)


IMPORTED = {
    "import cv2": ("cv2.blur", "cv2.setNumThreads(0)"),
    "import cv2 as cv": ("cv.blur", "cv.setNumThreads(0)"),
    "from cv2 import blur": ("blur", "import cv2; cv2.setNumThreads(0)"),
}


@pytest.mark.parametrize("imported", IMPORTED)
def test_the_threads_are_switched_off_under_the_name_that_the_file_has(imported: str) -> None:
    function, statement = IMPORTED[imported]
    below = "from torch.utils.data import Dataset\n{}\n\nclass Photos(Dataset):\n    def __getitem__(self, i):\n"
    sample = f"        return {function}(self.images[i], (3, 3))\n"
    (found,) = lint(f"{imported}\n{below.format('')}{sample}")
    assert f"(`{function}` in `Photos.__getitem__`); add `{statement}` below the imports" in found.message
    assert found.notes[0].text.startswith("`Photos.__getitem__` ")
    assert not messages(f"{imported}\n{below.format(statement)}{sample}", "TLK301")


VIEWS = {
    "an array": ("image = np.load(path)", "image[:8]", "`.copy()`"),
    "by a method of tensors": ("image = model(path)", "image.last_hidden_state[:, 0].detach()", "`.clone()`"),
    "not known": ("image = model(path)", "image.last_hidden_state[:, 0]", "arrays `.copy()`, tensors `.clone()`"),
}


@pytest.mark.parametrize(("made", "view", "copy"), VIEWS.values(), ids=VIEWS)
def test_the_copy_of_a_slice_is_named_by_what_it_is_of(made: str, view: str, copy: str) -> None:
    text = f"@torch.no_grad()\ndef keep(paths, model):\n    kept = []\n    for path in paths:\n        {made}\n"
    found = messages(f"{IMPORTS}{text}        kept.append({view})\n    return kept\n", "TLK205")
    assert [each.rpartition("; ")[2] for each in found] == [f"store a copy ({copy})"]


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
    assert message.endswith("keeps `**losses` with its autograd graph; pass its tensors with `.detach()`")
    detached = "**{name: each.detach() for name, each in losses.items()}"
    assert not messages(IMPORTS + LOGGER.replace("{given}", detached), "TLK403")


UPDATES = {
    "added": ("self.seen += {}", "h.mean()", "add `h.mean().detach()`"),
    "in place": ("self.seen.add_({})", "h.mean()", "pass `h.mean().detach()`"),
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
