"""What the later uses of a variable prove of it: one that only a tensor survives, and that is sure to run."""

from __future__ import annotations

import ast
from bisect import bisect_left
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How, key_of
from flake8_torchleak.model.effects import TENSOR_METHODS
from flake8_torchleak.model.networks import Networks
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import COMPREHENSIONS, SCOPES, Scope, Tree
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_OF_OTHERS = frozenset({
    "to", "cpu", "cuda", "float", "half", "double", "type", "data", "numpy", "clone", "copy", "item", "mean", "min",
    "max", "sum", "index", "count", "sort", "split", "pop", "get", "sample", "mode", "values", "T", "bool", "int",
    "long", "add", "contiguous", "round", "bfloat16", "expand", "log", "select",
})  # fmt: skip
"""Methods that tensors share with modules, arrays, distributions, strings, packed sequences, containers or loggers."""
_OF_ARRAYS = frozenset({
    "all", "any", "argmax", "argmin", "argsort", "cumsum", "diagonal", "flatten", "nonzero", "prod", "repeat",
    "reshape", "squeeze", "std", "swapaxes", "tolist", "transpose", "var", "view", "size", "abs", "sub", "mul", "div",
    "pow", "eq", "ne", "gt", "lt", "ge", "le", "byte", "short",
})  # fmt: skip
"""Methods that tensors share with arrays and tables."""
ONLY_TENSORS = frozenset(TENSOR_METHODS) - _OF_OTHERS - _OF_ARRAYS | {"backward", "requires_grad_", "retain_grad"}
OF_A_GRAPH = _OF_ARRAYS | {"item", "mean", "sum", "min", "max", "cpu", "clone", "contiguous", "long", "round"}
"""Methods that, of all values that can carry a graph, only tensors have: no array, table or number can."""
OF_SEQUENCES = frozenset({"cpu", "clone", "byte", "short", "long", "contiguous"})
"""Those of them that packed sequences, boxes or graphs have as well: they carry a graph, too."""


class Later:
    """How the variables of one module are used later."""

    def __init__(self, module: Module, networks: Networks) -> None:
        self.module, self.networks = module, networks

    def proves(self, definition: Definition, node: ast.expr, uses: dict[Definition, list[ast.expr]]) -> bool:
        """Whether what a definition gives to `node` passes a use that only a tensor survives."""
        flow, tree = self.module.flow, self.module.tree
        for use in uses.get(definition, []):
            statement = tree.statement(use)
            together = flow.ways.always_before(statement, node) and not self._leaves(node, statement)
            if together or statement is tree.statement(node):
                return True
            if self._follows(statement, definition):
                return True
        return False

    @remembered
    def by_definition(self, key: str, scope: Scope, certain: bool) -> dict[Definition, list[ast.expr]]:
        """Definition of a variable -> what proves it a tensor and is evaluated with its statement.

        certain: only where it is differentiated, as a tensor of one element can be.
        """
        found: dict[Definition, list[ast.expr]] = {}
        for use in [*([] if certain else self._uses(key, scope)), *self._differentiated(key, scope)]:
            for each in self.module.flow.reaching(key, use) if not self._is_optional(use) else ():
                found.setdefault(each, []).append(use)
        return found

    def _is_optional(self, use: ast.expr) -> bool:
        """Whether a part of a statement may not be evaluated: in a branch, behind `and` / `or`, in a function."""
        up = self.module.tree.parents[use]
        while not isinstance(up, ast.stmt):
            if isinstance(up, (ast.IfExp, ast.BoolOp, ast.Lambda, *COMPREHENSIONS)):
                return True
            up = self.module.tree.parents[up]
        return False

    def _follows(self, statement: ast.stmt, made: Definition) -> bool:
        """Whether a statement runs whenever the definition above it has: no branch of its own, no way out between."""
        tree, definition = self.module.tree, made.statement
        if statement.lineno <= getattr(definition, "lineno", 0):
            return False
        child: ast.AST = statement
        up = tree.parents[child]
        while not isinstance(up, SCOPES):
            if up is definition and made.how is How.ITERATE:
                return tree.blocks.get(child) == "body" and not self._leaves(definition, statement)
            plain = isinstance(up, (ast.With, ast.AsyncWith))
            if not plain and not (tree.inside(definition, up) and _block(tree, definition, up) == tree.blocks[child]):
                return False
            child, up = up, tree.parents[up]
        return not self._leaves(definition, statement)

    def _leaves(self, place: ast.AST, statement: ast.stmt) -> bool:
        """Whether there is a way out between a place and a statement below it."""
        jumps = self._jumps(self.module.tree.scope(statement))
        return bisect_left(jumps, getattr(place, "lineno", 0)) < bisect_left(jumps, statement.lineno)

    @remembered
    def _jumps(self, scope: Scope) -> list[int]:
        """The lines of a scope's ways out."""
        within = self.module.tree.within(scope)
        return sorted(each.lineno for each in within if isinstance(each, (ast.Break, ast.Continue, ast.Return)))

    def _differentiated(self, key: str, scope: Scope) -> list[ast.expr]:
        """Where backward() is called on the very variable (or on its mean), or the variable is handed to it."""
        return self._objectives(scope).get(key, [])

    @remembered
    def _objectives(self, scope: Scope) -> dict[str, list[ast.expr]]:
        """What a scope differentiates for sure, by variable."""
        found: dict[str, list[ast.expr]] = {}
        for site in self.module.release.differentiation.sites(scope):
            objective = self.module.release.differentiation.unscaled(site.objective)
            while isinstance(objective, ast.Call) and isinstance(objective.func, ast.Attribute):
                if objective.func.attr not in OF_A_GRAPH:
                    break
                objective = objective.func.value
            if site.certain:
                found.setdefault(key_of(objective), []).append(objective)
        return found

    @remembered
    def _uses(self, key: str, scope: Scope) -> list[ast.expr]:
        """Where the variable is used as only a tensor can be, or, if a module gave it, as only a tensor then can."""
        found: list[ast.expr] = []
        for node in self.networks.attributes(key, scope):
            if not self._is_called(node):
                continue
            of_output = node.attr in OF_A_GRAPH - OF_SEQUENCES and self.networks.is_output(node.value)
            if node.attr in ONLY_TENSORS or of_output:
                found.append(node.value)
        return found + self._given_to_losses(scope).get(key, [])

    def _is_called(self, node: ast.Attribute) -> bool:
        """Whether a method is called for its result: results of networks have fields of these names (`out.mean`).

        `detach()` alone in a statement does nothing for a tensor: it is a method that changes an object.
        """
        call = self.module.tree.parents[node]
        if not isinstance(call, ast.Call) or call.func is not node:
            return False
        return node.attr != "detach" or not isinstance(self.module.tree.parents[call], ast.Expr)

    @remembered
    def _given_to_losses(self, scope: Scope) -> dict[str, list[ast.expr]]:
        """Predictions and targets of torch's losses, by variable: they are tensors, or the loss raises."""
        found: dict[str, list[ast.expr]] = {}
        for call in self.module.tree.calls(scope):
            for each in call.args[:2] if self.networks.is_torch_loss(call) else ():
                found.setdefault(key_of(each), []).append(each)
        return found

    @remembered
    def is_sum(self, key: str, scope: Scope) -> bool:
        """Whether a variable starts at numbers, is added to at one place, and is read as a tensor."""
        definitions = self.module.flow.definitions(scope).get(key, [])
        return (
            any(n.attr in ONLY_TENSORS or n.attr in OF_A_GRAPH for n in self.networks.attributes(key, scope))
            and sum(d.how is How.AUGMENT for d in definitions) == 1
            and all(
                d.how is How.AUGMENT or (d.value is not None and self.module.infer.value(d.value).kind is Kind.NUMBER)
                for d in definitions
            )
        )


def _block(tree: Tree, node: ast.AST, outer: ast.AST) -> str:
    """The block of `outer` that a node below it stands in ("" for its head, and for `outer` itself)."""
    while node is not outer and tree.parents[node] is not outer:
        node = tree.parents[node]
    return tree.blocks.get(node, "")
