"""One walk over the syntax tree: parents, nodes by kind, and what encloses what.

Parts of other modules of the project can be attached (`model/project.py` says which): they are numbered after the
module's own nodes and seen by `everywhere`, by scopes and by names, but never by `all`: what is found, is found here.

The walk is iterative (a 3,000-term sum is 3,000 levels deep) and table-driven: fields that never hold
a node with a position (contexts, operators) are not visited.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_LEAF_FIELDS = frozenset({"ctx", "op", "ops", "type_comment", "type_ignores", "kind", "id", "attr", "n", "s"})
_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_HOLDER_KINDS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_HOLDERS = frozenset(_HOLDER_KINDS)
_fields: dict[type[ast.AST], tuple[str, ...]] = {}

N = TypeVar("N", bound=ast.AST)
M = TypeVar("M", bound=ast.AST)
K = TypeVar("K", bound=ast.AST)


class Tree:
    """Index of one module's tree. Nodes are keyed by identity and numbered in source order."""

    def __init__(self, root: ast.Module) -> None:
        self.root = root
        self._own = 0
        """How many nodes are the module's own."""
        self._modules: list[tuple[int, ast.Module]] = []
        """The root and the attached modules with the number of their first node."""
        self._attached: dict[type[ast.AST], list[ast.AST]] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.blocks: dict[ast.AST, str] = {}
        """For a statement (or handler, or case): the field of its parent whose list it stands in."""
        self._kinds: dict[type[ast.AST], list[ast.AST]] = {}
        self._bodies: dict[ast.AST, tuple[int, int]] = {}
        self._order: list[ast.AST] = []
        self._number: dict[ast.AST, int] = {}
        self._holders: list[int] = []
        """By number: the innermost def, class or module around the node."""
        self._ends: list[int] = []
        """By number: one past the last node below."""
        self._within: dict[ast.AST, list[ast.AST]] = {}
        self._walk(root, self._kinds)
        self._own = len(self._order)

    def attach(self, modules: Sequence[ast.Module]) -> None:
        """Index parts of other modules as well."""
        for each in modules:
            self._walk(each, self._attached)

    def _walk(self, root: ast.Module, kinds: dict[type[ast.AST], list[ast.AST]]) -> None:
        """Number every node: a parent, its leaves, then its other children with all that is below each.

        Names and constants are half of all nodes and have nothing below: they never see the stack.
        """
        parents, blocks, order, number, holders = self.parents, self.blocks, self._order, self._number, self._holders
        first = len(order)
        self._modules.append((first, root))
        above: list[int] = []
        names, constants = kinds.setdefault(ast.Name, []), kinds.setdefault(ast.Constant, [])
        stack: list[tuple[ast.AST, int, int]] = [(root, first, first)]
        while stack:
            node, parent, holder = stack.pop()
            kind = node.__class__
            here = number[node] = len(order)
            order.append(node)
            above.append(parent)
            holders.append(holder)
            if kind in kinds:
                kinds[kind].append(node)
            else:
                kinds[kind] = [node]
            fields = _fields.get(kind)
            if fields is None:
                fields = _fields[kind] = tuple(f for f in kind._fields if f not in _LEAF_FIELDS)
            if kind in _HOLDERS:
                holder = here
            inner: list[tuple[ast.AST, int, int]] = []
            for name in fields:
                value = getattr(node, name, None)
                if value is None:
                    continue
                for child in value if value.__class__ is list else (value,):
                    below = child.__class__
                    if below is ast.Name or below is ast.Constant:
                        number[child] = len(order)
                        order.append(child)
                        above.append(here)
                        holders.append(holder)
                        (names if below is ast.Name else constants).append(child)
                    elif isinstance(child, ast.AST):
                        inner.append((child, here, holder))
                        if name in _BLOCKS and value.__class__ is list:  # a lambda's body is none
                            blocks[child] = name
                    else:
                        continue
                    parents[child] = node
            inner.reverse()
            stack += inner
        sizes = [1] * len(above)
        for i in range(len(above) - 1, 0, -1):
            sizes[above[i] - first] += sizes[i]
        self._ends += [first + i + size for i, size in enumerate(sizes)]

    @overload
    def all(self, one: type[N], two: type[M], /) -> list[N | M]: ...
    @overload
    def all(self, one: type[N], two: type[M], three: type[K], /) -> list[N | M | K]: ...
    @overload
    def all(self, *kinds: type[N]) -> list[N]: ...
    def all(self, *kinds: type[ast.AST]) -> Sequence[ast.AST]:
        """Every node of these kinds in the module itself, in source order within each kind."""
        if len(kinds) == 1:
            return self._kinds.get(kinds[0], [])
        return [node for kind in kinds for node in self._kinds.get(kind, [])]

    @overload
    def everywhere(self, one: type[N], two: type[M], /) -> list[N | M]: ...
    @overload
    def everywhere(self, one: type[N], two: type[M], three: type[K], /) -> list[N | M | K]: ...
    @overload
    def everywhere(self, *kinds: type[N]) -> list[N]: ...
    def everywhere(self, *kinds: type[ast.AST]) -> Sequence[ast.AST]:
        """Every node of these kinds, those of attached modules last."""
        found = [node for kind in kinds for node in self._kinds.get(kind, [])]
        found += [node for kind in kinds for node in self._attached.get(kind, [])]
        return found

    def is_own(self, node: ast.AST) -> bool:
        """Whether a node is the module's own, not one of an attached module."""
        return self._number[node] < self._own

    def module_of(self, node: ast.AST) -> ast.Module:
        """The module that a node belongs to."""
        at = bisect_right(self._modules, self._number[node], key=lambda each: each[0])
        return self._modules[at - 1][1]

    def below(self, scope: ast.AST, kind: type[N]) -> list[N]:
        """Every node of a kind below a node of the module itself, in source order, nested functions looked into."""
        nodes: list[N] = self._kinds.get(kind, [])  # type: ignore[assignment]
        start, end = self.span(scope)
        number = self._number.__getitem__
        return nodes[bisect_right(nodes, start, key=number) : bisect_right(nodes, end - 1, key=number)]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Parents from the inside out."""
        parents = self.parents
        up = parents.get(node)
        while up is not None:
            yield up
            up = parents.get(up)

    def inside(self, node: ast.AST, outer: ast.AST) -> bool:
        """Whether `node` is `outer` or below it."""
        start = self._number[outer]
        return start <= self._number[node] < self._ends[start]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The numbers of a node and of what comes after all that is below it."""
        start = self._number[node]
        return start, self._ends[start]

    def scope(self, node: ast.AST) -> Scope:
        """The innermost function, lambda, class or module whose names an expression at `node` sees first.

        A function's decorators, defaults and annotations, and a class's bases, belong to the scope around it.
        """
        number = self._number[node]
        if ast.Lambda in self._kinds and (found := self._lambda_around(node)) is not None:
            return found
        holder = self._order[self._holders[number]]
        while not isinstance(holder, ast.Module):
            start, end = self._bodies.get(holder) or self._body(holder)
            if start <= number < end:
                return holder  # type: ignore[return-value]
            number = self._number[holder]
            holder = self._order[self._holders[number]]
        return holder

    def _body(self, holder: ast.AST) -> tuple[int, int]:
        """The numbers of what runs inside a def or class: parameters and body, not decorators and bases."""
        body: list[ast.stmt] = holder.body  # type: ignore[attr-defined]
        first = getattr(holder, "args", body[0])
        found = self._bodies[holder] = (self._number[first], self._ends[self._number[body[-1]]])
        return found

    def _lambda_around(self, node: ast.AST) -> ast.Lambda | None:
        for up in self.ancestors(node):
            if isinstance(up, ast.Lambda):
                return up
            if isinstance(up, ast.stmt):
                return None
        return None

    def function(self, node: ast.AST) -> FunctionNode | None:
        """The innermost `def` around `node` (lambdas and comprehensions are looked through)."""
        scope = self.scope(node)
        while isinstance(scope, ast.Lambda):
            scope = self.scope(scope)
        return scope if isinstance(scope, FUNCTIONS) else None

    def class_of(self, function: ast.AST) -> ast.ClassDef | None:
        """The class whose body directly holds this function."""
        up = self.parents.get(function)
        while isinstance(up, (ast.If, ast.Try)):
            up = self.parents.get(up)
        return up if isinstance(up, ast.ClassDef) else None

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that `node` is or is part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops whose body runs `node` again and again, innermost first, up to the enclosing function."""
        found: list[Loop] = []
        child = node
        for up in self.ancestors(node):
            if isinstance(up, SCOPES) and not (isinstance(up, FUNCTIONS) and child not in self.blocks):
                break
            if isinstance(up, LOOPS) and self.blocks.get(child) == "body":
                found.append(up)
            elif isinstance(up, ast.While) and child is up.test:
                found.append(up)
            child = up
        return found

    def within(self, scope: ast.AST) -> list[ast.AST]:
        """Nodes below `scope` in source order, without the insides of nested functions and classes."""
        found = self._within.get(scope)
        if found is None:
            start = self._number[scope]
            holders = self._holders
            own = start if isinstance(scope, _HOLDER_KINDS) else holders[start]
            order = self._order
            found = [order[i] for i in range(start + 1, self._ends[start]) if holders[i] == own]
            self._within[scope] = found
        return found

    def calls(self, scope: ast.AST) -> list[ast.Call]:
        """The calls in `scope`, in source order, without those of nested functions and classes."""
        return [node for node in self.within(scope) if isinstance(node, ast.Call)]
