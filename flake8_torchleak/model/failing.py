"""Code that fails before it comes to a place: unbound names, calls without arguments."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection
from itertools import takewhile
from typing import TYPE_CHECKING

from flake8_torchleak.model.importers import importers
from flake8_torchleak.model.signatures import refuses, spreads
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_BUILTIN = frozenset(dir(builtins))
_PYTHON_2 = frozenset({
    "apply", "basestring", "buffer", "cmp", "coerce", "execfile", "file", "intern", "long", "raw_input", "reduce",
    "reload", "unichr", "unicode", "xrange",
})  # fmt: skip
"""Builtins that are gone: such code is old, and ran."""
_BINDING = ("globals(", "locals(", "vars(", "exec(", "execfile(", "builtins", "__dict__", "get_ipython")
"""What may bind names that no statement shows."""
_PERHAPS = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ExceptHandler, ast.match_case, ast.AnnAssign)
"""Parts of these are perhaps not come to; annotations are perhaps words only."""


def fails(module: Module, node: ast.AST, failing: Callable[[Module], Collection[ast.AST]]) -> bool:
    """Whether the function around a node, or the module where none is, fails by a name that it reads, or by a call.

    Nothing binds the name in sight, no star import can, and it is read on every way to the node, or behind it: no arm
    of an `if` or `try` that the node is not in counts. So does a call of a function of the project that lacks an
    argument, or has one too many. A notebook's names come from cells that are run in any order. Or all who call the
    function fail so, and no other file imports the module. A file that is in no project is an example, or a part of
    one, which leaves names to who reads it.

    failing: the calls of a module that were seen to fail where the program was followed.
    """
    project = module.project
    if project is None or not project.is_marked or (module.path or "").endswith(".ipynb"):
        return False
    seen = failing(module)
    if _fails_at(module, node, seen):
        return True
    function = module.tree.function(node)
    calls = module.classes.calls_of(function) if function is not None else []
    return bool(calls) and all(_fails_at(module, each, seen) for each in calls) and not _is_imported(module)


def _fails_at(module: Module, node: ast.AST, seen: Collection[ast.AST]) -> bool:
    """Whether the function around a node, or the module, reads such a name, or so calls, on every way to it."""
    scope = module.tree.function(node) or module.root
    if _shows_names(module):
        within = module.tree.within(scope)
        reads = (each for each in within if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
        if any(_is_unbound(module, each) and _is_come_to(module, each, node, scope) for each in reads):
            return True
    calls = module.tree.calls(scope)
    return any((each in seen or _is_refused(module, each)) and _is_come_to(module, each, node, scope) for each in calls)


def _shows_names(module: Module) -> bool:
    """Whether statements show all names that a module binds."""
    return not module.names.stars and not any(each in module.source.text for each in _BINDING)


def _is_imported(module: Module) -> bool:
    """Whether another file imports a module, or may."""
    users, complete = importers(str(module.path), (), 1)
    return bool(users) or not complete


def _is_unbound(module: Module, name: ast.Name) -> bool:
    if name.id in _BUILTIN or name.id in _PYTHON_2 or (name.id.startswith("__") and name.id.endswith("__")):
        return False
    return module.names.scope_of(name.id, name) is None


def _is_refused(module: Module, call: ast.Call) -> bool:
    """Whether a call by a name does not fit the one function of that name: a method may be another class's."""
    function = module.names.definition(call.func) if isinstance(call.func, ast.Name) else None
    if not isinstance(function, FUNCTIONS) or function.decorator_list:
        return False
    if spreads(call):
        return False
    return refuses(function.args, len(call.args), [each.arg for each in call.keywords if each.arg is not None])


def _is_come_to(module: Module, name: ast.expr, node: ast.AST, scope: FunctionNode | ast.Module) -> bool:
    """Whether nothing around a name or call in its function may leave it out that does not hold the node as well."""
    inner: ast.AST = name
    for outer in takewhile(lambda each: each is not scope, module.tree.ancestors(name)):
        if isinstance(outer, _PERHAPS) or (isinstance(outer, ast.Try) and outer.handlers):
            return False
        if isinstance(outer, (ast.If, ast.While)) and inner is not outer.test:
            arm = outer.body if inner in outer.body else outer.orelse
            if not any(module.tree.inside(node, each) for each in arm):
                return False
        inner = outer
    return inner in scope.body
