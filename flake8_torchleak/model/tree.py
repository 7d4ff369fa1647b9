"""The syntax tree of a module: parents, nodes by kind, and what encloses what.

Parts of other modules of the project can be attached (`model/project.py` says which): they are numbered after the
module's own nodes and seen by `everywhere`, by scopes and by names, but never by `all`: what is found, is found here.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice
from typing import TypeVar, overload

from flake8_torchleak.model.index import HOLDERS, Index
from flake8_torchleak.model.remember import remembered

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TRIES: tuple[type[ast.Try], ...] = (ast.Try, *filter(None, [getattr(ast, "TryStar", None)]))
SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

N = TypeVar("N", bound=ast.AST)
M = TypeVar("M", bound=ast.AST)
K = TypeVar("K", bound=ast.AST)


class Tree:
    """Index of one module's tree. Nodes are keyed by identity and numbered in source order."""

    def __init__(self, root: ast.Module) -> None:
        index = Index(root)
        self.root = root
        self._own = len(index.order)
        """How many nodes are the module's own."""
        self._modules: list[tuple[int, ast.Module]] = [(0, root)]
        """The root and the attached modules with the number of their first node."""
        self._attached: dict[type[ast.AST], list[ast.AST]] = {}
        self.parents: dict[ast.AST, ast.AST] = dict(_parents(index))
        self.blocks = index.blocks
        """For a statement (or handler, or case): the field of its parent whose list it stands in."""
        self._kinds = index.kinds
        self._bodies: dict[ast.AST, tuple[int, int]] = {}
        self._order = index.order
        self._number: dict[ast.AST, int] = dict(zip(index.order, count()))
        self._holders = index.holders
        """By number: the innermost def, class or module around the node."""
        self._holders[0] = 0
        self._ends = index.ends
        """By number: one past the last node below."""
        self.own_bindings: dict[Scope, dict[str, list[ast.AST]]] | None = None
        """What the module itself binds, once `Names` has seen to it: attaching changes nothing there."""
        self._within: dict[ast.AST, list[ast.AST]] = {}
        self._calls: dict[ast.AST, list[ast.Call]] = {}
        self._statements: dict[ast.AST, ast.stmt] = {}
        self._loops: dict[ast.AST, list[Loop]] = {}
        self._blocks: dict[tuple[ast.AST, str], tuple[int, int]] = {}
        self._lambdas: dict[ast.AST, ast.Lambda | None] = {}

    @property
    def size(self) -> int:
        """How many nodes there are, those of attached modules included."""
        return len(self._order)

    def attach(self, modules: Iterable[tuple[ast.Module, Iterable[Index]]]) -> None:
        """Add parts of other modules, each with the index of its statements."""
        for module, statements in modules:
            top = len(self._order)
            self._modules.append((top, module))
            self._order.append(module)
            self._number[module] = top
            self._holders.append(top)
            self._ends.append(top + 1)
            for index in statements:
                self._add(index, module, top)
            self._ends[top] = len(self._order)

    def _add(self, index: Index, module: ast.Module, top: int) -> None:
        """Number a statement of an attached module on from what is there."""
        first, statement = len(self._order), index.order[0]
        self._order += index.order
        self._number.update(zip(index.order, count(first)))
        self._holders += [first + each if each >= 0 else top for each in index.holders]
        self._ends += [first + each for each in index.ends]
        self.parents.update(_parents(index))
        self.parents[statement] = module
        self.blocks.update(index.blocks)
        self.blocks[statement] = "body"
        for kind, nodes in index.kinds.items():
            self._attached.setdefault(kind, []).extend(nodes)

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
        return [*(node for kind in kinds for node in self._kinds.get(kind, [])), *self.attached(*kinds)]

    def attached(self, *kinds: type[ast.AST]) -> list[ast.AST]:
        """Every node of these kinds in attached modules."""
        return [node for kind in kinds for node in self._attached.get(kind, [])]

    @property
    def has_guests(self) -> bool:
        """Whether parts of other modules are attached."""
        return len(self._modules) > 1

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

    @remembered
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
        passed: list[ast.AST] = []
        found: ast.Lambda | None = None
        while node not in self._lambdas:
            passed.append(node)
            up = self.parents.get(node)
            if up is None or isinstance(up, (ast.stmt, ast.Lambda)):
                found = up if isinstance(up, ast.Lambda) else None
                break
            node = up
        else:
            found = self._lambdas[node]
        self._lambdas.update(dict.fromkeys(passed, found))
        return found

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
        passed: list[ast.AST] = []
        known = self._statements
        while not isinstance(node, ast.stmt):
            if node in known:
                node = known[node]
                break
            passed.append(node)
            node = self.parents[node]
        for each in passed:  # an expression can be thousands of levels deep: no level is climbed twice
            known[each] = node
        return node

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops whose body runs `node` again and again, innermost first, up to the enclosing function.

        The list is shared by all that have the same loops around them.
        """
        passed: list[ast.AST] = []
        known = self._loops
        while node not in known:
            up = self.parents.get(node)
            beyond = isinstance(up, SCOPES) and not (isinstance(up, FUNCTIONS) and node not in self.blocks)
            if up is None or beyond:
                known[node] = []
                break
            passed.append(node)
            node = up
        found = known[node]
        for each in reversed(passed):
            up = self.parents[each]
            if isinstance(up, LOOPS) and (
                self.blocks.get(each) == "body" or (isinstance(up, ast.While) and each is up.test)
            ):
                found = [up, *found]
            known[each] = found
        return found

    def block(self, node: ast.AST) -> tuple[int, int]:
        """The numbers of the first node, and of what comes after the last, of the block that a statement stands in."""
        parent, field = self.parents[node], self.blocks[node]
        known = self._blocks.get((parent, field))
        if known is None:
            if isinstance(parent, ast.Module):  # of another module only parts are attached
                known = self.span(parent)
            else:
                statements: list[ast.AST] = getattr(parent, field)
                known = (self._number[statements[0]], self._ends[self._number[statements[-1]]])
            self._blocks[(parent, field)] = known
        return known

    def number(self, node: ast.AST) -> int:
        """A node's place in the order of the tree."""
        return self._number[node]

    def within(self, scope: ast.AST) -> list[ast.AST]:
        """Nodes below `scope` in source order, without the insides of nested functions and classes."""
        found = self._within.get(scope)
        if found is None:
            start = self._number[scope]
            holders = self._holders
            own = start if isinstance(scope, HOLDERS) else holders[start]
            order = self._order
            found = [order[i] for i in range(start + 1, self._ends[start]) if holders[i] == own]
            self._within[scope] = found
        return found

    def calls(self, scope: ast.AST) -> list[ast.Call]:
        """The calls in `scope`, in source order, without those of nested functions and classes."""
        found = self._calls.get(scope)
        if found is None:
            found = self._calls[scope] = [node for node in self.within(scope) if isinstance(node, ast.Call)]
        return found


def _parents(index: Index) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Every node of an index but its root, with its parent."""
    return islice(zip(index.order, map(index.order.__getitem__, index.above)), 1, None)
