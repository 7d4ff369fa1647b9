"""What a collate function does with the samples it is handed: which parts of them it edits, or gives to its caller.

Parts are told apart by their place in the sample: `x[1] for x in batch`, `for word, label in batch`, `zip(*batch)`.
Whoever is not known only to read or to copy may edit.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import EDITING_METHODS, How, is_changing
from flake8_torchleak.model.effects import ARRAY_METHODS, NUMPY_FUNCTIONS, TENSOR_METHODS, TORCH_FUNCTIONS, Sharing
from flake8_torchleak.model.names import defaults, last_name, parameters
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

Part = tuple[str, object]
"""BATCH, the samples; SAMPLE; ROWS, a batch part by part (`zip(*batch)`); or ("part", its place; None for any)."""
Parts = frozenset[Part]

BATCH: Part = ("batch", None)
SAMPLE: Part = ("sample", None)
_ROWS: Part = ("rows", None)
_ANY: Part = ("part", None)
_NONE: Parts = frozenset()

_ROUNDS = 3
"""How often a function is gone through: what it binds below may be read above, in a loop."""
_MOST_CALLS = 2
"""Helpers of helpers that are followed."""
_NUMBERS = frozenset({"len", "int", "float", "str", "bool", "range", "isinstance", "print", "any", "all", "type", "id"})
_REGROUPS = frozenset(
    {"list", "tuple", "sorted", "reversed", "iter", "enumerate", "set", "dict", "zip", "max", "min", "sum", "next"}
)
_READS = frozenset(name for kind in (list, dict, str, set) for name in dir(kind)) - EDITING_METHODS
_OF_TENSORS = frozenset({*TENSOR_METHODS, *ARRAY_METHODS, "size", "dim", "numel", "to", "type", "numpy"})
_COUNTS = frozenset({"index", "count", "size", "dim", "numel"})
_FACTS = frozenset({"shape", "ndim", "dtype", "device"})


class Tracing:
    """One function, and what its parameters are handed. out: what it gives to its caller; touched: what it edits."""

    def __init__(
        self, module: Module, function: FunctionNode, given: dict[str, Parts], depth: int = _MOST_CALLS
    ) -> None:
        self.module, self.function, self.depth = module, function, depth
        self.names = dict(given)
        """By name, whatever binds it."""
        self._bindings: dict[ast.AST, Parts] = {}
        """By the place that binds a name: `x = torch.stack(x)` leaves nothing of what it was."""
        self._fillings: dict[str, Parts] = {}
        """What is put into variables, by name."""
        self.out = self.touched = _NONE
        nodes = module.tree.within(function)
        self._own = module.flow.definitions(function).keys()
        self._fresh = {name for name in _bound(nodes) if self._is_fresh(name)} - given.keys()
        if any(isinstance(each, (*FUNCTIONS, ast.ClassDef)) for each in nodes):
            self.touched = frozenset({SAMPLE})  # what is defined inside is not looked into
        for _ in range(_ROUNDS):
            for each in nodes:
                self._visit(each)

    def _is_fresh(self, name: str) -> bool:
        """Whether a variable is only ever a container that the function makes: it may put in what it likes."""
        bound = self.module.flow.definitions(self.function).get(name, ())
        values = [each.value for each in bound if each.how is not How.AUGMENT]
        return bool(values) and all(isinstance(each, (ast.List, ast.Dict, ast.Set, *COMPREHENSIONS)) for each in values)

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, self.of(node.value))
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            self._bind(node.target, self.of(node.value))
        elif isinstance(node, ast.AugAssign):
            if not isinstance(node.target, ast.Name) or node.target.id not in self._fresh:
                self._touch(self.of(node.target))
            before = self.names.get(node.target.id, _NONE) if isinstance(node.target, ast.Name) else _NONE
            self._bind(node.target, self.of(node.value) | before)
        elif isinstance(node, (ast.For, ast.comprehension)):
            self._iterate(node.target, node.iter)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self._touch(self.of(target.value) if isinstance(target, (ast.Subscript, ast.Attribute)) else _NONE)
        elif isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and node.value is not None:
            self.out |= self.of(node.value)
        elif isinstance(node, ast.Expr):
            self.of(node.value)

    def _touch(self, parts: Parts) -> None:
        self.touched |= parts - {BATCH}  # the list of samples is the loader's, made for this batch

    def _bind(self, target: ast.expr, parts: Parts) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = self.names.get(target.id, _NONE) | parts
            self._bindings[target] = self._bindings.get(target, _NONE) | parts
        elif isinstance(target, ast.Starred):
            self._bind(target.value, parts)
        elif isinstance(target, (ast.Tuple, ast.List)):
            starred = any(isinstance(each, ast.Starred) for each in target.elts)
            for place, each in enumerate(target.elts):
                self._bind(each, _picked(parts, None if starred else place))
        else:
            assert isinstance(target, (ast.Subscript, ast.Attribute))
            if not (isinstance(target.value, ast.Name) and target.value.id in self._fresh):
                self._touch(self.of(target.value))
            self._put(target.value if isinstance(target, ast.Subscript) else target, parts)

    def _put(self, holder: ast.expr, parts: Parts) -> None:
        """Something is put into what `holder` stands for; arrays and tensors copy it."""
        if not parts:
            return
        while isinstance(holder, ast.Subscript):
            holder = holder.value
        if not isinstance(holder, ast.Name) or holder.id not in self._own:
            self._touch(parts)  # into an object, or what is not the function's own: who knows who reads it
        elif self.module.infer.value(holder).kind not in (Kind.ARRAY, Kind.TENSOR):
            self.names[holder.id] = self.names.get(holder.id, _NONE) | parts
            self._fillings[holder.id] = self._fillings.get(holder.id, _NONE) | parts

    def _named(self, node: ast.Name) -> Parts:
        """What a variable may be where it is read."""
        bound = [each.node for each in self.module.flow.reaching(node.id, node)]
        if not bound or not all(each in self._bindings for each in bound):
            return self.names.get(node.id, _NONE)
        return self._fillings.get(node.id, _NONE).union(*(self._bindings[each] for each in bound))

    def _iterate(self, target: ast.expr, over: ast.expr) -> None:
        name = last_name(over.func) if isinstance(over, ast.Call) else ""
        if isinstance(over, ast.Call) and isinstance(target, ast.Tuple) and not _spreads(over):
            if name == "enumerate" and over.args and len(target.elts) == 2:
                return self._iterate(target.elts[1], over.args[0])
            if name == "zip" and len(over.args) == len(target.elts):
                for each, part in zip(target.elts, over.args):
                    self._iterate(each, part)
                return None
        return self._bind(target, _elements(self.of(over)))

    # -- expressions ----------------------------------------------------------------------------------------

    def of(self, node: ast.AST) -> Parts:
        """The parts of samples that a value may be, or hold."""
        if isinstance(node, ast.Name):
            return self._named(node)
        if isinstance(node, ast.Subscript):
            parts = self.of(node.value)
            return parts if isinstance(node.slice, ast.Slice) else _picked(parts, getattr(node.slice, "value", None))
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, COMPREHENSIONS):
            for each in node.generators:
                self._iterate(each.target, each.iter)
            return self.of(node.value) if isinstance(node, ast.DictComp) else self.of(node.elt)
        if isinstance(node, (ast.Compare, ast.JoinedStr, ast.Lambda)):
            return _NONE
        if isinstance(node, ast.Attribute) and node.attr in _FACTS:
            return _NONE
        if isinstance(node, ast.Attribute) and (is_changing(node.attr) or node.attr in EDITING_METHODS):
            self._touch(self.of(node.value))  # `add = row.append`: it may be called
        return _NONE.union(*map(self.of, ast.iter_child_nodes(node)))

    def _call(self, node: ast.Call) -> Parts:
        func, name = node.func, last_name(node.func)
        given = [*node.args, *(each.value for each in node.keywords)]
        parts = _NONE.union(*map(self.of, given))
        if isinstance(func, ast.Attribute):
            held = self.of(func.value)
            if held or (is_changing(name) and parts):
                return self._method(node, func, held, parts)
        if not parts:
            return _NONE
        if isinstance(func, ast.Name) and name in _NUMBERS:
            return _NONE
        if isinstance(func, ast.Name) and name in _REGROUPS:
            return frozenset({_ROWS}) if name == "zip" and _spreads(node) and BATCH in parts else parts
        if isinstance(func, ast.Name) and name == "map" and last_name(node.args[0]) in _REGROUPS | _NUMBERS:
            return parts
        known = self._library(self.module.names.qualname(func))
        if known is not None:
            return parts if known else _NONE
        callee = self.module.classes.callee(node)
        if callee is not None and self.depth and callee is not self.function:
            return self._follow(node, callee)
        self._touch(parts | ({SAMPLE} if BATCH in parts else _NONE))
        return parts

    @staticmethod
    def _library(qualname: str) -> bool | None:
        """Whether what a function of torch or numpy gives may share memory; None for any other function."""
        root, _, name = qualname.rpartition(".")
        top = root.partition(".")[0]
        if top not in ("torch", "numpy", "np") or name.endswith("_"):
            return None
        effect = (TORCH_FUNCTIONS if top == "torch" else NUMPY_FUNCTIONS).get(name)
        made = name in ("pad_sequence", "default_collate") or (top == "torch" and name.endswith("Tensor"))
        return not made and (effect is None or effect.sharing is not Sharing.COPY)

    def _method(self, node: ast.Call, func: ast.Attribute, held: Parts, parts: Parts) -> Parts:
        """A method of what may be a part of a sample, or of what such a part is put into."""
        name, holder = func.attr, func.value
        fresh = isinstance(holder, ast.Name) and holder.id in self._fresh
        if is_changing(name) or name in EDITING_METHODS or (name.endswith("_") and not name.endswith("__")):
            self._touch(_NONE if fresh else held)
            self._put(holder, parts)
            return held
        if name == "get" and node.args:
            return _picked(held, getattr(node.args[0], "value", None)) | parts
        if name not in _READS and name not in _OF_TENSORS:
            self._touch(held | parts)
        effect = TENSOR_METHODS.get(name) or ARRAY_METHODS.get(name)
        copies = effect is not None and effect.sharing is Sharing.COPY and not hasattr(list, name)
        return _NONE if copies or name in _COUNTS else held | parts

    def _follow(self, node: ast.Call, callee: FunctionNode) -> Parts:
        given: dict[str, Parts] = {}
        everything = [*node.args, *(each.value for each in node.keywords)]
        for each in parameters(callee):
            argument = self.module.classes.argument(node, each, callee)
            given[each.arg] = self.of(argument) if argument is not None else _NONE
        if _spreads(node) or any(each.arg is None for each in node.keywords):
            self._touch(_elements(_NONE.union(*map(self.of, everything))))
        inner = Tracing(self.module, callee, given, self.depth - 1)
        self.touched |= inner.touched
        return inner.out


def _bound(nodes: list[ast.AST]) -> set[str]:
    return {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _spreads(call: ast.Call) -> bool:
    return any(isinstance(each, ast.Starred) for each in call.args)


def _picked(parts: Parts, place: object) -> Parts:
    """What a subscript by a constant (None: by anything else) gives of these."""
    found = set[Part]()
    for each in parts:
        found.add(("part", place) if each in (SAMPLE, _ROWS) else SAMPLE if each == BATCH else each)
    return frozenset(found)


def _elements(parts: Parts) -> Parts:
    """What iterating over these gives."""
    return _picked(parts, None)


def only_reads(
    module: Module, function: FunctionNode, place: object, sent: bool = False, given: Collection[str] = ()
) -> bool:
    """Whether a collate function neither edits nor gives out the part at a place of the samples (None: any part).

    sent: whether what it gives out goes to another process, as a copy; given: the parameters that it has already.
    """
    expected = parameters(function)[1 if module.classes.around(function) and not _is_static(function) else 0 :]
    left = [each for each in expected if each.arg not in given and each not in defaults(function)]
    if len(left) != 1:
        return False
    traced = Tracing(module, function, {left[0].arg: frozenset({BATCH})})
    reached = traced.touched if sent else traced.out | traced.touched
    if place is None:
        return not reached
    return not reached & {BATCH, SAMPLE, _ROWS, _ANY, ("part", place)}


def _is_static(function: FunctionNode) -> bool:
    return any(last_name(each) == "staticmethod" for each in function.decorator_list)
