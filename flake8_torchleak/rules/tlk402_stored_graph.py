"""stored-graph: a value that carries an autograd graph is kept in a container or attribute across steps.

Leaks
-----
    losses = []
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        losses.append(loss)

Instead
-------
    losses = []
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        losses.append(loss.detach())

Why
---
A tensor that requires grad keeps the graph that made it. After `backward()` the graph's nodes stay, one
graph per entry; without it (outputs collected in evaluation without no_grad, a metric of its own) all
activations stay as well. `.cpu()`, `.clone()`, `sigmoid` and `/ n` keep the graph.
Source: the PyTorch FAQ, "Don't accumulate history across your training loop".

Measured
--------
Kept per entry, a network of four 512-wide layers, batch 64: 12 KB after `backward()` (16 graph nodes; storing
under no_grad changes nothing), 530 KB for an output without it. Fixed: 1 KB and 3 KB, which are the stored
values themselves. In a dict, a tuple or `+=`, after `.clone()` or `.cpu() / n`, the same graph is kept (17
nodes). `deque(maxlen=20)`, the best and the last loss: 0.1 KB per step.

Run by `fixtures/TLK402_stored_graph/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
- The container feeds `backward()`: a list that is stacked and differentiated, a policy-gradient buffer.
- It is emptied in every step, also by a helper, or it is bounded (`deque(maxlen=...)`, `if len(kept) < 5`).
- One slot is overwritten (`best = loss`), or the loop ends right after the store.
- The loop is part of one step (over networks, over what one batch is trained on) and makes the container anew.

Some findings are notes, because little is kept: one freed graph an epoch; what a decoder collects of one sample; one
entry for each of a few tasks, or for each network, in a list that stays in the function.

How to fix it
-------------
Safe: `.detach()` on what is proven to be a tensor, where that cannot change what is trained. Either the value is
differentiated, and its graph freed, on every path of the same iteration. Or what is stored is only printed, logged or
turned into numbers. Unsafe, where it is only shown: `.item()`. No fix for what goes through a helper.
For outputs in evaluation, no_grad around the loop (TLK501) is better still.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.following import FOLLOWED, with_calls
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.joined import is_of_tasks
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.release.facts import Kept
from flake8_torchleak.model.stores import stores
from flake8_torchleak.model.values import Kind
from flake8_torchleak.releases import graph_severity, in_evaluation, releases, remedy, worth
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short


@rule(
    "TLK402",
    "stored-graph",
    fix=FixLevel.SAFE,
    also=FixLevel.UNSAFE,
    severity=Severity.ERROR,
    subject=Subject.STEPS,
)
def check(module: Module) -> Iterator[Report]:
    return with_calls(module, "TLK402", _direct(module))


def _direct(module: Module) -> Iterator[Report]:
    for store in stores(module):
        value = module.retention.kept_graph(store.key, store.value, store.node, stored=True)
        if value is None:
            continue
        usual = graph_severity(module, store.value)
        if usual is Severity.ERROR and module.retention.proven_plain(store.key, store.node):
            continue
        kept = Kept(store.key, store.value, store.node)
        severity = worth(module, kept, usual)
        if severity is None:
            continue
        if is_of_tasks(module, store.key, store.node):
            severity = Severity.NOTE
        advice = remedy(module, "store", store.value) if value.kind is Kind.TENSOR else "store detached tensors"
        yield Report(
            store.node,
            f"`{store.name}` keeps `{short(store.value)}` with its autograd graph after the step; {advice}",
            notes=module.retention.evidence(store.key, store.value, store.node),
            severity=severity,
            target=kept,
            under=in_evaluation(module, store.node),
        )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.detach()` on what is stored, entry by entry in a display."""
    if not isinstance(report.target, Kept):
        raise Unfixable(FOLLOWED)
    return releases(report.target, build)
