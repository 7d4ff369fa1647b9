"""What sample functions change in place: elements that a Dataset keeps."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from flake8_torchleak.model.anew import is_made_anew
from flake8_torchleak.model.bindings import How, Mutation
from flake8_torchleak.model.changed import Edit, container, edits_in, root
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.env import NO_ENV, Env
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.samplecalls import SampleCalls
from flake8_torchleak.model.samples import is_reached, is_stored
from flake8_torchleak.model.shallow import is_replaced, is_touched
from flake8_torchleak.model.sums import same
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import UNKNOWN, Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_CALLS = 3
"""Helpers of helpers that are followed."""


def edits(module: Module, dataset: DatasetFacts) -> Iterator[Edit]:
    """Changes in place of stored elements, in sample functions and in helpers that are handed such an element."""
    run = SampleCalls(module, dataset)
    found = [each for function in dataset.calls_in for each in edits_through(module, function, NO_ENV, run.by)]
    told = {each.node for each in found}
    found = [each for each in found if told.isdisjoint(each.within)]
    yield from (each for each in found if not is_made_anew(module, dataset, each.value))


def edits_through(
    module: Module,
    function: FunctionNode,
    env: Env,
    run_by: Callable[[ast.Call], Iterable[FunctionNode]],
    depth: int = _MOST_CALLS,
) -> Iterator[Edit]:
    """Changes in place of stored elements in one function, whose parameters are what `env` says, and in its helpers.

    run_by: what a call runs. Who calls for a helper that changes what it is handed is said where that is not done
    already.
    """
    found: list[Edit] = []
    for call in module.tree.calls(function) if depth else ():
        for helper in run_by(call):
            if helper is not function:
                found += _in_helper(module, call, helper, env, run_by, depth)
    yield from edits_in(module, function, env, frozenset(each.node for each in found))
    yield from found


def _in_helper(
    module: Module,
    call: ast.Call,
    helper: FunctionNode,
    env: Env,
    run_by: Callable[[ast.Call], Iterable[FunctionNode]],
    depth: int,
) -> Iterator[Edit]:
    """What a helper changes of what a call hands it; told at the call, if the helper is another file's."""
    given = {p: a for p in parameters(helper) if (a := module.classes.argument(call, p, helper)) is not None}
    values = {p: module.infer.value(a, env) for p, a in given.items()}
    inner = Env({p: UNKNOWN if _may_be_own(module, v, given[p], env) else v for p, v in values.items()})
    handed = [a for p, a in given.items() if _is_shared(inner[p]) or _may_be_stored(module, inner[p])]
    if not handed:
        return
    for each in edits_through(module, helper, inner, run_by, depth - 1):
        # What is stored whatever the helper is handed is told where it is, or is kept by the object it is a method of.
        if not any(is_stored(module.infer.value(node)) for node in (root(each.node), each.target)):
            yield each if module.tree.is_own(each.place) else replace(each, call=call, given=handed[0])


def _is_shared(value: Value) -> bool:
    """Whether it is a copy that shares its entries with what is stored, or in an entry of such."""
    return value.is_shallow or (is_reached(value) and not is_stored(value))


def _may_be_own(module: Module, value: Value, given: ast.expr, env: Env) -> bool:
    """Whether something else may be in the entries of a copy that a helper is handed, or in the entry that it is."""
    if value.is_shallow:
        return is_touched(module, given, env)
    return _is_shared(value) and is_replaced(module, given, env)


def _may_be_stored(module: Module, value: Value) -> bool:
    """Whether a value, or a part of it, is an element that is stored: of an unknown kind, one of a list."""
    parts = (value, *value.items, *(each for _, each in value.fields), value.element or UNKNOWN)
    return any(
        is_stored(each) and (each.kind is not Kind.UNKNOWN or container(module, each) in (Kind.LIST, Kind.TUPLE))
        for each in parts
    )


def moved_elements(module: Module) -> Iterator[Edit]:
    """Elements of a stored container that are replaced by their copies on the device, in any class.

    `item = self.cache[i]; item["image"] = item["image"].to(device)`: device memory grows by every element served.
    """
    for facts in module.classes.all.values():
        if not module.tree.is_own(facts.node):
            continue
        named = any(last_name(base).endswith(("Optimizer", "Module")) for base in facts.node.bases)
        for function in facts.own_methods.values() if not named else ():
            if function.name.startswith(
                ("__", "setup", "prepare", "build", "load", "to", "cuda", "_load", "_setup", "step")
            ):
                continue
            for changes in module.flow.mutations(function).values():
                for change in changes:
                    target = _moved(change)
                    value = module.infer.value(target) if target is not None else UNKNOWN
                    if target is not None and is_stored(value) and _is_looked_up(module, target):
                        yield Edit(change.node, target, value, function)


def _moved(change: Mutation) -> ast.Name | None:
    """`item` of `item[k] = item[k].to(device)`."""
    target, call = change.target, change.value
    if not isinstance(target, ast.Name) or not isinstance(change.node, ast.Assign) or not isinstance(call, ast.Call):
        return None
    if not isinstance(call.func, ast.Attribute) or not _goes_to_device(call):
        return None
    return target if same(call.func.value, change.node.targets[0]) else None


def _goes_to_device(call: ast.Call) -> bool:
    """`.cuda()` or `.to(device)`; `.to(other_tensor)` matches a type as well."""
    name = last_name(call.func)
    return name == "cuda" or (name == "to" and bool(call.args) and "device" in last_name(call.args[0]))


def _is_looked_up(module: Module, name: ast.Name) -> bool:
    """Whether the variable is `self.x[i]` with an index that changes."""
    values = [d.value for d in module.flow.reaching(name.id, name)]
    return bool(values) and all(
        isinstance(v, ast.Subscript)
        and not isinstance(v.slice, (ast.Constant, ast.Slice))
        and module.classes.self_attribute(v.value) is not None
        for v in values
    )


def copy_place(module: Module, edit: Edit) -> tuple[ast.expr, bool] | None:
    """The read to copy so that an edit does not reach the Dataset, and whether nested contents need copying too.

    None unless a local variable of the function is bound to the element, once, and nothing else there reads it.
    """
    name = root(edit.target)
    reaching = module.flow.reaching(name.id, edit.target) if isinstance(name, ast.Name) else []
    if len(reaching) != 1 or reaching[0].value is None or reaching[0].path or reaching[0].how is not How.ASSIGN:
        return None
    read, variable = reaching[0].value, reaching[0].key
    if not isinstance(read, ast.Subscript) or isinstance(read.slice, ast.Slice):
        return None
    lookup = read.value
    if module.classes.self_attribute(root(lookup)) is None:
        return None
    again = [n for n in module.tree.within(edit.function) if isinstance(n, ast.Subscript) and same(n.value, lookup)]
    if len(again) > 1:
        return None
    return read, _changes_nested(module, edit, variable)


def _changes_nested(module: Module, edit: Edit, variable: str) -> bool:
    """Whether what is inside the element is changed too: through it, through a part with a name, or by a helper."""
    name = edit.value.origin.name if edit.value.origin is not None else ""
    for key, changes in module.flow.mutations(edit.function).items():
        for change in changes:
            target = change.target
            if key == variable and change.depth:
                return True
            if key != variable and target is not None:
                part = module.infer.value(target)
                if is_stored(part) and part.origin is not None and part.origin.name == name:
                    return True
    handed = (a for call in module.tree.calls(edit.function) for a in (*call.args, *(k.value for k in call.keywords)))
    return any(isinstance(a, ast.Name) and a.id == variable for a in handed)
