"""Whether what a function gives back may hold autograd graphs: numbers, counts and classes do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.release.harmless import ENDING, PLAIN_ATTRIBUTES, READ_ONLY, READ_ONLY_METHODS
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_HELPERS = 3
"""Functions of functions whose results are looked at; those of these may hold anything."""
_STORES = (ast.Subscript, ast.Attribute)


class Giving:
    """What the results of one module's functions are made of."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @remembered
    def may_hold_graphs(self, function: FunctionNode, levels: int = _MOST_HELPERS) -> bool:
        """Whether a result may be made of what a network gives here, without a release; a yield always may."""
        return self._reached(function, levels) is None

    @remembered
    def _reached(self, function: FunctionNode, levels: int) -> frozenset[str] | None:
        """The variables that a function's results are made of; None if a network's outputs are among it."""
        inside = list(self.module.tree.within(function))
        if not levels or any(isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)) for node in inside):
            return None
        fed = self._fed(inside)
        queue: list[ast.expr] = [n.value for n in inside if isinstance(n, ast.Return) and n.value is not None]
        names: set[str] = set()
        while queue:
            for part in self._parts(queue.pop(), levels):
                if part is None:
                    return None
                if part not in names:
                    names.add(part)
                    queue += fed.get(part, [])
        return frozenset(names)

    def _fed(self, inside: list[ast.AST]) -> dict[str, list[ast.expr]]:
        """Variable -> all that may be put into it, in any order: assigned, stored, or handed over along with it."""
        fed: dict[str, list[ast.expr]] = {}

        def feed(target: ast.AST, *values: ast.expr) -> None:
            for node in ast.walk(target):
                if isinstance(node, ast.Name):
                    fed.setdefault(node.id, []).extend(values)

        for node in inside:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    feed(target, node.value)
            elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
                feed(node.target, node.value)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                feed(node.target, node.iter)
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                feed(node.optional_vars, node.context_expr)
            elif isinstance(node, ast.Call) and last_name(node.func) not in READ_ONLY | READ_ONLY_METHODS:
                given = [*node.args, *(each.value for each in node.keywords)]
                holders = [*given, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
                for holder in holders:
                    if isinstance(holder, (ast.Name, *_STORES)):
                        feed(holder, *(each for each in given if each is not holder))
        return fed

    def _parts(self, node: ast.AST, levels: int) -> Iterator[str | None]:
        """The variables that an expression's graph may come from; None for a network's outputs, or what is not seen."""
        if isinstance(node, ast.Name):
            yield None if self.module.infer.value(node).kind is Kind.MODULE or node.id == "self" else node.id
        elif isinstance(node, ast.Attribute):
            if node.attr not in ENDING | PLAIN_ATTRIBUTES:
                yield from self._parts(node.value, levels)
        elif isinstance(node, ast.Call):
            yield from self._of_call(node, levels)
        elif isinstance(node, ast.Subscript):
            yield from self._parts(node.value, levels)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            yield from self._parts(node.elt, levels)  # its variables are fed by what it goes over
        elif isinstance(node, ast.IfExp):
            yield from self._parts(node.body, levels)
            yield from self._parts(node.orelse, levels)
        elif not isinstance(node, (ast.Compare, ast.JoinedStr, ast.Lambda)):
            for child in ast.iter_child_nodes(node):
                yield from self._parts(child, levels)

    def _of_call(self, call: ast.Call, levels: int) -> Iterator[str | None]:
        func = call.func
        if (last_name(func) in ENDING) if isinstance(func, ast.Attribute) else (last_name(func) in READ_ONLY):
            return
        helper = self.module.classes.callee(call)
        if helper is not None:
            reached = self._reached(helper, levels - 1)
            own = {each.arg for each in ast.walk(helper.args) if isinstance(each, ast.arg)}
            if reached is None:
                yield None
            if reached is None or not reached & own:
                return
        elif self.module.infer.called(func).kind is Kind.MODULE:
            yield None
        elif isinstance(func, ast.Attribute):
            yield from self._parts(func.value, levels)
        for each in (*call.args, *(keyword.value for keyword in call.keywords)):
            yield from self._parts(each, levels)
