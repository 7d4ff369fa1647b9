"""One class: its methods with inheritance inside the file, and where its attributes are set and changed."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, Mutation
from flake8_torchleak.model.names import defaults, last_name
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.classes import ClassTable

_MOST_BASES = 50
"""Classes of one lineage that are looked at."""


class ClassFacts:
    """One class with what it inherits from classes of the same file."""

    def __init__(self, node: ast.ClassDef, table: ClassTable) -> None:
        self.node = node
        self._table = table

    @cached_property
    def lineage(self) -> list[ClassFacts]:
        """This class and its bases in the file, nearest first."""
        found = [self]
        for each in found:
            for base in each.node.bases:
                known = self._table.of(base)
                if known is None or known in found:
                    continue
                if len(found) < _MOST_BASES:
                    found.append(known)
                else:
                    self._table.flow.cut.setdefault(self.node, f"it has more than {_MOST_BASES} base classes")
        return found

    @cached_property
    def outer_bases(self) -> list[ast.expr]:
        """Base expressions of the lineage that no class of the file answers."""
        return [base for each in self.lineage for base in each.node.bases if self._table.of(base) is None]

    @cached_property
    def own_methods(self) -> dict[str, FunctionNode]:
        """Methods written in this very class."""
        return {f.name: f for f in self._table.methods_by_class.get(self.node, [])}

    @cached_property
    def methods(self) -> dict[str, FunctionNode]:
        """Methods by name, inherited ones (in the file) included."""
        found: dict[str, FunctionNode] = {}
        for each in self.lineage:
            for name, function in each.own_methods.items():
                found.setdefault(name, function)
        return found

    @cached_property
    def all_functions(self) -> list[FunctionNode]:
        """Every method that may run: of the lineage, without those overridden by one that does not call `super()`."""
        found: list[FunctionNode] = []
        replaced: set[str] = set()
        for each in self.lineage:
            for name, function in each.own_methods.items():
                if name not in replaced:
                    found.append(function)
                    if not self._table.calls_super(function):
                        replaced.add(name)
        return found

    @cached_property
    def attributes(self) -> dict[str, list[Definition]]:
        """`self.x` -> its assignments in all methods, and class-level assignments, in lineage and source order.

        What a class without a constructor does not set itself is what those below it set.
        """
        found: dict[str, list[Definition]] = {}
        flow = self._table.flow
        for each in self.lineage:
            for key, definitions in flow.definitions(each.node).items():
                values = [d for d in definitions if not isinstance(d.node, (*FUNCTIONS, ast.ClassDef))]
                if values:
                    found.setdefault(f"self.{key}", []).extend(values)
        for function in self.all_functions:
            owner = self_name(function)
            for key, definitions in flow.definitions(function).items():
                head, _, rest = key.partition(".")
                if rest and head == owner and "." not in rest:
                    off = self._switched_off(function)
                    made = [each for each in definitions if not (off and self._is_under(each.statement, off))]
                    if made:
                        found.setdefault(f"self.{rest}", []).extend(made)
        if "__init__" not in self.methods:
            own = set(found)
            for each in self._table.below.get(self, ()):
                for key, definitions in each.attributes.items():
                    if key not in own:
                        found.setdefault(key, []).extend(definitions)
        return found

    def _switched_off(self, function: FunctionNode) -> frozenset[str]:
        """Parameters of an inherited constructor that this class leaves at their default, which is False or None."""
        own = self.own_methods.get("__init__")
        if function.name != "__init__" or own is None or function is own:
            return frozenset()
        handing = [call for call in self._table.tree.calls(own) if self._table.callee(call) is function]
        if len(handing) != 1 or any(k.arg is None for k in handing[0].keywords):
            return frozenset()
        if any(isinstance(argument, ast.Starred) for argument in handing[0].args):
            return frozenset()
        return frozenset(
            parameter.arg
            for parameter, default in defaults(function).items()
            if isinstance(default, ast.Constant)
            and default.value in (False, None)
            and self._table.argument(handing[0], parameter, function) is None
        )

    def _is_under(self, statement: ast.AST, flags: frozenset[str]) -> bool:
        """Whether a statement runs only if one of these parameters is true."""
        tree, child = self._table.tree, statement
        for up in tree.ancestors(statement):
            if isinstance(up, ast.If) and isinstance(up.test, ast.Name) and up.test.id in flags:
                if tree.blocks.get(child) == "body":
                    return True
            child = up
        return False

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Properties that only hand out an attribute -> that attribute."""
        return {name: attr for name, function in self.methods.items() if (attr := _handed_out(function))}

    @cached_property
    def mutations(self) -> dict[str, list[Mutation]]:
        """`self.x` -> its changes in place in all methods; of what those below it set, theirs."""
        found: dict[str, list[Mutation]] = {}
        for function in self.all_functions:
            owner = self_name(function)
            for key, changes in self._table.flow.mutations(function).items():
                head, _, rest = key.partition(".")
                if rest and head == owner and "." not in rest:
                    found.setdefault(f"self.{rest}", []).extend(changes)
        if "__init__" not in self.methods:
            own = set(found)
            for each in self._table.below.get(self, ()):
                for key, changes in each.mutations.items():
                    if key not in own:
                        found.setdefault(key, []).extend(changes)
        return found

    @cached_property
    def is_record(self) -> bool:
        """Whether it keeps what it is made of, and no more is written: a named tuple, or a dataclass."""
        decorators = (each.func if isinstance(each, ast.Call) else each for each in self.node.decorator_list)
        return self.has_base("NamedTuple") or any(last_name(each) == "dataclass" for each in decorators)

    def has_base(self, *endings: str) -> bool:
        """Whether a base outside the file has a last name that ends with one of these."""
        return any(last_name(base).endswith(endings) for base in self.outer_bases)


def _handed_out(function: FunctionNode) -> str:
    """The attribute that a property gives, if it does nothing else; else ""."""
    if not any(last_name(each) in ("property", "cached_property") for each in function.decorator_list):
        return ""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    known = isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name)
    return value.attr if known and value.value.id == self_name(function) else ""  # type: ignore[union-attr]


def self_name(function: FunctionNode) -> str:
    """The name of a method's first parameter (`self`), "" for static methods and functions without one."""
    if any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list):
        return ""
    first = [*function.args.posonlyargs, *function.args.args]
    return first[0].arg if first else ""


def runs_own(method: FunctionNode, calls: Iterable[ast.Call]) -> bool:
    """Whether a method runs something of its own object: a layer, another method, itself. calls: those in it."""
    own = self_name(method)
    return bool(own) and any(_root(each.func) == own for each in calls)


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
