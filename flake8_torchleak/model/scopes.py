"""Which nodes bind which name in which scope."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Scope, Tree

Bound = dict[Scope, dict[str, list[ast.AST]]]


def parameters(function: FunctionNode | ast.Lambda) -> list[ast.arg]:
    """All parameters in the order of a call, `*args` and `**kwargs` included."""
    a = function.args
    return [*a.posonlyargs, *a.args, *filter(None, [a.vararg]), *a.kwonlyargs, *filter(None, [a.kwarg])]


def bindings_of(tree: Tree, nodes: Callable[..., Sequence[Any]]) -> Bound:
    """What the nodes bind: those of the module itself, or those of what is attached to it."""
    found: Bound = {}
    elsewhere: dict[Scope, dict[str, Scope]] = {}

    def bind(name: str, node: ast.AST, scope: Scope) -> None:
        scope = elsewhere.get(scope, {}).get(name, scope)
        found.setdefault(scope, {}).setdefault(name, []).append(node)

    for statement in nodes(ast.Global, ast.Nonlocal):
        scope = tree.scope(statement)
        target = tree.module_of(statement) if isinstance(statement, ast.Global) else _outer_function(tree, scope)
        for name in statement.names:
            elsewhere.setdefault(scope, {})[name] = target
    for alias in nodes(ast.alias):
        name = alias.asname or alias.name.partition(".")[0]
        if name != "*":
            bind(name, alias, tree.scope(alias))
    for definition in nodes(*FUNCTIONS, ast.ClassDef):
        bind(definition.name, definition, tree.scope(definition))
    for function in nodes(*FUNCTIONS, ast.Lambda):
        for parameter in parameters(function):
            bind(parameter.arg, parameter, function)
    for node in nodes(ast.Name):
        if node.ctx.__class__ is not ast.Load:
            bind(node.id, node, tree.scope(node))
    for handler in nodes(ast.ExceptHandler):
        if handler.name:
            bind(handler.name, handler, tree.scope(handler))
    for pattern in nodes(ast.MatchAs, ast.MatchStar, ast.MatchMapping):
        captured = pattern.rest if isinstance(pattern, ast.MatchMapping) else pattern.name
        if captured is not None:
            bind(captured, pattern, tree.scope(pattern))
    return found


def _outer_function(tree: Tree, scope: Scope) -> Scope:
    outer = tree.scope(scope)
    return outer if not isinstance(outer, ast.ClassDef) else tree.scope(outer)
