"""Objects that are put into a list again and again: bound in a loop around, or counted by what was not met before.

Reading an element writes its reference count; where many elements are one object, that is one place in memory.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.tree import LOOPS
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_LISTINGS = frozenset({"os.listdir", "glob.glob", "glob.iglob"})


def is_around(module: Module, node: ast.Name, definition: Definition) -> bool:
    """Whether a variable is bound in a loop around the one that it is put in by: one object for all of these rounds.

    Numbers, and the name of a folder that is put in once for each file there. What else is bound there may be a record
    of a few lines, of which there are about as many as of its parts.
    """
    return _is_number_around(module, node, definition) or _is_folder_around(module, node, definition)


def _is_number_around(module: Module, node: ast.Name, definition: Definition) -> bool:
    loops = module.tree.loops(node)
    within = module.tree.loops(definition.statement)
    if definition.how is How.ITERATE and isinstance(definition.statement, LOOPS):
        within = [definition.statement, *within]
    apart = len(loops) > 1 and within and loops[0] not in within and all(each in loops for each in within)
    return bool(apart) and module.infer.value(node).kind is Kind.NUMBER


def is_counted_apart(module: Module, definition: Definition) -> bool:
    """Whether a number goes up only for what was not met before: `if name not in names: names.append(name); n += 1`.

    There are as many objects as different names, each in many places.
    """
    statement = definition.statement
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.value, ast.Constant):
        return False
    tests = (up.test for up in module.tree.ancestors(statement) if isinstance(up, ast.If) and statement in up.body)
    return any(
        isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn) and _is_filled(module, statement, test)
        for test in tests
    )


def _is_filled(module: Module, statement: ast.stmt, test: ast.Compare) -> bool:
    """Whether what is asked for it gets, beside a statement, what was not in it."""
    asked, sought = ast.dump(test.comparators[0]), ast.dump(test.left)
    up = module.tree.parents[statement]
    assert isinstance(up, ast.If)
    return any(
        isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and each.func.attr in ("append", "add")
        and ast.dump(each.func.value) == asked
        and [ast.dump(given) for given in each.args] == [sought]
        for beside in up.body
        for each in ast.walk(beside)
    )


def _is_folder_around(module: Module, node: ast.Name, definition: Definition) -> bool:
    outer, inner = definition.statement, next(iter(module.tree.loops(node)), None)
    if definition.path or not isinstance(outer, ast.For) or not isinstance(inner, ast.For) or inner is outer:
        return False
    if not _lists_folder(module, outer.iter) or not _lists_folder(module, inner.iter):
        return False
    inside = [each for each in ast.walk(inner.iter) if isinstance(each, ast.Name)]
    made = [each.value for name in inside for each in module.flow.reaching(name.id, name) if each.value is not None]
    named = {each.id for value in made for each in ast.walk(value) if isinstance(each, ast.Name)}
    return node.id in named.union(each.id for each in inside)


def _lists_folder(module: Module, node: ast.expr) -> bool:
    """Whether an expression gives the names in a folder."""
    calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(module.names.qualname(each.func) in _LISTINGS for each in calls)
