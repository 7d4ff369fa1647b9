"""accumulated-graph: a value that carries an autograd graph is added up across steps.

Leaks
-----
    total = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        total += loss

Instead
-------
    total = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        total += loss.detach()

Why
---
Adding tensors that require grad builds one longer graph: the sum keeps every step's nodes alive.
After `backward()` the activations are gone and the graph nodes stay: small, but they grow with every
step until the sum is dropped. The message says so (`keeps the nodes of each step's graph`) where every step is seen to
run it. Without `backward()` (evaluation, an extra metric) or with
`retain_graph=True` the activations of every step stay too. `.cpu()`, `.clone()` and `/ n` are no release.
Source: the PyTorch FAQ, "Don't accumulate history across your training loop".

Measured
--------
Kept per step by the sum, a network of four 512-wide layers, batch 64: 12 KB after `backward()` (17 graph nodes
of 0.7 KB); 532 KB without it, 532 KB with `retain_graph=True`. With `.detach()` or `.item()`, under no_grad, or
with only the addition under no_grad: 0.0 KB. A sum of `loss.cpu()`, `.clone()`, `.float()`, `.to("cpu")` or
`loss / n` keeps 19 nodes per step each: no release.

Run by `fixtures/TLK401_accumulated_graph/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
- The sum is differentiated: by itself, scaled, or returned to a caller that does, here or in another file.
- It starts anew in every step.
- Gradients are off, there or wherever the function is seen to be called.
- The value is a number already: `.item()`, `float()`, a helper that returns one.

It also counts when a helper, a method or a caller does one of these.

- A variable is moved or converted only (`w = w.to(device)`): from the second time on, that is the tensor itself.

A note where the graphs are freed and the sum is set back to a number now and then: the nodes of a few steps are kept.
So is a sum beside that of the loss which is differentiated behind the loop, and holds the same graph; one of a loop
over the same data that may be a part of a step (short, in a function, and telling nobody how far it is); a loss that
comes from code which was made of a network or an optimizer, as that may differentiate it and give a number, what a
network gives beside what is differentiated, and a program that only PyTorch 0.4 and earlier run.

How to fix it
-------------
Safe: `.detach()` on what is proven to be a tensor, where that cannot change what is trained. Either the value is
differentiated, and its graph freed, on every path of the same iteration. Or the sum is only printed, logged or turned
into numbers. `.detach()` does not wait for the GPU. An average that starts with a loss
(`mean = loss if mean is None else ...`) is detached there too: else each step adds an operation to that first graph.

Unsafe, where the sum is only printed, formatted or logged: `.item()`, which gives a float and waits for the GPU.

No fix where a sum that may still be differentiated is returned, passed on or stored in an attribute (the finding says
so), nor for what is added in a helper or in a method of another object.
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
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.stores import Store, added, evidence
from flake8_torchleak.releases import releases, remedy, starts
from flake8_torchleak.rule import Report, never, rule
from flake8_torchleak.wording import graph_of_each, is_long, released, short


@rule(
    "TLK401",
    "accumulated-graph",
    fix=FixLevel.SAFE,
    also=FixLevel.UNSAFE,
    severity=Severity.ERROR,
    subject=Subject.STEPS,
    apart=never,
)
def check(module: Module) -> Iterator[Report]:
    return reports(module, "TLK401", partial(_said, module))


_SIGNS: dict[type[ast.operator], str] = {ast.Add: "+=", ast.Sub: "-="}


def _said(module: Module, kept: Kept) -> Said | None:
    store = added(kept.at, kept.target)
    if store is None:
        return None
    name, code, advice = short(store.holder), released(store.value), remedy(module, "add", store.value)
    if advice == f"add `{code}`":
        sign = _SIGNS.get(type(store.node.op)) if isinstance(store.node, ast.AugAssign) else None
        advice = f"write `{name} {sign} {code}`" if sign is not None else f"in the sum write `{code}`"
    first = next(starts(module, store), None)
    if first is not None:
        # Of an entry, what is bound under the name is the whole dict that it is an entry of.
        by_hand = is_long(first) or isinstance(store.holder, ast.Subscript)
        advice += ", and where it starts too" if by_hand else f", and start with `{released(first)}`"
    message = f"memory grows every step: `{name}` keeps {graph_of_each('step', kept.nodes)}; {advice}"
    return Said(message, store, notes=evidence(module, store))


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.detach()` on what is added; `.item()` where the sum is only shown."""
    if not isinstance(report.target, Store):
        raise Unfixable(FOLLOWED)
    return releases(report.target, build)
