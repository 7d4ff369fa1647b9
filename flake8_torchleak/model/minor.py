"""Evaluations that cost little, or perhaps: of one item, of what no loader gives, away from all training."""

from __future__ import annotations

import ast
from pathlib import PurePath
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.alike import may_guard_itself
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.fed import is_fed, rounds_over_batches
from flake8_torchleak.model.few import numbers
from flake8_torchleak.model.forwards import may_decide
from flake8_torchleak.model.freezing import may_be_frozen, may_freeze, may_lose_parameters, seems_frozen, seems_taught
from flake8_torchleak.model.heads import freezes_itself, learns_little
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.olden import is_of_old_program
from flake8_torchleak.model.passes import is_supposed
from flake8_torchleak.model.release.fate import Fate
from flake8_torchleak.model.rounds import Round
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.evaluated import Evaluation
    from flake8_torchleak.model.module import Module

_LEAVES = (ast.Break, ast.Return)
_MOST_ROUNDS = 10
"""Rounds of a loop that shows what a network gives, and is left."""
_MOST_LEVELS = 3
"""Callers of callers that are asked whether they train."""


def why_minor(module: Module, evaluation: Evaluation) -> str:
    """Why an evaluation without `no_grad` may cost no more than some time; "" where something shows that it does.

    It goes over a loader, and not once only, or over batches from elsewhere, and then its network is put in evaluation
    mode, or it is run beside training. What only its use tells goes over a loader.
    """
    loop = evaluation.loop
    if _is_let_go(module, evaluation.call):
        return "the next statement frees the graph"
    if _is_volatile(module, evaluation.call) or is_of_old_program(module):
        return OLD
    if loop is None:
        return "it is in no loop here: one graph a call, as large as one in training"
    if (evaluation.of_any_class and may_decide(module)) or may_guard_itself(module, evaluation.call):
        return "the network may be of a class that turns gradients off itself"
    if is_supposed(module, evaluation.call):
        return "nobody sees the class of the object: it is taken to be one of the project's networks"
    if evaluation.assumed:
        return "the `.detach()` behind the call is the only sign that it builds a graph"
    if may_lose_parameters(module):
        return PLAIN_TENSORS
    if not evaluation.by_use and (may_be_frozen(module, evaluation.call) or seems_taught(module, evaluation.call)):
        return FROZEN  # who is told by use was asked whether its network is frozen
    if freezes_itself(module, evaluation.call):
        return "its class freezes the network as it is made: then it builds no graph"
    if learns_little(module, evaluation.call):
        return "its class freezes the network but for a small head, or runs the rest without gradients"
    if _ends_soon(module, loop):
        return "the loop ends after a few rounds"
    if evaluation.is_meant:
        return ""
    if _is_for_show(module, evaluation):
        return "by its name it shows a few samples"
    if evaluation.by_use and _gets_out(module, evaluation.call):
        return "code that nobody sees gets what is made of it"
    over = rounds_over_batches(module, evaluation.call)
    if evaluation.by_use and not over:
        return _OVER_NO_LOADER
    if evaluation.by_use and (may_freeze(module, evaluation.call) or seems_frozen(module, evaluation.call)):
        return FROZEN
    if evaluation.by_use:
        return BESIDE if evaluation.is_cut and module.loops.trains(loop) else ""
    if loop in over:
        return ""
    if _is_of_one(module, evaluation.call):
        return "the batch is one item"
    return _why_little(module, evaluation) if not over else ""


OLD = "programs of before PyTorch 0.4 turn gradients off in another way"
"""Why an old program's evaluation is a note."""
FROZEN = "the parameters of the network may be frozen: then it builds no graph"
PLAIN_TENSORS = "parameters are taken out of networks here: with plain tensors in their place those build no graph"
BESIDE = "it is beside a training step, which may need as much memory anyway"
"""Why a pass in a loop that trains is a note: of 14 that readers judged, 2 were worth a change."""
_OVER_NO_LOADER = "the loop goes over no loader"


def _why_little(module: Module, evaluation: Evaluation) -> str:
    """Why an evaluation over no loader is a note: it gets single inputs, or nothing shows that this evaluates.

    Of 33 evaluations over no loader that readers judged, 9 were worth a change; of those that make each input by
    themselves, of a path, a number or noise, 2 of 9.
    """
    if not is_fed(module, evaluation.call):
        return f"{_OVER_NO_LOADER}, and makes each input itself"
    if evaluation.is_switched:
        return ""
    if evaluation.function is not None and _is_beside_training(module, evaluation.function, _MOST_LEVELS):
        return ""
    return f"{_OVER_NO_LOADER}, and nothing puts the network in evaluation mode"


def _gets_out(module: Module, call: ast.Call) -> bool:
    """Whether a call that nobody sees into gets what a network gives: in a program that differentiates nothing."""
    ending = module.release.escapes.of_this_value(call)
    return ending.fate is Fate.HANDED and isinstance(ending.node, ast.Call)


def _is_for_show(module: Module, evaluation: Evaluation) -> bool:
    """Whether names say that it makes pictures of a few samples: of 16 such ones none was worth a change."""
    own = (each for each in module.tree.ancestors(evaluation.call) if isinstance(each, FUNCTIONS))
    stem = PurePath(module.path).stem if module.path is not None else ""
    return hints.is_for_show(stem) or any(hints.is_for_show(each.name) for each in own)


def _ends_soon(module: Module, loop: Round) -> bool:
    """Whether a loop is left at the end of its first round, or when a counter of it comes to a small number."""
    if not isinstance(loop, LOOPS):
        return False
    return isinstance(loop.body[-1], _LEAVES) or any(
        isinstance(each, ast.If) and isinstance(each.body[-1], _LEAVES) and _is_soon(module, each.test)
        for each in loop.body
    )


def _is_soon(module: Module, test: ast.expr) -> bool:
    """Whether a condition holds after a few rounds: `index >= 3`, `done == few` where `few` is a small number."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Gt, ast.GtE, ast.Eq)):
        return False
    found = numbers(module, test.comparators[0]) if isinstance(test.left, ast.Name) else []
    return bool(found) and max(found) <= _MOST_ROUNDS


def _is_let_go(module: Module, call: ast.Call) -> bool:
    """Whether the next statement cuts the output off from its graph, for good: `out = net(x); out.detach_()`."""
    statement = module.tree.statement(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
        return False
    name = key_of(statement.targets[0])
    cuts = (each for each in module.classes.own_calls("detach_") if isinstance(each.func, ast.Attribute))
    return any(
        key_of(each.func.value) == name and _is_next(module, statement, module.tree.statement(each))
        for each in cuts
        if isinstance(each.func, ast.Attribute)
    )


def _is_next(module: Module, first: ast.stmt, then: ast.stmt) -> bool:
    for body in (getattr(module.tree.parents[first], name, None) for name in ("body", "orelse", "finalbody")):
        if isinstance(body, list) and first in body[:-1]:
            return body[body.index(first) + 1] is then
    return False


def _is_volatile(module: Module, call: ast.Call) -> bool:
    """Whether a helper makes its inputs volatile, as was right before PyTorch 0.4: no graph was built then."""
    helper = module.names.definition(call.func, True)
    if not isinstance(helper, FUNCTIONS):
        return False
    given = (each for inner in module.tree.calls(helper) for each in inner.keywords)
    return any(each.arg == "volatile" and getattr(each.value, "value", None) is True for each in given)


_SAME_ROWS = frozenset({
    "to", "cuda", "float", "half", "double", "long", "type", "detach", "clone", "contiguous", "astype", "copy",
    "from_numpy", "tensor", "as_tensor", "Tensor", "FloatTensor", "Variable", "array", "asarray", "ascontiguousarray",
})  # fmt: skip
"""Methods, and functions of torch and numpy, that leave the number of rows as it is."""
_ADDS_A_ROW = frozenset({"unsqueeze", "expand_dims"})


def _is_of_one(module: Module, call: ast.Call) -> bool:
    """Whether a batch of one item is made for the call: `net(x.unsqueeze(0))`, `net(torch.tensor(image[None]))`.

    Or for a call of what it hands to a helper of the file.
    """
    given = [*call.args, *(each.value for each in call.keywords)]
    if any(_is_one(module, each, _MOST_LEVELS) for each in given):
        return True
    helper = module.names.definition(call.func)
    if not isinstance(helper, FUNCTIONS) or not module.tree.is_own(helper):
        return False
    taken = {each.arg for each in parameters(helper)}
    return any(
        isinstance(inner.func, ast.Name)
        and inner.func.id in taken
        and any(_is_one(module, each, _MOST_LEVELS) for each in inner.args)
        for inner in module.tree.calls(helper)
    )


def _is_one(module: Module, node: ast.expr, levels: int) -> bool:
    if isinstance(node, ast.Name):
        found = module.flow.reaching(node.id, node)
        return bool(found) and all(
            each.is_plain and each.value is not None and levels > 0 and _is_one(module, each.value, levels - 1)
            for each in found
        )
    if isinstance(node, ast.Subscript):
        index = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        is_new = isinstance(index, ast.Constant) and index.value is None
        return is_new or module.names.qualname(index) == "numpy.newaxis"
    if not isinstance(node, ast.Call):
        return False
    if module.names.qualname(node.func):
        name, given, rest = last_name(node.func), node.args[:1], node.args[1:]
    else:
        name, given, rest = last_name(node.func), [getattr(node.func, "value", node)], node.args
    if name in _ADDS_A_ROW:
        dims = [*rest, *(each.value for each in node.keywords)]
        return [getattr(each, "value", None) for each in dims] == [0]
    return name in _SAME_ROWS and any(each is not node and _is_one(module, each, levels) for each in given)


def _is_beside_training(module: Module, function: FunctionNode, levels: int) -> bool:
    """Whether a function trains as well, or is called in a loop that does, itself or by who calls it."""
    if module.loops.trains(function):
        return True
    for call in module.classes.calls_of(function) if levels else ():
        outer = module.tree.function(call)
        if any(module.loops.trains(loop) for loop in module.tree.ancestors(call) if isinstance(loop, LOOPS)):
            return True
        if outer is not None and outer is not function and _is_beside_training(module, outer, levels - 1):
            return True
    return False
