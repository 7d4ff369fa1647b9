"""Operators of a program's own objects: `meter += loss` calls a method, which tells what becomes of the loss."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import Obj, Value, join
from flake8_torchleak.lifetime.world import ClassInfo

_NAMES: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitOr: "or",
    ast.BitAnd: "and",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}


def operated(run: Run, node: ast.BinOp | ast.AugAssign, left: Value, right: Value) -> Value:
    """What an operator gives: by the methods of objects on its left side, which one that assigns has of its own."""
    name = _NAMES[type(node.op)]
    at: ast.expr = node.target if isinstance(node, ast.AugAssign) else node
    names = [f"__i{name}__"] * isinstance(node, ast.AugAssign) + [f"__{name}__"]
    found: list[Value] = []
    rest: Value = ()
    for atom in left:
        cls = atom.made.cls if isinstance(atom.made, Obj) else None
        method = next((each for each in names if isinstance(cls, ClassInfo) and cls.method(each) is not None), None)
        if method is None:
            rest += (atom,)
        else:
            found.append(run.calls.method((atom,), method, [right], at))
    if rest or not found:
        found.append(run.expressions.combined(node, node.op, rest, right))
    return join(found)
