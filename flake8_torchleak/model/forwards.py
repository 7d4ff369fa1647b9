"""Whether a network that nobody sees being made may be one of the project's that decides about gradients itself.

A factory, a registry or a configuration names its class. Where a network class of the project turns gradients off for
all that its forward pass runs, that pass builds no graph; where one differentiates in its methods (normals of a
surface, forces of a potential), it cannot do without.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.firstparty import holds, whole
from flake8_torchleak.model.importers import files_below
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.reading import made
from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_FILES = 600
_DIFFERENTIATING = ("autograd.grad", "autograd import grad")
_OFF = frozenset({"no_grad", "inference_mode"})


def may_decide(module: Module) -> bool:
    """Whether some network class of a module's project decides about gradients in its methods."""
    project = module.project
    if project is None or not project.is_marked:
        return False
    files = files_below(project.top)
    return len(files) <= _MOST_FILES and any(_decides(each, project.top) for each in files)


@made(_MOST_FILES)
def _decides(path: str, top: str) -> bool:
    if not holds(path, top, "def forward") or not any(holds(path, top, each) for each in (*_OFF, *_DIFFERENTIATING)):
        return False
    file = whole(path, top)
    return file is not None and any(_is_such(each) for each in ast.walk(file[1]) if isinstance(each, ast.ClassDef))


def _is_such(cls: ast.ClassDef) -> bool:
    methods = [each for each in cls.body if isinstance(each, FUNCTIONS) and each.name != "__init__"]
    forward = next((each for each in methods if each.name == "forward"), None)
    if forward is None or any(isinstance(each, ast.Attribute) and each.attr == "Function" for each in cls.bases):
        return False
    return any(map(differentiates, methods)) or _is_without(forward)


def makes_leaves(method: ast.AST) -> bool:
    """Whether a method makes something that it asks for gradients of."""
    return any(
        (isinstance(each, ast.Call) and last_name(each.func) == "requires_grad_" and not (each.args or each.keywords))
        or (
            isinstance(each, ast.keyword) and each.arg == "requires_grad" and getattr(each.value, "value", None) is True
        )
        for each in ast.walk(method)
    )


def differentiates(method: ast.AST) -> bool:
    """Whether a method calls `torch.autograd.grad`, by either name."""
    calls = (each.func for each in ast.walk(method) if isinstance(each, ast.Call) and last_name(each.func) == "grad")
    return any(not isinstance(each, ast.Attribute) or last_name(each.value) == "autograd" for each in calls)


def _is_without(forward: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether all that a forward pass runs of its own object, it runs with gradients off."""
    if any(_turns_off(each) for each in forward.decorator_list):
        return True
    blocks = [each for each in ast.walk(forward) if isinstance(each, (ast.With, ast.AsyncWith))]
    off = {
        call
        for block in blocks
        if any(_turns_off(item.context_expr) for item in block.items)
        for call in ast.walk(block)
        if isinstance(call, ast.Call)
    }
    own = [each for each in ast.walk(forward) if isinstance(each, ast.Call) and _is_of_itself(each.func)]
    return bool(off) and all(each in off for each in own)


def _turns_off(node: ast.expr) -> bool:
    return last_name(node.func if isinstance(node, ast.Call) else node) in _OFF


def _is_of_itself(node: ast.expr) -> bool:
    """Whether something is a part of the object: `self.net`, `self.layers[0]`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "self"
