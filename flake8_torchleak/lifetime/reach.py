"""Which functions of a file may run which others of it, by the names that they read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypeVar

from flake8_torchleak.lifetime.uses import Uses, uses_of
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

K = TypeVar("K")
V = TypeVar("V")
_Key = tuple[str | ast.ClassDef, str]
"""A way from a name to functions: how it is read (of the objects of a class, by that), and the name."""

_MOST_ABOVE = 12
"""Classes above one another that are looked into."""


class Reach:
    """The functions at the top of a file and the methods of its classes, and how they lead to each other.

    A variable's name leads to a function or class, `self.name` to the methods of the class and of those above and
    below it, another attribute to whatever is called so: too much, never too little, but for names made at run time.
    """

    def __init__(self, functions: list[tuple[FunctionNode, ast.ClassDef | None]], classes: list[ast.ClassDef]) -> None:
        self.owners = dict(functions)
        self._classes = classes
        self.uses: dict[FunctionNode, Uses] = {function: uses_of(function) for function, _ in functions}

    @cached_property
    def named(self) -> dict[str, list[FunctionNode]]:
        """The functions by their names."""
        found: dict[str, list[FunctionNode]] = {}
        for function in self.uses:
            found.setdefault(function.name, []).append(function)
        return found

    @cached_property
    def _by_variable(self) -> dict[str, list[FunctionNode]]:
        """What the name of a variable leads to: a function, or what runs by itself when an object is made or used."""
        found: dict[str, list[FunctionNode]] = {}
        for function, owner in self.owners.items():
            if owner is None:
                found.setdefault(function.name, []).append(function)
        for each in self._classes:
            found.setdefault(each.name, []).extend(self._special(each))
        return found

    def _special(self, node: ast.ClassDef) -> list[FunctionNode]:
        """The methods that run by themselves, of a class and of those above it."""
        above = [node]
        for each in above:  # it grows as it is gone through
            above += [one for one in self._bases(each) if one not in above and len(above) < _MOST_ABOVE]
        return [function for each in above for function in each.body if _runs_by_itself(function)]  # type: ignore[misc]

    def _bases(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        names = (last_name(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases)
        return [each for name in names for each in self._called.get(name, ())]

    @cached_property
    def _called(self) -> dict[str, list[ast.ClassDef]]:
        """The classes by their names."""
        found: dict[str, list[ast.ClassDef]] = {}
        for each in self._classes:
            found.setdefault(each.name, []).append(each)
        return found

    @cached_property
    def _family(self) -> dict[ast.ClassDef, ast.ClassDef]:
        """For each class one of those that it is above, below or beside."""
        heads = {each: each for each in self._classes}

        def head(node: ast.ClassDef) -> ast.ClassDef:
            while heads[node] is not node:
                heads[node] = node = heads[heads[node]]
            return node

        for each in self._classes:
            for above in self._bases(each):
                heads[head(above)] = head(each)
        return {each: head(each) for each in self._classes}

    @cached_property
    def _of_family(self) -> dict[ast.ClassDef, dict[str, list[FunctionNode]]]:
        """The methods of the classes that belong together, by their names."""
        found: dict[ast.ClassDef, dict[str, list[FunctionNode]]] = {}
        for each, head in self._family.items():
            methods = found.setdefault(head, {})
            for function in each.body:
                if isinstance(function, FUNCTIONS):
                    methods.setdefault(function.name, []).append(function)
        return found

    @cached_property
    def _led_to(self) -> dict[_Key, list[FunctionNode]]:
        """Where each way leads that some function, or the module, may take."""
        found: dict[_Key, list[FunctionNode]] = {("variable", name): each for name, each in self._by_variable.items()}
        found |= {("attribute", name): each for name, each in self.named.items()}
        for head, methods in self._of_family.items():
            found |= {(head, name): each for name, each in methods.items()}
        return found

    def _ways(self, uses: Uses, owner: ast.ClassDef | None) -> set[_Key]:
        """The ways that names lead to functions of the file."""
        head = self._family[owner] if owner is not None else None
        methods = self._of_family[head] if head is not None else {}
        found: set[_Key] = {("variable", name) for name in uses.names & self._by_variable.keys()}
        if head is not None:
            found |= {(head, name) for name in uses.own & methods.keys()}
        others = uses.others | (uses.own - methods.keys())
        return found | {("attribute", name) for name in others & self.named.keys()}

    @cached_property
    def _ways_from(self) -> dict[FunctionNode, set[_Key]]:
        return {function: self._ways(uses, self.owners[function]) for function, uses in self.uses.items()}

    def read_by(self, uses: Uses) -> set[FunctionNode]:
        """The functions that a module's own statements may run, and those that these may."""
        return self.all_below({each for way in self._ways(uses, None) for each in self._led_to[way]})

    def below(self, function: FunctionNode) -> set[FunctionNode]:
        """The functions that one may run itself."""
        return {each for way in self._ways_from[function] for each in self._led_to[way]}

    def all_below(self, functions: Iterable[FunctionNode]) -> set[FunctionNode]:
        """These functions, and those that they may run."""
        return _all(functions, self._ways_from, self._led_to)

    @cached_property
    def _taken_by(self) -> dict[_Key, list[FunctionNode]]:
        return _turned(self._ways_from)

    @cached_property
    def _ways_to(self) -> dict[FunctionNode, list[_Key]]:
        return _turned(self._led_to)

    def all_above(self, functions: Iterable[FunctionNode]) -> set[FunctionNode]:
        """These functions, and those that may run them."""
        return _all(functions, self._ways_to, self._taken_by)


def _runs_by_itself(node: ast.stmt) -> bool:
    """Whether it is a method that runs when an object is made or used, with no name for it."""
    return isinstance(node, FUNCTIONS) and (node.name == "forward" or node.name[:2] == node.name[-2:] == "__")


def _all(
    functions: Iterable[FunctionNode],
    ways: Mapping[FunctionNode, Iterable[_Key]],
    leading: Mapping[_Key, Iterable[FunctionNode]],
) -> set[FunctionNode]:
    """These functions, and those that ways lead to from there; each way is gone once, however many take it."""
    found = set(functions)
    new, gone = list(found), set[_Key]()
    while new:
        for way in set(ways.get(new.pop(), ())) - gone:
            gone.add(way)
            more = [each for each in leading.get(way, ()) if each not in found]
            found.update(more)
            new += more
    return found


def _turned(table: Mapping[K, Iterable[V]]) -> dict[V, list[K]]:
    found: dict[V, list[K]] = {}
    for key, values in table.items():
        for each in values:
            found.setdefault(each, []).append(key)
    return found
