"""How containers grow: by what is put into them, in which loops, over what."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import GROWING, Definition, How, Mutation
from flake8_torchleak.model.drawing import gone_over
from flake8_torchleak.model.flow import Round
from flake8_torchleak.model.names import dotted, last_name
from flake8_torchleak.model.values import FLAG, Kind, Size, Value, Why, join

if TYPE_CHECKING:
    from flake8_torchleak.model.classes import ClassFacts
    from flake8_torchleak.model.env import Env
    from flake8_torchleak.model.infer import Infer

_MOST_MUTATIONS = 200
"""Changes of one container that are looked at."""
SMALL_RANGE = 1000
"""A `range` with a literal end up to this is a toy, not data."""


class Growth:
    """Sizes of containers and of what is iterated."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer

    def iteration(self, iterables: list[ast.expr], env: Env) -> tuple[Size, Why]:
        """How often nested loops over these run: with the data, a few times, or unknown."""
        sizes: list[Size] = []
        for each in iterables:
            value = self.infer.value(each, env)
            size = self._size(value, each)
            if size is Size.GROWS:
                return size, value.why or ((each, f"one entry per element of `{_text(each)}`"),)
            sizes.append(size)
        return (Size.UNKNOWN if Size.UNKNOWN in sizes else Size.SMALL), ()

    def _size(self, value: Value, node: ast.expr) -> Size:
        if value.kind is Kind.FILE or value.kind in (Kind.FRAME, Kind.LOADER) or value.grows:
            return Size.GROWS
        if value.kind is Kind.JSON or value.size is Size.GROWS:
            return Size.GROWS
        if value.size is Size.SMALL and (value.is_container or value.kind in (Kind.RANGE, Kind.ITERATOR)):
            return Size.SMALL
        return Size.SMALL if hints.is_small(last_name(node)) else Size.UNKNOWN

    def grown(self, value: Value, mutations: list[Mutation], since: Definition | None, env: Env) -> Value:
        """The container after its changes. `since` is the binding after which they count (None: all of them)."""
        tree = self.infer.tree
        floor = set(tree.loops(since.statement)) if since is not None else set()
        if len(mutations) > _MOST_MUTATIONS:
            scope, key = tree.scope(mutations[0].node), mutations[0].key
            self.infer.flow.cut.setdefault(scope, f"`{key}` is changed at more than {_MOST_MUTATIONS} places")
        told = {node for each in mutations for node in each.within}
        for each in mutations[:_MOST_MUTATIONS]:
            if (each.method not in GROWING and each.method != "augment") or each.node in told:
                continue  # what a method adds that it is handed is looked at where it is called
            loops = [loop for loop in self.infer.flow.loops(each) if loop not in floor]
            value = self._put(value, each, loops, env)
        return value

    def _put(self, value: Value, change: Mutation, loops: list[Round], env: Env) -> Value:
        infer = self.infer
        if value.is_shallow and change.depth:
            return value  # what is in its entries is changed, which others have as well
        put = infer.value(change.value, env) if change.value is not None else Value()
        bulk = change.method in ("extend", "update", "augment")
        size, why = self._times(loops, env)
        if bulk and size is not Size.GROWS:
            inner = self._size(put, change.value) if change.value is not None else Size.UNKNOWN
            if inner is Size.GROWS:
                size, why = inner, put.why
            elif inner is Size.UNKNOWN and (size is Size.SMALL or not loops):
                size = Size.UNKNOWN if put.kind is not Kind.NUMBER else size
        inside = put if put.kind is Kind.JSON and put.element is None else put.element  # parsed data is of parsed data
        element = inside if bulk else put
        if change.method not in ("update", "augment") and self._is_outer_counter(change.value, loops):
            element = put = FLAG
        text = f"filled by `{_verb(change.method)}`"
        gone = gone_over(infer.flow, loops[0]) if loops else None
        if gone is not None:
            over = _text(gone)
            text += f" in a loop over `{over}`" if over != "..." else " in a loop"
        field = _field(change) if change.depth == 1 else ""
        parts = dict(value.fields)
        if field in parts and parts[field].is_container:
            parts[field] = self._put(parts[field], replace(change, depth=0, target=None), loops, env)
            value = value.but(fields=tuple(parts.items()))
        if change.depth or change.method == "setitem":
            if isinstance(change.index, ast.Constant) and change.method == "setitem" and not change.depth:
                fields, key = dict(value.fields), change.index.value
                if isinstance(key, str):
                    fields[key] = join([fields[key], put]) if key in fields else put
                kept = value.element if value.is_shallow else _joined(value.element, put)
                return value.but(element=kept, graph=value.graph or put.graph, fields=tuple(fields.items()))
            if change.depth and change.method in ("append", "add", "extend", "insert"):
                put = Value(Kind.LIST, size=size, element=element, why=((change.node, text),))
                element = put
        if value.size is Size.GROWS:
            return value.but(element=_joined(value.element, element))
        return value.but(
            size=size if size is Size.GROWS or value.size is not Size.UNKNOWN else value.size,
            element=_joined(value.element, element),
            graph=True if put.graph else value.graph,
            why=((change.node, text), *why)[:4] if size is Size.GROWS else (value.why or ((change.node, text),)),
            items=(),
        )

    def _is_outer_counter(self, value: ast.expr | None, loops: list[Round]) -> bool:
        """Whether what is put in is a counter with few values: of an outer `enumerate`, or of an inner `range`.

        `[i] * n` of any enumerate's counter too: one object for n entries.
        """
        if (
            isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.Mult)
            and isinstance(value.left, ast.List)
            and value.left.elts
        ):
            repeated = value.left.elts[0]
            return isinstance(repeated, ast.Name) and any(
                d.path == (0,) and d.how is How.ITERATE for d in self.infer.flow.reaching(repeated.id, repeated)
            )
        if not isinstance(value, ast.Name) or len(loops) < 2:
            return False
        for each in self.infer.flow.reaching(value.id, value):
            if isinstance(each.statement, (ast.For, ast.AsyncFor)) and each.statement in loops[:-1]:
                if self.infer.value(each.statement.iter).kind is Kind.RANGE:
                    return True
            if each.statement in loops[1:] and each.path == (0,) and isinstance(each.value, ast.Call):
                return last_name(each.value.func) == "enumerate"
        return False

    def is_rewritten(self, facts: ClassFacts, attr: str) -> bool:
        """Whether some method goes over the attribute and binds keys of its elements anew (`entry[k] = tensor`)."""
        for function in facts.all_functions:
            mutations = self.infer.flow.mutations(function)
            for definitions in self.infer.flow.definitions(function).values():
                for each in definitions:
                    if each.how is not How.ITERATE or each.value is None:
                        continue
                    over = any(isinstance(n, ast.Attribute) and n.attr == attr for n in ast.walk(each.value))
                    if over and any(m.method == "setitem" for m in mutations.get(each.key, [])):
                        return True
        return False

    def _times(self, loops: list[Round], env: Env) -> tuple[Size, Why]:
        if not loops:
            return Size.SMALL, ()
        over = [gone_over(self.infer.flow, loop) for loop in loops]
        size, why = self.iteration([each for each in over if each is not None], env)
        if size is Size.SMALL and None in over:
            size = Size.UNKNOWN
        return size, why


def _joined(old: Value | None, new: Value | None) -> Value | None:
    if old is None or new is None:
        return old or new
    if Kind.UNKNOWN in (old.kind, new.kind):
        return new if new.kind is Kind.UNKNOWN else old  # what one kind allows, the other may not
    return join([old, new])


def _field(change: Mutation) -> str:
    """The entry that a change is made in: "rows" of `table["rows"].append(row)`."""
    target = change.target
    key = target.slice.value if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) else ""
    return key if isinstance(key, str) else ""


def _verb(method: str) -> str:
    return {"setitem": "[...] =", "augment": "+="}.get(method, method)


def _text(node: ast.expr) -> str:
    """A short rendering of an expression for a note."""
    calls = 0
    while isinstance(node, ast.Call):
        node, calls = node.func, calls + 1
    return (".".join(dotted(node) or ["..."])) + "(...)" * min(calls, 2)
