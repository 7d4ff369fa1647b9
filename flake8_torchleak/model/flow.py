"""Which assignments may reach an expression, and what fills a container.

Variables are named by a *key*: "x" for a name, "self.x" for an attribute of a name. The analysis is
structural (blocks, branches, loops), not a fixpoint: enough to know that `loss = loss.item()` one line up
replaced the tensor, that an `else` is not reached from its `if`, and that a loop carries values round.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum

from flake8_torchleak.model.names import Names, dotted, parameters
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS, Scope, Tree

_MOST_DEFINITIONS = 200
"""Definitions of one variable in one scope that are looked at: keeps generated code linear."""


class How(Enum):
    """How a variable gets its value."""

    ASSIGN = "assign"
    AUGMENT = "augment"
    ITERATE = "iterate"
    ENTER = "enter"
    PARAMETER = "parameter"
    REST = "rest"
    OTHER = "other"


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """One binding of a variable: `value` is what it is taken from, by `path` (indices of tuple unpacking)."""

    key: str
    node: ast.AST
    statement: ast.AST
    value: ast.expr | None
    how: How
    path: tuple[int, ...] = ()
    effect: tuple[int, int] = field(default=(0, 0), init=False)
    """Where it takes effect: after the statement that makes it, or in a loop's or with's body."""

    def __post_init__(self) -> None:
        if self.how is not How.PARAMETER:
            node = self.value if self.how in (How.ITERATE, How.ENTER) and self.value is not None else self.statement
            object.__setattr__(self, "effect", (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)))


@dataclass(frozen=True, slots=True, eq=False)
class Mutation:
    """One change of a container in place.

    method: "append", "extend", "setitem", "update", "clear", ... (the method called, or the kind of statement).
    value: what goes in; index: the subscript of a "setitem"; depth: subscripts between variable and change
    (`d[k].append(v)` has depth 1).
    """

    key: str
    node: ast.expr | ast.stmt
    method: str
    value: ast.expr | None
    index: ast.expr | None = None
    depth: int = 0


_BINDERS = frozenset({
    ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Import,
    ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
})  # fmt: skip
_CHANGERS = frozenset({ast.Call, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete})
GROWING = frozenset({"append", "extend", "add", "insert", "update", "setitem", "setdefault", "appendleft", "put"})
EMPTYING = frozenset({"clear", "del"})


def key_of(node: ast.AST) -> str:
    """The key of a variable or attribute expression, or "" for anything else."""
    parts = dotted(node)
    return ".".join(parts) if parts else ""


def container_of(node: ast.AST) -> tuple[ast.AST, int]:
    """The variable under subscripts and `.setdefault(...)` calls, and how many there are."""
    depth = 0
    while True:
        if isinstance(node, ast.Subscript):
            node, depth = node.value, depth + 1
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault":
            node, depth = node.func.value, depth + 1
        else:
            return node, depth


class Flow:
    """Definitions and mutations of one module, by scope and key."""

    def __init__(self, tree: Tree, names: Names) -> None:
        self.tree, self.names = tree, names
        self._definitions: dict[Scope, dict[str, list[Definition]]] = {}
        self._mutations: dict[Scope, dict[str, list[Mutation]]] = {}

    def definitions(self, scope: Scope) -> dict[str, list[Definition]]:
        """key -> its definitions in this scope, in source order."""
        found = self._definitions.get(scope)
        if found is None:
            found = self._definitions[scope] = {}
            for each in self._collect(scope):
                found.setdefault(each.key, []).append(each)
        return found

    def _collect(self, scope: Scope) -> list[Definition]:
        found: list[Definition] = []
        if isinstance(scope, (*FUNCTIONS, ast.Lambda)):
            found += [Definition(p.arg, p, scope, None, How.PARAMETER) for p in parameters(scope)]
        for node in self.tree.within(scope):
            if node.__class__ not in _BINDERS:
                continue
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.targets(target, node.value, node, How.ASSIGN, (), found)
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
                if node.value is not None:
                    self.targets(node.target, node.value, node, How.ASSIGN, (), found)
                elif isinstance(scope, ast.ClassDef) and isinstance(node.target, ast.Name):
                    found.append(Definition(node.target.id, node.target, node, None, How.OTHER))
            elif isinstance(node, ast.AugAssign):
                self.targets(node.target, node.value, node, How.AUGMENT, (), found)
            elif isinstance(node, (ast.For, ast.AsyncFor)):
                self.targets(node.target, node.iter, node, How.ITERATE, (), found)
            elif isinstance(node, (ast.With, ast.AsyncWith)):
                for item in node.items:
                    if item.optional_vars is not None:
                        self.targets(item.optional_vars, item.context_expr, node, How.ENTER, (), found)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    found.append(Definition(name, alias, node, None, How.OTHER))
            elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                found.append(Definition(node.name, node, node, None, How.OTHER))
        return found

    def targets(
        self, target: ast.expr, value: ast.expr, statement: ast.AST, how: How, path: tuple[int, ...],
        found: list[Definition],
    ) -> None:
        """Add to `found` what assigning `value` to `target` defines."""
        if isinstance(target, (ast.Tuple, ast.List)):
            for i, each in enumerate(target.elts):
                if isinstance(each, ast.Starred):
                    found.append(Definition(key_of(each.value), each, statement, value, How.REST))
                elif how is How.ASSIGN and isinstance(value, (ast.Tuple, ast.List)) and _unpacks(target, value):
                    self.targets(each, value.elts[i], statement, how, path, found)
                else:
                    self.targets(each, value, statement, how, (*path, i), found)
        else:
            key = key_of(target)
            if key:
                found.append(Definition(key, target, statement, value, how, path))

    def mutations(self, scope: Scope) -> dict[str, list[Mutation]]:
        """key -> changes in place of that variable in this scope, in source order."""
        found = self._mutations.get(scope)
        if found is None:
            found = self._mutations[scope] = {}
            for node in self.tree.within(scope):
                for each in self._changes(node) if node.__class__ in _CHANGERS else ():
                    found.setdefault(each.key, []).append(each)
        return found

    def _changes(self, node: ast.AST) -> list[Mutation]:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner, depth = container_of(node.func.value)
            key = key_of(inner)
            value = node.args[-1] if node.args else (node.keywords[0].value if node.keywords else None)
            index = node.args[0] if len(node.args) > 1 else None
            return [Mutation(key, node, node.func.attr, value, index, depth)] if key else []
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
            targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
            value = None if isinstance(node, ast.Delete) else node.value
            found = []
            for target in targets:
                for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                    found += self._stores(each, value, node)
            return found
        return []

    def _stores(self, target: ast.expr, value: ast.expr | None, node: ast.stmt) -> list[Mutation]:
        if isinstance(target, ast.Subscript):
            inner, depth = container_of(target.value)
            key = key_of(inner)
            if isinstance(node, ast.Delete):
                method = "del"
            else:
                method = "augitem" if isinstance(node, ast.AugAssign) else "setitem"
            return [Mutation(key, node, method, value, target.slice, depth)] if key else []
        key = key_of(target)
        if key and isinstance(node, ast.AugAssign):
            return [Mutation(key, node, "augment", value)]
        return []

    # -- reaching definitions -------------------------------------------------------------------------------

    def reaching(self, key: str, use: ast.AST, scope: Scope | None = None) -> list[Definition]:
        """The definitions of `key` that may give it the value seen at `use`, nearest first.

        Looks in the scope of `use`; for a name bound further out, all definitions there may reach.
        """
        if scope is None:
            scope = self.tree.scope(use)
            if key not in self.definitions(scope):
                outer = self.names.scope_of(key.partition(".")[0], use)
                if outer is None or outer is scope:
                    return []
                return self.definitions(outer).get(key, [])[:_MOST_DEFINITIONS]
        everything = self.definitions(scope).get(key, [])[-_MOST_DEFINITIONS:]
        position = _position(use)
        before = [d for d in everything if d.effect <= position]
        found: list[Definition] = []
        seen_branches: dict[ast.AST, set[str]] = {}
        stop: Definition | None = None
        for each in reversed(before):
            if self._exclusive(each.statement, use) or self._left(each.statement, use):
                continue
            found.append(each)
            if self.dominates(each, use) or self._covered(each.statement, use, seen_branches):
                stop = each
                break
        for loop in self.tree.loops(use):
            if stop is not None and self.tree.inside(stop.statement, loop):
                break
            for each in everything:
                if each not in found and each not in before and self.tree.inside(each.statement, loop):
                    found.append(each)
        return found

    def dominates(self, definition: Definition, use: ast.AST) -> bool:
        """Whether every way to `use` passes the definition (or enters the loop that makes it)."""
        if definition.how is How.PARAMETER:
            return True
        return self.always_before(definition.statement, use)

    def always_before(self, statement: ast.AST, use: ast.AST) -> bool:
        """Whether the statement stands above `use` in a block that `use` is in (with-blocks looked through)."""
        tree = self.tree
        if isinstance(statement, LOOPS) and tree.inside(use, statement):
            return True
        while not isinstance(statement, ast.stmt):
            statement = tree.parents[statement]
        while True:
            parent, block = tree.parents.get(statement), tree.blocks.get(statement)
            for child in _chain(tree, use):
                if tree.parents.get(child) is parent and tree.blocks.get(child) == block:
                    return True
            if isinstance(parent, (ast.With, ast.AsyncWith)) or (isinstance(parent, ast.Try) and block == "finalbody"):
                statement = parent
                continue
            return False

    def _exclusive(self, statement: ast.AST, use: ast.AST) -> bool:
        """Whether the two stand in different branches of one `if`."""
        tree = self.tree
        branch: dict[ast.AST, str] = {}
        for child in _chain(tree, use):
            parent = tree.parents.get(child)
            if isinstance(parent, ast.If) and child in tree.blocks:
                branch[parent] = tree.blocks[child]
        for child in _chain(tree, statement):
            parent = tree.parents.get(child)
            if parent in branch and tree.blocks.get(child, branch[parent]) != branch[parent]:
                return True
        return False

    def _left(self, statement: ast.AST, use: ast.AST) -> bool:
        """Whether the statement's block ends in `return` or `raise` before `use` could see it."""
        tree = self.tree
        for child in _chain(tree, statement):
            parent, block = tree.parents.get(child), tree.blocks.get(child)
            if parent is None or block is None or isinstance(parent, (*FUNCTIONS, ast.Module, ast.ClassDef)):
                continue
            if tree.inside(use, parent) and any(u in getattr(parent, block) for u in _chain(tree, use)):
                return False
            last = getattr(parent, block)[-1]
            if isinstance(last, (ast.Return, ast.Raise)):
                return True
        return False

    def _covered(self, statement: ast.AST, use: ast.AST, seen: dict[ast.AST, set[str]]) -> bool:
        """Whether, with this definition, all branches of an `if` above `use` have defined the variable."""
        tree = self.tree
        child: ast.AST = statement
        while True:
            parent = tree.parents.get(child)
            block = tree.blocks.get(child)
            if parent is None or block is None:
                return False
            if isinstance(parent, ast.If) and block == "body" and is_tensor_check(parent.test):
                return self.always_before(parent, use)
            if isinstance(parent, ast.If):
                seen.setdefault(parent, set()).add(block)
                if len(seen[parent]) < 2:
                    return False
                if self.always_before(parent, use):
                    return True
            elif not isinstance(parent, (ast.With, ast.AsyncWith)):
                return False
            child = parent


def is_tensor_check(test: ast.expr) -> bool:
    """`isinstance(x, torch.Tensor)`, `torch.is_tensor(x)`, `hasattr(x, "item")`: true for every tensor."""
    if not isinstance(test, ast.Call):
        return False
    name = test.func.attr if isinstance(test.func, ast.Attribute) else test.func.id if isinstance(test.func, ast.Name) else ""
    if name == "is_tensor":
        return True
    if name == "isinstance" and len(test.args) == 2:
        return "Tensor" in ast.dump(test.args[1])
    return name == "hasattr" and len(test.args) == 2 and getattr(test.args[1], "value", "") in ("item", "detach")


def _chain(tree: Tree, node: ast.AST) -> list[ast.AST]:
    return [node, *tree.ancestors(node)]


def _position(node: ast.AST) -> tuple[int, int]:
    if isinstance(node, (ast.Module, ast.arg, ast.comprehension)) and not hasattr(node, "lineno"):
        return (0, 0)
    return (node.lineno, node.col_offset)  # type: ignore[attr-defined]


def _unpacks(target: ast.Tuple | ast.List, value: ast.Tuple | ast.List) -> bool:
    return len(target.elts) == len(value.elts) and not any(
        isinstance(e, ast.Starred) for e in (*target.elts, *value.elts)
    )
