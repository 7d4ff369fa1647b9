"""Methods that a class only declares, and leaves to the classes below it."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.nodes import of_node, walk
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.abstract import only_declares
from flake8_torchleak.model.tree import FunctionNode


def left_open(info: ClassInfo, function: FunctionNode) -> set[str]:
    """The methods that a method calls on its object, itself or by other methods, and that the class leaves to others.

    It only declares them, or has none of that name.
    """
    found: set[str] = set()
    seen = {function.name}
    stack = [function]
    while stack:
        for name in _called(stack.pop()) - seen:
            seen.add(name)
            method = info.method(name)
            if method is None or only_declares(method[1]):
                found.add(name)
            else:
                stack.append(method[1])
    return found


@of_node
def _called(function: FunctionNode) -> set[str]:
    """The methods that a method calls on its object."""
    own = next(iter(function.args.args), None)
    return {
        node.func.attr
        for node in walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and own is not None
        and node.func.value.id == own.arg
    }
