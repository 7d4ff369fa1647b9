"""Of which classes a Dataset may be that a loader is given."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.names import last_name

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


def is_chosen(user: Module, name: str) -> bool:
    """Whether a file puts a class into a table, from which it takes one by name: `{"photos": Photos}[kind]`."""
    parents = user.tree.parents
    named = (each for each in user.tree.all(ast.Name) if each.id == name)
    return any(isinstance(parents[each], ast.Dict) for each in named)


def classes_of(user: Module, dataset: ast.expr | None) -> set[str]:
    """The names of the classes that a Dataset may be made of; "" for what is not seen."""
    owned = user.classes.self_attribute(dataset) if dataset is not None else None
    bound: list[Definition] = []
    if isinstance(dataset, ast.Name):
        bound = user.flow.reaching(dataset.id, dataset)
    elif owned is not None:  # None is what it is before it is made
        bound = [
            each for each in owned[0].attributes.get(f"self.{owned[1]}", []) if not isinstance(each.value, ast.Constant)
        ]
    made = user.infer.value(dataset).made if dataset is not None and len(bound) < 2 else None
    if isinstance(made, ast.ClassDef):
        return {made.name}
    values = [each.value if each.is_plain else None for each in bound] or [dataset]
    return {_made_by(user, each.func) if isinstance(each, ast.Call) else "" for each in values}


def _made_by(user: Module, func: ast.expr) -> str:
    """The name of what is called; "" for a variable that may be any class: `kind = TABLE[name]`."""
    bound = user.flow.reaching(func.id, func) if isinstance(func, ast.Name) else []
    if any(each.how is How.ASSIGN for each in bound):
        return ""
    return last_name(func)
