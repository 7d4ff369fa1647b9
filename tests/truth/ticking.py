"""Tells steps: a call at the head of each loop that the generator marked, in the program's syntax tree.

Lines stay as they are. `__tick__` and `__ticked__` are built-in names of the program, bound by whoever runs it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType
from typing import Any

from tests.truth.case import STEP, Case


class Ticking(ast.NodeTransformer):
    """Puts a call at the head of each marked step, and around what a marked comprehension draws from."""

    def __init__(self, lines: set[int]) -> None:
        self._lines = lines

    def _loop(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        if node.lineno in self._lines and not isinstance(getattr(node, "iter", None), ast.GeneratorExp):
            call = ast.Expr(ast.Call(ast.Name("__tick__", ast.Load()), [], []))
            node.body.insert(0, ast.fix_missing_locations(ast.copy_location(call, node)))
        return node  # type: ignore[no-any-return]

    visit_For = visit_While = _loop

    def _drawing(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        if node.lineno in self._lines:
            first = node.generators[0]
            call = ast.Call(ast.Name("__ticked__", ast.Load()), [first.iter], [])
            first.iter = ast.fix_missing_locations(ast.copy_location(call, first.iter))
        return node  # type: ignore[no-any-return]

    visit_ListComp = visit_GeneratorExp = visit_DictComp = visit_SetComp = _drawing


def instrumented(case: Case) -> Callable[[str, str], CodeType]:
    """What compiles the program's files, with its steps told."""

    def compiled(path: str, text: str) -> CodeType:
        lines = {line for file, line in case.marks[STEP] if file == path}
        tree = Ticking(lines).visit(ast.parse(text, path)) if lines else ast.parse(text, path)
        return compile(tree, path, "exec")

    return compiled
