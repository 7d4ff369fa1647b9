"""Where a function differentiates, what exactly, and whether the graph is freed by it.

Nothing here goes by the name of a variable: a call counts as one that frees a graph only if it is `.backward()` on the
value itself, torch's own function, a method of an object that is made (or annotated) as accelerate's or Fabric's, or a
function of the project that does one of these with its argument.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How, key_of
from flake8_torchleak.model.bounds import leave_out
from flake8_torchleak.model.names import parameters
from flake8_torchleak.model.release.helpers import runs
from flake8_torchleak.model.release.paths import Wanted, is_optional, runs_always
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Scope
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_ENGINES = re.compile(r"accelerate(?:\.\w+)*\.Accelerator|lightning(?:_fabric)?(?:\.\w+)*\.Fabric")
"""Classes of accelerate and Lightning whose `backward(loss)` differentiates its argument and frees the graph."""
_SCALERS = re.compile(r"torch\.(?:cuda\.)?amp(?:\.\w+)*\.GradScaler")
_OF_SCALERS = frozenset({"unscale_", "get_scale", "update"})
"""Methods by which a parameter or attribute whose making nothing shows is taken for a gradient scaler."""
_RETAINING = frozenset({"retain_graph", "create_graph"})
_LIGHTNING = re.compile(r"(?:pytorch_lightning|lightning(?:\.pytorch)?)(?:\.core(?:\.\w+)?)?\.LightningModule")
_MOST_HELPERS = 12
"""Helpers of helpers that are looked into."""


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One call, or a `return` to a framework, that differentiates `objective`.

    certain: `objective` is a tensor that is differentiated, or the call raises; frees: what it holds (a tensor, the
    tensors of a list, the loss of a dict) is differentiated, and its graph freed.
    """

    node: ast.Call | ast.Return
    objective: ast.expr
    certain: bool
    frees: bool


class Differentiation:
    """The places of one module where autograd runs backwards."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._active: list[FunctionNode] = []
        self._known: dict[FunctionNode, tuple[frozenset[str], frozenset[str]]] = {}
        self._sites: dict[Scope, list[Site]] = {}
        self._collecting: set[Scope] = set()
        self._cuts = 0

    def sites(self, scope: Scope) -> list[Site]:
        """The calls of a scope (without its nested functions) that differentiate, in source order."""
        known = self._sites.get(scope)
        if known is None:
            cuts = self._cuts
            self._collecting.add(scope)
            known = self._collect(scope)
            self._collecting.discard(scope)
            if cuts == self._cuts or not self._active:
                self._sites[scope] = known
        return known

    def _collect(self, scope: Scope) -> list[Site]:
        found = [site for call in self.module.tree.calls(scope) for site in self._of(call)]
        if isinstance(scope, FUNCTIONS) and self._is_step_of_lightning(scope):
            for node in self.module.tree.within(scope):
                if isinstance(node, ast.Return) and node.value is not None:
                    # A variable may be a dict, whose entry "loss" alone is differentiated.
                    found += [Site(node, each, isinstance(node.value, ast.Dict), True) for each in _losses(node.value)]
        return found

    def _is_step_of_lightning(self, function: FunctionNode) -> bool:
        """Whether Lightning differentiates what a function returns, in its own way: no hook of the class changes it."""
        owner = self.module.tree.class_of(function)
        if owner is None or function.name != "training_step" or not isinstance(function, ast.FunctionDef):
            return False
        facts = self.module.classes.all[owner]
        if "backward" in facts.methods or "self.automatic_optimization" in facts.attributes:
            return False
        qualnames = [self.module.names.qualname(base) for base in owner.bases]
        return any(_LIGHTNING.fullmatch(each) for each in qualnames) and not function.decorator_list

    def _of(self, call: ast.Call) -> Iterator[Site]:
        func, frees = call.func, _frees(call)
        qualname = self.module.names.qualname(func)
        if qualname in ("torch.autograd.backward", "torch.autograd.grad"):
            for each in _all(call.args[0]) if call.args else ():
                # A variable may be a list of tensors.
                yield Site(call, each, each is not call.args[0], frees and qualname.endswith("backward"))
            return
        if isinstance(func, ast.Attribute) and func.attr == "backward":
            if not call.args:
                yield Site(call, func.value, True, frees)
            elif self._is_made(func.value, _ENGINES):
                yield Site(call, call.args[0], True, frees)
            else:  # `loss.backward(gradient)` or an engine that nothing here shows
                given = self.module.infer.value(call.args[0])
                # No engine differentiates what has no history.
                is_tensor = given.kind is Kind.TENSOR and given.graph is False
                is_tensor = is_tensor or self.module.infer.value(func.value).kind is Kind.TENSOR
                is_tensor = is_tensor or self._is_made_in_loop(func.value, call)
                yield Site(call, func.value, is_tensor, frees and is_tensor)
                yield Site(call, call.args[0], False, False)
            return
        if isinstance(func, ast.Attribute) and func.attr == "manual_backward" and call.args:
            own = self.module.classes.self_attribute(func) is not None
            yield Site(call, call.args[0], own, own and frees)
            return
        yield from self._by_helper(call)

    def _by_helper(self, call: ast.Call) -> Iterator[Site]:
        helper = self.module.classes.callee(call)
        if helper is None:
            return
        freed, possible = self.of_parameters(helper)
        runs_it = runs(self.module, call, helper)
        for parameter in parameters(helper):
            if parameter.arg in possible:
                argument = self.module.classes.argument(call, parameter, helper)
                if argument is not None:
                    frees = runs_it and parameter.arg in freed
                    yield Site(call, argument, frees and self._is_tensor_in(helper, parameter.arg), frees)

    def of_parameters(self, function: FunctionNode) -> tuple[frozenset[str], frozenset[str]]:
        """(parameters whose graph a call of the function frees for sure, all that it may differentiate)."""
        known = self._known.get(function)
        if known is not None:
            return known
        if function in self._active:
            self._cuts += 1
            return frozenset(), frozenset()
        if len(self._active) >= _MOST_HELPERS:
            leave_out(self.module, function, f"it is called through more than {_MOST_HELPERS} functions")
            self._cuts += 1
            return frozenset(), frozenset(each.arg for each in parameters(function))
        cuts = self._cuts
        self._active.append(function)
        try:
            sites = self.sites(function)
            names = {each.arg for each in parameters(function)}
            possible = frozenset(
                node.id
                for site in sites
                for node in ast.walk(site.objective)
                if isinstance(node, ast.Name) and node.id in names
            )
            plain = isinstance(function, ast.FunctionDef) and not self._yields(function)
            certain = frozenset(name for name in possible if plain and self._frees(function, name, sites))
        finally:
            self._active.pop()
        if cuts == self._cuts or not self._active:
            self._known[function] = certain, possible
        return certain, possible

    def _frees(self, function: FunctionNode, name: str, sites: list[Site]) -> bool:
        """Whether every path through the function frees what it is given as `name`."""
        found: set[ast.stmt] = set()
        for site in sites:
            if site.frees and not is_optional(self.module.tree, site.node):
                objective = self.unscaled(site.objective)
                reaching = self.module.flow.reaching(name, objective)
                if key_of(objective) == name and all(each.how is How.PARAMETER for each in reaching):
                    found.add(self.module.tree.statement(site.node))
        return bool(found) and runs_always(function.body, Wanted(frozenset(found)), leaving=False)

    def _is_tensor_in(self, function: FunctionNode, name: str) -> bool:
        """Whether a parameter that the function differentiates is a tensor for each place that does.

        Of a function that hands it on to itself that is not shown.
        """
        if function in self._collecting:
            return False
        sites = [site for site in self.sites(function) if key_of(self.unscaled(site.objective)) == name]
        return all(site.certain for site in sites)

    def _yields(self, function: FunctionNode) -> bool:
        return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in self.module.tree.within(function))

    def _is_made_in_loop(self, node: ast.expr, call: ast.Call) -> bool:
        """Whether a variable is what a call gave in the same iteration: an engine lives as long as the training."""
        loops = self.module.tree.loops(call)
        if not isinstance(node, ast.Name) or not loops:
            return False
        reaching = self.module.flow.reaching(node.id, node)
        return bool(reaching) and all(
            isinstance(each.value, ast.Call)
            and each.how is How.ASSIGN
            and self.module.tree.loops(each.statement)[:1] == loops[:1]
            for each in reaching
        )

    def _is_made(self, node: ast.expr, classes: re.Pattern[str]) -> bool:
        """Whether an object is made as, or annotated with, one of these classes, wherever it is bound."""
        if isinstance(node, ast.Name):
            reaching = self.module.flow.reaching(node.id, node)
        else:
            owned = self.module.classes.self_attribute(node)
            reaching = owned[0].attributes.get(f"self.{owned[1]}", []) if owned is not None else []
        return bool(reaching) and all(self._makes(each, classes) for each in reaching)

    def unscaled(self, node: ast.expr) -> ast.expr:
        """`loss` of `scaler.scale(loss)`, as a gradient scaler multiplies it; else the node itself."""
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "scale":
            if len(node.args) != 1 or node.keywords or not self._is_scaler(node.func.value):
                break
            node = node.args[0]
        return node

    def _is_scaler(self, node: ast.expr) -> bool:
        """Whether an object is made as torch's gradient scaler, or is used as only those are."""
        if self._is_made(node, _SCALERS):
            return True
        return key_of(node) in self._scalers and self.module.classes.of(node) is None

    @cached_property
    def _scalers(self) -> frozenset[str]:
        """The variables whose methods of gradient scalers are used."""
        reads = self.module.tree.all(ast.Attribute)
        return frozenset(key_of(each.value) for each in reads if each.attr in _OF_SCALERS)

    def _makes(self, definition: Definition, classes: re.Pattern[str]) -> bool:
        node = definition.node
        made = node.annotation if isinstance(node, ast.arg) else getattr(definition.value, "func", None)
        return made is not None and classes.fullmatch(self.module.names.qualname(made)) is not None


def _all(node: ast.expr) -> list[ast.expr]:
    """The entries of a display, or the expression itself."""
    return list(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else [node]


def _losses(value: ast.expr) -> list[ast.expr]:
    """What Lightning takes for the loss: what is returned, or the entry "loss" of a dict."""
    if isinstance(value, ast.Dict):
        keys = [getattr(each, "value", None) for each in value.keys]
        return [each for key, each in zip(keys, value.values, strict=True) if key == "loss"]
    return [value]


def _frees(call: ast.Call) -> bool:
    """Whether a call of `backward` leaves no graph behind: no option but the gradient, or options that are off."""
    for keyword in call.keywords:
        off = isinstance(keyword.value, ast.Constant) and not keyword.value.value
        if keyword.arg != "gradient" and not (keyword.arg in _RETAINING and off):
            return False
    return not any(isinstance(each, ast.Starred) for each in call.args) and len(call.args) < 2
