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
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.model.bindings import container_of
from flake8_torchleak.model.classes import ClassFacts, self_name
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import hands_over, last_name
from flake8_torchleak.model.outline import Outline, statements_of
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.rule import Report, never, rule
from flake8_torchleak.wording import is_cut, released, short

Update = tuple[ast.stmt, str, list[ast.expr]]
"""A statement, the attribute that it updates, and what to detach."""


_MOST_LEVELS = 4
"""Methods that call the method that calls another one."""
_RESETS = frozenset({"zero_", "fill_", "copy_", "detach_", "clear", "normal_", "pop", "popleft"})
"""Methods after which nothing is left of what a tensor or a container held."""


def _may_update(outline: Outline) -> bool:
    """Whether a `forward`, or a method that it calls, has a statement that may update an attribute."""
    forwards = [each for each in outline.functions if each.name == "forward"]
    if any(_updates_own(each, self_name(each)) for each in forwards):
        return True
    called = {last_name(n.func) for each in forwards for n in ast.walk(each) if isinstance(n, ast.Call)}
    called -= {"forward", "__init__"}
    return any(each.name in called and _updates_own(each, self_name(each)) for each in outline.functions)


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
    let_go = partial(_is_let_go, module)
    yield from reports(module, "TLK601", partial(_said, module), let_go)


def _is_let_go(module: Module, kept: Kept) -> bool:
    """Whether a method other than the constructor, or code outside of classes, binds anew or empties what keeps it."""
    if _takes_turns(module, kept):
        return True
    attributes = set(_kept_by(module, kept))
    if _variable(kept) and kept.at in module.tree.parents and not attributes:
        return True  # a list of this very call, of which nothing is left
    at = kept.at if kept.at in module.tree.parents else kept.node  # a helper of another file keeps it
    putting_back = _putting_back(module, kept, at)
    for node in _of_object(module, attributes, at):
        if node is kept.target:
            continue
        parent, function = module.tree.parents[node], module.tree.function(node)
        if function is not None and _makes(module, function, _MOST_LEVELS):
            continue
        if not isinstance(node.ctx, ast.Load) and module.tree.statement(node) is not at:
            anew = function not in putting_back or _is_emptied(module, node)
            if anew and (kept.how != "state" or _is_elsewhere(module, node, at)):
                return True
        if isinstance(parent, ast.Attribute) and parent.attr in _RESETS:
            return True
    return False


def _is_emptied(module: Module, node: ast.Attribute) -> bool:
    """Whether an attribute is set to None, or another constant."""
    return isinstance(getattr(module.tree.statement(node), "value", None), ast.Constant)


def _makes(module: Module, function: FunctionNode, levels: int) -> bool:
    """Whether a method is the constructor, or only a part of it: `reset_running_stats`, that nothing else calls."""
    if function.name == "__init__" or not levels:
        return function.name == "__init__"
    calls = [module.tree.function(each) for each in module.classes.calls_of(function)]
    return bool(calls) and all(each is not None and _makes(module, each, levels - 1) for each in calls)


def _takes_turns(module: Module, kept: Kept) -> bool:
    """Whether an entry is made of other entries alone: `sums[i] = sums[i - 1] + x`, begun anew in each call."""
    target = kept.target
    if not isinstance(target, ast.Subscript) or kept.at not in module.tree.parents:
        return False
    held, own = ast.unparse(target.value), ast.unparse(target.slice)
    value = getattr(module.tree.statement(kept.at), "value", None)
    reads = [each for each in ast.walk(value or target.slice) if isinstance(each, ast.Attribute)]
    parts = [module.tree.parents[each] for each in reads if ast.unparse(each) == held]
    return bool(parts) and all(isinstance(each, ast.Subscript) and ast.unparse(each.slice) != own for each in parts)


def _putting_back(module: Module, kept: Kept, at: ast.AST) -> set[FunctionNode | None]:
    """The functions that may put a sum in a variable back into the attribute that it was read from."""
    if kept.how == "state" or not _variable(kept):
        return set()
    return {module.tree.function(each) for each in (at, kept.node, *kept.calls) if each in module.tree.parents}


def _of_object(module: Module, attributes: set[str], at: ast.AST) -> Iterator[ast.Attribute]:
    """Where such attributes of the object that a method belongs to are read or set, or may be, from outside."""
    around = module.classes.around(at)
    for node in module.tree.all(ast.Attribute):
        if node.attr in attributes:
            owner = module.classes.self_attribute(node)
            if owner is None or around is None or around in owner[0].lineage or owner[0] in around.lineage:
                yield node


def _is_elsewhere(module: Module, node: ast.Attribute, at: ast.AST) -> bool:
    """Whether a state is bound by another method than goes on with it, or where a flag says so that another sets."""
    here = module.tree.function(node)
    if here is not module.tree.function(at):
        return True
    tests = [each.test for each in module.tree.ancestors(node) if isinstance(each, ast.If)]
    flags = {each.attr for test in tests for each in ast.walk(test) if isinstance(each, ast.Attribute)} - {node.attr}
    stores = (each for each in _of_object(module, flags, at) if isinstance(each.ctx, ast.Store))
    setting = (module.tree.function(each) for each in stores)
    return any(function is None or (function is not here and function.name != "__init__") for function in setting)


def _kept_by(module: Module, kept: Kept) -> Iterator[str]:
    """The attributes that keep it: what is set, or what the call sets whose state it is."""
    target = container_of(kept.target)[0] if kept.target is not None else None
    if isinstance(target, ast.Attribute):
        yield target.attr
    elif kept.how != "state":
        yield from (name for name in kept.places if isinstance(name, str) and name.isidentifier())
        yield from _given_to(module, _variable(kept), kept.at)
        yield from _taken_from(module, _variable(kept), kept.at)
    else:
        statement = module.tree.statement(kept.at) if kept.at in module.tree.parents else None
        for node in ast.walk(statement) if isinstance(statement, ast.Assign) else ():
            stored = node.value if isinstance(node, ast.Subscript) else node
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                yield from [stored.attr] if isinstance(stored, ast.Attribute) else ()
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):  # `h, c = self.state` above
                made = [each.value for each in module.flow.reaching(node.id, node)]
                yield from (each.attr for each in made if isinstance(each, ast.Attribute))


def _variable(kept: Kept) -> str:
    """The variable that keeps something, itself or in a list or dict that it is; "" for an attribute."""
    inner = container_of(kept.target)[0] if kept.target is not None else None
    return inner.id if isinstance(inner, ast.Name) else ""


def _assigned(module: Module, name: str, at: ast.AST) -> Iterator[ast.Assign]:
    """The assignments of the function that a variable is of; none if it has no name."""
    function = module.tree.function(at) if name and at in module.tree.parents else None
    for node in module.tree.within(function) if function is not None else ():
        if isinstance(node, ast.Assign):
            yield node


def _given_to(module: Module, name: str, at: ast.AST) -> Iterator[str]:
    """The attributes of its object that a function makes of a variable: `self.hidden = [hx, cx]`."""
    for node in _assigned(module, name, at):
        if any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node.value)):
            yield from filter(None, (_attribute(module, each) for each in node.targets))


def _taken_from(module: Module, name: str, at: ast.AST) -> Iterator[str]:
    """The attributes of its object that a function binds a variable to, or to an entry of: `state = self.states[i]`."""
    for node in _assigned(module, name, at):
        if any(isinstance(each, ast.Name) and each.id == name for each in node.targets):
            yield from filter(None, [_attribute(module, container_of(node.value)[0])])


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
    given = next(_given_to(module, _variable(kept), kept.at), "")
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
            attr = _attribute(module, target)
            if attr:
                again = any(_attribute(module, each) == attr for each in ast.walk(node.value))
                if again and _carries(module, node.value):
                    yield node, attr, [node.value]
            elif isinstance(target, ast.Subscript):
                attr = _attribute(module, target.value)
                if attr in _buffers(module, facts) and _carries(module, node.value):
                    yield node, attr, [node.value]
        elif isinstance(node, ast.AugAssign):
            attr = _attribute(module, node.target)
            if attr and _carries(module, node.value):
                yield node, attr, [node.value]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            attr, arguments = _in_place(module, node.value)
            if attr in _buffers(module, facts):
                terms = [argument for argument in arguments if _carries(module, argument)]
                if terms:
                    yield node, attr, terms


def _attribute(module: Module, node: ast.AST) -> str:
    owned = module.classes.self_attribute(node)
    return owned[1] if owned is not None else ""


def _carries(module: Module, node: ast.expr) -> bool:
    return bool(module.infer.value(node).graph)


def _in_place(module: Module, call: ast.expr) -> tuple[str, list[ast.expr]]:
    """The attribute under a chain of in-place methods, and their arguments."""
    root, arguments = _chained(call)
    return _attribute(module, root), arguments


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
