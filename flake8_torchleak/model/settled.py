"""Edits that are settled: who makes them again finds what the first time left, and nothing is changed any more."""

from __future__ import annotations

import ast
from itertools import takewhile

from flake8_torchleak.model.changed import Edit, root
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.model.unchanging import is_unchanging
from flake8_torchleak.model.values import Kind

_SETTLING = frozenset({"clip", "clamp", "minimum", "maximum", "abs", "absolute", "sort", "sorted", "round", "unique"})
"""Functions whose result they leave as it is when they are called again in the same way."""
_SETTLING_IN_PLACE = frozenset({"sort", "fill", "fill_", "zero_", "clamp_", "clip_", "abs_", "round_"})
_MOST_NAMES = 30


def is_settled(module: Module, edit: Edit) -> bool:
    """Whether an edit sets a fixed part of a stored array to what does not depend on the array, or limits its values.

    Each read of the sample then gives the same, edited once or many times.
    """
    node = edit.node
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and (
            node.func.attr in _SETTLING_IN_PLACE or _adds_what_is_kept(module, node)
        )
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Subscript):
        return False
    target, value = node.targets[0], node.value
    if _is_mended(module, node, target) or is_unchanging(module, target, value):
        return True
    if isinstance(value, ast.Call) and last_name(value.func) in _SETTLING:
        receiver = [value.func.value] if isinstance(value.func, ast.Attribute) else []
        if ast.unparse(target) in map(ast.unparse, (*value.args[:1], *receiver)):
            bounds = [*value.args, *(each.value for each in value.keywords)]
            return not any(_changes(module, each, target) for each in bounds)
    if edit.value.kind not in (Kind.ARRAY, Kind.TENSOR) or not _is_fixed(target.slice):
        return False
    return not _depends(module, value, root(target))


_KINDS = frozenset({"isinstance", "isnan", "isinf", "isfinite", "is_tensor", "hasattr", "type"})
"""Functions that tell what kind of thing something is, or of number."""


def _is_mended(module: Module, edit: ast.Assign, target: ast.Subscript) -> bool:
    """Whether a part is set only where it is of another kind than it should be: `if np.isnan(x[i]): x[i] = 0`.

    What is set is of another kind than what was there: once it is, the condition holds no more.
    """
    shown = ast.unparse(target)
    around = takewhile(lambda each: not isinstance(each, FUNCTIONS), module.tree.ancestors(edit))
    tests = [up.test for up in around if isinstance(up, ast.If) and edit in up.body]
    asked = [each for test in tests for each in ast.walk(test) if isinstance(each, ast.Call)]
    return any(shown in map(ast.unparse, each.args[:1]) for each in asked if last_name(each.func) in _KINDS)


def _adds_what_is_kept(module: Module, call: ast.Call) -> bool:
    """Whether a dict gets the entries of one that the Dataset keeps: `row.update(self.constants)`."""
    given = [*call.args, *(each.value for each in call.keywords)]
    return last_name(call.func) == "update" and all(module.classes.self_attribute(each) is not None for each in given)


def _is_fixed(index: ast.expr) -> bool:
    """Whether an index is the same each time: numbers, and slices between numbers."""
    allowed = (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)
    return all(isinstance(node, allowed) for node in ast.walk(index))


def _changes(module: Module, bound: ast.expr, target: ast.Subscript) -> bool:
    """Whether a limit is another one each time: drawn, or made of the array that is limited."""
    if isinstance(bound, ast.Constant) or ast.unparse(bound) == ast.unparse(target):
        return False
    return _depends(module, bound, root(target)) or any(_draws(module, each) for each in _made_of(module, bound))


def _draws(module: Module, node: ast.AST) -> bool:
    """Whether a call gives a random number."""
    name = module.names.qualname(node.func) if isinstance(node, ast.Call) else ""
    return name.startswith(("random.", "numpy.random.", "torch.rand"))


def _depends(module: Module, value: ast.expr, changed: ast.AST) -> bool:
    """Whether a value is made of a variable, directly or by way of others."""
    name = changed.id if isinstance(changed, ast.Name) else ""
    seen = {each.id for each in _made_of(module, value) if isinstance(each, ast.Name)}
    return not name or name in seen or len(seen) >= _MOST_NAMES


def _made_of(module: Module, value: ast.expr) -> list[ast.AST]:
    """The nodes of an expression, and of what its variables are set to."""
    found: list[ast.AST] = []
    queue: list[ast.AST] = [value]
    seen: set[str] = set()
    while queue and len(seen) < _MOST_NAMES:
        for node in ast.walk(queue.pop()):
            found.append(node)
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                queue += [each.value for each in module.flow.reaching(node.id, node) if each.value is not None]
    return found
