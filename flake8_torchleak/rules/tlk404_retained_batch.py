"""retained-batch: a tensor of a worker's batch is kept across steps, by itself or through an alias.

Leaks
-----
    for x, y in loader:
        labels.append(y.numpy())

Holds
-----
    for x, y in loader:
        labels.append(y.numpy().copy())

Why
---
A batch from a worker process lives in shared memory: every tensor of it holds one file descriptor and one
mapping until it is freed. `.numpy()`, `.cpu()` (of a CPU tensor), `.detach()`, `np.asarray` and slices
share that memory, so each kept batch keeps its descriptor: "Too many open files", or /dev/shm fills up.

Measured
--------
200 batches from two workers, one int tensor kept of each: 200 descriptors by `t`, `t.numpy()`, `t.cpu()`,
`t.detach()`; 0 by `t.clone()`, `t.numpy().copy()`, `t.tolist()`.
pin_memory was not measured: it needs a GPU.

Silent when
-----------
The loader has no workers as far as the file shows, the batch was moved with `.to(device)` or `.cuda()`
first, what is kept is new memory (arithmetic, `torch.cat`, `np.array`), or it is not proven to be a tensor.

Fix
---
Safe: `.copy()` for arrays, `.clone()` for what is proven a tensor: one small copy per step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.stores import Store, stores
from flake8_torchleak.model.values import Kind, OriginKind, Value
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short


@rule("TLK404", "retained-batch", fix=FixLevel.SAFE, severity=Severity.ERROR, subject=Subject.STEPS)
def check(module: Module) -> Iterator[Report]:
    for store in stores(module):
        found = _held(module, store)
        if found is None:
            continue
        expression, value = found
        outlived = module.retention.outlives(store.key, store.node, stored=True)
        if outlived is None or value.origin is None or not isinstance(value.origin.node, ast.expr):
            continue
        if not module.loaders.behind(value.origin.node):
            continue
        if module.loops.is_moved(expression):
            continue
        if value.kind is Kind.ARRAY:
            advice = "add `.copy()`"
        else:
            advice = (
                "store `.clone()` of it"
                if not module.loops.is_whole_batch(expression)
                else "store clones of what is needed"
            )
        yield Report(
            store.node,
            f"`{store.name}` keeps shared memory of every batch through `{short(expression)}`; {advice}",
            notes=(
                (value.origin.node, "batches of a DataLoader, in shared memory when it has workers"),
                *module.retention.evidence(store.key, expression, store.node)[:2],
            ),
            target=expression,
        )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.copy()` on an array, `.clone()` on what is proven a tensor."""
    assert isinstance(report.target, ast.expr)
    if build.module.infer.value(report.target).kind is Kind.ARRAY:
        method = "copy"
    elif build.module.proof.is_tensor(report.target):
        method = "clone"
    else:
        raise Unfixable(f"`{short(report.target)}` is not proven to be a tensor")
    yield Fix(FixLevel.SAFE, f"keep `.{method}()` of it", build.method(report.target, method))


def _held(module: Module, store: Store) -> tuple[ast.expr, Value] | None:
    """The stored expression (or the part of a display) that shares a batch's memory, with its value."""
    parts: list[ast.expr] = [store.value]
    if isinstance(store.value, (ast.Tuple, ast.List)):
        parts = list(store.value.elts)
    elif isinstance(store.value, ast.Dict):
        parts = list(store.value.values)
    elif store.spread:
        value = module.infer.value(store.value)
        named = isinstance(store.value, ast.Name) and module.loops.used_as_tensor(store.value)
        if value.kind is not Kind.TENSOR and not named:
            return None  # the elements of a one-dimensional array are scalars: copies
    for part in parts:
        value = module.infer.value(part)
        if value.origin is None or value.origin.kind is not OriginKind.BATCH:
            continue
        if value.kind in (Kind.TENSOR, Kind.ARRAY) or module.loops.used_as_tensor(part):
            return part, value
    return None
