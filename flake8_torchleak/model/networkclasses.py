"""The classes of the project that a network may be of: made there, wrapped, handed in by callers of the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How, key_of
from flake8_torchleak.model.classfacts import ClassFacts
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_VALUES = 6
"""Values that an expression may come from, one after the other."""


def classes_of(module: Module, made: ast.expr, depth: int = _MOST_VALUES) -> Iterator[ClassFacts]:
    """The classes of what an expression gives: made there, wrapped, handed in by callers of the file."""
    if not depth:
        return
    if isinstance(made, ast.Call):
        for one in _in_table(module, made.func):  # `MODELS[name](config)`
            yield from classes_of(module, ast.copy_location(ast.Call(one, [], []), made), depth - 1)
        # Of a factory in another file the name says that it makes a network, its text often not.
        found = module.names.definition(made.func, last_name(made.func)[:1].isupper())
        if isinstance(found, ast.ClassDef):
            facts = module.classes.all.get(found)
            yield from [facts] if facts is not None else []
        elif isinstance(found, FUNCTIONS):
            for given in module.tree.within(found):
                if isinstance(given, ast.Return) and given.value is not None:
                    yield from classes_of(module, given.value, depth - 1)
        else:  # a wrapper, or a method that gives the network itself
            for inner in [*made.args[:1], *([made.func.value] if isinstance(made.func, ast.Attribute) else [])]:
                yield from classes_of(module, inner, depth - 1)
        return
    owned = module.classes.self_attribute(made)
    key = key_of(made)
    definitions = owned[0].attributes.get(f"self.{owned[1]}", []) if owned is not None else []
    if owned is None and key:
        definitions = module.flow.reaching(key, made)
    for each in definitions:
        if each.value is not None and each.is_plain:
            yield from classes_of(module, each.value, depth - 1)
        elif each.how is How.PARAMETER and isinstance(each.node, ast.arg):
            yield from _named(module, each.node.annotation)
            yield from _handed_in(module, each.node, each.statement, depth)
        elif each.how is How.ASSIGN and isinstance(each.value, ast.Call):
            yield from _taken_apart(module, each.value, each.path, depth)


def _named(module: Module, annotation: ast.expr | None) -> Iterator[ClassFacts]:
    """The class that an annotation names: `net: Net`; of this file, in words, too."""
    if isinstance(annotation, ast.Constant):
        yield from (facts for node, facts in module.classes.all.items() if node.name == annotation.value)
    elif isinstance(annotation, (ast.Name, ast.Attribute)):
        found = module.names.definition(annotation, True)
        facts = module.classes.all.get(found) if isinstance(found, ast.ClassDef) else None
        yield from [facts] if facts is not None else []


def _taken_apart(module: Module, call: ast.Call, path: tuple[int, ...], depth: int) -> Iterator[ClassFacts]:
    """The classes of a part of what a function of the project returns: `net, history = fit(data)`."""
    function = module.names.definition(call.func)
    for each in module.tree.within(function) if isinstance(function, FUNCTIONS) else ():
        value = each.value if isinstance(each, ast.Return) else None
        if isinstance(value, ast.Tuple) and len(path) == 1 and path[0] < len(value.elts):
            yield from classes_of(module, value.elts[path[0]], depth - 1)


def _in_table(module: Module, made: ast.expr) -> list[ast.expr]:
    """What a table of classes holds, from which one is taken by its name."""
    if isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr == "get":
        table = made.func.value
    elif isinstance(made, ast.Subscript):
        table = made.value
    else:
        return []
    values = [each.value for each in module.flow.reaching(key_of(table), table)] if key_of(table) else []
    return [each for value in values if isinstance(value, ast.Dict) for each in value.values]


def _handed_in(module: Module, parameter: ast.arg, function: ast.AST, depth: int) -> Iterator[ClassFacts]:
    """The classes of what callers in the file hand over for a parameter."""
    if not isinstance(function, FUNCTIONS):
        return
    for call in module.classes.calls_of(function):
        given = module.classes.argument(call, parameter, function)
        if given is not None and not module.tree.inside(call, function):
            yield from classes_of(module, given, depth - 1)
