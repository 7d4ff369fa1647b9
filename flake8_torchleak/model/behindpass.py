"""Whether a forward pass leaves something in its network, or anywhere else, that others read: as far as classes show.

`self.kl = ...` in `forward`, a list that it appends to, a layer of which nobody sees the class.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import GROWING
from flake8_torchleak.model.classfacts import ClassFacts
from flake8_torchleak.model.names import last_name

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_LEVELS = 4
"""Networks in networks in networks."""
_KEEPS = GROWING | {"put", "put_nowait", "setattr", "register_buffer"}


def leaves_nothing(module: Module, facts: ClassFacts, levels: int = _MOST_LEVELS) -> bool:
    """Whether all layers of a class are torch's own, or of such classes, and no method but its constructor keeps any
    thing. Functions that it calls may."""
    if not levels or keeps_something(facts):
        return False
    for owned in facts.attributes.values():
        for value in (each.value for each in owned):
            for made in ast.walk(value) if value is not None else ():
                if isinstance(made, ast.Call) and not _is_clean(module, made, levels):
                    return False
    return True


def keeps_something(facts: ClassFacts) -> bool:
    """Whether a method of a class, other than its constructor, sets or fills anything but variables of its own."""
    methods = [method for name, method in facts.methods.items() if name != "__init__"]
    return any(_keeps(node) for method in methods for node in ast.walk(method))


def _keeps(node: ast.AST) -> bool:
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return not isinstance(node.ctx, ast.Load)
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return True
    call = node.value if isinstance(node, ast.Expr) else None  # `torch.add(x, y)` gives something
    return isinstance(call, ast.Call) and last_name(call.func) in _KEEPS


def _is_clean(module: Module, made: ast.Call, levels: int) -> bool:
    """Whether what a constructor calls is torch's, numpy's, a builtin, or a class that leaves nothing behind."""
    found = module.names.definition(made.func, True)
    if isinstance(found, ast.ClassDef):
        return leaves_nothing(module, module.classes.all[found], levels - 1)
    head = module.names.qualname(made.func).partition(".")[0]
    return head in ("torch", "numpy", "math", "range", "list", "len", "int", "sum", "max", "min")
