"""Calls that work on what a network gave with gradients off, and build no graph of their own, as far as is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.classfacts import ClassFacts, runs_own
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.running import runs_model
from flake8_torchleak.model.tree import FunctionNode

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
    has_mode = module.loops.modes.of(key_of(func), call) is not None  # losses have none
    if is_loss and not has_mode and call.args and _is_bound_without(module, call.args[0]):
        return True
    made = (each for value in given for each in _made_without(module, value, _MOST_LEVELS))
    return any(runs_model(module, each) and (is_loss or key_of(each.func) == owner) for each in made)


def _runs_parts(module: Module, call: ast.Call) -> bool:
    """Whether the class of what is called is seen, and calls what its objects have: layers, or itself."""
    method = module.classes.callee(call) or _method(module, call)
    return method is not None and runs_own(method, module.tree.calls(method))


def _method(module: Module, call: ast.Call) -> FunctionNode | None:
    """The method that a call of an object runs, whose class is seen: `net.decode(x)`, `criterion(x)`."""
    func = call.func
    if isinstance(func, ast.Attribute):
        owner = _class(module, func.value)
        if owner is not None:
            return owner.methods.get(func.attr)
    own = _class(module, func)
    return own.methods.get("forward") if own is not None else None


def _class(module: Module, value: ast.expr) -> ClassFacts | None:
    made = module.infer.value(value).made
    return module.classes.all.get(made) if isinstance(made, ast.ClassDef) else None


def _is_bound_without(module: Module, value: ast.expr) -> bool:
    """Whether a variable is what calls of an object gave with gradients off: of a network, whatever it is called."""
    ways = module.flow.reaching(value.id, value) if isinstance(value, ast.Name) else []
    return bool(ways) and all(_is_given_without(module, each.value) for each in ways)


def _is_given_without(module: Module, value: ast.expr | None) -> bool:
    if not isinstance(value, ast.Call) or module.grad.at(value) is not Grad.OFF:
        return False
    return isinstance(value.func, ast.Name) or module.classes.self_attribute(value.func) is not None


def _made_without(module: Module, value: ast.expr, levels: int) -> Iterator[ast.Call]:
    """The calls, with gradients off, or off where it evaluates, that a value is made of."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and module.grad.at(node) is not Grad.ON:
            yield node
        elif isinstance(node, ast.Name) and levels:
            for each in module.flow.reaching(node.id, node):
                if each.value is not None and each.value is not value:
                    yield from _made_without(module, each.value, levels - 1)
