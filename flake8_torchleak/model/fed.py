"""Whether a loop goes over batches by what the network is given: items of what is gone through, as they come.

A loop that makes each input by itself, of a path, a number or a frame, runs a network on one item after another.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.effects import TENSOR_METHODS
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.rounds import ROUNDS, Round, comprehensions, iterables, targets
from flake8_torchleak.model.tree import COMPREHENSIONS, Scope
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_LEVELS = 6
"""Names, calls and operations between the network and what is gone through."""
_MOVES = frozenset({
    "to", "cuda", "cpu", "Variable", "tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "LongTensor",
    "items", "values", "tuple", "list", "dict",
})  # fmt: skip
"""Methods, and functions by their last name, that give the rows of what they are given."""
_NO_BATCHES = frozenset({Kind.RANGE, Kind.NUMBER, Kind.STRING})


def rounds_over_batches(module: Module, call: ast.expr) -> list[Round]:
    """The loops and comprehensions around a call that take batches of a loader, innermost first."""
    return [each for each in _around(module, call) if _takes_batches(module, each)]


def goes_over_batches(module: Module, scope: Scope) -> bool:
    """Whether a loop or comprehension of a scope takes batches of a loader."""
    return any(isinstance(each, ROUNDS) and _takes_batches(module, each) for each in module.tree.within(scope))


def _takes_batches(module: Module, around: Round) -> bool:
    return any(map(module.loops.gives_batches, (*iterables(around), *_asked(module, around))))


def _asked(module: Module, around: Round) -> list[ast.expr]:
    """The variables that a loop asks for the next: `next(batches)`. One batch of a loader anew is another thing."""
    if isinstance(around, COMPREHENSIONS):
        return []
    calls = (each for each in module.classes.called("next", ast.Name) if module.tree.inside(each, around))
    return [each.args[0] for each in calls if each.args and isinstance(each.args[0], (ast.Name, ast.Attribute))]


def _around(module: Module, call: ast.expr) -> list[Round]:
    return [*comprehensions(module.tree, call), *module.tree.loops(call)]


def is_fed(module: Module, call: ast.Call) -> bool:
    """Whether a call gets an item of what a loop around it goes over, a part of one, or rows of what it counts.

    Moved, cast or calculated with at most: what is read or made for each item is another thing.
    """
    given = [*call.args, *(each.value for each in call.keywords)]
    fed = _Fed(module, _around(module, call))
    return any(fed.is_item(each, _MOST_LEVELS) for each in given)


class _Fed:
    """What is asked of expressions inside of some loops."""

    def __init__(self, module: Module, around: list[Round]) -> None:
        self.module = module
        self.over = [each for each in around if not self._gives_single(each)]
        """The loops that nothing shows to go over numbers or texts."""
        self.by_place = [each for each in around if any(map(_is_of_length, iterables(each)))]
        """Those that go over the places of something."""

    def _gives_single(self, around: Round) -> bool:
        values = [self.module.infer.value(each) for each in iterables(around)]
        parts = [each.element for each in values if each.element is not None]
        return any(each.kind in _NO_BATCHES for each in (*values, *parts))

    def is_item(self, node: ast.expr, levels: int) -> bool:
        """Whether an expression is what a loop around it goes over, or rows of what it counts. levels: of names."""
        if not levels:
            return False
        if isinstance(node, ast.Name):
            if any(isinstance(each, COMPREHENSIONS) and node.id in targets(each) for each in self.over):
                return True
            return any(self._is_bound(each, levels) for each in self.module.flow.reaching(node.id, node))
        if isinstance(node, ast.Subscript):
            return self._is_row(node) or (isinstance(node.slice, ast.Constant) and self.is_item(node.value, levels))
        if isinstance(node, ast.Call) and not _gives_on(node):
            return any(self._is_of_rows(each, levels - 1) for each in node.args)  # whatever is made of a batch
        return any(self.is_item(each, levels - 1) for each in self._made_of(node))

    def _is_bound(self, found: Definition, levels: int) -> bool:
        if found.how is How.ITERATE:
            return found.statement in self.over
        return found.value is not None and self.is_item(found.value, levels - 1)

    def _is_row(self, node: ast.Subscript) -> bool:
        """Whether it is a slice that moves on, or an element by its place in the whole."""
        if not isinstance(node.slice, ast.Name):
            return _moves_on(node.slice)
        name = node.slice
        if any(isinstance(each, COMPREHENSIONS) and name.id in targets(each) for each in self.by_place):
            return True
        return any(each.statement in self.by_place for each in self.module.flow.reaching(name.id, name))

    def _is_of_rows(self, node: ast.expr, levels: int) -> bool:
        """Whether it is a slice that moves on, by whatever name."""
        if isinstance(node, ast.Subscript):
            return _moves_on(node.slice)
        if not isinstance(node, ast.Name) or not levels:
            return False
        found = [each.value for each in self.module.flow.reaching(node.id, node) if each.is_plain]
        return any(each is not None and self._is_of_rows(each, levels - 1) for each in found)

    def _made_of(self, node: ast.expr) -> list[ast.expr]:
        """What an expression gives on, or calculates with."""
        if isinstance(node, (ast.Attribute, ast.Starred)):
            return [node.value]
        if isinstance(node, (ast.Tuple, ast.List)):
            return node.elts
        if isinstance(node, ast.Dict):
            return node.values
        if isinstance(node, ast.BinOp):
            return [node.left, node.right]
        given = node.args[:1] if isinstance(node, ast.Call) else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return [*given, *([] if self.module.names.qualname(node.func) else [node.func.value])]
        return given


def _gives_on(node: ast.Call) -> bool:
    """Whether a call gives the rows of what it is given, moved, cast or calculated with."""
    name = last_name(node.func)
    return name in _MOVES or name in TENSOR_METHODS


def _moves_on(index: ast.expr) -> bool:
    """Whether a subscript is a slice between places that are calculated: `data[i:i + size]`."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    bounds = [bound for each in parts if isinstance(each, ast.Slice) for bound in (each.lower, each.upper)]
    return any(isinstance(each, ast.Name) for bound in bounds if bound is not None for each in ast.walk(bound))


def _is_of_length(node: ast.expr) -> bool:
    """Whether it gives the places of something: `range(len(images))`."""
    return any(isinstance(each, ast.Call) and last_name(each.func) == "len" for each in ast.walk(node))
