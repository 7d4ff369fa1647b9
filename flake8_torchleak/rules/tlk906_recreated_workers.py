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
By hand: one iterator before the first step, which begins again at its end, and `next(it)` in each step:

    it = itertools.chain.from_iterable(itertools.cycle([loader]))

A DataLoader of the same data in each step: make it
once, with `persistent_workers=True`. Of other data in each step: `num_workers=0`, for workers that stay keep the data
that they started with, and others start in each step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.everystep import every_step
from flake8_torchleak.model.loader import Site, Workers
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.tree import LOOPS, FunctionNode, Loop
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import fitting, short

_OF_WORKERS = ("persistent_workers", "prefetch_factor", "multiprocessing_context", "timeout")
"""Arguments that a DataLoader without workers refuses."""


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
        name, (where, batches) = short(started.args[0]), _before(module, started.args[0], around)
        endless = f"itertools.chain.from_iterable(itertools.cycle([{name}]))"
        brief = endless.replace("itertools.", "")
        yield Report(
            call,
            fitting(
                f"workers restart each step: `next(iter({name}))`",
                f"{where} `{batches} = {endless}`, then `next({batches})`",
                f"{where} `{batches} = {brief}`, then `next({batches})`",
                f"{where} make one iterator that begins again at its end, and take `next` of it",
            ),
            notes=((around, "runs in every step"),),
            remedy=f"`batches = {endless}` before the first step (it starts the loader again whenever it "
            "is at its end), and `next(batches)` in each",
        )
    for site in module.loaders.sites:
        around = every_step(module, site.call)
        if around is not None and site.workers is Workers.YES:
            where = "the loop" if isinstance(around, LOOPS) else f"`{around.name}`"
            advice = _advice(module, site, around, where)
            yield Report(
                site.call,
                f"workers start again in every step: the DataLoader is made in {where}; {advice}",
                notes=((around, "runs in every step"),),
                remedy=advice,
            )


def _advice(module: Module, site: Site, around: Loop | FunctionNode, where: str) -> str:
    """One loader where all have the same data; workers keep what they started with, so new data is loaded here."""
    if _is_same(module, site.call, around):
        kept = "" if "persistent_workers" in site.arguments else ", with `persistent_workers=True`"
        return f"make it once, {'before' if isinstance(around, LOOPS) else 'outside'} {where}{kept}"
    refused = [f"`{name}`" for name in _OF_WORKERS if name in site.arguments]
    return f"its data is new each time: pass `num_workers=0`{', without ' + ', '.join(refused) if refused else ''}"


def _before(module: Module, loader: ast.expr, around: Loop | FunctionNode) -> tuple[str, str]:
    """Where one iterator for all steps is made, and its name: of an attribute, where that is set."""
    if isinstance(around, LOOPS):
        return "before the loop", "it"
    owned = module.classes.self_attribute(loader)
    setting = owned[0].attributes.get(f"self.{owned[1]}", []) if owned is not None else []
    function = module.tree.function(setting[0].node) if setting else None
    return (f"in `{function.name}`,", "self.it") if function is not None else (f"outside `{around.name}`", "it")


def _is_same(module: Module, call: ast.Call, around: Loop | FunctionNode) -> bool:
    """Whether nothing that a call is given is made, drawn or used in the step: it may be another, or changed, there."""
    parts = [node for each in (*call.args, *call.keywords) for node in ast.walk(each)]
    if any(isinstance(node, (ast.Call, ast.Await, ast.NamedExpr)) and not _is_class(module, node) for node in parts):
        return False
    names = [node for node in parts if isinstance(node, (ast.Name, ast.Attribute))]
    names = [node for node in names if not isinstance(module.tree.parents[node], ast.Attribute)]
    keys = {key: node for node in names if (key := key_of(node))}
    for key, node in keys.items():
        if any(module.tree.inside(d.node, around) for d in module.flow.reaching(key, node)):
            return False
    used = [key_of(node) for node in module.tree.within(around) if not module.tree.inside(node, call)]
    return keys.keys().isdisjoint(used)


def _is_class(module: Module, node: ast.AST) -> bool:
    """Whether a call makes an object that is told apart by its arguments alone."""
    return isinstance(node, ast.Call) and (
        isinstance(module.names.definition(node.func), ast.ClassDef)
        or module.names.qualname(node.func).startswith("torch.utils.data.")
    )


def _is_new(module: Module, loader: ast.expr, around: ast.AST) -> bool:
    """Whether each round has a loader of its own."""
    key = key_of(loader)
    return bool(key) and any(module.tree.inside(d.statement, around) for d in module.flow.reaching(key, loader))
