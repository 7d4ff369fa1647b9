"""stored-on-gpu: a model's outputs are collected on the device, step after step, with gradients off.

Leaks
-----
    outputs = []
    with torch.no_grad():
        for x in loader:
            outputs.append(model(x.to(device)))

Instead
-------
    outputs = []
    with torch.no_grad():
        for x in loader:
            outputs.append(model(x.to(device)).cpu())

Why
---
No graph is kept here, but the outputs of a whole split are: features, logits or masks of all samples in the memory of
the GPU, which is the smaller one. Results that are collected belong into main memory: those of
comprehensions over batches, too.

Measured
--------
64 outputs of 1,000 classes are 250 KB a step; segmentation masks of 512 x 512 and 20 classes 1.3 GB. Not run here:
needs CUDA.

When it stays silent
--------------------
What is kept was moved (`.cpu()`, `.numpy()`, `.tolist()`), is one number or class per sample (`argmax`, `mean`), or
the function shows no move to a device.

How to fix it
-------------
Unsafe: `.cpu()` on what is stored. It waits for the GPU, and what uses the results runs on the CPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.lasting import lasting_stores
from flake8_torchleak.model.bindings import How, key_of
from flake8_torchleak.model.effects import TORCH_FUNCTIONS
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import Scope
from flake8_torchleak.model.values import Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

_SAME_SIZE = frozenset({
    "detach", "softmax", "log_softmax", "sigmoid", "tanh", "relu", "exp", "log", "float", "half", "clone", "squeeze",
    "unsqueeze", "view", "reshape", "flatten", "contiguous", "transpose", "permute", "normalize", "clamp",
})  # fmt: skip
_MOST_DEPTH = 6


@rule(
    "TLK905",
    "stored-on-gpu",
    fix=FixLevel.UNSAFE,
    severity=Severity.NOTE,
    subject=Subject.STEPS,
    words=("cuda", "device", "gpu"),
)
def check(module: Module) -> Iterator[Report]:
    for store in lasting_stores(module):
        scope = module.tree.scope(store.node)
        if not module.grad.off(store.node) or not _is_on_device(module, scope):
            continue
        for value in (part for each in store.elements for part in module.classes.record(each) or [each]):
            source = _output(module, value, _MOST_DEPTH)
            if source is not None:
                holder = "the list" if store.holder is store.node else f"`{short(store.holder)}`"
                yield Report(
                    store.node,
                    f"GPU memory grows every step: {holder} keeps `{short(value)}` on the device; "
                    "store it with `.cpu()`",
                    notes=((source, "the model's output, on the device"),),
                    target=value,
                )
                break


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.cpu()` on what is stored."""
    value = report.target
    assert isinstance(value, ast.expr)
    if not build.module.proof.is_tensor(value):
        raise Unfixable(f"`{short(value)}` is not proven to be a tensor")
    yield Fix(FixLevel.UNSAFE, f"store `{short(value)}.cpu()`", build.method(value, "cpu"))


def _is_on_device(module: Module, scope: Scope) -> bool:
    """Whether a function moves something to the device, itself or in what it calls."""
    calls = module.tree.calls(scope)
    helpers = {each for call in calls if (each := module.classes.callee(call)) is not None}
    return any(_moves(call) for each in (scope, *helpers) for call in module.tree.calls(each))


def _moves(call: ast.Call) -> bool:
    """`.cuda()`, `.to(device)`: not `.to("cpu")` and not a type."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("cuda", "to"):
        return False
    where = call.args[0] if call.args else None
    if call.func.attr == "cuda" or where is None:
        return call.func.attr == "cuda"
    if isinstance(where, ast.Constant):
        return isinstance(where.value, str) and where.value.startswith("cuda")
    return "device" in last_name(where) or "gpu" in last_name(where)


def _output(module: Module, node: ast.expr, depth: int) -> ast.expr | None:
    """The model call that an expression holds the output of, in full size and where it was made; else None."""
    if not depth:
        return None
    if isinstance(node, ast.Attribute):
        return _output(module, node.value, depth - 1) if node.attr.endswith(("logits", "state", "features")) else None
    if isinstance(node, ast.Call):
        called = node.func
        if (
            node.args
            and module.infer.value(called).kind is Kind.MODULE
            and not module.infer.calls.is_construction(node)
        ):
            return node
        head, _, last = module.names.qualname(called).rpartition(".")
        if head.startswith("torch") and last in _SAME_SIZE and (last in TORCH_FUNCTIONS or "functional" in head):
            return _output(module, node.args[0], depth - 1) if node.args else None
        if isinstance(called, ast.Attribute) and called.attr in _SAME_SIZE:
            return _output(module, called.value, depth - 1)
        given = [_output(module, each, depth - 1) for each in module.classes.gives(node)]
        return given[0] if given and all(given) else None
    if isinstance(node, ast.Name):
        reaching = module.flow.reaching(key_of(node), node)
        found = [
            _output(module, d.value, depth - 1) if d.value is not None and d.how is How.ASSIGN and not d.path else None
            for d in reaching
        ]
        return found[0] if found and all(found) else None
    return None
