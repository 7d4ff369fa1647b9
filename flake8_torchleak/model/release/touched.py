"""What statements and calls edit in place, through whatever views of it: arrays, tensors, containers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchleak.model.edits import EDITING_METHODS, is_in_place
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FunctionNode, Scope

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_OF_ARRAYS = frozenset({"fill", "sort", "resize", "partition", "itemset", "put", "setfield", "setflags", "byteswap"})
_HARMLESS = frozenset({"requires_grad_", "detach_"})
"""In place, and no value is another one."""
_CONTENT = frozenset({"data", "real", "imag", "flat", "shape", "dtype", "strides", "T", "mT", "H", "mH"})
"""Attributes of arrays and tensors that share their memory or say how it is read: to set one is an edit."""
_FIRST = frozenset({
    "numpy.copyto", "numpy.put", "numpy.place", "numpy.putmask", "numpy.fill_diagonal", "numpy.put_along_axis",
    "numpy.random.shuffle", "random.shuffle", "heapq.heappush", "heapq.heappop", "heapq.heapify", "heapq.heapreplace",
    "bisect.insort", "bisect.insort_left", "bisect.insort_right", "operator.setitem", "operator.delitem",
    "operator.iadd", "operator.isub", "operator.imul", "operator.itruediv", "operator.ior", "operator.iand", "setattr",
    "list.append", "list.extend", "list.sort", "dict.update",
})  # fmt: skip
"""Functions that edit their first argument. One whose name ends in `_`, and all that draw, stand beside them."""
_DRAWN = frozenset({
    "rectangle", "circle", "line", "polylines", "fillPoly", "putText", "drawContours", "ellipse", "fillConvexPoly",
    "arrowedLine", "drawMarker", "floodFill", "clipLine",
})  # fmt: skip
_MOST_CALLS = 4
"""Functions that an argument is followed into."""


class Touch(NamedTuple):
    """A place that edits `target` in place, which may be an array (or a tensor), or a container and no array."""

    node: ast.AST
    target: ast.expr
    array: bool

    @property
    def names(self) -> Iterator[tuple[ast.Name, bool]]:
        """The variables whose memory the target may be, and whether it is theirs or that of an attribute of theirs.

        `x[i]`, `x.data` and `x.view(-1)` are the memory of `x`; `m.weight.data` is that of an attribute of `m`. What
        is in an index is only read.
        """
        queue: list[tuple[ast.AST, bool]] = [(self.target, True)]
        while queue:
            each, own = queue.pop()
            if isinstance(each, ast.Name):
                yield each, own
            elif isinstance(each, ast.Subscript):
                queue.append((each.value, own))
            elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
                queue += ((part, own) for part in (each.func.value, *each.args, *(k.value for k in each.keywords)))
            elif isinstance(each, ast.Attribute):
                queue.append((each.value, own and each.attr in _CONTENT))
            else:
                queue += ((part, own) for part in ast.iter_child_nodes(each))


class Touches:
    """The edits of one module, by scope."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @remembered
    def within(self, scope: Scope) -> tuple[Touch, ...]:
        """The places of a scope that edit something in place, in source order."""
        found: list[Touch] = []
        for node in self.module.tree.within(scope):
            if isinstance(node, ast.Call):
                found += self._of_call(node)
            elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.For, ast.AsyncFor)):
                targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
                found += (each for target in targets for each in _stored(node, target))
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                found += _stored(node.optional_vars, node.optional_vars)
        return tuple(found)

    def _of_call(self, call: ast.Call) -> Iterator[Touch]:
        for keyword in call.keywords:
            if keyword.arg == "out":
                yield Touch(call, keyword.value, array=True)
        qualname = self.module.names.qualname(call.func)
        name = last_name(call.func)
        in_place = is_in_place(name) and name not in _HARMLESS
        draws = name in _DRAWN and qualname.startswith("cv2.")
        asked = any(k.arg == "inplace" and not is_false(k.value) for k in call.keywords)
        if call.args and (qualname in _FIRST or in_place or draws or asked):
            yield Touch(call, call.args[0], array=True)
        if isinstance(call.func, ast.Attribute) and (in_place or name in EDITING_METHODS):
            yield Touch(call, call.func.value, array=in_place or name in _OF_ARRAYS)

    @remembered
    def edits_arguments(self, function: FunctionNode, calls: int = _MOST_CALLS) -> bool:
        """Whether a function of this module may edit an array or a tensor that it is handed.

        Whoever is handed something and hands it to another function edits it where that one does.
        """
        own = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
        if any(each.array and any(name.id in own for name, _ in each.names) for each in self.within(function)):
            return True
        return not calls or self.hands_to_editor(function, calls - 1)

    @remembered
    def hands_to_editor(self, scope: Scope, calls: int = _MOST_CALLS) -> bool:
        """Whether a scope calls a function of this module that edits what it is handed."""
        for call in self.module.tree.calls(scope):
            callee = self.module.classes.callee(call)
            if callee is not None and callee is not scope and self.edits_arguments(callee, calls):
                return True
        return False


def _stored(node: ast.AST, target: ast.expr) -> Iterator[Touch]:
    """What is edited where a statement writes to `target`."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _stored(node, each)
    elif isinstance(target, ast.Starred):
        yield from _stored(node, target.value)
    elif isinstance(target, ast.Subscript):
        text = isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str)
        yield Touch(node, target.value, array=not text)
    elif isinstance(node, ast.AugAssign):
        yield Touch(node, target, array=True)
    elif isinstance(target, ast.Attribute) and target.attr in _CONTENT:
        yield Touch(node, target.value, array=True)


def is_false(node: ast.expr) -> bool:
    """Whether an expression is the word False."""
    return isinstance(node, ast.Constant) and node.value is False
