"""Networks whose outputs nobody reads: `features = net.encode(x)`, and no `features` after it.

The graph of such an output lives as long as its name, beside the one that is trained with.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.behindpass import leaves_nothing
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.effects import MODULE_SELF
from flake8_torchleak.model.fed import rounds_over_batches
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.names import network_of
from flake8_torchleak.model.networks import OF_MODULES
from flake8_torchleak.model.passes import classes_of, passes
from flake8_torchleak.model.release.fate import Fate
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.running import is_forward, switches_itself
from flake8_torchleak.model.tree import Scope

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_OF_ALL = (OF_MODULES | MODULE_SELF | {"training"}) - {"modules", "named_modules", "named_children"}
"""What is asked of networks for other things than what their forward pass leaves in them."""


def unread(module: Module) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls of networks with gradients on, in what trains, each with the name that nobody reads. Where nobody wants
    notes, those that go over batches alone.

    What trains nothing may run a network for what that does beside: the statistics of its layers, a first pass.
    """
    facts = _Unread(module)
    for statement in module.tree.all(ast.Assign):
        call, scope = _called(statement.value), module.tree.scope(statement)
        if call is None or not module.loops.trains(module.tree.function(call) or module.root):
            continue
        if not (module.notes or rounds_over_batches(module, call)) or module.classes.callee(call) is not None:
            continue
        if not facts.is_unread(statement) or module.grad.at(call) is not Grad.ON:
            continue
        if is_forward(module, scope) or facts.leaves_something(call):
            continue
        if passes(module, call) and not switches_itself(module, call):
            yield call, statement.targets[0]


def _called(value: ast.expr) -> ast.Call | None:
    """The call that a statement binds the result of, or an element of that."""
    while isinstance(value, ast.Subscript):
        value = value.value
    return value if isinstance(value, ast.Call) else None


class _Unread:
    def __init__(self, module: Module) -> None:
        self.module = module

    def is_unread(self, statement: ast.Assign) -> bool:
        """Whether it binds variables alone, under names that are meant to be read, and nobody reads one of them."""
        module, names = self.module, [name for each in statement.targets for name in _names(each)]
        if None in names or all(name is not None and name.strip("_") == "" for name in names):
            return False
        scope = module.tree.scope(statement)
        if isinstance(scope, ast.ClassDef) or any(name in self._shared(scope) for name in names):
            return False
        if module.release.escapes.of_frame(scope).fate is not Fate.READ:
            return False
        return statement not in self._read(scope)

    def leaves_something(self, call: ast.Call) -> bool:
        """Whether anybody may read what the forward pass left in the network: `net(x); net.loss`, by a hook, by code
        that has the network. Of a network whose class is not seen nobody knows."""
        module, run = self.module, network_of(call)
        run = run.value if run is call.func and isinstance(run, ast.Attribute) and _is_method(run) else run
        classes = classes_of(module, run)
        if not classes or not all(leaves_nothing(module, each) for each in classes) or "_hook" in module.source.text:
            return True
        key, scope = key_of(run), module.tree.scope(call)
        asked = module.proof.networks.attributes(key, scope)
        if any(each.attr not in _OF_ALL and not self._is_called(each) for each in asked):
            return True
        uses = (each for each in module.tree.within(scope) if isinstance(each, (ast.Name, ast.Attribute)))
        return any(key_of(each) == key and self._is_given(each) for each in uses)

    def _is_given(self, node: ast.expr) -> bool:
        """Whether code gets a network: it is neither called, nor asked for an attribute, nor bound."""
        up = self.module.tree.parents[node]
        is_load = isinstance(getattr(node, "ctx", None), ast.Load)
        return is_load and not isinstance(up, ast.Attribute) and not (isinstance(up, ast.Call) and up.func is node)

    def _is_called(self, node: ast.Attribute) -> bool:
        """Whether a method is called with something, which runs the network: `net.encode(x)`."""
        up = self.module.tree.parents[node]
        return isinstance(up, ast.Call) and up.func is node and bool(up.args)

    @remembered
    def _read(self, scope: Scope) -> set[ast.AST]:
        """The statements of a scope that bind something which is read there."""
        reads = (each for each in self.module.tree.within(scope) if isinstance(each, ast.Name))
        return {
            found.statement
            for each in reads
            if isinstance(each.ctx, ast.Load) or self._is_augmented(each)
            for found in self.module.flow.reaching(each.id, each)
        }

    def _is_augmented(self, name: ast.Name) -> bool:
        """`out /= 2` reads it as well."""
        return isinstance(self.module.tree.parents[name], ast.AugAssign)

    @remembered
    def _shared(self, scope: Scope) -> frozenset[str]:
        """The names that functions inside of a scope read, or that it says are those of others."""
        inside = {id(each) for each in self.module.tree.within(scope)}
        inner = {
            each.id
            for each in ast.walk(scope)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and id(each) not in inside
        }
        told = (each.names for each in ast.walk(scope) if isinstance(each, (ast.Global, ast.Nonlocal)))
        return frozenset(inner.union(*told))


def _names(target: ast.expr) -> Iterator[str | None]:
    """The variables that a target binds; None for anything else."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _names(each)
    elif isinstance(target, ast.Starred):
        yield from _names(target.value)
    else:
        yield target.id if isinstance(target, ast.Name) else None


def _is_method(node: ast.Attribute) -> bool:
    return not isinstance(node.value, ast.Name) or node.value.id != "self"
