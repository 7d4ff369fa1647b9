"""What to do in the place of collecting all batches of a loader: by where the collection goes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.loader import Workers
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS
from flake8_torchleak.wording import is_long, short

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PASSING_ON = frozenset({"enumerate", "zip", "tqdm", "trange", "iter", "islice"})
"""Functions that give the elements of what they are handed, one after the other."""
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_COLLECTING = frozenset({"list", "tuple", "set", "frozenset", "deque", "dict"})


def instead(module: Module, node: ast.expr, loader: ast.expr) -> str:
    """A loop over the loader itself where the batches are gone over; else the loader goes where they went."""
    name = "the loader" if is_long(loader) else f"`{short(loader)}`"
    places = [each for each in _places(module, node) if not _is_counted(module, each)]
    if places and all(_is_gone_over(module, each) for each in places):
        return f"loop over {name} itself"
    if _is_in_order(node) and places and all(_is_returned(module, each) for each in places):
        return f"return {name}, loop over that where batches are used"
    if isinstance(node, ast.Call) and last_name(node.func) == "sorted":
        return "sort only what is used of each batch (numbers, `.clone()` of a field)"
    return "go over the loader, store what is used (numbers, `.clone()` of a field)"


def _places(module: Module, node: ast.expr) -> list[ast.expr]:
    """Where the collection is used: the expression itself, or the uses of the one variable that it is assigned to."""
    parent = module.tree.parents[node]
    if not isinstance(parent, ast.Assign):
        return [node]
    target = parent.targets[0]
    if len(parent.targets) > 1 or not isinstance(target, ast.Name):
        return []
    return [
        each
        for each in module.tree.within(module.tree.scope(node))
        if isinstance(each, ast.Name) and each.id == target.id and isinstance(each.ctx, ast.Load)
    ]


def _is_counted(module: Module, node: ast.expr) -> bool:
    """`len(batches)`, which the loader tells as well."""
    parent = module.tree.parents[node]
    return isinstance(parent, ast.Call) and last_name(parent.func) == "len"


def _is_gone_over(module: Module, node: ast.expr) -> bool:
    """Whether a loop goes over an expression, by way of `enumerate` and the like too."""
    parent = module.tree.parents[node]
    while isinstance(parent, ast.Call) and last_name(parent.func) in _PASSING_ON:
        node, parent = parent, module.tree.parents[parent]
    return isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)) and parent.iter is node


def _is_in_order(node: ast.expr) -> bool:
    """Whether a collection has the batches as they come, and is no more than that."""
    return isinstance(node, _DISPLAYS) or isinstance(node, ast.Call) and last_name(node.func) in _COLLECTING


def _is_returned(module: Module, node: ast.expr) -> bool:
    """Whether a function gives an expression back, as one of several values too."""
    parent = module.tree.parents[node]
    return isinstance(module.tree.parents[parent] if isinstance(parent, ast.Tuple) else parent, ast.Return)


def ends_with_its_loop(module: Module, node: ast.expr) -> bool:
    """Whether what a loop goes over goes with that loop, and the loop is one of many: of each epoch, most likely."""
    while isinstance(parent := module.tree.parents[node], ast.Call) and last_name(parent.func) in _PASSING_ON:
        node = parent
    places = _places(module, node)
    if not places or not all(_is_gone_over(module, each) for each in places):
        return False
    function = module.tree.function(node)
    statement = module.tree.statement(node)
    if any(isinstance(up, LOOPS) and up is not statement for up in module.tree.loops(node)):
        return True
    calls = module.classes.calls_of(function) if isinstance(function, FUNCTIONS) else []
    return any(module.tree.loops(each) for each in calls)


def is_in_memory(module: Module, made: ast.AST | None) -> bool:
    """Whether a loader gives what is in memory as a whole anyway: rows of tensors (`TensorDataset`).

    Batches of workers are new memory, each with a descriptor of its own.
    """
    if not isinstance(made, ast.Call):
        return False
    if any(site.call is made and site.workers is Workers.YES for site in module.loaders.sites):
        return False
    given = [*made.args[:1], *(each.value for each in made.keywords if each.arg == "dataset")]
    found = [each.value for node in given if isinstance(node, ast.Name) for each in module.flow.reaching(node.id, node)]
    return any(isinstance(each, ast.Call) and last_name(each.func) == "TensorDataset" for each in (*given, *found))
