"""unclosed-figure: pyplot figures are made again and again, and never closed.

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
The figure is closed, cleared or shown in the loop, or closed below it; it is kept in an attribute or an entry, or
handed to a call; it has a number (it is used again); the loop goes over a few fixed values; or a notebook makes it and
does not save it: at the end of a cell all of its figures are closed (matplotlib 3.11, inline).

A function's figures count where it is called in a loop, or in a method that a framework calls again and again, through
up to three callers of callers, in other files too, and where a base of its class calls what it overrides. What it
returns counts where the caller drops it, saves it or only calls methods of it. `wandb.Image(fig)` draws a figure and
leaves it open (wandb 0.31); what else gets one may close it.

How to fix it
-------------
Unsafe: `plt.close(fig)` below the last `savefig`. By hand, where not every figure is saved: at the end of the loop's
body, or of the function; and where its caller has used it, if the function returns it. What uses the figure later finds
it out of pyplot's registry.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.again import Again, called_again, loop_around
from flake8_torchleak.model.figures import MAKES, is_let_go, is_returned, makes, saves, settles
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
)
def check(module: Module) -> Iterator[Report]:
    for call in module.classes.own_calls(*MAKES):
        if not makes(module, call):
            continue
        loop = loop_around(module, call)
        scope = module.tree.function(call) or module.root
        around = loop or scope
        saved = [
            each
            for each in module.tree.calls(scope)
            if saves(module, each) and each.lineno >= call.lineno and module.tree.inside(each, around)
        ]
        if not saved and _is_notebook(module):
            continue
        returned = loop is None and is_returned(module, call)
        if is_let_go(module, call, around, returned):
            continue
        again = Again(loop, "one figure per iteration") if loop is not None else _again(module, call, returned)
        if again is None:
            continue
        yield Report(
            call,
            f"memory grows with each figure: pyplot keeps it until it is closed; call `{_pyplot(call)}.close("
            f"{_figure(module, call)})` {_when(module, call, saved, loop, returned)}",
            notes=(again, *([(saved[-1], "saved here, and not closed")] if saved else [])),
            target=(call, saved[-1] if saved and not returned else None),
        )


def _again(module: Module, call: ast.Call, returned: bool) -> Again | None:
    """What shows that the function is called again and again which makes a figure, and that nobody closes it."""
    function = module.tree.function(call)
    if function is None:
        return None

    def is_settled(user: Module, outer: ast.Call) -> bool:
        around = loop_around(user, outer) or user.tree.function(outer) or user.root
        return settles(user, outer) or (returned and is_let_go(user, outer, around))

    return called_again(module, function, is_settled)


def _is_notebook(module: Module) -> bool:
    """Whether it is a notebook, which shows and closes the figures of a cell at its end."""
    return module.path is not None and module.path.endswith(".ipynb")


def _when(module: Module, call: ast.Call, saved: list[ast.Call], loop: Loop | None, returned: bool) -> str:
    if returned:
        return "where it has been used"
    if saved and _are_together(module, call, saved[-1]):
        return f"after `{last_name(saved[-1].func)}`"
    return "at the end of each round" if loop is not None else "at the end"


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`plt.close(fig)` below the last `savefig`."""
    assert isinstance(report.target, tuple)
    call, saved = report.target
    if saved is None:
        raise Unfixable("it is not to be seen where the figure has been used for the last time")
    close, imported = build.reference("matplotlib.pyplot.close", call)
    if not _are_together(build.module, call, saved):
        raise Unfixable("the figure is made and saved in different blocks")
    figure = _figure(build.module, call)
    edits = build.after(build.module.tree.statement(saved), f"{close}({figure})")
    yield Fix(FixLevel.UNSAFE, f"call `{close}({figure})` after `{last_name(saved.func)}`", (*imported, *edits))


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
