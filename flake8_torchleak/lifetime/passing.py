"""What a forward pass gives without its history, by its text: parts that are detached before they are returned."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.nodes import below, of_node
from flake8_torchleak.lifetime.values import Atom, Obj
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.effects import CUTS
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.tree import FunctionNode

_MOST_LEVELS = 4
"""Variables that a part is made of, one from another."""
_THROUGH = table.SAME_NUMBERS | {
    "view_as", "reshape_as", "flatten", "unflatten", "transpose", "permute", "expand_as", "t", "float", "type",
    "type_as",
}  # fmt: skip
"""Methods that give what a tensor is, in another shape, type or place, whatever they are told."""
_PUTTING = frozenset({"append", "appendleft", "insert", "extend"})
_NOTHING: frozenset[Hashable] = frozenset()
_PAIR = 2
"""Values and their indices."""


def cut_of(network: Atom) -> frozenset[Hashable]:
    """The parts of what a network gives that its forward pass detaches, as far as its class is seen."""
    cls = network.made.cls if isinstance(network.made, Obj) else None
    forward = cls.method("forward") if isinstance(cls, ClassInfo) else None
    return cut_parts(forward[1]) if forward is not None else _NOTHING


@of_node
def cut_parts(forward: FunctionNode) -> frozenset[Hashable]:
    """The places of a tuple, and the keys of a dict, under which every `return` gives nothing with history."""
    return _Pass(forward).cut()


class _Pass:
    """The text of one forward pass."""

    def __init__(self, forward: FunctionNode) -> None:
        self._above: dict[ast.AST, ast.AST] = {}
        self._parameters = [each.arg for each in parameters(forward)]
        stack: list[ast.AST] = [forward]
        while stack:
            node = stack.pop()
            inner = [each for each in below(node) if each is not None]
            self._above.update(dict.fromkeys(inner, node))
            stack += inner

    def cut(self) -> frozenset[Hashable]:
        """What all its returns have in common."""
        returned = [each.value for each in self._above if isinstance(each, ast.Return) and each.value is not None]
        found = [self._of_one(each) for each in returned]
        return frozenset.intersection(*found) if found else _NOTHING

    def _of_one(self, returned: ast.expr) -> frozenset[Hashable]:
        if isinstance(returned, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in returned.elts):
            return frozenset(at for at, each in enumerate(returned.elts) if self._is_cut(each, _MOST_LEVELS))
        if isinstance(returned, ast.Dict):
            entries = zip(returned.keys, returned.values, strict=True)
            named = ((getattr(key, "value", None), each) for key, each in entries)
            return frozenset(key for key, each in named if isinstance(key, str) and self._is_cut(each, _MOST_LEVELS))
        return _NOTHING

    def _is_cut(self, value: ast.expr, levels: int) -> bool:
        """Whether an expression has no history, whichever way the pass went: of a variable, all that it is bound to."""
        if isinstance(value, ast.Constant):
            return True
        if isinstance(value, ast.Attribute):
            return value.attr == "data" and not self._is_module(value.value)
        if isinstance(value, ast.Subscript):
            return self._is_index_of(value)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr in CUTS:
                return not self._is_module(value.func.value)
            if value.func.attr in table.WHOLE_NUMBERS:
                return self._is_of_tensors(value.func.value)
            if value.func.attr in _THROUGH:
                return self._is_cut(value.func.value, levels)
            if _is_torch(value.func.value) and value.func.attr in table.JOINS and value.args:
                return self._is_cut(value.args[0], levels)
            given = [*value.args, *(each.value for each in value.keywords)]  # `x.detach().mean(dim=1)`
            plain = all(isinstance(each, ast.Constant) for each in given) and not value.func.attr.endswith("_")
            return plain and self._is_cut(value.func.value, levels)
        if isinstance(value, (ast.Tuple, ast.List)):
            return all(self._is_cut(each, levels) for each in value.elts)
        if isinstance(value, ast.ListComp):
            return self._is_cut(value.elt, levels)
        if not isinstance(value, ast.Name) or not levels or value.id in self._parameters:
            return False
        bound = self._bound(value.id)
        return bool(bound) and all(self._is_cut(each, levels - 1) for each in bound)

    def _is_module(self, value: ast.expr) -> bool:
        """Whether an expression is the module itself: what it calls `data` may be anything."""
        return isinstance(value, ast.Name) and value.id in self._parameters[:1]

    def _is_index_of(self, part: ast.Subscript) -> bool:
        """Whether a part is the indices of the largest, or the like: `scores.max(1)[1]`; of two tensors it is a row."""
        call = part.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return False
        if not self._is_of_tensors(call.func.value) or getattr(part.slice, "value", None) != 1:
            return False
        told = call.args[1:] if _is_torch(call.func.value) else call.args
        along = any(each.arg == "dim" for each in call.keywords) or (bool(told) and all(map(_is_number, told)))
        name = call.func.attr
        return name in table.WITH_INDICES and (along or name in table.ALWAYS_WITH_INDICES)

    def _is_of_tensors(self, base: ast.expr) -> bool:
        """Whether a method is torch's, as far as the text tells: not of a part of the module, or of what is imported.

        What a call gives is a tensor; a variable is one if nothing binds it to a part of the module.
        """
        if isinstance(base, ast.Call):
            return True
        while isinstance(base, (ast.Attribute, ast.Subscript)):
            base = base.value
        if not isinstance(base, ast.Name):
            return isinstance(base, (ast.BinOp, ast.UnaryOp))
        if base.id in self._parameters or _is_torch(base):
            return not self._is_module(base)
        uses = [each for each in self._above if isinstance(each, ast.Name) and each.id == base.id]
        stores = [self._above[each] for each in uses if isinstance(each.ctx, ast.Store)]
        return bool(stores) and not any(self._is_part_of_module(each) for each in stores)

    def _is_part_of_module(self, store: ast.AST) -> bool:
        """Whether a statement binds a variable to a part of the module, or goes over one, perhaps."""
        value = getattr(store, "value", None) if isinstance(store, (ast.Assign, ast.AugAssign)) else None
        if isinstance(store, ast.Tuple):
            value = getattr(self._above[store], "value", None)
        if isinstance(value, ast.Call):
            return last_name(value.func)[:1].isupper()  # an object of the project, perhaps
        while isinstance(value, (ast.Attribute, ast.Subscript)):
            value = value.value
        return value is None or (isinstance(value, ast.Name) and self._is_module(value))

    def _bound(self, name: str) -> list[ast.expr]:
        """What a variable is bound to, and what is put into it, anywhere in the pass; nothing if more may be done.

        A container may be filled by whoever gets it, and under another name; a tensor may be changed in place.
        """
        uses = [each for each in self._above if isinstance(each, ast.Name) and each.id == name]
        found: list[ast.expr] = []
        for use in uses:
            up = self._above[use]
            if isinstance(use.ctx, ast.Store):
                value = self._assigned(use, up)
                if value is None:
                    return []
                found.append(value)
            elif (put := self._put(use)) is not None:
                found += put
            elif not self._only_reads(use):
                return []
        filled = any(isinstance(each, (ast.List, ast.Tuple, ast.Dict, ast.ListComp)) for each in found)
        return [] if filled and any(map(self._hands_on, uses)) else found

    def _assigned(self, use: ast.Name, up: ast.AST) -> ast.expr | None:
        """What a name alone is bound to, or one of two to its part of a call that gives values and their indices."""
        if isinstance(up, ast.Assign):
            return up.value if len(up.targets) == 1 else None
        statement = self._above[up]
        if not isinstance(up, ast.Tuple) or not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
            return None
        at = up.elts.index(use)
        part = ast.Subscript(statement.value, ast.Constant(at), ast.Load())
        return part if len(up.elts) == _PAIR and self._is_index_of(part) else None

    def _put(self, use: ast.Name) -> list[ast.expr] | None:
        """What is put into a variable's value where that is used: `kept.append(x)`, `kept[i] = x`; None for others."""
        up = self._above[use]
        top = self._above[up]
        if isinstance(up, ast.Attribute) and isinstance(top, ast.Call) and top.func is up and up.attr in _PUTTING:
            return top.args[-1:]
        if isinstance(up, ast.Subscript) and isinstance(top, ast.Assign) and up in top.targets:
            return [top.value]
        return None

    def _only_reads(self, use: ast.Name) -> bool:
        """Whether a use changes nothing, and gives the value no other name."""
        node: ast.AST = use
        while isinstance(self._above[node], (ast.Subscript, ast.Attribute)):
            node = self._above[node]
            if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
                return False
        up = self._above[node]
        if isinstance(up, ast.Call) and up.func is node:
            method = node.attr if isinstance(node, ast.Attribute) else ""
            return bool(method) and not method.endswith("_") and method not in _PUTTING
        return not isinstance(up, (ast.Assign, ast.AugAssign, ast.NamedExpr, ast.AnnAssign))

    def _hands_on(self, use: ast.Name) -> bool:
        """Whether a use hands the value itself on: in a call, or to a loop; reading an entry of it is none."""
        up = self._above[use]
        if isinstance(up, ast.Call) and isinstance(up.func, ast.Attribute) and _is_torch(up.func.value):
            return False
        return isinstance(up, (ast.Call, ast.keyword, ast.Starred, ast.For, ast.comprehension, ast.Lambda, ast.IfExp))


def _is_torch(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "torch"


def _is_number(node: ast.expr) -> bool:
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant) and isinstance(node.value, int)
