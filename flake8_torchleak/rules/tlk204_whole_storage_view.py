"""whole-storage-view: a worker sends a view of a stored tensor, and its whole storage goes to shared memory.

Leaks
-----
    class Rows(Dataset):
        def __init__(self, file):
            self.rows = torch.from_numpy(np.load(file))

        def __getitem__(self, i):
            return self.rows[i]

    loader = DataLoader(Rows(file), batch_size=8, num_workers=4, collate_fn=list)

Instead
-------
    class Rows(Dataset):
        def __init__(self, file):
            self.rows = torch.from_numpy(np.load(file))

        def __getitem__(self, i):
            return self.rows[i].clone()

    loader = DataLoader(Rows(file), batch_size=8, num_workers=4, collate_fn=list)

Why
---
A tensor is sent from a worker by its storage, which is moved to shared memory. The storage of `rows[i]` is that of all
rows: each worker puts the whole tensor into /dev/shm, and what the main process writes into its row is written into
that worker's Dataset. The default collate, and one that stacks, makes a tensor of its own first; a NumPy row is
pickled, so copied. `.contiguous()`, `.float()` of float32 and `torch.from_numpy` of a stored tensor's array are views.
Source: the note on multiprocessing best practices of the PyTorch documentation.

Measured
--------
4 KB windows of a 62.5 MB tensor through a collate function that keeps them apart: 62, 125 and 250 MB of
/dev/shm with one, two and four workers; 0.05 MB with `.clone()`, 0.03 MB under the default collate, 62 MB after
`share_memory_()`.

Run by `fixtures/TLK204_whole_storage_view/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The file does not show a DataLoader of this class with workers, and a collate function (or `batch_size=None`) that
passes samples through; the tensor holds labels; `share_memory_()` was called on it (one copy for all workers);
the program as a whole has no workers for the class (TLK101).

How to fix it
-------------
Safe: `.clone()`: same values, a storage of their own; unsafe where the module edits what may be a sample.
`self.rows.share_memory_()` in `__init__` keeps one copy for all workers instead of one for each; the views stay views.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model import hints
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.samples import given_out
from flake8_torchleak.model.values import Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import copied_by, short


@rule(
    "TLK204",
    "whole-storage-view",
    fix=FixLevel.SAFE,
    also=FixLevel.UNSAFE,
    severity=Severity.WARNING,
    subject=Subject.DATASET,
    words=("collate_fn", "batch_size=None"),
)
def check(module: Module) -> Iterator[Report]:
    seen: set[ast.AST] = set()
    for dataset in module.datasets.all:
        site = module.loaders.hands_on(dataset.facts.node)
        for given in given_out(module, dataset) if site is not None else ():
            origin = given.value.origin
            if given.node in seen or given.value.kind is not Kind.TENSOR or origin is None or not origin.view:
                continue
            if hints.is_label(origin.name) or _is_shared(dataset, origin.name):
                continue
            if module.infer.attributes.built(dataset.facts, origin.name.partition(".")[2]).kind is not Kind.TENSOR:
                continue  # `torch.from_numpy` of an array's row has a storage of that row alone
            if module.reach.is_out(dataset):
                continue
            seen.add(given.node)
            assert site is not None
            yield Report(
                given.node,
                f"each worker copies all of `{origin.name}` into shared memory: `{short(given.node)}` is a view (a "
                f"part) of it; {copied_by(given.node, 'clone')}",
                notes=(
                    (origin.node, f"`{origin.name}` is stored by `{dataset.name}`"),
                    *dataset.chain(given.function),
                    (site.call, "a DataLoader with workers, whose collate function does not copy samples"),
                ),
                target=given.node,
            )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.clone()` of the view."""
    assert isinstance(report.target, ast.expr)
    if not build.module.proof.is_tensor(report.target):
        raise Unfixable(f"`{short(report.target)}` is not proven to be a tensor")
    yield Fix(
        build.module.release.sharing.level(True),
        "return a copy (`.clone()`)",
        build.method(report.target, "clone"),
    )


def _is_shared(dataset: DatasetFacts, name: str) -> bool:
    """Whether the stored tensor was put into shared memory once for all."""
    return any(change.method == "share_memory_" for change in dataset.facts.mutations.get(name, []))
