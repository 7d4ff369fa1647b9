"""What sample functions change in place: elements that a Dataset keeps."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flake8_torchleak.model.anew import is_made_anew, is_queue
from flake8_torchleak.model.bindings import EDITING_METHODS, How, Mutation, is_changing, is_in_place
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.effects import ARRAY_METHODS
from flake8_torchleak.model.env import NO_ENV, Env
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.performing import Performing
from flake8_torchleak.model.samples import is_stored
from flake8_torchleak.model.sums import same
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import MUTABLE, UNKNOWN, Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_CALLS = 3
"""Helpers of helpers that are followed."""
ARRAY_EDITS = frozenset({"fill", "sort", "resize", "partition", "itemset", "put"})
DRAWS = frozenset({
    "rectangle", "circle", "line", "polylines", "fillPoly", "putText", "drawContours", "ellipse", "fillConvexPoly",
    "arrowedLine", "drawMarker",
})  # fmt: skip
"""OpenCV functions that draw into their first argument."""


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


def edits(module: Module, dataset: DatasetFacts) -> Iterator[Edit]:
    """Changes in place of stored elements, in sample functions and in helpers that are handed such an element."""
    run = Performing(module, dataset)
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
    inner = Env({p: module.infer.value(a, env) for p, a in given.items()})
    handed = [a for p, a in given.items() if _may_be_stored(module, inner[p])]
    if not handed:
        return
    for each in edits_through(module, helper, inner, run_by, depth - 1):
        # What is stored whatever the helper is handed is told where it is, or is kept by the object it is a method of.
        if not any(is_stored(module.infer.value(node)) for node in (root(each.node), each.target)):
            yield each if module.tree.is_own(each.place) else replace(each, call=call, given=handed[0])


def _may_be_stored(module: Module, value: Value) -> bool:
    """Whether a value, or a part of it, is an element that is stored: of an unknown kind, one of a list."""
    parts = (value, *value.items, *(each for _, each in value.fields), value.element or UNKNOWN)
    return any(
        is_stored(each) and (each.kind is not Kind.UNKNOWN or _container(module, each) in (Kind.LIST, Kind.TUPLE))
        for each in parts
    )


def _container(module: Module, value: Value) -> Kind:
    """The kind of what an element is of."""
    node = value.origin.node if value.origin is not None else None
    return module.infer.value(node).kind if isinstance(node, ast.expr) else Kind.UNKNOWN


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
            if is_stored(value) and value.kind in (Kind.ARRAY, Kind.TENSOR):
                yield Edit(call, target, value, function)


def _written(module: Module, call: ast.Call) -> ast.expr | None:
    """The array that a function call writes into: `out=x`, or the canvas of a drawing function."""
    for keyword in call.keywords:
        if keyword.arg == "out":
            return keyword.value
    qualname = module.names.qualname(call.func)
    if qualname.startswith("cv2.") and last_name(call.func) in DRAWS and call.args:
        return call.args[0]
    if qualname.startswith("numpy.random.shuffle") and call.args:
        return call.args[0]
    return None


def _edited(module: Module, change: Mutation, env: Env) -> tuple[ast.expr, Value] | None:
    """(expression, value) of the stored element that a mutation changes."""
    method = change.method
    target = change.target if is_changing(change.method) else None
    if target is None:
        return None
    if module.classes.self_attribute(target) is not None:
        return None  # a slot of the attribute itself: a cache or a counter, not an element
    value = module.infer.value(target, env)
    if not is_stored(value):
        return None
    if _fills_in(module, change, target) or is_queue(module, change, value):
        return None
    if method == "augment":
        if value.kind not in (Kind.ARRAY, Kind.TENSOR, Kind.LIST):
            return None
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


def _is_shown_by_use(module: Module, change: Mutation, value: Value) -> bool:
    """Whether something of unknown kind is a stored object: what is set in proves that it can be changed.

    A list, a tuple or a dict gives the very object that it holds; what else has elements may make them when asked. A
    dict under other keys than an index may be a cache that fills: there, what is set must be a part of a sample. What
    was unpickled is a list or a dict, as a rule: the same holds for it.
    """
    if value.kind is not Kind.UNKNOWN or value.origin is None:
        return False
    container = _container(module, value)
    index = change.index
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    sliced = any(isinstance(each, ast.Slice) for each in parts)
    field = isinstance(index, ast.Constant) and isinstance(index.value, str)
    told = sliced or field or change.method not in ("setitem", "augitem")
    return container in (Kind.LIST, Kind.TUPLE) or (container in (Kind.DICT, Kind.PICKLE) and told)


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
