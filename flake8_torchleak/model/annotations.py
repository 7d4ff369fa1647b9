"""What is known of parsed annotations by how they are used: tables of numbers, and records made for each of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.state import StateFacts
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.containers import Container
    from flake8_torchleak.model.module import Module

_MOST_LEVELS = 3
"""Variables and methods through which an element is followed."""


def gives_numbers(module: Module, container: Container) -> bool:
    """Whether an element that a sample looks up is a whole number: it is counted up to, as in `range(self.sizes[k])`.

    What one of them is, the others are, too.
    """
    state = StateFacts(module, container.dataset, container.name.removeprefix("self."))
    parts = (module.tree.parents[each.node] for each in state.reads if each.key is not None)
    return any(isinstance(each, ast.Subscript) and _is_counted_to(module, each, _MOST_LEVELS) for each in parts)


def _is_counted_to(module: Module, node: ast.expr, levels: int) -> bool:
    up = module.tree.parents[node]
    if isinstance(up, ast.keyword):
        up = module.tree.parents[up]
    if isinstance(up, ast.Call) and up.func is not node:
        if module.names.qualname(up.func) == "range":
            return True
        function = module.classes.callee(up)
        return function is not None and levels > 0 and _is_counted_in(module, up, node, function, levels - 1)
    return False


def _is_counted_in(module: Module, call: ast.Call, node: ast.expr, function: FunctionNode, levels: int) -> bool:
    """Whether a function counts up to what it is given."""
    for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if module.classes.argument(call, parameter, function) is node:
            uses = [each for each in module.tree.within(function) if isinstance(each, ast.Name)]
            return any(each.id == parameter.arg and _is_counted_to(module, each, levels) for each in uses)
    return False


def is_made_of_annotations(module: Module, container: Container) -> bool:
    """Whether each annotation of an index that the class reads from a file gives it a record of named values."""
    element = container.value.element
    if container.value.kind is not Kind.LIST or element is None or element.kind is not Kind.DICT or not element.fields:
        return False
    calls = [node for node, _ in container.value.why if isinstance(node, ast.Call)]
    return any(module.infer.value(each).kind is Kind.INDEX for each in calls)
