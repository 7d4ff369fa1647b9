"""Whether what a function gives is differentiated by those who call it: then it is a part of training."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.bounds import leave_out
from flake8_torchleak.model.elsewhere import answers_elsewhere
from flake8_torchleak.model.giving import Giving
from flake8_torchleak.model.release.differentiation import Site
from flake8_torchleak.model.release.fate import Fate
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FunctionNode, Loop

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_LEVELS = 4
"""Callers of callers that are looked at; those of these count as training."""


class Callers:
    """Who calls the functions of one module, and what becomes of what they are given."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._giving = Giving(module)

    def are_training(self, function: FunctionNode) -> ast.Call | None:
        """A call of the function whose result is differentiated, or handed on inside a training loop; None if none is.

        Of the module itself; callers that are too far to look at do not count.
        """
        return next(self._training_calls(function.name, function, far=False), None)

    def may_train(self, function: FunctionNode) -> ast.Call | None:
        """The same, where a mistake would change training: in modules of the project that import this one, too.

        Callers that are too far to look at count.
        """
        own = next(self._training_calls(function.name, function, far=True), None)
        if own is not None:
            return own
        name = function.name
        for _, found in self.module.users.answers(
            lambda user: next(user.release.callers.named(name), None), f"{name}("
        ):
            if found is not None:
                return found
        return None

    @remembered
    def train_elsewhere(self, function: FunctionNode) -> bool:
        """Whether another file differentiates what a function gives: `grad(train.loss(net, data), weights)`."""
        if self.module.tree.class_of(function) is not None or not self.returned(function):
            return False  # a method of any class may be meant
        return any(answers_elsewhere(self.module, function, _is_differentiated))

    @remembered
    def only_read(self, value: ast.expr, levels: int = _MOST_LEVELS) -> bool:
        """Whether all that an expression gives is only read, by who gets it: where it stands, and by all who call that.

        Callers in other files are asked, too. Not where nobody is seen to call what returns it.
        """
        fate = self.module.release.escapes.of_this_value(value).fate
        function = self.module.tree.function(value)
        if fate is not Fate.RETURNED or function is None or not levels:
            return fate is Fate.READ
        found = [self.only_read(each, levels - 1) for each in self._callers(function)]
        found += answers_elsewhere(
            self.module, function, lambda user, call: user.release.callers.only_read(call, levels - 1)
        )
        return bool(found) and all(found)

    @remembered
    def returned(self, function: FunctionNode) -> frozenset[str]:
        """The variables that a function's results are made of."""
        given = (each.value for each in self.module.tree.within(function) if isinstance(each, ast.Return))
        nodes = (node for value in given if value is not None for node in ast.walk(value))
        return frozenset(each.id for each in nodes if isinstance(each, ast.Name))

    def are_known(self, function: FunctionNode) -> bool:
        """Whether all modules of the project that call the function can be asked."""
        return self.module.users.are_all(f"{function.name}(")

    def named(self, name: str) -> Iterator[ast.Call]:
        """Calls of anything with this name whose result goes into training."""
        return self._training_calls(name, None, far=True)

    def _training_calls(self, name: str, function: FunctionNode | None, far: bool) -> Iterator[ast.Call]:
        """By name and, for functions of the module itself, by scope: an over-estimate of who calls a function.

        far: whether callers that are too far to look at count as training.
        """
        if function is not None:
            calls = self.module.classes.calls_of(function)
        else:
            calls = self.module.classes.own_calls(name)
        for call in calls:
            if self._goes_into_training(call, far, _MOST_LEVELS):
                if far or function is None or not self._gives_numbers(call, function):
                    yield call

    def _gives_numbers(self, call: ast.Call, function: FunctionNode) -> bool:
        """Whether what a call gives is not seen to be differentiated, and is made of numbers: then nobody can."""
        fate = self.module.release.escapes.of_value(call).fate
        if fate is Fate.DIFFERENTIATED and not self._shares_its_names(call):
            return False
        return not self._giving.may_hold_graphs(function)

    def _shares_its_names(self, call: ast.Call) -> bool:
        """Whether names for what a call gives are bound elsewhere, too: what is differentiated may be that."""
        statement = self.module.tree.statement(call)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        bound = (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        definitions = self.module.flow.definitions(self.module.tree.scope(call))
        return any(len(definitions.get(each, ())) > 1 for each in bound)

    @remembered
    def _goes_into_training(self, call: ast.Call, far: bool, levels: int) -> bool:
        if self.module.grad.off(call):
            return False
        fate = self.module.release.escapes.of_value(call).fate
        if fate is Fate.DIFFERENTIATED:
            return True
        caller = self.module.tree.function(call)
        if fate >= Fate.OPEN:
            return self._is_in_step(call, far, levels)
        if fate is Fate.RETURNED and caller is not None:
            return self._is_trained_with(caller, far, levels)
        return False

    @remembered
    def _is_trained_with(self, function: FunctionNode, far: bool, levels: int) -> bool:
        """Whether what a function gives goes into training somewhere."""
        callers = self._callers(function)
        if not levels:
            return self._are_too_far(callers, function, far)
        return any(self._goes_into_training(each, far, levels - 1) for each in callers)

    def _are_too_far(self, callers: list[ast.Call], function: FunctionNode, far: bool) -> bool:
        """Whether callers that are not looked at any more count: where they do, that is said."""
        if not far or not callers:
            return False
        leave_out(self.module, function, f"it is called through more than {_MOST_LEVELS} functions")
        return True

    @remembered
    def _is_in_step(self, node: ast.AST, far: bool, levels: int) -> bool:
        """Whether a place is run by a training loop's step: in the loop that differentiates, or in what it calls."""
        tree = self.module.tree
        for loop in tree.loops(node)[:1]:
            if any(tree.inside(site.node, loop) and (far or self._is_alone(site, loop)) for site in self._sites(node)):
                return True
        if not tree.loops(node) and any(not tree.loops(site.node) for site in self._sites(node)):
            return True
        caller = tree.function(node)
        return caller is not None and self._is_run_in_step(caller, far, levels)

    def _is_alone(self, site: Site, loop: Loop) -> bool:
        """Whether a loop differentiates once a round: in a loop of its own, it could not what was made before that.

        The second time, the graph is gone. Loops over a few fixed values may go over parts of it.
        """
        inner = self.module.tree.loops(site.node)
        inner = inner[: inner.index(loop)] if loop in inner else []
        return all(self.module.loops.is_short(each) for each in inner)

    @remembered
    def _is_run_in_step(self, function: FunctionNode, far: bool, levels: int) -> bool:
        callers = self._callers(function)
        if not levels:
            return self._are_too_far(callers, function, far)
        return any(self._is_in_step(each, far, levels - 1) for each in callers)

    def _callers(self, function: FunctionNode) -> list[ast.Call]:
        inside = self.module.tree.inside
        return [call for call in self.module.classes.calls_of(function) if not inside(call, function)]

    def _sites(self, node: ast.AST) -> list[Site]:
        return self.module.release.differentiation.sites(self.module.tree.scope(node))


def _is_differentiated(user: Module, call: ast.Call) -> bool:
    """Whether what a call of an imported function gives is differentiated, for certain."""
    is_imported = bool(user.names.qualname(call.func))
    return is_imported and not user.grad.off(call) and user.release.escapes.of_value(call).fate is Fate.DIFFERENTIATED
