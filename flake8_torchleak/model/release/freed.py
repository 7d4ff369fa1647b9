"""What the calls of a function that differentiate free for sure: the objectives, and all that these are made of."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How, key_of
from flake8_torchleak.model.bounds import leave_out
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.effects import TENSOR_METHODS, TORCH_FUNCTIONS
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.release.differentiation import Site
from flake8_torchleak.model.release.paths import is_optional
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.sums import same, spelling
from flake8_torchleak.model.tree import Scope

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

Place = tuple[int, int]
"""Line and column."""
_OF_SECONDS = frozenset({"where"})
"""Functions whose first argument carries no history to their result."""
_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "short", "int", "long", "bool"})
_MOST_PARTS = 64
"""Variables of which an objective is made that are followed."""
_JOINS = frozenset({"stack", "cat", "concat", "hstack", "vstack", "sum"})


@dataclass(frozen=True, slots=True, eq=False)
class Freed:
    """A value that `site` frees: an expression, as it stands at `node`; elements: all that it holds, not it itself."""

    site: Site
    node: ast.expr
    elements: bool = False


class Freeing:
    """What one module frees."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def operands(self, value: ast.expr) -> list[ast.expr]:
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
            definition = self.only(value)
            if definition is not None and definition.value is not None and definition.how is How.ASSIGN:
                if not definition.path and self.same_iteration(definition.statement, value):
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

    def only(self, name: ast.Name) -> Definition | None:
        """The one definition that reaches a variable, if there is but one."""
        if self.module.names.comprehension(name) is not None:
            return None
        reaching = self.module.flow.reaching(name.id, name)
        return reaching[0] if len(reaching) == 1 else None

    def same_iteration(self, one: ast.AST, other: ast.AST) -> bool:
        loops = self.module.tree.loops
        return loops(one)[:1] == loops(other)[:1]

    @remembered
    def in_scope(self, scope: Scope) -> list[Freed]:
        """What the calls of a scope free for sure: the objectives, and what these are made of."""
        found: list[Freed] = []
        for site in self.module.release.differentiation.sites(scope):
            if site.frees and not is_optional(self.module.tree, site.node):
                found += self._parts(site)
        return found

    @remembered
    def by_spelling(self, scope: Scope) -> dict[tuple[tuple[object, ...], bool], tuple[list[Place], list[Freed]]]:
        """What a scope frees, in order of place, by how it is spelt and whether its elements are meant."""
        found: dict[tuple[tuple[object, ...], bool], tuple[list[Place], list[Freed]]] = {}
        for each in sorted(self.in_scope(scope), key=lambda each: place_of(each.node)):
            places, freed = found.setdefault((spelling(each.node), each.elements), ([], []))
            places.append(place_of(each.node))
            freed.append(each)
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
                stack += [(each, False) for each in self.operands(node)]
        if stack:
            leave_out(self.module, site.node, f"what is differentiated has more than {_MOST_PARTS} parts")

    def _made_of(self, name: ast.Name, site: Site) -> list[ast.expr]:
        """The expression that a variable was given: in the same iteration, and by nothing else."""
        definition = self.only(name)
        if definition is None or definition.value is None or definition.path:
            return []
        value = definition.value
        if definition.how is How.ENTER and last_name(getattr(value, "func", value)) == "scale_loss":
            return value.args[:1] if isinstance(value, ast.Call) else []
        if not self.same_iteration(definition.statement, site.node):
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
        if value is None or not self.same_iteration(statement, node):
            return []
        return [] if self.may_be_rebound(node, place_of(statement), place_of(node)) else [value]

    def may_be_rebound(self, node: ast.Attribute, start: Place, end: Place) -> bool:
        """Whether a call between two places gets the object whose attribute this is, and may bind the attribute."""
        scope = self.module.tree.scope(node)
        owned = self.module.classes.self_attribute(node)
        if owned is not None and self._is_bound_in(*owned, scope):
            return False
        places = self._handed(scope).get(key_of(node).partition(".")[0], [])
        return bisect_right(places, start) < bisect_left(places, end)

    @remembered
    def _is_bound_in(self, facts: ClassFacts, attribute: str, scope: Scope) -> bool:
        """Whether an attribute is bound in one function and in constructors alone."""
        others = {self.module.tree.scope(each.node) for each in facts.attributes.get(f"self.{attribute}", [])}
        return all(each is scope or getattr(each, "name", "") == "__init__" for each in others)

    @remembered
    def _handed(self, scope: Scope) -> dict[str, list[Place]]:
        """Where the calls of a scope get each variable, as an argument or as the object, in order."""
        found: dict[str, list[Place]] = {}
        for call in sorted(self.module.tree.calls(scope), key=place_of):
            for each in (getattr(call.func, "value", None), *call.args):
                if each is not None and (key := key_of(each)):
                    found.setdefault(key, []).append(place_of(call))
        return found

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
        return bool(node.args) and self.module.proof.networks.is_torch_loss(node)


def place_of(node: ast.AST) -> Place:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _entries(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else [node]
