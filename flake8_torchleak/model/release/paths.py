"""Whether a statement runs on every path: told from the blocks of a function, with no guess."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, LOOPS, SCOPES, TRIES, Tree

_SWALLOWING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex"})
"""Context managers by whose exceptions a path goes on."""
_COMPOUND = (*LOOPS, *FUNCTIONS, *TRIES, ast.If, ast.ClassDef, ast.Match)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Statements, one of which is to run; flags: tests (as `ast.dump` gives them) that count as true where asked."""

    statements: frozenset[ast.stmt]
    flags: frozenset[str] = frozenset()

    def holds(self, test: ast.expr) -> bool:
        """Whether a test counts as true."""
        return bool(self.flags) and ast.dump(test) in self.flags


@dataclass(frozen=True, slots=True)
class _Marks:
    """For one block, by place in it: what runs one of the wanted statements whenever it is passed, and what may leave.

    passed: on every path to the next statement; run: on every path at all; leaving: `return`, `continue`, `break`.
    """

    passed: list[int]
    run: list[int]
    leaving: list[int]


def is_optional(tree: Tree, node: ast.AST) -> bool:
    """Whether a part of a statement may not be evaluated when the statement runs, or later: a lambda, `and`, `if`."""
    while not isinstance(node, ast.stmt):
        up = tree.parents[node]
        if isinstance(up, (ast.IfExp, ast.BoolOp, ast.Lambda, *COMPREHENSIONS)):
            return True
        node = up
    return False


def runs_always(block: Sequence[ast.stmt], wanted: Wanted, leaving: bool) -> bool:
    """Whether every path through a block runs one of the wanted statements.

    leaving: a path that leaves the block before its end need not.
    """
    for each in block:
        if _runs(each, wanted, leaving):
            return True
        if not leaving and leaves(each):
            return False
    return False


def _runs(statement: ast.stmt, wanted: Wanted, leaving: bool) -> bool:
    if statement in wanted.statements and not isinstance(statement, _COMPOUND):
        return True
    if isinstance(statement, (ast.Return, ast.Continue, ast.Break)):
        return leaving
    if isinstance(statement, ast.Raise):
        return True
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        if any(
            last_name(getattr(each.context_expr, "func", each.context_expr)) in _SWALLOWING for each in statement.items
        ):
            return False
        return runs_always(statement.body, wanted, leaving)
    if isinstance(statement, ast.If):
        blocks = [statement.body] if wanted.holds(statement.test) else [statement.body, statement.orelse]
        return all(runs_always(each, wanted, leaving) for each in blocks)
    if isinstance(statement, TRIES):
        if runs_always(statement.finalbody, wanted, leaving):
            return True
        handled = all(runs_always(each.body, wanted, leaving) for each in statement.handlers)
        return handled and runs_always([*statement.body, *statement.orelse], wanted, leaving)
    return False


def leaves(statement: ast.stmt) -> bool:
    """Whether a statement may leave the block that it stands in, other than by an exception."""
    stack: list[tuple[ast.AST, bool]] = [(statement, False)]
    while stack:
        node, looped = stack.pop()
        if isinstance(node, ast.Return) or (isinstance(node, (ast.Continue, ast.Break)) and not looped):
            return True
        if not isinstance(node, (*SCOPES, ast.expr)):
            inner = looped or isinstance(node, LOOPS)
            stack += [(each, inner) for each in ast.iter_child_nodes(node)]
    return False


class Paths:
    """The paths through the functions of one module."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def runs_before(self, node: ast.AST, wanted: Wanted) -> bool:
        """Whether every path to `node` from the function's start has run one of the wanted statements."""
        for holder, field, place in self._blocks(node):
            passed = self._always(holder, field, wanted.flags).passed
            if passed and passed[0] < place:
                return True
            block = getattr(holder, field)
            held = self._held(holder, field, wanted)
            if any(at < place and _runs(block[at], wanted, leaving=True) for at in held):
                return True
        return False

    def runs_after(self, node: ast.AST, wanted: Wanted) -> ast.stmt | None:
        """The statement behind `node`, in the same iteration, by which every path runs one of the wanted.

        None if there is a path that does not. An exception that is caught inside of the iteration is such a path.
        """
        for holder, field, place in self._blocks(node):
            if isinstance(holder, TRIES) and holder.handlers and field == "body":
                return None
            block: list[ast.stmt] = getattr(holder, field)
            always = self._always(holder, field, wanted.flags)
            held = self._held(holder, field, wanted)
            found = next((at for at in held if at > place and _runs(block[at], wanted, leaving=False)), None)
            run = _next(always.run, place)
            if run is not None and (found is None or run < found):
                found = run
            way_out = _next(always.leaving, place)
            if way_out is not None and (found is None or way_out < found):
                return None
            if found is not None:
                return block[found]
            if not isinstance(holder, (ast.If, ast.With, ast.AsyncWith, *TRIES, *SCOPES)):
                return None
        return None

    def _held(self, holder: ast.AST, field: str, wanted: Wanted) -> list[int]:
        """The places of those statements of a block in which the wanted ones stand, in order."""
        places = self._places(holder, field)
        found: set[int] = set()
        for each in wanted.statements:
            up: ast.AST | None = each
            while up is not None and up not in places:
                up = self.tree.parents.get(up) if up is not holder else None
            if isinstance(up, ast.stmt):
                found.add(places[up])
        return sorted(found)

    @remembered
    def _always(self, holder: ast.AST, field: str, flags: frozenset[str]) -> _Marks:
        """What holds for a block whatever is wanted."""
        nothing = Wanted(frozenset(), flags)
        marks = _Marks([], [], [])
        for place, each in enumerate(getattr(holder, field)):
            if _runs(each, nothing, leaving=True):
                marks.passed.append(place)
            if _runs(each, nothing, leaving=False):
                marks.run.append(place)
            elif leaves(each):
                marks.leaving.append(place)
        return marks

    def _blocks(self, node: ast.AST) -> Iterator[tuple[ast.AST, str, int]]:
        """The blocks around a node, from the inside out up to its function's: (whose, which, the place in it)."""
        child: ast.AST = self.tree.statement(node)
        while True:
            up = self.tree.parents[child]
            field = self.tree.blocks.get(child)
            if field is not None and isinstance(child, ast.stmt):
                yield up, field, self._places(up, field)[child]
            if isinstance(up, SCOPES):
                return
            child = up

    @remembered
    def _places(self, holder: ast.AST, field: str) -> dict[ast.stmt, int]:
        return {each: place for place, each in enumerate(getattr(holder, field))}


def _next(places: list[int], place: int) -> int | None:
    """The first of these places, in order, behind another."""
    at = bisect_right(places, place)
    return places[at] if at < len(places) else None
