"""What a function changes of what it is handed, as changes at its call: `put(self.files, path)` adds to `self.files`.

A function of the file, nested in the caller, or of another file; a method; a bound method with a name of its own
(`push = kept.append`); a `partial` of any of them. Calls are looked into whose result nobody reads, or which make the
elements of a comprehension.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How, Mutation, container_of, is_changing, key_of
from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.names import parameters
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, FunctionNode, Scope

if TYPE_CHECKING:
    from flake8_torchleak.model.classes import ClassTable

_MOST_CALLS = 3
"""Helpers of helpers that are followed."""
_MOST_CHANGES = 50
"""Changes that one call is taken for."""
_PARTIALS = frozenset({"functools.partial"})


@dataclass(frozen=True, slots=True, eq=False)
class _Called:
    """What a call runs: a function of the project with what its parameters are given, or a container's method."""

    function: FunctionNode | None
    given: dict[str, ast.expr]
    method: ast.Attribute | None = None
    owner: str = ""
    """The parameter that is the object whose method it is."""


class Handing:
    """Changes of variables, those included that calls make of what they hand over."""

    def __init__(self, classes: ClassTable) -> None:
        self.classes = classes
        self._tree, self._names, self._flow = classes.tree, classes.names, classes.flow

    @remembered
    def mutations(self, scope: Scope) -> dict[str, list[Mutation]]:
        """key -> changes in place of that variable in this scope, in source order."""
        own = self._flow.own_mutations(scope)
        handed = self._changes(scope, _MOST_CALLS)
        aliases = self._aliases(scope)
        if not handed and aliases.keys().isdisjoint(own):
            return own
        found: dict[str, list[Mutation]] = {}
        for each in (*(each for changes in own.values() for each in changes), *handed):
            key = aliases.get(each.key, each.key)
            found.setdefault(key, []).append(replace(each, key=key) if key != each.key else each)
        for changes in found.values():
            changes.sort(key=lambda each: self._tree.number(each.node))
        return found

    def _aliases(self, scope: Scope) -> dict[str, str]:
        """`self.view` -> `self.files`, where a property of the class only hands that out."""
        facts = self.classes.around(scope)
        if facts is None or not facts.aliases or not isinstance(scope, FUNCTIONS):
            return {}
        owner = self_name(scope)
        return {f"{owner}.{name}": f"{owner}.{attr}" for name, attr in facts.aliases.items()}

    def _changes(self, scope: Scope, depth: int) -> list[Mutation]:
        """The changes that calls in a scope make."""
        return [
            each
            for call in self._tree.calls(scope)
            if (call.args or call.keywords) and self._may_change(call)
            for each in self._at(call, scope, depth)
        ]

    def _may_change(self, call: ast.Call) -> bool:
        """Whether a call is one for what it does: a statement, or what makes the elements of a comprehension."""
        parent = self._tree.parents[call]
        if isinstance(parent, ast.Expr):
            return True
        own = isinstance(parent, COMPREHENSIONS) and isinstance(call.func, ast.Name)
        return own and any(isinstance(each, FUNCTIONS) for each in self._names.bound(call.func.id, call))  # type: ignore[attr-defined]

    @remembered
    def _made(self, function: FunctionNode, depth: int) -> list[Mutation]:
        """What a function changes, its own calls included."""
        own = [each for changes in self._flow.own_mutations(function).values() for each in changes]
        # What detaches changes no content; but the caller's tensor is cut off, too.
        found = [each for each in own if is_changing(each.method) or each.method == "detach_"]
        return (found + (self._changes(function, depth) if depth else []))[:_MOST_CHANGES]

    def _at(self, call: ast.Call, scope: Scope, depth: int) -> Iterator[Mutation]:
        """The changes that one call makes, of variables of the scope that it stands in."""
        called = self._called(call)
        if called is None:
            return
        if called.method is not None:
            yield from self._by_method(call, called.method)
        else:
            assert called.function is not None
            for each in self._made(called.function, depth - 1):
                change = self._here(each, call, called, scope)
                if change is not None:
                    yield change

    def _by_method(self, call: ast.Call, method: ast.Attribute) -> list[Mutation]:
        """`push(value)`, which is `kept.append(value)`."""
        inner, depth = container_of(method.value)
        key, value = key_of(inner), call.args[-1] if call.args else None
        if not key or not is_changing(method.attr):
            return []
        index = call.args[0] if len(call.args) > 1 else None
        return [Mutation(key, call, method.attr, value, index, depth, method.value)]

    def _here(self, change: Mutation, call: ast.Call, called: _Called, scope: Scope) -> Mutation | None:
        """A change of the function as one at its call; None where it changes nothing that the caller has."""
        function = called.function
        assert function is not None
        head, _, rest = change.key.partition(".")
        within = (*change.within, change.node)
        value, index = self._given(change.value, called), self._given(change.index, called)
        target = self._parameter(head, called)
        if target is None:
            around = self._tree.scope(function)
            if around is not scope or isinstance(around, ast.Module) or self._binds(function, head):
                return None  # what is not the caller's own is found in the function itself
            return Mutation(change.key, call, change.method, value, index, change.depth, change.target, within)
        if head == called.owner and value is change.value:
            return None  # the class knows what its methods do to its own attributes
        inner, depth = container_of(target)
        key = key_of(inner)
        if not key or (change.method == "augment" and not rest):
            return None  # `total += x` is the function's own
        if rest and depth:
            return None
        whole = target if not rest and not change.depth else change.target
        key = f"{key}.{rest}" if rest else key
        return Mutation(key, call, change.method, value, index, depth + change.depth, whole, within)

    def _given(self, node: ast.expr | None, called: _Called) -> ast.expr | None:
        """What the caller hands over, where a function puts in one of its parameters; else what it puts in."""
        given = self._parameter(node.id, called) if isinstance(node, ast.Name) else None
        return node if given is None else given

    def _parameter(self, name: str, called: _Called) -> ast.expr | None:
        """What a parameter is given that is bound to nothing else."""
        assert called.function is not None
        bound = self._flow.definitions(called.function).get(name, ())
        if len(bound) != 1 or bound[0].how is not How.PARAMETER:
            return None
        return called.given.get(name)

    def _binds(self, function: FunctionNode, name: str) -> bool:
        return name in self._names.bindings.get(function, ())

    def _called(self, call: ast.Call) -> _Called | None:
        function = self.classes.callee(call)
        if function is not None:
            return self._bound(function, call, [])
        func = call.func
        reaching = self._flow.reaching(func.id, func) if isinstance(func, ast.Name) else []
        made = reaching[0].value if len(reaching) == 1 and reaching[0].is_plain else None
        if isinstance(made, ast.Attribute):
            return _Called(None, {}, made)
        if isinstance(made, ast.Call) and made.args and self._names.qualname(made.func) in _PARTIALS:
            known = self._names.definition(made.args[0])
            if isinstance(known, (ast.FunctionDef, ast.AsyncFunctionDef)) and self._tree.class_of(known) is None:
                return self._bound(known, call, made.args[1:], made.keywords)
        return None

    def _bound(
        self, function: FunctionNode, call: ast.Call, first: list[ast.expr], also: list[ast.keyword] | None = None
    ) -> _Called:
        """Which parameters of a function are given what."""
        given: dict[str, ast.expr] = {}
        expected = [each.arg for each in parameters(function)]
        placed = [*first, *call.args]
        owner = ""
        if self._tree.class_of(function) is not None and not self._is_static(function) and expected:
            named = isinstance(call.func, ast.Attribute) and self.classes.of(call.func.value) is None
            if named:
                owner = expected[0]
                receiver = call.func.value  # type: ignore[attr-defined]
                if not isinstance(receiver, ast.Call):
                    given[owner] = receiver
                expected = expected[1:]
        for name, argument in zip(expected, placed):
            if isinstance(argument, ast.Starred):
                break
            given[name] = argument
        for keyword in (*call.keywords, *(also or ())):
            if keyword.arg is not None:
                given[keyword.arg] = keyword.value
        return _Called(function, given, None, owner)

    @staticmethod
    def _is_static(function: FunctionNode) -> bool:
        return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in function.decorator_list)
