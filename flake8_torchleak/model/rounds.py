"""Rounds: what runs something again and again, a loop that is a statement or a comprehension."""

from __future__ import annotations

import ast

from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import COMPREHENSIONS, LOOPS, Loop, Tree

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Round = Loop | Comprehension

ROUNDS = (*LOOPS, *COMPREHENSIONS)
_CONSUMING = frozenset({
    "sum", "list", "tuple", "set", "frozenset", "dict", "sorted", "max", "min", "any", "all", "deque", "extend",
    "update", "join", "fsum",
})  # fmt: skip
"""What goes through a generator at once, by its last name."""


def comprehensions(tree: Tree, node: ast.AST) -> list[Comprehension]:
    """The comprehensions that run an expression again and again, innermost first, up to its statement or lambda."""
    found: list[Comprehension] = []
    while isinstance(node, (ast.expr, ast.keyword, ast.comprehension)) and not isinstance(node, ast.Lambda):
        up = tree.parents[node]
        if isinstance(up, ast.comprehension) and node is up.iter:
            whole = tree.parents[up]
            assert isinstance(whole, COMPREHENSIONS)
            if up is whole.generators[0]:  # asked for once
                node = whole
                continue
        if isinstance(up, COMPREHENSIONS) and is_consumed(tree, up):
            found.append(up)
        node = up
    return found


def is_consumed(tree: Tree, node: Comprehension) -> bool:
    """Whether a comprehension runs where it stands: a generator, where somebody goes through it, if that is there.

    Elsewhere it may be gone through without gradients.
    """
    if not isinstance(node, ast.GeneratorExp):
        return True
    up = tree.parents[node]
    if isinstance(up, ast.Call):
        return last_name(up.func) in _CONSUMING
    return isinstance(up, (ast.For, ast.Starred))


def iterables(node: ast.AST) -> list[ast.expr]:
    """What a round goes over: nothing that is seen, if it is a `while` loop."""
    if isinstance(node, COMPREHENSIONS):
        return [each.iter for each in node.generators]
    return [node.iter] if isinstance(node, (ast.For, ast.AsyncFor)) else []


def targets(node: ast.AST) -> set[str]:
    """The variables that a round binds."""
    if isinstance(node, COMPREHENSIONS):
        bound: list[ast.expr] = [each.target for each in node.generators]
    else:
        bound = [node.target] if isinstance(node, (ast.For, ast.AsyncFor)) else []
    return {each.id for target in bound for each in ast.walk(target) if isinstance(each, ast.Name)}
