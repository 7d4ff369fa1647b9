"""What an attribute holds: of `self`, of objects of the file's classes, of library values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import Definition, key_of
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.effects import ARRAY_ATTRIBUTES, TENSOR_ATTRIBUTES, apply
from flake8_torchleak.model.encodings import ENTRIES
from flake8_torchleak.model.env import NO_ENV, Env
from flake8_torchleak.model.handed import given
from flake8_torchleak.model.libraryheld import held_by
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import UNKNOWN, Kind, Origin, OriginKind, Size, Value, join

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer

_REBUILDS = frozenset({"sorted", "list", "tuple", "set", "dict", "reversed"})
_MODEL_OUTPUTS = frozenset({"logits", "last_hidden_state", "pooler_output"})


class Attributes:
    """Values of attributes."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer
        self._built: dict[tuple[ast.ClassDef, str], Value] = {}

    def value(self, node: ast.Attribute, env: Env) -> Value:
        owned = self.infer.classes.self_attribute(node)
        if owned is not None:
            return self._self_attribute(node, *owned, env)
        base = self.infer.value(node.value, env)
        if base.kind is Kind.TENSOR or (base.graph and base.kind is Kind.UNKNOWN):
            effect = TENSOR_ATTRIBUTES.get(node.attr)
            if effect is not None:
                return apply(effect, base)
        if base.kind is Kind.PATH and node.attr == "parent":
            return base
        if base.kind is Kind.ARRAY and node.attr in ARRAY_ATTRIBUTES:
            return apply(ARRAY_ATTRIBUTES[node.attr], base)
        if base.kind is Kind.INSTANCE and base.made in self.infer.classes.all:
            found = self.built(self.infer.classes.all[base.made], node.attr)
            return found.but(origin=base.origin) if base.origin else found
        if base.kind is Kind.FRAME:
            return Value(Kind.ARRAY if node.attr == "values" else Kind.FRAME, why=base.why, ndim=base.ndim)
        if base.kind is Kind.DICT and node.attr in ENTRIES:
            return self.infer.parts.element(base)
        if base.kind is Kind.INDEX:
            return Value(Kind.DICT, size=Size.GROWS, element=UNKNOWN, origin=base.origin, why=base.why)
        if (
            base.kind is Kind.UNKNOWN
            and node.attr in _MODEL_OUTPUTS
            and isinstance(node.value, ast.Call)
            and not self.infer.grad.off(node)
        ):
            return Value(graph=True, why=((node, f"`.{node.attr}` of a model's output"),))
        if base.kind is Kind.UNKNOWN and (base.origin or base.graph):
            if node.attr in ("dstdata", "srcdata", "ndata", "edata"):
                return UNKNOWN  # a DGL graph gathers these in the main process
            if base.graph and hints.is_plain_result(node.attr):
                return UNKNOWN
            return Value(graph=base.graph, origin=base.origin, why=base.why)
        if base.kind is Kind.MODULE and not node.attr.endswith(("_", "s")):
            return Value(Kind.MODULE) if node.attr in ("module", "model") else self.infer.named(node.attr, node)
        if isinstance(node.value, ast.Name):
            reaching = self.infer.flow.reaching(f"{node.value.id}.{node.attr}", node)
            if reaching:
                return self.infer.variable(reaching[0].key, reaching, env)
        return self.infer.named(node.attr, node)

    def _self_attribute(self, node: ast.Attribute, facts: ClassFacts, attr: str, env: Env) -> Value:
        key = f"{key_of(node.value)}.{attr}"
        scope = self.infer.tree.scope(node)
        if key in self.infer.flow.definitions(scope):
            reaching = self.infer.flow.reaching(key, node, scope)
            if reaching and self.infer.flow.dominates(reaching[-1], node):
                return self.infer.variable(key, reaching, env)
        found = self.built(facts, attr)
        if attr in facts.methods and f"self.{attr}" not in facts.attributes:
            method = facts.methods[attr]
            if is_property(method):
                found = self.infer.returned(method, NO_ENV)
        return found.but(origin=found.origin or Origin(OriginKind.STATE, f"self.{attr}", node))

    def built(self, facts: ClassFacts, attr: str) -> Value:
        """What `self.attr` holds once the object is built: its final bindings, grown by what methods put in."""
        memo = (facts.node, attr)
        known = self._built.get(memo)
        if known is not None:
            return known
        if not self.infer.enter(memo):
            return UNKNOWN
        try:
            definitions = self.final_bindings(facts, attr)
            values = [self.infer.definition(each, given(self.infer, facts, each)) for each in definitions]
            found = join(values) if values else self._of_library(facts, attr)
            if found.is_container and found.element is not None and self.infer.growth.is_rewritten(facts, attr):
                found = found.but(element=found.element.but(fields=(), element=None))
            if found.is_container and found.kind is not Kind.JSON:
                found = self.infer.growth.grown(found, facts.mutations.get(f"self.{attr}", []), None, NO_ENV)
            if found.kind is Kind.UNKNOWN and found.graph is None:
                hinted = self.infer.named(attr, facts.node)
                found = hinted if hinted.kind is not Kind.UNKNOWN else found
        finally:
            self.infer.leave(memo)
        self._built[memo] = found
        return found

    def _of_library(self, facts: ClassFacts, attr: str) -> Value:
        """What a class of a library that this one derives from sets an attribute to."""
        bases = (base for each in facts.lineage for base in each.node.bases)
        held = (held_by(self.infer.names, base) for base in bases)
        return next((each.value for each in held if each is not None and attr in each.reads), UNKNOWN)

    def final_bindings(self, facts: ClassFacts, attr: str) -> list[Definition]:
        """Assignments of `self.attr` that may still hold when their method ends, `__init__` first."""
        ways = self.infer.flow.ways
        found: list[Definition] = []
        by_function: dict[ast.AST, list[Definition]] = {}
        for each in facts.attributes.get(f"self.{attr}", []):
            by_function.setdefault(self.infer.tree.scope(each.node), []).append(each)
        for function, definitions in by_function.items():
            for each in reversed(definitions):
                if self._converts(each, attr):
                    return [each]
                found.append(each)
                if isinstance(function, FUNCTIONS) and ways.always_before(each.statement, function.body[-1]):
                    break
        return found

    def _converts(self, definition: Definition, attr: str) -> bool:
        """`self.x = f(self.x)` with a call: whatever it was, it is what the call makes of it now."""
        value = definition.value
        if not isinstance(value, ast.Call) or last_name(value.func) in _REBUILDS:
            return False
        return any(
            isinstance(a, ast.Attribute) and a.attr == attr and self.infer.classes.self_attribute(a) is not None
            for a in value.args
        )


def is_property(function: FunctionNode) -> bool:
    """Whether a method is read like an attribute."""
    return any(last_name(d) in ("property", "cached_property", "lazy_property") for d in function.decorator_list)


def is_called(function: FunctionNode) -> bool:
    """Whether what stands under a method's name is called: not what a property, or one with a setter, gives."""
    return not is_property(function) and not any(last_name(each) == "setter" for each in function.decorator_list)
