"""Forms of a fact: rows of text, what is written in the place of the canonical form.

In a row, `X` and `Y` stand for any expression, `BODY` for the statements of a block, `FUNCTION` for the name of the
function around. Before a line `---` stands what is written at the top of the module.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from tests.laws.program import At, Law, Program, lines, places
from tests.laws.spelling.rows import ROWS

_HOLES = frozenset({"X", "Y"})
_LIBRARIES = ("torch", "numpy", "copy", "contextlib", "functools", "operator", "collections", "itertools", "math")


def _unified(pattern: ast.AST, node: ast.AST, found: dict[str, ast.expr]) -> bool:
    """Whether a node is what a pattern says; what its holes stand for."""
    if isinstance(pattern, ast.Name) and pattern.id in _HOLES and isinstance(node, ast.expr):
        return ast.unparse(found.setdefault(pattern.id, node)) == ast.unparse(node)
    if type(pattern) is not type(node):
        return False
    for name, value in ast.iter_fields(pattern):
        other = getattr(node, name)
        if name in ("ctx", "type_comment", "kind"):
            continue
        pairs = zip(value, other) if isinstance(value, list) else [(value, other)]
        if isinstance(value, list) and len(value) != len(other):
            return False
        for one, two in pairs:
            if not (_unified(one, two, found) if isinstance(one, ast.AST) and isinstance(two, ast.AST) else one == two):
                return False
    return True


class _Filled(ast.NodeTransformer):
    """A form with its holes filled."""

    def __init__(self, given: dict[str, ast.expr], body: list[ast.stmt], place: int, function: str) -> None:
        self.given, self.body, self.place, self.function = given, body, place, function

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == "FUNCTION":
            return ast.Name(self.function, node.ctx, lineno=self.place)
        if node.id not in self.given:
            node.lineno = self.place
            return node
        new = copy.deepcopy(self.given[node.id])
        if isinstance(new, (ast.Name, ast.Attribute, ast.Subscript)):
            new.ctx = node.ctx
        return new

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        if isinstance(node.value, ast.Name) and node.value.id == "BODY":
            return self.body
        self.generic_visit(node)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if hasattr(node, "lineno"):
            node.lineno = self.place
        super().generic_visit(node)
        return node


def _expressions(canonical: str, form: str) -> Law:
    pattern = ast.parse(canonical, mode="eval").body
    top, text = _halves(form)

    def law(program: Program) -> int:
        count = 0

        class Swap(ast.NodeTransformer):
            def visit(self, node: ast.AST) -> ast.AST:
                nonlocal count
                node = self.generic_visit(node)
                found: dict[str, ast.expr] = {}
                if isinstance(node, ast.expr) and _unified(pattern, node, found):
                    count += 1
                    new: ast.AST = _Filled(found, [], node.lineno, "").visit(ast.parse(text, mode="eval").body)
                    return new
                return node

        Swap().visit(program.tree)
        return _completed(program, top, text, count)

    return law


def _statements(canonical: str, form: str) -> Law:
    pattern = ast.parse(canonical).body[0]
    top, text = _halves(form)
    last_only = canonical.startswith("with") and not text.startswith(("with", "for", "context", "off", "@", "stack"))

    def law(program: Program) -> int:
        count = 0
        for at in places(program.tree):
            found, body = _matching(pattern, at)
            if found is None or (last_only and (at.loops or at.scope is None)):
                continue
            name = at.scope.name if at.scope is not None else ""
            written = ast.parse(text).body
            place = at.statement.lineno
            filled = _Filled(found, body, place, name).visit(ast.Module(written, []))
            index = next(number for number, each in enumerate(at.block) if each is at.statement)
            at.block[index : index + 1] = filled.body
            count += 1
        return _completed(program, top, text, count)

    return law


def _matching(pattern: ast.stmt, at: At) -> tuple[dict[str, ast.expr] | None, list[ast.stmt]]:
    found: dict[str, ast.expr] = {}
    node = at.statement
    if isinstance(pattern, ast.With):
        same = isinstance(node, ast.With) and len(node.items) == 1
        if same and _unified(pattern.items[0], node.items[0], found):  # type: ignore[attr-defined]
            return found, node.body  # type: ignore[attr-defined]
        return None, []
    return (found, []) if _unified(pattern, node, found) else (None, [])


def _decorated(canonical: str, form: str) -> Law:
    """The function whose body ends with the block gets a decorator (`@...`)."""
    pattern = ast.parse(canonical).body[0]
    top, text = _halves(form)

    def law(program: Program) -> int:
        count = 0
        for at in places(program.tree):
            found, body = _matching(pattern, at)
            function = at.scope
            if (
                found is None
                or function is None
                or at.block is not function.body
                or function.body[-1] is not at.statement
            ):
                continue
            function.body[-1:] = body
            function.decorator_list.append(ast.parse(text[1:], mode="eval").body)
            for each in ast.walk(function.decorator_list[-1]):
                each.lineno = function.lineno  # type: ignore[attr-defined]
            count += 1
        return _completed(program, top, text, count)

    return law


def _halves(form: str) -> tuple[str, str]:
    top, line, text = form.partition("---\n")
    return (top, text) if line else ("", form)


def _completed(program: Program, top: str, text: str, count: int) -> int:
    """Imports and helpers that a form needs."""
    if not count:
        return 0
    known = {a.name for each in program.tree.body if isinstance(each, ast.Import) for a in each.names}
    needed = [each for each in _LIBRARIES if f"{each}." in top + text and each not in known]
    program.after_imports(lines("\n".join([*(f"import {each}" for each in needed), top])))
    return count


def _law(canonical: str, form: str) -> Law:
    if canonical.startswith("with") and form.rpartition("---\n")[2].startswith("@"):
        return _decorated(canonical, form)
    kinds: dict[bool, Callable[[str, str], Law]] = {True: _statements, False: _expressions}
    return kinds["\n" in canonical](canonical, form)


FORMS: dict[str, dict[str, Law]] = {
    fact: {form: _law(canonical, form) for form in forms} for fact, (canonical, forms) in ROWS.items()
}
"""Fact -> form -> the law that writes it."""
