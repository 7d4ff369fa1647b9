"""How many different things an expression can give, however often it is evaluated: a few, or one for every sample.

Values count for keys of a cache: equal ones share an entry. Objects count for elements of a list: reading an element
writes its reference count, and those of a few objects lie on a few pages.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from flake8_torchleak.model.around import is_around, is_counted_apart
from flake8_torchleak.model.bindings import GROWING, Definition, How, Mutation
from flake8_torchleak.model.names import defaults
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.model.values import Kind, Size

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

MANY = 1000
"""As many values as that are most of a Dataset."""
_CACHED = 257
"""CPython keeps one object for each whole number below that (from -5)."""
_MOST_DEPTH = 10
_TRUTHS = frozenset({"bool", "isinstance", "issubclass", "hasattr", "callable", "any", "all"})
_SAME_ELEMENTS = frozenset({"sorted", "list", "tuple", "reversed"})
_PUTS_ONE = frozenset({"append", "insert", "setitem"})
_INDEXED = frozenset({Kind.LIST, Kind.TUPLE, Kind.DICT})


def numbers(module: Module, node: ast.expr, depth: int = _MOST_DEPTH) -> list[int]:
    """The whole numbers that an expression can be, through variables, attributes and defaults; none: not known."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, int) else []
    owned = module.classes.self_attribute(node)
    if owned is not None:
        found = owned[0].attributes.get(f"self.{owned[1]}", [])
    else:
        found = module.flow.reaching(node.id, node) if isinstance(node, ast.Name) else []
    every: list[int] = []
    for each in found:
        value = default_of(each) if each.how is How.PARAMETER else each.value if each.is_plain else None
        inner = numbers(module, value, depth - 1) if value is not None and depth else []
        if not inner:
            return []
        every += inner
    return every


def default_of(parameter: Definition) -> ast.expr | None:
    """What a parameter is if nothing is passed."""
    function = parameter.statement
    return defaults(function).get(parameter.node) if isinstance(function, FUNCTIONS) else None  # type: ignore[call-overload]


def narrowed(module: Module, node: ast.AST) -> list[ast.AST] | None:
    """What an expression of few values depends on beside what it is asked with; None: it may have many values.

    A truth, a remainder of a small number and a small table have few values, whatever is compared, divided or looked
    up; but the table may be another each time.
    """
    if not isinstance(node, ast.expr):
        return None
    if _is_truth(module, node) or is_remainder(module, node, MANY):
        return []
    value = module.infer.value(node)
    if value.kind is Kind.NUMBER and value.size is Size.SMALL:
        return []
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice) and _is_table(module, node.value):
        return [node.value]
    return None


def _is_truth(module: Module, node: ast.expr) -> bool:
    """Whether an expression is True or False: comparisons of arrays are arrays."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Compare):
        return module.infer.value(node).kind not in (Kind.ARRAY, Kind.TENSOR)
    return isinstance(node, ast.Call) and module.names.qualname(node.func) in _TRUTHS


def is_remainder(module: Module, node: ast.expr, least: int) -> bool:
    """Whether an expression is `x % n` or `x & n` with an n below `least`; `text % x` is none."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Mod, ast.BitAnd)):
        return False
    if module.infer.value(node.left).kind is Kind.STRING:
        return False
    found = numbers(module, node.right)
    return bool(found) and all(0 <= each < least for each in found)


def _is_table(module: Module, node: ast.expr) -> bool:
    value = module.infer.value(node)
    return value.kind in _INDEXED and value.size is Size.SMALL


def are_few_objects(module: Module, bindings: Iterable[Definition], changes: Iterable[Mutation]) -> bool:
    """Whether all elements of a list or tuple are a few objects, by how it is made and filled.

    bindings: what it is bound to; changes: what is done to it in place.
    """
    made = [each.value if each.is_plain else None for each in bindings]
    functions = {module.tree.function(each) for each in made if each is not None}
    changes = list(changes)
    told = {each for change in changes for each in change.within}  # judged where they are called, with what they get
    if not made or not all(value is not None and _are_few(module, value, _MOST_DEPTH) for value in made):
        return False
    return all(
        change.method not in GROWING | {"augment"}
        or change.node in told
        or (module.tree.function(change.node) in functions and _is_few_put(module, change, _MOST_DEPTH))
        for change in changes
    )


def _is_few_put(module: Module, change: Mutation, depth: int) -> bool:
    """Whether what a change puts in is one of a few objects. What is changed inside an element makes it grow."""
    if change.value is None or change.depth:
        return False
    if change.within and module.tree.scope(change.value) is not module.tree.scope(change.node):
        return change.method in _PUTS_ONE and _is_one_of_few_made(module, change.value, depth - 1)
    if change.method in ("extend", "augment"):
        if isinstance(change.value, (ast.List, ast.Tuple)):  # few each time, and others each time
            return all(_is_one_of_few(module, each, depth - 1) for each in change.value.elts)
        return _are_few(module, change.value, depth - 1)
    return change.method in _PUTS_ONE and _is_one_of_few(module, change.value, depth - 1)


def _is_one_of_few_made(module: Module, node: ast.expr, depth: int) -> bool:
    """Whether a function that is called again and again gives one of a few objects, by what it is called with too."""
    if not isinstance(node, ast.Name) or not depth:
        return bool(depth) and _is_one_of_few(module, node, depth - 1)
    found = module.flow.reaching(node.id, node)
    return bool(found) and all(
        all(_is_one_of_few(module, argument, depth - 1) for argument in _arguments(module, each))
        if each.how is How.PARAMETER
        else each.is_plain and each.value is not None and _is_one_of_few_made(module, each.value, depth - 1)
        for each in found
    )


def _arguments(module: Module, parameter: Definition) -> list[ast.expr]:
    """What the calls of the file hand over for a parameter."""
    function, node = parameter.statement, parameter.node
    if not isinstance(function, FUNCTIONS) or not isinstance(node, ast.arg):
        return []
    given = [module.classes.argument(call, node, function) for call in module.classes.calls_of(function)]
    return [each for each in given if each is not None]


def _are_few(module: Module, node: ast.expr, depth: int) -> bool:
    """Whether the elements of a list that an expression makes are a few objects."""
    if not depth:
        return False
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _is_one_of_few(module, node.elt, depth - 1)
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(not isinstance(e, ast.Starred) or _are_few(module, e.value, depth - 1) for e in node.elts)
    if isinstance(node, ast.IfExp):
        return _are_few(module, node.body, depth - 1) and _are_few(module, node.orelse, depth - 1)
    if isinstance(node, ast.BinOp):
        sides = [node.left, node.right]
        if isinstance(node.op, ast.Mult):  # of the list, and how often
            return any(isinstance(each, (ast.List, ast.Tuple)) and _are_few(module, each, depth - 1) for each in sides)
        return isinstance(node.op, ast.Add) and all(_are_few(module, each, depth - 1) for each in sides)
    if isinstance(node, ast.Call):
        same = module.names.qualname(node.func) in _SAME_ELEMENTS and node.args
        return bool(same) and _are_few(module, node.args[0], depth - 1)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
        return _are_few_in_entry(module, node.value, node.slice.value, depth)
    if not isinstance(node, ast.Name):
        return False
    scope = module.tree.scope(node)
    found = module.flow.definitions(scope).get(node.id, [])
    filled = module.flow.mutations(scope).get(node.id, [])
    made = [each.value for each in found if not each.path and each.how in (How.ASSIGN, How.AUGMENT)]
    return (
        bool(found)
        and len(made) == len(found)
        and all(value is not None and _are_few(module, value, depth - 1) for value in made)
        and all(each.method not in GROWING or _is_few_put(module, each, depth) for each in filled)
    )


def _are_few_in_entry(module: Module, table: ast.Name, key: object, depth: int) -> bool:
    """Whether the elements of a list that is an entry of a dict (`table["rows"]`) are a few objects."""
    changes = module.flow.mutations(module.tree.scope(table)).get(table.id, [])
    made: list[Mutation] = []
    filled: list[Mutation] = []
    for each in changes:
        index = each.index if each.method == "setitem" and not each.depth else getattr(each.target, "slice", None)
        if getattr(index, "value", None) == key and isinstance(index, ast.Constant):
            (filled if each.depth else made).append(each)
    values = [each.value for each in made]
    return (
        bool(values)
        and all(value is not None and _are_few(module, value, depth - 1) for value in values)
        and all(_is_few_put(module, replace(each, depth=0), depth) for each in filled if each.method in GROWING)
    )


def _is_one_of_few(module: Module, node: ast.expr, depth: int) -> bool:
    """Whether an expression gives one of a few objects each time: not equal ones that are made anew."""
    if not depth:
        return False
    if isinstance(node, ast.Constant) or _is_truth(module, node) or is_remainder(module, node, _CACHED):
        return True
    if isinstance(node, ast.IfExp):
        return _is_one_of_few(module, node.body, depth - 1) and _is_one_of_few(module, node.orelse, depth - 1)
    if isinstance(node, ast.BoolOp):
        return all(_is_one_of_few(module, each, depth - 1) for each in node.values)
    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, ast.Slice) and _is_standing(module, node.value, depth - 1)
    if isinstance(node, ast.Call):
        func = node.func
        asked = isinstance(func, ast.Attribute) and func.attr == "get" and _is_standing(module, func.value, depth - 1)
        return asked and all(_is_one_of_few(module, each, depth - 1) for each in node.args[1:])
    if not isinstance(node, ast.Name):
        return False
    generator = module.names.comprehension(node)
    if generator is not None:
        return generator.target.__class__ is ast.Name and _is_standing(module, generator.iter, depth - 1)
    found = module.flow.reaching(node.id, node)
    return bool(found) and all(
        _is_few_bound(module, each, depth - 1) or is_around(module, node, each) or is_counted_apart(module, each)
        for each in found
    )


def _is_few_bound(module: Module, definition: Definition, depth: int) -> bool:
    """Whether a variable has few values while a list is filled: bound once, before, or to one of few objects."""
    if not module.tree.loops(definition.statement) and definition.how is not How.ITERATE:
        return True
    if definition.value is None or definition.path:
        return False
    if definition.how is How.ITERATE:
        return _is_standing(module, definition.value, depth)
    return definition.how is How.ASSIGN and _is_one_of_few(module, definition.value, depth)


def _is_standing(module: Module, node: ast.expr, depth: int) -> bool:
    """Whether an expression is a small table whose elements are the same objects each time."""
    if not _is_table(module, node):
        return False
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(_is_one_of_few(module, each, depth) for each in node.elts)
    if isinstance(node, ast.Dict):
        return all(_is_one_of_few(module, each, depth) for each in node.values)
    found = module.flow.reaching(node.id, node) if isinstance(node, ast.Name) else []
    return bool(found) and not any(module.tree.loops(each.statement) for each in found)
