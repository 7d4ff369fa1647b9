"""What one function changes in place, as far as it is a stored element of a Dataset."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.anew import is_queue
from flake8_torchleak.model.bindings import EDITING_METHODS, Mutation, is_changing, is_in_place
from flake8_torchleak.model.effects import ARRAY_METHODS
from flake8_torchleak.model.env import Env
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.samples import is_reached, is_stored
from flake8_torchleak.model.shallow import is_replaced
from flake8_torchleak.model.single import is_one_number
from flake8_torchleak.model.sums import same
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import MUTABLE, Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


ARRAY_EDITS = frozenset({"fill", "sort", "resize", "partition", "itemset", "put"})
DRAWS = frozenset({
    "rectangle", "circle", "line", "polylines", "fillPoly", "putText", "drawContours", "ellipse", "fillConvexPoly",
    "arrowedLine", "drawMarker",
})  # fmt: skip
"""OpenCV functions that draw into their first argument."""
_SHUFFLES = frozenset({"random.shuffle", "numpy.random.shuffle"})
"""Functions that put the elements of their first argument into another order."""


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """A stored element changed in place: at `node`, where `target` stands for it; within: in a helper, there.

    call, given: of a change in another file, the call of this one that leads there, and what it hands over.
    """

    node: ast.AST
    target: ast.expr
    value: Value
    function: FunctionNode
    within: tuple[ast.AST, ...] = ()
    call: ast.expr | None = None
    given: ast.expr | None = None

    @property
    def place(self) -> ast.AST:
        """Where the file shows it."""
        return self.call or self.node

    @property
    def shown(self) -> ast.expr:
        """What is changed, as the file has it there."""
        return self.given or self.target


def container(module: Module, value: Value) -> Kind:
    """The kind of what an element is of."""
    node = value.origin.node if value.origin is not None else None
    return module.infer.value(node).kind if isinstance(node, ast.expr) else Kind.UNKNOWN


def root(node: ast.AST) -> ast.AST:
    """The variable under subscripts."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def edits_in(
    module: Module, function: FunctionNode, env: Env, known: frozenset[ast.AST] = frozenset()
) -> Iterator[Edit]:
    """Changes in place of stored elements in one function, whose parameters are what `env` says.

    known: places in helpers that have their edits already.
    """
    for changes in module.flow.mutations(function).values():
        for change in changes:
            edited = _edited(module, change, env) if known.isdisjoint(change.within) else None
            if edited is not None:
                yield Edit(change.node, *edited, function, change.within)
    for call in module.tree.calls(function):
        target = _written(module, call)
        if target is not None:
            value = module.infer.value(target, env)
            is_own = not is_stored(value) and (not is_reached(value) or is_replaced(module, target, env))
            if not is_own and (value.kind in (Kind.ARRAY, Kind.TENSOR) or _shuffles(module, call, value)):
                yield Edit(call, target, value, function)


def _written(module: Module, call: ast.Call) -> ast.expr | None:
    """The array that a function call writes into: `out=x`, or the canvas of a drawing function."""
    for keyword in call.keywords:
        if keyword.arg == "out":
            return keyword.value
    qualname = module.names.qualname(call.func)
    if qualname.startswith("cv2.") and last_name(call.func) in DRAWS and call.args:
        return call.args[0]
    return call.args[0] if qualname in _SHUFFLES and call.args else None


def _shuffles(module: Module, call: ast.Call, value: Value) -> bool:
    """Whether a call puts the elements of a list into another order."""
    return value.kind in (Kind.LIST, Kind.JSON) and module.names.qualname(call.func) in _SHUFFLES


def _edited(module: Module, change: Mutation, env: Env) -> tuple[ast.expr, Value] | None:
    """(expression, value) of the stored element that a mutation changes."""
    method = change.method
    target = change.target if is_changing(change.method) else None
    if target is None:
        return None
    if module.classes.self_attribute(target) is not None:
        return None  # a slot of the attribute itself: a cache or a counter, not an element
    value = module.infer.value(target, env)
    if not is_reached(value):
        return _augmented(module, change, env)
    if not is_stored(value) and is_replaced(module, target, env):
        return None
    if _fills_in(module, change, target) or is_queue(module, change, value):
        return None
    if method == "augment":
        if value.kind not in (Kind.ARRAY, Kind.TENSOR, Kind.LIST):
            return None
        if value.kind is Kind.ARRAY and is_one_number(module, target):
            return None  # NumPy's numbers are no views; torch's are
    elif method in ("setitem", "augitem", "del"):
        known = value.kind in MUTABLE or value.kind in (Kind.ARRAY, Kind.TENSOR)
        if not known and (method == "del" or not _is_shown_by_use(module, change, value)):
            return None
        if _is_own_slot(module, target, value):
            return None
    elif value.kind in (Kind.ARRAY, Kind.TENSOR):
        edits_array = method in ARRAY_EDITS and value.kind is Kind.ARRAY
        if not (edits_array or is_in_place(method)) or method in ARRAY_METHODS:
            return None
    elif method == "update" or is_in_place(method):
        if value.kind not in MUTABLE - {Kind.INSTANCE} and not _is_shown_by_use(module, change, value):
            return None
    elif method not in EDITING_METHODS or value.kind not in MUTABLE - {Kind.INSTANCE}:
        return None
    return target, value


def _augmented(module: Module, change: Mutation, env: Env) -> tuple[ast.expr, Value] | None:
    """What `copy["boxes"] += more` changes: the stored list or array itself, which is then put where it was."""
    if change.method != "augitem" or not isinstance(change.node, ast.AugAssign) or change.within:
        return None
    entry = change.node.target
    value = module.infer.value(entry, env)
    more = module.infer.value(change.node.value, env).kind
    is_list = value.kind in (Kind.LIST, Kind.JSON) and more is Kind.LIST and isinstance(change.node.op, ast.Add)
    if not is_reached(value) or is_stored(value) or not (is_list or value.kind in (Kind.ARRAY, Kind.TENSOR)):
        return None
    return None if is_replaced(module, entry, env) else (entry, value)


def _is_shown_by_use(module: Module, change: Mutation, value: Value) -> bool:
    """Whether something of unknown kind is a stored object: what is set in proves that it can be changed.

    A list, a tuple or a dict gives the very object that it holds; what else has elements may make them when asked. A
    dict under other keys than an index may be a cache that fills: there, what is set must be a part of a sample. What
    was unpickled is a list or a dict, as a rule: the same holds for it. Of what nobody sees, a row whose entries are
    set by number is one of a list or an array, as a rule: datasets of libraries make their rows anew, and give dicts.
    """
    if value.kind is not Kind.UNKNOWN or value.origin is None:
        return False
    holder = container(module, value)
    index = change.index
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    sliced = any(isinstance(each, ast.Slice) for each in parts)
    field = isinstance(index, ast.Constant) and isinstance(index.value, str)
    told = sliced or field or change.method not in ("setitem", "augitem")
    if holder is Kind.UNKNOWN:
        return change.method in ("setitem", "augitem") and all(map(_is_number, parts))
    return holder in (Kind.LIST, Kind.TUPLE) or (holder in (Kind.DICT, Kind.PICKLE) and told)


def _is_number(index: ast.AST | None) -> bool:
    """Whether an index is a number that stands there, or a slice."""
    if isinstance(index, ast.UnaryOp):
        index = index.operand
    return isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and isinstance(index.value, int))


def _fills_in(module: Module, change: Mutation, target: ast.expr) -> bool:
    """Whether the change is meant to stay: made once, where a test of the element or of a flag of `self` allows it.

    `if "image" not in item: item["image"] = load(item)`, `if not self.scaled[i]: x /= 255`, a counter.
    """
    up = module.tree.parents[change.node]
    while not isinstance(up, FUNCTIONS):
        if isinstance(up, ast.If):
            for node in ast.walk(up.test):
                if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.NotIn, ast.Is)):
                    if any(same(each, target) for part in (node.left, *node.comparators) for each in _roots(part)):
                        return True
                if isinstance(node, ast.Subscript) and module.classes.self_attribute(node.value) is not None:
                    return True
                if _is_empty(node, target):
                    return True
        up = module.tree.parents[up]
    counted = change.value
    return isinstance(counted, ast.BinOp) and any(
        n.func.attr == "get" and same(n.func.value, target)
        for n in ast.walk(counted)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
    )


def _is_empty(test: ast.AST, target: ast.expr) -> bool:
    """`not item`, `len(item) == 0`, `not len(item)`."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq):
        asked: ast.AST = test.left if getattr(test.comparators[0], "value", None) == 0 else test
    else:
        asked = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    counted = asked.args[0] if isinstance(asked, ast.Call) and last_name(asked.func) == "len" and asked.args else asked
    return asked is not test and isinstance(counted, ast.expr) and same(counted, target)


def _roots(node: ast.expr) -> list[ast.expr]:
    """An expression and, for a lookup, what is looked into."""
    return [node, node.value] if isinstance(node, ast.Subscript) else [node]


def _is_own_slot(module: Module, target: ast.expr, value: Value) -> bool:
    """`self.cache[group][i] = x`: a nested cache that the sample functions fill, not data they were given."""
    if not isinstance(target, ast.Subscript):
        return False
    owned = module.classes.self_attribute(root(target))
    return owned is not None and not module.infer.attributes.built(*owned).grows
