"""create-graph-backward: backward(create_graph=True) ties parameters and gradients into a cycle.

Leaks
-----
    loss.backward(create_graph=True)
    penalty = sum(p.grad.square().sum() for p in model.parameters())

Instead
-------
    grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)
    penalty = sum(g.square().sum() for g in grads)

Why
---
With `create_graph=True` the gradients are tensors with a graph, which holds the parameters, which hold the gradients
in `.grad`. Reference counting never frees that cycle, and neither does `gc.collect()`, for it runs through C++. A
reset of the gradients (`zero_grad()`, `p.grad = None`) cuts it, after the step or before the next one: what is left
then is one step's. Where each call makes a model of its own, only a reset after its use does. torch warns of it at
run time. Source: the note in the documentation of `torch.autograd.backward`.

Measured
--------
A network of four 512-wide layers, batch 64, more after each step and `gc.collect()`: 961 KB when gradients are
never reset, 9224 KB with a new model (4 MB of parameters) each time, and even a model of nine parameters leaves
13 KB. With `zero_grad()` 0.1 KB, by `torch.autograd.grad` 0.1 KB, with new models 0.2 KB.

By hand, the same network: `zero_grad()` before each step or after it, with `set_to_none=False` too, leaves no
more than 40 KB from step to step in all the memory of the process, which is noise; without a reset 4 to 6 MB.
Models of their own that are reset only before use stay as a whole.

Run by `fixtures/TLK602_create_graph_backward/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
Gradients are reset in the same function or class, by a caller in the file, or by what is called there or in the loop of
a caller; `create_graph` is a variable; or it is a test.

How to fix it
-------------
By hand: `model.zero_grad(set_to_none=True)` (the default from torch 2.0), or `p.grad = None`, once the gradients are
used. Or `torch.autograd.grad(...,
create_graph=True)`, which leaves `.grad` alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

_MOST_LEVELS = 3
"""Callers of callers, and what is called by what is called, that are asked."""


@rule(
    "TLK602",
    "create-graph-backward",
    fix=FixLevel.HINT,
    severity=Severity.ERROR,
    subject=Subject.TORCH,
    words=("create_graph",),
    beside=(".backward(",),
    local=True,
)
def check(module: Module) -> Iterator[Report]:
    for call in module.classes.own_calls("backward"):
        creates = any(
            k.arg == "create_graph" and isinstance(k.value, ast.Constant) and k.value.value is True
            for k in call.keywords
        )
        if not creates or not isinstance(call.func, ast.Attribute) or _is_reset(module, call):
            continue
        differentiated = short(call.args[0] if call.args else call.func.value)
        yield Report(
            call,
            "memory grows with every `backward`: `create_graph=True` makes parameters and `.grad` keep each other; "
            "once `.grad` is used, `model.zero_grad(set_to_none=True)`",
            remedy=(
                f"`torch.autograd.grad({differentiated}, parameters, create_graph=True)`, or `zero_grad()` after use"
            ),
        )


def _is_reset(module: Module, call: ast.Call) -> bool:
    """Whether gradients are reset in the functions around the call, in its class, or by its callers; or it is a test.

    Of callers of callers, by what stands in the loop with the call that leads there.
    """
    around = [up for up in module.tree.ancestors(call) if isinstance(up, FUNCTIONS)]
    if any(each.name.startswith("test") for each in around):
        return True
    facts = module.classes.around(call)
    scopes: list[ast.AST] = [*around, *(facts.all_functions if facts is not None else [])]
    if _resets(module, scopes or [module.root], _MOST_LEVELS):
        return True
    functions = around[:1]
    for level in range(_MOST_LEVELS):
        sites = [caller for each in functions for caller in module.classes.calls_of(each)]
        functions = [each for each in map(module.tree.function, sites) if each is not None]
        if _resets(module, [loop for each in sites for loop in module.tree.loops(each)[:1]], _MOST_LEVELS):
            return True
        if not level and _resets(module, [module.tree.function(each) or module.root for each in sites], 0):
            return True
    return False


def _resets(module: Module, scopes: Sequence[ast.AST], levels: int) -> bool:
    """Whether something resets gradients in functions or loops, or in what is called there."""
    seen: set[ast.AST] = set()
    for _ in range(levels + 1):
        nodes = [node for each in scopes for node in ast.walk(each)]
        if any(map(_is_one, nodes)):
            return True
        seen.update(scopes)
        called = dict.fromkeys(module.classes.callee(each) for each in nodes if isinstance(each, ast.Call))
        scopes = [each for each in called if each is not None and each not in seen]
    return False


def _is_one(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node.func) == "zero_grad"
    return isinstance(node, ast.Attribute) and node.attr == "grad" and not isinstance(node.ctx, ast.Load)
