"""Meters that keep tensors as they are handed in, where nothing in the project shows that these carry no graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.classes import ClassFacts, self_name
from flake8_torchleak.model.effects import TENSOR_ATTRIBUTES, TENSOR_METHODS
from flake8_torchleak.model.env import Env
from flake8_torchleak.model.keeping import Keeping, keepings
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_METER = re.compile(r"meter|metric|evaluator|average|statistic|recorder|scorer|reporter|accumulator", re.IGNORECASE)
_FEEDS = re.compile(r"^_?(?:update|add|append|put|push|record|report|process|collect|accumulate|observe|__call__)")
_JOINS = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack", "dim_zero_cat", "_cat"})
_NUMBERS = (Kind.NUMBER, Kind.STRING, Kind.ARRAY, Kind.NONE)


@dataclass(frozen=True, slots=True, eq=False)
class Unreleased:
    """One place where a meter keeps a tensor as it comes.

    function: the method (or function) that is fed; owner: its class; joined: where the class joins what it has
    collected, as only tensors can be.
    """

    function: FunctionNode
    owner: ClassFacts | None
    keeping: Keeping
    joined: ast.Call | None


def unreleased(module: Module) -> Iterator[Unreleased]:
    """What the meters of a file keep, and functions that add tensors, so declared, to variables of the module."""
    for function in module.tree.all(*FUNCTIONS):
        node = module.tree.class_of(function)
        owner = module.classes.all[node] if node is not None else None
        if not _FEEDS.match(function.name) or (owner is not None and not _is_meter(owner)):
            continue
        found = [
            Unreleased(function, owner, keeping, joined)
            for keeping in _keepings(module, function, owner)
            for joined in (_joined(module, owner, keeping),)
            if not _is_released(module, function, owner, keeping)
            and _may_carry(module, function, owner, keeping, joined)
        ]
        if found and not (owner is not None and _is_fed_plainly(module, function, owner)):
            yield from found


def _is_meter(owner: ClassFacts) -> bool:
    """Whether a class, or one that it derives from, is a meter by its name."""
    names = [each.node.name for each in owner.lineage] + [last_name(base) for base in owner.outer_bases]
    return any(_METER.search(name) for name in names)


def _keepings(module: Module, function: FunctionNode, owner: ClassFacts | None) -> list[Keeping]:
    """What a method adds to its object's attributes, a function to variables of the module."""
    if owner is not None:
        return list(keepings(module, function, f"{self_name(function)}."))
    if module.tree.function(function) is not None:
        return []
    own, known = module.flow.definitions(function), module.flow.definitions(module.root)
    return [each for each in keepings(module, function, "") if each.key in known and each.key not in own]


def _joined(module: Module, owner: ClassFacts | None, keeping: Keeping) -> ast.Call | None:
    """Where the class joins what it has collected (`torch.cat(self.scores)`)."""
    attribute = keeping.key.partition(".")[2]
    for function in owner.all_functions if owner is not None else ():
        for call in module.tree.calls(function):
            if call.args and last_name(call.func) in _JOINS and _whose(call.args[0]).partition(".")[2] == attribute:
                if not module.names.qualname(call.func).startswith("numpy."):
                    return call
    return None


def _whose(node: ast.expr) -> str:
    """The variable whose elements an expression is: `c`, and what they hold (`[each.value for each in c]`)."""
    while isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
        node = node.generators[0].iter
    return key_of(node)


def _is_released(module: Module, function: FunctionNode, owner: ClassFacts | None, keeping: Keeping) -> bool:
    """Whether the meter sees to it: it looks at `requires_grad`, keeps in evaluation only, or a library sums for it."""
    if any(isinstance(node, ast.Attribute) and node.attr == "requires_grad" for node in module.tree.within(function)):
        return True
    tests = [up.test for up in module.tree.ancestors(keeping.node) if isinstance(up, ast.If)]
    words = (node.value for test in tests for node in ast.walk(test) if isinstance(node, ast.Constant))
    if any(isinstance(word, str) and hints.is_evaluation(word) for word in words):
        return True
    bases = owner.outer_bases if owner is not None else []
    return keeping.sums and any(hints.updates_without_grad(module.names.qualname(base)) for base in bases)


def _may_carry(
    module: Module, function: FunctionNode, owner: ClassFacts | None, keeping: Keeping, joined: ast.Call | None
) -> bool:
    """Whether what is kept is a tensor, and carries a graph if what the function is given does."""
    declared = {p: module.infer.parameters.value(p, function).kind for p in parameters(function)}
    tensor, kept = Value(Kind.TENSOR, graph=True), keeping.value
    if module.infer.value(kept, Env({p: tensor for p, kind in declared.items() if kind is Kind.TENSOR})).graph:
        return True
    value = module.infer.value(kept, Env({p: tensor for p, kind in declared.items() if kind not in _NUMBERS}))
    if owner is None or value.graph is False or not (value.graph or value.kind in (Kind.UNKNOWN, Kind.TENSOR)):
        return False
    parts = list(_parts(kept))
    if any(_gives_none(part) or hints.is_plain_result(last_name(part)) for part in parts):
        return False
    used = any(module.loops.has_tensor_use(part) for part in parts)
    return used or joined is not None or module.proof.is_tensor(kept)


def _gives_none(node: ast.expr) -> bool:
    """Whether a method's result or an attribute carries no graph (`.size(0)`, `.long()`, `.shape`)."""
    if isinstance(node, ast.Call):
        effect = TENSOR_METHODS.get(last_name(node.func))
    else:
        effect = TENSOR_ATTRIBUTES.get(last_name(node)) if isinstance(node, ast.Attribute) else None
    return effect is not None and not effect.graph


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """An expression, and what it is a method's result, an attribute or an element of."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        yield node
        node = node.func if isinstance(node, ast.Call) else node.value
    yield node


def _is_fed_plainly(module: Module, function: FunctionNode, owner: ClassFacts) -> bool:
    """Whether the file itself feeds it (TLK403 knows), or others of the project do, and never with a graph."""
    name, kinds = function.name, [each.node for each in module.classes.running(owner, function.name)]
    if any(made in kinds for made, _ in _feedings(module, name)):
        return True
    found = [
        plain
        for _, feedings in module.users.answers(lambda user: _feedings(user, name), owner.node.name, f".{name}(")
        for made, plain in feedings
        if made is None or made.name == owner.node.name
    ]
    return bool(found) and all(found)


def _feedings(module: Module, name: str) -> list[tuple[ast.ClassDef | None, bool]]:
    """The calls of a method of this name, as (class if known, whether nothing that is handed over carries a graph)."""
    found: list[tuple[ast.ClassDef | None, bool]] = []
    for call in module.classes.own_calls(name):
        made = module.infer.value(call.func.value).made if isinstance(call.func, ast.Attribute) else None
        arguments = [*call.args, *(k.value for k in call.keywords)]
        plain = module.grad.off(call) or all(module.infer.value(each).graph is False for each in arguments)
        found.append((made if isinstance(made, ast.ClassDef) else None, plain))
    return found
