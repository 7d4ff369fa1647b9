"""TLK502: outputs for the end of an epoch, and what a run keeps as its history."""

from __future__ import annotations

from textwrap import dedent

import pytest

from flake8_torchleak.lint import lint

MODULE = """
import torch
from lightning import LightningModule

class Scored(LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net, self.outputs = net, []

    def validation_step(self, batch, batch_idx):
        self.outputs.append(self.net(batch).argmax(1))

{rest}
"""
BY_HELPER = """
    def on_validation_epoch_end(self):
        self.report()

    def report(self):
        self.log("share", self.joined().float().mean())

    def joined(self):
        return torch.cat(self.outputs)
"""
FOR_A_PLOT = """
    def on_validation_epoch_end(self):
        self.log("rate", 1.0)

    def plot(self):
        return self.outputs
"""


@pytest.mark.parametrize(("rest", "expected"), [(BY_HELPER, "error"), (FOR_A_PLOT, "note"), ("", "note")])
def test_what_no_epoch_s_end_reads_may_be_a_history(rest: str, expected: str) -> None:
    found = lint(dedent(MODULE.format(rest=rest)))
    assert [each.severity.value for each in found if each.code == "TLK502"] == [expected]


def test_what_lightning_collects_is_a_note() -> None:
    """1.4 and 1.5 cut off from the graph what a step returns beside the loss, 1.6 to 1.9 keep it."""
    text = """
    from pytorch_lightning import LightningModule
    from torch import nn

    class Collected(LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.head = nn.Linear(2, 2), nn.Linear(2, 2)

        def training_step(self, batch, batch_idx):
            out = self.net(batch)
            more = self.head(batch)
            return {"loss": out.mean(), "out": more}

        def training_epoch_end(self, outputs):
            print(len(outputs))
    """
    assert [each.severity.value for each in lint(dedent(text)) if each.code == "TLK402"] == ["note"]


OF_A_BASE = """
import torch
from models.base import Framework

class Vocoder({bases}):
    def validation_step(self, batch, batch_idx):
        self.validation_step_outputs.append({{"spec": self.net(batch)}})

    {hook}
"""
READS = "def on_validation_epoch_end(self):\n        self.log('a', mean(self.validation_step_outputs))"


@pytest.mark.parametrize(
    ("bases", "hook", "expected"),
    [
        ("Framework", READS, ["note"]),
        ("Framework", f"{READS}\n        self.validation_step_outputs.clear()", []),
        ("Framework", f"{READS}\n        super().on_validation_epoch_end()", []),
        ("Framework", "def on_validation_epoch_end(self):\n        self.log('a', 1)", []),
        ("Framework", "def on_test_epoch_end(self):\n        print(self.validation_step_outputs)", []),
        ("", READS, []),
        ("Framework", f"validation_step_outputs = ()\n\n    {READS}", []),
    ],
)
def test_what_a_base_out_of_sight_has_is_a_note(bases: str, hook: str, expected: list[str]) -> None:
    found = lint(OF_A_BASE.format(bases=bases, hook=hook))
    assert [each.severity.value for each in found if each.code == "TLK502"] == expected


@pytest.mark.parametrize(
    "hook",
    [
        "def on_validation_epoch_end(self):\n        Framework.on_validation_epoch_end(self)\n"
        "        print(self.validation_step_outputs)",
        "def on_validation_epoch_end(self):\n        outs = self.validation_step_outputs\n        outs.clear()",
        "def on_validation_epoch_end(self):\n        self.validation_step_outputs.compute_and_reset()",
        "def on_validation_epoch_start(self):\n        self.reset_all()\n\n"
        "    def on_validation_epoch_end(self):\n        print(self.validation_step_outputs)",
    ],
)
def test_what_a_base_out_of_sight_may_empty(hook: str) -> None:
    found = lint(OF_A_BASE.format(bases="Framework", hook=hook))
    assert [each.code for each in found if each.code == "TLK502"] == []


EPOCH_END = "    def on_validation_epoch_end(self):\n        print(len(self.outputs))\n"
LATER = "\n    def on_validation_end(self):\n        torch.cat(self.outputs)\n"


@pytest.mark.parametrize(("rest", "expected"), [(EPOCH_END, ""), (EPOCH_END + LATER, "is the last to read")])
def test_outputs_that_a_later_hook_reads_are_not_emptied_before(rest: str, expected: str) -> None:
    (found,) = [each for each in lint(MODULE.format(rest=rest), fixes=True) if each.code == "TLK502"]
    assert expected in found.unfixed
    assert bool(found.fixes) is not bool(expected)
