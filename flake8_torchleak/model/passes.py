"""Calls that run a network, whatever they are called: itself, a method of its class, a helper of the file.

`model.predict(users, items)`, `trainer.generate(images)`: the class is known where the object is made. A parameter's is
known by what its callers give, in any file, and so is that of an attribute which a constructor sets to a parameter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.alike import runs_alike
from flake8_torchleak.model.classfacts import ClassFacts, self_name
from flake8_torchleak.model.elsewhere import answers_elsewhere
from flake8_torchleak.model.fed import goes_over_batches
from flake8_torchleak.model.modes import behind, bindings_of
from flake8_torchleak.model.names import network_of, parameters
from flake8_torchleak.model.running import helper_runs_model, is_forward, is_handed_to_others, runs_model
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_METHODS = 30
"""Methods that a method leads to that are looked into."""


def passes(module: Module, call: ast.Call) -> bool:
    """Whether a call runs a network with gradients on, as far as what it runs can be seen."""
    return _is_seen(module, call) or runs_alike(module, call)


def is_supposed(module: Module, call: ast.Call) -> bool:
    """Whether only the project's other classes tell what a call runs."""
    return not _is_seen(module, call) and runs_alike(module, call)


def _is_seen(module: Module, call: ast.Call) -> bool:
    return (
        runs_model(module, call)
        or helper_runs_model(module, call)
        or method_runs_model(module, call)
        or _helper_runs_method(module, call)
        or _runs_itself(module, call)
    )


def makers(module: Module, call: ast.Call) -> list[str]:
    """The dotted names of what made what a call runs, a variable: `transformers.AutoTokenizer.from_pretrained`."""
    run = network_of(call)
    ways = module.flow.reaching(run.id, run) if isinstance(run, ast.Name) else []
    made = (behind(each.value) for each in ways if each.value is not None)
    return [module.names.qualname(each.func) for each in made if isinstance(each, ast.Call)]


def _runs_itself(module: Module, call: ast.Call) -> bool:
    """Whether a network's method runs that network: `self(x)`, `self.forward(x)`."""
    function = module.tree.function(call)
    owner = module.tree.class_of(function) if function is not None else None
    if function is None or owner is None or "forward" not in module.classes.all[owner].methods:
        return False
    return _is_itself(call, function)


def run_behind(module: Module, call: ast.Call) -> Iterator[ast.Call]:
    """The calls of networks in the function of the project, or method of a class that is seen, which a call runs."""
    for each in _functions(module, call):
        yield from (inner for inner in module.tree.calls(each) if runs_model(module, inner) or _is_itself(inner, each))


def innermost(module: Module, call: ast.Call) -> Iterator[ast.Call]:
    """The calls of networks themselves, with gradients on, that a call of a function leads to, the nearest first."""
    if runs_model(module, call):
        return
    queue = _functions(module, call)
    for each in queue:
        for inner in module.tree.calls(each):
            if module.grad.turned_off(inner):
                continue
            if runs_model(module, inner) or _is_itself(inner, each):
                yield inner
            queue += [new for new in _functions(module, inner) if new not in queue and len(queue) < _MOST_METHODS]


def _functions(module: Module, call: ast.Call) -> list[FunctionNode]:
    helper = module.classes.callee(call)
    return [helper] if helper is not None else _run_by(module, call)


def method_runs_model(module: Module, call: ast.Call) -> bool:
    """Whether a method other than `forward` is called that runs a network, of every class that it may be of."""
    if not isinstance(call.func, ast.Attribute) or not (call.args or call.keywords):
        return False
    name = call.func.attr
    found = [_records(module, each, name) for each in classes_of(module, call.func.value)]
    if not found:
        found = list(_by_callers(module, call.func.value, name))
    return bool(found) and all(found)


def methods_of(module: Module, call: ast.Call) -> list[FunctionNode]:
    """The methods that a call runs, one for each class that the object is seen to be made of; none if one has none."""
    if not isinstance(call.func, ast.Attribute):
        return []
    found = [each.methods.get(call.func.attr) for each in classes_of(module, call.func.value)]
    return [] if None in found else [each for each in found if each is not None]


def _helper_runs_method(module: Module, call: ast.Call) -> bool:
    """Whether a helper is called that calls such a method, and neither trains nor goes over batches itself."""
    helper = module.classes.callee(call)
    if helper is None or is_handed_to_others(module, helper):
        return False
    if is_forward(module, helper) or module.loops.trains(helper):
        return False
    if goes_over_batches(module, helper):
        return False  # that is told where it does
    calls = (each for each in module.tree.calls(helper) if not module.grad.turned_off(each))
    return any(method_runs_model(module, each) for each in calls)


def classes_of(module: Module, value: ast.expr) -> list[ClassFacts]:
    """The classes of the project that an object is seen to be made of: a variable, an attribute of `self`, a call."""
    if isinstance(value, ast.Call):
        made = _made(module, value)
        return [made] if made is not None else []
    ways = (each for each in bindings_of(module, value) if each.is_plain)
    return [each for way in ways if (each := _made(module, way.value)) is not None]


def _made(module: Module, value: ast.expr | None) -> ClassFacts | None:
    """The class that a call makes an object of: `Net(config).to(device).eval()`."""
    made = behind(value) if value is not None else None
    found = module.names.definition(made.func, True) if isinstance(made, ast.Call) else None
    return module.classes.all[found] if isinstance(found, ast.ClassDef) else None


def _by_callers(module: Module, value: ast.expr, method: str) -> Iterator[bool]:
    """The same of a parameter, or an attribute that a constructor sets to one, by what those hand over who call that.

    Only of callers that show of what class it is.
    """
    name = _handed(module, value)
    function = module.tree.function(name) if name is not None else None
    if name is None or function is None:
        return
    parameter = next((each for each in parameters(function) if each.arg == name.id), None)
    if parameter is None:
        return

    def records(user: Module, call: ast.Call) -> list[bool]:
        given = module.classes.argument(call, parameter, function)
        return [_records(user, each, method) for each in (classes_of(user, given) if given is not None else ())]

    for call in module.classes.calls_of(function):
        yield from records(module, call)
    for found in answers_elsewhere(module, function, records):
        yield from found


def _handed(module: Module, value: ast.expr) -> ast.Name | None:
    """The variable that an expression is, or that an attribute of `self` is set to, and to nothing else."""
    owned = module.classes.self_attribute(value)
    ways = owned[0].attributes.get(f"self.{owned[1]}", []) if owned is not None else []
    found = [each.value for each in ways] if owned is not None else [value]
    return found[0] if len(found) == 1 and isinstance(found[0], ast.Name) else None


def _records(module: Module, facts: ClassFacts, name: str) -> bool:
    """Whether a method of a class runs a network with gradients on, and does not train. `forward` is told by itself."""
    method = facts.methods.get(name)
    if method is None or name == "forward":
        return False
    queue: list[FunctionNode] = [method]
    runs = False
    for each in queue:
        if module.loops.trains(each):
            return False
        for call in module.tree.calls(each):
            is_pass = runs_model(module, call) or _is_itself(call, each)
            if module.grad.turned_off(call):
                if is_pass:
                    return False
                continue
            runs = runs or is_pass
            queue += [new for new in _run_by(module, call) if new not in queue and len(queue) < _MOST_METHODS]
    return runs


def _run_by(module: Module, call: ast.Call) -> list[FunctionNode]:
    """The functions of the project that a call in a method runs, a method of an attribute's class among them."""
    helper = module.classes.callee(call)
    if helper is not None:
        return [helper]
    if not isinstance(call.func, ast.Attribute) or call.func.attr == "forward":
        return []
    name = call.func.attr
    return [each.methods[name] for each in classes_of(module, call.func.value) if name in each.methods]


def _is_itself(call: ast.Call, method: FunctionNode) -> bool:
    """Whether a network calls itself: `self(x)`, `self.forward(x)`."""
    run = network_of(call)
    return isinstance(run, ast.Name) and run.id == self_name(method)
