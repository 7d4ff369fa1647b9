"""Step loops: loops that run once per batch, what outlives a step, and what a step's loss flows into."""

from __future__ import annotations

import ast
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

from flake8_torchleak.model import hints
from flake8_torchleak.model.backward import Backward
from flake8_torchleak.model.bindings import How, key_of
from flake8_torchleak.model.classes import ClassTable
from flake8_torchleak.model.effects import TENSOR_METHODS
from flake8_torchleak.model.flow import Flow
from flake8_torchleak.model.gradmode import GradMode
from flake8_torchleak.model.infer import WRAPPERS, Infer
from flake8_torchleak.model.modes import Modes
from flake8_torchleak.model.names import last_name, network_of
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.rounds import Comprehension, Round, comprehensions, iterables
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS, FunctionNode, Loop, Scope, Tree
from flake8_torchleak.model.values import Kind, Size

_DEPTH = 2
_ONLY_TENSORS = frozenset({"cuda", "to", *TENSOR_METHODS}) - {
    "item",
    "index_select",
    "max",
    "min",
    "sum",
    "mean",
    "add",
}

_DIFFERENTIATING = frozenset({"backward", "manual_backward"})
_PREPARING = frozenset({"zero_grad"})
"""Methods that training calls, and evaluation where it was copied from training."""

T = TypeVar("T", bound=ast.AST)


class Loops:
    """Step loops of a module."""

    def __init__(
        self, tree: Tree, flow: Flow, classes: ClassTable, infer: Infer, grad: GradMode, backward: Backward
    ) -> None:
        self.tree, self.flow, self.classes = tree, flow, classes
        self.infer, self.grad, self.backward = infer, grad, backward
        self.modes = Modes(tree, classes, infer)

    @remembered
    def why_step(self, loop: Loop) -> str:
        """Why a loop runs once per batch or optimisation step ("" if nothing says so): words for a note."""
        if (
            isinstance(loop, (ast.For, ast.AsyncFor))
            and self._names_loader(loop.iter)
            and self.gives_batches(loop.iter)
        ):
            return "one iteration per batch"
        if self.trains(loop) and not self._accumulates(loop):
            return "one iteration per training step"
        if self.draws_batches(loop):
            return "draws one batch per iteration"
        if self.modes.evaluates(loop.body[0]) is not None and self.runs_model(loop) and not self.is_short(loop):
            if not any(self.runs_model(outer) and not self.is_short(outer) for outer in self.tree.loops(loop)):
                return "one iteration per evaluation step"
        return ""

    def _accumulates(self, loop: Loop) -> bool:
        """Whether the loop is part of a step: the optimizer steps outside of it, in a loop around it."""
        if self._optimizes(loop):
            return False
        return any(self._optimizes(outer) for outer in self.tree.loops(loop))

    def _optimizes(self, loop: Loop) -> bool:
        return any(isinstance(call.func, ast.Attribute) for call in self._calls_below(loop, "step"))

    def _calls_below(self, loop: Loop, name: str) -> list[ast.Call]:
        """The calls of what has this last name in a loop, nested functions looked into."""
        calls, numbers = self._by_name(name)
        start, end = self.tree.span(loop)
        return calls[bisect_left(numbers, start) : bisect_left(numbers, end)]

    @remembered
    def _by_name(self, name: str) -> tuple[list[ast.Call], list[int]]:
        """The calls of what has this last name, in the order of the tree, and their numbers."""
        calls = sorted(self.classes.callers.get(name, ()), key=self.tree.number)
        return calls, list(map(self.tree.number, calls))

    def draws_batches(self, loop: Loop) -> bool:
        """Whether the loop's body takes batches with `next(iterator_of_a_loader)`, one after another."""
        for call in self._calls_below(loop, "next"):
            if call.args and self.gives_batches(call.args[0]):
                return isinstance(loop, ast.While) or self.infer.value(loop.iter).kind is Kind.RANGE
        return False

    def is_short(self, loop: Round) -> bool:
        """Whether a loop or comprehension goes over a few fixed values (scales, folds, sizes of a test)."""
        over = iterables(loop)
        return bool(over) and all(self.infer.value(each).size is Size.SMALL for each in over)

    @remembered
    def differentiates(self, loop: Round) -> bool:
        """Whether a loop itself differentiates something, whatever that is."""
        return not self._methods(loop).isdisjoint(_DIFFERENTIATING)

    def prepares(self, loop: Round) -> bool:
        """Whether a loop itself prepares for it: what it calls then may differentiate."""
        return not self._methods(loop).isdisjoint(_PREPARING)

    @remembered
    def _methods(self, loop: Round) -> set[str]:
        calls = (each.func for each in self.tree.within(loop) if isinstance(each, ast.Call))
        return {each.attr for each in calls if isinstance(each, ast.Attribute)}

    @remembered
    def runs_model(self, loop: Loop) -> bool:
        """Whether the loop's body calls a model."""
        return any(
            isinstance(each, ast.Call)
            and (each.args or each.keywords)
            and not self.infer.calls.is_construction(each)
            and self.infer.called(network_of(each)).kind is Kind.MODULE
            for each in self.tree.within(loop)
        )

    def gives_batches(self, iterable: ast.expr) -> bool:
        """Whether iterating this goes over a DataLoader (also through enumerate, tqdm, zip)."""
        return self.infer.loader_of(iterable) is not None

    def _names_loader(self, iterable: ast.expr) -> bool:
        """Whether an expression names something that can be a loader: cheap, before its value is asked for."""
        return any(
            (name in self._loaders or hints.is_loader(name))
            or (isinstance(node, ast.Call) and self.infer.names.called(node.func).endswith("DataLoader"))
            for node in ast.walk(iterable)
            if (name := last_name(node)) or isinstance(node, ast.Call)
        )

    @cached_property
    def _loaders(self) -> frozenset[str]:
        """Variables and functions of the file whose value is made of a DataLoader, under whatever name."""
        found: set[str] = set()
        for call in self.tree.all(ast.Call):
            name = self.infer.names.called(call.func)
            made = name.endswith("DataLoader") or name in found
            if made or (name in WRAPPERS and any(self._is_loader(a, found) for a in call.args)):
                statement = self.tree.statement(call)
                if isinstance(statement, ast.Assign):
                    found.update(last_name(target) for target in statement.targets)
                elif isinstance(statement, ast.Return):
                    function = self.tree.function(call)
                    found.update([function.name] if function is not None else [])
        return frozenset(found)

    @staticmethod
    def _is_loader(node: ast.expr, known: set[str]) -> bool:
        return last_name(node) in known or hints.is_loader(last_name(node))

    @remembered
    def trains(self, node: ast.AST) -> bool:
        """Whether the code below `node` runs backward(), itself or in a helper of the file."""
        own = node if isinstance(node, FUNCTIONS) else self.tree.function(node)
        calls = self._training_calls.get(own, [])
        start, end = self.tree.span(node)
        first = bisect_left(calls, start, key=self.tree.number)
        return first < len(calls) and self.tree.number(calls[first]) < end

    def training(self) -> Iterator[tuple[FunctionNode, list[ast.Call]]]:
        """The file's functions that train, and the calls by which: of backward(), or of functions that do so."""
        for function, calls in self._training_calls.items():
            if function is not None and self.tree.is_own(function):
                yield function, calls

    @cached_property
    def _training_calls(self) -> dict[FunctionNode | None, list[ast.Call]]:
        """Function -> calls of backward(), and of functions of the file that make them (or call others that do)."""
        callers = self.classes.callers
        found = [
            c
            for name in ("backward", "manual_backward")
            for c in callers.get(name, ())
            if isinstance(c.func, ast.Attribute) or self.classes.names.qualname(c.func) == "torch.autograd.backward"
        ]
        trained: set[FunctionNode] = set()
        latest = found
        for _ in range(_DEPTH):
            functions = {f for f in map(self.tree.function, latest) if f is not None and f.name != "forward"} - trained
            trained |= functions
            latest = [c for f in functions for c in callers.get(f.name, ()) if self.classes.callee(c) is f]
            found = found + latest
        by_function: dict[FunctionNode | None, list[ast.Call]] = {}
        for call in sorted(found, key=self.tree.number):
            by_function.setdefault(self.tree.function(call), []).append(call)
        return by_function

    def step_loops(self, node: ast.AST) -> list[Loop]:
        """The step loops around `node` in its function, innermost first."""
        return [loop for loop in self.tree.loops(node) if self.why_step(loop)]

    def goes_over_batches(self, node: Comprehension) -> bool:
        """Whether a comprehension goes over what can be a loader, and is one: by names before values."""
        return any(self._names_loader(each) and self.gives_batches(each) for each in iterables(node))

    def comprehensions_over_batches(self, node: ast.AST) -> list[Comprehension]:
        """The comprehensions around `node` whose elements are made batch by batch, innermost first."""
        return [*filter(self.goes_over_batches, comprehensions(self.tree, node))]

    def is_step(self, function: FunctionNode) -> bool:
        """Whether a function runs once per step: it is called in a step loop of the file, or is a framework's step."""
        is_method = self.tree.class_of(function) is not None
        if is_method and function.name in hints.STEP_METHODS:
            return True
        if is_method and function.name in ("__init__", "__new__"):
            return any(self.step_loops(call) for call in self.classes.calls_of(function))
        return self._is_called_in_step(function.name, ast.Attribute if is_method else ast.Name)

    @remembered
    def _is_called_in_step(self, name: str, form: type[ast.expr]) -> bool:
        calls = self.classes.called(name, form)
        return any(self.step_loops(call) for call in calls) or any(map(self.comprehensions_over_batches, calls))

    def used_as_tensor(self, node: ast.expr) -> bool:
        """Whether a variable is treated as a tensor somewhere in its function: a tensor method, or a model's input."""
        while isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Tuple):
                return True
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                return hints.is_tensor(node.slice.value)
            node = node.value
        key = key_of(node)
        if not key:
            return False
        if hints.is_tensor(key.rpartition(".")[2]) or self.has_tensor_use(node):
            return True
        return any(
            self.infer.called(each.func).kind in (Kind.MODULE, Kind.LOSS)
            for each in self._handed(self.tree.scope(node)).get(key, ())
        )

    @remembered
    def _handed(self, scope: Scope) -> dict[str, list[ast.Call]]:
        """Key of a variable -> the calls in a scope that it is an argument of."""
        found: dict[str, list[ast.Call]] = {}
        for call in self.tree.calls(scope):
            for key in {key_of(each) for each in call.args}:
                found.setdefault(key, []).append(call)
        return found

    def has_tensor_use(self, node: ast.expr) -> bool:
        """Whether a method of tensors is called on an expression, or on the variable it is in its function."""
        parent = self.tree.parents[node]
        if isinstance(parent, ast.Attribute) and parent.attr in _ONLY_TENSORS:
            return True
        key = key_of(node)
        return bool(key) and key in self._tensors(self.tree.scope(node))

    @remembered
    def _tensors(self, scope: Scope) -> frozenset[str]:
        """The variables of which a method of tensors is called in a scope."""
        within = self.tree.within(scope)
        return frozenset(key_of(n.value) for n in within if isinstance(n, ast.Attribute) and n.attr in _ONLY_TENSORS)

    def is_whole_batch(self, node: ast.expr) -> bool:
        """Whether a variable is a loader's batch itself, not a part of it."""
        return isinstance(node, ast.Name) and any(
            d.how is How.ITERATE and d.path in ((), (1,)) for d in self.flow.reaching(node.id, node)
        )

    def is_moved(self, node: ast.expr) -> bool:
        """Whether the batch that an expression is part of is moved to the device in place.

        `batch[k] = batch[k].to(device)`, or `batch.to(device)` as a statement.
        """
        root: ast.AST = node
        while isinstance(root, (ast.Subscript, ast.Attribute, ast.Call)):
            root = root.func if isinstance(root, ast.Call) else root.value
        if not isinstance(root, ast.Name):
            return False
        return root.id in self._moved(self.tree.scope(node))

    @remembered
    def _moved(self, scope: Scope) -> frozenset[str]:
        """The variables of a scope that are moved to the device in place."""
        found: set[str] = set()
        for each in self.tree.within(scope):
            if not isinstance(each, (ast.Assign, ast.Expr)) or not isinstance(each.value, ast.Call):
                continue
            called = each.value.func
            if not isinstance(called, ast.Attribute) or called.attr not in ("to", "cuda"):
                continue
            target = each.targets[0] if isinstance(each, ast.Assign) else called
            if isinstance(each, ast.Expr) or isinstance(target, ast.Subscript):
                found.update(n.id for n in ast.walk(target) if isinstance(n, ast.Name))
        return frozenset(found)

    @remembered
    def steps(self, kind: type[T]) -> list[T]:
        """Nodes of this kind that run once per step: in a step loop, or in a function that is called in one."""
        tree = self.tree
        nodes = tree.all(kind)  # many modules have none: what runs once per step is not worked out for these
        return [node for node in nodes if self._in_step(tree.span(node)[0])] if nodes and self._regions else []

    def _in_step(self, number: int) -> bool:
        at = bisect_right(self._regions, (number, math.inf)) - 1
        return at >= 0 and number < self._regions[at][1]

    @cached_property
    def _regions(self) -> list[tuple[int, float]]:
        """Stretches of the tree (by node number) that run once per step, in order, nested ones swallowed."""
        spans = [self.tree.span(loop) for loop in self.tree.all(*LOOPS) if self.why_step(loop)]
        spans += [self.tree.span(function) for function in self.tree.all(*FUNCTIONS) if self.is_step(function)]
        found: list[tuple[int, float]] = []
        for start, end in sorted(spans):
            if not found or start >= found[-1][1]:
                found.append((start, end))
        return found
