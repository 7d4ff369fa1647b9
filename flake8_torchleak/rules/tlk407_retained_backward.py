"""retained-backward: the only backward() of a step retains its graph, for nothing.

Leaks
-----
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward(retain_graph=True)
        history.append(loss)

Instead
-------
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        history.append(loss.item())

Why
---
`backward()` frees the activations as it goes. With `retain_graph=True` they stay until the last value of the graph
is dropped: two steps' activations at the peak, and every step's if a loss or output is kept anywhere.

Measured
--------
A network of four 512-wide layers, batch 64 (530 KB of activations): while a step computes its output, the step
before still holds 529 KB, fixed 9 KB. Nothing grows by that. Where each loss is kept, 532 KB stay per step,
fixed the 12 KB of graph nodes (TLK402).

Run by `fixtures/TLK407_retained_backward/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The function differentiates again (a second backward, autograd.grad, a gradient penalty), the graph was made outside
of the loop or is handed in, state is carried from step to step (TLK406), or it is a test: a few small steps.

How to fix it
-------------
Unsafe: `retain_graph=False`. Where a graph is used again in a way that was not seen, torch then says so by an error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.recurrence import carried_states, retains_graph
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Loop
from flake8_torchleak.model.values import Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

_AGAIN = ("backward", "gradient", "penalty", "jacobian", "hessian", "detach_")
_SHOWS = frozenset({"float", "print", "append", "add_scalar", "log", "update", "str", "format", "isnan", "isfinite"})
_MOST_VARIABLES = 60
_PLAIN = (Kind.MODULE, Kind.LOSS, Kind.LOADER, Kind.NUMBER, Kind.METRIC, Kind.DATASET)


@rule(
    "TLK407",
    "retained-backward",
    fix=FixLevel.UNSAFE,
    severity=Severity.WARNING,
    subject=Subject.STEPS,
    words=("retain_graph",),
)
def check(module: Module) -> Iterator[Report]:
    if module.is_test:
        return
    carrying = {module.tree.scope(each.call) for each in carried_states(module)}
    for call in module.loops.steps(ast.Call):
        retained = retains_graph(call)
        objective = _objective(call)
        function = module.tree.function(call)
        if retained is None or objective is None or module.tree.scope(call) in carrying:
            continue
        around: Loop | FunctionNode | None = next(iter(module.tree.loops(call)), function)
        if (
            around is None
            or _differentiates_again(module, call, function)
            or not _is_made_in(module, objective, around)
        ):
            continue
        yield Report(
            retained,
            f"activations stay in memory: the only backward of the step retains the graph of `{short(objective)}`; "
            "drop `retain_graph=True`",
            notes=((around, "one step" if isinstance(around, FUNCTIONS) else module.loops.why_step(around)),),
            target=retained,
        )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`retain_graph=False`."""
    assert isinstance(report.target, ast.Constant)
    yield Fix(FixLevel.UNSAFE, "set `retain_graph=False`", build.replaced(report.target, "False"))


def _objective(call: ast.Call) -> ast.expr | None:
    """What is differentiated: `x` of `x.backward()` and of `accelerator.backward(x)`."""
    if not isinstance(call.func, ast.Attribute) or not call.func.attr.endswith("backward"):
        return None
    return call.args[0] if call.args else call.func.value


def _differentiates_again(module: Module, call: ast.Call, function: FunctionNode | None) -> bool:
    """Whether anything else around differentiates, by its name or by what a helper of the file does."""
    scope: ast.AST = function if function is not None else module.root
    callers = module.classes.calls_of(function) if function is not None else []
    for other in module.tree.all(ast.Call):
        if other is call or not module.tree.inside(other, scope):
            continue
        name, helper = last_name(other.func), module.classes.callee(other)
        if name == "grad" or any(word in name for word in _AGAIN) or (helper and module.loops.trains(helper)):
            return True
    return any(
        module.tree.inside(other, loop)
        for each in callers
        for loop in module.tree.loops(each)
        for name in ("backward", "manual_backward", "grad")
        for other in module.classes.callers.get(name, ())
    )


def _is_made_in(module: Module, objective: ast.expr, around: Loop | FunctionNode) -> bool:
    """Whether the whole graph is made by one round of the loop (or one call), and used no more after backward."""
    queue: list[ast.expr] = [objective]
    seen: set[Definition] = set()
    while queue:
        expression = queue.pop()
        for node in ast.walk(expression):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
                continue
            for each in module.flow.reaching(node.id, node):
                if each in seen or len(seen) > _MOST_VARIABLES or each.how is How.OTHER:
                    continue
                seen.add(each)
                outside = each.statement is around or not module.tree.inside(each.statement, around)
                if not outside and each.value is not None:
                    queue.append(each.value)
                elif outside and (expression is objective or _may_carry(module, each, node, around)):
                    return False
    return bool(seen) and not _is_used_later(module, objective, around, seen)


def _may_carry(module: Module, definition: Definition, node: ast.Name, around: Loop | FunctionNode) -> bool:
    """Whether a variable from outside may bring a graph along."""
    value = module.infer.value(node)
    called = module.tree.parents[node]
    if value.graph or value.kind in _PLAIN or definition.how is How.ITERATE:
        return bool(value.graph)
    if isinstance(called, ast.Call) and called.func is node:
        return False
    if definition.how is How.PARAMETER:
        return not (isinstance(around, FUNCTIONS) or node.id in ("self", "cls") or value.origin)
    return isinstance(definition.value, (ast.Call, ast.BinOp, ast.List, ast.Tuple)) and value.graph is None


def _is_used_later(module: Module, objective: ast.expr, around: Loop | FunctionNode, made: set[Definition]) -> bool:
    """Whether a part of the graph is handed to something after backward, which may differentiate it again."""
    names = {each.key for each in made if not isinstance(each.statement, (ast.For, ast.AsyncFor))}
    for call in module.tree.all(ast.Call):
        if call.lineno <= objective.lineno or not module.tree.inside(call, around) or last_name(call.func) in _SHOWS:
            continue
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            parts = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]
            if any(isinstance(part, ast.Name) and part.id in names and _carries(module, part) for part in parts):
                return True
    return False


def _carries(module: Module, node: ast.Name) -> bool:
    return module.infer.value(node).graph is not False and module.infer.value(node).kind not in _PLAIN
