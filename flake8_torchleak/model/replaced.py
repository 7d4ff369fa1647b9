"""Definitions whose names others take before anything uses them: nothing can run what was defined first."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.decorating import may_register
from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.model.mentions import Definition
    from flake8_torchleak.model.module import Module

_DEFINITIONS = (*FUNCTIONS, ast.ClassDef)


def is_replaced(module: Module, node: ast.AST) -> bool:
    """Whether a function or class around a node is defined again further down, and not used in between.

    The cells of a notebook are run in any order.
    """
    if (module.path or "").endswith(".ipynb"):
        return False
    return any(
        isinstance(each, _DEFINITIONS) and _is_in_vain(getattr(module.tree.parents[each], "body", []), each)
        for each in (node, *module.tree.ancestors(node))
        if each in module.tree.parents
    )


def _is_in_vain(body: list[ast.stmt], definition: Definition) -> bool:
    """Whether a block binds the name of one of its definitions again, to another one, and does not use it before."""
    if definition not in body:
        return False
    behind = body[body.index(definition) + 1 :]
    again = next((each for each in behind if isinstance(each, _DEFINITIONS) and each.name == definition.name), None)
    if again is None or again.decorator_list or may_register(definition):
        return False
    users = {definition.name}
    users |= {each.name for each in body if isinstance(each, _DEFINITIONS) and _names(each, users)}
    between = behind[: behind.index(again)]
    return not any(_names(each, users) for each in between if not isinstance(each, _DEFINITIONS))


def _names(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))
