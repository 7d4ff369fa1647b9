"""Edits that give the same again and again, so that to leave them out of the store changes nothing that is read."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import is_changing
from flake8_torchleak.model.changed import Edit, root
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def repeats(module: Module, edit: Edit) -> bool:
    """Whether each read gives the same sample, edits and all, so that a copy changes nothing but what is stored.

    So it is where entries with constant keys are set to what does not depend on them, and nothing else of the class
    reads those entries.
    """
    name = root(edit.target)
    assert isinstance(name, ast.Name)  # what is copied is a variable
    keys: set[object] = set()
    changes = [each for each in module.flow.mutations(edit.function).get(name.id, []) if is_changing(each.method)]
    for each in changes:
        if each.method != "setitem" or each.depth or each.value is None or each.within:
            return False
        if not isinstance(each.index, ast.Constant):
            return False
        keys.add(each.index.value)
    for each in changes:
        for node in ast.walk(each.value) if each.value is not None else ():
            if isinstance(node, ast.Name) and node.id == name.id:
                up = module.tree.parents[node]
                entry = getattr(up.slice, "value", None) if isinstance(up, ast.Subscript) else None
                if entry is None or entry in keys:
                    return False
    owner = module.classes.around(edit.function)
    others = [each for each in owner.all_functions if each is not edit.function] if owner is not None else []
    if not changes or _is_read_whole(module, edit, others, records=all(isinstance(key, str) for key in keys)):
        return False
    return not any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.slice, ast.Constant)
        and node.slice.value in keys
        for function in others
        for node in module.tree.within(function)
    )


def _is_read_whole(module: Module, edit: Edit, others: list[FunctionNode], *, records: bool) -> bool:
    """Whether others read what the attribute holds with no key of an entry: they would see that an edit is missing.

    That is all of it (`iter(self.rows)`); or, where what is edited are no records but arrays or lists, any of it.
    """
    attribute = edit.value.origin.name.partition(".")[2] if edit.value.origin is not None else ""
    inside = [use for each in others for use in module.classes.self_uses(each).get(attribute, [])]
    for use in module.tree.everywhere(ast.Attribute):
        if use.attr == attribute and isinstance(use.ctx, ast.Load) and module.classes.self_attribute(use) is None:
            return True
    for use in inside:
        up = module.tree.parents[use]
        if isinstance(use.ctx, ast.Store) or (isinstance(up, ast.Call) and last_name(up.func) == "len"):
            continue
        if not records or isinstance(up, (ast.Call, ast.Return, ast.YieldFrom)):
            return True
    return False
