"""A program that is written another way: its tree, where its statements come from, and what laws ask of it.

A node that a law made has line 0, unless the law says in whose place it stands (`instead`): that is how a finding of
the new text is traced to the statement of the old one.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
STEPS = ("_step", "update", "__getitem__", "forward")
"""Endings of functions whose body is run again and again by someone else."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Node = TypeVar("Node", bound=ast.AST)


@dataclass
class Program:
    """One file that a law changes. others: files that the law adds; also: further lines that a statement stands for."""

    tree: ast.Module
    others: dict[str, str] = field(default_factory=dict)
    also: dict[ast.AST, int] = field(default_factory=dict)

    def fresh(self, stem: str) -> str:
        """A name that nothing in the file has."""
        used = {each for node in ast.walk(self.tree) for each in _words(node)}
        return next(name for number in range(1000) if (name := f"{stem}{number or ''}") not in used)

    def after_imports(self, statements: list[ast.stmt]) -> None:
        """Add statements behind the module's docstring and imports."""
        at = 0
        for number, each in enumerate(self.tree.body):
            if isinstance(each, (ast.Import, ast.ImportFrom)) or (number == 0 and is_docstring(each)):
                at = number + 1
        self.tree.body[at:at] = statements


Law = Callable[[Program], int]
"""Changes a program, and says in how many places."""


@dataclass(frozen=True, eq=False)
class At:
    """A statement and what is around it: loops of its own function, outermost first; scope: None is the module."""

    statement: ast.stmt
    block: list[ast.stmt]
    scope: Function | None = None
    owner: ast.ClassDef | None = None
    loops: tuple[ast.stmt, ...] = ()

    @property
    def repeated(self) -> bool:
        """Whether it is in a loop, or in a function that is one step of a loop elsewhere."""
        return bool(self.loops) or (self.scope is not None and self.scope.name.endswith(STEPS))

    def instead(self, *statements: ast.stmt) -> None:
        """Put these in the statement's place."""
        at = position(self.block, self.statement)
        self.block[at : at + 1] = [instead(each, self.statement) for each in statements]


def position(block: list[ast.stmt], statement: ast.stmt) -> int:
    return next(number for number, each in enumerate(block) if each is statement)


def blocks(statement: ast.AST) -> Iterator[list[ast.stmt]]:
    """Its bodies, those of its handlers and cases too."""
    for name in ("body", "orelse", "finalbody"):
        found = getattr(statement, name, None)
        if isinstance(found, list):
            yield found
    for each in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield each.body


def places(tree: ast.Module) -> list[At]:
    """All statements of a file, in order."""
    found: list[At] = []

    def look(node: ast.AST, around: At) -> None:
        for block in blocks(node):
            for each in block:
                here = At(each, block, around.scope, around.owner, around.loops)
                found.append(here)
                if isinstance(each, FUNCTIONS):
                    here = At(each, block, each, around.owner)
                elif isinstance(each, ast.ClassDef):
                    here = At(each, block, None, each)
                elif isinstance(each, LOOPS):
                    here = At(each, block, around.scope, around.owner, (*around.loops, each))
                look(each, here)

    look(tree, At(ast.Pass(), []))
    return found


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements, each before those inside it."""
    for block in blocks(tree):
        for each in block:
            yield each
            yield from statements(each)


def own(root: ast.AST) -> Iterator[ast.AST]:
    """The nodes below, without those of functions, classes and comprehensions inside."""
    for each in ast.iter_child_nodes(root):
        yield each
        if not isinstance(each, SCOPES):
            yield from own(each)


def expression(text: str) -> ast.expr:
    """A new expression, from nowhere."""
    return _nowhere(ast.parse(text, mode="eval").body)


def lines(text: str) -> list[ast.stmt]:
    """New statements, from nowhere."""
    return [_nowhere(each) for each in ast.parse(text).body]


def instead(new: Node, old: ast.AST) -> Node:
    """The new node, told to stand for the old one; what it took over from elsewhere keeps its place."""
    for each in ast.walk(new):
        if not getattr(each, "lineno", 0):
            each.lineno = old.lineno  # type: ignore[attr-defined]
    return new


def reading(target: ast.expr) -> ast.expr:
    """What reads what this writes."""
    new = copy.deepcopy(target)
    for each in ast.walk(new):
        if isinstance(each, (ast.Name, ast.Attribute, ast.Subscript, ast.Starred, ast.Tuple, ast.List)):
            each.ctx = ast.Load()
    return new


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def stored_names(roots: Iterable[ast.AST]) -> set[str]:
    """Names that are bound by statements and targets, not by comprehensions."""
    return {
        each.id
        for root in roots
        for each in (root, *own(root))
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
    }


def named(roots: Iterable[ast.AST]) -> set[str]:
    """All names that occur."""
    return {each.id for root in roots for each in ast.walk(root) if isinstance(each, ast.Name)}


def of_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def replaced(root: Node, swap: Callable[[ast.expr], ast.expr | None]) -> Node:
    """Expressions below the root in place of which `swap` has another one, outermost first."""

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            new = swap(node) if isinstance(node, ast.expr) else None
            return self.generic_visit(node) if new is None else instead(new, node)

    Swap().generic_visit(root)
    return root


def _nowhere(node: Node) -> Node:
    for each in ast.walk(node):
        if hasattr(each, "lineno"):
            each.lineno = 0
    return node


def _words(node: ast.AST) -> Iterator[str]:
    for name in ("id", "name", "attr", "arg", "asname"):
        found = getattr(node, name, None)
        if isinstance(found, str):
            yield found
