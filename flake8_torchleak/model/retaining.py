"""Whether a graph that `backward()` retains is gone through again: by what differentiates something of it later."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import GROWING, Definition, How
from flake8_torchleak.model.effects import CUTS, TENSOR_METHODS
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Loop
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_AGAIN = ("backward", "gradient", "penalty", "jacobian", "hessian", "detach_")
"""Parts of names of what differentiates, or cuts a graph that has to be there for it."""
_MOVES = frozenset({"to", "cuda", "type", "requires_grad_"})
_GIVE_DATA = frozenset({"next", "iter", "zip", "enumerate", "range", "len", "int", "float", "object"})
_PUTS = GROWING | {"extendleft"}
_CODE = (ast.Import, ast.ImportFrom, ast.ClassDef, *FUNCTIONS)
_MOST_VARIABLES = 60
PLAIN = (Kind.MODULE, Kind.LOSS, Kind.LOADER, Kind.NUMBER, Kind.METRIC, Kind.DATASET)
"""What has no graph of its own."""


def objective_of(call: ast.Call) -> ast.expr | None:
    """What is differentiated: `x` of `x.backward()`, `accelerator.backward(x)` and `torch.autograd.grad(x, w)`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr.endswith("backward"):
        return call.args[0] if call.args else call.func.value
    return call.args[0] if last_name(call.func) == "grad" and call.args else None


def handed(module: Module, call: ast.Call) -> tuple[ast.Call, ast.expr | None]:
    """Where a value is handed over that a call differentiates in a function which does nothing else to it, and which.

    `def step(loss, optimizer): loss.backward(); optimizer.step()`: the one call of the function stands for that.
    """
    objective, function = objective_of(call), module.tree.function(call)
    if function is None or not isinstance(objective, ast.Name):
        return call, objective
    parameter = next((each for each in parameters(function) if each.arg == objective.id), None)
    calls = module.classes.calls_of(function)
    others = [each for each in module.tree.calls(function) if each is not call and _differentiates(module, each)]
    if parameter is None or len(calls) != 1 or others or len(module.flow.definitions(function)[objective.id]) > 1:
        return call, objective
    return calls[0], module.classes.argument(calls[0], parameter, function)


def _through(module: Module, call: ast.Call) -> ast.expr | None:
    """The same, of a call that may be one of such a function."""
    helper = module.classes.callee(call)
    for each in module.tree.calls(helper) if helper is not None else ():
        at, objective = handed(module, each)
        if at is call and _differentiates(module, each):
            return objective
    return objective_of(call)


def is_differentiated_again(module: Module, call: ast.Call, around: Loop | FunctionNode) -> bool:
    """Whether anything that comes after a call of `backward()` may go through its graph.

    around: one round of it, or one call, makes the whole graph. What comes before it in the same round needs no graph
    that is retained there. By its name, or by what a helper of the file does; by who calls the function as well.
    """
    function = module.tree.function(call)
    scope: ast.AST = function if function is not None else module.root
    made = graph_of(module, _through(module, call))
    for other in module.tree.all(ast.Call):
        if other is call or not module.tree.inside(other, scope) or not _differentiates(module, other):
            continue
        is_before = module.tree.number(other) < module.tree.number(call) and module.tree.inside(other, around)
        if not is_before and _may_share(made, graph_of(module, _through(module, other))):
            return True
    callers = module.classes.calls_of(function) if function is not None else []
    return any(
        module.tree.inside(other, loop)
        for each in callers
        if not module.tree.inside(each, scope)  # `net.train()` in a method `train`
        for loop in module.tree.loops(each)
        for name in ("backward", "manual_backward", "grad")
        for other in module.classes.callers.get(name, ())
    )


def _differentiates(module: Module, call: ast.Call) -> bool:
    name, helper = last_name(call.func), module.classes.callee(call)
    if name == "grad" or any(word in name for word in _AGAIN):
        return True
    return helper is not None and module.loops.trains(helper)


def _may_share(made: set[ast.AST] | None, other: set[ast.AST] | None) -> bool:
    """Whether two values may have a part of their graphs in common; None: nobody knows what one is made of."""
    return made is None or other is None or not made.isdisjoint(other)


def graph_of(module: Module, objective: ast.expr | None) -> set[ast.AST] | None:
    """The statements that a value's graph may come from; None if it may come from anywhere else."""
    if objective is None:
        return None
    found: set[ast.AST] = set()
    seen: set[Definition] = set()
    queue: list[ast.AST] = [objective]
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Attribute) and node.attr in CUTS:
            continue
        if isinstance(node, ast.Name):
            for each in module.flow.reaching(node.id, node):
                if each in seen or isinstance(each.statement, _CODE):
                    continue
                seen.add(each)
                if len(seen) > _MOST_VARIABLES or each.how is How.OTHER:
                    return None
                if each.value is not None and not is_data(module, each):
                    found.add(each.statement)
                    queue.append(each.value)
                queue += _put_into(module, node)
        elif _is_stored(module, node):
            return None
        queue += ast.iter_child_nodes(node)
    return found


def _put_into(module: Module, name: ast.Name) -> Iterator[ast.expr]:
    """What the function around puts into a container that it has under a name."""
    scope = module.tree.scope(name)
    for call in module.tree.calls(scope):
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in _PUTS and isinstance(func.value, ast.Name):
            if func.value.id == name.id:
                yield from (*call.args, *(each.value for each in call.keywords))
    for node in module.tree.within(scope):
        if isinstance(node, ast.Assign) and any(_is_entry(target, name) for target in node.targets):
            yield node.value


def _is_entry(target: ast.expr, name: ast.Name) -> bool:
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name.id


def _is_stored(module: Module, node: ast.AST) -> bool:
    """Whether an expression reads an attribute of `self` that other methods than the constructor set: `self.fake`."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return False
    owned = module.classes.self_attribute(node)
    if owned is None or module.infer.value(node).kind in PLAIN:
        return False
    bound = owned[0].attributes.get(f"self.{owned[1]}", [])
    return any(getattr(module.tree.function(each.statement), "name", "") != "__init__" for each in bound)


def is_data(module: Module, definition: Definition, open_: frozenset[Definition] = frozenset()) -> bool:
    """Whether a binding gives a batch, or what is only moved or made of such: it has no graph. open_: asked already."""
    if definition.how is How.PARAMETER or definition in open_ or isinstance(definition.statement, _CODE):
        return True
    if definition.value is None or len(open_) > _MOST_VARIABLES:
        return False
    open_ |= {definition}
    if definition.how is How.ITERATE and not _is_made_here(module, definition.value):
        return True
    queue: list[ast.AST] = [definition.value]
    filled: set[str] = set()
    for node in queue:
        if isinstance(node, ast.Call):
            if not _keeps_data(module, node):
                return False
            queue += [node.func.value] if isinstance(node.func, ast.Attribute) else []
            queue += [*node.args, *(each.value for each in node.keywords)]
        elif isinstance(node, ast.Name):
            if not all(is_data(module, each, open_) for each in module.flow.reaching(node.id, node)):
                return False
            if node.id not in filled:  # it may be filled from itself
                filled.add(node.id)
                queue += _put_into(module, node)
        elif _is_stored(module, node):
            return False
        else:
            queue += ast.iter_child_nodes(node)
    return True


def _is_made_here(module: Module, over: ast.expr) -> bool:
    """Whether a loop goes over a list or tuple that is written down or filled in sight: it may hold losses."""
    values: list[ast.expr | None] = [over]
    for name in ast.walk(over):
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load):
            values += (each.value for each in module.flow.reaching(name.id, name))
    return any(isinstance(each, (ast.List, ast.Tuple, ast.ListComp, ast.Dict, ast.DictComp)) for each in values)


def _keeps_data(module: Module, call: ast.Call) -> bool:
    """Whether a call makes nothing that has a graph of what has none: torch's own functions, methods of tensors."""
    if isinstance(call.func, ast.Name):
        return call.func.id in _GIVE_DATA
    qualname = module.names.qualname(call.func)
    if qualname.startswith("torch."):
        return True
    return isinstance(call.func, ast.Attribute) and (call.func.attr in TENSOR_METHODS or call.func.attr in _MOVES)
