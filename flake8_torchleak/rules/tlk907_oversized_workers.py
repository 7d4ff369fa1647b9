"""oversized-workers: more worker processes, or more prefetched batches, than machine or data can use.

Leaks
-----
    loader = DataLoader(data, num_workers=os.cpu_count(), prefetch_factor=64)

Instead
-------
    loader = DataLoader(data, num_workers=min(8, len(os.sched_getaffinity(0))))

Why
---
Each worker is a process with its own copy of what it touches of the Dataset, and holds `prefetch_factor` batches in
shared memory: workers x prefetch_factor batches at any time, for each loader and each GPU's process.
`os.cpu_count()` counts the cores of the machine, not those of the job (containers, a scheduler, one process per GPU).

Measured
--------
6 to 7 MB of private memory per worker (torch 2.13, Linux), besides what it copies of the Dataset (TLK101).

When it stays silent
--------------------
The count is bounded (`min`, a division), below 32, or comes from an option; prefetch_factor is below 16.

How to fix it
-------------
By hand: measure with 4, 8 and 16 workers, and take the smallest that keeps the GPU busy. The job's cores are counted by
`len(os.sched_getaffinity(0))` (Linux), and from Python 3.13 on by `os.process_cpu_count()`; a limit of CPU time, as
containers have it, is in neither.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

_MANY_WORKERS = 32
_MANY_BATCHES = 16
_MOST_TERMS = 20
_COUNTS = ("cpu_count", "process_cpu_count")


@rule(
    "TLK907",
    "oversized-workers",
    fix=FixLevel.HINT,
    severity=Severity.NOTE,
    subject=Subject.TORCH,
    words=("num_workers", "prefetch_factor"),
)
def check(module: Module) -> Iterator[Report]:
    for site in module.loaders.sites:
        given = {keyword.arg: keyword.value for keyword in site.call.keywords}
        number, ahead = given.get("num_workers"), given.get("prefetch_factor")
        if number is not None and _number(number) >= _MANY_WORKERS:
            yield Report(
                number,
                f"memory grows with each worker: {_number(number)} processes hold their own copies of data and "
                "batches; try `num_workers=8`",
                remedy="start with `num_workers=8`, and add workers only if the GPU waits for data",
            )
        elif number is not None and (counting := _counts_cores(module, number)):
            counted, advice = _counted(counting)
            yield Report(
                number,
                f"too many workers: `{short(number)}` {counted}; {advice}",
                remedy="`num_workers=min(8, len(os.sched_getaffinity(0)))` (Linux; from Python 3.13 everywhere "
                "`os.process_cpu_count()`)",
            )
        if ahead is not None and _number(ahead) >= _MANY_BATCHES:
            yield Report(
                ahead,
                f"shared memory fills up: every worker prepares {_number(ahead)} batches ahead; "
                f"set `prefetch_factor=4` (now {_number(ahead)})",
                remedy="`prefetch_factor=4`",
            )


def _number(node: ast.expr) -> int:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else 0


def _counted(function: str) -> tuple[str, str]:
    """Of which machine or job the cores are, and what to write; a loader needs few of either."""
    if function == "process_cpu_count":
        return "may be dozens of processes", "cap it: `num_workers=min(8, os.process_cpu_count())`"
    return (
        "counts the machine's cores, not the job's",
        "write `num_workers=min(8, len(os.sched_getaffinity(0)))` (Linux)",
    )


def _counts_cores(module: Module, node: ast.expr) -> str:
    """The function that counts the machine's cores, if it is that many or more: no part of it, no smaller of two."""
    stack = [node]
    for _ in range(_MOST_TERMS):
        if not stack:
            break
        each = stack.pop()
        if isinstance(each, ast.BinOp) and isinstance(each.op, (ast.Mult, ast.Add)):
            stack += [each.left, each.right]
        elif isinstance(each, ast.Name):
            found = module.flow.reaching(each.id, each)
            if len(found) == 1 and found[0].how is How.ASSIGN and not found[0].path and found[0].value is not None:
                stack.append(found[0].value)
        elif isinstance(each, ast.Call) and last_name(each.func) in _COUNTS:
            return last_name(each.func)
    return ""
