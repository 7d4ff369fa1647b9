"""Whether a statement runs on every path: told from the blocks of a function, with no guess."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence

from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, LOOPS, SCOPES, Tree

Assumed = Callable[[ast.If], str]
"""For an `if`, the block ("body", "orelse") that alone counts; "" where both do."""

_LEAVES = (ast.Return, ast.Continue, ast.Break)


def is_optional(tree: Tree, node: ast.AST) -> bool:
    """Whether a part of a statement may not be evaluated when the statement runs, or later: a lambda, `and`, `if`."""
    while not isinstance(node, ast.stmt):
        up = tree.parents[node]
        if isinstance(up, (ast.IfExp, ast.BoolOp, ast.Lambda, *COMPREHENSIONS)):
            return True
        node = up
    return False


def _none(_: ast.If) -> str:
    return ""


def runs_always(
    block: Sequence[ast.stmt], wanted: Collection[ast.stmt], assumed: Assumed = _none, leaving: bool = True
) -> bool:
    """Whether every path through a block runs one of the wanted statements.

    leaving: a path that leaves the block before its end need not.
    """
    for each in block:
        if _always(each, wanted, assumed, leaving):
            return True
        if not leaving and leaves(each):
            return False
    return False


def _always(statement: ast.stmt, wanted: Collection[ast.stmt], assumed: Assumed, leaving: bool) -> bool:
    if statement in wanted:
        return not isinstance(statement, (*LOOPS, *FUNCTIONS, ast.If, ast.ClassDef, ast.Match, ast.Try))
    if isinstance(statement, _LEAVES):
        return leaving
    if isinstance(statement, ast.Raise):
        return True
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return runs_always(statement.body, wanted, assumed, leaving)
    if isinstance(statement, ast.If):
        only = assumed(statement)
        blocks = [getattr(statement, only)] if only else [statement.body, statement.orelse]
        return all(runs_always(each, wanted, assumed, leaving) for each in blocks)
    if isinstance(statement, ast.Try):
        if runs_always(statement.finalbody, wanted, assumed, leaving):
            return True
        handled = all(runs_always(each.body, wanted, assumed, leaving) for each in statement.handlers)
        return handled and runs_always([*statement.body, *statement.orelse], wanted, assumed, leaving)
    return False


def leaves(statement: ast.stmt) -> bool:
    """Whether a statement may leave the block that it stands in other than by an exception."""
    stack: list[tuple[ast.AST, bool]] = [(statement, False)]
    while stack:
        node, looped = stack.pop()
        if isinstance(node, ast.Return) or (isinstance(node, (ast.Continue, ast.Break)) and not looped):
            return True
        if not isinstance(node, (*SCOPES, ast.expr)):
            inner = looped or isinstance(node, LOOPS)
            stack += [(each, inner) for each in ast.iter_child_nodes(node)]
    return False


def runs_before(
    tree: Tree, node: ast.AST, wanted: Collection[ast.stmt], assumed: Assumed = _none
) -> Iterator[ast.stmt]:
    """The statements that stand before `node` in its blocks, and on every path to it run one of the wanted.

    From the inside out, as far as the function goes.
    """
    for block, index in _blocks(tree, node):
        for each in reversed(block[:index]):
            if _always(each, wanted, assumed, leaving=True):
                yield each


def runs_after(tree: Tree, node: ast.AST, wanted: Collection[ast.stmt], assumed: Assumed = _none) -> ast.stmt | None:
    """The statement behind `node`, in the same iteration, that runs one of the wanted on every path; None if none.

    An exception that is caught inside of the iteration is a path of its own.
    """
    for block, index in _blocks(tree, node):
        up = tree.parents[block[index]]
        if isinstance(up, ast.Try) and up.handlers and block is up.body:
            return None
        for each in block[index + 1 :]:
            if _always(each, wanted, assumed, leaving=False):
                return each
            if leaves(each):
                return None
        if not isinstance(up, (ast.If, ast.With, ast.AsyncWith, ast.Try)):
            return None
    return None


def _blocks(tree: Tree, node: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """The blocks around a node up to its function's, from the inside out, each with the place of what holds the node."""
    child: ast.AST = tree.statement(node)
    while True:
        up = tree.parents[child]
        field = tree.blocks.get(child)
        block = getattr(up, field) if field is not None else None
        if block is not None and isinstance(child, ast.stmt):
            yield block, block.index(child)
        if isinstance(up, SCOPES):
            return
        child = up
