"""Calls that work on what a network gave with gradients off, and build no graph of their own, as far as is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.running import runs_model

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_LEVELS = 3
"""Variables that a value is made of, one from another, of which one may be what a network gave."""


def works_on_outputs(module: Module, call: ast.Call) -> bool:
    """Whether a call gets what a network gave with gradients off, and is a loss, or a method of that very network.

    `loss = criterion(out, y)` behind `with no_grad(): out = net(x)`: who wrote that knows of graphs, and a loss has no
    parameters, as a rule; nor need `net.elbo(x, out)` ask any. Another network, such as a head, has some; and so has
    what is seen to run parts of its object.
    """
    func = call.func
    owner = key_of(func.value) if isinstance(func, ast.Attribute) else ""
    is_loss = hints.computes_loss(key_of(func) if owner in ("", "self") else owner)
    if not (owner or is_loss) or _runs_parts(module, call):
        return False
    given = [*call.args, *(each.value for each in call.keywords)]
    made = (each for value in given for each in _made_without(module, value, _MOST_LEVELS))
    return any(runs_model(module, each) and (is_loss or key_of(each.func) == owner) for each in made)


def _runs_parts(module: Module, call: ast.Call) -> bool:
    """Whether the class of what is called is seen, and calls what its objects have: layers, or itself."""
    func = call.func
    method = module.classes.callee(call)
    made = module.infer.value(func.value if isinstance(func, ast.Attribute) else func).made
    if method is None and isinstance(made, ast.ClassDef):
        name = func.attr if isinstance(func, ast.Attribute) and made is not module.infer.value(func).made else "forward"
        method = module.classes.all[made].methods.get(name) if made in module.classes.all else None
    own = method.args.args[0].arg if method is not None and method.args.args else ""
    calls = module.tree.calls(method) if method is not None else []
    return any(_root(each.func) == own for each in calls)


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _made_without(module: Module, value: ast.expr, levels: int) -> Iterator[ast.Call]:
    """The calls, with gradients off, or off where it evaluates, that a value is made of."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and module.grad.at(node) is not Grad.ON:
            yield node
        elif isinstance(node, ast.Name) and levels:
            for each in module.flow.reaching(node.id, node):
                if each.value is not None and each.value is not value:
                    yield from _made_without(module, each.value, levels - 1)
