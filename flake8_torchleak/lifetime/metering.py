"""What is handed to an object that nobody can see, and that may add it up or collect it: a meter, as a rule."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.libraries import OUTSIDE
from flake8_torchleak.lifetime.outliving import outlived
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import BY_CALL, BY_NAME, Atom, Graph, Value

_FEEDING = frozenset({"update", "add", "push", "put", "record", "accumulate", "observe"})
"""Methods that meters, averages and buffers are fed by."""
_COLLECTING = _FEEDING | {"append"}
"""The same, of what is no list."""


def fed(run: Run, atom: Atom, name: str, args: list[Value], node: ast.expr) -> None:
    """A method of what nothing is known of is called: what the step made may be kept there, if it is fed by that.

    What is handed over by name, or in a dict, may only be shown, or takes the place of what was there.
    """
    if name not in (_COLLECTING if atom.made == OUTSIDE else _FEEDING) or atom.graph is Graph.YES or not args:
        return
    handed = next((each for each in args[0] if each.graph is Graph.YES), None)
    loop = outlived(run, [atom], chained=False) if handed is not None else None
    if loop is not None and handed is not None:
        target = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        run.keeper.add("meter", node, target, loop, [atom], handed)


def is_loss(run: Run, kept: Kept) -> bool:
    """Whether what a meter is fed is differentiated, or is a term of that: no output of a network."""
    value = kept.value
    if value.site in run.seen.roots:
        return True
    whole = value.site
    while isinstance(whole, tuple):
        whole = whole[0]
    return value.site in run.seen.spent and {(BY_CALL, whole), (BY_NAME, whole)}.isdisjoint(value.parts)
