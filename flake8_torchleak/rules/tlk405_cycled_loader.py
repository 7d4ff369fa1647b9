"""cycled-loader: every batch of a DataLoader is kept at once, by itertools.cycle, tee or list.

Leaks
-----
    for (x, y), (u, _) in zip(loader, itertools.cycle(unlabeled_loader)):
        ...

Holds
-----
    for (x, y), (u, _) in zip(loader, itertools.chain.from_iterable(itertools.cycle([unlabeled_loader]))):
        ...

Why
---
`itertools.cycle` saves each batch that it gives out, to give the same ones again: after the first round a whole
epoch is in memory, shuffling and augmentation stand still, and every tensor from a worker holds a file descriptor
("Too many open files"). `itertools.tee` saves what one of its iterators is ahead of the others by; `list` and
`tuple` collect everything before the first batch is used. Source: documentation of itertools; pytorch issue 23900.

Measured
--------
40 shuffled batches of two tensors from two workers, descriptors more at the end of the first round: 72 under
`itertools.cycle`, fixed 0; none more in the second, which gives 40 of the 40 batches again, fixed 0. `list` 74,
where a plain loop has 0; `tuple` 90; `tee` 78, when one of its iterators is an epoch behind.

Run by `fixtures/TLK405_cycled_loader/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

Silent when
-----------
The function that repeats is the project's own (`def cycle(loader): while True: yield from loader`), what is cycled
is no loader, or it is a test.

Fix
---
Unsafe, for `itertools.cycle`: repeat the loader, not its batches. It shuffles anew in each round and starts its
workers again (persistent_workers=True keeps them). For `list(loader)`: `len(loader)`, or a loop.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name, mentions
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.model.values import Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

_REMEDY = {
    "itertools.cycle": "repeat the loader itself",
    "itertools.tee": "iterate the loader once for each",
    "list": "iterate over it",
    "tuple": "iterate over it",
}
_NAMED = r"\([\w.\[\]('\", =]*?(?:oader|dls?\b)"
_COLLECTED = [re.compile(f"{name}{_NAMED}") for name in ("list", "tuple")]  # a literal first: it is sought fastest
_SHORT = re.compile(r"dls?\b")


def _may_collect(outline: Outline) -> bool:
    """Whether a loader is made in the file, or one by its name is collected."""
    text = outline.text
    if "itertools" in text and ("cycle(" in text or "tee(" in text):
        return True
    if "oader" not in text and _SHORT.search(text) is None:
        return False
    return "oader(" in text or "dl(" in text or any(each.search(text) is not None for each in _COLLECTED)


@rule(
    "TLK405",
    "cycled-loader",
    fix=FixLevel.UNSAFE,
    severity=Severity.WARNING,
    subject=Subject.TORCH,
    words=("cycle(", "tee(", "list(", "tuple("),
    shape=_may_collect,
)
def check(module: Module) -> Iterator[Report]:
    for call in module.classes.own_calls("cycle", "tee", "list", "tuple"):
        qualname = module.names.qualname(call.func)
        if qualname not in _REMEDY or len(call.args) != 1 or _is_test(module, call):
            continue
        loader = module.infer.loader_of(call.args[0]) if not mentions(call.args[0], "islice") else None
        if loader is None or (loader.made is None and last_name(call.args[0]).endswith("s")):
            continue  # a name like `loaders` may be a list of them
        name, remedy = short(call.args[0]), _REMEDY[qualname]
        if isinstance(module.tree.parents[call], ast.Call) and qualname == "list":
            counted = module.tree.parents[call]
            if last_name(getattr(counted, "func", call)) == "len":
                remedy = f"use `len({name})`, or count in the loop if its Dataset has no length"
        yield Report(
            call,
            f"`{qualname}` keeps every batch of `{name}` in memory; {remedy}",
            notes=((loader.made, "the loader is made here"),) if loader.made is not None else (),
            target=call if qualname == "itertools.cycle" else None,
        )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`chain.from_iterable(cycle([loader]))`: what is saved is the loader, not its batches."""
    if not isinstance(report.target, ast.Call):
        raise Unfixable("what is collected may be used in other ways than by iterating over it")
    chain, imported = build.reference("itertools.chain", report.target)
    (loader,) = report.target.args
    if build.module.infer.value(loader).kind is not Kind.LOADER or "iter" in last_name(loader):
        raise Unfixable(f"`{short(loader)}` may be an iterator, which gives its batches only once")
    edits = (*build.wrapped(loader, "[", "]"), *build.wrapped(report.target, f"{chain}.from_iterable(", ")"))
    yield Fix(FixLevel.UNSAFE, "repeat the loader, not its batches", (*imported, *edits))


def _is_test(module: Module, node: ast.AST) -> bool:
    """Inside a test function: a few batches, for the moment."""
    return any(
        isinstance(up, FUNCTIONS) and up.name.lstrip("_").startswith("test") for up in module.tree.ancestors(node)
    )
