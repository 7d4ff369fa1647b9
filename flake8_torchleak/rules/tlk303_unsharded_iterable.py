"""unsharded-iterable: every worker of an IterableDataset goes over the whole stream.

Leaks
-----
    class Lines(IterableDataset):
        def __iter__(self):
            with open(self.path) as file:
                for line in file:
                    yield parse(line)

Instead
-------
    class Lines(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            first, step = (info.id, info.num_workers) if info else (0, 1)
            with open(self.path) as file:
                for line in itertools.islice(file, first, None, step):
                    yield parse(line)

Why
---
Each worker has a copy of the Dataset and iterates it from start to end: with n workers an epoch holds every sample
n times, and what `__iter__` loads is loaded n times. No sampler divides the indices here, as it does for a Dataset
with `__getitem__`. Ranks of distributed training need the same division once more.
Source: the documentation of `torch.utils.data.IterableDataset`, pytorch/pytorch#30599.

Measured
--------
Samples of one epoch of a file with 1000 lines: 1000 with one worker, 2000 with two, 4000 with four; 1000 with
four that divide it.

Run by `fixtures/TLK303_unsharded_iterable/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
- The class mentions workers, shards or ranks, takes every n-th element, or never ends.
- A worker_init_fn of the file may divide it.
- It iterates something of unknown nature: another Dataset may divide itself. (A parameter that is annotated as an
  `Iterable`, under another name, is taken for data: a note, where no loader with workers is seen.)
- Every DataLoader of the class in the file has no workers, or the program as a whole has none for it (TLK101).
- Its base is not torch's, or it is a stage of a WebDataset pipeline that divides later (`split_by_worker`).

How to fix it
-------------
By hand: divide by `torch.utils.data.get_worker_info()` at the start of `__iter__`, as above. Where samples have numbers
that must stay as they are, count all and yield a part:

    w = get_worker_info()
    for n, line in enumerate(file):
        if not w or n % w.num_workers == w.id:
            yield n, parse(line)

What is counted is what is yielded, whatever it is made of. Where `__iter__` returns an iterator,
`islice(that, w and w.id, None, w and w.num_workers)` gives the same part of it (`from itertools import islice`; None is
the start, or the step, without workers).

Each worker shuffles in its own way: divide before (`rows = rows[w.id :: w.num_workers]`), or by the index itself.
Several files are better divided than their lines (`self.files[info.id :: info.num_workers]`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.loader import Site, Workers
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.streams import Stream, undivided
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import called, is_long, short


@rule(
    "TLK303",
    "unsharded-iterable",
    fix=FixLevel.HINT,
    severity=Severity.WARNING,
    subject=Subject.DATASET,
    words=("IterableDataset",),
)
def check(module: Module) -> Iterator[Report]:
    for stream in undivided(module):
        node = stream.dataset.facts.node
        if not module.loaders.may_have_workers(node):
            continue
        sites = module.loaders.serving(node)
        if sites and all(_has_one(site) for site in sites) or _is_divided_later(module, node, sites):
            continue
        if module.reach.is_out(stream.dataset):
            continue
        served = [site for site in sites if site.workers is Workers.YES]
        source = short(stream.source)
        yield Report(
            stream.entry,
            f"samples come once per worker: each reads all of `{called(stream.source)}`; "
            f"{_division(module, stream)} (`w = get_worker_info()`)",
            notes=(
                (stream.source, "every worker reads all of it"),
                *stream.dataset.chain(stream.function),
                *((site.call, "a DataLoader with workers") for site in served[:1]),
            ),
            severity=Severity.ERROR if served else Severity.NOTE if _is_handed(module, stream) else Severity.WARNING,
            why="what it goes over is handed in, and may divide itself",
            remedy=f"in `__iter__`, take the elements of `{source}` from `info.id` on in steps of `info.num_workers`, "
            "where `info = torch.utils.data.get_worker_info()` is not None",
        )


def _division(module: Module, stream: Stream) -> str:
    """How a worker takes its part: of what has an order of its own in each worker, before it gets that."""
    source = short(stream.source)
    if stream.indices:
        return "take number i (not place i) only if `not w or i % w.num_workers == w.id`"
    if stream.shuffled and not is_long(stream.source):
        return f"before shuffling `if w: {source} = {source}[w.id::w.num_workers]`"
    if not any(isinstance(node, _YIELDS) for node in module.tree.within(stream.entry)):
        return "return `islice(..., w and w.id, None, w and w.num_workers)`"
    return "do the n-th yield only if `not w or n % w.num_workers == w.id`"


_YIELDS = (ast.Yield, ast.YieldFrom)


def _is_handed(module: Module, stream: Stream) -> bool:
    """Whether the maker of the Dataset hands in what it goes over: that may divide itself, whatever its annotation."""
    owned = module.classes.self_attribute(stream.source)
    definitions = owned[0].attributes.get(f"self.{owned[1]}", []) if owned is not None else []
    return bool(definitions) and all(
        isinstance(each.value, ast.Name)
        and (function := module.tree.function(each.node)) is not None
        and each.value.id in {given.arg for given in parameters(function)}
        for each in definitions
    )


def _is_divided_later(module: Module, made: ast.ClassDef, sites: list[Site]) -> bool:
    """Whether objects of the class are only stages of a pipeline, a later stage of which divides (WebDataset's)."""
    stages = [each for each in module.tree.all(ast.Name) if each.id == "split_by_worker"]
    stages_of = [each for each in module.tree.all(ast.Attribute) if each.attr == "split_by_worker"]
    calls = [each for each in module.tree.all(ast.Call) if last_name(each.func) == made.name]
    listed = all(isinstance(module.tree.parents[each], (ast.List, ast.Tuple, ast.Call)) for each in calls)
    return not sites and bool(stages or stages_of) and bool(calls) and listed


def _has_one(site: Site) -> bool:
    """Whether a loader has exactly one worker, which is right to go over all."""
    number = site.arguments.get("num_workers")
    return isinstance(number, ast.Constant) and number.value == 1
