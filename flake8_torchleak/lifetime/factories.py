"""Factories: functions that give what they are asked for, of what they look up first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.lifetime.nodes import of_node
from flake8_torchleak.model.outline import statements_of
from flake8_torchleak.model.tree import FunctionNode


@of_node
def made_to_order(function: FunctionNode) -> frozenset[ast.AST]:
    """Calls of what a function has looked up, whose results it returns: `return getattr(module, name)(...)`.

    Of two such results one may be a network and the other none.
    """
    nodes = statements_of(function)
    bound: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            bound.setdefault(node.targets[0].id, []).append(node.value)
    given = [each for node in nodes if isinstance(node, ast.Return) for each in _arms(node.value)]
    given += [
        arm for each in given if isinstance(each, ast.Name) for value in bound.get(each.id, ()) for arm in _arms(value)
    ]
    return frozenset(each for each in given if isinstance(each, ast.Call) and _is_looked_up(each.func, bound))


def _arms(node: ast.expr | None) -> Iterator[ast.expr]:
    """An expression, or what it may be: `made if wanted else None`."""
    if isinstance(node, ast.IfExp):
        yield from (*_arms(node.body), *_arms(node.orelse))
    elif node is not None:
        yield node


def _is_looked_up(called: ast.expr, bound: dict[str, list[ast.expr]]) -> bool:
    """Whether what is called is itself the result of a call, an entry, or a variable that was bound to one."""
    if isinstance(called, ast.Name):
        return any(isinstance(value, (ast.Call, ast.Subscript)) for value in bound.get(called.id, ()))
    return isinstance(called, (ast.Call, ast.Subscript))
