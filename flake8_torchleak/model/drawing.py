"""What a loop goes over: that of a `for`, and of a `while` that draws from an iterator (`next(it)`)."""

from __future__ import annotations

import ast

from flake8_torchleak.model.flow import Flow, Round


def gone_over(flow: Flow, loop: Round) -> ast.expr | None:
    """The iterable whose elements a loop takes one by one; None where it goes on by a condition."""
    if not isinstance(loop, ast.While):
        return loop.iter
    tree = flow.tree
    for call in tree.calls(tree.scope(loop)):
        drawn = call.args[0] if call.args and isinstance(call.func, ast.Name) and call.func.id == "next" else None
        if isinstance(drawn, ast.Name) and tree.loops(call)[:1] == [loop]:
            found = flow.reaching(drawn.id, drawn)
            made = found[0].value if len(found) == 1 and found[0].is_plain else None
            if isinstance(made, ast.Call) and flow.names.qualname(made.func) == "iter" and len(made.args) == 1:
                return made.args[0]
    return None
