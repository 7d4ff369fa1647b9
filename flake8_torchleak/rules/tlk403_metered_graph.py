"""metered-graph: a value that carries an autograd graph is handed to a meter or buffer that keeps it.

Leaks
-----
    class Average:
        def __init__(self):
            self.total = 0

        def update(self, value, n=1):
            self.total += value * n

    losses = Average()
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        losses.update(loss)

Instead
-------
    class Average:
        def __init__(self):
            self.total = 0

        def update(self, value, n=1):
            self.total += value * n

    losses = Average()
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        losses.update(loss.detach())

Why
---
A meter that sums or stores what it is given keeps the graph of every step, as `total += loss` does
(TLK401), only out of sight. The meter's class is read: one that calls `.item()`, `float()` or `.detach()`
on what it gets is fine, and so is one that only overwrites its last value.

Measured
--------
Kept per update, a network of four 512-wide layers, batch 64: 13 KB by an AverageMeter after `backward()`, 533
KB by a meter in a loop without it; fixed 0.0 and 0.9 KB. Meters that release what they are given: 0.4 KB.

Run by `fixtures/TLK403_metered_graph/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The class releases its argument, is found neither here nor in the project, or starts anew each step; it has one slot for
each name of its keyword arguments (`self.last[k] = values[k]`), which are taken for the same ones in each call.
A metric of torchmetrics adds up in `update`, which the library runs without gradients (1.9: the sum has no history,
what is appended there has).

How to fix it
-------------
Safe: `.detach()` on the argument that is proven to be a tensor, where it is differentiated, and its graph freed, on
every path of the same iteration. By hand, where the meter only prints: `.item()`. Or change the meter, so that
it never keeps a graph:

    class Average:
        def __init__(self):
            self.total, self.count = 0.0, 0

        def update(self, value, n=1):
            self.total += (value.detach() if torch.is_tensor(value) else value) * n
            self.count += n

        @property
        def value(self):
            return float(self.total) / max(self.count, 1)
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
from flake8_torchleak.model.bindings import container_of, key_of
from flake8_torchleak.model.keeping import keeps
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.stores import Store, evidence
from flake8_torchleak.model.values import Kind
from flake8_torchleak.releases import releases, remedy
from flake8_torchleak.rule import Report, never, rule
from flake8_torchleak.wording import its_graph, short


@rule(
    "TLK403",
    "metered-graph",
    fix=FixLevel.SAFE,
    also=FixLevel.UNSAFE,
    severity=Severity.ERROR,
    subject=Subject.STEPS,
    apart=never,
)
def check(module: Module) -> Iterator[Report]:
    return reports(module, "TLK403", partial(_said, module))


def _said(module: Module, kept: Kept) -> Said | None:
    call = kept.node
    if not isinstance(call, ast.Call):
        return None
    holder, method = call.func, "__call__"
    meter = module.infer.value(holder)
    if isinstance(call.func, ast.Attribute) and not isinstance(meter.made, ast.ClassDef):
        holder, method = call.func.value, call.func.attr
        meter = module.infer.value(holder)
    key = key_of(container_of(holder)[0])
    if not key or not isinstance(meter.made, ast.ClassDef) or meter.kind not in (Kind.INSTANCE, Kind.METRIC):
        return None
    found = keeps(module, module.classes.all[meter.made], method, call)
    if found is None:
        return None
    argument, keeping = found
    store = Store(call, key, holder, argument)
    shown, advice = short(argument), remedy(module, "pass", argument)
    if any(each.arg is None and each.value is argument for each in call.keywords):
        shown, advice = f"**{shown}", "pass its tensors with `.detach()`"
    return Said(
        f"memory grows every step: `{short(holder)}` ({meter.made.name}) keeps `{shown}` with "
        f"{its_graph(kept.nodes)}; {advice}",
        store,
        notes=(
            (keeping.node, f"`{meter.made.name}.{method}` stores its argument here"),
            *evidence(module, store),
        ),
    )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.detach()` on the argument."""
    if not isinstance(report.target, Store):
        raise Unfixable(FOLLOWED)
    return releases(report.target, build)
