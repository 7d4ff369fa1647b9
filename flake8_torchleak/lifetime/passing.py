"""What a forward pass gives without its history, by its text: parts that are detached before they are returned."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from flake8_torchleak.lifetime.libraries import NO_HISTORY_METHODS
from flake8_torchleak.lifetime.nodes import of_node, walk
from flake8_torchleak.model.names import parameters
from flake8_torchleak.model.tree import FunctionNode

_MOST_LEVELS = 4
"""Variables that a part is made of, one from another."""
_PUTTING = frozenset({"append", "appendleft", "insert", "extend", "add", "update", "setdefault"})
_CUTTING = NO_HISTORY_METHODS - {"type"}
_NOTHING: frozenset[Hashable] = frozenset()


@of_node
def cut_parts(forward: FunctionNode) -> frozenset[Hashable]:
    """The places of a tuple, and the keys of a dict, under which every `return` gives nothing with history."""
    returned = [each.value for each in walk(forward) if isinstance(each, ast.Return) and each.value is not None]
    found = [_of_one(forward, each) for each in returned]
    return frozenset.intersection(*found) if found else _NOTHING


def _of_one(forward: FunctionNode, returned: ast.expr) -> frozenset[Hashable]:
    if isinstance(returned, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in returned.elts):
        return frozenset(at for at, each in enumerate(returned.elts) if _is_cut(forward, each, _MOST_LEVELS))
    if isinstance(returned, ast.Dict):
        entries = zip(returned.keys, returned.values, strict=True)
        return frozenset(
            key.value
            for key, each in entries
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and _is_cut(forward, each, _MOST_LEVELS)
        )
    return _NOTHING


def _is_cut(forward: FunctionNode, value: ast.expr, levels: int) -> bool:
    """Whether an expression has no history, whichever way the pass went: of a variable, all that it is bound to."""
    if isinstance(value, ast.Constant):
        return True
    if isinstance(value, ast.Attribute):
        return value.attr == "data"
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in _CUTTING:
            return True
        given = [*value.args, *(each.value for each in value.keywords)]  # `x.detach().mean(dim=1)`
        return all(isinstance(each, ast.Constant) for each in given) and _is_cut(forward, value.func.value, levels)
    if isinstance(value, (ast.Tuple, ast.List)):
        return all(_is_cut(forward, each, levels) for each in value.elts)
    if isinstance(value, ast.ListComp):
        return _is_cut(forward, value.elt, levels)
    if not isinstance(value, ast.Name) or not levels:
        return False
    bound, is_known = _bound(forward, value.id)
    return is_known and bool(bound) and all(_is_cut(forward, each, levels - 1) for each in bound)


def _bound(forward: FunctionNode, name: str) -> tuple[list[ast.expr], bool]:
    """What a variable is bound to, or what is put into it, anywhere in a pass; and whether all of that is seen."""
    found: list[ast.expr] = []
    left = sum(each.arg == name for each in parameters(forward))
    for node in walk(forward):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            left += 1
        elif isinstance(node, ast.Assign):
            whole = sum(_is(each, name) for each in node.targets)
            entries = sum(isinstance(each, ast.Subscript) and _is(each.value, name) for each in node.targets)
            found += [node.value] * bool(whole or entries)
            left -= whole
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is(node.func.value, name):
            if node.func.attr in _PUTTING:
                found += node.args[-1:]
    return found, not left


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
