"""unclosed-figure: pyplot figures are made in a loop, saved, and never closed.

Leaks
-----
    for step, (x, y) in enumerate(loader):
        fig, ax = plt.subplots()
        ax.imshow(model(x)[0, 0].detach())
        fig.savefig(f"{step}.png")

Instead
-------
    for step, (x, y) in enumerate(loader):
        fig, ax = plt.subplots()
        ax.imshow(model(x)[0, 0].detach())
        fig.savefig(f"{step}.png")
        plt.close(fig)

Why
---
pyplot keeps every figure in a registry, with its canvas and all data drawn, until it is closed; dropping the variable
does not. After 20 it warns ("More than 20 figures have been opened"). Source: documentation of
`matplotlib.pyplot.figure`.

Measured
--------
Not run here: matplotlib is not among the libraries of this project. One report fell from 1616 to 32 MB by closing.

When it stays silent
--------------------
Anything in the function closes or clears figures, shows them, or gives them away, the figure has a number (it is used
again), or the loop goes over a few fixed values.

How to fix it
-------------
Unsafe: `plt.close(fig)` below the last `savefig`. What uses the figure later finds it out of pyplot's registry.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import Loop
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

_MAKES = ("figure", "subplots", "subplot_mosaic")
_ENDS = frozenset({"close", "clf", "cla", "show", "add_figure", "append", "Image", "log_figure", "log_image", "clear"})


@rule(
    "TLK910",
    "unclosed-figure",
    fix=FixLevel.UNSAFE,
    severity=Severity.NOTE,
    subject=Subject.TORCH,
    words=("pyplot",),
    local=True,
)
def check(module: Module) -> Iterator[Report]:
    for call in module.classes.own_calls(*_MAKES):
        qualname = module.names.qualname(call.func)
        numbered = last_name(call.func) == "figure" and bool(call.args) or any(k.arg == "num" for k in call.keywords)
        if not qualname.startswith("matplotlib.pyplot.") or numbered:
            continue
        loop = _loop(module, call)
        scope = module.tree.function(call) or module.root
        calls = module.tree.calls(scope)
        saved = [each for each in calls if last_name(each.func) == "savefig" and each.lineno >= call.lineno]
        ended = any(last_name(each.func) in _ENDS for each in calls)
        given = any(isinstance(node, (ast.Return, ast.Yield)) and node.value for node in module.tree.within(scope))
        if loop is None or not saved or ended or given:
            continue
        yield Report(
            call,
            "memory grows with each figure: pyplot keeps it until it is closed; call `plt.close(...)` after `savefig`",
            notes=((loop, "one figure per iteration"), (saved[-1], "saved here, and not closed")),
            target=(call, saved[-1]),
        )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`plt.close(fig)` below the last `savefig`."""
    assert isinstance(report.target, tuple)
    call, saved = report.target
    close, imported = build.reference("matplotlib.pyplot.close", call)
    tree = build.module.tree
    made, statement = tree.statement(call), tree.statement(saved)
    if tree.parents[made] is not tree.parents[statement]:
        raise Unfixable("the figure is made and saved in different blocks")
    target = made.targets[0] if isinstance(made, ast.Assign) else None
    if isinstance(target, ast.Tuple):
        target = target.elts[0]
    figure = short(target) if isinstance(target, ast.Name) else ""
    edits = build.after(statement, f"{close}({figure})")
    yield Fix(FixLevel.UNSAFE, f"call `{close}({figure})` after `savefig`", (*imported, *edits))


def _loop(module: Module, call: ast.Call) -> Loop | None:
    """The loop that makes a figure in each round, here or by calling this function; none over a few fixed values."""
    function = module.tree.function(call)
    callers = module.classes.calls_of(function) if function is not None else []
    for each in (call, *callers):
        for loop in module.tree.loops(each)[:1]:
            if not module.loops.is_short(loop):
                return loop
    return None
