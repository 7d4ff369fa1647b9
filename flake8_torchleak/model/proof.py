"""Proof that a value is a tensor, and how it is used later: what a fix must know beyond what a finding must.

A finding may rest on likelihood (`criterion(...)` gives a loss); `.detach()` on a dict is a crash. So nothing here
goes by names: only torch's own functions, operations that tensors alone have, and what backward() is called on.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How, key_of
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import Scope
from flake8_torchleak.model.values import TENSOR_METHODS, TORCH_FUNCTIONS, Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_DEPTH = 12
_OF_OTHERS = frozenset({
    "to", "cpu", "cuda", "float", "half", "double", "type", "data", "numpy", "clone", "copy", "item", "mean", "min",
    "max", "sum", "index", "count", "sort", "split", "pop", "get", "sample", "mode", "values", "T", "bool", "int",
    "long", "add", "contiguous", "round",
})  # fmt: skip
"""Methods that tensors share with modules, arrays, distributions, strings, packed sequences or containers."""
_OF_ARRAYS = frozenset({
    "all", "any", "argmax", "argmin", "argsort", "cumsum", "diagonal", "flatten", "nonzero", "prod", "repeat",
    "reshape", "squeeze", "std", "swapaxes", "tolist", "transpose", "var", "view", "size", "abs", "sub", "mul", "div",
    "pow", "eq", "ne", "gt", "lt", "ge", "le", "byte", "short",
})  # fmt: skip
"""Methods that tensors share with arrays and tables."""
_ONLY_TENSORS = frozenset(TENSOR_METHODS) - _OF_OTHERS - _OF_ARRAYS | {"backward", "requires_grad_", "retain_grad"}
_OF_A_GRAPH = _OF_ARRAYS | {"item", "mean", "sum", "min", "max", "cpu", "clone", "contiguous", "long", "round"}
"""Methods that, of all values that can carry a graph, only tensors have: no array, table or number can."""
_TENSOR_PARTS = frozenset({"data", "T", "mT", "H", "real", "grad"})
_TENSOR_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult, ast.FloorDiv, ast.Mod)


class Proof:
    """What can be proven of the values of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def is_tensor(self, node: ast.expr, depth: int = _MOST_DEPTH) -> bool:
        """Whether an expression is a tensor for sure, wherever it comes from."""
        if not depth:
            return False
        if isinstance(node, (ast.Name, ast.Attribute)) and self._variable(node, depth):
            return True
        if isinstance(node, ast.Attribute):
            return node.attr in _TENSOR_PARTS and self.is_tensor(node.value, depth - 1)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right)
            return isinstance(node.op, _TENSOR_OPERATORS) and any(self.is_tensor(s, depth - 1) for s in sides)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.USub) and self.is_tensor(node.operand, depth - 1)
        if isinstance(node, ast.IfExp):
            return self.is_tensor(node.body, depth - 1) and self.is_tensor(node.orelse, depth - 1)
        if isinstance(node, ast.Subscript):
            return self.is_tensor(node.value, depth - 1)
        return False

    def is_scalar(self, node: ast.expr, depth: int = _MOST_DEPTH) -> bool:
        """Whether a tensor has one element for sure, so that `.item()` works: a loss, a mean, arithmetic of such."""
        if not depth:
            return False
        if isinstance(node, (ast.Name, ast.Attribute)):
            scope = self.module.tree.scope(node)
            reaching = self.module.flow.reaching(key_of(node), node) if key_of(node) else []
            roots = self._differentiated(scope)
            return bool(reaching) and all(
                d in roots or (d.value is not None and _is_plain(d) and self.is_scalar(d.value, depth - 1))
                for d in reaching
            )
        if isinstance(node, ast.Call):
            if any(k.arg == "reduction" for k in node.keywords):
                return False
            if self._is_torch_loss(node):
                return True
            reduced = isinstance(node.func, ast.Attribute) and node.func.attr in ("mean", "sum", "norm")
            return reduced and not node.args and not node.keywords and self.is_tensor(node, depth - 1)
        if isinstance(node, ast.BinOp):
            kinds = [self.is_scalar(side, depth - 1) for side in (node.left, node.right)]
            numbers = [self.module.infer.value(side).kind is Kind.NUMBER for side in (node.left, node.right)]
            return any(kinds) and all(s or n for s, n in zip(kinds, numbers, strict=True))
        return False

    def holder_is_tensor(self, key: str, node: ast.AST) -> bool:
        """Whether a sum that starts at a number is read as a tensor later: then what is added is one."""
        scope = self.module.tree.scope(node)
        uses = [n for n in self.module.tree.within(scope) if isinstance(n, ast.Attribute) and key_of(n.value) == key]
        return any(n.attr in _ONLY_TENSORS or n.attr in _OF_A_GRAPH for n in uses) and all(
            d.how is How.AUGMENT or (d.value is not None and self.module.infer.value(d.value).kind is Kind.NUMBER)
            for d in self.module.flow.definitions(scope).get(key, [])
        )

    def _variable(self, node: ast.Name | ast.Attribute, depth: int) -> bool:
        key, scope = key_of(node), self.module.tree.scope(node)
        if not key:
            return False
        reaching = self.module.flow.reaching(key, node)
        if not reaching:
            return False
        if all(self._definition(d, scope, depth) for d in reaching):
            return True
        return self._used_as_tensor(key, reaching, scope)

    def _definition(self, definition: Definition, scope: Scope, depth: int) -> bool:
        if definition in self._differentiated(scope):
            return True
        return definition.value is not None and _is_plain(definition) and self.is_tensor(definition.value, depth - 1)

    def _differentiated(self, scope: Scope) -> set[Definition]:
        """Definitions of the very variables that backward() is called on, or that are handed to it."""
        found: set[Definition] = set()
        for objective in self.module.infer.backward.objectives(scope):
            while isinstance(objective, ast.Call) and last_name(objective.func) == "scale" and objective.args:
                objective = objective.args[0]
            key = key_of(objective)
            if key:
                found.update(self.module.flow.reaching(key, objective))
        return found

    def _used_as_tensor(self, key: str, reaching: list[Definition], scope: Scope) -> bool:
        """Whether the same value is used elsewhere in the function as only a tensor with a graph can be."""
        graph = self.module.infer
        for node in self.module.tree.within(scope):
            if not isinstance(node, ast.Attribute) or key_of(node.value) != key:
                continue
            certain = node.attr in _ONLY_TENSORS
            if not certain and not (node.attr in _OF_A_GRAPH and graph.value(node.value).graph):
                continue
            if all(each in reaching for each in self.module.flow.reaching(key, node.value)):
                return True
        return False

    def _call(self, node: ast.Call, depth: int) -> bool:
        qualname = self.module.names.qualname(node.func)
        head, _, last = qualname.rpartition(".")
        if head == "torch.nn.functional":
            return not any(k.arg in ("return_indices", "need_weights") for k in node.keywords)
        if head in ("torch", "torch.special") and last in TORCH_FUNCTIONS:
            return self.module.infer.value(node).kind is Kind.TENSOR
        if self._is_torch_loss(node):
            return True
        helper = self.module.classes.callee(node)
        if helper is not None:
            returns = [n.value for n in self.module.tree.within(helper) if isinstance(n, ast.Return)]
            return bool(returns) and all(r is not None and self.is_tensor(r, depth - 1) for r in returns)
        if not isinstance(node.func, ast.Attribute):
            return False
        name, base = node.func.attr, node.func.value
        if name not in TENSOR_METHODS and name not in ("to", "cuda"):
            return False
        if self.module.infer.value(node).kind is not Kind.TENSOR and name not in ("to", "cuda"):
            return False
        if name in _ONLY_TENSORS or (name in _OF_A_GRAPH and name not in ("cpu", "clone") and self._carries(base)):
            return True
        return self.is_tensor(base, depth - 1)

    def _carries(self, base: ast.expr) -> bool:
        return bool(self.module.infer.value(base).graph)

    def _is_torch_loss(self, node: ast.Call) -> bool:
        """A call of a loss function made by one of torch.nn's classes (`nn.MSELoss()`), in this file."""
        called = self.module.infer.value(node.func)
        if called.kind is Kind.LOSS and isinstance(called.made, ast.Call):
            return not any(k.arg == "reduction" for k in called.made.keywords)
        return self.module.names.qualname(node.func).startswith("torch.nn.functional.") and last_name(
            node.func
        ).endswith(("loss", "entropy", "entropy_with_logits"))


def _is_plain(definition: Definition) -> bool:
    """`x = value` as a whole, not one of several that are unpacked or iterated over."""
    return definition.how is How.ASSIGN and not definition.path
