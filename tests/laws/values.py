"""Laws about names, about helpers that are written out, and about where gradients are off."""

from __future__ import annotations

import ast
import builtins
import copy

from tests.laws.program import (
    FUNCTIONS,
    SCOPES,
    At,
    Function,
    Program,
    instead,
    is_docstring,
    named,
    places,
    replaced,
    statements,
    stored_names,
)

READ_BY_OTHERS = {"automatic_optimization", "training", "T_destination", "dump_patches"}
"""Attributes that a framework's base class reads."""


def rename(program: Program) -> int:
    """Variables, parameters and attributes of self get names that say nothing.

    Left: what is imported, defined or given by keyword, what begins with two underscores, attributes that are read of
    something else than self, and those of frameworks.
    """
    names, attributes = _names(program.tree), _attributes(program.tree)
    for node in ast.walk(program.tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            node.attr = attributes.get(node.attr, node.attr)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            node.names = [names.get(each, each) for each in node.names]
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name is not None:
            node.name = names.get(node.name, node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            node.rest = names.get(node.rest, node.rest)
    return len(names) + len(attributes)


def _fixed(tree: ast.Module) -> set[str]:
    """Names that others know."""
    found = {"self", "cls", *dir(builtins)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(each.asname or each.name).split(".")[0] for each in node.names}
        elif isinstance(node, ast.keyword) and node.arg is not None:
            found.add(node.arg)
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.MatchClass)):
            found |= set(node.kwd_attrs)
        if isinstance(node, ast.ClassDef):
            found |= stored_names(node.body)
        if isinstance(node, FUNCTIONS):
            found |= {each.arg for each in node.args.kwonlyargs}
    return found


def _names(tree: ast.Module) -> dict[str, str]:
    bound = stored_names(statements(tree)) | {
        each.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arguments)
        for each in [*node.posonlyargs, *node.args]
    }
    bound |= {
        each.id
        for node in ast.walk(tree)
        if isinstance(node, ast.comprehension)
        for each in ast.walk(node.target)
        if isinstance(each, ast.Name)
    }
    chosen = sorted(each for each in bound - _fixed(tree) if not each.startswith("__"))
    return {name: f"v{number}" for number, name in enumerate(chosen)}


def _attributes(tree: ast.Module) -> dict[str, str]:
    of_self: set[str] = set()
    of_others: set[str] = set()
    stored: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            mine = isinstance(node.value, ast.Name) and node.value.id == "self"
            (of_self if mine else of_others).add(node.attr)
            if mine and isinstance(node.ctx, ast.Store):
                stored.add(node.attr)
    chosen = sorted((stored & of_self) - of_others - _fixed(tree) - READ_BY_OTHERS)
    return {name: f"a{number}" for number, name in enumerate(chosen) if not name.startswith("__")}


def inline(program: Program) -> int:
    """A function of the file that returns at its end alone is written out where it is called, and goes if it can."""
    count = 0
    for helper, block, owner in _inlinable(program):
        calls = [found for at in places(program.tree) if (found := _call(at, helper, owner)) is not None]
        done = sum(_inlined(program, at, call, helper) for at, call in calls if at.scope is not helper)
        names = {each.attr for each in ast.walk(program.tree) if isinstance(each, ast.Attribute)}
        if done and helper.name not in names | named([program.tree]) and len(block) > 1:
            block.remove(helper)
        count += done
    return count


def _inlinable(program: Program) -> list[tuple[Function, list[ast.stmt], ast.ClassDef | None]]:
    found: list[tuple[Function, list[ast.stmt], ast.ClassDef | None]] = []
    for at in places(program.tree):
        node = at.statement
        if not isinstance(node, ast.FunctionDef) or node.decorator_list or at.scope is not None or at.loops:
            continue
        arguments = node.args
        plain = not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs)
        leaving = [each for each in ast.walk(node) if isinstance(each, _ODD)]
        ends = [each for each in ast.walk(node) if isinstance(each, ast.Return)]
        if plain and not leaving and (not ends or ends == [node.body[-1]]) and not node.name.startswith("__"):
            if at.owner is None or _only(program, at.owner, node.name):
                found.append((node, at.block, at.owner))
    return found


_ODD = (
    *SCOPES[1:3],
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
    ast.Global,
    ast.Nonlocal,
    ast.ListComp,
    ast.GeneratorExp,
    ast.DictComp,
    ast.SetComp,
)


def _only(program: Program, owner: ast.ClassDef, name: str) -> bool:
    """Whether no other class of the file has a method of that name, and none derives from this one."""
    classes = [each for each in ast.walk(program.tree) if isinstance(each, ast.ClassDef) and each is not owner]
    methods = {inner.name for each in classes for inner in each.body if isinstance(inner, FUNCTIONS)}
    return name not in methods and not any(owner.name in ast.unparse(base) for each in classes for base in each.bases)


def _call(at: At, helper: Function, owner: ast.ClassDef | None) -> tuple[At, ast.Call] | None:
    node = at.statement
    value = node.value if isinstance(node, (ast.Assign, ast.Expr, ast.Return, ast.AugAssign)) else None
    if not isinstance(value, ast.Call) or (at.scope is None and at.owner is not None):
        return None
    name = helper.name if owner is None else f"self.{helper.name}"
    given, wanted = value.args, helper.args.args[owner is not None :]
    plain = all(not isinstance(each, ast.Starred) for each in given) and all(each.arg for each in value.keywords)
    missing = len(wanted) - len(given) - len(value.keywords)
    if ast.unparse(value.func) != name or not plain or not 0 <= missing <= len(helper.args.defaults):
        return None
    returns = isinstance(helper.body[-1], ast.Return) and helper.body[-1].value is not None
    return (at, value) if (returns or isinstance(node, ast.Expr)) and (owner is None or at.owner is owner) else None


def _inlined(program: Program, at: At, call: ast.Call, helper: Function) -> int:
    body = copy.deepcopy(helper.body)
    if is_docstring(body[0]):
        body = body[1:]
    wanted = [each.arg for each in helper.args.args if each.arg != "self"]
    values = dict(zip(reversed(wanted), reversed(helper.args.defaults)))
    values.update(zip(wanted, call.args))
    values.update((each.arg, each.value) for each in call.keywords if each.arg is not None)
    local = {*wanted, *stored_names(body)}
    names = {each: program.fresh(f"{each}_{helper.name.strip('_')}") for each in sorted(local)}

    def swap(each: ast.expr) -> ast.expr | None:
        return ast.Name(names[each.id], each.ctx) if isinstance(each, ast.Name) and each.id in names else None

    written: list[ast.stmt] = [
        ast.Assign([ast.Name(names[each], ast.Store())], copy.deepcopy(values[each])) for each in wanted
    ]
    written += [replaced(each, swap) for each in body]
    node, returned = at.statement, 0
    if isinstance(written[-1], ast.Return):
        result = written.pop()
        assert isinstance(result, ast.Return)
        last = copy.copy(node)
        assert isinstance(last, (ast.Assign, ast.Expr, ast.Return, ast.AugAssign))
        last.value = result.value or ast.Constant(None)
        written.append(last)
        returned = result.lineno
    for one in written:
        for each in (one, *statements(one)):
            program.also[each] = node.lineno
    if returned:  # it stands at the call's own line
        program.also[written[-1]] = returned
    at.instead(*written)
    return 1


def no_grad_decorator(program: Program) -> int:
    """A function that is one `with torch.no_grad()` gets the decorator instead."""
    count = 0
    for function in [each for each in ast.walk(program.tree) if isinstance(each, FUNCTIONS)]:
        start = int(is_docstring(function.body[0]))
        rest = function.body[start:]
        if len(rest) == 1 and isinstance(rest[0], ast.With) and len(rest[0].items) == 1:
            manager = rest[0].items[0]
            if ast.unparse(manager.context_expr) in _OFF and manager.optional_vars is None:
                function.decorator_list.append(manager.context_expr)
                function.body[start:] = rest[0].body
                count += 1
    return count


def no_grad_with(program: Program) -> int:
    """A function with the decorator `torch.no_grad()` is one `with` statement instead; no generator."""
    count = 0
    for function in [each for each in ast.walk(program.tree) if isinstance(each, FUNCTIONS)]:
        found = [each for each in function.decorator_list if ast.unparse(each) in _OFF]
        if len(found) == 1 and not any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(function)):
            start = int(is_docstring(function.body[0]))
            function.decorator_list.remove(found[0])
            block = instead(ast.With([ast.withitem(found[0])], function.body[start:]), function)
            function.body[start:] = [block]
            count += 1
    return count


def backward_function(program: Program) -> int:
    """`loss.backward(...)` is `torch.autograd.backward(loss, ...)`; not of an engine, nor with a gradient."""
    if not any(
        isinstance(each, ast.Import) and "torch" in [name.name for name in each.names] for each in program.tree.body
    ):
        return 0
    found = [each.statement for each in places(program.tree) if isinstance(each.statement, ast.Expr)]
    count = 0
    for statement in found:
        call = statement.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.args:
            continue
        if call.func.attr != "backward" or {each.arg for each in call.keywords} - {"retain_graph", "create_graph"}:
            continue
        function = ast.parse("torch.autograd.backward", mode="eval").body
        statement.value = instead(ast.Call(function, [call.func.value], call.keywords), call)
        count += 1
    return count


_OFF = ("torch.no_grad()", "torch.inference_mode()", "no_grad()", "inference_mode()")
