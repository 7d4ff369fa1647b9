"""One other file of the project: which of its top-level statements bind a name, and what stands in those."""

from __future__ import annotations

import ast
from functools import cached_property

from flake8_torchleak.model import hints
from flake8_torchleak.model.index import Index
from flake8_torchleak.model.names import dotted
from flake8_torchleak.model.pieces import Piece, split
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.source import Source, parse

_MOST_ALIASES = 4
"""Names that stand for each other, one after the other."""


class File:
    """A file's text, and of its statements those that somebody asked for: definitions are parsed one by one."""

    def __init__(self, path: str, text: str) -> None:
        """Raises SyntaxError when what is not in a definition does not parse."""
        self.path, self.source = path, Source(text)
        rest, pieces = split(text) or (text, [])
        try:
            self._rest = parse(rest)
        except SyntaxError:
            if not pieces:
                raise
            self._rest, pieces = parse(text), []  # cut in a wrong place
        self._index: dict[str, list[ast.stmt | Piece]] = {}
        for piece in pieces:
            self._index.setdefault(piece.name, []).append(piece)
        for statement in self._rest.body:
            for name in _bound(statement):
                self._index.setdefault(name, []).append(statement)

    def binds(self, name: str) -> bool:
        """Whether a top-level statement binds a name."""
        return name in self._index

    @remembered
    def binding(self, name: str) -> list[ast.stmt]:
        """The top-level statements that bind a name, in order; those in `if` and `try` count as the whole block."""
        found = [_parsed(each) if isinstance(each, Piece) else each for each in self._index.get(name, ())]
        return sorted((each for each in found if each is not None), key=lambda each: each.lineno)

    @remembered
    def indexed(self, statement: ast.stmt) -> Index:
        """The index of a top-level statement: what modules look into is shared by all that do."""
        return Index(statement)

    @remembered
    def names(self, statement: ast.stmt) -> frozenset[str]:
        """The names that stand in a statement."""
        return frozenset(node.id for node in self.indexed(statement).all(ast.Name))

    def mentioned(self, statement: ast.stmt) -> tuple[str, ...]:
        """Dotted names, as the file imports them, of what a statement derives classes from, or calls."""
        # What a name is taken for is not remembered: it is not always to be trusted.
        return tuple(dict.fromkeys(name for head, name in self._mentions(statement) if not hints.is_model(head)))

    @remembered
    def _mentions(self, statement: ast.stmt) -> tuple[tuple[str, str], ...]:
        """The same, each with its first part as it is written."""
        found: dict[tuple[str, str], None] = {}
        for node in self.indexed(statement).by_depth(ast.ClassDef, ast.Call):
            if isinstance(node, ast.ClassDef):
                found.update(dict.fromkeys(self._imported_as(base) for base in node.bases))
            elif isinstance(node.func, ast.Name):
                found[self._imported_as(node.func)] = None
        return tuple(each for each in found if each[1])

    def _imported_as(self, expression: ast.expr) -> tuple[str, str]:
        """The first part of an expression, and the dotted name that it was imported under; "" if it was not."""
        head, *rest = dotted(expression) or [""]
        for each in self._index.get(head, ()):
            for alias in each.names if isinstance(each, (ast.Import, ast.ImportFrom)) else ():
                if (alias.asname or alias.name) == head:
                    name = imported(each, alias) if isinstance(each, ast.ImportFrom) else alias.name
                    return head, ".".join([name, *rest]) if "." in name or rest else ""
        return head, ""

    def handed_on(self, name: str, levels: int = _MOST_ALIASES) -> str:
        """The dotted name of what a top-level name stands for that is imported, or bound to what is; "" if neither."""
        found = ""
        for each in (inner for statement in self.binding(name) for inner in _simple(statement)):
            if isinstance(each, (ast.Import, ast.ImportFrom)):
                found = _named_by(each, name) or found
            elif isinstance(each, ast.Assign) and levels and name in _bound(each):
                head, *rest = dotted(each.value) or [""]
                first = self.handed_on(head, levels - 1)
                found = ".".join([first, *rest]) if first else found
        return found

    @property
    def statements(self) -> list[ast.stmt]:
        """Its top-level statements, without definitions that stand by themselves."""
        return self._rest.body

    def exports(self, name: str) -> bool:
        """Whether who imports all of its names gets this one: by its `__all__`, if that can be read, or by the name."""
        listed = self.binding("__all__")
        if not listed:
            return not name.startswith("_")
        value = listed[0].value if len(listed) == 1 and isinstance(listed[0], ast.Assign) else None
        names = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
        return any(isinstance(each, ast.Constant) and each.value == name for each in names)

    def deletes(self, name: str) -> bool:
        """Whether a statement at its top takes a name away."""
        deleted = (each for each in self._rest.body if isinstance(each, ast.Delete))
        return any(isinstance(node, ast.Name) and node.id == name for each in deleted for node in each.targets)

    @cached_property
    def stars(self) -> list[ast.ImportFrom]:
        """Its `from x import *`."""
        return [s for s in self._rest.body if isinstance(s, ast.ImportFrom) and s.names[0].name == "*"]


def imported(statement: ast.ImportFrom, alias: ast.alias) -> str:
    """The dotted name of what an import names, with the dots of a relative one."""
    module = "." * statement.level + (statement.module or "")
    return f"{module}.{alias.name}" if statement.module else module + alias.name


def _named_by(statement: ast.Import | ast.ImportFrom, name: str) -> str:
    """The dotted name of what an import binds a name to; "" if it binds another one."""
    for alias in statement.names:
        if (alias.asname or alias.name.partition(".")[0]) == name:
            whole = imported(statement, alias) if isinstance(statement, ast.ImportFrom) else alias.name
            return whole if alias.asname or isinstance(statement, ast.ImportFrom) else name
    return ""


def _simple(statement: ast.stmt) -> list[ast.stmt]:
    """A statement, or those in the branches of an `if` or `try`."""
    if not isinstance(statement, (ast.If, ast.Try)):
        return [statement]
    handlers = (inner for each in getattr(statement, "handlers", ()) for inner in each.body)
    blocks = (*handlers, *statement.orelse, *statement.body)
    return [simple for each in blocks for simple in _simple(each)]


def _parsed(piece: Piece) -> ast.stmt | None:
    """The definition, its lines as in the file; None if its piece is no definition after all."""
    try:
        body = parse("\n" * piece.above + piece.text).body
    except SyntaxError:
        return None
    return body[0] if len(body) == 1 else None


def _bound(statement: ast.stmt) -> list[str]:
    """The names that a top-level statement binds."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in statement.names]
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    if isinstance(statement, (ast.If, ast.Try)):
        blocks = [*statement.body, *statement.orelse, *(s for h in getattr(statement, "handlers", ()) for s in h.body)]
        return [name for inner in blocks for name in _bound(inner)]
    return []
