"""Step loops: loops that run once per batch, what outlives a step, and what a step's loss flows into."""

from __future__ import annotations

import ast

from flake8_torchleak.model import hints
from flake8_torchleak.model.backward import Backward
from flake8_torchleak.model.classes import ClassTable
from flake8_torchleak.model.flow import Definition, Flow, How, key_of
from flake8_torchleak.model.gradmode import GradMode
from flake8_torchleak.model.infer import Infer
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Loop, Scope, Tree
from flake8_torchleak.model.values import TENSOR_METHODS, Kind, Size, Value

_STEP_METHODS = frozenset({
    "training_step", "train_step", "train_batch", "_train_batch", "optimize_parameters", "run_step", "train_one_batch",
    "_train_step", "fit_batch", "train_on_batch", "training_step_end",
})  # fmt: skip
_DEPTH = 2
_ONLY_TENSORS = frozenset(TENSOR_METHODS) - {"item", "index_select", "max", "min", "sum", "mean", "T", "add"} | {"cuda", "to"}


class Loops:
    """Step loops of a module."""

    def __init__(self, tree: Tree, flow: Flow, classes: ClassTable, infer: Infer, grad: GradMode, backward: Backward) -> None:
        self.tree, self.flow, self.classes, self.infer, self.grad, self.backward = tree, flow, classes, infer, grad, backward
        self._step: dict[Loop, str] = {}
        self._trains: dict[ast.AST, bool] = {}
        self._contradicted: dict[ast.AST, bool] = {}
        self._outlived: dict[tuple[str, ast.AST, bool], Loop | FunctionNode | None] = {}

    def why_step(self, loop: Loop) -> str:
        """Why a loop runs once per batch or optimisation step ("" if nothing says so): words for a note."""
        known = self._step.get(loop)
        if known is None:
            known = self._step[loop] = self._why_step(loop)
        return known

    def _why_step(self, loop: Loop) -> str:
        if isinstance(loop, (ast.For, ast.AsyncFor)) and self.gives_batches(loop.iter):
            return "one iteration per batch"
        if self.trains(loop) and not self._accumulates(loop):
            return "one iteration per training step"
        if self.draws_batches(loop):
            return "draws one batch per iteration"
        if self.runs_model(loop) and self.evaluates(loop.body[0]) is not None and not self.is_short(loop):
            if not any(self.runs_model(outer) and not self.is_short(outer) for outer in self.tree.loops(loop)):
                return "one iteration per evaluation step"
        return ""

    def _accumulates(self, loop: Loop) -> bool:
        """Whether the loop is part of a step: the optimizer steps outside of it, in a loop around it."""
        if self._optimizes(loop):
            return False
        return any(self._optimizes(outer) for outer in self.tree.loops(loop))

    def _optimizes(self, loop: Loop) -> bool:
        return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "step" for n in self.tree.within(loop))

    def draws_batches(self, loop: Loop) -> bool:
        """Whether the loop's body takes batches with `next(iterator_of_a_loader)`, one after another."""
        counted = isinstance(loop, ast.While) or self.infer.value(loop.iter).kind is Kind.RANGE
        for each in self.tree.within(loop) if counted else ():
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "next" and each.args:
                if self.gives_batches(each.args[0]):
                    return True
        return False

    def is_short(self, loop: Loop) -> bool:
        """Whether a loop goes over a few fixed values (scales, folds, sizes of a test)."""
        return isinstance(loop, (ast.For, ast.AsyncFor)) and self.infer.value(loop.iter).size is Size.SMALL

    def runs_model(self, loop: Loop) -> bool:
        """Whether the loop's body calls a model."""
        return any(
            isinstance(each, ast.Call) and (each.args or each.keywords) and not self.infer.calls.is_construction(each)
            and self.infer.value(each.func).kind is Kind.MODULE
            for each in self.tree.within(loop)
        )

    def gives_batches(self, iterable: ast.expr) -> bool:
        """Whether iterating this goes over a DataLoader (also through enumerate, tqdm, zip)."""
        return self.infer.loader_of(iterable) is not None

    def trains(self, node: ast.AST, depth: int = _DEPTH) -> bool:
        """Whether the code below `node` runs backward(), itself or in a helper of the file."""
        known = self._trains.get(node)
        if known is not None:
            return known
        self._trains[node] = False
        found = False
        for each in self.tree.within(node):
            if not isinstance(each, ast.Call):
                continue
            name = last_name(each.func)
            if name in ("backward", "manual_backward") and isinstance(each.func, ast.Attribute):
                found = True
            elif depth:
                helper = self.classes.callee(each)
                found = helper is not None and helper.name != "forward" and self.trains(helper, depth - 1)
            if found:
                break
        self._trains[node] = found
        return found

    def step_loops(self, node: ast.AST) -> list[Loop]:
        """The step loops around `node` in its function, innermost first."""
        return [loop for loop in self.tree.loops(node) if self.why_step(loop)]

    def is_step(self, function: FunctionNode) -> bool:
        """Whether a function runs once per step: it is called in a step loop of the file, or is a framework's step."""
        if self.tree.class_of(function) is not None and function.name in _STEP_METHODS:
            return True
        return any(self.step_loops(call) for call in self.classes.calls_of(function))

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
        definitions = [
            d for d in self.flow.definitions(scope).get(key, [])
            if d.how in (How.ASSIGN, How.ITERATE, How.ENTER) and d.statement is not self.tree.statement(node) and not self._carries(d.value, key)
        ]  # fmt: skip
        for loop in self.step_loops(node):
            inside = [d for d in definitions if self.tree.inside(d.statement, loop) and (d.statement is not loop)]
            if stored and (inside or self._cut(key, loop, scope)) or any(self.flow.always_before(d.statement, node) for d in inside) or loop in [d.statement for d in definitions]:
                return None
            if self._emptied(key, node, loop, scope, stored) or (stored and self._is_cut_short(loop)):
                return None
            if not self._per_batch(loop, definitions):
                return None
            return loop
        if isinstance(scope, FUNCTIONS) and self._is_lasting(key, node, scope) and self.is_step(scope):
            if any(self.flow.always_before(d.statement, node) for d in definitions):
                return None
            return scope
        return None

    def _carries(self, value: ast.expr | None, key: str) -> bool:
        """Whether a right-hand side reads the variable itself (`a = a + x` is no fresh start)."""
        if value is None:
            return False
        return any(
            isinstance(n, (ast.Name, ast.Attribute)) and key_of(n) == key for n in ast.walk(value)
        )

    def _per_batch(self, loop: Loop, definitions: list[Definition]) -> bool:
        """False when the variable starts anew for every batch of an outer loop: the inner loop is part of the step."""
        for outer in self.tree.loops(loop):
            if isinstance(outer, (ast.For, ast.AsyncFor)) and self.gives_batches(outer.iter):
                if any(self.tree.inside(d.statement, outer) for d in definitions):
                    return False
        return True

    def _is_cut_short(self, loop: Loop) -> bool:
        """Whether the loop breaks off after a number of steps (`if i >= count: break`)."""
        counters = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)} if not isinstance(loop, ast.While) else set()
        for node in self.tree.within(loop):
            if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Break) and isinstance(node.test, ast.Compare):
                if isinstance(node.test.left, ast.Name) and node.test.left.id in counters:
                    return True
        return False

    def _cut(self, key: str, loop: Loop, scope: Scope) -> bool:
        """Whether the loop keeps only the last entries (`window = window[-k:]`)."""
        return any(
            isinstance(d.value, ast.Subscript) and isinstance(d.value.slice, ast.Slice) and self.tree.inside(d.statement, loop)
            for d in self.flow.definitions(scope).get(key, [])
        )

    def _emptied(self, key: str, node: ast.AST, loop: Loop, scope: Scope, now_and_then: bool) -> bool:
        """Whether the container is emptied in every step (or now and then, if that is enough)."""
        for change in self.flow.mutations(scope).get(key, []):
            if change.method in ("clear", "del", "popleft", "pop") and self.tree.inside(change.node, loop):
                inner = [each for each in self.tree.ancestors(change.node) if isinstance(each, (ast.If, *FUNCTIONS)) and self.tree.inside(each, loop)]
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

    def is_objective(self, key: str, node: ast.AST) -> bool:
        """Whether what is collected under `key` is differentiated later, in this function or its class."""
        scope = self.tree.scope(node)
        if key in self.backward.sources(scope) or key in self._returned_to_backward(scope, key):
            return True
        owner = self.classes.around(node)
        if key.startswith("self.") and owner is not None:
            return any(key in self.backward.sources(function) for function in owner.all_functions)
        if isinstance(scope, FUNCTIONS) and key not in self.flow.definitions(scope):
            return any(key in self.backward.sources(each) for each in self.tree.all(*FUNCTIONS, ast.Module))
        return False

    def _returned_to_backward(self, scope: Scope, key: str) -> frozenset[str]:
        """{key} when the function returns the variable and a caller in the file differentiates what it gets."""
        if not isinstance(scope, FUNCTIONS) or not self._returns(scope, key):
            return frozenset()
        for call in self.classes.calls_of(scope):
            caller = self.tree.scope(call)
            sources = self.backward.sources(caller)
            for definitions in self.flow.definitions(caller).values():
                for each in definitions:
                    if each.value is not None and self.tree.inside(call, each.value) and each.key in sources:
                        return frozenset({key})
            if any(self.tree.inside(call, objective) for objective in self.backward.objectives(caller)):
                return frozenset({key})
        return frozenset()

    def _returns(self, function: FunctionNode, key: str) -> bool:
        return any(
            isinstance(each, ast.Return) and each.value is not None and key in set(self.backward.read(each.value))
            for each in self.tree.within(function)
        )

    def graph(self, node: ast.expr) -> Value | None:
        """The value of an expression if it carries a graph where it stands, else None."""
        value = self.infer.value(node)
        return value if value.graph else None

    def evaluates(self, node: ast.AST) -> ast.Call | None:
        """The `.eval()` call on a model above or around `node` in its function, if there is one."""
        scope = self.tree.scope(node)
        found = None
        for call in self.tree.calls(scope):
            if isinstance(call.func, ast.Attribute) and call.func.attr in ("eval", "train"):
                if call.lineno > getattr(node, "lineno", 0):
                    break
                receiver = call.func.value
                false = call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value is False
                if call.func.attr == "eval" and not call.args or false:
                    if self.infer.value(receiver).kind is Kind.MODULE or not isinstance(receiver, ast.Call):
                        found = found or call
                elif call.func.attr == "train" and not self.tree.loops(call) == []:
                    found = None
        return found


    # -- questions of the rules -----------------------------------------------------------------------------

    def kept_graph(self, key: str, value: ast.expr, node: ast.AST, stored: bool = False) -> Value | None:
        """The value if it carries a graph and the variable keeps it beyond the step at `node`, else None."""
        outlived = self.outlives(key, node, stored)
        if outlived is None:
            return None
        found = self.infer.value(value)
        if stored and not found.graph and key in self.backward.slots(self.tree.scope(node)) and not self.grad.off(node):
            return Value(Kind.TENSOR, graph=True)
        if not found.graph or self.contradicted(self.tree.scope(node)):
            return None
        if self.is_objective(key, node) or not self._is_log(key, node, outlived):
            return None
        return found

    def _is_log(self, key: str, node: ast.AST, outlived: Loop | FunctionNode) -> bool:
        """Whether collecting is for the record: the step trains by itself, or the code evaluates.

        A loop over batches that neither trains nor evaluates may build an objective for its caller.
        """
        if self.trains(outlived) or isinstance(outlived, FUNCTIONS):
            return True
        function = self.tree.function(node)
        if function is None or self.evaluates(node) is not None or hints.is_evaluation(function.name):
            return True
        return not self._returns(function, key)

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

    def contradicted(self, scope: Scope) -> bool:
        """Whether the code could not run with gradients on: it calls `.numpy()` on what would carry a graph.

        torch raises there, so somebody outside the file turns gradients off.
        """
        known = self._contradicted.get(scope)
        if known is None:
            known = self._contradicted[scope] = any(
                isinstance(call.func, ast.Attribute) and call.func.attr == "numpy" and not call.keywords
                and bool(self.infer.value(call.func.value).graph)
                for call in self.tree.calls(scope)
            )
        return known

    def varies(self, index: ast.expr) -> bool:
        """Whether a subscript takes new values from step to step: it reads the step's variable or a counter.

        The variable of a loop inside the step (`for name, value in losses.items()`) takes the same few every time.
        """
        loops = self.step_loops(index)
        for node in ast.walk(index):
            if isinstance(node, ast.Name):
                for each in self.flow.reaching(node.id, node):
                    inner = isinstance(each.statement, (ast.For, ast.AsyncFor)) and each.statement not in loops
                    if not inner and any(self.tree.inside(each.statement, loop) for loop in loops):
                        return True
            elif isinstance(node, ast.Attribute):
                return True
        return False

    def evidence(self, key: str, value: ast.expr, node: ast.AST) -> tuple[tuple[ast.AST, str], ...]:
        """Where the graph comes from, where the holder starts, and the loop it outlives."""
        notes = list(self.infer.value(value).why[:2])
        scope = self.tree.scope(node)
        start = next((d for d in self.flow.definitions(scope).get(key, []) if d.how is How.ASSIGN and d.statement is not node), None)
        if start is not None:
            notes.append((start.statement, f"`{key}` starts here and lives on"))
        for loop in self.step_loops(node)[:1]:
            notes.append((loop, self.why_step(loop)))
        return tuple(notes)

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
        if hints.is_tensor(key.rpartition(".")[2]):
            return True
        for each in self.tree.within(self.tree.scope(node)):
            if isinstance(each, ast.Attribute) and each.attr in _ONLY_TENSORS and key_of(each.value) == key:
                return True
            if isinstance(each, ast.Call) and any(key_of(a) == key for a in each.args):
                if self.infer.value(each.func).kind in (Kind.MODULE, Kind.LOSS):
                    return True
        return False

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
        for each in self.tree.within(self.tree.scope(node)):
            if not isinstance(each, (ast.Assign, ast.Expr)) or not isinstance(each.value, ast.Call):
                continue
            called = each.value.func
            if not isinstance(called, ast.Attribute) or called.attr not in ("to", "cuda"):
                continue
            target = each.targets[0] if isinstance(each, ast.Assign) else called
            in_place = isinstance(each, ast.Expr) or isinstance(target, ast.Subscript)
            if in_place and any(isinstance(n, ast.Name) and n.id == root.id for n in ast.walk(target)):
                return True
        return False
