"""What hooks keep of the last run of a module until the next one, though it is needed no more when a run is over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model import hooks
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.effects import CUTS
from flake8_torchleak.model.names import last_name

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def kept_until_next(module: Module) -> Iterator[tuple[ast.Call, str, ast.expr, ast.AST]]:
    """(registration, container, value, node) where a hook puts what has history into a list of its object.

    The object empties that only before it runs the module again. It hooks the backward pass, too: so gradients are on.
    """
    for call in hooks.all_registrations(module):
        owner = module.classes.around(call)
        if owner is None or "forward" not in last_name(call.func) or not _hooks_gradients(module, owner):
            continue
        for hook in hooks.behind(module, call.args[0]):
            for holder, value, node in hooks.given_to(module, hook):
                if (
                    holder.startswith("self.")
                    and not _is_cut(module, value)
                    and _is_emptied_late(module, owner, holder)
                ):
                    yield call, holder, value, node


def _hooks_gradients(module: Module, owner: ClassFacts) -> bool:
    """Whether a class registers hooks for gradients."""
    calls = module.classes.own_calls("register_hook", "register_backward_hook", "register_full_backward_hook")
    return any(module.classes.around(call) is owner for call in calls)


def _is_cut(module: Module, value: ast.expr) -> bool:
    """Whether something is cut from its graph before it is kept, for certain or not."""
    made = [
        d.value for each in ast.walk(value) if isinstance(each, ast.Name) for d in module.flow.reaching(each.id, each)
    ]
    return any(
        isinstance(node, ast.Attribute) and node.attr in CUTS
        for each in (value, *made)
        if each is not None
        for node in ast.walk(each)
    )


def _is_emptied_late(module: Module, owner: ClassFacts, holder: str) -> bool:
    """Whether all that empties a list of an object is followed by a run of a module: it is full between the runs."""
    attr = holder.removeprefix("self.")
    places = []
    for node in module.tree.all(ast.Attribute):
        if node.attr != attr:
            continue
        parent, function = module.tree.parents[node], module.tree.function(node)
        emptied = not isinstance(node.ctx, ast.Load) or (isinstance(parent, ast.Attribute) and parent.attr == "clear")
        if emptied and (function is None or function.name != "__init__"):
            places.append(node)
    return bool(places) and all(_is_run_behind(module, owner, each) for each in places)


def _is_run_behind(module: Module, owner: ClassFacts, place: ast.AST) -> bool:
    function = module.tree.function(place)
    if function is None or function not in owner.all_functions:
        return False
    for call in module.tree.calls(function):
        func = (
            call.func.value if last_name(call.func) == "forward" and isinstance(call.func, ast.Attribute) else call.func
        )
        owned = module.classes.self_attribute(func)
        if owned is not None and owned[1] not in owner.methods and call.lineno > getattr(place, "lineno", 0):
            return True
    return False
