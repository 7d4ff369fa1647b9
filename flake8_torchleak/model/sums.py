"""Statements that add to a running sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def additions(node: ast.AugAssign | ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(what holds the sum, what is added) of `a += v`, `a = a + v`, `d[k] = d.get(k, 0) + v` and weighted forms."""
    if isinstance(node, ast.AugAssign):
        if (
            isinstance(node.op, (ast.Add, ast.Sub))
            and not _is_count(node.value)
            and not isinstance(node.value, (ast.List, ast.Tuple, ast.ListComp))
        ):
            yield node.target, node.value
        return
    if len(node.targets) != 1:
        return
    pairs = [(node.targets[0], node.value)]
    target = node.targets[0]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
        pairs = list(zip(target.elts, node.value.elts, strict=True))
    for to, whole in pairs:
        for value in [whole.body, whole.orelse] if isinstance(whole, ast.IfExp) else [whole]:
            yield from _added(to, value)


def _is_count(value: ast.expr) -> bool:
    """`n += 1`, `n += len(x)`: no tensor."""
    called = value.func if isinstance(value, ast.Call) else None
    return isinstance(value, ast.Constant) or (isinstance(called, ast.Name) and called.id in ("len", "int", "float"))


def _added(to: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(value, ast.BinOp) and isinstance(to, (ast.Name, ast.Attribute, ast.Subscript)):
        while (
            isinstance(value, ast.BinOp)
            and isinstance(value.op, (ast.Div, ast.Mult))
            and isinstance(value.left, ast.BinOp)
        ):
            value = value.left
        if not (isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub))):
            return
        left, right = (_reads(side, to) for side in (value.left, value.right))
        if left != right:
            yield to, value.right if left else value.left


def _reads(node: ast.expr, target: ast.expr) -> bool:
    """Whether an operand is (a multiple of) the target, or its `.get`."""
    stack: list[ast.expr] = [node]
    while stack:
        each = stack.pop()
        if same(each, target):
            return True
        if isinstance(each, ast.BinOp):
            stack += [each.left, each.right]
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "get":
            if isinstance(target, ast.Subscript) and same(each.func.value, target.value):
                return True
    return False


def same(one: ast.expr, other: ast.expr) -> bool:
    """Whether two variables, attributes or subscripts are spelt alike, read or written."""
    stack = [(one, other)]
    while stack:
        one, other = stack.pop()
        if isinstance(one, ast.Attribute) and isinstance(other, ast.Attribute) and one.attr == other.attr:
            stack.append((one.value, other.value))
        elif isinstance(one, ast.Subscript) and isinstance(other, ast.Subscript):
            stack += [(one.value, other.value), (one.slice, other.slice)]
        elif isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id:
            continue
        elif isinstance(one, ast.Constant) and isinstance(other, ast.Constant) and one.value == other.value:
            continue
        else:
            return False
    return True


def spelling(node: ast.expr) -> tuple[object, ...]:
    """Equal for those expressions that are the `same`, and for no others; () for what is the same as nothing."""
    found: list[object] = []
    stack = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, ast.Attribute):
            found.append((".", each.attr))
            stack.append(each.value)
        elif isinstance(each, ast.Subscript):
            found.append("[]")
            stack += [each.value, each.slice]
        elif isinstance(each, ast.Name):
            found.append(each.id)
        elif isinstance(each, ast.Constant):
            found.append(("=", each.value))
        else:
            return ()
    return tuple(found)
