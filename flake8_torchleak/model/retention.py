"""What outlives a step, and whether it carries a graph with it."""

from __future__ import annotations

import ast
from functools import cached_property

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import How, key_of
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.fresh import Fresh
from flake8_torchleak.model.loops import Loops
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Loop, Scope
from flake8_torchleak.model.values import Kind, Value

_FRESH = (How.ASSIGN, How.ITERATE, How.ENTER)


class Retention:
    """What variables keep beyond a step."""

    def __init__(self, loops: Loops) -> None:
        self.loops, self.infer, self.grad = loops, loops.infer, loops.grad
        self.tree, self.flow, self.classes, self.backward = loops.tree, loops.flow, loops.classes, loops.backward
        self._outlived: dict[tuple[str, ast.AST, bool], Loop | FunctionNode | None] = {}

    def outlives(self, key: str, node: ast.AST, stored: bool = False) -> Loop | FunctionNode | None:
        """The step loop (or per-step function) that the variable's content survives at `node`, if there is one.

        A variable bound anew in every step before `node` survives none. For what is `stored` one by one, it is
        enough that the container is emptied or bound anew now and then: its size is bounded.
        """
        question = (key, node, stored)
        if question not in self._outlived:
            self._outlived[question] = self._outlives(key, node, stored)
        return self._outlived[question]

    def _outlives(self, key: str, node: ast.AST, stored: bool) -> Loop | FunctionNode | None:
        if not key:
            return None
        scope = self.tree.scope(node)
        fresh = self._fresh(scope, key)
        own = self.tree.statement(node)
        for loop in self.loops.step_loops(node):
            start, end = self.tree.span(loop)
            inside = fresh.within(start, end, self.tree.number(own))
            if (
                stored
                and (inside or self._cut(key, loop, scope))
                or (inside and fresh.is_passed(own, start, end))
                or (loop in fresh.statements and loop is not own)
            ):
                return None
            if self._emptied(key, loop, scope, stored) or (stored and self._is_cut_short(loop)):
                return None
            if not self._per_batch(loop, fresh, own):
                return None
            return loop
        if isinstance(scope, FUNCTIONS) and self._is_lasting(key, node, scope) and self.loops.is_step(scope):
            if fresh.is_passed(own, *self.tree.span(scope)):
                return None
            return scope
        return None

    @remembered
    def _fresh(self, scope: Scope, key: str) -> Fresh:
        found = [
            d for d in self.flow.definitions(scope).get(key, []) if d.how in _FRESH and not self._carries(d.value, key)
        ]
        return Fresh(found, self.tree, self.flow)

    def kept_graph(self, key: str, value: ast.expr, node: ast.AST, stored: bool = False) -> Value | None:
        """The value if it carries a graph and the variable keeps it beyond the step at `node`, else None."""
        outlived = self.outlives(key, node, stored)
        if outlived is None:
            return None
        found = self.infer.value(value)
        if stored and not found.graph and key in self.backward.slots(self.tree.scope(node)) and not self.grad.off(node):
            return Value(Kind.TENSOR, graph=True)
        if not found.graph or self.loops.modes.contradicted(self.tree.scope(node)):
            return None
        if self.is_objective(key, node) or not self._is_log(key, node, outlived):
            return None
        return found

    def evidence(self, key: str, value: ast.expr, node: ast.AST) -> tuple[tuple[ast.AST, str], ...]:
        """Where the graph comes from, where the holder starts, and the loop it outlives."""
        notes = list(self.infer.value(value).why[:2])
        scope = self.tree.scope(node)
        start = next((each for each in self.flow.assigned(scope, key) if each.statement is not node), None)
        if start is not None:
            notes.append((start.statement, f"`{key}` starts here and lives on"))
        for loop in self.loops.step_loops(node)[:1]:
            notes.append((loop, self.loops.why_step(loop)))
        return tuple(notes)

    def varies(self, index: ast.expr) -> bool:
        """Whether a subscript takes new values from step to step: it reads the step's variable or a counter.

        The variable of a loop inside the step (`for name, value in losses.items()`) takes the same few every time.
        """
        loops = self.loops.step_loops(index)
        for node in ast.walk(index):
            if isinstance(node, ast.Name):
                for each in self.flow.reaching(node.id, node):
                    inner = isinstance(each.statement, (ast.For, ast.AsyncFor)) and each.statement not in loops
                    if not inner and any(self.tree.inside(each.statement, loop) for loop in loops):
                        return True
            elif isinstance(node, ast.Attribute):
                return True
        return False

    def is_objective(self, key: str, node: ast.AST) -> bool:
        """Whether what is collected under `key` is differentiated later, in this function or its class."""
        scope = self.tree.scope(node)
        if key in self.backward.sources(scope) or self._returned_to_backward(scope, key):
            return True
        owner = self.classes.around(node)
        if key.startswith("self.") and owner is not None:
            return key in self._sources_in_class(owner)
        if isinstance(scope, FUNCTIONS) and key not in self.flow.definitions(scope):
            return key in self._sources_anywhere
        return False

    @remembered
    def _sources_in_class(self, owner: ClassFacts) -> frozenset[str]:
        return frozenset().union(*map(self.backward.sources, owner.all_functions))

    @cached_property
    def _sources_anywhere(self) -> frozenset[str]:
        return frozenset().union(*map(self.backward.sources, self.tree.all(*FUNCTIONS, ast.Module)))

    def is_differentiated(self, value: ast.expr) -> bool:
        """Whether the value's graph is freed by backward() in the same function (graph nodes alone stay)."""
        roots = self._root_keys(self.tree.scope(value))
        return any(isinstance(n, (ast.Name, ast.Attribute)) and key_of(n) in roots for n in ast.walk(value))

    @remembered
    def _root_keys(self, scope: Scope) -> frozenset[str]:
        return frozenset(each.key for each in self.backward.roots(scope))

    def proven_plain(self, key: str, node: ast.AST) -> bool:
        """Whether later use proves that the entries carry no graph: NumPy and statistics refuse those that do."""
        return key in self._plain_keys(self.tree.scope(node))

    @remembered
    def _plain_keys(self, scope: Scope) -> frozenset[str]:
        """What is handed to functions that refuse a graph."""
        return frozenset(
            key_of(call.args[0])
            for call in self.tree.calls(scope)
            if call.args and self.infer.names.qualname(call.func).partition(".")[0] in ("numpy", "statistics", "json")
        )

    def _carries(self, value: ast.expr | None, key: str) -> bool:
        """Whether a right-hand side reads the variable itself (`a = a + x` is no fresh start)."""
        return value is not None and any(
            isinstance(n, (ast.Name, ast.Attribute)) and key_of(n) == key for n in ast.walk(value)
        )

    def _per_batch(self, loop: Loop, fresh: Fresh, own: ast.stmt) -> bool:
        """False when the variable starts anew for every batch of an outer loop: the inner loop is part of the step."""
        for outer in self.tree.loops(loop):
            if isinstance(outer, (ast.For, ast.AsyncFor)) and self.loops.gives_batches(outer.iter):
                start, end = self.tree.span(outer)
                if fresh.within(start - 1, end, self.tree.number(own)):
                    return False
        return True

    @remembered
    def _is_cut_short(self, loop: Loop) -> bool:
        """Whether the loop breaks off after a number of steps (`if i >= count: break`)."""
        counters = (
            {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
            if not isinstance(loop, ast.While)
            else set()
        )
        for node in self.tree.within(loop):
            if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Break) and isinstance(node.test, ast.Compare):
                if isinstance(node.test.left, ast.Name) and node.test.left.id in counters:
                    return True
        return False

    @remembered
    def _cut(self, key: str, loop: Loop, scope: Scope) -> bool:
        """Whether the loop keeps only the last entries (`window = window[-k:]`)."""
        return any(
            isinstance(d.value, ast.Subscript)
            and isinstance(d.value.slice, ast.Slice)
            and self.tree.inside(d.statement, loop)
            for d in self.flow.definitions(scope).get(key, [])
        )

    @remembered
    def _emptied(self, key: str, loop: Loop, scope: Scope, now_and_then: bool) -> bool:
        """Whether the container is emptied in every step (or now and then, if that is enough)."""
        for change in self.flow.mutations(scope).get(key, []):
            if change.method in ("clear", "del", "popleft", "pop") and self.tree.inside(change.node, loop):
                inner = [
                    each
                    for each in self.tree.ancestors(change.node)
                    if isinstance(each, (ast.If, *FUNCTIONS)) and self.tree.inside(each, loop)
                ]
                if not inner or now_and_then or change.method in ("popleft", "pop"):
                    return True
        return False

    def _is_lasting(self, key: str, node: ast.AST, scope: FunctionNode) -> bool:
        """Whether the variable lives longer than a call of the function: an attribute, or a global or outer name."""
        head, _, rest = key.partition(".")
        if rest:
            return head in ("self", "cls")
        outer = self.infer.names.scope_of(head, node)
        return outer is not None and outer is not scope

    @remembered
    def _returned_to_backward(self, scope: Scope, key: str) -> bool:
        """Whether the function returns the variable and a caller in the file differentiates what it gets."""
        return isinstance(scope, FUNCTIONS) and self._returns(scope, key) and self.is_differentiated_by_callers(scope)

    @remembered
    def is_differentiated_by_callers(self, function: FunctionNode) -> bool:
        """Whether a caller in the file differentiates what the function gives."""
        for call in self.classes.calls_of(function):
            caller = self.tree.scope(call)
            sources, values = self.backward.sources(caller), self._values(caller)
            objectives = self._objectives(caller)
            up: ast.AST = call
            while not isinstance(up, ast.stmt):
                if any(key in sources for key in values.get(up, ())) or up in objectives:
                    return True
                up = self.tree.parents[up]
        return False

    @remembered
    def _objectives(self, scope: Scope) -> frozenset[ast.expr]:
        return frozenset(self.backward.objectives(scope))

    @remembered
    def _values(self, scope: Scope) -> dict[ast.AST, list[str]]:
        """The expression that variables of a scope are bound to -> their keys."""
        found: dict[ast.AST, list[str]] = {}
        for definitions in self.flow.definitions(scope).values():
            for each in definitions:
                if each.value is not None:
                    found.setdefault(each.value, []).append(each.key)
        return found

    def _returns(self, function: FunctionNode, key: str) -> bool:
        return key in self._returned(function)

    @remembered
    def _returned(self, function: FunctionNode) -> frozenset[str]:
        """What is read in the values that a function returns."""
        return frozenset(
            key
            for each in self.tree.within(function)
            if isinstance(each, ast.Return) and each.value is not None
            for key in self.backward.read(each.value)
        )

    def _is_log(self, key: str, node: ast.AST, outlived: Loop | FunctionNode) -> bool:
        """Whether collecting is for the record: the step trains by itself, or the code evaluates.

        A loop over batches that neither trains nor evaluates may build an objective for its caller.
        """
        if self.loops.trains(outlived) or isinstance(outlived, FUNCTIONS):
            return True
        function = self.tree.function(node)
        if function is None or self.loops.modes.evaluates(node) is not None or hints.is_evaluation(function.name):
            return True
        return not self._returns(function, key)
