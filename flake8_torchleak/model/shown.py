"""What shows that a call of a network in a loop evaluates: its mode, the function's name, and what feeds it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.beside import trained_beside
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.modes import MEANT, SWITCHED
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.rounds import Round, iterables, targets
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, Scope
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def evidence_of(
    module: Module, scope: Scope, call: ast.Call, around: Round, over: Round | None
) -> tuple[tuple[ast.AST, str], ...]:
    """The places that show it, each in words; () where nothing does. over: the loop around that goes over batches."""
    meant = next((each for each in module.grad.without_effect.get(scope, ()) if _is_behind(module, call, each)), None)
    if meant is not None:
        return ((meant, MEANT),)
    switched = module.loops.modes.evaluates(call)
    if switched is not None and _is_of(module, switched, call):
        return ((switched, SWITCHED),)
    named = isinstance(scope, FUNCTIONS) and hints.is_evaluation(scope.name)
    if named and switched is None and not any(word in module.source.text for word in hints.PREPARES):
        return ()
    if named and (over is not None or _feeds(module, around, call)):
        return ((scope, "an evaluation function, by its name"),)
    return trained_beside(module, scope, call, over)


def _is_behind(module: Module, call: ast.Call, above: ast.Call) -> bool:
    """Whether a call stands in the block of a statement above, or below that."""
    start, end = module.tree.block(module.tree.statement(above))
    return start <= module.tree.number(call) < end and above.lineno < call.lineno


def over_batches(module: Module, call: ast.Call, around: Round) -> Round | None:
    """The innermost loop, or the comprehension, that goes over batches."""
    rounds: list[Round] = [around] if isinstance(around, COMPREHENSIONS) else [*module.tree.loops(call)]
    return next((each for each in rounds if any(map(module.loops.gives_batches, iterables(each)))), None)


def _is_of(module: Module, switched: ast.Call, call: ast.Call) -> bool:
    """Whether the model that was put in evaluation mode is the one that is called (or holds it, or is held by it)."""
    assert isinstance(switched.func, ast.Attribute)
    receiver, called = key_of(switched.func.value), key_of(call.func)
    if not receiver or not called or not isinstance(switched.func.value, (ast.Name, ast.Attribute)):
        return True
    if receiver.startswith(f"{called}.") and called != "self" and receiver != f"{called}.module":
        return False  # a part of it alone
    if called.startswith(receiver) or receiver.startswith(called):
        return True
    return (
        receiver.rpartition(".")[2] == called.rpartition(".")[2]
        or "." in called
        and not called.startswith("self.")
        or _is_loose(module, call)
    )


def _is_loose(module: Module, call: ast.Call) -> bool:
    """A helper (`self._step(...)`, `predict(...)`) stands for whatever model it runs."""
    return not hints.is_model(last_name(call.func)) and module.infer.called(call.func).kind is not Kind.MODULE


def _feeds(module: Module, around: Round, call: ast.Call) -> bool:
    """Whether what the loop goes over is what the model is given."""
    if any(module.infer.value(each).kind is Kind.RANGE for each in iterables(around)):
        return False
    return is_given(targets(around), module, call)


def is_given(names: set[str], module: Module, call: ast.Call) -> bool:
    """Whether what a call is given is one of these variables, or made of them."""
    queue: list[ast.AST] = [*call.args, *(k.value for k in call.keywords)]
    seen: set[str] = set()
    while queue and len(seen) < 30:
        for node in ast.walk(queue.pop()):
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                queue += [d.value for d in module.flow.reaching(node.id, node) if d.value is not None]
    return bool(names & seen)
