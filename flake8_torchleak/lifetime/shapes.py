"""What the text of a class, or of a function, says of the networks in it: layers, states, blocks without gradients."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.nodes import of_node, walk
from flake8_torchleak.lifetime.values import Atom, Obj
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model import hints
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.networks import WITH_PARAMETERS


@of_node
def turns_off(function: ast.AST) -> bool:
    """Whether a function has a block without gradients: who knows of that wants them in the rest of it."""
    blocks = (item for node in walk(function) if isinstance(node, (ast.With, ast.AsyncWith)) for item in node.items)
    calls = (each.context_expr for each in blocks if isinstance(each.context_expr, ast.Call))
    return any(hints.turns_grad_off(last_name(call.func)) for call in calls)


@of_node
def has_layers(cls: ast.ClassDef) -> bool:
    """Whether the constructor of a class makes layers or parameters: what it sets is not known if it was too long."""
    made = (node for each in cls.body if getattr(each, "name", "") == "__init__" for node in walk(each))
    names = {last_name(node.func) for node in made if isinstance(node, ast.Call)}
    return not names.isdisjoint({*WITH_PARAMETERS, "Parameter"})


@of_node
def used_as_networks(cls: ast.ClassDef) -> frozenset[str]:
    """Attributes that a class calls, goes over or into: numbers and flags, of which no more is known, are not."""
    found: set[str] = set()
    numbers: set[str] = set()
    for node in walk(cls):
        used: ast.AST | None = None
        if isinstance(node, (ast.BinOp, ast.Compare)):
            own = (each for each in _counted_with(node) if isinstance(each, ast.Attribute))
            numbers.update(each.attr for each in own if isinstance(each.value, ast.Name) and each.value.id == "self")
        elif isinstance(node, (ast.For, ast.comprehension)):
            used = node.iter
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            used = node.value
        elif isinstance(node, ast.Call):
            used = node.func
        while used is not None:
            if isinstance(used, ast.Attribute):
                found.add(used.attr)
            used = getattr(used, "func", getattr(used, "value", None))
        if isinstance(node, ast.Call):  # `enumerate(self.layers)`, `checkpoint(self.block, x)`
            found.update(each.attr for each in node.args if isinstance(each, ast.Attribute))
    return frozenset(found - numbers)


def _counted_with(node: ast.BinOp | ast.Compare) -> list[ast.expr]:
    """Operands that cannot be networks, nor lists of these: of what only numbers and tensors have an operator for."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right] if isinstance(node.op, (ast.Sub, ast.Div, ast.Pow, ast.MatMult)) else []
    return [node.left, *node.comparators] if isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) else []


def is_recurrent(atom: Atom) -> bool:
    """Whether a network is handed a state beside its input: a recurrent layer, or a class with one."""
    if isinstance(atom.made, Obj):
        order = atom.made.cls.order if isinstance(atom.made.cls, ClassInfo) else []
        names = _NO_NAMES.union(*(_names(each.node) for each in order))
        return not names.isdisjoint(table.RECURRENT) and names.isdisjoint(_CUTTING)
    return atom.made in table.RECURRENT


_CUTTING = frozenset({"detach", "no_grad", "detach_", "data"})
"""What cuts a state from its graph."""
_NO_NAMES: frozenset[str] = frozenset()


@of_node
def _names(cls: ast.ClassDef) -> frozenset[str]:
    """The names that stand in a class."""
    return frozenset(last_name(each) for each in walk(cls) if isinstance(each, (ast.Name, ast.Attribute)))
