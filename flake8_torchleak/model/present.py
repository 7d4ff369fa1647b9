"""Whether an entry was there before it is set: then setting it puts something else in its place, and adds nothing."""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import TYPE_CHECKING

from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MISSING = frozenset({"KeyError", "LookupError", "Exception", "BaseException"})
"""What may be caught of a read of a key that is not there."""


def is_present(module: Module, function: FunctionNode, slot: str, before: ast.stmt | ast.expr) -> bool:
    """Whether a function reads an entry of a dict, as `slot` writes it, above a place, and does not expect it to fail.

    `next(self.streams[key])`, and `self.streams[key] = iter(...)` where that has ended.
    """
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and node.lineno < before.lineno
        and ast.unparse(node) == slot
        and not _may_be_missing(module, node, slot)
        for node in module.tree.within(function)
    )


def _may_be_missing(module: Module, node: ast.Subscript, slot: str) -> bool:
    """Whether a test, or a handler, around a read is about the key not being there."""
    for up in takewhile(lambda each: not isinstance(each, FUNCTIONS), module.tree.ancestors(node)):
        if isinstance(up, ast.Try) and any(map(_catches, up.handlers)):
            return True
        if isinstance(up, (ast.If, ast.IfExp, ast.While)) and any(_asks(each, slot) for each in ast.walk(up.test)):
            return True
        if isinstance(up, ast.BoolOp) and any(_asks(each, slot) for each in ast.walk(up)):
            return True
    return False


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(each is None or last_name(each) in _MISSING for each in kinds)


def _asks(node: ast.AST, slot: str) -> bool:
    """Whether something asks for the key in the container."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return False
    return any(slot.startswith(ast.unparse(each)) for each in node.comparators)
