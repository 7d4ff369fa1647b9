"""What a parameter holds, without a particular call in view."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import declared
from flake8_torchleak.model.names import defaults
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import UNKNOWN, Kind, Value, join

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer

_MOST_CALLERS = 50
"""Callers in the file whose arguments are looked at."""


class Parameters:
    """Values of parameters, by annotation, default, documentation, callers in the file, or name."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer

    def value(self, node: ast.arg, function: ast.AST) -> Value:
        """What a parameter holds, by annotation, default, documentation or name."""
        if isinstance(function, FUNCTIONS):
            given = defaults(function).get(node)
            if isinstance(given, (ast.List, ast.Tuple, ast.Dict, ast.Set)) and not _is_empty(given):
                return self.infer.value(given)
        found = self._declared(node, function)
        if found.kind is not Kind.UNKNOWN:
            return found
        if isinstance(function, FUNCTIONS):
            found = self._passed(node, function)
            if found.kind is not Kind.UNKNOWN or found.graph:
                return found
        named = self.infer.named(node.arg, node)
        return found if named.kind is Kind.UNKNOWN and found.graph is False else named

    @remembered
    def _declared(self, node: ast.arg, function: ast.AST) -> Value:
        """What the annotation of a parameter says, or the documentation of its function or class."""
        found = declared.annotated(node.annotation) if node.annotation is not None else UNKNOWN
        owner = self.infer.tree.class_of(function)
        for documented in (function, owner):
            if found.kind is Kind.UNKNOWN and isinstance(documented, (*FUNCTIONS, ast.ClassDef)):
                found = declared.documented(node.arg, ast.get_docstring(documented) or "")
        return found

    def _passed(self, node: ast.arg, function: FunctionNode) -> Value:
        """What the calls in the file hand over for a parameter: the join of the arguments."""
        if not self.infer.enter((node, "passed")):
            return UNKNOWN
        try:
            found = []
            calls = self.infer.classes.calls_of(function)
            if len(calls) > _MOST_CALLERS:
                self.infer.flow.cut.setdefault(function, f"it is called at more than {_MOST_CALLERS} places")
            for call in calls[:_MOST_CALLERS]:
                if function.name != "__init__" and self.infer.classes.callee(call) is not function:
                    continue
                argument = self.infer.classes.argument(call, node, function)
                if argument is not None:
                    found.append(self.infer.value(argument))
            return join([v.but(origin=None) for v in found]) if found else UNKNOWN
        finally:
            self.infer.leave((node, "passed"))


def _is_empty(display: ast.List | ast.Tuple | ast.Dict | ast.Set) -> bool:
    return not (display.keys if isinstance(display, ast.Dict) else display.elts)
