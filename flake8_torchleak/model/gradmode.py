"""Where gradients are off: context managers, decorators, switches, framework hooks, and callers in the file."""

from __future__ import annotations

import ast
from enum import Enum
from functools import cached_property

from flake8_torchleak.config import Config
from flake8_torchleak.model.classes import ClassTable
from flake8_torchleak.model.climb import Climb
from flake8_torchleak.model.flow import Flow
from flake8_torchleak.model.hints import GRAD_OFF, turns_grad_off
from flake8_torchleak.model.names import Names, last_name
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Scope, Tree

_OFF = frozenset(GRAD_OFF)
_SWITCH = "set_grad_enabled"
_MOST_CALLERS = 5
"""How far up a chain of callers is followed."""

HOOKS_WITHOUT_GRAD = frozenset({
    "validation_step", "test_step", "predict_step", "validation_epoch_end", "test_epoch_end", "prediction_step",
    "compute_metrics", "validation_step_end", "test_step_end", "on_validation_epoch_end", "on_test_epoch_end",
    "on_validation_batch_end", "on_test_batch_end", "on_validation_epoch_start", "on_validation_end",
    "shared_eval_step", "on_predict_batch_end", "evaluation_loop", "prediction_loop",
})  # fmt: skip
"""Methods that Lightning and the Hugging Face Trainer run under no_grad themselves."""
_OF_TRIALS = frozenset({"evaluate_batch", "evaluate_full_dataset"})
"""Those that Determined's trials do, by the names of their base classes."""
_TRIALS = frozenset({"PyTorchTrial", "DeepSpeedTrial"})


_DECIDE = (ast.With, ast.AsyncWith, *FUNCTIONS, ast.Module)
"""What decides over grad mode in what is below."""


_CHOOSING = (ast.IfExp, ast.BoolOp)
"""Expressions that run one of their parts, or not."""


class Grad(Enum):
    """Grad mode at a place: OFF, ON as far as can be seen, or MIXED (depends on a flag)."""

    ON = "on"
    OFF = "off"
    MIXED = "mixed"


class GradMode:
    """Grad mode at every place of a module."""

    def __init__(self, tree: Tree, names: Names, flow: Flow, classes: ClassTable, config: Config) -> None:
        self.tree, self.names, self.flow, self.classes = tree, names, flow, classes
        self._known = frozenset(name.rpartition(".")[2] for name in config.no_grad_decorators)
        self._functions: dict[ast.AST, Grad] = {}
        self._switches: dict[ast.AST, list[tuple[ast.Call, Grad]]] = {}
        self._contexts: dict[ast.AST, Grad] = {}
        self._definitions: dict[ast.AST, Grad] = {}
        self._depth = 0
        self._around = Climb(tree, lambda node: node if isinstance(node, _DECIDE) else None)

    def at(self, node: ast.AST) -> Grad:
        """Grad mode when `node` is evaluated."""
        mixed = False
        for up in self._around(self.tree.parents.get(node, node)):
            if isinstance(up, (ast.With, ast.AsyncWith)):
                mode = self._context(up)
            elif isinstance(up, FUNCTIONS):
                mode = self._switch(up, node)
                if mode is Grad.ON:
                    mode = self.function(up)
            else:
                assert isinstance(up, ast.Module)
                mode = self._switch(up, node)
            if mode is Grad.OFF:
                return Grad.OFF
            mixed = mixed or mode is Grad.MIXED
        return Grad.MIXED if mixed else Grad.ON

    def _context(self, node: ast.With | ast.AsyncWith) -> Grad:
        """What the managers of a `with` do to grad mode."""
        mode = self._contexts.get(node)
        if mode is None:
            mode = self._contexts[node] = self._worst([self.manager(each.context_expr) for each in node.items])
        return mode

    @cached_property
    def without_effect(self) -> dict[Scope, list[ast.Call]]:
        """Scope -> where it makes `torch.no_grad()` and does nothing with it: gradients stay on behind it."""
        found: dict[Scope, list[ast.Call]] = {}
        for call in self.classes.own_calls(*GRAD_OFF):
            if isinstance(self.tree.parents[call], ast.Expr):
                found.setdefault(self.tree.scope(call), []).append(call)
        return found

    def turned_off(self, node: ast.AST) -> bool:
        """Whether the function around a place turns gradients off there itself, whoever calls it."""
        for up in self._around(self.tree.parents[node]):
            if isinstance(up, FUNCTIONS):
                decorated = self._worst([self.manager(each) for each in up.decorator_list])
                return Grad.OFF in (decorated, self._switch(up, node))
            if isinstance(up, (ast.With, ast.AsyncWith)) and self._context(up) is Grad.OFF:
                return True
        return False

    def off(self, node: ast.AST) -> bool:
        """Whether gradients are certainly off at `node`."""
        return self.at(node) is Grad.OFF

    @staticmethod
    def _worst(modes: list[Grad]) -> Grad:
        return Grad.OFF if Grad.OFF in modes else Grad.MIXED if Grad.MIXED in modes else Grad.ON

    def manager(self, node: ast.expr, depth: int = 3) -> Grad:
        """What a context manager (or decorator) expression does to grad mode."""
        if isinstance(node, ast.IfExp):
            modes = {self.manager(node.body, depth), self.manager(node.orelse, depth)}
            return modes.pop() if len(modes) == 1 else Grad.MIXED
        call = node if isinstance(node, ast.Call) else None
        func = call.func if call else node
        if isinstance(func, ast.IfExp):
            return self.manager(func, depth)
        name = self._name(func)
        if name in _OFF:
            return self._argument(call, default=Grad.OFF)
        if name == _SWITCH:
            return self._argument(call, default=Grad.MIXED)
        if name == "enable_grad":
            return Grad.ON
        if isinstance(node, ast.Name) and depth:
            found = {self.manager(d.value, depth - 1) for d in self.flow.reaching(node.id, node) if d.value is not None}
            if found:
                return found.pop() if len(found) == 1 else Grad.MIXED
        if name in self._known or turns_grad_off(name):
            return Grad.OFF
        return self._defined(func)

    def _defined(self, made: ast.expr) -> Grad:
        """What a decorator or context manager of the project does: OFF if its definition speaks of no_grad."""
        definition = self.names.definition(made)
        if definition is None:
            return Grad.ON
        if definition not in self._definitions:
            nodes = [*ast.walk(definition)]
            words = {self._name(each) for each in nodes if isinstance(each, (ast.Name, ast.Attribute))}
            off = not words.isdisjoint(_OFF) or any(
                self._name(each.func) == _SWITCH and self._argument(each, default=Grad.MIXED) is Grad.OFF
                for each in nodes
                if isinstance(each, ast.Call)
            )
            self._definitions[definition] = Grad.OFF if off else Grad.ON
        return self._definitions[definition]

    def _name(self, node: ast.expr) -> str:
        """The last name of what an expression stands for, or as it is written."""
        return self.names.qualname(node).rpartition(".")[2] or last_name(node)

    def _argument(self, call: ast.Call | None, default: Grad) -> Grad:
        """set_grad_enabled(False) is OFF, set_grad_enabled(train) MIXED; inference_mode(False) is ON."""
        arguments = [*call.args, *(k.value for k in call.keywords)] if call else []
        if not arguments:
            return default
        value = arguments[0]
        on = self._truth(value)
        if on is None:
            return Grad.MIXED
        return Grad.OFF if on is (default is Grad.OFF) else Grad.ON

    def _truth(self, node: ast.expr, depth: int = 3) -> bool | None:
        """Whether a flag is set, where that is certain: a constant, a variable that holds one, or the opposite."""
        if isinstance(node, ast.Constant):
            return bool(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            opposite = self._truth(node.operand, depth)
            return None if opposite is None else not opposite
        if not isinstance(node, ast.Name) or not depth:
            return None
        values = [each.value if each.is_plain else None for each in self.flow.reaching(node.id, node)]
        found = {self._truth(each, depth - 1) if each is not None else None for each in values}
        return found.pop() if len(found) == 1 else None

    def plain_wrappers(self, function: FunctionNode) -> int:
        """How many of a function's decorators, counted from the inside, only wrap it for its calls.

        Those of torch and functools, and functions of the file that return a function of their own. Any other may
        register what it gets, or give out something that is no function (a property, a command of click).
        """
        count = 0
        for decorator in reversed(function.decorator_list):
            made = decorator.func if isinstance(decorator, ast.Call) else decorator
            qualname = self.names.qualname(made)
            wraps = qualname.startswith("torch.") and not qualname.startswith(("torch.jit", "torch.library"))
            if not wraps and qualname not in ("functools.lru_cache", "functools.cache", "functools.wraps"):
                own = self.names.definition(made)
                if not isinstance(own, FUNCTIONS) or not any(isinstance(n, FUNCTIONS) for n in own.body):
                    break
            count += 1
        return count

    def _switch(self, scope: FunctionNode | ast.Module, node: ast.AST) -> Grad:
        """A switch that is thrown above `node`, or a context manager that is entered there by hand, or on a stack."""
        calls = self._switches.get(scope)
        if calls is None:
            calls = self._switches[scope] = []
            for call in self.tree.calls(scope):
                name = self._name(call.func)
                if name == _SWITCH and (mode := self._thrown(call)) is not None:
                    calls.append((call, mode))
                elif name in ("__enter__", "__exit__") and isinstance(call.func, ast.Attribute):
                    if self.manager(call.func.value) is Grad.OFF:
                        calls.append((call, Grad.OFF if name == "__enter__" else Grad.ON))
                elif name == "enter_context" and call.args:
                    mode = self.manager(call.args[0])
                    if mode is not Grad.ON:
                        calls.append((call, mode))
        for call, mode in reversed(calls):
            if call.lineno < getattr(node, "lineno", 0) or isinstance(scope, ast.Module):
                if mode is Grad.OFF and not self.flow.ways.always_before(call, node):
                    return Grad.MIXED
                return mode
        return Grad.ON

    def _thrown(self, call: ast.Call) -> Grad | None:
        """What a switch does that is a statement, or may: one of two in `a if test else b`; None of a manager."""
        up = self.tree.parents[call]
        is_one_of = isinstance(up, _CHOOSING)
        while isinstance(up, _CHOOSING):
            up = self.tree.parents[up]
        if not isinstance(up, (ast.Expr, ast.Assign)):
            return None
        return Grad.MIXED if is_one_of else self._argument(call, default=Grad.MIXED)

    def function(self, function: FunctionNode) -> Grad:
        """Grad mode in a function's body as its decorators, its hook name and its callers in the file decide it."""
        known = self._functions.get(function)
        if known is not None:
            return known
        self._functions[function] = Grad.ON  # a recursive function does not guard itself
        mode = self._worst([self.manager(d) for d in function.decorator_list])
        if mode is Grad.ON:
            if self._is_run_without(function):
                mode = Grad.OFF
            elif self._is_constructed_without(function):
                mode = Grad.OFF
            elif self._depth < _MOST_CALLERS:
                self._depth += 1
                mode = self._callers(function)
                self._depth -= 1
        self._functions[function] = mode
        return mode

    def _is_run_without(self, function: FunctionNode) -> bool:
        """Whether a framework runs a method with gradients off, by its name, or by that of its class's base too."""
        owner = self.tree.class_of(function)
        if owner is None or function.name not in HOOKS_WITHOUT_GRAD | _OF_TRIALS:
            return False
        return function.name not in _OF_TRIALS or any(last_name(each) in _TRIALS for each in owner.bases)

    def _is_constructed_without(self, function: FunctionNode) -> bool:
        """Whether the constructor of the class turns gradients off, for good: its other methods run behind it."""
        owner = self.tree.class_of(function)
        made = [each for each in owner.body if isinstance(each, FUNCTIONS)] if owner is not None else []
        made = [each for each in made if each.name == "__init__" and each is not function]
        calls = [each.value for each in (made[-1].body if made else ()) if isinstance(each, ast.Expr)]
        thrown = [each for each in calls if isinstance(each, ast.Call) and self._name(each.func) == _SWITCH]
        return bool(thrown) and self._argument(thrown[-1], default=Grad.MIXED) is Grad.OFF

    def _callers(self, function: FunctionNode) -> Grad:
        """OFF when every call in the file is made with gradients off (and there is one)."""
        modes = []
        for call in self.classes.calls_of(function):
            if self.tree.inside(call, function):
                continue
            modes.append(self.at(call))
        if not modes or Grad.ON in modes:
            return Grad.ON
        return Grad.MIXED if Grad.MIXED in modes else Grad.OFF


def turns_off(scope: ast.AST) -> bool:
    """Whether gradients are turned off somewhere in a function, or a module, by the names that it reads."""
    words = (each for each in ast.walk(scope) if isinstance(each, (ast.Name, ast.Attribute)))
    return any(last_name(each) in GRAD_OFF for each in words)
