"""What messages say to empty, to close or to copy: it is done as they say, and nothing else of the program changes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from flake8_torchleak.lint import lint
from tests.model import IMPORTS, dataset, messages


def said(text: str, code: str) -> str:
    """The one message of a rule about a text that has no imports yet."""
    (message,) = messages(IMPORTS + text, code)
    return message


HOOKED = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
kept = {made}


def keep(module, args, output):
    kept{part}.append(output.detach())


model.register_forward_hook(keep)


def embed(loader):
    for x in loader:
        model(x)
        yield kept{part}[-1]
        {after}
"""
FILLED = {
    "a list": ("[]", "", "after each step call `kept.clear()`", "kept.clear()"),
    "lists in a dict": (
        "{'last': [], 'first': []}",
        "['last']",
        "after each step clear its lists",
        "for each in kept.values():\n            each.clear()",
    ),
}


@pytest.mark.parametrize(("made", "part", "advice", "cleared"), FILLED.values(), ids=FILLED)
def test_what_a_hook_fills_is_emptied_and_the_hook_goes_on(made: str, part: str, advice: str, cleared: str) -> None:
    torch = pytest.importorskip("torch")
    found = said(HOOKED.format(made=made, part=part, after="pass"), "TLK604")
    assert found.endswith(f"which nothing empties; {advice}")
    remedied = HOOKED.format(made=made, part=part, after=cleared)
    assert not messages(IMPORTS + remedied, "TLK604")
    named: dict[str, Any] = {}
    exec(remedied, named)
    given = torch.ones(3, 1, 2)
    assert [each.tolist() for each in named["embed"](given)] == [named["model"](x).tolist() for x in given]


def test_lists_that_are_only_gone_over_are_not_emptied() -> None:
    read = "for each in kept.values():\n            print(each)"
    assert said(HOOKED.format(made="{'last': []}", part="['last']", after=read), "TLK604")
    other = "for each in others.values():\n            each.clear()"
    assert said(HOOKED.format(made="{'last': []}", part="['last']", after=other), "TLK604")
    named = "for name, each in kept.items():\n            each.clear()"
    assert not messages(IMPORTS + HOOKED.format(made="{'last': []}", part="['last']", after=named), "TLK604")
    deleted = "for each in list(kept):\n            clear(kept)"
    assert said(HOOKED.format(made="{'last': []}", part="['last']", after=deleted), "TLK604")


def test_a_long_name_of_what_a_hook_fills_is_not_shown_twice() -> None:
    text = HOOKED.format(made="[]", part="", after="pass").replace("kept", "activations_of_all_layers")
    assert said(text, "TLK604").endswith("`activations_of_all_layers`, which nothing empties; after each step clear it")


def test_a_hook_of_forward_is_registered_in_init() -> None:
    text = """\
class Net(nn.Module):
    def forward(self, x):
        self.body.register_forward_hook(print)
        return self.body(x)
"""
    assert said(text, "TLK604") == (
        "hooks pile up: `self.body.register_forward_hook` adds one in every call of `Net.forward`, and each call "
        "runs all; register it once, in `__init__`"
    )


def test_of_several_outputs_that_stay_until_the_next_run_the_tensors_are_detached() -> None:
    text = """\
class Watch(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body, self.seen = body, []
        body.register_forward_hook(self.keep)
        body.register_full_backward_hook(print)

    def keep(self, module, args, output):
        self.seen.append((tuple(args), output))

    def forward(self, x):
        self.seen.clear()
        return self.body(x)
"""
    found = [each for each in messages(IMPORTS + text, "TLK604") if "stays in use" in each]
    assert [each.rpartition("`self.seen` keeps ")[2] for each in found] == [
        "`(tuple(args), output)` with its autograd graph; store tensors with `.detach()`"
    ]


OUTPUTS = """\
from lightning.pytorch import LightningModule


class Net(LightningModule):
    def __init__(self):
        super().__init__()
        self.kept = {made}

    def validation_step(self, batch, i):
        self.kept{part}.append(self.net(batch))

    def on_validation_epoch_end(self):
        {end}
"""
ENDS = {
    "a list": ("[]", "", "print(self.kept)", "call `self.kept.clear()` in `on_validation_epoch_end`"),
    "one that is returned": ("[]", "", "return self.kept", "call `self.kept.clear()` in `on_validation_epoch_start`"),
    "another is returned": ("[]", "", "return self.other", "call `self.kept.clear()` in `on_validation_epoch_end`"),
    "one that a later hook reads": (
        "[]", "", "print(self.kept)\n\n    def on_validation_end(self):\n        print(self.kept)",
        "call `self.kept.clear()` in `on_validation_end`",
    ),
    "one that no later hook reads": (
        "[]", "", "print(self.kept)\n\n    def on_validation_end(self):\n        print(self.other)",
        "call `self.kept.clear()` in `on_validation_epoch_end`",
    ),
    "a list in a dict": ("{'a': []}", "['a']", "pass", "call `self.kept['a'].clear()` in `on_validation_epoch_end`"),
    "lists in a dict": ("{'a': []}", "[i]", "pass", "clear its lists in `on_validation_epoch_end`"),
}  # fmt: skip


@pytest.mark.parametrize(("made", "part", "end", "advice"), ENDS.values(), ids=ENDS)
def test_outputs_are_emptied_where_nobody_needs_them_any_more(made: str, part: str, end: str, advice: str) -> None:
    text = OUTPUTS.format(made=made, part=part, end=end)
    assert said(text, "TLK502").endswith(f"nothing empties it; {advice}")
    emptied = (re.findall(r"`(.*clear\(\))`", advice) or ["[each.clear() for each in self.kept.values()]"])[0]
    if "lists" in advice:
        emptied = "for each in self.kept.values():\n            each.clear()"
    hook = re.findall("in `(.*)`", advice)[0]
    remedied = f"{text}\n    def {hook}(self):\n        {emptied}\n"
    assert not messages(IMPORTS + remedied, "TLK502")


EDITED = {
    "a tensor": ("torch.zeros(1000, 4)", "x.sub_(1)", "x = x.clone()"),
    "an array": ("np.zeros((1000, 4))", "x[0] = 1", "x = x.copy()"),
}


@pytest.mark.parametrize(("data", "edit", "statement"), EDITED.values(), ids=EDITED)
def test_a_row_is_copied_alone(data: str, edit: str, statement: str) -> None:
    """Of a part of a tensor, `copy.deepcopy` copies the whole tensor."""
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    text = dataset(f"self.data = {data}", f"x = self.data[i]\n{edit}\nreturn x + 0")
    assert said(text, "TLK203").endswith(f"; just before the change, write `{statement}`")
    remedied = text.replace(edit, f"{statement}; {edit}")
    assert not messages(IMPORTS + remedied, "TLK203")
    named: dict[str, Any] = {"np": np, "torch": torch, "Dataset": object}
    exec(remedied, named)
    rows = named["Rows"](None, None)
    assert rows[3][0] != 0
    assert not rows.data.any()


COLLATED = """\
class Rows(Dataset):
    def __init__(self):
        self.data = {data}

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]


def collate(batch):
    new = []
    for x in batch:
        {edit}
        new.append(x)
    return {given}


loader = DataLoader(Rows(), batch_size=8, collate_fn=collate)
"""


@pytest.mark.parametrize(("data", "edit", "statement"), EDITED.values(), ids=EDITED)
def test_a_fix_copies_the_memory_of_a_sample(data: str, edit: str, statement: str) -> None:
    """Of a tensor, `copy.copy` shares it."""
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    text = IMPORTS + COLLATED.format(data=data, edit=edit, given="new")
    (found,) = [each for each in lint(text, fixes=True) if each.code == "TLK206"]
    assert found.message.endswith(f"; just before the change, write `{statement}`")
    assert [edit.text.strip() for fix in found.fixes for edit in fix.edits] == [statement]
    remedied = COLLATED.format(data=data, edit=f"{statement}; {edit}", given="new")
    assert not messages(IMPORTS + remedied, "TLK206")
    named: dict[str, Any] = {"np": np, "torch": torch, "Dataset": object, "DataLoader": torch.utils.data.DataLoader}
    exec(remedied, named)
    assert all(each[0] != 0 for batch in named["loader"] for each in batch)
    assert not named["loader"].dataset.data.any()
    again = said(COLLATED.format(data=data, edit=edit, given="batch"), "TLK206")
    assert again.endswith(f"; copy it in `Rows.__getitem__` (`.{'clone' if 'clone' in statement else 'copy'}()`)")


PLOTTED = """\
import matplotlib.pyplot as plt
{more}

def show(loader):
    for n, x in enumerate(loader):
        {made}
        plt.plot(x)
        {saved}
"""
FIGURES = {
    "with a name": ("fig, axes = plt.subplots()", "fig.savefig(f'{n}.png')", "`plt.close(fig)` after `savefig`"),
    "without": ("plt.figure()", "plt.savefig(f'{n}.png')", "`plt.close()` after `savefig`"),
    "by its own name": ("figure()", "plt.savefig(f'{n}.png')", "`plt.close()` after `savefig`"),
    "not always saved": (
        "fig = plt.figure()",
        "if n % 10 == 0:\n            plt.savefig(f'{n}.png')",
        "`plt.close(fig)` at the end of each round",
    ),
}


@pytest.mark.parametrize(("made", "saved", "advice"), FIGURES.values(), ids=FIGURES)
def test_a_figure_is_closed_whether_it_is_saved_or_not(made: str, saved: str, advice: str) -> None:
    more = "from matplotlib.pyplot import figure\n" if made == "figure()" else ""
    text = PLOTTED.format(made=made, saved=saved, more=more)
    assert said(text, "TLK910").endswith(f"; call {advice}")
    close = re.findall(r"`(plt\.close.*?)`", advice)[0]
    assert not messages(IMPORTS + PLOTTED.format(made=made, saved=f"{saved}\n        {close}", more=more), "TLK910")


SEVERAL = """\
def shapes(model, x):
    found, handles = [], []
    for part in model:
        {hooked}
    model(x)
    {after}
    return found
"""


def test_several_hooks_of_one_run_are_removed() -> None:
    torch = pytest.importorskip("torch")
    hook = "lambda part, args, output: print(output.shape)"
    text = SEVERAL.format(hooked=f"part.register_forward_hook({hook})", after="pass")
    kept, removed = re.findall("`(.*?)`", said(text, "TLK604"))
    assert kept == "handles.append(part.register_forward_hook(...))"
    remedied = SEVERAL.format(hooked=kept.replace("...", hook), after=removed)
    assert not messages(IMPORTS + remedied, "TLK604")
    named: dict[str, Any] = {}
    exec(remedied, named)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    named["shapes"](model, torch.ones(1, 2))
    assert not any(part._forward_hooks for part in model)


@pytest.mark.parametrize("collected", ["list(loader)", "[batch for batch in loader]"])
def test_for_the_first_batch_one_is_enough(collected: str) -> None:
    torch = pytest.importorskip("torch")
    text = "def preview(data):\n    loader = DataLoader(data, batch_size=2)\n    return {}\n"
    code = re.findall("; use `(.*)`", said(text.format(f"{collected}[0]"), "TLK405"))[0]
    assert not messages(IMPORTS + text.format(code), "TLK405")
    named: dict[str, Any] = {"DataLoader": torch.utils.data.DataLoader}
    exec(text.format(code), named)
    assert named["preview"](range(5)).tolist() == [0, 1]
    assert said(text.format(f"{collected}[1]"), "TLK405").endswith(
        "; go over the loader, store what is used (numbers, `.clone()` of a field)"
    )
