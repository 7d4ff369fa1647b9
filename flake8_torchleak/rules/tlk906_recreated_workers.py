"""recreated-workers: worker processes are started anew in every step.

Leaks
-----
    for step in range(steps):
        x, y = next(iter(loader))

Instead
-------
    batches = iter(loader)
    for step in range(steps):
        try:
            x, y = next(batches)
        except StopIteration:
            batches = iter(loader)
            x, y = next(batches)

Why
---
`iter(loader)` starts all workers, each prefetches two batches, one is used, and all are torn down. Nothing leaks once
they are gone, but memory and processes pile up while teardown lags, and most batches are loaded for nothing. A
DataLoader that is made in the step does the same. Source: pytorch issues 1917 and 22133.

Measured
--------
Ten batches of 32 from four workers: 40 processes and 2400 samples loaded by `next(iter(loader))`, 4 and 576
from one iterator.

By hand, two workers: 4.24 s and 0.11 s.

Run by `fixtures/TLK906_recreated_workers/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The loader has no workers as far as the file shows, the first batch alone is taken (outside of loops, or once per
epoch), or an iterator that has ended is started again.

How to fix it
-------------
By hand: one iterator above the loop, started again when it ends.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.everystep import every_step
from flake8_torchleak.model.loader import Workers
from flake8_torchleak.model.module import Module
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short


@rule(
    "TLK906",
    "recreated-workers",
    fix=FixLevel.HINT,
    severity=Severity.NOTE,
    subject=Subject.STEPS,
    words=("iter(", "DataLoader("),
)
def check(module: Module) -> Iterator[Report]:
    callers = module.classes.callers
    for call in callers.get("next", ()):
        started = call.args[0] if call.args else None
        if not (isinstance(started, ast.Call) and module.names.qualname(started.func) == "iter" and started.args):
            continue
        around = every_step(module, call)
        if around is None or not module.infer.loader_of(started.args[0]) or not module.loaders.behind(started.args[0]):
            continue
        if _is_new(module, started.args[0], around):
            continue
        name = short(started.args[0])
        yield Report(
            call,
            f"workers start again in every step, for one batch: `next(iter({name}))`; "
            "make the iterator before the loop, a new one at StopIteration",
            notes=((around, "runs in every step"),),
            remedy=f"`batches = iter({name})` above the loop, and `next(batches)` in it; after StopIteration "
            f"`batches = iter({name})` again",
        )
    for site in module.loaders.sites:
        around = every_step(module, site.call)
        if around is not None and site.workers is Workers.YES:
            yield Report(
                site.call,
                "workers start again in every step: the DataLoader is made inside the loop; make it once, "
                "before the loop",
                notes=((around, "runs in every step"),),
                remedy="make the DataLoader above the loop",
            )


def _is_new(module: Module, loader: ast.expr, around: ast.AST) -> bool:
    """Whether each round has a loader of its own."""
    key = key_of(loader)
    return bool(key) and any(module.tree.inside(d.statement, around) for d in module.flow.reaching(key, loader))
