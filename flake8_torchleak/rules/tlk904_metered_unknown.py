"""metered-unknown: a value that carries an autograd graph is handed to a meter whose class is not in the file.

Leaks
-----
    from utils import AverageMeter

    losses = AverageMeter()
    for x, y in loader:
        ...
        losses.update(loss, x.size(0))

Holds
-----
    for x, y in loader:
        ...
        losses.update(loss.item(), x.size(0))

Why
---
TLK403 for a meter that is defined elsewhere. Many project's meters add up what they get (`self.sum += val * n`), and
with it the graph of every step; some call `.item()` themselves, which the file does not tell.

Measured
--------
As TLK401, where the meter adds up: graph nodes of every step after `backward()`, all activations without it.

Silent when
-----------
The meter is of torchmetrics, ignite or another library that detaches, writes at once (TensorBoard, wandb, tqdm), or
its class is in the file (TLK403 reads it).

Fix
---
Unsafe: `.detach()` on the argument that is proven a tensor. `.item()` gives the meter a number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchleak.builder import Builder
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.bindings import container_of, key_of
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.values import Kind
from flake8_torchleak.releases import Kept, releases
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import released, short

_METERS = re.compile(
    r"meter|averag|(?:^|_)avg|track|monitor|recorder|losses|(?:^|_)stats?(?:_|$)|accumul", re.IGNORECASE
)
_TAKES = ("update", "add", "push", "put", "record", "add_value")
_SAFE_PACKAGES = frozenset({"torchmetrics", "torcheval", "ignite", "tqdm", "wandb", "mlflow", "timm", "torchnet"})
_UNKNOWN = (Kind.UNKNOWN, Kind.METRIC, Kind.INSTANCE)


@rule(
    "TLK904",
    "metered-unknown",
    fix=FixLevel.UNSAFE,
    severity=Severity.NOTE,
    subject=Subject.STEPS,
    words=tuple(f".{name}(" for name in _TAKES),
)
def check(module: Module) -> Iterator[Report]:
    for call in module.loops.steps(ast.Call):
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _TAKES:
            continue
        meter, key = call.func.value, key_of(container_of(call.func.value)[0])
        if not _METERS.search(last_name(container_of(meter)[0])) or key in module.config.safe_meters:
            continue
        known = module.infer.value(meter)
        if known.made is not None or known.kind not in _UNKNOWN or _is_of_library(module, key, call):
            continue
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            if module.retention.kept_graph(key, argument, call) is not None:
                yield Report(
                    call,
                    f"`{key}` may keep `{short(argument)}` with its autograd graph; hand it `{released(argument)}`",
                    notes=module.retention.evidence(key, argument, call),
                    target=Kept(key, argument, call),
                    remedy=f"`{short(argument)}.item()` gives the meter a number",
                )
                break


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.detach()` on the argument."""
    assert isinstance(report.target, Kept)
    for each in releases(report.target, build):
        yield Fix(FixLevel.UNSAFE, each.title, each.edits)


def _is_of_library(module: Module, key: str, call: ast.Call) -> bool:
    """Whether the meter is made by a library whose meters take numbers out of what they get, or write at once."""
    owned = (
        module.classes.self_attribute(container_of(call.func.value)[0])
        if isinstance(call.func, ast.Attribute)
        else None
    )
    made = owned[0].attributes.get(f"self.{owned[1]}", []) if owned else module.flow.reaching(key, call)
    names = (module.names.qualname(d.value.func) for d in made if isinstance(d.value, ast.Call))
    return any(name.partition(".")[0] in _SAFE_PACKAGES for name in names)
