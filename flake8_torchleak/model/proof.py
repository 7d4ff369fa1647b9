"""Proof that a value is a tensor, and how it is used later: what a fix must know beyond what a finding must.

A finding may rest on likelihood (`criterion(...)` gives a loss); `.detach()` on a dict is a crash. So nothing here
goes by names: only torch's own functions, operations that tensors alone have, and what backward() is called on.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How, key_of
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.effects import (
    ARRAY_ATTRIBUTES,
    ARRAY_METHODS,
    NUMPY_FUNCTIONS,
    TENSOR_METHODS,
    TORCH_FUNCTIONS,
)
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, SCOPES, Scope, Tree
from flake8_torchleak.model.values import Kind

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
_OF_MODULES = frozenset({
    "parameters", "named_parameters", "state_dict", "load_state_dict", "zero_grad", "named_modules", "modules",
    "requires_grad_", "named_children", "register_buffer", "register_forward_hook", "eval", "train",
})  # fmt: skip
"""What is done with modules, and with nothing else that is called with tensors."""
_TENSOR_PARTS = frozenset({"data", "T", "mT", "H", "real"})
_REDUCTIONS = frozenset({"reduction", "reduce", "size_average"})
_TENSOR_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult, ast.FloorDiv, ast.Mod)


class Proof:
    """What can be proven of the values of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @remembered
    def is_tensor(self, node: ast.expr, depth: int = _MOST_DEPTH) -> bool:
        """Whether an expression is a tensor for sure, wherever it comes from."""
        if not depth:
            return False
        if isinstance(node, (ast.Name, ast.Attribute)) and self._variable(node, self.is_tensor, depth):
            return True
        if isinstance(node, ast.Attribute):
            return node.attr in _TENSOR_PARTS and self.is_tensor(node.value, depth - 1)
        if isinstance(node, ast.Call):
            return self._tensor_call(node, depth)
        if isinstance(node, ast.BinOp):
            sides = (node.left,) if isinstance(node.op, ast.Mod) else (node.left, node.right)
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
            return False
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
            return self.is_array(node.left, depth - 1) or self.is_array(node.right, depth - 1)
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
            return False
        if isinstance(node, (ast.Name, ast.Attribute)):
            key = key_of(node)
            reaching = self.module.flow.reaching(key, node) if key else []
            return bool(reaching) and all(
                self._proven_by(each, node, self._by_definition(key, self.module.tree.scope(node), True))
                or (each.value is not None and _is_plain(each) and self.is_scalar(each.value, depth - 1))
                for each in reaching
            )
        if isinstance(node, ast.Call):
            if any(k.arg in _REDUCTIONS for k in node.keywords):
                return False
            if self.is_torch_loss(node):
                return True
            reduced = isinstance(node.func, ast.Attribute) and node.func.attr in ("mean", "sum", "norm")
            return reduced and not node.args and not node.keywords and self.is_tensor(node, depth - 1)
        if isinstance(node, ast.BinOp):
            kinds = [self.is_scalar(side, depth - 1) for side in (node.left, node.right)]
            numbers = [self.module.infer.value(side).kind is Kind.NUMBER for side in (node.left, node.right)]
            return any(kinds) and all(s or n for s, n in zip(kinds, numbers, strict=True))
        return False

    def sums_tensors(self, key: str, value: ast.expr, node: ast.AST) -> bool:
        """Whether a sum that starts at a number, and to which this alone is added, is read as a tensor later."""
        if isinstance(value, ast.Name) and len(self.module.flow.reaching(value.id, value)) != 1:
            return False  # a number at times, a tensor at others: their sum is a tensor
        return self._is_sum(key, self.module.tree.scope(node))

    @remembered
    def _is_sum(self, key: str, scope: Scope) -> bool:
        """Whether a variable starts at numbers, is added to at one place, and is read as a tensor."""
        definitions = self.module.flow.definitions(scope).get(key, [])
        return (
            any(n.attr in _ONLY_TENSORS or n.attr in _OF_A_GRAPH for n in self._attributes(key, scope))
            and sum(d.how is How.AUGMENT for d in definitions) == 1
            and all(
                d.how is How.AUGMENT or (d.value is not None and self.module.infer.value(d.value).kind is Kind.NUMBER)
                for d in definitions
            )
        )

    def _variable(self, node: ast.Name | ast.Attribute, proves: Callable[[ast.expr, int], bool], depth: int) -> bool:
        """Whether every definition that reaches a variable is proven, by its value or by how it is used."""
        key, scope = key_of(node), self.module.tree.scope(node)
        if not key or (isinstance(node, ast.Name) and self.module.names.comprehension(node) is not None):
            return False
        reaching = self.module.flow.reaching(key, node)
        owned = self.module.classes.self_attribute(node)
        if not reaching and owned is not None:
            built = self._bindings(*owned)
            return bool(built) and all(
                _is_plain(d) and d.value is not None and proves(d.value, depth - 1) for d in built
            )
        uses = self._by_definition(key, scope, False) if proves == self.is_tensor else {}
        return bool(reaching) and all(
            (each.value is not None and _is_plain(each) and proves(each.value, depth - 1))
            or self._proven_by(each, node, uses)
            for each in reaching
        )

    def _bindings(self, facts: ClassFacts, attribute: str) -> list[Definition]:
        """Every assignment of an attribute that is not surely replaced by the end of its method."""
        found: list[Definition] = []
        done: set[ast.AST] = set()
        for each in reversed(facts.attributes.get(f"self.{attribute}", [])):
            function = self.module.tree.scope(each.node)
            if function not in done:
                found.append(each)
                if isinstance(function, FUNCTIONS) and self.module.flow.always_before(
                    each.statement, function.body[-1]
                ):
                    done.add(function)
        return found

    def _proven_by(self, definition: Definition, node: ast.expr, uses: dict[Definition, list[ast.expr]]) -> bool:
        """Whether what a definition gives to `node` passes a use that only a tensor survives."""
        flow, tree = self.module.flow, self.module.tree
        for use in uses.get(definition, []):
            statement = tree.statement(use)
            together = flow.always_before(statement, node) and not self._leaves(node, statement)
            if together or statement is tree.statement(node):
                return True
            if self._follows(statement, definition):
                return True
        return False

    @remembered
    def _by_definition(self, key: str, scope: Scope, certain: bool) -> dict[Definition, list[ast.expr]]:
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

    @remembered
    def _differentiated(self, key: str, scope: Scope) -> list[ast.expr]:
        """Where backward() is called on the very variable (or on its mean), or the variable is handed to it."""
        found: list[ast.expr] = []
        for site in self.module.release.differentiation.sites(scope):
            objective = self.module.release.differentiation.unscaled(site.objective)
            while isinstance(objective, ast.Call) and isinstance(objective.func, ast.Attribute):
                if objective.func.attr not in _OF_A_GRAPH:
                    break
                objective = objective.func.value
            if key_of(objective) == key and site.certain:
                found.append(objective)
        return found

    @remembered
    def _uses(self, key: str, scope: Scope) -> list[ast.expr]:
        """Where the variable is used as only a tensor can be, or, if a module gave it, as only a tensor then can."""
        found: list[ast.expr] = []
        for node in self._attributes(key, scope):
            if node.attr in _ONLY_TENSORS or (node.attr in _OF_A_GRAPH and self._is_output(node.value)):
                found.append(node.value)
        for call in self._losses(scope):  # its prediction and its target are tensors, or it raises
            found += [each for each in call.args[:2] if key_of(each) == key]
        return found

    @remembered
    def _losses(self, scope: Scope) -> list[ast.Call]:
        return [call for call in self.module.tree.calls(scope) if self.is_torch_loss(call)]

    def _attributes(self, key: str, scope: Scope) -> list[ast.Attribute]:
        """Where an attribute of the variable is read."""
        return self._read(scope).get(key, [])

    @remembered
    def _read(self, scope: Scope) -> dict[str, list[ast.Attribute]]:
        """Key of a variable -> where an attribute of it is read in a scope."""
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.module.tree.within(scope):
            if isinstance(node, ast.Attribute):
                found.setdefault(key_of(node.value), []).append(node)
        return found

    def _tensor_call(self, node: ast.Call, depth: int) -> bool:
        qualname = self.module.names.qualname(node.func)
        head, _, last = qualname.rpartition(".")
        if head == "torch.nn.functional":
            several = last.endswith("_with_indices") or last == "multi_head_attention_forward"
            return not several and not any(k.arg == "return_indices" for k in node.keywords)
        if head in ("torch", "torch.special") and last in TORCH_FUNCTIONS:
            return self.module.infer.value(node).kind is Kind.TENSOR
        if self.is_torch_loss(node):
            return True
        helper = self.module.classes.callee(node)
        if helper is not None:
            if helper.decorator_list or not isinstance(helper, ast.FunctionDef):
                return False
            returns = [n.value for n in self.module.tree.within(helper) if isinstance(n, ast.Return)]
            return bool(returns) and all(r is not None and self.is_tensor(r, depth - 1) for r in returns)
        if not isinstance(node.func, ast.Attribute):
            return False
        name, base = node.func.attr, node.func.value
        if name not in TENSOR_METHODS and name not in ("to", "cuda"):
            return False
        if self.module.infer.value(node).kind is not Kind.TENSOR and name not in ("to", "cuda"):
            return False
        if name in _ONLY_TENSORS or (name in _OF_A_GRAPH and name not in ("cpu", "clone") and self._is_output(base)):
            return True
        return self.is_tensor(base, depth - 1)

    def _is_output(self, base: ast.expr) -> bool:
        """Whether a value is what a proven module gives: of all that has `.mean()`, only a tensor can be."""
        if isinstance(base, ast.Name):
            if self.module.names.comprehension(base) is not None:
                return False
            reaching = self.module.flow.reaching(base.id, base)
            values = [each.value for each in reaching if _is_plain(each)]
            return bool(values) and len(values) == len(reaching) and all(map(self._is_module_call, values))
        return self._is_module_call(base)

    def _is_module_call(self, node: ast.expr | None) -> bool:
        return isinstance(node, ast.Call) and self._is_module(node.func)

    @remembered
    def _is_module(self, func: ast.expr) -> bool:
        """Whether what is called is an nn.Module by what else is done with it, or by how it is made."""
        found = self.module.infer.value(func)
        if isinstance(found.made, ast.ClassDef):
            return self.module.classes.all[found.made].has_base("Module")
        key, scope = key_of(func), self.module.tree.scope(func)
        if not key:
            return False
        owned = self.module.classes.self_attribute(func)
        made = owned[0].attributes.get(f"self.{owned[1]}", []) if owned else self.module.flow.reaching(key, func)
        for each in made:
            if isinstance(each.value, ast.Call) and self.module.names.qualname(each.value.func).startswith("torch.nn."):
                return len(made) == 1
        scopes: list[Scope] = [scope] if owned is None else list(owned[0].all_functions)
        return any(node.attr in _OF_MODULES for each in scopes for node in self._attributes(key, each))

    def is_torch_loss(self, node: ast.Call) -> bool:
        """A call of a loss function made by one of torch.nn's classes (`nn.MSELoss()`), in this file."""
        called = self.module.infer.value(node.func)
        if called.kind is Kind.LOSS and isinstance(called.made, ast.Call):
            return not any(k.arg in _REDUCTIONS for k in called.made.keywords)
        return self.module.names.qualname(node.func).startswith("torch.nn.functional.") and last_name(
            node.func
        ).endswith(("loss", "entropy", "entropy_with_logits"))


def _is_plain(definition: Definition) -> bool:
    """`x = value` as a whole, not one of several that are unpacked or iterated over."""
    return definition.how is How.ASSIGN and not definition.path


def _block(tree: Tree, node: ast.AST, outer: ast.AST) -> str:
    """The block of `outer` that a node below it stands in ("" for its head, and for `outer` itself)."""
    while node is not outer and tree.parents[node] is not outer:
        node = tree.parents[node]
    return tree.blocks.get(node, "")
