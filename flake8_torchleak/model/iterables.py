"""What Python's own containers and iterator functions give."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.env import Env
from flake8_torchleak.model.growth import SMALL_RANGE
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.values import NUMBER, STRING, UNKNOWN, Kind, Size, Value, join, shallow

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer

_MOST_LEVELS = 5
"""Parts of parts whose owner is followed through a copy."""


class Iterables:
    """Values of `list(...)`, `zip(...)`, `enumerate(...)` and their like."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer

    def container(self, node: ast.Call, kind: Kind, qualname: str, env: Env) -> Value:
        if qualname.startswith("queue."):
            return Value(Kind.DEQUE, size=Size.SMALL)
        if kind is Kind.DEQUE and (len(node.args) > 1 or any(k.arg == "maxlen" for k in node.keywords)):
            return Value(Kind.DEQUE, size=Size.SMALL, items=())
        if qualname == "collections.defaultdict":
            factory = last_name(node.args[0]) if node.args else ""
            element = (
                Value(Kind.LIST, size=Size.SMALL)
                if factory == "list"
                else Value(Kind.DICT, size=Size.SMALL)
                if factory == "dict"
                else None
            )
            return Value(Kind.DICT, size=Size.SMALL, element=element)
        if not node.args:
            values = [self.infer.value(k.value, env) for k in node.keywords]
            fields = tuple((k.arg, v) for k, v in zip(node.keywords, values, strict=True) if k.arg)
            return Value(kind, size=Size.SMALL, element=join(values) if values else None, fields=fields)
        first = self.infer.value(node.args[0], env)
        size, why = self.infer.growth.iteration([node.args[0]], env)
        copied = shallow(first) if first.origin is not None else first
        element = copied.element if copied.element is not None else self.infer.parts.element(first).but(origin=None)
        if (
            kind is Kind.DICT
            and first.kind is Kind.ITERATOR
            and first.element is not None
            and len(first.element.items) == 2
        ):
            element = first.element.items[1]
        if first.kind is Kind.SET and kind is not Kind.SET:
            size = Size.UNKNOWN if size is Size.GROWS else size  # distinct values: class names more often than samples
        fields = copied.fields if kind is Kind.DICT else ()
        evidence = why or ((node, f"built with `{qualname}`"),)
        return Value(kind, graph=first.graph, size=size, element=element, why=evidence, fields=fields)

    def zip(self, node: ast.Call, env: Env) -> Value:
        values = [self.infer.value(a, env) for a in node.args]
        if len(node.args) == 1 and isinstance(node.args[0], ast.Starred) and values[0].element is not None:
            columns = tuple(Value(Kind.TUPLE, element=each) for each in values[0].element.items)
            return Value(Kind.ITERATOR, items=columns, why=values[0].why)
        size, why = self.infer.growth.iteration(list(node.args), env) if node.args else (Size.UNKNOWN, ())
        items = tuple(self.infer.parts.element(v, a) for v, a in zip(values, node.args, strict=True))
        return Value(Kind.ITERATOR, size=size, element=Value(Kind.TUPLE, items=items), why=why)

    def range(self, node: ast.Call, env: Env) -> Value:
        end = node.args[0] if len(node.args) == 1 else node.args[1] if len(node.args) > 1 else None
        if isinstance(end, ast.Constant) and isinstance(end.value, int):
            size = Size.SMALL if end.value <= SMALL_RANGE else Size.GROWS
            return Value(Kind.RANGE, size=size, element=NUMBER)
        if isinstance(end, ast.Call) and last_name(end.func) == "len" and end.args:
            size, why = self.infer.growth.iteration([end.args[0]], env)
            return Value(Kind.RANGE, size=size, element=NUMBER, why=why)
        return Value(Kind.RANGE, element=NUMBER)

    def passed(self, node: ast.Call, last: str, env: Env) -> Value:
        if not node.args:
            iterable = next((k.value for k in node.keywords if k.arg in ("iterable", "sequence")), None)
            return self.infer.value(iterable, env) if iterable is not None else UNKNOWN
        if last == "map" and len(node.args) > 1:
            size, why = self.infer.growth.iteration([node.args[1]], env)
            return Value(
                Kind.ITERATOR, size=size, why=why, element=STRING if last_name(node.args[0]) == "str" else None
            )
        argument = node.args[-1] if last in ("map", "filter") else node.args[0]
        value = self.infer.value(argument, env)
        if last == "from_iterable":
            inner = self.infer.parts.element(value, argument)
            return Value(
                Kind.ITERATOR, size=Size.GROWS if value.grows else inner.size, element=inner.element, why=value.why
            )
        if last == "next":
            return self.infer.parts.element(value, argument)
        if last in ("copy", "deepcopy"):
            graph = None if value.graph and last == "copy" else value.graph  # copy.copy of a tensor drops its history
            owned = shallow(value) if value.is_container else value.but(origin=None)  # what else it copies, nobody sees
            made = owned.but(graph=graph) if value.kind is not Kind.MODULE else value
            return _own(made, _MOST_LEVELS) if last == "deepcopy" else made
        if last == "enumerate":
            size = value.size
            inner = self.infer.parts.element(value, argument)
            if value.kind is Kind.FILE or value.kind is Kind.FRAME:
                size = Size.GROWS
            return Value(Kind.ITERATOR, size=size, element=Value(Kind.TUPLE, items=(NUMBER, inner)), why=value.why)
        if last == "trange":
            return Value(Kind.RANGE, element=NUMBER)
        return value

    def summed(self, node: ast.Call, env: Env) -> Value:
        value = self.infer.value(node.args[0], env) if node.args else UNKNOWN
        element = value.element or UNKNOWN
        return (
            Value(Kind.TENSOR, graph=True)
            if element.graph or value.graph
            else NUMBER
            if element.kind is Kind.NUMBER
            else UNKNOWN
        )


def _own(value: Value, levels: int) -> Value:
    """A value whose parts, and theirs, are nobody else's."""
    if not levels:
        return UNKNOWN
    return value.but(
        origin=None,
        element=_own(value.element, levels - 1) if value.element is not None else None,
        items=tuple(_own(each, levels - 1) for each in value.items),
        fields=tuple((key, _own(each, levels - 1)) for key, each in value.fields),
    )
