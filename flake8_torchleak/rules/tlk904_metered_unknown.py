"""metered-unknown: a meter keeps tensors as they are handed in, and nothing in reach tells whether they carry a graph.

Leaks
-----
    class RocAuc(torchmetrics.Metric):
        def __init__(self):
            super().__init__()
            self.scores = []

        def update(self, scores: torch.Tensor, labels: torch.Tensor):
            self.scores.append(scores)  # a model's output, where training feeds it

        def compute(self):
            return torch.cat(self.scores).mean()

Instead
-------
    class RocAuc(torchmetrics.Metric):
        def __init__(self):
            super().__init__()
            self.scores = []

        def update(self, scores: torch.Tensor, labels: torch.Tensor):
            self.scores.append(scores.detach())

        def compute(self):
            return torch.cat(self.scores).mean()

Why
---
TLK403 for a meter whose feeder nothing in reach shows: a metric of a library, a class that a framework calls. Who
evaluates under no_grad loses nothing; the first one who feeds it in a training step keeps the graph of every step.
A meter that detaches by itself is right for both.

The same the other way round: a training step hands its loss to a meter whose class nothing in reach shows,
`losses.update(loss)`. Most of them add it up as it comes.

Measured
--------
A metric that is fed every output of a network of four 512-wide layers, batch 64: 14 KB more in each training
step, 531 KB where no `backward()` runs; detached 4 and 4 KB, the outputs themselves.

By hand, torchmetrics 1.9.0: what `update` adds to a tensor carries no graph, a tensor that it appends keeps its
own; calling the metric itself (`metric(preds, target)`) keeps none.

Run by `fixtures/TLK904_metered_unknown/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The meter detaches, asks for `requires_grad`, converts to numbers or arrays, compares what it is given, or keeps it in
evaluation only; nothing shows that it is given tensors; the file itself feeds it (TLK403 then knows), or other modules
do and never with a graph; torchmetrics sums for it; or what collects is no meter by its name (buffers, queues).
Of a meter that is not seen: it is fed outputs, numbers or batches, not what is differentiated; it is made anew or
reset in the step; or the loss goes by name, as into dicts and torchvision's logger (`log.update(loss=loss)`).

How to fix it
-------------
`.detach()` on what is kept. Unsafe: whoever differentiates through the metric needs its graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.following import FOLLOWED, Said, reports
from flake8_torchleak.gate import Subject
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.model.meters import Unreleased, unreleased
from flake8_torchleak.model.module import Module
from flake8_torchleak.releases import remedy
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short
from flake8_torchleak.words import holds_any

_LONGEST = 35
"""Characters of advice that a message has room for."""


_DEFINED = ("def update", "def add", "def append", "def put", "def push", "def record", "def report", "def process",
            "def collect", "def accumulate", "def observe", "def __call__", "def _")  # fmt: skip
_FED = (".update(", ".add(", ".append(", ".put(", ".push(", ".record(", ".accumulate(", ".observe(")


@rule(
    "TLK904",
    "metered-unknown",
    fix=FixLevel.UNSAFE,
    severity=Severity.NOTE,
    subject=Subject.TORCH,
    prospect=lambda text: holds_any(text, _DEFINED + _FED),
    apart=lambda text: holds_any(text, _DEFINED),
)
def check(module: Module) -> Iterator[Report]:
    if module.is_test:
        return
    for each in unreleased(module):
        name, kept = each.function.name, each.keeping
        verb = "add" if isinstance(module.tree.statement(kept.node), ast.AugAssign) else "store"
        advice = remedy(module, verb, kept.value)
        where = name if each.owner is None else f"{each.owner.node.name}.{name}"
        yield Report(
            kept.node,
            f"memory grows every step if `{short(kept.value)}` has an autograd graph: `{kept.key}` keeps it; "
            f"in `{where}`, {advice if len(advice) <= _LONGEST else f'{verb} it with `.detach()`'}",
            notes=((each.joined, "joined here, so all of them are tensors"),) if each.joined is not None else (),
            target=each,
        )
    yield from reports(module, "TLK904", partial(_said, module))


def _said(module: Module, kept: Kept) -> Said:
    """What is said of a loss that is handed to an object whose class nothing in reach shows."""
    call, meter = kept.node, kept.target
    own = kept.node is kept.at
    value = call.args[0] if own and isinstance(call, ast.Call) else None
    holder = f"`{short(meter)}`" if meter is not None and own else "what it is handed to"
    shown = f"`{short(value)}`" if value is not None else "a loss"
    advice = remedy(module, "pass", value) if value is not None else "pass it with `.detach()`"
    return Said(
        f"memory grows every step if {holder} keeps {shown}, which has an autograd graph; {advice}",
        value,
        severity=Severity.NOTE,
    )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.detach()` on what is kept."""
    target = report.target
    value = target.keeping.value if isinstance(target, Unreleased) else target
    if not isinstance(value, ast.expr):
        raise Unfixable(FOLLOWED)
    joined = target.joined if isinstance(target, Unreleased) else None
    if joined is None and not build.module.proof.is_tensor(value):
        raise Unfixable(f"`{short(value)}` is not proven to be a tensor")
    verb = "store" if isinstance(target, Unreleased) else "pass"
    yield Fix(FixLevel.UNSAFE, f"{verb} `{short(value)}` with `.detach()`", build.method(value, "detach"))
