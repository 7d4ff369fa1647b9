"""Dicts that are records: their entries have names, as many as the source has, and each step sets them again."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How, key_of

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def is_of_record(module: Module, node: ast.AST) -> bool:
    """Whether a statement sets entries under the keys of another dict, and they are read by names in the source.

    `for name, value in losses.items(): self.losses[name] = value`, and `self.losses["total"]` somewhere.
    """
    target = node.targets[0] if isinstance(node, ast.Assign) and node in module.tree.parents else None
    if not isinstance(target, ast.Subscript):
        return False
    names = [each for each in ast.walk(target.slice) if isinstance(each, ast.Name)]
    reaching = [module.flow.reaching(each.id, each) for each in names]
    if not names or not all(found and all(map(_is_key, found)) for found in reaching):
        return False
    holder = key_of(target.value)
    return any(key_of(each.value) == holder and _is_named(each) for each in module.tree.all(ast.Subscript))


def _is_key(definition: Definition) -> bool:
    """Whether a variable goes over the keys of a dict."""
    over = definition.value
    if definition.how is not How.ITERATE or not isinstance(over, ast.Call) or not isinstance(over.func, ast.Attribute):
        return False
    return (over.func.attr, definition.path) in (("items", (0,)), ("keys", ()))


def _is_named(node: ast.Subscript) -> bool:
    """Whether an entry is read by a name."""
    return isinstance(node.ctx, ast.Load) and isinstance(getattr(node.slice, "value", None), str)
