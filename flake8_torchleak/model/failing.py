"""Code that fails around a place: names that nothing binds, calls and assignments that do not fit."""

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
_CHANGING = ("pre_hook", "__getattribute__", "__class__ =", "__defaults__", "__init_subclass__")
"""What may change what a call gives to whom."""
_SWALLOWING = ("suppress", "raises", "ExitStack")
"""Contexts, by a part of their names, that may go on behind what is raised in them."""
_PERHAPS = (
    ast.IfExp, ast.BoolOp, ast.Lambda, ast.ExceptHandler, ast.match_case, ast.AnnAssign, ast.ListComp, ast.SetComp,
    ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
"""Parts of these are perhaps not come to; annotations are perhaps words only."""


def fails(module: Module, node: ast.AST, failing: Callable[[Module], Collection[ast.AST]]) -> bool:
    """Whether the function around a node, or the module where none is, fails by a name that it reads, or by a call.

    Nothing binds the name in sight, no star import can, and it is read on every way to the node, or behind it: no arm
    of an `if` or `try` that the node is not in counts. So does a call of a function of the project that lacks an
    argument, or has one too many. A notebook's names come from cells that are run in any order. Or all who call the
    function fail so, and no other file imports the module. A file that is in no project is an example, or a part of
    one, which leaves names to who reads it.

    failing: what of a module was seen to fail where the program was followed: calls, and names that a value has not
    enough parts for, or too many.
    """
    project = module.project
    if project is None or not project.is_marked or (module.path or "").endswith(".ipynb"):
        return False
    seen = failing(module) if _shows_calls(module) else frozenset()
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
    if any(_is_taken_apart(module, each, scope) and _is_come_to(module, each, node, scope) for each in seen):
        return True
    calls = module.tree.calls(scope)
    by_name = _shows_names(module)
    return any(
        (each in seen or (by_name and _is_refused(module, each))) and _is_come_to(module, each, node, scope)
        for each in calls
    )


def _is_taken_apart(module: Module, target: ast.AST, scope: FunctionNode | ast.Module) -> bool:
    """Whether it is the names of an assignment in a function, or of the module where that is meant."""
    if isinstance(target, ast.Call) or not module.tree.is_own(target):
        return False
    return (module.tree.function(target) or module.root) is scope and isinstance(
        module.tree.parents[target], ast.Assign
    )


def _shows_names(module: Module) -> bool:
    """Whether statements show all names that a module binds."""
    return not module.names.stars and not any(each in module.source.text for each in _BINDING)


def _shows_calls(module: Module) -> bool:
    """Whether what was followed is what is called: nothing binds names of this module behind their definitions."""
    text, body = module.source.text, module.root.body
    if any(each in text for each in (*_BINDING, *_CHANGING)):
        return False
    if any(_is_put_into(module, each) for each in module.tree.all(ast.Attribute, ast.Call)):
        return False
    stars = [each.lineno for each in body if isinstance(each, ast.ImportFrom) and each.names[0].name == "*"]
    made = [each.lineno for each in body if isinstance(each, (*FUNCTIONS, ast.ClassDef))]
    return not stars or not made or max(stars) < min(made)


def _is_put_into(module: Module, node: ast.Attribute | ast.Call) -> bool:
    """Whether something is put into a class or a module: `Row.show = shown`, `setattr(tools, name, shown)`."""
    base: ast.expr | None = None
    if isinstance(node, ast.Attribute):
        base = node.value if isinstance(node.ctx, ast.Store) else None
    elif isinstance(node.func, ast.Name) and node.func.id == "setattr" and node.args:
        base = node.args[0]
    if not isinstance(base, ast.Name):
        return False
    made = (each for each in module.root.body if isinstance(each, (ast.ClassDef, ast.Import, ast.ImportFrom)))
    return any(base.id in _names_of(each) for each in made)


def _names_of(statement: ast.ClassDef | ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(statement, ast.ClassDef):
        return [statement.name]
    return [(each.asname or each.name).partition(".")[0] for each in statement.names]


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


def _is_come_to(module: Module, name: ast.AST, node: ast.AST, scope: FunctionNode | ast.Module) -> bool:
    """Whether nothing around a name or call in its function may leave it out that does not hold the node as well."""
    inner: ast.AST = name
    for outer in takewhile(lambda each: each is not scope, module.tree.ancestors(name)):
        if isinstance(outer, _PERHAPS) or getattr(outer, "handlers", None):
            return False
        if isinstance(outer, (ast.With, ast.AsyncWith)) and _swallows(outer):
            return False
        if isinstance(outer, (ast.For, ast.AsyncFor)) and inner in outer.orelse:
            return False
        if isinstance(outer, (ast.If, ast.While)) and inner is not outer.test:
            arm = outer.body if inner in outer.body else outer.orelse
            if not any(module.tree.inside(node, each) for each in arm):
                return False
        inner = outer
    return inner in scope.body


def _swallows(node: ast.With | ast.AsyncWith) -> bool:
    """Whether a `with` may go on behind what is raised in it."""
    contexts = [each.context_expr for each in node.items]
    return any(
        isinstance(each, ast.Name) or any(word in ast.unparse(each) for word in _SWALLOWING) for each in contexts
    )
