"""What a Dataset keeps, and how its sample functions read it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.attributes import is_property
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.env import NO_ENV
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.bindings import Definition
    from flake8_torchleak.model.module import Module


class Use(Enum):
    """How an attribute is used at one place."""

    SUBSCRIPT = "subscript"
    ITERATE = "iterate"
    LOOKUP = "lookup"
    MEMBER = "membership"
    LENGTH = "length"
    WRITE = "write"
    PASSED = "passed on"
    OTHER = "other"


READS = frozenset({Use.SUBSCRIPT, Use.ITERATE, Use.LOOKUP})
"""Uses that touch the elements (and with them, their reference counts)."""

_ITERATORS = frozenset({
    "enumerate", "zip", "sorted", "list", "tuple", "choice", "choices", "sample", "shuffle", "sum", "max", "min", "map",
    "filter", "set", "cycle", "iter", "reversed", "dict",
})  # fmt: skip
_LOOKUPS = frozenset({"get", "items", "values", "keys", "index", "count", "pop", "__getitem__", "copy"})
_ARRAY_USES = frozenset({
    "shape", "dtype", "ndim", "astype", "mean", "std", "sum", "reshape", "flatten", "numpy", "size", "float", "long",
    "clone", "unsqueeze", "squeeze", "detach", "to", "nonzero", "ravel", "transpose", "permute", "T", "dim", "min",
    "max", "tobytes", "argsort", "cumsum", "view", "cpu", "copy", "item", "tolist", "half", "int", "bool", "double",
    "iloc", "loc", "columns", "iterrows", "groupby", "select", "column_names", "features", "num_rows", "map", "numel",
    "as_py", "to_pylist",
})  # fmt: skip
_ROW_USES = frozenset(
    {"float", "long", "unsqueeze", "numpy", "clone", "astype", "reshape", "shape", "to", "type", "view"}
)
"""What is done with a row of an array or tensor."""
_PYTHON_USES = frozenset({"append", "extend", "items", "keys", "values", "setdefault", "update", "insert", "popleft"})


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """One use of `self.attr` (or of a local alias of it) in a function."""

    node: ast.expr
    use: Use
    key: ast.expr | None
    function: FunctionNode


class StateFacts:
    """One attribute of a Dataset."""

    def __init__(self, module: Module, dataset: DatasetFacts, attr: str) -> None:
        self.module, self.dataset, self.attr = module, dataset, attr

    @cached_property
    def value(self) -> Value:
        """What it holds once the Dataset is built."""
        facts = self.dataset.facts
        method = facts.methods.get(self.attr)
        if method is None or f"self.{self.attr}" in facts.attributes:
            return self.module.infer.attributes.built(facts, self.attr)
        return self.module.infer.returned(method, NO_ENV)

    @cached_property
    def bindings(self) -> list[Definition]:
        """The assignments that may give it its final value."""
        return self.module.infer.attributes.final_bindings(self.dataset.facts, self.attr)

    @cached_property
    def reads(self) -> list[Read]:
        """Its uses in functions that run per sample."""
        return [r for f in self.dataset.calls_in for r in self.uses_in(f)]

    def uses_in(self, function: FunctionNode) -> list[Read]:
        """Its uses in one method, aliases (`data = self.data`) and properties that return it included."""
        found: list[Read] = []
        aliases: set[str] = set()
        uses = self.module.classes.self_uses(function)
        for name in (self.attr, *self._names):
            for node in uses.get(name, ()):
                parent = self.module.tree.parents[node]
                if isinstance(parent, ast.Assign) and parent.value is node and isinstance(parent.targets[0], ast.Name):
                    aliases.add(parent.targets[0].id)
                else:
                    found.append(self._classify(node, function))
        if aliases:
            for each in self.module.tree.within(function):
                if isinstance(each, ast.Name) and each.id in aliases and isinstance(each.ctx, ast.Load):
                    found.append(self._classify(each, function))
        return found

    @cached_property
    def _names(self) -> frozenset[str]:
        """Properties that hand this attribute out."""
        found = set()
        for name, method in self.dataset.facts.methods.items():
            if is_property(method):
                for node in self.module.tree.within(method):
                    if (
                        isinstance(node, ast.Return)
                        and isinstance(node.value, ast.Attribute)
                        and node.value.attr == self.attr
                    ):
                        found.add(name)
        return frozenset(found)

    def _classify(self, node: ast.expr, function: FunctionNode) -> Read:
        use, key = self._use(node)
        return Read(node, use, key, function)

    def _use(self, node: ast.expr) -> tuple[Use, ast.expr | None]:
        parents = self.module.tree.parents
        parent = parents[node]
        if not isinstance(getattr(node, "ctx", None), ast.Load):
            return Use.WRITE, None
        if isinstance(parent, ast.Subscript) and parent.value is node:
            outer = parents[parent]
            if isinstance(parent.ctx, ast.Load):
                if isinstance(outer, ast.Subscript) and outer.value is parent and not isinstance(outer.ctx, ast.Load):
                    return Use.SUBSCRIPT, parent.slice
                return Use.SUBSCRIPT, parent.slice
            return Use.WRITE, parent.slice
        if isinstance(parent, ast.Attribute):
            outer = parents[parent]
            if isinstance(outer, ast.Call) and outer.func is parent:
                if parent.attr in _LOOKUPS or self.value.kind is Kind.INDEX:
                    return Use.LOOKUP, outer.args[0] if outer.args else None
                if parent.attr in ("append", "extend", "add", "update", "insert", "clear", "setdefault"):
                    return Use.WRITE, None
            elif self.value.kind is Kind.INDEX:
                return Use.LOOKUP, None
            return Use.OTHER, None
        if isinstance(parent, ast.Compare) and node in parent.comparators:
            return Use.MEMBER, None
        if isinstance(parent, (ast.For, ast.AsyncFor)) or (
            isinstance(parent, ast.comprehension) and parent.iter is node
        ):
            return Use.ITERATE, None
        if isinstance(parent, ast.YieldFrom):
            return Use.ITERATE, None
        if isinstance(parent, ast.Call) and node in parent.args:
            name = last_name(parent.func)
            if name == "len":
                return Use.LENGTH, None
            return (Use.ITERATE if name in _ITERATORS else Use.PASSED), None
        return Use.OTHER, None

    @cached_property
    def counted(self) -> bool:
        """Whether the Dataset's length is this attribute's length."""
        length = self.dataset.facts.methods.get("__len__")
        if length is None:
            return False
        if self._measures(length):
            return True
        for node in self.module.tree.within(length):
            owned = self.module.classes.self_attribute(node)
            if owned is not None:
                for definition in self.dataset.facts.attributes.get(f"self.{owned[1]}", []):
                    if definition.value is not None and self._measured(definition.value):
                        return True
            if isinstance(node, ast.Call):
                callee = self.module.classes.callee(node)
                if callee is not None and self._measures(callee):
                    return True
        return False

    def _measures(self, function: FunctionNode) -> bool:
        return any(r.use is Use.LENGTH for r in self.uses_in(function))

    def _measured(self, value: ast.expr) -> bool:
        """`len(self.attr)`, or `len(x)` of the very variable that the attribute is bound to."""
        sources = {d.value.id for d in self.bindings if isinstance(d.value, ast.Name)}
        for call in ast.walk(value):
            if isinstance(call, ast.Call) and last_name(call.func) == "len" and call.args:
                measured = call.args[0]
                owned = self.module.classes.self_attribute(measured)
                if owned is not None and owned[1] == self.attr:
                    return True
                if isinstance(measured, ast.Name) and measured.id in sources:
                    return True
        return False

    @cached_property
    def indexed(self) -> Read | None:
        """A read by the sample's index itself."""
        for read in self.reads:
            if read.use is Use.SUBSCRIPT and read.key is not None and self.dataset.is_index(read.key):
                return read
        return None

    @cached_property
    def read(self) -> Read | None:
        """The first use that touches elements, the one by the sample's index if there is one."""
        return self.indexed or next((r for r in self.reads if r.use in READS), None)

    # -- what use tells about the type ----------------------------------------------------------------------

    @cached_property
    def used_as_array(self) -> bool:
        """Whether some method uses it as an array, a tensor, a table or a Dataset of its own."""
        for function in self.dataset.facts.all_functions:
            for read in self.uses_in(function):
                parent = self.module.tree.parents[read.node]
                if (
                    isinstance(parent, ast.Attribute)
                    and parent.attr in _ARRAY_USES
                    and parent.attr not in ("copy", "index")
                ):
                    return True
                if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Tuple):
                    return True
                outer = self.module.tree.parents[parent]
                if isinstance(parent, ast.Subscript) and isinstance(outer, ast.Attribute) and outer.attr in _ROW_USES:
                    return True
        return False

    @cached_property
    def used_as_python(self) -> ast.AST | None:
        """A use that only a Python container of objects allows, in any method."""
        for function in self.dataset.facts.all_functions:
            for read in self.uses_in(function):
                parent = self.module.tree.parents[read.node]
                if isinstance(parent, ast.Attribute) and parent.attr in _PYTHON_USES:
                    return parent
                if isinstance(parent, ast.Call) and self.module.names.qualname(parent.func) == "random.shuffle":
                    return parent
                if read.use is Use.SUBSCRIPT and self._element_is_object(parent):
                    return parent
        return self._argument_as_python()

    def _argument_as_python(self) -> ast.AST | None:
        """Such a use of the constructor argument that the attribute is bound to, next to the binding."""
        for each in self.bindings:
            if isinstance(each.value, ast.Name):
                for node in self.module.tree.within(self.module.tree.scope(each.value)):
                    if (
                        isinstance(node, ast.Attribute)
                        and isinstance(node.value, ast.Name)
                        and node.value.id == each.value.id
                    ):
                        if node.attr in _PYTHON_USES:
                            return node
        return None

    def _element_is_object(self, element: ast.AST) -> bool:
        """Whether the looked-up element has attributes that no array has (also through a local variable)."""
        tree = self.module.tree
        outer = tree.parents[element]
        if isinstance(outer, ast.Attribute):
            return outer.attr not in _ARRAY_USES and not _is_text_method(outer.attr)
        if isinstance(outer, ast.Assign) and isinstance(outer.targets[0], ast.Name):
            name = outer.targets[0].id
            scope = tree.scope(element)
            for each in tree.within(scope):
                if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == name:
                    if (
                        each.attr not in _ARRAY_USES
                        and not _is_text_method(each.attr)
                        and self.module.flow.reaching(name, each.value)[:1]
                    ):
                        return any(d.statement is outer for d in self.module.flow.reaching(name, each.value))
        return False


def _is_text_method(name: str) -> bool:
    return hasattr(str, name)
