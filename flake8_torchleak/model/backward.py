"""What reaches `backward()`: proof that a value carries a graph, and that a sum is an objective, not a log."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import Definition, How, key_of
from flake8_torchleak.model.effects import CUTS
from flake8_torchleak.model.flow import Flow
from flake8_torchleak.model.names import Names, last_name, mentions
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import Scope, Tree

_BY_ARGUMENT = frozenset(
    {"backward", "manual_backward", "do_backward", "grad", "backward_step", "optimizer_step", "scale_backward"}
)
_WRAPPERS = frozenset(
    {"mean", "sum", "scale", "squeeze", "scale_loss", "to", "float", "view", "requires_grad_", "cuda", "clone"}
)


class Backward:
    """Backward calls of a module, and the definitions that flow into them."""

    def __init__(self, tree: Tree, names: Names, flow: Flow) -> None:
        self.tree, self.names, self.flow = tree, names, flow
        self._calls: dict[Scope, list[ast.expr]] = {}
        self._roots: dict[Scope, set[Definition]] = {}
        self._sources: dict[Scope, frozenset[str]] = {}

    def objectives(self, scope: Scope) -> list[ast.expr]:
        """The expressions that are differentiated in this scope: `x` of `x.backward()`, `accelerator.backward(x)`."""
        found = self._calls.get(scope)
        if found is None:
            found = self._calls[scope] = []
            for call in self.tree.calls(scope):
                name = last_name(call.func)
                if not isinstance(call.func, ast.Attribute):
                    continue
                if name == "backward" and not call.args:
                    found.append(call.func.value)
                elif name == "backward" and call.args and (self._by_receiver(call)):
                    found.append(call.func.value)
                elif name in _BY_ARGUMENT and call.args and (name != "grad" or mentions(call.func.value, "autograd")):
                    found.append(call.args[0])
        return found

    def _by_receiver(self, call: ast.Call) -> bool:
        """`loss.backward(gradient)` rather than `engine.backward(loss)`."""
        receiver = last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        argument = last_name(call.args[0])
        return hints.is_loss(receiver) or (
            not hints.is_loss(argument)
            and not isinstance(call.args[0], ast.BinOp)
            and receiver
            not in ("accelerator", "fabric", "engine", "model_engine", "self", "optimizer", "autograd", "scaler", "amp")
        )

    def roots(self, scope: Scope) -> set[Definition]:
        """Definitions whose very value is differentiated, or is a summand of what is: they carry a graph."""
        found = self._roots.get(scope)
        if found is None:
            found = self._roots[scope] = set()
            queue: list[tuple[ast.expr, ast.AST]] = [(objective, objective) for objective in self.objectives(scope)]
            while queue:
                expression, use = queue.pop()
                for node in self._summands(expression):
                    key = key_of(node)
                    for each in self.flow.reaching(key, use, scope) if key else []:
                        if each in found or each.how in (How.PARAMETER, How.OTHER):
                            continue
                        found.add(each)
                        if each.value is not None and not each.path and each.how is not How.ITERATE:
                            queue.append((each.value, each.node if each.how is not How.AUGMENT else each.value))
        return found

    def _summands(self, node: ast.expr) -> Iterator[ast.expr]:
        """Variables that are tensors because what is differentiated is made of them by + and scaling."""
        stack = [node]
        while stack:
            each = stack.pop()
            if isinstance(each, (ast.Name, ast.Attribute)):
                if not (isinstance(each, ast.Attribute) and each.attr in CUTS):
                    yield each
            elif isinstance(each, ast.BinOp):
                both = [each.left, each.right]
                if isinstance(each.op, (ast.Mult, ast.Div, ast.FloorDiv, ast.Pow)):
                    losses = [e for e in both if _is_loss(e)]
                    both = losses or ([each.left] if isinstance(each.op, ast.Div) else [])
                stack += reversed(both)
            elif isinstance(each, ast.UnaryOp):
                stack.append(each.operand)
            elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in _WRAPPERS:
                stack += each.args[:1] if each.func.attr in ("scale", "scale_loss") else [each.func.value]

    @remembered
    def slots(self, scope: Scope) -> frozenset[str]:
        """Lists of which one entry is differentiated (`losses[-1].backward()`): what is appended carries a graph."""
        found = set()
        for objective in self.objectives(scope):
            if isinstance(objective, ast.Subscript) and isinstance(objective.slice, (ast.Constant, ast.UnaryOp)):
                found.add(key_of(objective.value))
        return frozenset(found - {""})

    def sources(self, scope: Scope) -> frozenset[str]:
        """Keys of all variables that flow into something differentiated in this scope, however indirectly."""
        known = self._sources.get(scope)
        if known is not None:
            return known
        found: set[str] = set()
        seen: set[Definition] = set()
        queue: list[ast.AST] = list(self.objectives(scope))
        definitions = self.flow.definitions(scope)
        mutations = self.flow.mutations(scope)
        while queue:
            for key in self.read(queue.pop()):
                if key in found:
                    continue
                found.add(key)
                for each in definitions.get(key, []):
                    if each.value is not None and each not in seen:
                        seen.add(each)
                        queue.append(each.value)
                queue += [
                    m.value
                    for m in mutations.get(key, [])
                    if m.value is not None and m.method in ("append", "extend", "setitem", "augment", "augitem")
                ]
        self._sources[scope] = frozenset(found)
        return self._sources[scope]

    def read(self, expression: ast.AST) -> Iterator[str]:
        """Keys read in an expression, but not below a release (`x.item()`) and not callees."""
        stack = [expression]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Attribute):
                if node.attr in CUTS:
                    continue
                key = key_of(node)
                if key:
                    yield key
                stack.append(node.value)
            elif isinstance(node, ast.Name):
                yield node.id
            elif isinstance(node, ast.Call):
                if isinstance(node.func, ast.Attribute):
                    if node.func.attr in CUTS:
                        continue
                    stack.append(node.func.value)
                elif isinstance(node.func, ast.Name) and node.func.id in ("float", "int", "len"):
                    continue
                stack += node.args
                stack += [k.value for k in node.keywords]
            else:
                stack += list(ast.iter_child_nodes(node))


def _is_loss(node: ast.expr) -> bool:
    """Whether a factor is a loss by its name, or something computed: not a weight."""
    return hints.is_loss(last_name(node)) or not isinstance(node, (ast.Name, ast.Attribute, ast.Constant))
