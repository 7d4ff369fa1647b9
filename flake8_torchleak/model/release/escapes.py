"""What becomes of what a holder keeps: only read, differentiated somewhere, or out of sight.

Every read of the holder is followed: through names that it is assigned to, loops over it, functions of the project
that it is handed to. What cannot be followed is out of sight, and with it whether the history is needed.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.bounds import leave_out
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.release.differentiation import Site
from flake8_torchleak.model.release.fate import READ, Ending, Fate, fate_of
from flake8_torchleak.model.release.trail import Trail
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import COMPREHENSIONS, FunctionNode, Scope
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MAKERS = frozenset({
    "list", "dict", "set", "tuple", "float", "int", "collections.deque", "collections.defaultdict",
    "collections.OrderedDict", "collections.Counter", "dict.fromkeys",
})  # fmt: skip
_FRAME = frozenset({"eval", "exec", "locals", "globals", "vars"})
"""Builtins that reach variables by text."""
_MOST_HELPERS = 3
"""Functions of functions that it is handed to."""


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

    def augmented(self, name: str, owner: Scope) -> list[ast.Name]:
        """Where a variable is bound anew out of itself in place: `loss /= 2`."""
        tree, scope_of = self.module.tree, self.module.names.scope_of
        stored = (node for node in self._by_name(owner).get(name, []) if isinstance(node.ctx, ast.Store))
        return [
            node for node in stored if isinstance(tree.parents[node], ast.AugAssign) and scope_of(name, node) is owner
        ]

    @remembered
    def of_holder(self, key: str, node: ast.expr | ast.stmt) -> Ending:
        """What becomes of the content of the variable `key`, to which `node` adds."""
        scope = self.module.tree.scope(node)
        head, _, rest = key.partition(".")
        if rest:
            return self._of_attribute(key, node)
        owner = self.module.names.scope_of(head, node)
        if owner is None or isinstance(owner, (ast.ClassDef, ast.Lambda)):
            return Ending(Fate.OPEN, node, f"`{key}` is not a variable of its own")
        followed = max(self._followed(key, owner), self.of_frame(owner), key=fate_of)
        if owner is not scope:
            return max(followed, Ending(Fate.OPEN, node, f"`{key}` is a variable of an outer scope"), key=fate_of)
        return max(followed, self.start(key, owner), key=fate_of)

    @remembered
    def of_frame(self, owner: Scope) -> Ending:
        """What code may do with a scope's variables that names none: text that is run, or all of them as a dict."""
        for name in self._by_name(owner):
            for node in self._by_name(owner)[name] if name in _FRAME else ():
                up = self.module.tree.parents[node]
                of_object = name == "vars" and isinstance(up, ast.Call) and up.args  # `vars(args)`
                if self.module.names.qualname(node) == name and not of_object:
                    return Ending(Fate.OPEN, node, f"`{name}` reaches every variable there")
        return READ

    def _of_attribute(self, key: str, node: ast.expr | ast.stmt) -> Ending:
        """An attribute can be read by all code that has the object; what the module does with it can be seen."""
        open_ = Ending(Fate.OPEN, node, f"`{key}` can be read by all code that has the object")
        return max(open_, self._of_uses(key, self.module.classes.around(node)), key=fate_of)

    @remembered
    def _of_uses(self, key: str, facts: ClassFacts | None) -> Ending:
        """What the module does with an attribute, of objects of a class or of any."""
        attribute = key.partition(".")[2]
        worst = READ
        own: set[ast.AST] = set()
        if facts is not None and "." not in attribute:
            for function in facts.all_functions:
                for use in self.module.classes.self_uses(function).get(attribute, []):
                    own.add(use)
                    if isinstance(use.ctx, ast.Load):
                        worst = max(worst, Trail(self, {(key, function)}).destiny(use), key=fate_of)
        for use, found in self._asked(attribute.rpartition(".")[2]):
            if use not in own:
                # The same name on another object, perhaps: enough to leave it alone, not to know what is done to it.
                worst = max(worst, found, key=fate_of)
        return worst

    @remembered
    def _asked(self, name: str) -> list[tuple[ast.Attribute, Ending]]:
        """The attributes of one name in the module whose value is asked for its history."""
        found = [(use, Trail(self, set()).destiny(use)) for use in self.attributes.get(name, [])]
        return [each for each in found if each[1].fate is Fate.ASKED]

    @cached_property
    def attributes(self) -> dict[str, list[ast.Attribute]]:
        """name -> where an attribute of this name is read in the module."""
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.module.tree.all(ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                found.setdefault(node.attr, []).append(node)
        return found

    @remembered
    def start(self, key: str, owner: Scope) -> Ending:
        """Whether the holder is made here: another object under another name would be open to others."""
        for each in self.module.flow.definitions(owner).get(key, []):
            plain = each.is_plain and each.value is not None
            if each.how is How.AUGMENT or (plain and self._is_fresh(each.value, key)):
                continue
            return Ending(Fate.OPEN, each.statement, f"`{key}` is not made here")
        return READ

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
        return Trail(self, set()).variable(name, owner)

    def of_value(self, node: ast.expr) -> Ending:
        """What becomes of the value of an expression (the result of a call, say)."""
        return Trail(self, set()).destiny(node)

    def of_this_value(self, node: ast.expr) -> Ending:
        """The same, in the order of control: a variable that is bound anew is another one. No fix may rest on it."""
        return Trail(self, set(), in_order=True, origin=node).destiny(node)

    def of_parameter(self, function: FunctionNode, name: str) -> Ending:
        """What a function does with what it is handed as `name`; RETURNED where its result is made of it."""
        if len(self._helpers) >= _MOST_HELPERS and function not in self._helpers:
            leave_out(self.module, function, f"what is kept is passed on by more than {_MOST_HELPERS} functions")
        if len(self._helpers) >= _MOST_HELPERS or function in self._helpers:
            return Ending(Fate.HANDED, function, f"`{function.name}` passes it on and on")
        self._helpers.append(function)
        try:
            return self._follow(name, function)
        finally:
            self._helpers.pop()
