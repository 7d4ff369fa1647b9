"""Networks of which little builds a graph, as their class freezes the rest, or runs it without gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.classfacts import ClassFacts, self_name
from flake8_torchleak.model.freezing import frozen_in
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.modes import behind
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.networkclasses import classes_of
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_LARGE = ("Conv", "LazyConv", "LSTM", "GRU", "RNN", "Transformer", "Multihead", "Module", "Parameter", "DataParallel")
"""How the names of those layers of torch begin that may build large graphs, or hold any others."""
_MOST_LEVELS = 3
"""Parts of parts that are looked into."""


def freezes_itself(module: Module, call: ast.Call) -> bool:
    """Whether the network of a call is of a class of the project whose constructor freezes all of it."""
    classes = list(classes_of(module, call.func))
    return bool(classes) and all(map(partial(_is_frozen_as_made, module), classes))


def _is_frozen_as_made(module: Module, facts: ClassFacts) -> bool:
    """Whether a constructor freezes all of its object, behind all that it binds."""
    made = facts.own_methods.get("__init__")
    if made is None:
        return False
    own = self_name(made)
    last = max(
        (each.lineno for each in ast.walk(made) if isinstance(each, ast.Assign) and _binds(each, own)), default=0
    )
    return any(network == own and line > last for network, line in frozen_in(module, made).items())


def _binds(statement: ast.Assign, own: str) -> bool:
    """Whether an assignment gives an object a part."""
    return any(isinstance(each, ast.Attribute) and _attribute(each, own) for each in statement.targets)


def learns_little(module: Module, call: ast.Call) -> bool:
    """Whether the network of a call is of a class of the project of which only a head of linear layers builds a graph.

    Of three such evaluations that readers judged, two of which led to this question, none was worth a change.
    """
    classes = list(classes_of(module, call.func))
    return bool(classes) and all(_is_head(module, each, _MOST_LEVELS, without=True) for each in classes)


def _is_head(module: Module, facts: ClassFacts, levels: int, without: bool) -> bool:
    """Whether all parts of a class that are run are small, or build no graph; without: and some of them build none."""
    made = facts.methods.get("__init__")
    if made is None or "forward" not in facts.methods:
        return False
    idle = _frozen(module, made) | _run_without(module, facts)
    learning = {name for name, _ in _runs(facts)} - idle
    values = {name: _values(made, name) for name in learning}
    if without and not idle:
        return False
    return all(found and all(_is_small(module, each, levels) for each in found) for found in values.values())


def _frozen(module: Module, made: FunctionNode) -> set[str]:
    """The parts that a constructor freezes, by their attributes: before or after it has bound them to these."""
    frozen = frozen_in(module, made)
    own = self_name(made)
    found = {each.removeprefix(f"{own}.") for each in frozen if each.startswith(f"{own}.")}
    for each in ast.walk(made):
        if isinstance(each, ast.Assign) and key_of(each.value) in frozen:
            found |= {name for target in each.targets if (name := _attribute(target, own))}
    return found


def _run_without(module: Module, facts: ClassFacts) -> set[str]:
    """The parts that are only run with gradients off."""
    modes: dict[str, bool] = {}
    for name, call in _runs(facts):
        modes[name] = modes.get(name, True) and module.grad.at(call) is Grad.OFF
    return {name for name, off in modes.items() if off}


def _runs(facts: ClassFacts) -> Iterator[tuple[str, ast.Call]]:
    """The calls in a forward pass of parts, or of what these have, each with the part's attribute."""
    for function in facts.own_methods.values():
        own = self_name(function)
        if function.name == "__init__":
            continue
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and (name := _attribute(call.func, own)) and name not in facts.methods:
                yield name, call


def _attribute(node: ast.expr, own: str) -> str:
    """The attribute of an object that an expression is, or begins with: `base` of `self.base.conv(x)`."""
    while isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id == own:
            return node.attr
        node = node.value
    return ""


def _values(made: FunctionNode, name: str) -> list[ast.expr]:
    """What a constructor binds an attribute to."""
    own = self_name(made)
    return [
        each.value
        for each in ast.walk(made)
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Attribute) and _attribute(target, own) == name
    ]


def _is_small(module: Module, value: ast.expr, levels: int) -> bool:
    """Whether a part is a linear layer, or the like, or made of these alone: what is not seen may be large."""
    value = behind(value)
    if not isinstance(value, ast.Call) or not levels:
        return False
    path = module.names.qualname(value.func)
    name = path.removeprefix("torch.nn.")
    if name != path:
        if name == "Sequential":
            return all(_is_small(module, each, levels) for each in value.args)
        return not name.startswith(_LARGE)
    found = module.names.definition(value.func, last_name(value.func)[:1].isupper())
    facts = module.classes.all.get(found) if isinstance(found, ast.ClassDef) else None
    return facts is not None and _is_head(module, facts, levels - 1, without=False)
