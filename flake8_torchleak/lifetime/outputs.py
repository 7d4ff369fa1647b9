"""What frameworks do with what their training step gives: they differentiate the loss, and may keep the rest."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.nodes import walk
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import Kind, Obj, Value, objects
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.tree import FunctionNode

_COLLECTING = "training_epoch_end"
"""Lightning before 2.0 collects what each training step gives for a class that has this method; it cuts the loss off
from its graph, takes the state of a recurrent layer out, and leaves all else as it is, since 1.6."""
_CUT_OFF = frozenset({"loss", "hiddens"})


def differentiated_of(result: Value) -> Value:
    """What a framework differentiates of what its training step is given back: the loss of a dict."""
    found: list[Value] = []
    for atom in result:
        if isinstance(atom.made, Obj) and atom.made.kind == "dict":
            found.append(atom.made.fields.get("loss", ()))
        elif isinstance(atom.made, Obj) and atom.made.kind == "tuple":
            found.append(atom.made.fields.get(0, ()))
        elif atom.kind is not Kind.NUMBER:
            found.append((atom,))
    return tuple(atom for value in found for atom in value)


def collect(run: Run, result: Value, function: FunctionNode, info: ClassInfo) -> None:
    """Keep what a framework collects of a training step, beside the loss, until the epoch ends."""
    method = info.method(_COLLECTING)
    if method is None or function.name != "training_step":
        return
    holder = run.of(run.object("list", method[1], 0))
    for made in objects(result):
        for key, value in list(made.fields.items()) if made.kind == "dict" else ():
            if key not in _CUT_OFF:
                run.keeper.stored(holder, value, _entry(made, key, function), None, None)


def _entry(made: Obj, key: object, function: FunctionNode) -> ast.AST:
    """Where a dict is given something: the entry of a display, all of it, or the step that makes it elsewhere."""
    node = made.node
    if node is None or node not in walk(function):
        return function
    if isinstance(node, ast.Dict):
        found = (
            v for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant) and k.value == key
        )
        return next(found, node)
    if isinstance(node, ast.Call):
        return next((keyword.value for keyword in node.keywords if keyword.arg == key), node)
    return node
