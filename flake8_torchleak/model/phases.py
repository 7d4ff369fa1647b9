"""Functions that train under a condition, and evaluate with gradients on where it does not hold.

`def run(net, loader, optimizer=None)` differentiates `if optimizer is not None`, and `run(net, val_loader)` runs the
same network with gradients on, for nothing. What a condition is, is asked for each call with constants, for each value
of a loop over constants (`for phase in ["train", "val"]`), and for `net.training` behind `net.eval()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchleak.model.again import loop_around
from flake8_torchleak.model.bindings import How, key_of
from flake8_torchleak.model.classfacts import self_name
from flake8_torchleak.model.elsewhere import calls_elsewhere
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.names import defaults, last_name, parameters
from flake8_torchleak.model.needing import needs_grad
from flake8_torchleak.model.release.fate import Fate
from flake8_torchleak.model.rounds import Round
from flake8_torchleak.model.running import helper_runs_model, is_forward, runs_model
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import Kind
from flake8_torchleak.wording import short

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_DEEPEST = 4
"""Variables that a condition is made of, one of the other."""
_SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Subscript)
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
"""Of the comparisons that a constant decides."""
_TRAINING = ".training"
"""The attribute of networks that `eval()` and `train()` set."""

Setting = dict[str, object]
"""What some variables are: constants, by name; `_TRAINING` for the attribute of that name."""


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


class _Guard(NamedTuple):
    """A condition that is asked before something runs, and what it must be for that."""

    test: ast.expr
    holds: bool


def phases(module: Module) -> Iterator[Phase]:
    """The first of each function."""
    for function, calls in module.loops.training():
        found = _phase(module, function, calls)
        if found is not None:
            yield found


def _phase(module: Module, function: FunctionNode, trained: list[ast.Call]) -> Phase | None:
    guards = [_guards(module, each, function) for each in trained]
    if not all(guards) or is_forward(module, function):
        return None
    inner = (each for each in ast.walk(function) if isinstance(each, FUNCTIONS) and each is not function)
    if any(module.loops.trains(each) for each in inner):
        return None
    for setting, where in _settings(module, function):
        if not all(_is_left_out(module, each, setting) for each in guards):
            continue
        if needs_grad(module, function):
            return None
        call = _run(module, function, setting)
        if call is not None:
            guard = next(each for each in guards[0] if _is_left_out(module, [each], setting))
            test = _deciding(module, guard, setting)
            return Phase(call, loop_around(module, call), function, trained[0], test, where)
    return None


def _run(module: Module, function: FunctionNode, setting: Setting) -> ast.Call | None:
    """The first call that runs a network, with gradients on, where variables are what a setting says."""
    for call in module.tree.calls(function):
        if module.grad.at(call) is Grad.ON and not _is_left_out(module, _guards(module, call, function), setting):
            if runs_model(module, call) or helper_runs_model(module, call):
                return call
    return None


def _settings(module: Module, function: FunctionNode) -> Iterator[tuple[Setting, tuple[ast.AST, str]]]:
    """What the variables of a function's conditions are, one after the other, and what says so."""
    for loop in (each for each in module.tree.within(function) if isinstance(each, ast.For)):
        values = _constants(module, loop.iter)
        for value in values if isinstance(loop.target, ast.Name) else ():
            name = short(loop.target)
            yield {name: value}, (loop, f"`{name}` is {value!r} in one of its rounds")
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
        setting[_TRAINING] = False
    standard = defaults(function)
    given = [*call.args, *(each.value for each in call.keywords)]
    is_whole = not any(isinstance(each, ast.Starred) for each in given) and all(each.arg for each in call.keywords)
    several: dict[str, list[object]] = {}
    for parameter in parameters(function):
        value = module.classes.argument(call, parameter, function)
        if value is None and is_whole:
            value = standard.get(parameter)
        found = _values(user, value) if value is not None else []
        if len(found) == 1:
            setting[parameter.arg] = found[0]
        elif found:
            several[parameter.arg] = found
    yield setting
    yield from ({**setting, name: each} for name, values in several.items() for each in values)


def _values(module: Module, value: ast.expr) -> list[object]:
    """The constants that an argument may be: it is one, or goes over some; none if it may be anything else."""
    if isinstance(value, ast.Constant):
        return [value.value]
    if not isinstance(value, ast.Name) or value not in module.tree.parents:
        return []
    found = module.flow.reaching(value.id, value)
    if len(found) != 1 or found[0].how is not How.ITERATE or found[0].path or found[0].value is None:
        return []
    return _constants(module, found[0].value)


def _constants(module: Module, iterable: ast.expr) -> list[object]:
    """The elements of a list or tuple of constants; of a variable, of the one that it is."""
    if isinstance(iterable, ast.Name):
        found = [each for each in module.flow.reaching(iterable.id, iterable) if each.is_plain]
        iterable = found[0].value if len(found) == 1 and found[0].value is not None else iterable
    if not isinstance(iterable, (ast.List, ast.Tuple)):
        return []
    constants: list[object] = [each.value for each in iterable.elts if isinstance(each, ast.Constant)]
    return constants if len(constants) == len(iterable.elts) else []


# -- Conditions -----------------------------------------------------------------------------------------------------


def _guards(module: Module, node: ast.AST, top: ast.AST) -> list[_Guard]:
    """What must hold, or not, for something in a function to run: the branches around it, and what leaves before."""
    found: list[_Guard] = []
    while node is not top:
        up = module.tree.parents[node]
        if isinstance(up, (ast.If, ast.IfExp)) and node is not up.test:
            body = up.body if isinstance(up.body, list) else [up.body]
            found.append(_Guard(up.test, node in body))
        for block in (getattr(up, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and node in block:
                found += _left_before(block[: block.index(node)])
        node = up
    return found


def _left_before(block: list[ast.stmt]) -> Iterator[_Guard]:
    """The conditions under which statements above leave the round or the function."""
    for each in block:
        if isinstance(each, ast.If):
            if isinstance(each.body[-1], _LEAVES):
                yield _Guard(each.test, False)
            elif each.orelse and isinstance(each.orelse[-1], _LEAVES):
                yield _Guard(each.test, True)


def _is_left_out(module: Module, guards: list[_Guard], setting: Setting) -> bool:
    """Whether one of these conditions is not what it must be."""
    return any(_truth(module, each.test, setting, _DEEPEST) is (not each.holds) for each in guards)


def _deciding(module: Module, guard: _Guard, setting: Setting) -> str:
    """The part of a condition that a setting decides, as it must be, in words that give True or False."""
    test, holds = guard
    while True:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, holds = test.operand, not holds
        elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
            test = next(each for each in test.values if _truth(module, each, setting, _DEEPEST) is (not holds))
        else:
            break
    if isinstance(test, ast.Compare) and not holds:
        opposite = _OPPOSITES[type(test.ops[0])]()
        test, holds = ast.Compare(test.left, [opposite], test.comparators), True
    if not holds:
        return f"not {short(test)}" if isinstance(test, _SIMPLE) else f"not ({short(test)})"
    known = _known(module, test, setting)
    is_bool = isinstance(test, ast.Compare) or (known and isinstance(known[0], bool))
    return short(test) if is_bool else f"bool({short(test)})"


def _truth(module: Module, test: ast.expr, setting: Setting, depth: int) -> bool | None:
    """Whether a condition holds where variables are what a setting says; None if that does not tell."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        truth = _truth(module, test.operand, setting, depth)
        return None if truth is None else not truth
    if isinstance(test, ast.BoolOp):
        truths = [_truth(module, each, setting, depth) for each in test.values]
        decisive = isinstance(test.op, ast.Or)
        return decisive if decisive in truths else None if None in truths else not decisive
    if isinstance(test, ast.Compare):
        return _compared(module, test, setting)
    known = _known(module, test, setting)
    if known:
        return bool(known[0])
    value = _bound_to(module, test) if depth else None
    return None if value is None else _truth(module, value, setting, depth - 1)


def _compared(module: Module, test: ast.Compare, setting: Setting) -> bool | None:
    """`mode == "train"`, `optimizer is not None`, `phase in ("train", "all")`."""
    left, right = _known(module, test.left, setting), _known(module, test.comparators[0], setting)
    operator = test.ops[0]
    if len(test.ops) > 1 or not left:
        return None
    if isinstance(operator, (ast.In, ast.NotIn)):
        values = _constants(module, test.comparators[0])
        return (left[0] in values) is isinstance(operator, ast.In) if values else None
    if not right or not isinstance(operator, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return None
    return (left[0] == right[0]) is isinstance(operator, (ast.Eq, ast.Is))


def _known(module: Module, node: ast.expr, setting: Setting) -> list[object]:
    """What an expression is, in a list; none if that is not known."""
    if isinstance(node, ast.Constant):
        return [node.value]
    if isinstance(node, ast.Attribute) and f".{node.attr}" == _TRAINING:
        is_network = _TRAINING in setting and module.infer.value(node.value).kind is Kind.MODULE
        return [setting[_TRAINING]] if is_network else []
    if not isinstance(node, ast.Name) or node.id not in setting:
        return []
    ways = module.flow.reaching(node.id, node)
    return [setting[node.id]] if all(each.how in (How.PARAMETER, How.ITERATE) for each in ways) else []


def _bound_to(module: Module, node: ast.expr) -> ast.expr | None:
    """The one value that a variable has."""
    found = module.flow.reaching(node.id, node) if isinstance(node, ast.Name) else []
    return found[0].value if len(found) == 1 and found[0].is_plain else None
