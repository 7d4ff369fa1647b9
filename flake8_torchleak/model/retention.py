"""What outlives a step, and whether it carries a graph with it."""

from __future__ import annotations

import ast

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import Definition, How, key_of
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
        own = self.tree.statement(node)
        definitions = [
            d
            for d in self.flow.definitions(scope).get(key, [])
            if d.how in _FRESH and d.statement is not own and not self._carries(d.value, key)
        ]
        for loop in self.loops.step_loops(node):
            inside = [d for d in definitions if self.tree.inside(d.statement, loop) and (d.statement is not loop)]
            if (
                stored
                and (inside or self._cut(key, loop, scope))
                or any(self.flow.always_before(d.statement, node) for d in inside)
                or loop in [d.statement for d in definitions]
            ):
                return None
            if self._emptied(key, node, loop, scope, stored) or (stored and self._is_cut_short(loop)):
                return None
            if not self._per_batch(loop, definitions):
                return None
            return loop
        if isinstance(scope, FUNCTIONS) and self._is_lasting(key, node, scope) and self.loops.is_step(scope):
            if any(self.flow.always_before(d.statement, node) for d in definitions):
                return None
            return scope
        return None

    def kept_graph(self, key: str, value: ast.expr, node: ast.AST, stored: bool = False) -> Value | None:
        """The value if it carries a graph and the variable keeps it beyond the step at `node`, else None."""
        outlived = self.outlives(key, node, stored)
        if outlived is None:
            return None
        found = self.infer.value(value)
        if stored and not found.graph and key in self.backward.slots(self.tree.scope(node)) and not self.grad.off(node):
            return Value(Kind.TENSOR, graph=True)
        if not found.graph or self.loops.contradicted(self.tree.scope(node)):
            return None
        if self.is_objective(key, node) or not self._is_log(key, node, outlived):
            return None
        return found

    def evidence(self, key: str, value: ast.expr, node: ast.AST) -> tuple[tuple[ast.AST, str], ...]:
        """Where the graph comes from, where the holder starts, and the loop it outlives."""
        notes = list(self.infer.value(value).why[:2])
        scope = self.tree.scope(node)
        start = next(
            (d for d in self.flow.definitions(scope).get(key, []) if d.how is How.ASSIGN and d.statement is not node),
            None,
        )
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
            return any(key in self.backward.sources(function) for function in owner.all_functions)
        if isinstance(scope, FUNCTIONS) and key not in self.flow.definitions(scope):
            return any(key in self.backward.sources(each) for each in self.tree.all(*FUNCTIONS, ast.Module))
        return False

    def is_differentiated(self, value: ast.expr) -> bool:
        """Whether the value's graph is freed by backward() in the same function (graph nodes alone stay)."""
        scope = self.tree.scope(value)
        roots = {d.key for d in self.backward.roots(scope)}
        return any(isinstance(n, (ast.Name, ast.Attribute)) and key_of(n) in roots for n in ast.walk(value))

    def proven_plain(self, key: str, node: ast.AST) -> bool:
        """Whether later use proves that the entries carry no graph: NumPy and statistics refuse those that do."""
        for call in self.tree.calls(self.tree.scope(node)):
            root = self.infer.names.qualname(call.func).partition(".")[0]
            if root in ("numpy", "statistics", "json") and call.args and key_of(call.args[0]) == key:
                return True
        return False

    def _carries(self, value: ast.expr | None, key: str) -> bool:
        """Whether a right-hand side reads the variable itself (`a = a + x` is no fresh start)."""
        return value is not None and any(
            isinstance(n, (ast.Name, ast.Attribute)) and key_of(n) == key for n in ast.walk(value)
        )

    def _per_batch(self, loop: Loop, definitions: list[Definition]) -> bool:
        """False when the variable starts anew for every batch of an outer loop: the inner loop is part of the step."""
        for outer in self.tree.loops(loop):
            if isinstance(outer, (ast.For, ast.AsyncFor)) and self.loops.gives_batches(outer.iter):
                if any(self.tree.inside(d.statement, outer) for d in definitions):
                    return False
        return True

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

    def _cut(self, key: str, loop: Loop, scope: Scope) -> bool:
        """Whether the loop keeps only the last entries (`window = window[-k:]`)."""
        return any(
            isinstance(d.value, ast.Subscript)
            and isinstance(d.value.slice, ast.Slice)
            and self.tree.inside(d.statement, loop)
            for d in self.flow.definitions(scope).get(key, [])
        )

    def _emptied(self, key: str, node: ast.AST, loop: Loop, scope: Scope, now_and_then: bool) -> bool:
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

    def is_differentiated_by_callers(self, function: FunctionNode) -> bool:
        """Whether a caller in the file differentiates what the function gives."""
        for call in self.classes.calls_of(function):
            caller = self.tree.scope(call)
            sources = self.backward.sources(caller)
            for definitions in self.flow.definitions(caller).values():
                for each in definitions:
                    if each.value is not None and self.tree.inside(call, each.value) and each.key in sources:
                        return True
            if any(self.tree.inside(call, objective) for objective in self.backward.objectives(caller)):
                return True
        return False

    def _returns(self, function: FunctionNode, key: str) -> bool:
        return any(
            isinstance(each, ast.Return) and each.value is not None and key in set(self.backward.read(each.value))
            for each in self.tree.within(function)
        )

    def _is_log(self, key: str, node: ast.AST, outlived: Loop | FunctionNode) -> bool:
        """Whether collecting is for the record: the step trains by itself, or the code evaluates.

        A loop over batches that neither trains nor evaluates may build an objective for its caller.
        """
        if self.loops.trains(outlived) or isinstance(outlived, FUNCTIONS):
            return True
        function = self.tree.function(node)
        if function is None or self.loops.evaluates(node) is not None or hints.is_evaluation(function.name):
            return True
        return not self._returns(function, key)
