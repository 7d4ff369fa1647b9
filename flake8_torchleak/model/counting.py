"""How many elements a container of a Dataset has at most, where the code counts them: `range(100)`, `rows[:500]`.

Workers copy at most some 100 bytes for each, so that what has no more than FEW elements costs less than is noticed.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import GROWING, Definition, How, Mutation
from flake8_torchleak.model.few import default_of, numbers
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module
    from flake8_torchleak.model.state import StateFacts

FEW = 10_000
"""Elements whose copies are about a megabyte in each worker."""
_WHOLE = frozenset({Kind.JSON, Kind.PICKLE, Kind.INDEX, Kind.UNKNOWN})
"""What an element may be that holds a file of data."""
_MOST_DEPTH = 8
_SAME_NUMBER = frozenset({"list", "tuple", "set", "sorted", "reversed", "enumerate", "iter", "tqdm", "zip", "dict"})
_DRAWN = {"random.sample": 1, "itertools.islice": 1, "heapq.nsmallest": 0, "heapq.nlargest": 0}
"""Functions that give as many elements as one of their arguments says."""
_PUTS = frozenset({"append", "appendleft", "add", "insert", "setitem", "setdefault", "put"})


def has_few(state: StateFacts) -> bool:
    """Whether no more than FEW elements are ever in an attribute, wherever it is bound and filled."""
    module = state.module
    if not _are_small(state):
        return False
    bound = [each for each in state.bindings if each.how is not How.AUGMENT]
    made = [_most(module, each.value, _MOST_DEPTH) if each.is_plain else None for each in bound]
    changes = [
        each
        for each in state.dataset.facts.mutations.get(f"self.{state.attr}", [])
        if each.method in GROWING or each.method == "augment"
    ]
    put = [_put(module, each) for each in changes]
    if not made or None in made or None in put:
        return False
    return sum(each for each in (*made, *put) if each is not None) <= FEW


def _are_small(state: StateFacts) -> bool:
    """Whether its elements do not grow with the data themselves, as whole files do, and the records of one do not."""
    element = state.value.element
    if element is None or element.kind in _WHOLE:
        return all(isinstance(each.value, ast.Subscript) for each in state.bindings)
    return not element.grows


def _put(module: Module, change: Mutation) -> int | None:
    """How many elements a change adds, all its rounds together."""
    if change.within or change.depth:
        return None
    once = 1 if change.method in _PUTS else _most(module, change.value, _MOST_DEPTH)
    rounds = [_rounds(module, loop) for loop in module.tree.loops(change.node)]
    return _times([once, *rounds])


def _rounds(module: Module, loop: ast.AST) -> int | None:
    return _most(module, loop.iter, _MOST_DEPTH) if isinstance(loop, (ast.For, ast.AsyncFor)) else None


def _times(counts: list[int | None]) -> int | None:
    product = 1
    for each in counts:
        if each is None:
            return None
        product *= each
    return product


def _most(module: Module, node: ast.expr | None, depth: int) -> int | None:
    """The most elements that an expression gives; None if that is not counted."""
    if node is None or not depth:
        return None
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return None if any(isinstance(each, ast.Starred) for each in node.elts) else len(node.elts)
    if isinstance(node, ast.Dict):
        return None if None in node.keys else len(node.keys)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        return _times([_most(module, each.iter, depth - 1) for each in node.generators])
    if isinstance(node, ast.Subscript):
        return _largest(module, node.slice.upper) if isinstance(node.slice, ast.Slice) else None
    if isinstance(node, ast.Name):
        found = module.flow.reaching(node.id, node)
        filled = any(each.method in GROWING for each in module.flow.mutations(module.tree.scope(node)).get(node.id, ()))
        counts = [_most(module, each.value, depth - 1) if each.is_plain else None for each in found]
        known = [each for each in counts if each is not None]
        return max(known) if known and len(known) == len(counts) and not filled else None
    return _of_call(module, node, depth) if isinstance(node, ast.Call) else None


def _of_call(module: Module, call: ast.Call, depth: int) -> int | None:
    qualname = module.names.qualname(call.func)
    if qualname == "range":
        return _largest(module, call.args[min(1, len(call.args) - 1)]) if call.args else None
    if qualname in _DRAWN and len(call.args) == 2:
        return _largest(module, call.args[_DRAWN[qualname]])
    if qualname in _SAME_NUMBER:
        counts = [_most(module, each, depth - 1) for each in call.args]
        known = [each for each in counts if each is not None]
        return min(known) if known else None if counts else 0
    return None


def _largest(module: Module, node: ast.expr | None) -> int | None:
    """The largest whole number that an expression can be, not below 0; of a parameter what calls of the file give."""
    found = _numbers(module, node, _MOST_DEPTH) if node is not None else []
    return max(found) if found and min(found) >= 0 else None


def _numbers(module: Module, node: ast.expr, depth: int) -> list[int]:
    if not depth:
        return []
    owned = module.classes.self_attribute(node)
    found: list[Definition] = []
    if owned is not None:
        found = owned[0].attributes.get(f"self.{owned[1]}", [])
    elif isinstance(node, ast.Name):
        found = module.flow.reaching(node.id, node)
    if not found:
        return numbers(module, node)
    every: list[int] = []
    for each in found:
        values = given(module, each) if each.how is How.PARAMETER else [each.value if each.is_plain else None]
        inner = [_numbers(module, value, depth - 1) if value is not None else [] for value in values]
        if not inner or not all(inner):
            return []
        every += [number for numbers in inner for number in numbers]
    return every


def given(module: Module, parameter: Definition) -> list[ast.expr | None]:
    """What a parameter is by default, and in each call of the file; None for what is not seen."""
    function, node = parameter.statement, parameter.node
    assert isinstance(function, FUNCTIONS)
    assert isinstance(node, ast.arg)
    default, calls = default_of(parameter), module.classes.calls_of(function)
    if any(each.arg is None for call in calls for each in call.keywords):
        return [None]
    given = [each for call in calls if (each := module.classes.argument(call, node, function)) is not None]
    return [default, *given] if default is not None or not given else [*given]
