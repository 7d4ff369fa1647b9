"""Evaluation loops that run a model with gradients on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.attributes import is_called
from flake8_torchleak.model.beside import may_be_beside, trained_beside
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.needing import is_called_without, needs_grad
from flake8_torchleak.model.networks import is_bare_layer
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS, FunctionNode, Loop, Scope
from flake8_torchleak.model.unneeded import may_be_unneeded, unneeded
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


SWITCHED = "`eval()` does not turn autograd off"
"""What a note says of what put a network in evaluation mode."""
_MOST_WRAPPED = 8
"""Definitions of a model and of what wraps it that are looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """One evaluation loop: its first model call, the loop, the function, and evidence.

    loop: None if the function goes over all data at once; function: None at module level.
    """

    call: ast.Call
    loop: Loop | None
    function: FunctionNode | None
    evidence: tuple[tuple[ast.AST, str], ...]
    by_use: bool = False
    """Whether only what becomes of the outputs says that no gradients are needed."""
    followed: bool = False
    """Whether the text alone does not show it: what is called runs the network, or somebody else sets its mode."""

    @property
    def is_switched(self) -> bool:
        """Whether the program puts the network in evaluation mode."""
        return any(text == SWITCHED for _, text in self.evidence)


def unguarded_evaluations(module: Module) -> Iterator[Evaluation]:
    """The first such loop of every function, and of the module."""
    for scope in _candidates(module):
        found = _evaluation(module, scope)
        if found is not None:
            yield found


def _candidates(module: Module) -> list[Scope]:
    """Scopes that put a model in evaluation mode, that evaluate beside training, or whose name speaks of it."""
    found: dict[Scope, None] = {}
    for call in module.classes.own_calls("eval", "train"):
        if isinstance(call.func, ast.Attribute) and (not call.args) == (call.func.attr == "eval"):
            found[module.tree.function(call) or module.root] = None
    for function in module.tree.all(*FUNCTIONS):
        if hints.is_evaluation(function.name):
            found[function] = None
    scopes = (module.tree.function(loop) or module.root for loop in module.tree.all(*LOOPS))
    scopes = (each for each in dict.fromkeys(scopes) if may_be_beside(module, each) or may_be_unneeded(module, each))
    found.update(dict.fromkeys(scopes))
    return list(found)


def _evaluation(module: Module, scope: Scope) -> Evaluation | None:
    """What the text shows at once is asked first: in most loops gradients are off, or something is trained."""
    if not any(isinstance(node, LOOPS) for node in module.tree.within(scope)):
        return _whole_set(module, scope) if isinstance(scope, FUNCTIONS) else None
    if _is_test(module, scope) or _is_forward(module, scope):
        return None
    is_left_out: bool | None = None
    for call in module.tree.calls(scope):
        loops = module.tree.loops(call)
        if not loops or module.grad.at(call) is not Grad.ON or module.loops.trains(loops[0]):
            continue
        if module.loops.is_short(loops[0]):
            continue
        if is_left_out is None:
            is_left_out = _is_left_out(module, scope)
        if is_left_out:
            return None
        if not (_runs_model(module, call) or _helper_runs_model(module, call)):
            continue
        evidence = _evidence(module, scope, call, loops)
        by_use: tuple[tuple[ast.AST, str], ...] = ()
        if not evidence and _runs_model(module, call):
            by_use = unneeded(module, scope, call, _over_batches(module, loops))
        if (evidence or by_use) and not module.loops.modes.contradicted(scope) and not _switches_itself(module, call):
            function = scope if isinstance(scope, FUNCTIONS) else None
            if function is not None and is_called_without(module, function):
                return None
            return Evaluation(call, loops[0], function, evidence or by_use, bool(by_use))
    found = _whole_set(module, scope) if isinstance(scope, FUNCTIONS) else None
    return None if found is None or _is_left_out(module, scope) else found


def followed(module: Module, call: ast.Call, loop: Loop, switched: ast.AST) -> Evaluation | None:
    """What following the program shows to be an evaluation, unless what the text shows speaks against it."""
    scope = module.tree.function(call) or module.root
    if module.grad.at(call) is not Grad.ON or module.loops.trains(loop) or module.loops.is_short(loop):
        return None
    if _is_test(module, scope) or _is_forward(module, scope) or _is_left_out(module, scope):
        return None
    if module.loops.modes.contradicted(scope) or _switches_itself(module, call):
        return None
    function = scope if isinstance(scope, FUNCTIONS) else None
    if function is not None and is_called_without(module, function):
        return None
    evidence = ((switched, SWITCHED),) if switched in module.tree.parents else ()
    return Evaluation(call, loop, function, evidence, followed=True)


def _is_left_out(module: Module, scope: Scope) -> bool:
    """Whether what a function does needs gradients, or goes into training."""
    if needs_grad(module, scope):
        return True
    return isinstance(scope, FUNCTIONS) and module.release.callers.are_training(scope) is not None


def _whole_set(module: Module, scope: FunctionNode) -> Evaluation | None:
    """A function that evaluates everything at once (itself or by a helper), called from a training loop of the file."""
    if not hints.is_evaluation(scope.name) or module.grad.function(scope) is not Grad.ON:
        return None
    calls = module.classes.calls_of(scope)
    caller = next((c for c in calls if _in_training(module, c) and module.grad.at(c) is Grad.ON), None)
    if caller is None or any(_is_in_every_step(module, each) for each in calls):
        return None
    for call in module.tree.calls(scope):
        runs = _runs_model(module, call) or _helper_runs_model(module, call)
        if (
            runs
            and not module.loops.modes.contradicted(scope)
            and module.grad.at(call) is Grad.ON
            and not module.loops.trains(scope)
        ):
            return Evaluation(call, None, scope, ((caller, "called in the training loop"),))
    return None


def _in_training(module: Module, call: ast.Call) -> bool:
    return any(module.loops.trains(loop) for loop in module.tree.loops(call))


def _is_forward(module: Module, scope: Scope) -> bool:
    """A method of a network: whoever calls the network decides about gradients. One that goes over batches is none."""
    if not isinstance(scope, FUNCTIONS):
        return False
    owner = module.tree.class_of(scope)
    facts = module.classes.all[owner] if owner is not None else None
    if scope.name == "forward" or facts is None or "forward" not in facts.methods:
        return scope.name == "forward"
    loops = (each for each in module.tree.within(scope) if isinstance(each, (ast.For, ast.AsyncFor)))
    return not any(module.loops.gives_batches(each.iter) for each in loops)


def _is_test(module: Module, scope: Scope) -> bool:
    """A unit test: its graphs are as small as its inputs."""
    if not isinstance(scope, FUNCTIONS) or not scope.name.startswith("test"):
        return False
    if module.names.imports & {"pytest", "unittest", "absl", "parameterized"}:
        return True
    owner = module.tree.class_of(scope)
    if owner is not None and not any("Test" in name for name in (owner.name, *map(last_name, owner.bases))):
        return False  # no class whose methods a test runner calls
    own = [p for p in scope.args.args if p.arg not in ("self", "cls")]
    return scope.name.startswith("test_") and not any(
        module.infer.parameters.value(p, scope).kind in (Kind.MODULE, Kind.LOADER) for p in own
    )


def _helper_runs_model(module: Module, call: ast.Call) -> bool:
    """Whether the call runs a helper of the file that calls a model with gradients on and does not train."""
    helper = module.classes.callee(call)
    if (
        helper is None
        or module.loops.trains(helper)
        or _is_forward(module, helper)
        or module.loops.modes.contradicted(helper)
    ):
        return False
    return any(_runs_model(module, c) and module.grad.at(c) is Grad.ON for c in module.tree.calls(helper))


def _runs_model(module: Module, call: ast.Call) -> bool:
    """Whether the call is `model(...)`: of a value that is a module, with arguments."""
    func = call.func
    if (
        not (call.args or call.keywords)
        or module.infer.calls.is_construction(call)
        or module.loops.modes.gives_network(call)
    ):
        return False
    owned = module.classes.self_attribute(func)
    method = owned[0].methods.get(owned[1]) if owned is not None else None
    if (method is not None and is_called(method)) or hints.is_layer(last_name(func)):
        return False
    if isinstance(func, ast.Attribute) and not isinstance(func.value, ast.Name):
        if module.classes.self_attribute(func.value) is None and not isinstance(func.value, ast.Attribute):
            return False
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and owned is None:
        base = module.infer.value(func.value)
        imported = any(isinstance(each, ast.alias) for each in module.names.bound(func.value.id, func))
        if imported or (
            base.kind is not Kind.MODULE
            and func.value.id not in ("args", "opt", "trainer", "state", "context", "ctx", "engine")
            and not module.loops.modes.is_switched(call)
        ):
            return False
    if isinstance(func, ast.Attribute) and module.loops.modes.is_switched(call):
        return True
    if module.infer.value(func).kind is Kind.MODULE:
        return not is_bare_layer(module, func)
    return _is_wrapped(module, call)


def _is_wrapped(module: Module, call: ast.Call) -> bool:
    """Whether what is called is in evaluation mode, and what something made of itself: `net = Parallel(net)`."""
    if not isinstance(call.func, ast.Name) or not module.loops.modes.is_switched(call):
        return False
    name = call.func.id
    made = (each.value for each in module.flow.reaching(name, call.func))
    args = (arg for value in made if isinstance(value, ast.Call) for arg in value.args)
    return any(isinstance(arg, ast.Name) and arg.id == name for arg in args)


def _switches_itself(module: Module, call: ast.Call) -> bool:
    """Whether the class of the model that is called switches gradients off in its forward, or in what that calls."""
    queue = list(module.flow.reaching(key_of(call.func), call.func))
    for each in queue:
        made = each.value.func if isinstance(each.value, ast.Call) else None
        found = module.names.definition(made, True) if made is not None else None
        facts = module.classes.all[found] if isinstance(found, ast.ClassDef) else None
        for function in facts.all_functions if facts is not None and "forward" in facts.methods else ():
            if any(module.grad.off(node) for node in module.tree.calls(function)):
                return True
        wrapped = each.value.args[:1] if facts is None and isinstance(each.value, ast.Call) else []
        for inner in wrapped:  # `net = accelerator.prepare(net)`
            if isinstance(inner, ast.Name) and inner.id == each.key and len(queue) < _MOST_WRAPPED:
                queue += module.flow.reaching(inner.id, inner)
    return False


def _is_in_every_step(module: Module, call: ast.Call) -> bool:
    """Whether a call gives something in each round of the very loop that differentiates: it is a part of training."""
    if isinstance(module.tree.parents[call], ast.Expr):
        return False
    for up in module.tree.ancestors(call):
        if isinstance(up, LOOPS):
            return module.loops.trains(up)
        if isinstance(up, (ast.If, *FUNCTIONS)):
            break
    return False


def _evidence(module: Module, scope: Scope, call: ast.Call, loops: list[Loop]) -> tuple[tuple[ast.AST, str], ...]:
    switched = module.loops.modes.evaluates(call)
    over_batches = _over_batches(module, loops)
    if switched is not None and _is_of(switched, call):
        return ((switched, SWITCHED),)
    named = isinstance(scope, FUNCTIONS) and hints.is_evaluation(scope.name)
    if named and switched is None and not any(word in module.source.text for word in hints.PREPARES):
        return ()
    if named and (over_batches is not None or _feeds(module, loops[0], call)):
        return ((scope, "an evaluation function, by its name"),)
    return trained_beside(module, scope, call, over_batches)


def _over_batches(module: Module, loops: list[Loop]) -> Loop | None:
    """The innermost loop that goes over batches."""
    goes_over = (loop for loop in loops if isinstance(loop, (ast.For, ast.AsyncFor)))
    return next((loop for loop in goes_over if module.loops.gives_batches(loop.iter)), None)


def _is_of(switched: ast.Call, call: ast.Call) -> bool:
    """Whether the model that was put in evaluation mode is the one that is called (or holds it, or is held by it)."""
    assert isinstance(switched.func, ast.Attribute)
    receiver, called = key_of(switched.func.value), key_of(call.func)
    if not receiver or not called or not isinstance(switched.func.value, (ast.Name, ast.Attribute)):
        return True
    if called.startswith(receiver) or receiver.startswith(called):
        return True
    return (
        receiver.rpartition(".")[2] == called.rpartition(".")[2]
        or "." in called
        and not called.startswith("self.")
        or _is_loose(called)
    )


def _is_loose(called: str) -> bool:
    """A helper (`self._step(...)`, `predict(...)`) stands for whatever model it runs."""
    return not hints.is_model(called.rpartition(".")[2])


def _feeds(module: Module, loop: Loop, call: ast.Call) -> bool:
    """Whether what the loop goes over is what the model is given."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)) or module.infer.value(loop.iter).kind is Kind.RANGE:
        return False
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    queue: list[ast.AST] = [*call.args, *(k.value for k in call.keywords)]
    seen: set[str] = set()
    while queue and len(seen) < 30:
        for node in ast.walk(queue.pop()):
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                queue += [d.value for d in module.flow.reaching(node.id, node) if d.value is not None]
    return bool(targets & seen)
