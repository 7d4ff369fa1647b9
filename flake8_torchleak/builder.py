"""How a fix is written: edits of the text, from nodes of the tree.

A rule's `fix` says what is to happen to a node ("call `.detach()` on it", "put a decorator above it"); the builder
knows precedence, parentheses, indentation, line ends, and how a library is imported here. Edits only ever insert
(or replace a constant), so that every other byte stays; `fixing/` applies them and checks the result with libcst.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.finding import Edit, Span
from flake8_torchleak.imports import Imports
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PRIMARIES = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp,
    ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
_FORMATTED = tuple(getattr(ast, name) for name in ("JoinedStr", "TemplateStr") if hasattr(ast, name))

Edits = tuple[Edit, ...]


class Unfixable(Exception):
    """Why a finding has no fix here: one line for the user."""


class Builder:
    """Edits for one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.imports = Imports(module)
        self._lines = module.source.lines

    def method(self, node: ast.expr, name: str) -> Edits:
        """`x.name()` for an expression `x`, in parentheses where precedence asks for them."""
        span = self._span(node)
        if isinstance(node, _PRIMARIES):
            return (_insert(span.end_line, span.end_col, f".{name}()"),)
        closing = self._closing_parenthesis(node)
        if closing is not None:
            return (_insert(*closing, f".{name}()"),)
        return (_insert(span.line, span.col, "("), _insert(span.end_line, span.end_col, f").{name}()"))

    def wrapped(self, node: ast.expr, before: str, after: str) -> Edits:
        """`before x after` for an expression `x`: an argument of a call, or the iterable of a comprehension."""
        span = self._span(node)
        bare = (isinstance(node, ast.Tuple) and not self._line(span.line)[span.col :].startswith("(")) or isinstance(
            node, (ast.Lambda, ast.IfExp, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Starred)
        )
        inner, outer = ("(", ")") if bare else ("", "")
        return (
            _insert(span.line, span.col, before + inner),
            _insert(span.end_line, span.end_col, outer + after),
        )

    def replaced(self, node: ast.expr, text: str) -> Edits:
        """Another constant in the place of this one."""
        return (Edit(self._span(node), text),)

    def reference(self, qualname: str, at: ast.AST) -> tuple[str, Edits]:
        """How `qualname` ("copy.deepcopy") is written at `at`, and the import that this needs, if it needs one.

        Raises Unfixable when every name for it is taken.
        """
        known = self.imports.known(qualname, at)
        if known is not None:
            return known, ()
        found = self.imports.new(qualname)
        if found is None:
            raise Unfixable(f"no free name to import {qualname} under")
        written, (line, text) = found
        return written, (_insert(line, 0, text),)

    def below_imports(self, text: str, name: str) -> Edits:
        """A statement of its own below the imports at the top of the module, and below the one that binds `name`."""
        line, text = self.imports.below(text, name)
        return (_insert(line, 0, text),)

    def decorated(self, function: FunctionNode, text: str, below: int) -> Edits:
        """`@text` on a function, below its first `below` decorators."""
        under = [*function.decorator_list, function][below]
        indent = self._indent(under.lineno)
        return (_insert(under.lineno, 0, f"{indent}@{text}{self.imports.newline}"),)

    def after(self, statement: ast.stmt, text: str) -> Edits:
        """A statement on the next line, in the same block. Raises Unfixable where lines are shared."""
        before = self._line(statement.lineno)[: self.module.span(statement).col]
        end = statement.end_lineno or statement.lineno
        rest = self._line(end)[self._span(statement).end_col :].partition("#")[0]
        if before.strip() or rest.strip():
            raise Unfixable(f"line {statement.lineno} holds several statements")
        return (_insert(*self.imports.line_after(end, f"{self._indent(statement.lineno)}{text}")),)

    def before(self, statement: ast.stmt, text: str) -> Edits:
        """A statement on the line above, in the same block. Raises Unfixable where lines are shared."""
        line = min(each.lineno for each in (statement, *getattr(statement, "decorator_list", ())))
        if self._line(line)[: self.module.span(statement).col].strip():
            raise Unfixable(f"line {line} holds several statements")
        return (_insert(line, 0, f"{self._indent(line)}{text}{self.imports.newline}"),)

    def _line(self, number: int) -> str:
        return self._lines[number - 1]

    def _indent(self, number: int) -> str:
        line = self._line(number)
        # What stands before a form feed does not count, and the form feed stays with its line.
        return line[: len(line) - len(line.lstrip(" \t\f"))].rpartition("\f")[2]

    def _span(self, node: ast.expr | ast.stmt) -> Span:
        """All of a node (`Module.span` stops at a header). Raises Unfixable inside an f-string."""
        if not self.module.tree.is_own(node):
            raise Unfixable("what would be changed stands in another file")
        for up in self.module.tree.ancestors(node):
            if isinstance(up, _FORMATTED):
                raise Unfixable("it stands inside an f-string")  # no exact positions there before Python 3.12
        column = self.module.source.column
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return Span(node.lineno, column(node.lineno, node.col_offset), end_line, column(end_line, end_column))

    def _closing_parenthesis(self, node: ast.expr) -> tuple[int, int] | None:
        """The place behind the parenthesis that closes around just this expression, if it stands in its own pair.

        Looks at the expression's own lines; a pair further off (with a comment between) is not seen, and a second
        pair does no harm.
        """
        span = self._span(node)
        parent = self.module.tree.parents[node]
        alone = isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords
        pairs = 2 if alone else 1  # the outer pair is the call's own
        before = self._line(span.line)[: span.col].rstrip(" \t")
        after = self._line(span.end_line)[span.end_col :]
        closing = len(after) - len(after.lstrip(" \t"))
        if not after[closing:].startswith(")") or not before.endswith("("):
            return None
        outside = before[:-1].rstrip(" \t"), after[closing + 1 :].lstrip(" \t")
        if pairs == 2 and not (outside[0].endswith("(") and outside[1].startswith(")")):
            return None
        return span.end_line, span.end_col + closing + 1


def _insert(line: int, col: int, text: str) -> Edit:
    return Edit(Span(line, col, line, col), text)
