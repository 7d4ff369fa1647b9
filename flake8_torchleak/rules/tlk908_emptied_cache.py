"""emptied-cache: torch.cuda.empty_cache() in every step, which frees nothing that is in use.

Leaks
-----
    for x, y in loader:
        ...
        torch.cuda.empty_cache()

Instead
-------
    for x, y in loader:
        ...

Why
---
The allocator keeps freed blocks to hand them out again. `empty_cache()` gives them back to the driver, waits for the
GPU, and the next step asks for them again. Tensors that something still refers to stay: a leak goes on, a little
later. It has its place between phases of different sizes, and in a handler of a lack of memory. Source: PyTorch's
notes on CUDA memory management.

Measured
--------
Not run here: needs CUDA.

When it stays silent
--------------------
It runs now and then (under a condition), once per epoch, or where an exception is handled.

How to fix it
-------------
By hand: remove it, and look for what keeps the memory (`torch.cuda.memory_summary()`).
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.everystep import every_step
from flake8_torchleak.model.module import Module
from flake8_torchleak.rule import Report, rule


@rule(
    "TLK908",
    "emptied-cache",
    fix=FixLevel.HINT,
    severity=Severity.NOTE,
    subject=Subject.STEPS,
    words=("empty_cache(",),
    local=True,
)
def check(module: Module) -> Iterator[Report]:
    for call in module.classes.own_calls("empty_cache"):
        around = every_step(module, call)
        if around is not None:
            yield Report(
                call,
                "each step gets slower: `empty_cache()` frees nothing that is in use, and the next step "
                "allocates again; remove it",
                notes=((around, "runs in every step"),),
                remedy=(
                    "`torch.cuda.memory_summary()` shows what is in use; call `empty_cache()` between phases at most"
                ),
            )
