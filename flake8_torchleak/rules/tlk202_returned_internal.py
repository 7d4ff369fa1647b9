"""returned-internal: a sample is a dict, list or other mutable object that the Dataset keeps.

Leaks
-----
    class Boxes(Dataset):
        def __init__(self, paths, file):
            self.paths = paths
            self.annotations = [{"boxes": parse(line)} for line in open(file)]

        def __getitem__(self, i):
            return load(self.paths[i]), self.annotations[i]

Instead
-------
    class Boxes(Dataset):
        def __init__(self, paths, file):
            self.paths = paths
            self.annotations = [{"boxes": parse(line)} for line in open(file)]

        def __getitem__(self, i):
            return load(self.paths[i]), copy.deepcopy(self.annotations[i])

Why
---
Whoever edits the sample edits the Dataset. A collate function that turns `target["boxes"]` into a tensor
leaves the tensor in the Dataset: the next epoch starts from changed data, and memory grows by every target
that was touched (per worker until it ends; for good with `num_workers=0` or persistent_workers).

Measured
--------
400 annotations of ten boxes, rebound to tensors in a collate function. `num_workers=0`: 400 of them changed in
the Dataset, 1.3 KB more for each; fixed 0. Two workers: the main process's Dataset is unchanged, but a worker
holds 414 descriptors and 412 shared mappings at the end of an epoch (14 and 12 fixed), with persistent_workers
for good. `dict(x)` protects the keys (0 changed), not nested lists (400); `copy.deepcopy` both.

Run by `fixtures/TLK202_returned_internal/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
Every DataLoader of this class in the file uses the default collate, which builds new containers; the element
is a string, number or tuple, is copied or rebuilt, or its type is not known (TLK903); or a program that makes loaders
never makes an object of the class.

How to fix it
-------------
`copy.copy(...)` where all that is in it is immutable, else `copy.deepcopy(...)`. Safe for containers of text, numbers,
arrays and the like. Unsafe where its elements are not known (they may be costly to copy), and where the module edits
what may be a sample: such an edit no longer reaches the Dataset.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.samples import Given, are_passed_on, given_out, is_cache, is_flat, is_immutable, is_plain
from flake8_torchleak.model.values import MUTABLE, Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import COLLATED, deepcopied, short


@rule(
    "TLK202",
    "returned-internal",
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
        if module.loaders.copies_batches(dataset.facts.node):
            continue
        for given in given_out(module, dataset):
            origin = given.value.origin
            if (
                given.value.kind not in MUTABLE - {Kind.JSON}
                or origin is None
                or origin.view
                or is_immutable(module, given.value)
            ):
                continue
            if given.node in seen:
                continue
            seen.add(given.node)
            if module.served.is_only_read(dataset, given) or module.reach.is_unused(dataset):
                continue
            of = "" if origin.name in short(given.node) else f", of `{origin.name}`"
            yield Report(
                given.node,
                f"edits of the sample change the Dataset: `{short(given.node)}` is the stored {given.value.kind.value} "
                f"itself{of}; {deepcopied(given.node, 'return')}",
                notes=(
                    (origin.node, f"`{origin.name}` is stored by `{dataset.name}`"),
                    *dataset.chain(given.function),
                    *given.value.why[:1],
                ),
                severity=Severity.WARNING if module.loaders.passes_through(dataset.facts.node) else Severity.NOTE,
                why=COLLATED,
                target=given,
            )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`copy.copy(...)` where all that is in it is immutable, `copy.deepcopy(...)` otherwise.

    Functions, not `.copy()`: they take a None or a string as well, where an element is missing or of another type.
    """
    given = report.target
    assert isinstance(given, Given)
    if is_cache(build.module, given.value):
        raise Unfixable("its class caches results on the object: a copy would lose them for every sample")
    flat = given.value.is_container and is_flat(given.value)
    copies, imported = build.reference("copy.copy" if flat else "copy.deepcopy", given.node)
    level = build.module.release.sharing.level(False) if is_plain(given.value) else FixLevel.UNSAFE
    yield Fix(level, f"return a copy (`{copies}(...)`)", (*imported, *build.wrapped(given.node, f"{copies}(", ")")))
