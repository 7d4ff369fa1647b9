"""output-on-ctx: an autograd Function keeps its own output as an attribute of ctx.

Leaks
-----
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.y = y
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.y

Instead
-------
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y

Why
---
The output holds its graph node, which is ctx, which holds the output: a cycle that only the garbage collector frees,
and it counts objects, not bytes, so gigabytes can wait. `save_for_backward` keeps the output without the cycle, frees
it in backward and checks that nobody changed it in place. Source: documentation of `save_for_backward`; pytorch
issue 25340.

Measured
--------
An output of 1 MB, dropped at once, no garbage collected in between: 1029 KB more by each call, 1025 KB where it
is differentiated, 1029 KB by `setup_context`; after `gc.collect()` 0 KB. With `save_for_backward`, with
`del ctx.y` in backward, and with an input on ctx: 0 KB.

Run by `fixtures/TLK603_output_on_ctx/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
What is kept is no output (an input, a shape, a flag), is no tensor (`x.numpy()`, a list), is marked as not
differentiable, or backward drops it.

How to fix it
-------------
By hand: `ctx.save_for_backward(y)`, and `(y,) = ctx.saved_tensors` in backward. Of a tuple take the output out
alone: what is no tensor cannot be saved so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.bindings import Definition, How, key_of
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.effects import TENSOR_METHODS
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import Kind
from flake8_torchleak.rule import Report, rule

_MAY_BE_TENSOR = (Kind.UNKNOWN, Kind.TENSOR)
_NUMBERS = (name for name, effect in TENSOR_METHODS.items() if effect.kind is Kind.NUMBER)
_NO_TENSORS = frozenset({*_NUMBERS, "numpy", "tolist"})
"""Methods of tensors that give none."""


def _may_define(outline: Outline) -> bool:
    """Whether a class has an autograd Function for its base."""
    return any(last_name(base).endswith("Function") for each in outline.all(ast.ClassDef) for base in each.bases)


@rule(
    "TLK603",
    "output-on-ctx",
    fix=FixLevel.HINT,
    severity=Severity.WARNING,
    subject=Subject.TORCH,
    words=("Function)", "Function,"),
    local=True,
    shape=_may_define,
)
def check(module: Module) -> Iterator[Report]:
    for facts in module.classes.own:
        if not facts.has_base("Function"):
            continue
        for name in ("forward", "setup_context"):
            function = facts.own_methods.get(name)
            if function is None or not function.args.args or not _is_static(function):
                continue
            ctx = function.args.args[0].arg
            outputs = _outputs(module, function)
            for node, attr, kept in _kept(module, function, ctx):
                output = next((d for d in module.flow.reaching(kept.id, kept) if d in outputs), None)
                if output is None or _is_released(facts, attr) or _is_plain(module, function, kept):
                    continue
                given = _given(module, facts, function, output, kept.id)
                if given and all(_is_no_tensor(module, each) for each in given):
                    continue
                saved = f"`{ctx}.save_for_backward({kept.id})`"
                advice = f"use {saved} and `{ctx}.saved_tensors`"
                if isinstance(node.value, (ast.Tuple, ast.List)):
                    advice = f"take `{kept.id}` out: {saved}, `{ctx}.saved_tensors`"
                yield Report(
                    node,
                    f"memory stays until garbage collection: `{ctx}.{attr}` and output `{kept.id}` keep each other; "
                    f"{advice}",
                    notes=((output.node, "this is returned as an output"),),
                    remedy=f"call `{ctx}.save_for_backward({kept.id})` instead of setting `{ctx}.{attr}`",
                )


def _is_static(function: FunctionNode) -> bool:
    """Whether torch runs it: it raises for the old form, whose `forward` is a method of an object."""
    return any(last_name(each) == "staticmethod" for each in function.decorator_list)


def _outputs(module: Module, function: FunctionNode) -> set[Definition]:
    """Definitions of what `forward` returns, or of what `setup_context` is handed as its output."""
    if function.name == "setup_context":
        last = parameters(function)[-1].arg
        found = module.flow.definitions(function).items()
        return {
            d
            for key, definitions in found
            for d in definitions
            if (d.how is How.PARAMETER and key == last) or (isinstance(d.value, ast.Name) and d.value.id == last)
        }
    outputs = set()
    for node in module.tree.within(function):
        if isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for part in parts:
                outputs.update(module.flow.reaching(key_of(part), part) if isinstance(part, ast.Name) else [])
    return {d for d in outputs if d.how is not How.PARAMETER}


def _given(module: Module, facts: ClassFacts, function: FunctionNode, output: Definition, name: str) -> list[ast.expr]:
    """What `forward` returns where `setup_context` unpacks its output into a variable; none where that is not seen."""
    forward = facts.own_methods.get("forward") if function.name == "setup_context" else None
    targets = output.statement.targets if isinstance(output.statement, ast.Assign) else []
    unpacked = [each.elts for each in targets if isinstance(each, (ast.Tuple, ast.List))]
    at = next((i for parts in unpacked for i, each in enumerate(parts) if getattr(each, "id", "") == name), None)
    if forward is None or at is None:
        return []
    returned = [each.value for each in module.tree.within(forward) if isinstance(each, ast.Return)]
    many = len(unpacked[0])
    tuples = [each.elts for each in returned if isinstance(each, ast.Tuple) and len(each.elts) == many]
    return [each[at] for each in tuples] if len(tuples) == len(returned) else []


def _kept(module: Module, function: FunctionNode, ctx: str) -> Iterator[tuple[ast.Assign, str, ast.Name]]:
    """(statement, attribute, variable) for the plain variables that are kept on ctx, also in a display."""
    for node in module.tree.within(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Attribute) and key_of(target.value) == ctx:
                parts = node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else [node.value]
                for part in parts:
                    if isinstance(part, ast.Name):
                        yield node, target.attr, part


def _is_released(facts: ClassFacts, attr: str) -> bool:
    """Whether some method drops the attribute again: `del ctx.y`, `ctx.y = None`, `ctx.y.pop()`."""
    for function in facts.own_methods.values():
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and node.attr == attr and isinstance(node.ctx, ast.Del):
                return True
            if isinstance(node, ast.Call) and key_of(node.func).endswith((f".{attr}.pop", f".{attr}.clear")):
                return True
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None:
                if any(last_name(target) == attr for target in node.targets):
                    return True
    return False


def _is_plain(module: Module, function: FunctionNode, kept: ast.Name) -> bool:
    """Whether the variable is no tensor, or one that is marked as not differentiable."""
    if _is_no_tensor(module, kept):
        return True
    return any(
        last_name(call.func) == "mark_non_differentiable"
        and any(isinstance(a, ast.Name) and a.id == kept.id for a in call.args)
        for call in module.tree.calls(function)
    )


def _is_no_tensor(module: Module, node: ast.expr) -> bool:
    """Whether an expression is something else, by its kind or by the method that made it."""
    if module.infer.value(node).kind not in _MAY_BE_TENSOR:
        return True
    made = [d.value for d in module.flow.reaching(node.id, node)] if isinstance(node, ast.Name) else [node]
    return bool(made) and all(isinstance(each, ast.Call) and last_name(each.func) in _NO_TENSORS for each in made)
