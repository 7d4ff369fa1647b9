"""How libraries are imported in a module, and where a new import goes in the style of those that are there."""

from __future__ import annotations

import ast
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

Import = ast.Import | ast.ImportFrom
_ALIASES = {"numpy": "np"}
_FUTURE, _STANDARD, _OUTER, _OWN = range(4)
"""The groups that imports are sorted into, in their order."""


class Imports:
    """The imports of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        first = module.source.lines[0] if module.source.lines else ""
        self.newline = first[len(first.rstrip("\r\n")) :] or "\n"

    def known(self, qualname: str, at: ast.AST) -> str | None:
        """How a module-level import already lets `qualname` be written at `at`."""
        names, tree = self.module.names, self.module.tree
        for alias in tree.all(ast.alias):
            statement = tree.parents[alias]
            if tree.parents[statement] is not self.module.root or alias.lineno > getattr(at, "lineno", 0):
                continue
            full, name = names.imported(alias), alias.asname or alias.name.partition(".")[0]
            if isinstance(statement, ast.Import) and not alias.asname:
                full = name
            if qualname != full and not qualname.startswith(f"{full}."):
                continue
            bound = names.bound(name, at)
            if alias in bound and all(isinstance(each, ast.alias) for each in bound):
                return name + qualname[len(full) :]
        return None

    def new(self, qualname: str) -> tuple[str, tuple[int, str]] | None:
        """How "package" or "package.attribute" is written with a new import, and that import's line and text.

        None if no name is free.
        """
        package, _, attribute = qualname.partition(".")
        short = _ALIASES.get(package, package)
        alias = f" as {short}" if short != package else ""
        options = [(short, f"import {package}{alias}", f"{short}.{attribute}" if attribute else short)]
        if attribute:
            options += [
                (attribute, f"from {package} import {attribute}", attribute),
                (f"_{attribute}", f"from {package} import {attribute} as _{attribute}", f"_{attribute}"),
            ]
        for name, text, written in options:
            if name not in self.module.names.taken:
                return written, self._place(package, text)
        return None

    def below(self, text: str, name: str) -> tuple[int, str]:
        """The line where a statement of its own goes below the imports, and its text with blank lines around it.

        name: what the statement needs; its import may stand below the others.
        """
        binding = self.module.names.importing(name)
        last = max([*self._top, *binding[:1]], key=lambda each: each.lineno, default=None)
        if last is None:
            return self._before_all(text)
        line, _, text = self.line_after(self._end(last), text)
        following = self._line(line).strip()
        return line, self.newline + text + (self.newline if following else "")

    def line_after(self, line: int, text: str) -> tuple[int, int, str]:
        """Line, column and text that put `text` on a line of its own after the 1-based `line`."""
        last = self._line(line)
        if last.endswith(("\n", "\r")):
            return line + 1, 0, text + self.newline
        return line, len(last), self.newline + text

    @cached_property
    def _top(self) -> list[Import]:
        """The imports above the first function or class, one statement to a line."""
        found: list[Import] = []
        end = 0
        for statement in self.module.root.body:
            if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                break
            if isinstance(statement, (ast.Import, ast.ImportFrom)) and statement.lineno > end:
                found.append(statement)
            end = statement.end_lineno or statement.lineno
        return found

    def _place(self, package: str, text: str) -> tuple[int, str]:
        """The line where a new import belongs, and its text with the blank lines that it needs."""
        group = _group(package, 0)
        members = [each for each in self._top if _group_of(each) == group]
        if members:
            alike = [each for each in members if isinstance(each, ast.Import) == text.startswith("import")]
            smaller = [each for each in alike if _name(each) <= package]
            if smaller:
                return self._after(smaller[-1], text)
            if alike or text.startswith("import"):
                return (alike or members)[0].lineno, text + self.newline
            return self._after(members[-1], text)
        above = [each for each in self._top if _group_of(each) < group]
        if above:
            line, text = self._after(above[-1], text)
            return line, self.newline + text
        if self._top:
            return self._top[0].lineno, text + self.newline * 2
        return self._before_all(text)

    def _after(self, statement: Import, text: str) -> tuple[int, str]:
        line, _, text = self.line_after(self._end(statement), text)
        return line, text

    def _end(self, statement: ast.stmt) -> int:
        """The last line that a statement, or one that shares its lines, stands on."""
        end = statement.end_lineno or statement.lineno
        for each in self.module.root.body:
            if each.lineno == end:
                end = max(end, each.end_lineno or end)
        return end

    def _before_all(self, text: str) -> tuple[int, str]:
        """Below the docstring of a module without imports, or above its first statement."""
        body = self.module.root.body
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            line, _, text = self.line_after(self._end(first), text)
            return line, self.newline + text
        decorators = getattr(first, "decorator_list", [])
        return (decorators[0] if decorators else first).lineno, text + self.newline * 2

    def _line(self, number: int) -> str:
        lines = self.module.source.lines
        return lines[number - 1] if number <= len(lines) else ""


def _name(statement: Import) -> str:
    return (statement.module or "") if isinstance(statement, ast.ImportFrom) else statement.names[0].name


def _group_of(statement: Import) -> int:
    return _group(_name(statement), getattr(statement, "level", 0))


def _group(name: str, level: int) -> int:
    top = name.partition(".")[0]
    if level:
        return _OWN
    return _FUTURE if top == "__future__" else _STANDARD if top in sys.stdlib_module_names else _OUTER
