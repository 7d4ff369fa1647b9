"""Makes a failing program small, its accidents and all its files with it."""

from __future__ import annotations

import ast
from dataclasses import replace

from tests.fuzz.shrink import shrunk
from tests.training.judge import Fixer, Verdict, judge, mend
from tests.training.program import Program, joined, split


def small(verdict: Verdict, fixer: Fixer = mend, seconds: float = 20) -> Program:
    """The smallest program found that fails in the same way, by no other rules, and raises nothing as it is."""
    program = verdict.program
    meant = program.meant[0] if program.meant else None
    text = joined(meant or program.files)

    def made(text: str) -> Program:
        files = split(text)
        if meant is None:
            return replace(program, files=files)
        return replace(program, files={path: _uncopied(each) for path, each in files.items()}, meant=(files,))

    def fails(text: str) -> bool:
        found = judge(made(text), fixer)
        return (
            found.failure == verdict.failure
            and found.mended.fixed.keys() <= verdict.mended.fixed.keys()
            and found.before is not None
            and not found.before.error
        )

    return made(shrunk(text, fails, seconds)) if fails(text) else program


class _Uncopy(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node.args[0] if ast.unparse(node.func).startswith("__import__('copy').") else node


def _uncopied(text: str) -> str:
    return ast.unparse(_Uncopy().visit(ast.parse(text))) + "\n"
