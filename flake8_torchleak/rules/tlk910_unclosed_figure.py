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
With matplotlib 3.11 (Agg, 6 x 4 inches, an image of 300 x 300): 1.4 MB more for each figure than with `plt.close`,
0.2 MB where it is cleared by `plt.clf()`. One report fell from 1616 to 32 MB by closing.

When it stays silent
--------------------
The figure is closed, cleared or shown in the loop, or closed below it; it is returned, kept in an attribute or handed
to a call; it has a number (it is used again); or the loop goes over a few fixed values.

How to fix it
-------------
Unsafe: `plt.close(fig)` below the last `savefig`. By hand, where not every figure is saved: at the end of the loop's
body. What uses the figure later finds it out of pyplot's registry.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.figures import MAKES, is_let_go, makes
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import Loop
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short


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
    for call in module.classes.own_calls(*MAKES):
        loop = _loop(module, call) if makes(module, call) else None
        if loop is None:
            continue
        scope = module.tree.function(call) or module.root
        around = loop if loop in module.tree.loops(call) else scope
        saved = [
            each
            for each in module.tree.calls(scope)
            if last_name(each.func) == "savefig" and each.lineno >= call.lineno and module.tree.inside(each, around)
        ]
        if not saved or is_let_go(module, call, around):
            continue
        yield Report(
            call,
            f"memory grows with each figure: pyplot keeps it until it is closed; call `{_pyplot(call)}.close("
            f"{_figure(module, call)})` {'after `savefig`' if _are_together(module, call, saved[-1]) else _LATER}",
            notes=((loop, "one figure per iteration"), (saved[-1], "saved here, and not closed")),
            target=(call, saved[-1]),
        )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`plt.close(fig)` below the last `savefig`."""
    assert isinstance(report.target, tuple)
    call, saved = report.target
    close, imported = build.reference("matplotlib.pyplot.close", call)
    if not _are_together(build.module, call, saved):
        raise Unfixable("the figure is made and saved in different blocks")
    figure = _figure(build.module, call)
    edits = build.after(build.module.tree.statement(saved), f"{close}({figure})")
    yield Fix(FixLevel.UNSAFE, f"call `{close}({figure})` after `savefig`", (*imported, *edits))


_LATER = "at the end of each round"


def _are_together(module: Module, call: ast.Call, saved: ast.Call) -> bool:
    """Whether a figure is made and saved in one block, so that what is made is saved."""
    made, statement = module.tree.statement(call), module.tree.statement(saved)
    return module.tree.parents[made] is module.tree.parents[statement]


def _figure(module: Module, call: ast.Call) -> str:
    """The variable of a figure; the present figure needs none."""
    made = module.tree.statement(call)
    target = made.targets[0] if isinstance(made, ast.Assign) else None
    if isinstance(target, ast.Tuple):
        target = target.elts[0]
    return short(target) if isinstance(target, ast.Name) else ""


def _pyplot(call: ast.Call) -> str:
    """The module as the file names it."""
    return short(call.func.value) if isinstance(call.func, ast.Attribute) else "plt"


def _loop(module: Module, call: ast.Call) -> Loop | None:
    """The loop that makes a figure in each round, here or by calling this function; none over a few fixed values."""
    function = module.tree.function(call)
    callers = module.classes.calls_of(function) if function is not None else []
    for each in (call, *callers):
        for loop in module.tree.loops(each):
            if not module.loops.is_short(loop):
                return loop
    return None
