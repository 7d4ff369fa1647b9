"""Where variables are bound and containers changed.

Variables are named by a *key*: "x" for a name, "self.x" for an attribute of a name.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum

from flake8_torchleak.model.names import Names, dotted, parameters
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, Scope, Tree


class How(Enum):
    """How a variable gets its value."""

    ASSIGN = "assign"
    AUGMENT = "augment"
    ITERATE = "iterate"
    ENTER = "enter"
    PARAMETER = "parameter"
    REST = "rest"
    OTHER = "other"


ARMS = (ast.ExceptHandler, ast.match_case)
"""What binds names for its own body: `except ... as name`, `case name`."""


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
            if isinstance(self.statement, ARMS):
                node = getattr(self.node, "type", self.node) or self.node  # a pattern, or what a handler catches
            object.__setattr__(self, "effect", (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)))

    @property
    def is_plain(self) -> bool:
        """`x = value` as a whole, not one of several that are unpacked or iterated over."""
        return self.how is How.ASSIGN and not self.path


@dataclass(frozen=True, slots=True, eq=False)
class Mutation:
    """One change of a container in place.

    method: "append", "extend", "setitem", "update", "clear", ... (the method called, or the kind of statement).
    value: what goes in; index: the subscript of a "setitem"; depth: subscripts between variable and change
    (`d[k].append(v)` has depth 1); target: the container itself (`d[k]`); within: of a change that a function makes
    which is called at `node`, where it makes it, the innermost first.
    """

    key: str
    node: ast.expr | ast.stmt
    method: str
    value: ast.expr | None
    index: ast.expr | None = None
    depth: int = 0
    target: ast.expr | None = None
    within: tuple[ast.expr | ast.stmt, ...] = ()

    @property
    def elements(self) -> list[ast.expr]:
        """What becomes elements of the container, as far as it stands there: `v` of `c.append(v)` and `c += [v]`."""
        if self.value is None or self.method in _PUTS:
            return [self.value] if self.value is not None else []
        return spread(self.value) if self.method in ("extend", "augment", "update") else []


def spread(node: ast.expr) -> list[ast.expr]:
    """The elements of a display, or what a comprehension makes them of; nothing of other expressions."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return node.elts
    return [node.elt] if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)) else []


_PUTS = frozenset({"append", "appendleft", "add", "insert", "setitem", "setdefault", "put"})
_BINDERS = frozenset({
    ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Import,
    ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.match_case,
})  # fmt: skip
_CHANGERS = frozenset({ast.Call, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete})
GROWING = frozenset({"append", "extend", "add", "insert", "update", "setitem", "setdefault", "appendleft", "put"})
EDITING_METHODS = frozenset({
    "append", "extend", "insert", "remove", "pop", "popitem", "clear", "update", "setdefault", "sort", "reverse", "add",
    "discard", "fill", "resize", "partition", "itemset", "put",
})  # fmt: skip
"""Methods of containers and arrays that change them."""
_STATEMENTS = frozenset({"augment", "setitem", "augitem", "del"})
"""Changes that are no calls."""
_CHANGING = _STATEMENTS | EDITING_METHODS | {"appendleft", "popleft", "close", "reset"}
_DEEPEST = 20
"""Subscripts of one change that are looked through."""


def key_of(node: ast.AST) -> str:
    """The key of a variable or attribute expression, or "" for anything else."""
    parts = dotted(node)
    return ".".join(parts) if parts else ""


def container_of(node: ast.AST) -> tuple[ast.AST, int]:
    """The variable under subscripts and `.setdefault(...)` calls, and how many there are."""
    depth = 0
    while depth < _DEEPEST:
        if isinstance(node, ast.Subscript):
            node, depth = node.value, depth + 1
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault":
            node, depth = node.func.value, depth + 1
        else:
            break
    return node, depth


def is_changing(method: str) -> bool:
    """Whether what is done to a variable may change it: a statement, a method of containers and arrays, `add_`."""
    return method in _CHANGING or is_in_place(method)


def is_in_place(method: str) -> bool:
    """Whether a tensor's method changes it in place: `add_`, `clamp_`."""
    return method.endswith("_") and not method.startswith("_") and method not in ("requires_grad_", "detach_")


class Bindings:
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

    @remembered
    def with_attributes(self, scope: Scope) -> frozenset[str]:
        """The variables of which a scope sets attributes, or attributes of those (`loss.weight = 2`)."""
        return frozenset(key.partition(".")[0] for key in self.definitions(scope) if "." in key)

    @remembered
    def assigned(self, scope: Scope, key: str) -> list[Definition]:
        """The definitions of a key that are plain assignments: few of what is added to at many places."""
        return [each for each in self.definitions(scope).get(key, []) if each.how is How.ASSIGN]

    @remembered
    def giving(self, scope: Scope, key: str) -> list[Definition]:
        """The plain assignments of a key, and what else gives it a ternary."""
        found = self.definitions(scope).get(key, [])
        return [each for each in found if each.how is How.ASSIGN or isinstance(each.value, ast.IfExp)]

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
            elif isinstance(node, ast.ExceptHandler):
                if node.name is not None:
                    found.append(Definition(node.name, node, node, None, How.OTHER))
            elif isinstance(node, ast.match_case):
                found += self._captures(node)
            else:
                assert isinstance(node, (*FUNCTIONS, ast.ClassDef))
                found.append(Definition(node.name, node, node, None, How.OTHER))
        return found

    def _captures(self, case: ast.match_case) -> list[Definition]:
        """What the pattern of a case binds: all of the subject, or parts of it that nobody follows."""
        match = self.tree.parents[case]
        assert isinstance(match, ast.Match)
        found = []
        for node in ast.walk(case.pattern):
            name = captured(node)
            if name is not None:
                whole = node is case.pattern and isinstance(node, ast.MatchAs)
                value, how = (match.subject, How.ASSIGN) if whole else (None, How.OTHER)
                found.append(Definition(name, node, case, value, how))
        return found

    def targets(
        self,
        target: ast.expr,
        value: ast.expr,
        statement: ast.AST,
        how: How,
        path: tuple[int, ...],
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

    def own_mutations(self, scope: Scope) -> dict[str, list[Mutation]]:
        """key -> changes in place of that variable that a scope makes itself, in source order."""
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
            return [Mutation(key, node, node.func.attr, value, index, depth, node.func.value)] if key else []
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
            targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
            value = None if isinstance(node, ast.Delete) else node.value
            found = []
            for target in targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                given: list[ast.expr | None] = [value] * len(parts)
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and _unpacks(target, value):
                    given = [*value.elts]
                for each, part in zip(parts, given, strict=True):
                    found += self._stores(each, part, node)
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
            return [Mutation(key, node, method, value, target.slice, depth, target.value)] if key else []
        key = key_of(target)
        if key and isinstance(node, ast.AugAssign):
            return [Mutation(key, node, "augment", value, None, 0, target)]
        return []


def captured(pattern: ast.AST) -> str | None:
    """The name that a pattern itself binds."""
    return pattern.rest if isinstance(pattern, ast.MatchMapping) else getattr(pattern, "name", None)


def _unpacks(target: ast.Tuple | ast.List, value: ast.Tuple | ast.List) -> bool:
    return len(target.elts) == len(value.elts) and not any(
        isinstance(e, ast.Starred) for e in (*target.elts, *value.elts)
    )
