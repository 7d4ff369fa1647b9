"""One value on its way through a module: every expression that it becomes a part of, up to where it ends."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.behindpass import keeps_something
from flake8_torchleak.model.bounds import leave_out
from flake8_torchleak.model.effects import TENSOR_METHODS
from flake8_torchleak.model.layers import is_layer_of_torch
from flake8_torchleak.model.names import last_name, network_of, parameters
from flake8_torchleak.model.passes import classes_of, methods_of
from flake8_torchleak.model.release.asking import compares_identity, is_tried
from flake8_torchleak.model.release.differentiation import Site
from flake8_torchleak.model.release.fate import READ, Ending, Fate, fate_of
from flake8_torchleak.model.release.harmless import (
    APPLYING,
    ASKING,
    CONTAINER_METHODS,
    DRAWN,
    ELEMENT_METHODS,
    ENDING,
    HISTORY,
    MOVING,
    OF_DISTRIBUTIONS,
    OF_IMAGES,
    PLAIN_ATTRIBUTES,
    READ_ONLY,
    READ_ONLY_METHODS,
    READ_ONLY_ROOTS,
)
from flake8_torchleak.model.release.helpers import runs
from flake8_torchleak.model.running import runs_model
from flake8_torchleak.model.tree import COMPREHENSIONS, FunctionNode, Scope
from flake8_torchleak.wording import short

if TYPE_CHECKING:
    from flake8_torchleak.model.release.escapes import Escapes

_MOST_VARIABLES = 40
"""Variables that what is kept goes through, before it counts as out of sight."""


class Trail:
    """One value on its way: what was followed already is not followed again."""

    def __init__(
        self,
        escapes: Escapes,
        seen: set[tuple[str, ast.AST]],
        in_order: bool = False,
        origin: ast.expr | None = None,
    ) -> None:
        """in_order: whether variables that are bound anew count as others then, as far as the flow of control shows.

        origin: what gives the value, if a network that gets it back, as its state, is another thing.
        """
        self.module, self.escapes = escapes.module, escapes
        self.seen = seen
        self.in_order, self.origin = in_order, origin

    def variable(self, name: str, owner: Scope, bound: ast.AST | None = None) -> Ending:
        """The worst that becomes of a variable, wherever it is read. bound: by this statement, if that is known."""
        mark = name, bound if bound is not None else owner
        if mark in self.seen:
            return READ
        if len(self.seen) >= _MOST_VARIABLES:
            leave_out(self.module, owner, f"what is kept goes through more than {_MOST_VARIABLES} variables")
            return Ending(Fate.HANDED, owner, f"`{name}` goes through too many variables to follow")
        self.seen.add(mark)
        worst = READ
        tree = self.module.tree
        for node in self.escapes.reads(name, owner):
            if bound is not None and not self._may_be_of(node, bound):
                continue
            where = tree.scope(node)
            if where is not owner:
                inner = tree.function(node)
                what = f"`{inner.name}`" if inner is not None and inner is not owner else "a lambda"
                ending = max(self.destiny(node), Ending(Fate.OPEN, node, f"`{name}` is read in {what}"), key=fate_of)
            else:
                ending = self.destiny(node)
            worst = max(worst, ending, key=fate_of)
        if bound is not None:
            for node in self.escapes.augmented(name, owner):
                if self._may_be_of(node, bound):
                    worst = max(worst, self.variable(name, owner, tree.parents[node]), key=fate_of)
        return worst

    def _may_be_of(self, node: ast.Name, bound: ast.AST) -> bool:
        """Whether a variable may still be what a statement bound it to, where it is read."""
        ways = self.module.flow.reaching(node.id, node)
        return not ways or any(each.statement is bound for each in ways)

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
            elif isinstance(up, ast.Attribute):
                if not isinstance(up.ctx, ast.Load):
                    # `loss.requires_grad = False` raises where there is a history.
                    asks = up.attr in HISTORY and is_tried(self.module.tree, up)
                    return Ending(Fate.ASKED, up, f"`.{up.attr}` is set") if asks else READ
                found = self._attribute(up)
                if isinstance(found, Ending):
                    return found
                up = found
            elif isinstance(up, ast.Subscript):
                if not isinstance(up.ctx, ast.Load):
                    return READ if child is up.value else self._unknown(up)
                if child is not up.value:
                    return READ
            elif isinstance(up, COMPREHENSIONS):
                pass
            elif isinstance(up, ast.comprehension):
                if child is not up.iter:
                    return READ
                return self._comprehension(up)
            elif isinstance(up, ast.stmt):
                return self._statement(up, child)
            elif isinstance(up, ast.Compare) and compares_identity(up):
                return Ending(Fate.ASKED, up, "the code asks for its identity")
            elif isinstance(up, (ast.FormattedValue, ast.Compare, ast.JoinedStr, ast.Slice)):
                return READ
            elif isinstance(up, ast.IfExp) and child is up.test:
                return READ
            elif isinstance(up, ast.NamedExpr):
                named = self._bound(up.target, up)
                if named.fate:
                    return named
            elif isinstance(up, (ast.Yield, ast.YieldFrom)):
                return Ending(Fate.RETURNED, up, "it is yielded")
            elif isinstance(up, ast.Lambda):
                return Ending(Fate.HANDED, up, "a lambda returns it")
            elif not isinstance(up, ast.expr):
                return self._unknown(up)
            child = up

    def _unknown(self, node: ast.AST) -> Ending:
        return Ending(Fate.HANDED, node, "it is passed where it cannot be followed")

    def _statement(self, statement: ast.stmt, child: ast.AST) -> Ending:
        if isinstance(statement, ast.Return):
            return Ending(Fate.RETURNED, statement, "it is returned")
        if isinstance(statement, (ast.Expr, ast.Assert, ast.If, ast.While, ast.Delete, ast.Raise)):
            return READ if not isinstance(statement, ast.Raise) else self._unknown(statement)
        if isinstance(statement, ast.Assign):
            return max((self._bound(target, statement) for target in statement.targets), key=fate_of)
        if isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
            return self._bound(statement.target, statement)
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            return self._bound(statement.target, statement)
        return self._unknown(statement)

    def _bound(self, target: ast.expr, place: ast.AST) -> Ending:
        """What becomes of what is assigned."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return max((self._bound(each, place) for each in target.elts), key=fate_of, default=READ)
        if isinstance(target, ast.Starred):
            return self._bound(target.value, place)
        if isinstance(target, ast.Name):
            return self._named(target, place, place if self.in_order and isinstance(place, ast.Assign) else None)
        return self._put(target, place)

    def _named(self, name: ast.Name, place: ast.AST, bound: ast.AST | None) -> Ending:
        """What becomes of what a variable is, or holds. bound: the statement that binds it to that, if it does."""
        owner = self.module.names.scope_of(name.id, name)
        followed = READ if owner is None else self.variable(name.id, owner, bound)
        if owner is None or owner is not self.module.tree.scope(name):
            return max(Ending(Fate.OPEN, place, f"`{name.id}` is a variable of an outer scope"), followed, key=fate_of)
        return followed

    def _put(self, target: ast.expr, place: ast.AST) -> Ending:
        """What becomes of what is put into a container, or an attribute."""
        root = target
        while isinstance(root, ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name):
            owner = self.module.names.scope_of(root.id, root)
            made = READ if owner is None else self.escapes.start(root.id, owner)
            return max(self._named(root, place, None), made, key=fate_of)
        stored = Ending(Fate.HANDED, place, f"it is stored in `{short(target)}`")
        return max(stored, self._of_attribute(root), key=fate_of)

    def _of_attribute(self, node: ast.expr) -> Ending:
        """What the class does with one of its attributes, wherever it is read; of others', whether history is asked."""
        owned = self.module.classes.self_attribute(node)
        if owned is not None:
            facts, name = owned
            mark: tuple[str, ast.AST] = (f"self.{name}", facts.node)
            uses = [use for each in facts.all_functions for use in self.module.classes.self_uses(each).get(name, [])]
        elif isinstance(node, ast.Attribute):
            mark, uses = (f".{node.attr}", self.module.root), self.escapes.attributes.get(node.attr, [])
        else:
            return READ
        if mark in self.seen:
            return READ
        if len(self.seen) >= _MOST_VARIABLES:
            return Ending(Fate.ASKED, node, f"`{short(node)}` goes through too many variables to follow")
        self.seen.add(mark)
        endings = [self.destiny(use) for use in uses if isinstance(use.ctx, ast.Load)]
        if owned is None:
            # The same name on another object, perhaps: enough to leave it alone, not to know what is done to it.
            endings = [each for each in endings if each.fate is Fate.ASKED]
        return max(endings, key=fate_of, default=READ)

    def _comprehension(self, generator: ast.comprehension) -> Ending:
        """What becomes of the elements that a comprehension goes over."""
        tree, names = self.module.tree, self.module.names
        whole = tree.parents[generator]
        bound = {node.id for node in ast.walk(generator.target) if isinstance(node, ast.Name)}
        worst = READ
        for node in ast.walk(whole):
            if isinstance(node, ast.Name) and node.id in bound and isinstance(node.ctx, ast.Load):
                if names.comprehension(node) is generator:
                    worst = max(worst, self.destiny(node), key=fate_of)
        return worst

    def _attribute(self, node: ast.Attribute) -> Ending | ast.expr:
        """What becomes of a part or method of the value; the expression to go on from where that is made of it."""
        call = self.module.tree.parents[node]
        name = node.attr
        if name in HISTORY:
            return Ending(Fate.ASKED, node, f"`.{name}` is asked for")
        if not isinstance(call, ast.Call) or call.func is not node:
            if name in PLAIN_ATTRIBUTES:
                return READ
            if name in ("T", "mT", "real", "values", "indices"):
                return node
            part = Ending(Fate.OPEN, node, f"`{short(node)}` is read")
            return max(part, self.destiny(node), key=fate_of)
        if name == "backward":
            return Ending(Fate.DIFFERENTIATED, call, "backward() is called on it")
        if name == "numpy" and is_tried(self.module.tree, call):
            return Ending(Fate.ASKED, call, "the code tries whether `.numpy()` raises")
        if name in ENDING or name in CONTAINER_METHODS or (self.in_order and name == DRAWN):
            return READ
        if self.in_order and name in OF_DISTRIBUTIONS:
            return call
        if name in ELEMENT_METHODS or name in ("to", "cuda", "type", "add_", "sub_", "mul_", "div_", "zero_"):
            return call
        effect = TENSOR_METHODS.get(name)
        if effect is None:
            return Ending(Fate.HANDED, call, f"`.{name}()` is called on it")
        return call if effect.graph else READ

    def _handed(self, call: ast.Call, child: ast.AST) -> tuple[Ending, bool]:
        """(what a call does with one of its arguments, whether its result is made of it)."""
        qualname = self.module.names.qualname(call.func)
        name = last_name(call.func)
        if any(child is site.objective or self.module.tree.inside(child, site.objective) for site in self._sites(call)):
            return Ending(Fate.DIFFERENTIATED, call, f"`{short(call)}` differentiates it"), False
        if qualname in ASKING:
            return Ending(Fate.ASKED, call, f"`{short(call.func)}` is asked about it"), False
        if qualname in READ_ONLY or qualname.partition(".")[0] in READ_ONLY_ROOTS:
            return READ, False
        if qualname in APPLYING or any(keyword.arg == "key" for keyword in call.keywords):
            return self._applied(call, child)
        if qualname in MOVING or (qualname.startswith("torch.") and qualname.count(".") == 1):
            return READ, True
        if qualname.startswith(("torch.nn.functional.", "torch.special.", "torch.linalg.")):
            return READ, True
        helper = self.module.classes.callee(call)
        if helper is not None:
            return self._in_helper(call, child, helper)
        if is_layer_of_torch(self.module, call.func):
            return READ, True
        if self.in_order:  # what findings rest on, and no fix
            if qualname.startswith("torch.distributions."):
                return READ, True
            if qualname.partition(".")[0] in OF_IMAGES:
                return READ, False
            found = self._in_object(call, child)
            if found is not None:
                return found
        if isinstance(call.func, ast.Attribute):
            if name in READ_ONLY_METHODS:
                return READ, False
            if name in CONTAINER_METHODS or name in ("update", "setdefault"):
                return self._put(call.func.value, call), False
            if self._is_tensor_method(call):
                return READ, True
        return Ending(Fate.HANDED, call, f"it is passed to `{short(call.func)}`"), False

    def _in_object(self, call: ast.Call, child: ast.AST) -> tuple[Ending, bool] | None:
        """What the method of an object whose class is seen does with an argument, or a network: its output is made of
        that. None where neither is seen."""
        methods = methods_of(self.module, call)
        endings = [self._in_helper(call, child, each) for each in methods]
        if endings:
            return max((each for each, _ in endings), key=fate_of), any(goes_on for _, goes_on in endings)
        if call is self.origin or not runs_model(self.module, call):
            return None
        keeps = any(map(keeps_something, classes_of(self.module, network_of(call))))
        return None if keeps else (READ, True)

    def _applied(self, call: ast.Call, child: ast.AST) -> tuple[Ending, bool]:
        """What becomes of the elements that a call applies a function to: `map(f, x)`, `sorted(x, key=f)`."""
        keys = [keyword.value for keyword in call.keywords if keyword.arg == "key"]
        function = keys[0] if keys else call.args[0]
        qualname = self.module.names.qualname(function)
        by_torch = qualname.startswith("torch.") and qualname.count(".") == 1
        known = by_torch or qualname in READ_ONLY or qualname.startswith("operator.")
        if isinstance(function, ast.Lambda):
            known = not any(isinstance(node, ast.Call) for node in ast.walk(function.body))
        if not known or child is function:
            return Ending(Fate.HANDED, call, f"`{short(function)}` is applied to it"), False
        return READ, bool(keys) or qualname not in READ_ONLY

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
                if not runs(self.module, call, helper):
                    break
                ending = self.escapes.of_parameter(helper, parameter.arg)
                if ending.fate is Fate.RETURNED:
                    return READ, True
                return ending, False
        return Ending(Fate.HANDED, call, f"it is passed to `{short(call.func)}`"), False
