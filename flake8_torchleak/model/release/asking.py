"""Who asks values for their history, or which of two they are, anywhere in a module.

What is kept is followed as far as it can be seen. Where it goes out of sight it may come back by another way: a helper
puts it into a list that is read here, an object that was handed it gives it out again. Whoever is handed it there and
asks sees whether it was released, so that code which asks what may be anything counts as asking for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.firstparty import holds, whole
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.release.harmless import ASKING, ENDING, HISTORY
from flake8_torchleak.model.tree import SCOPES, TRIES, Tree
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_TELLING = HISTORY - {"grad"}
"""What differs between a spent tensor and one that is released: `.grad` is None for both, as they are no leaves."""
_GIVING_PARAMETERS = frozenset({
    "parameters", "named_parameters", "param_groups", "buffers", "named_buffers", "modules", "named_modules",
    "children", "named_children",
})  # fmt: skip
"""What gives the tensors of a network or an optimizer, or networks: nothing that a step made."""
_OF_NETWORKS = frozenset({"parameters", "named_parameters", "eval", "train", "state_dict", "load_state_dict"})


class Asking:
    """Who asks in one module, and in those around it."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def around(self) -> ast.expr | None:
        """The first place that asks what may be anything: in the module, in what it imports, in those that use it."""
        return next((each for each in (self.here, *self._elsewhere()) if each is not None), None)

    @cached_property
    def here(self) -> ast.expr | None:
        """The first place in the module that asks what may be anything."""
        found = self.module.tree.everywhere(ast.Attribute, ast.Call, ast.Compare)
        return next((each for each in found if self._asks(each)), None)

    def _elsewhere(self) -> Iterator[ast.expr | None]:
        """The same of other files, as far as they can be seen."""
        module = self.module
        if module.project is None:
            return
        top = module.project.top
        users = (path for word in sorted(_TELLING) for path in module.users.paths(word))
        for path in dict.fromkeys((*module.project.imported(module.tree), *users)):
            found = whole(path, top) if any(holds(path, top, word) for word in _TELLING) else None
            if found is not None:
                yield type(module)(*found, module.config, path).release.asking.here

    def _asks(self, node: ast.Attribute | ast.Call | ast.Compare) -> bool:
        if isinstance(node, ast.Attribute):
            return self._tells(node) and not self._is_another(node.value)
        if isinstance(node, ast.Call):
            qualname = self.module.names.qualname(node.func)
            # To copy what has a history raises: before a fix such a program only gets there in a `try`.
            tells = qualname in ASKING and (qualname == "id" or is_tried(self.module.tree, node))
            return tells and not all(map(self._is_another, node.args))
        return compares_identity(node) and not any(map(self._is_another, (node.left, *node.comparators)))

    def _tells(self, node: ast.Attribute) -> bool:
        """Whether an attribute tells of history; `numpy` and assignments tell by what they raise."""
        if node.attr in _TELLING and isinstance(node.ctx, ast.Load):
            return True
        return node.attr in (*_TELLING, "numpy") and is_tried(self.module.tree, node)

    def _is_another(self, node: ast.expr) -> bool:
        """Whether a value is a parameter, a network, or nothing that carries a history."""
        found = self.module.infer.value(node)
        released = isinstance(node, ast.Call) and last_name(node.func) in ENDING
        if released or found.graph is False or found.kind not in (Kind.UNKNOWN, Kind.TENSOR):
            return True
        root = node
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        if isinstance(root, ast.Name) and any(map(_gives_parameters, self._sources(root))):
            return True
        key = key_of(node)
        return bool(key) and any(each.attr in _OF_NETWORKS for each in self._attributes.get(key, ()))

    def _sources(self, name: ast.Name) -> Iterator[ast.AST]:
        """What a variable is an element of: what a loop, a comprehension or a function that is applied goes over."""
        module = self.module
        generator = module.names.comprehension(name)
        scope = module.tree.scope(name)
        if generator is not None:
            yield generator.iter
        elif isinstance(scope, ast.Lambda):
            up = module.tree.parents[scope]
            yield from (each for each in ast.iter_child_nodes(up) if each is not scope)
        else:
            statements = [each.statement for each in module.flow.reaching(name.id, name)]
            loops = [each for each in statements if isinstance(each, (ast.For, ast.AsyncFor))]
            yield from (each.iter for each in loops if len(loops) == len(statements))

    @cached_property
    def _attributes(self) -> dict[str, list[ast.Attribute]]:
        """Variable -> the attributes that are read of it, anywhere in the module."""
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.module.tree.everywhere(ast.Attribute):
            found.setdefault(key_of(node.value), []).append(node)
        return found


def _gives_parameters(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr in _GIVING_PARAMETERS for each in ast.walk(node))


def compares_identity(node: ast.Compare) -> bool:
    """Whether a comparison asks if two values are one object: `x is y`, not `x is None`."""
    sides = [node.left, *node.comparators]
    return any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops) and not any(
        isinstance(each, ast.Constant) for each in sides
    )


def is_tried(tree: Tree, node: ast.AST) -> bool:
    """Whether an exception at a place is caught in its function: `.numpy()` raises where there is a history."""
    return any(
        isinstance(up, TRIES) and bool(up.handlers) and any(tree.inside(node, each) for each in up.body)
        for up in takewhile(lambda up: not isinstance(up, SCOPES), tree.ancestors(node))
    )
