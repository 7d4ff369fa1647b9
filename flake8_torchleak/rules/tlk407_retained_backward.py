"""retained-backward: backward() retains its graph, and nothing in the step goes through that again.

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
before still holds 527 KB, fixed 8 KB: 13 saved tensors; where the step is a function of its own, 0. Nothing
grows by that. Where each loss is kept, 532 KB stay per step, fixed the 12 KB of graph nodes (TLK402).

Run by `fixtures/TLK407_retained_backward/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
Something later in the step differentiates a value that may share a part of the graph: not where both are made of
nothing in common but data, of outputs without their graph (`critic(fake.detach())`), or of networks that are run again.
What was put into a list or dict counts as what that holds, and so does what a loop over one goes through.
What is differentiated by code that nobody can see, or comes from an attribute that methods set, may be anything. Nor
where the graph was made outside of the loop or is handed in, where state is carried from step to step (TLK406), or in a
test: a few small steps. It is a note where a function of its own is the step: when that returns the graph is gone,
unless something else keeps it, or what it gives holds it.

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
from flake8_torchleak.model.retaining import PLAIN, graph_of, handed, is_data, is_differentiated_again
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Loop
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

_SHOWS = frozenset({"float", "print", "append", "add_scalar", "log", "update", "str", "format", "isnan", "isfinite"})
_MOST_VARIABLES = 60


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
        if retained is None or not last_name(call.func).endswith("backward"):
            continue
        run, objective = handed(module, call)
        if objective is None or module.tree.scope(run) in carrying:
            continue
        around: Loop | FunctionNode | None = next(iter(module.tree.loops(run)), module.tree.function(run))
        if around is None or is_differentiated_again(module, run, around) or not _is_made_in(module, objective, around):
            continue
        ends = isinstance(around, FUNCTIONS) and not _gives_graph(module, around, objective)
        yield Report(
            retained,
            f"activations stay in memory: nothing goes through the graph of `{short(objective)}` again; "
            "drop `retain_graph=True`",
            notes=((around, "one step" if isinstance(around, FUNCTIONS) else module.loops.why_step(around)),),
            target=retained,
            severity=Severity.NOTE if ends else None,
            why="the graph is gone when the function returns, unless something else keeps it" if ends else "",
        )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`retain_graph=False`."""
    assert isinstance(report.target, ast.Constant)
    yield Fix(FixLevel.UNSAFE, "set `retain_graph=False`", build.replaced(report.target, "False"))


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


def _gives_graph(module: Module, function: FunctionNode, objective: ast.expr) -> bool:
    """Whether a function returns a variable, or several, that may hold a part of a value's graph."""
    graph = graph_of(module, objective)
    given = (each.value for each in module.tree.within(function) if isinstance(each, ast.Return))
    parts = (part for each in given for part in (each.elts if isinstance(each, (ast.Tuple, ast.List)) else [each]))
    names = (each for each in parts if isinstance(each, ast.Name) and _carries(module, each))
    ways = (way for each in names for way in module.flow.reaching(each.id, each))
    return any(graph is None or way.statement in graph for way in ways)


def _may_carry(module: Module, definition: Definition, node: ast.Name, around: Loop | FunctionNode) -> bool:
    """Whether a variable from outside may bring a graph along."""
    value = module.infer.value(node)
    called = module.tree.parents[node]
    if value.graph or value.kind in PLAIN:
        return bool(value.graph)
    if definition.how is How.ITERATE:
        return value.graph is None and not is_data(module, definition)
    if isinstance(called, ast.Call) and (called.func is node or last_name(called.func) in ("to", "cuda")):
        return False
    if isinstance(called, ast.keyword) and called.arg in ("device", "dtype"):
        return False
    if definition.how is How.PARAMETER:
        return not (isinstance(around, FUNCTIONS) or node.id in ("self", "cls") or value.origin)
    if value.graph is not None or is_data(module, definition):
        return False
    return isinstance(definition.value, (ast.Call, ast.BinOp, ast.List, ast.Tuple))


def _is_used_later(module: Module, objective: ast.expr, around: Loop | FunctionNode, made: set[Definition]) -> bool:
    """Whether a part of the graph is handed to something after backward, which may differentiate it again."""
    graph = graph_of(module, objective)
    parts_of = graph if graph is not None else {each.statement for each in made if not is_data(module, each)}
    for call in module.tree.all(ast.Call):
        if call.lineno <= objective.lineno or not module.tree.inside(call, around) or last_name(call.func) in _SHOWS:
            continue
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            parts = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]
            names = [part for part in parts if isinstance(part, ast.Name) and _carries(module, part)]
            if any(way.statement in parts_of for each in names for way in module.flow.reaching(each.id, each)):
                return True
    return False


def _carries(module: Module, node: ast.Name) -> bool:
    return module.infer.value(node).graph is not False and module.infer.value(node).kind not in PLAIN
