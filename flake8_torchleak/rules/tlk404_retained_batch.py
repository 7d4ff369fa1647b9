"""retained-batch: a tensor of a worker's batch is kept across steps, by itself or through an alias.

Leaks
-----
    labels = []
    for x, y in loader:
        labels.append(y.numpy())

Instead
-------
    labels = []
    for x, y in loader:
        labels.append(y.numpy().copy())

Why
---
A batch from a worker process lives in shared memory: every tensor of it holds one file descriptor and one
mapping until it is freed. `.numpy()`, `.cpu()` (of a CPU tensor), `.detach()`, `np.asarray` and slices
share that memory, so each kept batch keeps its descriptor: "Too many open files", or /dev/shm fills up.

Measured
--------
Descriptors and mappings held per batch, of which one tensor is kept: 1 by `t`, `t.numpy()`, `np.asarray(t)`,
`t.cpu()`, `t.to("cpu")`, `t.detach()`, `t[0]` and views; 0 by `.clone()`, `.numpy().copy()`, `np.array(t)`,
`.tolist()`, `.item()`. With 256 descriptors allowed: "Too many open files" at batch 230; fixed, all 400 pass.
Sharing by file_system: no descriptor, 1 mapping. Kept labels do not hold the image beside them. Without
workers: 0. pin_memory: not run here, needs CUDA.

Run by `fixtures/TLK404_retained_batch/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
- The loader has no workers as far as the file shows; or the program as a whole makes loaders, and each of them has none
  (TLK101) or pins its batches: with CUDA, by torch's source, these are copied to page-locked memory.
- The batch was moved with `.to(device)` or `.cuda()` first.
- What is kept is new memory: arithmetic, `torch.cat`, `np.array`.
- It is not proven to be a tensor.
- The container is emptied, bounded, or filled in one iteration only.

A note where no loader made with workers is seen to give the batch: it is handed in, or made by a function out of sight;
where a condition did not let the batch be moved to a device; where this loader pins memory, and others do not; and
where one pass over the data fills a list that goes nowhere: its descriptors, one a batch, are released when the
function returns.

How to fix it
-------------
Safe: `.copy()` for arrays, `.clone()` for what is proven to be a tensor: one small copy per step. Unsafe where the
module asks which tensors share memory. No fix where the batch, or what is kept of it, is edited in place in the same
function, nor for what goes through a helper.

By hand, for a whole batch: `copy.deepcopy(batch)` copies the tensors of any batch, be it a tuple, a dict or an object.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Edit, Fix, FixLevel, Severity
from flake8_torchleak.following import FOLLOWED, Said, reports
from flake8_torchleak.gate import Subject
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.stores import Store, stored
from flake8_torchleak.model.values import Kind, OriginKind, Value
from flake8_torchleak.rule import Report, never, rule
from flake8_torchleak.wording import deepcopied, short


@rule(
    "TLK404",
    "retained-batch",
    fix=FixLevel.SAFE,
    also=FixLevel.UNSAFE,
    severity=Severity.ERROR,
    subject=Subject.STEPS,
    apart=never,
)
def check(module: Module) -> Iterator[Report]:
    for report in reports(module, "TLK404", partial(_said, module)):
        if not module.reach.sends_no_batches():
            yield report


def _said(module: Module, kept: Kept) -> Said | None:
    store = stored(kept.at)
    held = list(_held(module, store)) if store is not None else []
    if store is None or not held:
        return None
    expression, value = held[0]
    if value.kind is Kind.ARRAY:
        advice = "store a copy (`.copy()`)"
    elif module.loops.is_whole_batch(expression):
        advice = deepcopied(expression, "store")
    else:
        advice = "store a copy (`.clone()`)"
    return Said(
        f"shared memory grows with each batch: `{short(store.holder)}` keeps `{short(expression)}` as a worker "
        f"sent it; {advice}",
        (store, [part for part, _ in held]),
        notes=((value.origin.node, "with workers, batches of this DataLoader are in shared memory"),)
        if value.origin is not None and isinstance(value.origin.node, ast.expr)
        else (),
    )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.copy()` on an array, `.clone()` on what is proven a tensor."""
    if not isinstance(report.target, tuple):
        raise Unfixable(FOLLOWED)
    store, parts = report.target
    sharing = build.module.release.sharing
    edits: list[Edit] = []
    if sharing.edits_batches(build.module.tree.scope(store.node)) or sharing.edits_content(store.key, store.node):
        raise Unfixable("the batch is edited in place here, which also edits what is kept of it")
    for part in parts:
        is_array = build.module.proof.is_array(part)
        if not is_array and not build.module.proof.is_tensor(part):
            raise Unfixable(f"`{short(part)}` is not proven to be a tensor")
        edits += build.method(part, "copy" if is_array else "clone")
    yield Fix(sharing.asking(), f"store a copy of `{short(parts[0])}`", tuple(edits))


def _held(module: Module, store: Store) -> Iterator[tuple[ast.expr, Value]]:
    """The stored expression (or the parts of a display) that share a batch's memory, each with its value."""
    parts: list[ast.expr] = [store.value]
    if isinstance(store.value, (ast.Tuple, ast.List)):
        parts = list(store.value.elts)
    elif isinstance(store.value, ast.Dict):
        parts = list(store.value.values)
    elif store.spread:
        value = module.infer.value(store.value)
        named = isinstance(store.value, ast.Name) and module.loops.used_as_tensor(store.value)
        if value.kind is not Kind.TENSOR and not named:
            return  # the elements of a one-dimensional array are scalars: copies
    for part in parts:
        value = module.infer.value(part)
        if value.origin is None or value.origin.kind is not OriginKind.BATCH:
            continue
        if not isinstance(value.origin.node, ast.expr) or not module.loaders.behind(value.origin.node):
            continue
        if module.loops.is_moved(part):
            continue
        if value.kind in (Kind.TENSOR, Kind.ARRAY) or module.loops.used_as_tensor(part):
            yield part, value
