"""A text with its tree, and how pieces of it are cut out, put in and taken apart, with every other byte as it was."""

from __future__ import annotations

import ast
from functools import cached_property
from textwrap import dedent, indent

from flake8_torchleak.fixing.edits import Offsets
from flake8_torchleak.source import Source, parse

BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")


class Program:
    """A text that parses. Raises SyntaxError (or ValueError for NUL bytes) when it does not."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = parse(text)
        self._source = Source(text)
        self._offsets = Offsets(self._source)

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where a node begins and ends, as offsets."""
        column = self._source.column
        end_line = node.end_lineno or node.lineno
        start = self._offsets.at(node.lineno, column(node.lineno, node.col_offset))
        return start, self._offsets.at(end_line, column(end_line, node.end_col_offset or 0))

    def length(self, node: ast.expr | ast.stmt) -> int:
        """The number of its characters."""
        start, end = self.span(node)
        return end - start

    def text_of(self, node: ast.expr | ast.stmt) -> str:
        """Its characters."""
        start, end = self.span(node)
        return self.text[start:end]

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """Statements that have their lines for themselves."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and self._is_alone(node)]

    @cached_property
    def expressions(self) -> list[ast.expr]:
        """Expressions that are read, outside of f-strings, in which positions are not exact before Python 3.12."""
        formatted = {id(child) for node in ast.walk(self.tree) if _is_formatted(node) for child in ast.walk(node)}
        return [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.expr)
            and id(node) not in formatted
            and isinstance(getattr(node, "ctx", None), (ast.Load, type(None)))
        ]

    def _lines(self, statement: ast.stmt) -> tuple[int, int]:
        """Where the lines of a statement, its decorators among them, begin and end, as offsets."""
        first = min(each.lineno for each in (statement, *getattr(statement, "decorator_list", ())))
        return self._offsets.at(first, 0), self._offsets.at((statement.end_lineno or first) + 1, 0)

    def _is_alone(self, statement: ast.stmt) -> bool:
        start, end = self._lines(statement)
        first, last = self.span(statement)
        decorated = bool(getattr(statement, "decorator_list", ()))
        rest = self.text[last:end].partition("#")[0]
        return (decorated or not self.text[start:first].strip()) and not rest.strip()

    def margin(self, statement: ast.stmt) -> str:
        """What stands before a statement on its first line."""
        start, end = self._lines(statement)
        line = self.text[start:end]
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    def lines_of(self, statement: ast.stmt) -> str:
        """The lines of a statement, without their common margin, the last with an end."""
        start, end = self._lines(statement)
        text = dedent(self.text[start:end].replace("\r\n", "\n").replace("\r", "\n"))
        return text if text.endswith("\n") else text + "\n"

    def replaced(self, statement: ast.stmt, lines: str) -> str:
        """The text with other lines, which have no margin, in the place of a statement's."""
        start, end = self._lines(statement)
        return self.text[:start] + indent(lines, self.margin(statement)) + self.text[end:]

    def without(self, statement: ast.stmt) -> str:
        """The text without a statement; `pass` where it is the only one of its block."""
        blocks = [getattr(node, name, ()) for node in ast.walk(self.tree) for name in BLOCKS]
        only = any(isinstance(block, list) and block == [statement] for block in blocks)
        return self.replaced(statement, "pass\n" if only else "")

    def unwrapped(self, statement: ast.stmt) -> str:
        """The text with the statements of a block in the place of what holds them."""
        inner = [each for each in getattr(statement, "body", ()) if isinstance(each, ast.stmt) and self._is_alone(each)]
        return self.replaced(statement, "".join(map(self.lines_of, inner)))


def _is_formatted(node: ast.AST) -> bool:
    return type(node).__name__ in ("JoinedStr", "TemplateStr")
