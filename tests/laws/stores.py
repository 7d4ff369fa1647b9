"""Laws about the statement that keeps a value: through which code the value gets to its holder.

What is appended, or added to what began as a number, takes another way to the same holder: what is retained stays
the same. `a += b` is taken for `a = a + b` only where a is a number at first: for a tensor they are not the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tests.laws.program import (
    At,
    Function,
    Program,
    expression,
    lines,
    of_self,
    own,
    places,
    position,
    reading,
    stored_names,
)


@dataclass(frozen=True, eq=False)
class Store:
    """A statement that keeps `value` in `holder`: `holder.append(value)`, or `holder += value` (summed)."""

    at: At
    holder: ast.expr
    value: ast.expr
    summed: bool


def is_append(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "append"
        and len(node.value.args) == 1
        and not node.value.keywords
        and not isinstance(node.value.args[0], ast.Starred)
    )


def stores(program: Program) -> Iterator[Store]:
    """Those that are run again and again."""
    for at in places(program.tree):
        if at.repeated and (found := stored(program, at)) is not None:
            yield found


def stored(program: Program, at: At) -> Store | None:
    """What a statement keeps, if it keeps something."""
    node = at.statement
    if is_append(node):
        assert isinstance(node, ast.Expr)
        assert isinstance(node.value, ast.Call)
        assert isinstance(node.value.func, ast.Attribute)
        return Store(at, node.value.func.value, node.value.args[0], False)
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        if ast.unparse(node.target) in begun(program, at, is_number):
            return Store(at, node.target, node.value, True)
    return None


def is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def is_list(node: ast.expr) -> bool:
    made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list"
    return made or isinstance(node, (ast.List, ast.ListComp))


def begun(program: Program, at: At, with_what: object) -> set[str]:
    """What begins as something like that: names where they live, attributes of self in their class."""
    assert callable(with_what)
    root: ast.AST = at.scope or program.tree
    found = set()
    for scope in (root, at.owner):
        for node in own(root) if scope is root else ast.walk(scope) if scope is not None else ():
            for target, value in bindings(node):
                if with_what(value) and (scope is root or of_self(target)):
                    found.add(ast.unparse(target))
    return found


def bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets and values of an assignment, one by one."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts)
            else:
                yield target, node.value


def plain_assign(program: Program) -> int:
    """`a += b` as `a = a + b`, where a begins as a number."""
    found = [each for each in stores(program) if each.summed]
    for each in found:
        each.at.instead(_assign(each.holder, ast.BinOp(reading(each.holder), ast.Add(), each.value)))
    return len(found)


def outline(program: Program) -> int:
    """What is appended, or added to a number, goes through a helper of the file."""
    return _outlined(program, _HELPERS)


def outline_module(program: Program) -> int:
    """The helper lives in another module."""
    return _outlined(program, _HELPERS, "outlined_helpers")


def two_level(program: Program) -> int:
    """The helper has a helper."""
    return _outlined(program, _TWO_LEVEL)


_HELPERS = """\
def {put}(where, what):
    where.append(what)


def {plus}(one, two):
    return one + two
"""
_TWO_LEVEL = """\
def {put}_inner(target, item):
    target.append(item)


def {put}(where, what):
    {put}_inner(where, what)


def {plus}_inner(left, right):
    return left + right


def {plus}(one, two):
    return {plus}_inner(one, two)
"""


def _outlined(program: Program, helpers: str, module: str = "") -> int:
    found = list(stores(program))
    put, plus = program.fresh("put"), program.fresh("plus")
    for each in found:
        if each.summed:
            call = ast.Call(_name(plus), [reading(each.holder), each.value], [])
            each.at.instead(_assign(each.holder, call))
        else:
            each.at.instead(ast.Expr(ast.Call(_name(put), [each.holder, each.value], [])))
    text = helpers.format(put=put, plus=plus)
    if found and module:
        program.others[f"{module}.py"] = text
        text = f"from {module} import {put}, {plus}"
    if found:
        program.after_imports(lines(text))
    return len(found)


def outline_method(program: Program) -> int:
    """What a class keeps in its own attributes goes through a method of it."""
    found = [each for each in stores(program) if of_self(each.holder) and each.at.owner is not None]
    for each in found:
        assert isinstance(each.holder, ast.Attribute)
        assert each.at.owner is not None
        name = program.fresh(f"keep_{each.holder.attr.strip('_')}")
        new = lines(
            f"def {name}(self, what):\n    self.{each.holder.attr}" + (" += what" if each.summed else ".append(what)")
        )
        each.at.instead(ast.Expr(ast.Call(expression(f"self.{name}"), [each.value], [])))
        each.at.owner.body += new
    return len(found)


def closure(program: Program) -> int:
    """A function inside the function keeps the value; it is made where the outermost loop, or the step, begins."""
    count = 0
    for each in stores(program):
        if each.at.scope is None and each.at.owner is not None:
            continue  # a loop in a class's body: functions do not see its names
        name, holder = program.fresh("put"), ast.unparse(each.holder)
        outer = ""
        if each.summed and isinstance(each.holder, ast.Name):
            outer = f"    {'nonlocal' if _is_local(each.at.scope, holder) else 'global'} {holder}\n"
        keeps = f"{holder} += what" if each.summed else f"{holder}.append(what)"
        block, before = _outermost(program, each.at)
        block[before:before] = lines(f"def {name}(what):\n{outer}    {keeps}")
        each.at.instead(ast.Expr(ast.Call(_name(name), [each.value], [])))
        count += 1
    return count


def bound_method(program: Program) -> int:
    """`push = kept.append`, before the loop where the name stays what it is, and `push(value)`."""
    count = 0
    for each in list(stores(program)):
        if not each.summed:
            _bound(program, each, f"{ast.unparse(each.holder)}.append")
            count += 1
    return count


def partial(program: Program) -> int:
    """`push = partial(put, kept)` and `push(value)`."""
    found = [each for each in stores(program) if not each.summed]
    put, made = program.fresh("put"), program.fresh("partial")
    for each in found:
        _bound(program, each, f"{made}({put}, {ast.unparse(each.holder)})")
    if found:
        imported = "from functools import partial" + (f" as {made}" if made != "partial" else "")
        program.after_imports(lines(f"{imported}\n\n\ndef {put}(where, what):\n    where.append(what)"))
    return len(found)


def _bound(program: Program, store: Store, what: str) -> None:
    name = program.fresh("push")
    binding = lines(f"{name} = {what}")
    call = ast.Expr(ast.Call(_name(name), [store.value], []))
    loop = store.at.loops[0] if store.at.loops else None
    holder = store.holder
    if loop is not None and isinstance(holder, ast.Name) and holder.id not in stored_names([loop]):
        block, before = _outermost(program, store.at)
        block[before:before] = binding
        store.at.instead(call)
    else:
        store.at.instead(*binding, call)


def plus_list(program: Program) -> int:
    """`kept.append(v)` as `kept += [v]`, where kept begins as a list in the same function or class."""
    found = [each for each in _lists(program) if isinstance(each.holder, (ast.Name, ast.Attribute))]
    for each in found:
        target = each.holder
        assert isinstance(target, (ast.Name, ast.Attribute))
        target.ctx = ast.Store()
        each.at.instead(ast.AugAssign(target, ast.Add(), ast.List([each.value], ast.Load())))
    return len(found)


def extend_list(program: Program) -> int:
    """`kept.append(v)` as `kept.extend([v])`, where kept begins as a list in the same function or class."""
    found = _lists(program)
    for each in found:
        extend = ast.Attribute(each.holder, "extend", ast.Load())
        each.at.instead(ast.Expr(ast.Call(extend, [ast.List([each.value], ast.Load())], [])))
    return len(found)


def _lists(program: Program) -> list[Store]:
    found = [each for each in stores(program) if not each.summed]
    return [each for each in found if ast.unparse(each.holder) in begun(program, each.at, is_list)]


def _outermost(program: Program, at: At) -> tuple[list[ast.stmt], int]:
    """Where the outermost loop around a statement begins; for a step without one, its first line."""
    if at.loops:
        loop = next(each for each in places(program.tree) if each.statement is at.loops[0])
        return loop.block, position(loop.block, loop.statement)
    assert at.scope is not None
    return at.scope.body, int(ast.get_docstring(at.scope) is not None)


def _is_local(scope: Function | None, name: str) -> bool:
    return scope is not None and not any(isinstance(each, ast.Global) and name in each.names for each in own(scope))


def _assign(target: ast.expr, value: ast.expr) -> ast.Assign:
    return ast.Assign([target], value, lineno=0)


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
