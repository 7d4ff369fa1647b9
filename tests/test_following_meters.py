"""Following a program: losses that are handed to meters which nobody can see, and networks that are wrapped."""

from __future__ import annotations

import pytest

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.lint import lint

STEP = """
import apex
import torch
import torchmetrics
import torchnet
import torch.nn as nn
import torch.nn.functional as F
from lib.utils import AverageMeter, MetricLogger

def train(model, loader, criterion, opt, meter, stats):
    losses = AverageMeter()
    {}
    for x, y in loader:
        out, aux = model(x)
        term = criterion(out, y)
        loss = F.mse_loss(out, y) + term
        opt.zero_grad()
        loss.backward()
        opt.step()
        {}
"""
FED = {
    "made of a class": "losses.update(loss, len(x))",
    "a term": "losses.update(term)",
    "a parameter": "meter.update(loss)",
    "another method": "meter.add(loss)",
    "an append of no list": "losses.append(loss)",
}
NOT_FED = {
    "numbers": "losses.update(loss.item()); meter.update(loss.detach())",
    "outputs": "losses.update(out, y); losses.update(out[0])",
    "a part of an output": "losses.update(aux)",
    "what is not differentiated": "losses.update(F.l1_loss(out, y))",
    "perhaps a dict": "stats.update(loss=loss); stats.update({'loss': loss})",
    "a logger": "losses.update(loss=loss, lr=0.1)",
    "of a library": "mean.update(loss)",
    "made anew": "losses = AverageMeter(); losses.update(loss)",
    "reset": "losses.update(loss); losses.clear()",
    "a network": "meter.update(model)",
    "another question": "meter.compare(loss); losses.compare(loss)",
    "made of a loss": "loss.update(term)",
    "no loop": "",
}


def codes(text: str) -> list[str]:
    return [each.code for each in lint(text)]


@pytest.mark.parametrize("name", FED)
def test_a_meter_that_is_not_seen(name: str) -> None:
    (found,) = lint(STEP.format("", FED[name]), fixes=True)
    assert found.code == "TLK904"
    assert found.severity is Severity.NOTE


@pytest.mark.parametrize("name", NOT_FED)
def test_what_such_a_meter_may_be_handed(name: str) -> None:
    assert codes(STEP.format("mean = torchmetrics.MeanMetric()", NOT_FED[name])) == []


def test_the_fix_is_in_the_call() -> None:
    (found,) = lint(STEP.format("", "losses.update(loss)"), fixes=True)
    assert [(each.level, each.title) for each in found.fixes] == [(FixLevel.UNSAFE, "pass `loss` with `.detach()`")]
    (found,) = lint(STEP.format("", "losses.update(term)"), fixes=True)
    assert not found.fixes
    assert "not proven" in found.unfixed


HELPER = """
import torch
from lib.utils import AverageMeter

class Trainer:
    def __init__(self, model, opt):
        self.model, self.opt, self.losses = model, opt, AverageMeter()

    def log(self, value):
        self.losses.update(value)

    def train_step(self, batch):
        loss = self.model(batch).mean()
        loss.backward()
        self.opt.step()
        self.log(loss)
"""


def test_a_meter_that_a_helper_feeds() -> None:
    """The finding stands where the loss is known; there the fix is by hand."""
    (found,) = lint(HELPER, fixes=True)
    assert (found.code, found.span.line, found.fixes) == ("TLK904", 16, ())


def test_meters_of_torchnet() -> None:
    """They add up what comes."""
    made = "meter = torchnet.meter.AverageValueMeter()"
    assert codes(STEP.format(made, "meter.add(loss)")) == ["TLK401"]
    assert codes(STEP.format(made, "meter.add(loss.item())")) == []


WRAPPED = """
import apex
import torch
import torch.nn as nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def rows(cfg):
    {}
    f.eval()
    kept = []
    for x in torch.utils.data.DataLoader(cfg.data):
        kept.append(f(x))
    return kept
"""
WRAPPERS = [
    "f = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Linear(3, 3))",
    "f = FSDP(nn.Linear(3, 3), device_id=0)",
    "f = nn.parallel.DistributedDataParallel(module=nn.Linear(3, 3))",
    "f = nn.utils.spectral_norm(nn.Linear(3, 3))",
    "f = torch.jit.trace(nn.Linear(3, 3), torch.zeros(3))",
    "f = apex.amp.initialize(nn.Linear(3, 3), opt_level='O1')",
    "f, opt = apex.amp.initialize(nn.Linear(3, 3), torch.optim.SGD(cfg.parameters(), 0.1), opt_level='O1')",
]


@pytest.mark.parametrize("made", WRAPPERS)
def test_networks_that_are_wrapped(made: str) -> None:
    """They are run as they were."""
    assert "TLK402" in codes(WRAPPED.format(made))
    assert "TLK402" not in codes(WRAPPED.format(made.replace("nn.Linear(3, 3)", "nn.ReLU()")))
