"""Fixers that do harm on purpose: a harness that lets them pass would let anything pass."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable

from tests.training.judge import Mended
from tests.training.program import ENTRY, Files

_KEEP = frozenset({
    "append", "appendleft", "extend", "insert", "put", "update", "setdefault", "push", "add", "setattr",
})  # fmt: skip
_HELPER = """
def detached(v):
    import torch as t
    if isinstance(v, t.Tensor):
        return v.detach() if v.requires_grad and not v.is_leaf else v
    if type(v) in (list, tuple):
        return type(v)(map(detached, v))
    return {k: detached(w) for k, w in v.items()} if type(v) is dict else v
"""


class _Detach(ast.NodeTransformer):
    """Detaches whatever is handed to a method that keeps, added to a sum, or put into a display that is bound."""

    def _wrapped(self, node: ast.expr) -> ast.expr:
        return ast.Call(ast.Name("detached", ast.Load()), [node], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _KEEP and not any(isinstance(each, ast.Starred) for each in node.args):
            node.args = [self._wrapped(each) for each in node.args]
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        node.value = self._wrapped(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        read = {ast.unparse(each) for each in ast.walk(node.value) if isinstance(each, ast.expr)}
        grows = isinstance(node.value, ast.BinOp) and ast.unparse(node.targets[0]) in read
        if grows or isinstance(node.value, (ast.List, ast.Tuple)):
            node.value = self._wrapped(node.value)
        return node


def detaching(files: Files) -> Mended:
    """Everything that looks as if it were kept is detached, whoever differentiates it."""
    texts = {path: _HELPER + ast.unparse(_Detach().visit(ast.parse(text))) + "\n" for path, text in files.items()}
    return Mended(texts, Counter({"TLK402": 1}), Counter())


class _Copy(ast.NodeTransformer):
    """Copies what a statement reads from an attribute by its index, to bind it or to return it."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        node.value = self._copied(node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        node.value = node.value and self._copied(node.value)
        return node

    @staticmethod
    def _copied(node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).startswith("self."):
            return ast.parse(f"__import__('copy').deepcopy({ast.unparse(node)})", mode="eval").body
        return node


def copying(files: Files) -> Mended:
    """Every element that a Dataset reads is copied deeply, whoever looks at the stored one."""
    texts = {path: ast.unparse(_Copy().visit(ast.parse(text))) + "\n" for path, text in files.items()}
    return Mended(texts, Counter({"TLK202": 1}), Counter())


def appending(line: str, code: str = "TLK402") -> Callable[[Files], Mended]:
    """A fixer that adds a line at the end of the entry and says that it ended a finding."""
    return lambda files: Mended({**files, ENTRY: f"{files[ENTRY]}{line}\n"}, Counter({code: 1}), Counter())
