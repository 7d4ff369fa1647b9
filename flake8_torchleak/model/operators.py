"""What displays, comprehensions and operators evaluate to."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.env import Env
from flake8_torchleak.model.values import FLAG, NONE, NUMBER, STRING, UNKNOWN, Kind, Size, Value, join, shallow
from flake8_torchleak.model.ways import is_tensor_check

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer


class Operators:
    """Values of expressions that make something new."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer

    def constant(self, node: ast.Constant, env: Env) -> Value:
        if node.value is None:
            return NONE
        if isinstance(node.value, bool):
            return FLAG
        return STRING if isinstance(node.value, (str, bytes)) else NUMBER

    def joinedstr(self, node: ast.JoinedStr, env: Env) -> Value:
        return STRING

    def list(self, node: ast.List | ast.Tuple | ast.Set, env: Env) -> Value:
        kind = {ast.List: Kind.LIST, ast.Tuple: Kind.TUPLE, ast.Set: Kind.SET}[node.__class__]
        items = tuple(self.infer.value(each, env) for each in node.elts[:20])
        large = len(node.elts) >= self.infer.config.min_literal
        spread = [v for e, v in zip(node.elts, items, strict=False) if isinstance(e, ast.Starred)]
        size = Size.GROWS if large or any(v.grows for v in spread) else Size.SMALL
        graph = True if any(v.graph for v in items) else None
        pairs = zip(node.elts, items, strict=False)
        elements = [(v.element or UNKNOWN) if isinstance(e, ast.Starred) else v for e, v in pairs]
        why: tuple[tuple[ast.AST, str], ...] = ((node, f"a literal of {len(node.elts)} elements"),) if large else ()
        items_known = items if not spread and len(node.elts) <= 20 else ()
        return Value(kind, graph, size, join(elements) if items else None, None, why, items_known)

    def dict(self, node: ast.Dict, env: Env) -> Value:
        values = [self.infer.value(each, env) for each in node.values[:50]]
        spread = [shallow(v).element or UNKNOWN for k, v in zip(node.keys, values, strict=False) if k is None]
        stored = [each for each in spread if each.origin is not None]
        elements = stored or [v for k, v in zip(node.keys, values, strict=False) if k] + spread
        large = len(node.values) >= self.infer.config.min_literal
        fields = tuple(
            (key.value, value)
            for key, value in zip(node.keys, values, strict=False)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        )
        graph = True if any(v.graph for v in values) else None
        why: tuple[tuple[ast.AST, str], ...] = ((node, f"a literal of {len(node.values)} entries"),) if large else ()
        size = Size.GROWS if large else Size.SMALL
        return Value(Kind.DICT, graph, size, join(elements) if values else None, None, why, (), fields)

    def listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, env: Env) -> Value:
        kind = {ast.ListComp: Kind.LIST, ast.SetComp: Kind.SET, ast.GeneratorExp: Kind.ITERATOR}[node.__class__]
        element = self.infer.value(node.elt, env)
        size, why = self.infer.growth.iteration([g.iter for g in node.generators], env)
        return Value(
            kind, True if element.graph else None, size, element, None, why or ((node, "built by a comprehension"),)
        )

    def dictcomp(self, node: ast.DictComp, env: Env) -> Value:
        element = self.infer.value(node.value, env)
        size, why = self.infer.growth.iteration([g.iter for g in node.generators], env)
        return Value(
            Kind.DICT,
            True if element.graph else None,
            size,
            element,
            None,
            why or ((node, "built by a comprehension"),),
        )

    def binop(self, node: ast.BinOp, env: Env) -> Value:
        return self.arithmetic(self.infer.value(node.left, env), self.infer.value(node.right, env), node.op)

    def arithmetic(self, left: Value, right: Value, operator: ast.operator | None = None) -> Value:
        """The result of a binary operator: new memory; it carries a graph if either side does."""
        if isinstance(operator, ast.Div) and Kind.PATH in (left.kind, right.kind):
            return Value(Kind.PATH, graph=False)
        if left.is_container and (right.is_container or isinstance(operator, (ast.Mult, ast.Add))):
            if isinstance(operator, ast.Mult):
                return left.but(size=Size.SMALL, origin=None, items=())
            both = [left, right]
            return join(both).but(origin=None, items=()) if right.is_container else left.but(origin=None, items=())
        if Kind.STRING in (left.kind, right.kind):
            return STRING
        if left.graph or right.graph:
            return Value(Kind.TENSOR, graph=True, why=left.why if left.graph else right.why)
        if Kind.TENSOR in (left.kind, right.kind):
            known = left.graph is False and right.graph is False
            return Value(Kind.TENSOR, graph=False if known else None)
        if Kind.ARRAY in (left.kind, right.kind):
            return Value(Kind.ARRAY, graph=False)
        return NUMBER if left.kind is right.kind is Kind.NUMBER else UNKNOWN

    def unaryop(self, node: ast.UnaryOp, env: Env) -> Value:
        inner = self.infer.value(node.operand, env)
        return inner.but(origin=None) if not isinstance(node.op, ast.Not) else NUMBER

    def boolop(self, node: ast.BoolOp, env: Env) -> Value:
        return join([self.infer.value(each, env) for each in node.values])

    def compare(self, node: ast.Compare, env: Env) -> Value:
        if any(isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in node.ops):
            return FLAG
        kinds = {self.infer.value(each, env).kind for each in (node.left, *node.comparators)}
        mask = Kind.TENSOR if Kind.TENSOR in kinds else Kind.ARRAY if Kind.ARRAY in kinds else Kind.UNKNOWN
        return Value(mask, graph=False)

    def ifexp(self, node: ast.IfExp, env: Env) -> Value:
        if is_tensor_check(node.test) and self.infer.value(node.test.args[0], env).graph:
            return self.infer.value(node.body, env)
        return join([self.infer.value(node.body, env), self.infer.value(node.orelse, env)])
