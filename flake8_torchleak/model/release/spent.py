"""Values that are spent: differentiated, and their graph freed, on every path of the iteration that keeps them.

A second backward through a spent value raises ("Trying to backward through the graph a second time"), so that to
detach it for its holder cannot change what is trained, whoever gets the holder. Values that are not are live.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How, key_of
from flake8_torchleak.model.bounds import leave_out
from flake8_torchleak.model.effects import TENSOR_METHODS
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.release.freed import Freed, Freeing, Place, place_of
from flake8_torchleak.model.release.harmless import CONTAINER_METHODS
from flake8_torchleak.model.release.helpers import has_rest, part_of, runs
from flake8_torchleak.model.release.paths import Wanted
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.sums import spelling
from flake8_torchleak.model.tree import Scope

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_SWITCHES = frozenset({"torch.set_grad_enabled"})
_IDLE = frozenset({
    "zero_grad", "print", "len", "float", "int", "str", "format", "item", "tolist", "detach", "set_postfix",
    "set_description", "info", "debug", "warning", "add_scalar", "scale", "isnan", "isfinite", "isinf", "all", "any",
})  # fmt: skip
"""Calls between a store and the backward that reach no holder but by their arguments."""

_MOST_DEPTH = 40
"""Operations and variables between what is kept and what is differentiated."""


class Spent:
    """Which values of one module are spent where they are kept."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.freeing = Freeing(module)
        self._active: list[ast.FunctionDef] = []

    def is_spent(self, value: ast.expr, key: str, node: ast.expr | ast.stmt) -> bool:
        """Whether `value`, which the variable `key` keeps at `node`, can never be differentiated through it."""
        scope = self.module.tree.scope(node)
        backward = self.module.infer.backward
        if isinstance(scope, (ast.Lambda, ast.ClassDef)) or key in backward.sources(scope):
            return False
        return self._is_spent(value, key, node, scope, _MOST_DEPTH)

    @remembered
    def _is_spent(self, value: ast.expr, key: str, node: ast.AST, scope: Scope, depth: int) -> bool:
        """By itself, or as an operation on what is: the engine goes through all of a graph, or raises."""
        if not depth:
            leave_out(self.module, node, f"what is kept goes through more than {_MOST_DEPTH} expressions")
            return False
        if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
            if self._is_freed(value, key, node, scope):
                return True
        if self._is_freed_by_helper(value, depth):
            return True
        inner = self.freeing.operands(value)
        if not inner:
            return False
        spent = [each for each in inner if self._is_spent(each, key, node, scope, depth - 1)]
        if isinstance(value, ast.IfExp):
            return all(each in spent or self.module.infer.value(each).graph is False for each in inner)
        return bool(spent) and all(each in spent or not self.module.infer.value(each).graph for each in inner)

    def _is_freed_by_helper(self, value: ast.expr, depth: int) -> bool:
        """Whether a value comes out of a function of the project that has spent it: `loss, out = self.step(batch)`."""
        made: ast.expr = value
        path: tuple[int, ...] = ()
        if isinstance(value, ast.Name):
            definition = self.freeing.only(value)
            if definition is None or definition.value is None or definition.how is not How.ASSIGN:
                return False
            if has_rest(self.module.tree.parents[definition.node]):
                return False
            made, path = definition.value, definition.path
        helper = self.module.classes.callee(made) if isinstance(made, ast.Call) else None
        if not isinstance(helper, ast.FunctionDef) or helper in self._active or len(path) > 1:
            return False
        if not isinstance(made, ast.Call) or not runs(self.module, made, helper):
            return False
        given: list[ast.expr] = []
        for node in self.module.tree.within(helper):
            if isinstance(node, (ast.Yield, ast.YieldFrom)):
                return False
            if isinstance(node, ast.Return):
                part = part_of(node.value, path)
                if part is None:
                    return False
                given.append(part)
        self._active.append(helper)
        try:
            return bool(given) and all(self._is_spent(each, "", each, helper, depth - 1) for each in given)
        finally:
            self._active.pop()

    # -- whether it is the same value, on every path ------------------------------------------------------------

    def _is_freed(self, value: ast.expr, key: str, node: ast.AST, scope: Scope) -> bool:
        statements = [self.module.tree.statement(each.site.node) for each in self._freed_as(value, scope)]
        saving = self.module.release.saving
        if not statements or not (saving.saves(value) or saving.is_handed(value)):
            return False
        paths = self.module.release.paths
        wanted = Wanted(frozenset(statements), self._flags(value))
        if paths.runs_before(node, wanted):
            return True
        after = paths.runs_after(node, wanted)
        return after is not None and not self._may_differentiate_between(key, node, after)

    def _freed_as(self, value: ast.expr, scope: Scope) -> Iterator[Freed]:
        """What stands for the same value as an expression of its function: spelt alike, nothing bound between."""
        yield from (each for each in self._near(value, False, scope) if self._unchanged(value, each.node))
        whole = self._holder_of(value)
        if whole is not None:
            yield from (each for each in self._near(whole, True, scope) if self._unchanged(whole, each.node))

    def _holder_of(self, value: ast.expr) -> ast.expr | None:
        """What an expression is an element of: `x` of `x[k]`, of a variable that goes over `x.values()`."""
        if isinstance(value, ast.Subscript):
            return value.value
        definition = self.freeing.only(value) if isinstance(value, ast.Name) else None
        if definition is None or definition.how is not How.ITERATE or not isinstance(definition.value, ast.Call):
            return None
        func, path = definition.value.func, definition.path
        if not isinstance(func, ast.Attribute) or (func.attr, path) not in (("items", (1,)), ("values", ())):
            return None
        return func.value

    def _near(self, value: ast.expr, elements: bool, scope: Scope) -> list[Freed]:
        """What is freed, is spelt alike, and stands between the bindings of its variable that are next to `value`."""
        spelt = spelling(value)
        places, found = self.freeing.by_spelling(scope).get((spelt, elements), ([], []))
        if not spelt or not found:
            return []
        root = value
        while isinstance(root, ast.Subscript):
            root = root.value
        bound = self._bound(key_of(root), self.module.tree.scope(value), False)
        at = bisect_right(bound, place_of(value))
        start = bisect_right(places, bound[at - 1]) if at else 0
        return found[start : bisect_left(places, bound[at]) if at < len(bound) else len(found)]

    def _unchanged(self, one: ast.expr, other: ast.expr) -> bool:
        """Whether all that two expressions read is bound alike at both places, and not changed on the way."""
        flow, scope = self.module.flow, self.module.tree.scope(one)
        between = sorted((place_of(one), place_of(other)))
        deep = isinstance(one, (ast.Subscript, ast.Attribute))
        for node in ast.walk(one):
            key = key_of(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
            if not key:
                continue
            if isinstance(node, ast.Name) and self._is_of_comprehension(node):
                return False
            if isinstance(node, ast.Attribute) and self.freeing.may_be_rebound(node, *between):
                return False
            if {*flow.reaching(key, one)} != {*flow.reaching(key, other)}:
                return False
            if _any_from(self._bound(key, scope, deep), *between):
                return False
        return True

    @remembered
    def _bound(self, key: str, scope: Scope, changed: bool) -> list[Place]:
        """Where a variable is bound, in order; changed: or what it stands for is."""
        flow = self.module.flow
        places = [place_of(each.statement) for each in flow.definitions(scope).get(key, [])]
        if changed:
            places += [place_of(each.node) for each in flow.mutations(scope).get(key, []) if each.method in _CHANGES]
        return sorted(places)

    def _is_of_comprehension(self, name: ast.Name) -> bool:
        return self.module.names.comprehension(name) is not None

    def _flags(self, value: ast.expr) -> frozenset[str]:
        """What is true wherever a value has history: the flag of a `torch.set_grad_enabled(flag)` around its making."""
        found: set[str] = set()
        for each in self._made_in(value):
            for up in self.module.tree.ancestors(each):
                for item in up.items if isinstance(up, (ast.With, ast.AsyncWith)) else ():
                    call = item.context_expr
                    if isinstance(call, ast.Call) and call.args:
                        if self.module.names.qualname(call.func) in _SWITCHES and self._is_constant(call.args[0]):
                            found.add(ast.dump(call.args[0]))
        return frozenset(found)

    def _is_constant(self, flag: ast.expr) -> bool:
        """Whether a flag is bound but once, so that it is the same wherever it is read."""
        definitions = self.module.flow.definitions(self.module.tree.scope(flag))
        return all(len(definitions.get(key_of(node), [])) <= 1 for node in ast.walk(flag) if key_of(node))

    def _made_in(self, value: ast.expr) -> list[ast.AST]:
        """The statement that makes a value, if it is but one."""
        key = key_of(value)
        reaching = self.module.flow.reaching(key, value) if key else []
        return [reaching[0].statement] if len(reaching) == 1 else []

    def _may_differentiate_between(self, key: str, node: ast.AST, after: ast.stmt) -> bool:
        """Whether, from the store to the backward that frees the value, anything else may differentiate the holder."""
        tree = self.module.tree
        scope = tree.scope(node)
        own = tree.statement(node)
        start = (own.end_lineno or own.lineno, own.end_col_offset or 0)
        begin, end = place_of(after), (after.end_lineno or after.lineno, after.end_col_offset or 0)
        reads, differentiating, calls = self._reading(scope)
        if _any_between(reads.get(key, []), start, end) or _any_between(differentiating, start, begin, ending=False):
            return True
        private = "." not in key and not self.module.release.escapes.is_shared(key, scope)
        return not private and _any_between(calls, start, end)

    @remembered
    def _reading(self, scope: Scope) -> tuple[dict[str, list[Place]], list[Place], list[Place]]:
        """The places where a scope reads each variable, where it differentiates, and calls what may reach a holder."""
        reads: dict[str, list[Place]] = {}
        calls: list[Place] = []
        sites = {site.node for site in self.module.release.differentiation.sites(scope)}
        for node in self.module.tree.within(scope):
            if isinstance(node, (ast.Name, ast.Attribute)):
                key = key_of(node)
                if key:
                    reads.setdefault(key, []).append(place_of(node))
            elif isinstance(node, ast.Call) and node not in sites and not self._is_idle(node):
                calls.append(place_of(node))
        for places in (*reads.values(), calls):
            places.sort()
        return reads, sorted(map(place_of, sites)), calls

    def _is_idle(self, call: ast.Call) -> bool:
        """Whether a call reaches no holder but by its arguments."""
        name = last_name(call.func)
        if isinstance(call.func, ast.Attribute) and (name in TENSOR_METHODS or name in CONTAINER_METHODS):
            return True
        return name in _IDLE or self.module.names.qualname(call.func).startswith("torch.")


_CHANGES = frozenset({"setitem", "augitem", "update", "pop", "clear", "setdefault", "del", "popitem", "augment"})


def _any_between(places: list[Place], start: Place, end: Place, ending: bool = True) -> bool:
    """Whether one of these places, in order, lies behind `start` and before `end` (or, `ending`, at it)."""
    at = bisect_left(places, start)
    return at < len(places) and (places[at] < end or (ending and places[at] == end))


def _any_from(places: list[Place], start: Place, end: Place) -> bool:
    """Whether one of these places, in order, lies between two others, or is one of them."""
    return bisect_left(places, start) < bisect_right(places, end)
