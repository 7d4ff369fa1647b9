"""chained-buffer: a module's running state is updated from activations with their autograd graph.

Leaks
-----
    class Centred(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)
            self.mean = torch.zeros(8)

        def forward(self, x):
            h = self.layer(x)
            self.mean = 0.9 * self.mean + 0.1 * h.mean(0)
            return h - self.mean

Instead
-------
    class Centred(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)
            self.mean = torch.zeros(8)

        def forward(self, x):
            h = self.layer(x)
            self.mean = 0.9 * self.mean + 0.1 * h.mean(0).detach()
            return h - self.mean

Why
---
Each forward call makes the new state out of the old one, so the graph of the state reaches back through every call
since the start: it is never freed, and a `backward()` through it goes into graphs that were freed before. In-place
updates (`mul_`, `add_`, `self.queue[i] = h`) record history as well. Source: pytorch issue 20275.

Measured
--------
One 512-wide layer, batch 64, more in each call: a running mean of its output 6 graph nodes and 133 KB, with the
inputs that the layer saved; in place, 136 KB, although each step's own loss is differentiated; a bank of 1,024
rows 260 KB. Fixed: 0 nodes and 0 KB. A `backward()` through the running mean fails in the second step ("Trying
to backward through the graph a second time"), fixed it does not.

Run by `fixtures/TLK601_chained_buffer/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
Gradients are off, the new term is detached or a plain input (no graph), or the class starts the state anew somewhere
(a recurrence with `reset`, spiking neurons). Of a module without parameters, what it is given may be data: it is
reported, as a note, only where it uses the statistics of the batch in training, as batch norm does.

How to fix it
-------------
Unsafe: `.detach()` on the new state, or on what is added in place. What was learned through the state is then no longer
learned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.following import FOLLOWED, Said, reports
from flake8_torchleak.gate import Subject
from flake8_torchleak.keepers import attribute, given_to, is_let_go, variable
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.model.classes import ClassFacts, self_name
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import hands_over, last_name
from flake8_torchleak.model.outline import Outline, statements_of
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.rule import Report, never, rule
from flake8_torchleak.wording import is_cut, released, short

Update = tuple[ast.stmt, str, list[ast.expr]]
"""A statement, the attribute that it updates, and what to detach."""


def _may_update(outline: Outline) -> bool:
    """Whether a `forward`, or a method that it calls, has a statement that may update an attribute."""
    forwards = [each for each in outline.functions if each.name == "forward"]
    if any(_updates_own(each, self_name(each)) for each in forwards):
        return True
    others = (each for each in outline.functions if each.name not in ("forward", "__init__"))
    updating = {each.name for each in others if _updates_own(each, self_name(each))}
    return bool(updating) and any(
        isinstance(node, ast.Call) and last_name(node.func) in updating for each in forwards for node in ast.walk(each)
    )


def _updates_own(function: FunctionNode, owner: str) -> bool:
    """Whether a method has a statement that updates an attribute, or sets one that it reads as well."""
    found = list(statements_of(function))
    if any(_is_update(each, owner) for each in found):
        return True
    bound = {
        target.attr
        for each in found
        if isinstance(each, ast.Assign) and not isinstance(each.value, ast.Constant)
        for target in each.targets
        if isinstance(target, ast.Attribute) and _is_own(target, owner)
    }
    read = (each for each in ast.walk(function) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load))
    return bool(bound) and any(each.attr in bound and _is_own(each, owner) for each in read)


def _is_update(node: ast.AST, owner: str) -> bool:
    """Whether a statement has the form of an update of an attribute of `owner`: what `_updates` looks into."""
    if isinstance(node, ast.AugAssign):
        return _is_own(node.target, owner) and not isinstance(node.value, ast.Constant)
    if isinstance(node, (ast.Expr, ast.Assign)) and isinstance(node.value, ast.Call) and hands_over(node.value, owner):
        return True
    if isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            if node.value.func.attr in ("append", "extend"):
                return _is_own(node.value.func.value, owner)
        root, _ = _chained(node.value)
        return root is not node.value and _is_own(root, owner)
    if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Constant):
        return False
    target = node.targets[0]
    if isinstance(target, ast.Subscript):
        return _is_own(target.value, owner)
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    own = {last_name(part) for part in parts if _is_own(part, owner)}
    return bool(own) and any(isinstance(each, ast.Attribute) and each.attr in own for each in ast.walk(node.value))


def _is_own(node: ast.AST, owner: str) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == owner


@rule(
    "TLK601",
    "chained-buffer",
    fix=FixLevel.UNSAFE,
    severity=Severity.ERROR,
    subject=Subject.TORCH,
    words=("def forward",),
    shape=_may_update,
    apart=never,
)
def check(module: Module) -> Iterator[Report]:
    let_go = partial(is_let_go, module)
    yield from reports(module, "TLK601", partial(_said, module), let_go)


def _said(module: Module, kept: Kept) -> Said | None:
    facts, function = module.classes.around(kept.at), module.tree.function(kept.at)
    where = ".".join(each.name for each in (facts.node if facts is not None else None, function) if each is not None)
    for node, attr, terms in _updates(module, function, facts) if facts is not None and function is not None else ():
        if node in (kept.at, module.tree.statement(kept.at)):
            detached = "the new value with `.detach()`" if is_cut(terms[0]) else f"`{released(terms[0])}`"
            how = "add" if isinstance(node, ast.AugAssign) else "store" if isinstance(node, ast.Assign) else "pass"
            taking = module.tree.parents[terms[0]]
            if isinstance(taking, ast.Call) and how == "pass":
                detached += f" to `{last_name(taking.func)}`"
            return Said(
                f"memory grows every call of `{where}`: `self.{attr}` keeps the autograd graphs of all "
                f"earlier ones; {how} {detached}",
                terms,
            )
    given = next(given_to(module, variable(kept), kept.at), "")
    if given and kept.how != "state" and kept.node is kept.at:
        return Said(
            f"memory grows every call of `{where}`: `self.{given}` keeps the autograd graphs of all "
            "earlier ones; put only detached values there",
            kept,
        )
    return None


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.detach()` on the right-hand side, or on the arguments of an update in place."""
    if isinstance(report.target, Kept):
        raise Unfixable(FOLLOWED)
    assert isinstance(report.target, list)
    edits = tuple(edit for term in report.target for edit in build.method(term, "detach"))
    yield Fix(FixLevel.UNSAFE, f"detach `{short(report.target[0])}`", edits)


def _updates(module: Module, function: FunctionNode, facts: ClassFacts) -> Iterator[Update]:
    for node in module.tree.within(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            attr = attribute(module, target)
            if attr:
                again = any(attribute(module, each) == attr for each in ast.walk(node.value))
                if again and _carries(module, node.value):
                    yield node, attr, [node.value]
            elif isinstance(target, ast.Subscript):
                attr = attribute(module, target.value)
                if attr in _buffers(module, facts) and _carries(module, node.value):
                    yield node, attr, [node.value]
        elif isinstance(node, ast.AugAssign):
            attr = attribute(module, node.target)
            if attr and _carries(module, node.value):
                yield node, attr, [node.value]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            attr, arguments = _in_place(module, node.value)
            if attr in _buffers(module, facts):
                terms = [argument for argument in arguments if _carries(module, argument)]
                if terms:
                    yield node, attr, terms


def _carries(module: Module, node: ast.expr) -> bool:
    return bool(module.infer.value(node).graph)


def _in_place(module: Module, call: ast.expr) -> tuple[str, list[ast.expr]]:
    """The attribute under a chain of in-place methods, and their arguments."""
    root, arguments = _chained(call)
    return attribute(module, root), arguments


def _chained(call: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    """What is under a chain of in-place methods (`self.x.mul_(a).add_(b)`), and their arguments."""
    arguments: list[ast.expr] = []
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_"):
        arguments += call.args
        call = call.func.value
    return call, arguments


def _buffers(module: Module, facts: ClassFacts) -> set[str]:
    """Attributes that `register_buffer` makes."""
    makers = [call for call in module.classes.callers.get("register_buffer", ()) if call.args]
    return {
        str(call.args[0].value)
        for call in makers
        if isinstance(call.args[0], ast.Constant) and module.classes.around(call) in facts.lineage
    }
