"""Elements that are arrays, by what samples do with them: reading one writes its header alone, whatever it holds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.state import StateFacts, Use

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_OF_ARRAYS = frozenset({
    "shape", "dtype", "ndim", "astype", "reshape", "transpose", "flatten", "ravel", "squeeze", "unsqueeze", "mean",
    "std", "numpy", "T",
})  # fmt: skip
"""What no Python container, text or number has."""
_TAKES_ARRAYS = frozenset({"torch.from_numpy", "torch.from_dlpack"})
_COPIES = frozenset({"copy.copy", "copy.deepcopy"})
_MOST_DEPTH = 5


def holds_arrays(state: StateFacts) -> bool:
    """Whether an element of a container, or a part of one, is used as only an array or tensor can be."""
    parents = state.module.tree.parents
    for read in state.reads:
        element = parents[read.node]
        if read.use is Use.SUBSCRIPT and isinstance(element, ast.Subscript) and not _is_several(element):
            if _is_array(state.module, element, _MOST_DEPTH):
                return True
    return False


def _is_several(node: ast.Subscript) -> bool:
    return isinstance(node.slice, (ast.Slice, ast.Tuple))


def _is_array(module: Module, node: ast.expr, depth: int) -> bool:
    parent = module.tree.parents[node]
    if not depth:
        return False
    if isinstance(parent, ast.Attribute):
        return parent.attr in _OF_ARRAYS
    if isinstance(parent, ast.Call) and node in parent.args:
        name = module.names.qualname(parent.func)
        return name in _TAKES_ARRAYS or (name in _COPIES and _is_array(module, parent, depth - 1))
    if isinstance(parent, ast.Subscript) and parent.value is node:
        if isinstance(parent.slice, ast.Tuple):
            return any(isinstance(each, ast.Slice) for each in parent.slice.elts)
        return isinstance(parent.slice, ast.Constant) and _is_array(module, parent, depth - 1)
    if isinstance(parent, ast.Assign) and parent.value is node:
        targets = [each for target in parent.targets for each in getattr(target, "elts", [target])]
        return any(_is_used_as_one(module, each, parent, depth - 1) for each in targets)
    return False


def _is_used_as_one(module: Module, target: ast.expr, bound: ast.Assign, depth: int) -> bool:
    """Whether the variable that an element gets is used so, before it is another thing."""
    if not isinstance(target, ast.Name):
        return False
    return any(
        isinstance(node, ast.Name)
        and node.id == target.id
        and isinstance(node.ctx, ast.Load)
        and [each.statement for each in module.flow.reaching(node.id, node)] == [bound]
        and _is_array(module, node, depth)
        for node in module.tree.within(module.tree.scope(target))
    )
