"""Functions that train under a condition, and evaluate with gradients on where it does not hold.

`def run(net, loader, optimizer=None)` differentiates `if optimizer is not None`, and `run(net, val_loader)` runs the
same network with gradients on, for nothing. What a condition is, is asked for each call with constants, for each value
of a loop over constants (`for phase in ["train", "val"]`), for `net.training` behind `net.eval()`, and where it decides
over the mode itself: `net.train() if phase == "train" else net.eval()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchleak.model.again import loop_around
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.classfacts import self_name
from flake8_torchleak.model.conditions import (
    HELD,
    TRAINING,
    Guard,
    Setting,
    constants,
    deciding,
    guards_of,
    is_left_out,
    positive,
)
from flake8_torchleak.model.constantarguments import settings
from flake8_torchleak.model.elsewhere import calls_elsewhere
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.mentions import stands_beside
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.needing import needs_grad
from flake8_torchleak.model.ofoutputs import works_on_outputs
from flake8_torchleak.model.passes import passes
from flake8_torchleak.model.release.fate import Fate
from flake8_torchleak.model.rounds import Round
from flake8_torchleak.model.running import is_forward
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS, FunctionNode
from flake8_torchleak.wording import short

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


class Phase(NamedTuple):
    """A network that runs with gradients on where nothing differentiates what it gives.

    trained: what differentiates; test: the condition under which it does. where: what says that it does not hold.
    """

    call: ast.Call
    loop: Round | None
    function: FunctionNode
    trained: ast.Call
    test: str
    where: tuple[ast.AST, str]


def phases(module: Module) -> Iterator[Phase]:
    """The first of each function."""
    for function, calls in module.loops.training():
        found = _phase(module, function, calls)
        if found is not None:
            yield found


def _phase(module: Module, function: FunctionNode, trained: list[ast.Call]) -> Phase | None:
    if not module.notes and not any(isinstance(each, LOOPS) for each in module.tree.within(function)):
        return None  # what is run once a call is a note
    guards = [guards_of(module, each, function) for each in trained]
    if not all(guards) or is_forward(module, function):
        return None
    inner = (each for each in ast.walk(function) if isinstance(each, FUNCTIONS) and each is not function)
    if any(module.loops.trains(each) for each in inner):
        return None
    for setting, where in _settings(module, function):
        if not all(is_left_out(module, each, setting) for each in guards):
            continue
        if needs_grad(module, function):
            return None
        call = _run(module, function, setting)
        if call is not None:
            guard = next(each for each in guards[0] if is_left_out(module, [each], setting))
            test = deciding(module, guard, setting)
            return Phase(call, loop_around(module, call), function, trained[0], test, where)
    return None


def _run(module: Module, function: FunctionNode, setting: Setting) -> ast.Call | None:
    """The first call that runs a network, with gradients on, where variables are what a setting says."""
    for call in module.tree.calls(function):
        if module.grad.at(call) is Grad.ON and not is_left_out(module, guards_of(module, call, function), setting):
            if passes(module, call) and not works_on_outputs(module, call):
                return call
    return None


def _settings(module: Module, function: FunctionNode) -> Iterator[tuple[Setting, tuple[ast.AST, str]]]:
    """What the variables of a function's conditions are, one after the other, and what says so."""
    for loop in (each for each in module.tree.within(function) if isinstance(each, ast.For)):
        values = constants(module, loop.iter)
        for value in values if isinstance(loop.target, ast.Name) else ():
            name = short(loop.target)
            yield {name: value}, (loop, f"`{name}` is {value!r} in one of its rounds")
    yield from _switched(module, function)
    for call in module.classes.calls_of(function):
        if _is_known(module, module, function, call):
            yield from ((each, (call, "called here")) for each in _given(module, module, function, call))
    for user, call in calls_elsewhere(module, function):
        if _is_known(module, user, function, call):
            said = f"called in {PurePath(str(user.path)).name}, line {call.lineno}"
            yield from ((each, (function, said)) for each in _given(module, user, function, call))
    outer = module.tree.function(function)
    if outer is not None:  # whose variables it may ask
        own = {each.arg for each in parameters(function)}
        for setting, where in _settings(module, outer):
            yield {name: value for name, value in setting.items() if name not in own}, where


def _switched(module: Module, function: FunctionNode) -> Iterator[tuple[Setting, tuple[ast.AST, str]]]:
    """What conditions are where a network is put in evaluation mode, and in training mode otherwise.

    Nothing, if someone calls the function with gradients off: then it evaluates, perhaps; or if all who do train.
    """
    own = [each for each in module.classes.own_calls("eval", "train") if module.tree.function(each) is function]
    modes = [(each, _mode_of(module, each, function)) for each in own if isinstance(each.func, ast.Attribute)]
    guards = [(each, positive(guard)) for each, guard in modes if guard is not None]
    if not guards:
        return
    calls = [*((module, each) for each in module.classes.calls_of(function)), *calls_elsewhere(module, function)]
    if any(user.grad.at(each) is not Grad.ON for user, each in calls):
        return
    for call, held in guards:
        if calls and all(_only_trains(module, function, held, *each) for each in calls) and _are_all(module, function):
            continue
        yield {HELD: held}, (call, f"evaluation mode where {'' if held.holds else 'not '}`{short(held.test)}`")


def _only_trains(module: Module, function: FunctionNode, held: Guard, user: Module, call: ast.Call) -> bool:
    """Whether what a call hands over says that the condition for evaluation mode does not hold."""
    settings = list(_given(module, user, function, call)) if _is_known(module, user, function, call) else []
    return bool(settings) and all(is_left_out(module, [held], each) for each in settings)


def _are_all(module: Module, function: FunctionNode) -> bool:
    """Whether a program's files show all who call a function: no notebook or script, and no user of a package."""
    project = module.project
    if project is None or not project.is_program:
        return False
    return module.users.are_all(f"{function.name}(") and not stands_beside(project.top, function.name)


def _mode_of(module: Module, call: ast.Call, function: FunctionNode) -> Guard | None:
    """What must hold for a network to evaluate, and to train if not: `net.train(test)`, one branch with `eval()`."""
    given = [*call.args, *(each.value for each in call.keywords)]
    if last_name(call.func) == "train":
        return Guard(given[0], False) if given and not isinstance(given[0], ast.Constant) else None
    guards = guards_of(module, call, function)
    if given or not guards:
        return None
    network = key_of(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    switched = (
        guards_of(module, each, function)
        for each in module.classes.own_calls("train")
        if isinstance(each.func, ast.Attribute) and key_of(each.func.value) == network
        if module.tree.function(each) is function
    )
    test, holds = guards[0]
    is_other = any(each and each[0].test is test and each[0].holds is not holds for each in switched)
    return guards[0] if is_other else None


def _is_known(module: Module, user: Module, function: FunctionNode, call: ast.Call) -> bool:
    """Whether a call is one of this very function, and of no other of its name, such as an optimizer's `step`."""
    owner = module.tree.class_of(function)
    if owner is None:
        package, _, name = user.names.qualname(call.func).rpartition(".")
        return user is module or (
            name == function.name and package.rpartition(".")[2] == PurePath(str(module.path)).stem
        )
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    around, caller = user.classes.around(call), user.tree.function(call)
    if around is not None and caller is not None and key_of(receiver) == self_name(caller):
        return any(each.node.name == owner.name for each in around.lineage)
    ways = user.flow.reaching(receiver.id, receiver) if isinstance(receiver, ast.Name) else []
    made = [last_name(each.value.func) if isinstance(each.value, ast.Call) else "" for each in ways]
    return bool(made) and all(name == owner.name for name in made)


def _given(module: Module, user: Module, function: FunctionNode, call: ast.Call) -> Iterator[Setting]:
    """What a call sets a function's parameters to, where these are constants, if gradients are on and not needed."""
    if user.grad.at(call) is not Grad.ON or user.release.escapes.of_value(call).fate is Fate.DIFFERENTIATED:
        return
    setting: Setting = {}
    if user.loops.modes.evaluates(call) is not None:
        setting[TRAINING] = False
    yield from ({**setting, **each} for each in settings(module, user, function, call))
