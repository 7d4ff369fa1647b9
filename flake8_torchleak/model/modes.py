"""Evaluation mode: which `.eval()` is in force at a place, and what shows that gradients are off there."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, key_of
from flake8_torchleak.model.classes import ClassTable
from flake8_torchleak.model.effects import MODULE_SELF
from flake8_torchleak.model.infer import Infer
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import Scope, Tree
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

SWITCHED = "`eval()` does not turn autograd off"
"""What a note says of what put a network in evaluation mode."""
MEANT = "without `with`, this turns nothing off"
"""What a note says of `torch.no_grad()` as a statement."""
_OF_NETWORKS = frozenset({"parameters", "named_parameters", "state_dict", "load_state_dict"})


class Modes:
    """Where models of a module are in evaluation mode."""

    def __init__(self, tree: Tree, classes: ClassTable, infer: Infer) -> None:
        self.tree, self.classes, self.infer = tree, classes, infer

    def evaluates(self, node: ast.AST) -> ast.Call | None:
        """The `.eval()` call on a model above or around `node` in its function, if there is one.

        Of a call, that of the network which is called, if there are several; None if that one was told to train last.
        """
        in_force = self._in_force(node)
        called = key_of(node.func) if isinstance(node, ast.Call) else ""
        if called in in_force:
            return in_force[called]
        return next((each for each in in_force.values() if each is not None), None)

    def of(self, network: str, node: ast.AST) -> ast.Call | None:
        """The `.eval()` call on this very network above or around `node` in its function, if there is one."""
        return self._in_force(node).get(network)

    def _in_force(self, node: ast.AST) -> dict[str, ast.Call | None]:
        scope = self.tree.scope(node)
        switches = self._switches.get(scope, [])
        above = bisect_right(switches, getattr(node, "lineno", 0), key=lambda call: call.lineno)
        return self._evaluating(scope)[above - 1] if above else {}

    @remembered
    def _evaluating(self, scope: Scope) -> list[dict[str, ast.Call | None]]:
        """After each switch of a scope: network -> the `.eval()` call that is in force, or None if it trains."""
        modes: dict[str, ast.Call | None] = {}
        found = []
        for call in self._switches[scope]:
            assert isinstance(call.func, ast.Attribute)
            key = key_of(call.func.value)
            if call.func.attr == "eval" or is_false(call):
                network = behind(call.func.value)
                if self.infer.value(network).kind is Kind.MODULE or not isinstance(network, ast.Call):
                    modes = {**modes, key: modes.get(key) or call}
            elif self.tree.loops(call) or self._is_behind(call, [modes.get(key)] if key else modes.values()):
                modes = {**modes, key: None} if key else {}
            else:  # perhaps in another branch
                modes = {**modes, key: modes.get(key)}
            found.append(modes)
        return found

    def _is_behind(self, call: ast.Call, others: Iterable[ast.Call | None]) -> bool:
        """Whether one comes to a call whenever one has come to one of others above it."""
        start, end = self.tree.block(self.tree.statement(call))
        return any(each is not None and start <= self.tree.number(each) < end for each in others)

    def gives_network(self, call: ast.Call) -> bool:
        """Whether what such a call gives is a network, here or elsewhere in it: `net = model.net(config).cuda()`."""
        return isinstance(call.func, ast.Attribute) and key_of(call.func) in self._makers

    @cached_property
    def _makers(self) -> frozenset[str]:
        """What is called, by name, where something asks for parameters of what it gives."""
        asked = {
            (self.tree.scope(each), key_of(each.value))
            for each in self.tree.all(ast.Attribute)
            if each.attr in _OF_NETWORKS
        }
        return frozenset(
            key_of(call.func)
            for each in self.tree.all(ast.Assign)
            if (self.tree.scope(each), key_of(each.targets[0])) in asked
            for call in ast.walk(each.value)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        ) - {""}

    @cached_property
    def _switches(self) -> dict[Scope, list[ast.Call]]:
        """Scope -> calls of `.eval()` and `.train(...)`, in source order."""
        found = [
            c
            for name in ("eval", "train")
            for c in self.classes.callers.get(name, ())
            if isinstance(c.func, ast.Attribute)
        ]
        by_scope: dict[Scope, list[ast.Call]] = {}
        for call in sorted(found, key=lambda c: (c.lineno, c.col_offset)):
            if last_name(call.func) == "train" or not call.args:
                by_scope.setdefault(self.tree.scope(call), []).append(call)
        return by_scope

    def is_switched(self, call: ast.Call) -> bool:
        """Whether what is called was put in evaluation mode above, by an `.eval()` of its own."""
        called = key_of(call.func)
        return any(
            isinstance(each.func, ast.Attribute) and each.lineno < call.lineno and key_of(each.func.value) == called
            for each in self._switches.get(self.tree.scope(call), ())
            if called and not each.args and last_name(each.func) == "eval"
        )

    @remembered
    def contradicted(self, scope: Scope) -> bool:
        """Whether the code could not run with gradients on: it calls `.numpy()` on what would carry a graph.

        torch raises there, so somebody outside the file turns gradients off.
        """
        return any(
            isinstance(call.func, ast.Attribute)
            and not call.keywords
            and self.tree.scope(call) is scope
            and bool(self.infer.value(call.func.value).graph)
            for call in self.classes.callers.get("numpy", ())
        )


def is_false(call: ast.Call) -> bool:
    """`.train(False)`."""
    given = [*call.args, *(each.value for each in call.keywords)]
    if not given:
        return False
    flag, wanted = given[0], False
    while isinstance(flag, ast.UnaryOp) and isinstance(flag.op, ast.Not):
        flag, wanted = flag.operand, not wanted
    return isinstance(flag, ast.Constant) and flag.value is wanted


def behind(node: ast.expr) -> ast.expr:
    """The network that methods give which give the network itself: `net.cuda().eval()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MODULE_SELF:
        node = node.func.value
    return node


def bindings_of(module: Module, node: ast.expr) -> list[Definition]:
    """What binds a variable, where it may reach, or an attribute of `self`, anywhere; nothing for anything else."""
    owned = module.classes.self_attribute(node)
    if owned is not None:
        return owned[0].attributes.get(f"self.{owned[1]}", [])
    return module.flow.reaching(node.id, node) if isinstance(node, ast.Name) else []
