"""Proof that a value is a tensor, and how it is used later: what a fix must know beyond what a finding must.

A finding may rest on likelihood (`criterion(...)` gives a loss); `.detach()` on a dict is a crash. So nothing here
goes by names: only torch's own functions, operations that tensors alone have, and what backward() is called on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, key_of
from flake8_torchleak.model.bounds import leave_out
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.effects import (
    ARRAY_ATTRIBUTES,
    ARRAY_METHODS,
    NUMPY_FUNCTIONS,
    TENSOR_METHODS,
    TORCH_FUNCTIONS,
)
from flake8_torchleak.model.later import OF_A_GRAPH, OF_SEQUENCES, ONLY_TENSORS, Later
from flake8_torchleak.model.networks import REDUCTIONS, Networks
from flake8_torchleak.model.release.helpers import runs
from flake8_torchleak.model.release.paths import Wanted, runs_always
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_DEPTH = 12
_TENSOR_PARTS = frozenset({"data", "T", "mT", "H", "real"})
_INDICES = {"max_pool": 6, "adaptive_max_pool": 2, "fractional_max_pool": 4}
"""Which argument asks these functions (of each dimension) for indices as well."""
_TENSOR_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult, ast.FloorDiv, ast.Mod)


class Proof:
    """What can be proven of the values of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.networks = Networks(module)
        self.later = Later(module, self.networks)

    @remembered
    def is_tensor(self, node: ast.expr, depth: int = _MOST_DEPTH) -> bool:
        """Whether an expression is a tensor for sure, wherever it comes from."""
        if not depth:
            return self._too_deep(node)
        if isinstance(node, (ast.Name, ast.Attribute)) and self._variable(node, self.is_tensor, depth):
            return True
        if isinstance(node, ast.Attribute):
            return node.attr in _TENSOR_PARTS and self.is_tensor(node.value, depth - 1)
        if isinstance(node, ast.Call):
            return self._tensor_call(node, depth)
        if isinstance(node, ast.BinOp):
            # The right side first: sums are deep on the left.
            sides = (node.left,) if isinstance(node.op, ast.Mod) else (node.right, node.left)
            return isinstance(node.op, _TENSOR_OPERATORS) and any(self.is_tensor(s, depth - 1) for s in sides)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.USub) and self.is_tensor(node.operand, depth - 1)
        if isinstance(node, ast.IfExp):
            return self.is_tensor(node.body, depth - 1) and self.is_tensor(node.orelse, depth - 1)
        if isinstance(node, (ast.Subscript, ast.NamedExpr)):
            return self.is_tensor(node.value, depth - 1)
        return False

    @remembered
    def is_array(self, node: ast.expr, depth: int = _MOST_DEPTH) -> bool:
        """Whether an expression is a NumPy array (or a NumPy scalar, which has `.copy()` too) for sure."""
        if not depth:
            return self._too_deep(node)
        if isinstance(node, (ast.Name, ast.Attribute)) and self._variable(node, self.is_array, depth):
            return True
        if isinstance(node, ast.Attribute):
            return node.attr in ARRAY_ATTRIBUTES and self.is_array(node.value, depth - 1)
        if isinstance(node, ast.Subscript):
            text = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
            return not text and self.is_array(node.value, depth - 1)
        if isinstance(node, ast.NamedExpr):
            return self.is_array(node.value, depth - 1)
        if isinstance(node, ast.BinOp):
            return self.is_array(node.right, depth - 1) or self.is_array(node.left, depth - 1)
        if not isinstance(node, ast.Call):
            return False
        qualname = self.module.names.qualname(node.func)
        if qualname.startswith("numpy.") and qualname.count(".") == 1:
            return qualname[6:] in NUMPY_FUNCTIONS or qualname in ("numpy.load", "numpy.memmap", "numpy.loadtxt")
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "numpy":
                return True
            return node.func.attr in ARRAY_METHODS and self.is_array(node.func.value, depth - 1)
        return False

    @remembered
    def is_scalar(self, node: ast.expr, depth: int = _MOST_DEPTH) -> bool:
        """Whether a tensor has one element for sure, so that `.item()` works: a loss, a mean, arithmetic of such."""
        if not depth:
            return self._too_deep(node)
        if isinstance(node, (ast.Name, ast.Attribute)):
            key = key_of(node)
            reaching = self.module.flow.reaching(key, node) if key else []
            return bool(reaching) and all(
                self.later.proves(each, node, self.later.by_definition(key, self.module.tree.scope(node), True))
                or (each.value is not None and each.is_plain and self.is_scalar(each.value, depth - 1))
                for each in reaching
            )
        if isinstance(node, ast.Call):
            if any(k.arg in REDUCTIONS for k in node.keywords):
                return False
            if self.networks.is_torch_loss(node):
                return True
            reduced = isinstance(node.func, ast.Attribute) and node.func.attr in ("mean", "sum", "norm")
            return reduced and not node.args and not node.keywords and self.is_tensor(node, depth - 1)
        if isinstance(node, ast.BinOp):
            kinds = [self.is_scalar(side, depth - 1) for side in (node.left, node.right)]
            numbers = [self.module.infer.value(side).kind is Kind.NUMBER for side in (node.left, node.right)]
            return any(kinds) and all(s or n for s, n in zip(kinds, numbers, strict=True))
        return False

    def _too_deep(self, node: ast.expr) -> bool:
        """What is not followed further is not proven; that is said."""
        leave_out(self.module, node, f"a proof goes through more than {_MOST_DEPTH} expressions")
        return False

    def sums_tensors(self, key: str, value: ast.expr, node: ast.AST) -> bool:
        """Whether a sum that starts at a number, and to which this alone is added, is read as a tensor later."""
        if isinstance(value, ast.Name) and len(self.module.flow.reaching(value.id, value)) != 1:
            return False  # a number at times, a tensor at others: their sum is a tensor
        return self.later.is_sum(key, self.module.tree.scope(node))

    def _variable(self, node: ast.Name | ast.Attribute, proves: Callable[[ast.expr, int], bool], depth: int) -> bool:
        """Whether every definition that reaches a variable is proven, by its value or by how it is used."""
        key, scope = key_of(node), self.module.tree.scope(node)
        if not key or (isinstance(node, ast.Name) and self.module.names.comprehension(node) is not None):
            return False
        reaching = self.module.flow.reaching(key, node)
        owned = self.module.classes.self_attribute(node)
        if not reaching and owned is not None:
            built = self._bindings(*owned)
            return bool(built) and all(d.is_plain and d.value is not None and proves(d.value, depth - 1) for d in built)
        uses = self.later.by_definition(key, scope, False) if proves == self.is_tensor else {}
        return bool(reaching) and all(
            (self.later.proves(each, node, uses) and not self._is_object(each))
            or (each.value is not None and each.is_plain and proves(each.value, depth - 1))
            for each in reaching
        )

    def _is_object(self, definition: Definition) -> bool:
        """Whether a variable gets an object of a class, whose methods may have the names of a tensor's."""
        value = definition.value if definition.is_plain else None
        return value is not None and self.module.infer.value(value).kind is Kind.INSTANCE

    def _bindings(self, facts: ClassFacts, attribute: str) -> list[Definition]:
        """Every assignment of an attribute that is not surely replaced by the end of its method."""
        found: list[Definition] = []
        done: set[ast.AST] = set()
        for each in reversed(facts.attributes.get(f"self.{attribute}", [])):
            function = self.module.tree.scope(each.node)
            if function not in done:
                found.append(each)
                if isinstance(function, FUNCTIONS) and self.module.flow.ways.always_before(
                    each.statement, function.body[-1]
                ):
                    done.add(function)
        return found

    def _tensor_call(self, node: ast.Call, depth: int) -> bool:
        qualname = self.module.names.qualname(node.func)
        head, _, last = qualname.rpartition(".")
        if head == "torch.nn.functional":
            return not _gives_several(last, node)
        if head in ("torch", "torch.special") and last in TORCH_FUNCTIONS:
            return self.module.infer.value(node).kind is Kind.TENSOR
        if self.networks.is_torch_loss(node):
            return True
        helper = self.module.classes.callee(node)
        if helper is not None:
            return runs(self.module, node, helper) and self._returns_tensors(helper, depth)
        if not isinstance(node.func, ast.Attribute):
            return False
        name, base = node.func.attr, node.func.value
        if name not in TENSOR_METHODS and name not in ("to", "cuda"):
            return False
        if self.module.infer.value(node).kind is not Kind.TENSOR and name not in ("to", "cuda"):
            return False
        if name in ONLY_TENSORS or (name in OF_A_GRAPH - OF_SEQUENCES and self.networks.is_output(base)):
            return True
        return self.is_tensor(base, depth - 1)

    def _returns_tensors(self, function: FunctionNode, depth: int) -> bool:
        """Whether every path through a function ends at a `return` of a tensor, or raises."""
        within = list(self.module.tree.within(function))
        if not isinstance(function, ast.FunctionDef) or any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in within):
            return False
        returns = [n.value for n in within if isinstance(n, ast.Return)]
        ends = runs_always(function.body, Wanted(frozenset()), leaving=True)
        return ends and bool(returns) and all(r is not None and self.is_tensor(r, depth - 1) for r in returns)


def _gives_several(name: str, call: ast.Call) -> bool:
    """Whether a function of torch.nn.functional may give a tuple: the values and where they were."""
    if name.endswith("_with_indices") or name == "multi_head_attention_forward":
        return True
    asked = next((place for kind, place in _INDICES.items() if name.startswith(kind)), None)
    if asked is None:
        return False
    spread = any(k.arg in (None, "return_indices") for k in call.keywords)
    return spread or len(call.args) > asked or any(isinstance(each, ast.Starred) for each in call.args)
