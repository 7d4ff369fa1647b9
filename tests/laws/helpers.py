"""Laws about statements that go into a function of the file, which is given the names that they read."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterable, Iterator

from tests.laws.program import FUNCTIONS, SCOPES, At, Program, instead, lines, named, places, stored_names
from tests.laws.stores import is_append


def outline_value(program: Program) -> int:
    """What is assigned in a loop or step, a call or an operation, is made by a helper of the file."""
    count = 0
    for at in places(program.tree):
        node = at.statement
        if at.repeated and isinstance(node, ast.Assign) and isinstance(node.value, (ast.Call, ast.BinOp)):
            new = _moved(program, "made", [ast.Return(copy.deepcopy(node.value))], at)
            if new is not None:
                node.value = new
                count += 1
    return count


def outline_call(program: Program) -> int:
    """A call in a loop or step whose result nobody reads, `loss.backward()` or `meter.update(loss)`, is a helper's."""
    count = 0
    for at in places(program.tree):
        node = at.statement
        if at.repeated and isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not is_append(node):
            new = _moved(program, "act", [copy.deepcopy(node)], at)
            if new is not None:
                node.value = new
                count += 1
    return count


def outline_slot(program: Program) -> int:
    """`kept[key] = value` in a loop or step is a helper's."""
    count = 0
    for at in places(program.tree):
        node = at.statement
        if at.repeated and isinstance(node, ast.Assign) and len(node.targets) == 1:
            if isinstance(node.targets[0], ast.Subscript):
                new = _moved(program, "place", [copy.deepcopy(node)], at)
                if new is not None:
                    at.instead(ast.Expr(new))
                    count += 1
    return count


def outline_body(program: Program) -> int:
    """The body of a loop becomes a function of the file: where it leaves nothing behind but what it keeps."""
    count = 0
    for at in places(program.tree):
        loop = at.statement
        if not isinstance(loop, ast.For) or _leaves_names(at.scope or program.tree, loop):
            continue
        if any(isinstance(each, _JUMPS) for one in loop.body for each in ast.walk(one)):
            continue
        new = _moved(program, "one_step", loop.body, at)
        if new is not None:
            loop.body = [instead(ast.Expr(new), loop)]
            count += 1
    return count


_JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Delete, ast.Global, ast.Nonlocal)
_BOUND = (*SCOPES, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Import, ast.ImportFrom)


def _leaves_names(around: ast.AST, loop: ast.For) -> bool:
    """Whether what the loop binds is read elsewhere, or in the next round."""
    inside = {*ast.walk(loop)}
    elsewhere = {each.id for each in ast.walk(around) if isinstance(each, ast.Name) and each not in inside}
    return bool(stored_names(loop.body) & (elsewhere | _first_read(loop.body)))


def _first_read(body: Iterable[ast.stmt]) -> set[str]:
    """Names that are read before they are bound on some way."""
    found: set[str] = set()
    bound: set[str] = set()
    for statement in body:
        read = {
            each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
        }
        read |= {
            each for node in ast.walk(statement) if isinstance(node, ast.AugAssign) for each in named([node.target])
        }
        found |= read - bound
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.With)):
            bound |= stored_names([statement])
    return found


def _moved(program: Program, stem: str, body: list[ast.stmt], at: At) -> ast.Call | None:
    """The call of a new function with this body; None where the body means something else there."""
    nodes = [each for one in body for each in ast.walk(one)]
    if any(isinstance(each, _BOUND) or _odd(each) for each in nodes):
        return None
    local = stored_names(body) | {each.name for each in nodes if isinstance(each, ast.ExceptHandler) and each.name}
    known = {*_known(program), *local}
    read = [each.id for each in nodes if isinstance(each, ast.Name)]
    given = list(dict.fromkeys(each for each in read if each not in known))
    if not given:
        return None
    name = program.fresh(stem)
    helper = lines(f"def {name}({', '.join('owner' if each == 'self' else each for each in given)}):\n    pass")[0]
    assert isinstance(helper, ast.FunctionDef)
    helper.body = [instead(each, at.statement) for each in body]
    for each in nodes:
        if isinstance(each, ast.Name) and each.id == "self":
            each.id = "owner"
    program.after_imports([helper])
    return instead(
        ast.Call(ast.Name(name, ast.Load()), [ast.Name(each, ast.Load()) for each in given], []), at.statement
    )


def _known(program: Program) -> Iterator[str]:
    """What every function of the file sees."""
    yield from dir(builtins)
    for node in program.tree.body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((each.asname or each.name).split(".")[0] for each in node.names)


def _odd(node: ast.AST) -> bool:
    """What means something else, or nothing, in another function."""
    return isinstance(node, ast.Name) and node.id in (
        "super",
        "locals",
        "globals",
        "owner",
        "next",
        "iter",
        "__class__",
    )
