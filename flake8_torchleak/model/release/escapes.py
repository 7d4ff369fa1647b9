"""What becomes of what a holder keeps: only read, differentiated somewhere, or out of sight.

Every read of the holder is followed: through names that it is assigned to, loops over it, functions of the project
that it is handed to. What cannot be followed is out of sight, and with it whether the history is needed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.effects import TENSOR_METHODS
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.release.differentiation import Site
from flake8_torchleak.model.release.harmless import (
    CONTAINER_METHODS,
    ELEMENT_METHODS,
    ENDING,
    HISTORY,
    MOVING,
    PLAIN_ATTRIBUTES,
    READ_ONLY,
    READ_ONLY_METHODS,
    READ_ONLY_ROOTS,
)
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import COMPREHENSIONS, FunctionNode, Scope
from flake8_torchleak.model.values import Kind
from flake8_torchleak.wording import short

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MAKERS = frozenset({
    "list", "dict", "set", "tuple", "float", "int", "collections.deque", "collections.defaultdict",
    "collections.OrderedDict", "collections.Counter", "dict.fromkeys",
})  # fmt: skip
_MOST_VARIABLES = 40
"""Variables that what is kept goes through, before it counts as out of sight."""
_MOST_HELPERS = 3
"""Functions of functions that it is handed to."""


class Fate(IntEnum):
    """What becomes of a value, from harmless to harmful."""

    READ = 0
    """Printed, counted, logged, turned into numbers: its history is never needed."""
    RETURNED = 1
    """Given to callers that nobody can see."""
    OPEN = 2
    """In reach of code that nobody can see: an attribute, a variable of an outer scope."""
    HANDED = 3
    """Handed to code that nobody can see."""
    ASKED = 4
    """Asked for its history: who asks sees whether it was released."""
    DIFFERENTIATED = 5
    """Differentiated."""


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """The worst that becomes of a value: what, where, and in words."""

    fate: Fate
    node: ast.AST | None = None
    why: str = ""


_READ = Ending(Fate.READ)


class Escapes:
    """What becomes of what the variables of one module hold."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._helpers: list[FunctionNode] = []

    @remembered
    def is_shared(self, name: str, scope: Scope) -> bool:
        """Whether a variable of a scope is seen by other code: by a function inside, or bound further out."""
        if isinstance(scope, ast.Lambda) or self.module.names.scope_of(name, scope.body[0]) is not scope:
            return True
        return any(self.module.tree.scope(node) is not scope for node in self._by_name(scope).get(name, []))

    @remembered
    def reads_below(self, scope: Scope) -> list[ast.Name]:
        """The names that stand below a scope, of this module or an attached one, in source order."""
        if self.module.tree.is_own(scope):
            return self.module.tree.below(scope, ast.Name)
        return [node for node in ast.walk(scope) if isinstance(node, ast.Name)]

    @remembered
    def _by_name(self, scope: Scope) -> dict[str, list[ast.Name]]:
        """The names that stand below a scope, by what they are."""
        found: dict[str, list[ast.Name]] = {}
        for node in self.reads_below(scope):
            found.setdefault(node.id, []).append(node)
        return found

    def reads(self, name: str, owner: Scope | None) -> list[ast.Name]:
        """Where a variable of a scope (None: of none in the module) is read, in source order."""
        scope_of = self.module.names.scope_of
        below = self._by_name(owner or self.module.root).get(name, [])
        return [node for node in below if isinstance(node.ctx, ast.Load) and scope_of(name, node) is owner]

    @remembered
    def of_holder(self, key: str, node: ast.expr | ast.stmt) -> Ending:
        """What becomes of the content of the variable `key`, to which `node` adds."""
        scope = self.module.tree.scope(node)
        head, _, rest = key.partition(".")
        if rest:
            return self._of_attribute(key, node)
        owner = self.module.names.scope_of(head, node)
        if owner is None or isinstance(owner, (ast.ClassDef, ast.Lambda)):
            return Ending(Fate.OPEN, node, f"`{key}` is no variable of its own")
        followed = self._followed(key, owner)
        if owner is not scope:
            return max(followed, Ending(Fate.OPEN, node, f"`{key}` is a variable of an outer scope"), key=_fate)
        return max(followed, self._start(key, owner), key=_fate)

    def _of_attribute(self, key: str, node: ast.expr | ast.stmt) -> Ending:
        """An attribute is open to all code that has the object; what the module does with it can be seen."""
        open_ = Ending(Fate.OPEN, node, f"`{key}` is open to all code that has the object")
        return max(open_, self._of_uses(key, self.module.classes.around(node)), key=_fate)

    @remembered
    def _of_uses(self, key: str, facts: ClassFacts | None) -> Ending:
        """What the module does with an attribute, of objects of a class or of any."""
        attribute = key.partition(".")[2]
        worst = _READ
        own: set[ast.AST] = set()
        if facts is not None and "." not in attribute:
            for function in facts.all_functions:
                for use in self.module.classes.self_uses(function).get(attribute, []):
                    own.add(use)
                    if isinstance(use.ctx, ast.Load):
                        worst = max(worst, _Trail(self, {(key, function)}).destiny(use), key=_fate)
        for use, found in self._asked(attribute.rpartition(".")[2]):
            if use not in own:
                # The same name on another object, perhaps: enough to leave it alone, not to know what is done to it.
                worst = max(worst, found, key=_fate)
        return worst

    @remembered
    def _asked(self, name: str) -> list[tuple[ast.Attribute, Ending]]:
        """The attributes of one name in the module whose value is asked for its history."""
        found = [(use, _Trail(self, set()).destiny(use)) for use in self._attributes.get(name, [])]
        return [each for each in found if each[1].fate is Fate.ASKED]

    @cached_property
    def _attributes(self) -> dict[str, list[ast.Attribute]]:
        """name -> where an attribute of this name is read in the module."""
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.module.tree.all(ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                found.setdefault(node.attr, []).append(node)
        return found

    @remembered
    def _start(self, key: str, owner: Scope) -> Ending:
        """Whether the holder is made here: another object under another name would be open to others."""
        for each in self.module.flow.definitions(owner).get(key, []):
            plain = each.how is How.ASSIGN and not each.path and each.value is not None
            if each.how is How.AUGMENT or (plain and self._is_fresh(each.value, key)):
                continue
            return Ending(Fate.OPEN, each.statement, f"`{key}` is not made here")
        return _READ

    def _is_fresh(self, value: ast.expr | None, key: str) -> bool:
        """Whether an expression makes an object of its own."""
        if isinstance(value, (ast.List, ast.Dict, ast.Set, ast.Constant, ast.BinOp, ast.UnaryOp, *COMPREHENSIONS)):
            return True
        if isinstance(value, ast.IfExp):
            return self._is_fresh(value.body, key) and self._is_fresh(value.orelse, key)
        if isinstance(value, ast.Call):
            qualname = self.module.names.qualname(value.func)
            return qualname in _MAKERS or qualname.startswith("torch.")
        return value is not None and self.module.infer.value(value).kind is Kind.NUMBER

    @remembered
    def sites(self, scope: Scope) -> dict[ast.AST, list[Site]]:
        """Where a scope differentiates, by call."""
        found: dict[ast.AST, list[Site]] = {}
        for site in self.module.release.differentiation.sites(scope):
            found.setdefault(site.node, []).append(site)
        return found

    # -- following a variable ---------------------------------------------------------------------------------

    @remembered
    def _followed(self, name: str, owner: Scope) -> Ending:
        """The same, asked of no other variable's way: nothing is cut short for having been followed already."""
        return self._follow(name, owner)

    def _follow(self, name: str, owner: Scope) -> Ending:
        return _Trail(self, set()).variable(name, owner)

    def of_value(self, node: ast.expr) -> Ending:
        """What becomes of the value of an expression (the result of a call, say)."""
        return _Trail(self, set()).destiny(node)

    def of_parameter(self, function: FunctionNode, name: str) -> Ending:
        """What a function does with what it is handed as `name`; RETURNED where its result is made of it."""
        if len(self._helpers) >= _MOST_HELPERS or function in self._helpers:
            return Ending(Fate.HANDED, function, f"`{function.name}` hands it on and on")
        self._helpers.append(function)
        try:
            return self._follow(name, function)
        finally:
            self._helpers.pop()


def _fate(ending: Ending) -> Fate:
    return ending.fate


class _Trail:
    """One value on its way: what was followed already is not followed again."""

    def __init__(self, escapes: Escapes, seen: set[tuple[str, ast.AST]]) -> None:
        self.module, self.escapes = escapes.module, escapes
        self.seen = seen

    def variable(self, name: str, owner: Scope) -> Ending:
        """The worst that becomes of a variable, wherever it is read."""
        if (name, owner) in self.seen:
            return _READ
        if len(self.seen) >= _MOST_VARIABLES:
            return Ending(Fate.HANDED, owner, f"`{name}` goes through too many variables to follow")
        self.seen.add((name, owner))
        worst = _READ
        tree = self.module.tree
        for node in self.escapes.reads(name, owner):
            where = tree.scope(node)
            if where is not owner:
                inner = tree.function(node)
                what = f"`{inner.name}`" if inner is not None and inner is not owner else "a lambda"
                ending = max(self.destiny(node), Ending(Fate.OPEN, node, f"`{name}` is read in {what}"), key=_fate)
            else:
                ending = self.destiny(node)
            worst = max(worst, ending, key=_fate)
        return worst

    def destiny(self, node: ast.expr) -> Ending:
        """The worst that becomes of the value of one expression."""
        tree = self.module.tree
        child: ast.AST = node
        while True:
            up = tree.parents[child]
            if isinstance(up, ast.keyword):
                child = up
                continue
            if isinstance(up, ast.Call):
                if child is up.func:
                    return Ending(Fate.HANDED, up, f"`{short(up.func)}` is called")
                ending, goes_on = self._handed(up, child)
                if not goes_on:
                    return ending
                if ending.fate:
                    return max(ending, self.destiny(up), key=_fate)
            elif isinstance(up, ast.Attribute):
                if not isinstance(up.ctx, ast.Load):
                    return _READ
                found = self._attribute(up)
                if isinstance(found, Ending):
                    return found
                up = found
            elif isinstance(up, ast.Subscript):
                if not isinstance(up.ctx, ast.Load):
                    return _READ if child is up.value else self._unknown(up)
                if child is not up.value:
                    return _READ
            elif isinstance(up, COMPREHENSIONS):
                pass
            elif isinstance(up, ast.comprehension):
                if child is not up.iter:
                    return _READ
                return self._comprehension(up)
            elif isinstance(up, ast.stmt):
                return self._statement(up, child)
            elif isinstance(up, (ast.FormattedValue, ast.Compare, ast.JoinedStr, ast.Slice)):
                return _READ
            elif isinstance(up, ast.IfExp) and child is up.test:
                return _READ
            elif isinstance(up, ast.NamedExpr):
                named = self._bound(up.target, up)
                if named.fate:
                    return named
            elif isinstance(up, (ast.Yield, ast.YieldFrom)):
                return Ending(Fate.RETURNED, up, "it is yielded")
            elif isinstance(up, ast.Lambda):
                return Ending(Fate.HANDED, up, "a lambda gives it out")
            elif not isinstance(up, ast.expr):
                return self._unknown(up)
            child = up

    def _unknown(self, node: ast.AST) -> Ending:
        return Ending(Fate.HANDED, node, "it goes where it cannot be followed")

    def _statement(self, statement: ast.stmt, child: ast.AST) -> Ending:
        if isinstance(statement, ast.Return):
            return Ending(Fate.RETURNED, statement, "it is returned")
        if isinstance(statement, (ast.Expr, ast.Assert, ast.If, ast.While, ast.Delete, ast.Raise)):
            return _READ if not isinstance(statement, ast.Raise) else self._unknown(statement)
        if isinstance(statement, ast.Assign):
            return max((self._bound(target, statement) for target in statement.targets), key=_fate)
        if isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
            return self._bound(statement.target, statement)
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            return self._bound(statement.target, statement)
        return self._unknown(statement)

    def _bound(self, target: ast.expr, place: ast.AST) -> Ending:
        """What becomes of what is assigned."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return max((self._bound(each, place) for each in target.elts), key=_fate, default=_READ)
        if isinstance(target, ast.Starred):
            return self._bound(target.value, place)
        if isinstance(target, ast.Name):
            owner = self.module.names.scope_of(target.id, target)
            if owner is None or owner is not self.module.tree.scope(target):
                return Ending(Fate.OPEN, place, f"`{target.id}` is a variable of an outer scope")
            return self.variable(target.id, owner)
        root = target
        while isinstance(root, ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name) and root is not target:
            return self._bound(root, place)
        return Ending(Fate.HANDED, place, f"it is stored in `{short(target)}`")

    def _comprehension(self, generator: ast.comprehension) -> Ending:
        """What becomes of the elements that a comprehension goes over."""
        tree, names = self.module.tree, self.module.names
        whole = tree.parents[generator]
        bound = {node.id for node in ast.walk(generator.target) if isinstance(node, ast.Name)}
        worst = _READ
        for node in ast.walk(whole):
            if isinstance(node, ast.Name) and node.id in bound and isinstance(node.ctx, ast.Load):
                if names.comprehension(node) is generator:
                    worst = max(worst, self.destiny(node), key=_fate)
        return worst

    def _attribute(self, node: ast.Attribute) -> Ending | ast.expr:
        """What becomes of a part or method of the value; the expression to go on from where that is made of it."""
        call = self.module.tree.parents[node]
        name = node.attr
        if name in HISTORY:
            return Ending(Fate.ASKED, node, f"`.{name}` is asked for")
        if not isinstance(call, ast.Call) or call.func is not node:
            if name in PLAIN_ATTRIBUTES:
                return _READ
            if name in ("T", "mT", "real", "values", "indices"):
                return node
            part = Ending(Fate.OPEN, node, f"`{short(node)}` is read")
            return max(part, self.destiny(node), key=_fate)
        if name == "backward":
            return Ending(Fate.DIFFERENTIATED, call, "backward() is called on it")
        if name in ENDING or name in CONTAINER_METHODS:
            return _READ
        if name in ELEMENT_METHODS or name in ("to", "cuda", "type", "add_", "sub_", "mul_", "div_", "zero_"):
            return call
        effect = TENSOR_METHODS.get(name)
        if effect is None:
            return Ending(Fate.HANDED, call, f"`.{name}()` is called on it")
        return call if effect.graph else _READ

    def _handed(self, call: ast.Call, child: ast.AST) -> tuple[Ending, bool]:
        """(what a call does with one of its arguments, whether its result is made of it)."""
        qualname = self.module.names.qualname(call.func)
        name = last_name(call.func)
        if any(child is site.objective or self.module.tree.inside(child, site.objective) for site in self._sites(call)):
            return Ending(Fate.DIFFERENTIATED, call, f"`{short(call)}` differentiates it"), False
        if qualname in READ_ONLY or qualname.partition(".")[0] in READ_ONLY_ROOTS:
            return _READ, False
        if qualname in MOVING or (qualname.startswith("torch.") and qualname.count(".") == 1):
            return _READ, True
        if qualname.startswith(("torch.nn.functional.", "torch.special.", "torch.linalg.")):
            return _READ, True
        helper = self.module.classes.callee(call)
        if helper is not None:
            return self._in_helper(call, child, helper)
        if isinstance(call.func, ast.Attribute):
            if name in READ_ONLY_METHODS:
                return _READ, False
            if name in CONTAINER_METHODS or name in ("update", "setdefault"):
                return self._bound(call.func.value, call), False
            if self._is_tensor_method(call):
                return _READ, True
        return Ending(Fate.HANDED, call, f"it is handed to `{short(call.func)}`"), False

    def _sites(self, call: ast.Call) -> list[Site]:
        return self.escapes.sites(self.module.tree.scope(call)).get(call, [])

    def _is_tensor_method(self, call: ast.Call) -> bool:
        func = call.func
        return isinstance(func, ast.Attribute) and func.attr in TENSOR_METHODS and func.attr != "backward"

    def _in_helper(self, call: ast.Call, child: ast.AST, helper: FunctionNode) -> tuple[Ending, bool]:
        """What a function of the project does with an argument."""
        for parameter in parameters(helper):
            argument = self.module.classes.argument(call, parameter, helper)
            if argument is child or (isinstance(child, ast.keyword) and child.value is argument):
                if helper.decorator_list:
                    break
                ending = self.escapes.of_parameter(helper, parameter.arg)
                if ending.fate is Fate.RETURNED:
                    return _READ, True
                return ending, False
        return Ending(Fate.HANDED, call, f"it is handed to `{short(call.func)}`"), False
