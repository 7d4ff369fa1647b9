"""Values that are spent: differentiated, and their graph freed, on every path of the iteration that keeps them.

A second backward through a spent value raises ("Trying to backward through the graph a second time"), so that to
detach it for its holder cannot change what is trained, whoever gets the holder. Values that are not are live.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How, key_of
from flake8_torchleak.model.effects import TENSOR_METHODS, TORCH_FUNCTIONS
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.release.differentiation import Site
from flake8_torchleak.model.release.harmless import CONTAINER_METHODS
from flake8_torchleak.model.release.helpers import runs
from flake8_torchleak.model.release.paths import Wanted, is_optional
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.sums import same
from flake8_torchleak.model.tree import Scope

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_Place = tuple[int, int]
"""Line and column."""
_SWITCHES = frozenset(
    {"torch.set_grad_enabled", "torch.autograd.set_grad_enabled", "torch.autograd.grad_mode.set_grad_enabled"}
)
_OF_SECONDS = frozenset({"where"})
"""Functions whose first argument carries no history to their result."""
_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "short", "int", "long", "bool"})
_MOST_PARTS = 64
"""Variables of which an objective is made that are followed."""
_JOINS = frozenset({"stack", "cat", "concat", "hstack", "vstack", "sum"})
_IDLE = frozenset({
    "zero_grad", "print", "len", "float", "int", "str", "format", "item", "tolist", "detach", "set_postfix",
    "set_description", "info", "debug", "warning", "add_scalar", "scale", "isnan", "isfinite", "isinf", "all", "any",
})  # fmt: skip
"""Calls between a store and the backward that reach no holder but by their arguments."""


@dataclass(frozen=True, slots=True, eq=False)
class Freed:
    """A value that `site` frees: an expression, as it stands at `node`; elements: all that it holds, not it itself."""

    site: Site
    node: ast.expr
    elements: bool = False


class Spent:
    """Which values of one module are spent where they are kept."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._active: list[ast.FunctionDef] = []

    def is_spent(self, value: ast.expr, key: str, node: ast.expr | ast.stmt) -> bool:
        """Whether `value`, which the variable `key` keeps at `node`, can never be differentiated through it."""
        scope = self.module.tree.scope(node)
        backward = self.module.infer.backward
        if isinstance(scope, (ast.Lambda, ast.ClassDef)) or key in backward.sources(scope):
            return False
        return self._is_spent(value, key, node, self._freed(scope), 8)

    def _is_spent(self, value: ast.expr, key: str, node: ast.AST, freed: list[Freed], depth: int) -> bool:
        """By itself, or as an operation on what is: the engine goes through all of a graph, or raises."""
        if not depth:
            return False
        if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
            if self._is_freed(value, key, node, freed):
                return True
        if self._is_freed_by_helper(value, depth):
            return True
        inner = self._operands(value)
        if not inner:
            return False
        spent = [each for each in inner if self._is_spent(each, key, node, freed, depth - 1)]
        if isinstance(value, ast.IfExp):
            return all(each in spent or self.module.infer.value(each).graph is False for each in inner)
        return bool(spent) and all(each in spent or not self.module.infer.value(each).graph for each in inner)

    def _is_freed_by_helper(self, value: ast.expr, depth: int) -> bool:
        """Whether a value comes out of a function of the project that has spent it: `loss, out = self.step(batch)`."""
        made: ast.expr = value
        path: tuple[int, ...] = ()
        if isinstance(value, ast.Name):
            definition = self._only(value)
            if definition is None or definition.value is None or definition.how is not How.ASSIGN:
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
                part = _part(node.value, path)
                if part is None or isinstance(part, ast.Starred):
                    return False
                given.append(part)
        self._active.append(helper)
        try:
            freed = self._freed(helper)
            return bool(given) and all(self._is_spent(each, "", each, freed, depth - 1) for each in given)
        finally:
            self._active.pop()

    def _operands(self, value: ast.expr) -> list[ast.expr]:
        """What an expression is made of by operations that history goes through."""
        if isinstance(value, ast.BinOp):
            return [value.left, value.right]
        if isinstance(value, ast.UnaryOp):
            return [value.operand]
        if isinstance(value, ast.IfExp):
            return [value.body, value.orelse]
        if isinstance(value, (ast.NamedExpr, ast.Subscript)):
            return [value.value]
        if isinstance(value, ast.Name):
            definition = self._only(value)
            if definition is not None and definition.value is not None and definition.how is How.ASSIGN:
                if not definition.path and self._same_iteration(definition.statement, value):
                    return [definition.value]
            return []
        if isinstance(value, ast.Call):
            if isinstance(value.func, ast.Attribute) and self.module.names.qualname(value.func) == "":
                effect = TENSOR_METHODS.get(value.func.attr)
                moved = value.func.attr in ("to", "cuda") and not self._is_cast_to_integers(value)
                if moved or (effect is not None and effect.graph):
                    return [value.func.value]
            head, _, name = self.module.names.qualname(value.func).rpartition(".")
            effect = TORCH_FUNCTIONS.get(name) if head == "torch" else None
            if effect is not None and effect.graph and name not in _OF_SECONDS:
                return [each for first in value.args[:1] for each in _entries(first)]
        return []

    def _is_cast_to_integers(self, call: ast.Call) -> bool:
        """Whether `.to(torch.long)` ends the history."""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return any(self.module.names.qualname(each).removeprefix("torch.") in _INTEGERS for each in given)

    def _only(self, name: ast.Name) -> Definition | None:
        """The one definition that reaches a variable, if there is but one."""
        if self.module.names.comprehension(name) is not None:
            return None
        reaching = self.module.flow.reaching(name.id, name)
        return reaching[0] if len(reaching) == 1 else None

    def _same_iteration(self, one: ast.AST, other: ast.AST) -> bool:
        loops = self.module.tree.loops
        return loops(one)[:1] == loops(other)[:1]

    # -- what is freed ----------------------------------------------------------------------------------------

    @remembered
    def _freed(self, scope: Scope) -> list[Freed]:
        """What the calls of a scope free for sure: the objectives, and what these are made of."""
        found: list[Freed] = []
        for site in self.module.release.differentiation.sites(scope):
            if site.frees and not is_optional(self.module.tree, site.node):
                found += self._parts(site)
        return found

    def _parts(self, site: Site) -> Iterator[Freed]:
        stack: list[tuple[ast.expr, bool]] = [(self.module.release.differentiation.unscaled(site.objective), False)]
        count = 0
        while stack and count < _MOST_PARTS:
            count += 1
            node, elements = stack.pop()
            if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
                yield Freed(site, node, elements)
            if elements:
                stack += [(each, False) for each in _entries(node) if each is not node]
                continue
            summed = self._summed(node)
            if summed is not None:
                stack += [(summed, True)]
            elif isinstance(node, ast.Name):
                stack += [(each, False) for each in self._made_of(node, site)]
            elif isinstance(node, ast.Attribute):
                stack += [(each, False) for each in self._bound(node)]
            elif isinstance(node, ast.Subscript):
                continue  # one of several, perhaps
            elif self.module.grad.off(node):
                continue  # what is computed without gradients has no history of what it is computed from
            elif isinstance(node, ast.Call) and self._is_loss(node):
                stack += [(node.args[0], False)]
            elif not isinstance(node, ast.IfExp):  # of a ternary, either part may be the one that is not differentiated
                stack += [(each, False) for each in self._operands(node)]

    def _made_of(self, name: ast.Name, site: Site) -> list[ast.expr]:
        """The expression that a variable was given: in the same iteration, and by nothing else."""
        definition = self._only(name)
        if definition is None or definition.value is None or definition.path:
            return []
        value = definition.value
        if definition.how is How.ENTER and last_name(getattr(value, "func", value)) == "scale_loss":
            return value.args[:1] if isinstance(value, ast.Call) else []
        if not self._same_iteration(definition.statement, site.node):
            return []
        if definition.how is How.AUGMENT and isinstance(definition.node, ast.expr):
            added = isinstance(definition.statement, ast.AugAssign) and isinstance(definition.statement.op, ast.Add)
            return [value] if added else []
        return [value] if definition.how is How.ASSIGN else []

    def _bound(self, node: ast.Attribute) -> list[ast.expr]:
        """What `self.loss` was given, in the same function and iteration."""
        key = key_of(node)
        reaching = self.module.flow.reaching(key, node) if key else []
        if len(reaching) != 1 or reaching[0].how is not How.ASSIGN or reaching[0].path:
            return []
        value, statement = reaching[0].value, reaching[0].statement
        if value is None or not self._same_iteration(statement, node):
            return []
        return [] if self._may_be_rebound(node, _place(statement), _place(node)) else [value]

    def _may_be_rebound(self, node: ast.Attribute, start: _Place, end: _Place) -> bool:
        """Whether a call between two places gets the object whose attribute this is, and may bind the attribute."""
        scope = self.module.tree.scope(node)
        owned = self.module.classes.self_attribute(node)
        if owned is not None:
            bound = owned[0].attributes.get(f"self.{owned[1]}", [])
            others = [self.module.tree.scope(each.node) for each in bound]
            if all(each is scope or getattr(each, "name", "") == "__init__" for each in others):
                return False
        root = key_of(node).partition(".")[0]
        return any(
            start < _place(call) < end
            and any(key_of(each) == root for each in (getattr(call.func, "value", None), *call.args) if each)
            for call in self.module.tree.calls(scope)
        )

    def _summed(self, node: ast.expr) -> ast.expr | None:
        """What `sum(x.values())`, `sum(v for v in x.values())` and `torch.stack([...])` go over, whole."""
        if not isinstance(node, ast.Call) or not node.args or last_name(node.func) not in _JOINS:
            return None
        qualname = self.module.names.qualname(node.func)
        if qualname != "sum" and not qualname.startswith("torch."):
            return None
        over = node.args[0]
        if isinstance(over, (ast.GeneratorExp, ast.ListComp)) and len(over.generators) == 1:
            first = over.generators[0]
            if first.ifs or not isinstance(over.elt, ast.Name) or not same(over.elt, first.target):
                return None
            over = first.iter
        if isinstance(over, ast.Call) and last_name(over.func) == "list" and over.args:
            over = over.args[0]
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "values":
            return over.func.value
        return over if isinstance(over, (ast.List, ast.Tuple)) else None

    def _is_loss(self, node: ast.Call) -> bool:
        """Whether a call is one of torch's own losses, which history goes through from their first argument."""
        return bool(node.args) and self.module.proof.is_torch_loss(node)

    # -- whether it is the same value, on every path ------------------------------------------------------------

    def _is_freed(self, value: ast.expr, key: str, node: ast.AST, freed: list[Freed]) -> bool:
        statements = [self.module.tree.statement(each.site.node) for each in freed if self._is_same(value, each)]
        if not statements or not self.module.release.saving.saves(value):
            return False
        paths = self.module.release.paths
        wanted = Wanted(frozenset(statements), self._flags(value))
        if paths.runs_before(node, wanted):
            return True
        after = paths.runs_after(node, wanted)
        return after is not None and not self._may_differentiate_between(key, node, after)

    def _is_same(self, value: ast.expr, freed: Freed) -> bool:
        """Whether two expressions in one function stand for the same value: spelt alike, nothing bound between."""
        if freed.elements:
            return self._is_element(value, freed)
        return same(value, freed.node) and self._unchanged(value, freed.node)

    def _is_element(self, value: ast.expr, freed: Freed) -> bool:
        if isinstance(value, ast.Subscript):
            return same(value.value, freed.node) and self._unchanged(value.value, freed.node)
        if not isinstance(value, ast.Name):
            return False
        definition = self._only(value)
        if definition is None or definition.how is not How.ITERATE or not isinstance(definition.value, ast.Call):
            return False
        func, path = definition.value.func, definition.path
        if not isinstance(func, ast.Attribute) or (func.attr, path) not in (("items", (1,)), ("values", ())):
            return False
        return same(func.value, freed.node) and self._unchanged(func.value, freed.node)

    def _unchanged(self, one: ast.expr, other: ast.expr) -> bool:
        """Whether all that two expressions read is bound alike at both places, and not changed on the way."""
        flow, tree = self.module.flow, self.module.tree
        scope = tree.scope(one)
        between = sorted((_place(one), _place(other)))
        for node in ast.walk(one):
            key = key_of(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
            if not key:
                continue
            if isinstance(node, ast.Name) and self._is_of_comprehension(node):
                return False
            if isinstance(node, ast.Attribute) and self._may_be_rebound(node, *between):
                return False
            if {*flow.reaching(key, one)} != {*flow.reaching(key, other)}:
                return False
            bound = [each.statement for each in flow.definitions(scope).get(key, [])]
            deep = isinstance(one, (ast.Subscript, ast.Attribute))
            changed = [m.node for m in flow.mutations(scope).get(key, []) if m.method in _CHANGES] if deep else []
            if any(between[0] <= _place(each) <= between[1] for each in (*bound, *changed)):
                return False
        return True

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
        begin, end = _place(after), (after.end_lineno or after.lineno, after.end_col_offset or 0)
        reads, differentiating, calls = self._reading(scope)
        if _any_between(reads.get(key, []), start, end) or _any_between(differentiating, start, begin, ending=False):
            return True
        private = "." not in key and not self.module.release.escapes.is_shared(key, scope)
        return not private and _any_between(calls, start, end)

    @remembered
    def _reading(self, scope: Scope) -> tuple[dict[str, list[_Place]], list[_Place], list[_Place]]:
        """The places where a scope reads each variable, where it differentiates, and calls what may reach a holder."""
        reads: dict[str, list[_Place]] = {}
        calls: list[_Place] = []
        sites = {site.node for site in self.module.release.differentiation.sites(scope)}
        for node in self.module.tree.within(scope):
            if isinstance(node, (ast.Name, ast.Attribute)):
                key = key_of(node)
                if key:
                    reads.setdefault(key, []).append(_place(node))
            elif isinstance(node, ast.Call) and node not in sites and not self._is_idle(node):
                calls.append(_place(node))
        for places in (*reads.values(), calls):
            places.sort()
        return reads, sorted(map(_place, sites)), calls

    def _is_idle(self, call: ast.Call) -> bool:
        """Whether a call reaches no holder but by its arguments."""
        name = last_name(call.func)
        if isinstance(call.func, ast.Attribute) and (name in TENSOR_METHODS or name in CONTAINER_METHODS):
            return True
        return name in _IDLE or self.module.names.qualname(call.func).startswith("torch.")


_CHANGES = frozenset({"setitem", "augitem", "update", "pop", "clear", "setdefault", "del", "popitem", "augment"})


def _part(value: ast.expr | None, path: tuple[int, ...]) -> ast.expr | None:
    """The part of a tuple that is unpacked at `path`, the value itself where the path is empty."""
    for index in path:
        value = value.elts[index] if isinstance(value, ast.Tuple) and index < len(value.elts) else None
    return value


def _entries(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else [node]


def _place(node: ast.AST) -> _Place:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _any_between(places: list[_Place], start: _Place, end: _Place, ending: bool = True) -> bool:
    """Whether one of these places, in order, lies behind `start` and before `end` (or, `ending`, at it)."""
    at = bisect_left(places, start)
    return at < len(places) and (places[at] < end or (ending and places[at] == end))
