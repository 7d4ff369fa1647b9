"""State that a recurrent network hands from one step to the next, with its graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.names import last_name, mentions
from flake8_torchleak.model.tree import FunctionNode, Loop
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_LAYERS = frozenset({"LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"})
_MOST_BINDINGS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """State that goes into a call and comes out of it, step after step, and is never cut from the last step's graph.

    target: what the state is unpacked into; keys: its variables; statement: the call's; last: the one that binds
    them, the same or one below it; pair: whether one variable holds an LSTM's pair (None: not known).
    """

    call: ast.Call
    statement: ast.Assign
    last: ast.Assign
    target: ast.expr
    keys: tuple[str, ...]
    loop: Loop
    pair: bool | None


def carried_states(module: Module) -> Iterator[Carried]:
    """Every such state of a recurrent layer, or of a network of the file that holds one, in training or evaluation."""
    for statement in module.loops.steps(ast.Assign):
        call = statement.value
        if not isinstance(call, ast.Call) or len(statement.targets) != 1 or module.grad.off(call):
            continue
        loops = [loop for loop in module.loops.step_loops(call) if _is_over_batches(module, loop)]
        found = _state(module, statement, call, loops[0]) if loops else None
        if found is None:
            continue
        target, keys, last = found
        layer = _layer(module, call.func)
        if layer:
            alone = isinstance(target, (ast.Name, ast.Attribute))
            pair = (None if layer == "?" else layer.startswith("LSTM")) if alone else False
            yield Carried(call, statement, last, target, keys, loops[0], pair)


def idle_detaches(module: Module) -> Iterator[tuple[ClassFacts, FunctionNode, ast.AST]]:
    """Methods that are there to detach a state and do not, as (class, method, evidence).

    Either the body is empty, though the class holds what functions of the file set anew, or it drops what the
    tensors' `detach()` gives, which changes nothing in place.
    """
    for facts in module.classes.own:
        derived = any(facts in other.lineage[1:] for other in module.classes.own)
        for name, method in facts.own_methods.items():
            if not name.startswith("detach") or method.decorator_list or derived:
                continue
            body = [each for each in method.body if not _is_docstring(each)]
            dropped = [each for each in map(_dropped, body) if each is not None]
            if body and len(dropped) == len(body):
                yield facts, method, dropped[0]
            elif all(isinstance(each, ast.Pass) for each in body):
                state = _set_anew(module, facts)
                if state is not None:
                    yield facts, method, state


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _dropped(statement: ast.stmt) -> ast.Call | None:
    """`x.detach()` as a statement, also in a loop of nothing else."""
    while isinstance(statement, ast.For) and len(statement.body) == 1:
        statement = statement.body[0]
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "detach":
        return call
    return None


def _set_anew(module: Module, facts: ClassFacts) -> ast.AST | None:
    """Where a function other than the constructor sets an attribute that the constructor starts with None."""
    builder = facts.own_methods.get("__init__")
    starts = module.flow.definitions(builder) if builder is not None else {}
    empty = {
        key.partition(".")[2]
        for key, definitions in starts.items()
        if any(isinstance(each.value, ast.Constant) and each.value.value is None for each in definitions)
    }
    for function in facts.all_functions:
        for key, definitions in module.flow.definitions(function).items() if function is not builder else ():
            made = [each for each in definitions if not _is_given(each.value, function)]
            if key.partition(".")[2] in empty and made:
                return made[0].statement
    return None


def _is_given(value: ast.expr | None, function: FunctionNode) -> bool:
    """Whether a value is a constant, or a property is set to it: who sets it knows whether it has a graph."""
    is_setter = any(isinstance(each, ast.Attribute) and each.attr == "setter" for each in function.decorator_list)
    return isinstance(value, ast.Constant) or (is_setter and isinstance(value, ast.Name))


def _is_over_batches(module: Module, loop: Loop) -> bool:
    """Whether a step loop goes from batch to batch, not along one sequence."""
    if module.loops.trains(loop):
        return True
    return isinstance(loop, (ast.For, ast.AsyncFor)) and module.loops.gives_batches(loop.iter)


_Found = tuple[ast.expr, tuple[str, ...], ast.Assign]
"""An expression of the state, its variables, and the statement that binds them."""


def _state(module: Module, statement: ast.Assign, call: ast.Call, loop: Loop) -> _Found | None:
    """The argument of a call that the call's result is bound to as well, and nothing else in the loop is.

    Either at once, or by way of other names: `new = cell(x, h)`, then `h = new`.
    """
    arguments = [each for each in (*call.args, *(keyword.value for keyword in call.keywords)) if _keys(each)]
    target = statement.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    for part in reversed(parts):
        keys = _keys(part)
        if keys in map(_keys, arguments):
            bound = any(_is_bound_elsewhere(module, key, statement, loop) for key in keys)
            return (part, keys, statement) if not bound else None
    for argument in arguments:
        last = [_bound_to_result(module, key, statement, loop) for key in _keys(argument)]
        known = [each for each in last if each is not None]
        if len(known) == len(last):
            return argument, _keys(argument), max(known, key=lambda each: each.lineno)
    return None


def _bound_to_result(module: Module, key: str, statement: ast.Assign, loop: Loop) -> ast.Assign | None:
    """The assignment in the loop that gives a variable what a call's statement made, as it is, by whatever names."""
    definitions = module.flow.definitions(module.tree.scope(statement)).get(key, [])
    own = [each for each in definitions if module.tree.inside(each.node, loop)]
    last = own[0].statement if len(own) == 1 else None
    if not isinstance(last, ast.Assign) or _is_bound_elsewhere(module, key, last, loop):
        return None
    value = own[0].value if own[0].is_plain else None
    for _ in range(_MOST_BINDINGS):
        name = key_of(value) if value is not None else ""
        if not name or value is None:
            break
        made = [each for each in module.flow.reaching(name, value) if module.tree.inside(each.node, loop)]
        if len(made) != 1 or _is_bound_elsewhere(module, name, made[0].statement, loop):
            break
        if made[0].statement is statement:
            return last
        value = made[0].value if made[0].is_plain else None
    return None


def _keys(node: ast.expr) -> tuple[str, ...]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    keys = tuple(key_of(part) for part in parts)
    return keys if all(keys) else ()


def _is_bound_elsewhere(module: Module, key: str, statement: ast.AST, loop: Loop) -> bool:
    """Whether the loop gives the variable another value (a detached one, a new start), or has it changed in place."""
    scope = module.tree.scope(statement)
    bound = [d.statement for d in module.flow.definitions(scope).get(key, []) if d.statement is not statement]
    changed = (each for each in module.flow.mutations(scope).get(key, []) if each.method == "detach_")
    return any(module.tree.inside(node, loop) for node in bound) or any(loop in module.flow.loops(m) for m in changed)


def _layer(module: Module, called: ast.expr) -> str:
    """The recurrent layer of torch behind what is called, "?" for a network of the file that holds one, or ""."""
    if module.infer.value(called).kind is not Kind.MODULE:
        return ""
    for made in _made(module, called):
        qualname = module.names.qualname(made.func)
        if qualname.startswith("torch.nn.") and last_name(made.func) in _LAYERS:
            return last_name(made.func)
        facts = module.classes.of(made.func)
        cuts = facts is None or mentions(facts.node, "detach") or mentions(facts.node, "no_grad")
        if facts is not None and not cuts and any(mentions(facts.node, layer) for layer in _LAYERS):
            return "?"
    return ""


def _made(module: Module, called: ast.expr) -> Iterator[ast.Call]:
    """The constructor calls that the called variable may come from (`.to(device)` looked through)."""
    owned = module.classes.self_attribute(called)
    if owned is not None:
        definitions = owned[0].attributes.get(f"self.{owned[1]}", [])
    else:
        definitions = module.flow.reaching(key_of(called), called)
    for each in definitions[:_MOST_BINDINGS]:
        value = each.value
        while (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and isinstance(value.func.value, ast.Call)
        ):
            value = value.func.value
        if isinstance(value, ast.Call):
            yield value


def retains_graph(call: ast.Call) -> ast.Constant | None:
    """The `True` of `backward(retain_graph=True)`."""
    for keyword in call.keywords:
        if keyword.arg == "retain_graph" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True:
            return keyword.value
    return None
