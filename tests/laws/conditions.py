"""Laws about conditions: the same one asked again, and what is done only where it holds."""

from __future__ import annotations

import ast
import copy

from tests.laws.program import (
    SCOPES,
    At,
    Program,
    expression,
    instead,
    is_docstring,
    lines,
    named,
    places,
    stored_names,
)

_STILL = (ast.Name, ast.Attribute, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.expr_context, ast.cmpop,
          ast.boolop, ast.unaryop)  # fmt: skip
_LEAVING = (ast.Return, ast.Continue, ast.Break, ast.Raise)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Assert, ast.Delete, ast.Pass)


def split_if(program: Program) -> int:
    """`if test:` with two statements or more as two that ask the same, one behind the other."""
    count = 0
    for at in places(program.tree):
        node = at.statement
        if not isinstance(node, ast.If) or node.orelse or len(node.body) < 2 or not _is_still(node.test):
            continue
        first, rest = node.body[:1], node.body[1:]
        if is_docstring(first[0]) or isinstance(first[0], _LEAVING) or stored_names(first) & named([node.test]):
            continue
        if not any(each is node for each in at.block):
            continue  # it went with what is around it
        node.body = first
        at.block.insert(at.block.index(node) + 1, instead(ast.If(copy.deepcopy(node.test), rest, []), node))
        count += 1
    return count


def under_flag(program: Program) -> int:
    """A new list, and each statement that works with it, where a flag holds: `if flag: kept.append(loss)`.

    Else it is None, for who returns it.
    """
    every = places(program.tree)
    flag, count = program.fresh("flag"), 0
    for begin in every:
        name = _new_list(begin)
        if not name:
            continue
        using = [each for each in every if each.scope is begin.scope and each is not begin and _uses(each, name)]
        if not using or not all(isinstance(each.statement, _SIMPLE) for each in using):
            continue
        if _is_used_inside(begin, name) or not all(each.statement in each.block for each in (begin, *using)):
            continue  # or it went under the flag with another list
        for each in (begin, *using):
            if not isinstance(each.statement, ast.Return):
                each.instead(ast.If(ast.Name(flag, ast.Load()), [each.statement], _none(name, each is begin)))
        count += 1
    if count:
        found = lines(f"import sys\n{flag} = _")
        assert isinstance(found[1], ast.Assign)
        found[1].value = expression("len(sys.argv)")
        program.after_imports(found)
    return count


def _none(name: str, is_begun: bool) -> list[ast.stmt]:
    return [*lines(f"{name} = None")] if is_begun else []


def _is_still(test: ast.expr) -> bool:
    return all(isinstance(each, _STILL) for each in ast.walk(test))


def _new_list(at: At) -> str:
    node = at.statement
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or (at.owner is not None and at.scope is None):
        return ""
    target, value = node.targets[0], node.value
    is_new = isinstance(target, ast.Name) and isinstance(value, ast.List) and not value.elts
    return target.id if is_new and isinstance(target, ast.Name) else ""


def _uses(at: At, name: str) -> bool:
    """Whether a statement, not one inside of it, has the variable."""
    node = at.statement
    parts: list[ast.AST] = [node] if isinstance(node, _SIMPLE) else _heads(node)
    return name in named(parts)


def _heads(node: ast.stmt) -> list[ast.AST]:
    found = (getattr(node, each, None) for each in ("test", "iter", "target", "subject"))
    return [*(each for each in found if isinstance(each, ast.AST)), *getattr(node, "items", [])]


def _is_used_inside(begin: At, name: str) -> bool:
    """Whether a function has the variable that is defined where it begins: inside of another one, or in the module."""
    around = begin.scope
    inner = [each for each in ast.walk(around) if isinstance(each, SCOPES) and each is not around] if around else []
    return around is None or name in named(inner)
