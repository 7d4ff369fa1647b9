"""returned-view: a sample is a view of an array or tensor that the Dataset keeps.

Leaks
-----
    class Photos(Dataset):
        def __init__(self, file):
            self.images = np.load(file)

        def __getitem__(self, i):
            return self.images[i]

    loader = DataLoader(Photos(file), batch_size=8, collate_fn=list)

Instead
-------
    class Photos(Dataset):
        def __init__(self, file):
            self.images = np.load(file)

        def __getitem__(self, i):
            return self.images[i].copy()

    loader = DataLoader(Photos(file), batch_size=8, collate_fn=list)

Why
---
A slice shares the memory of the stored array. Two things follow where nothing copies the batch (a collate function
that passes samples through, `batch_size=None`). An in-place edit of the batch changes the Dataset. And a slice of a
torch tensor that a worker sends takes its whole storage to shared memory, once per worker. It is shared memory that
surprises, not a leak. `np.flip` and `.contiguous()` of a contiguous view are views too; `torch.flip` copies.

Measured
--------
80 KB rows of a 62.5 MB tensor through a pass-through collate: 125 MB of /dev/shm with two workers, 250 MB with
four, 63 MB after `share_memory_()`, 0.4 MB fixed; what the main process writes there is read again by the
worker in the next epoch. NumPy rows with `num_workers=0` and `batch_size=None` or a pass-through collate: an
edit of the batch changes 400 of 400 images of the Dataset; fixed, under the default collate, or from workers
(which pickle arrays): 0.

Severity: a note where the file does not show the collate function, a warning where it passes samples through.

Run by `fixtures/TLK201_returned_view/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
Every DataLoader of this class in the file copies the batch at once (the default collate, or a collate function of
the file that stacks), the read copies (fancy index, `astype`, arithmetic), or a one-dimensional array gives a scalar;
and where a program that makes loaders never makes an object of the class, or never sets the flag that this is behind.

How to fix it
-------------
Safe, on what is returned: `.copy()` for arrays, `.clone()` for tensors: same values, own memory. Unsafe where the
module edits what may be a sample, or asks which arrays share memory: such an edit no longer reaches the Dataset.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model import hints
from flake8_torchleak.model.leftout import is_never_run
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.samples import are_passed_on, given_out
from flake8_torchleak.model.values import Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import COLLATED, copied_by, short


@rule(
    "TLK201",
    "returned-view",
    fix=FixLevel.SAFE,
    also=FixLevel.UNSAFE,
    severity=Severity.WARNING,
    subject=Subject.DATASET,
)
def check(module: Module) -> Iterator[Report]:
    seen: set[ast.AST] = set()
    if not module.notes and not are_passed_on(module):
        return
    for dataset in module.datasets.all:
        if module.loaders.copies_arrays(dataset.facts.node):
            continue
        for given in given_out(module, dataset):
            origin = given.value.origin
            if given.value.kind not in (Kind.ARRAY, Kind.TENSOR) or origin is None or not origin.view:
                continue
            if given.node in seen:
                continue
            seen.add(given.node)
            if module.served.is_only_read(dataset, given) or module.reach.is_unused(dataset):
                continue
            if hints.is_label(origin.name):
                continue  # a label: one number, which nobody edits
            if is_never_run(module, dataset, [given.node]):
                continue
            copied = "copy" if given.value.kind is Kind.ARRAY else "clone"
            passed = module.loaders.passes_through(dataset.facts.node)
            yield Report(
                given.node,
                f"edits of the sample may change the Dataset: `{short(given.node)}` shares the memory of "
                f"`{origin.name}`; {copied_by(given.node, copied)}",
                notes=(
                    (origin.node, f"`{origin.name}` is stored by `{dataset.name}`"),
                    *dataset.chain(given.function),
                    *given.value.why[:1],
                ),
                severity=Severity.WARNING if passed else Severity.NOTE,
                why=COLLATED,
                target=given.node,
                under=("TLK204", given.node),
            )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.copy()` on an array, `.clone()` on a tensor."""
    assert isinstance(report.target, ast.expr)
    proof = build.module.proof
    method = "copy" if proof.is_array(report.target) else "clone" if proof.is_tensor(report.target) else ""
    if not method:
        raise Unfixable(f"`{short(report.target)}` is not proven to be an array or a tensor")
    yield Fix(
        build.module.release.sharing.level(True),
        f"return a copy (`.{method}()`)",
        build.method(report.target, method),
    )
