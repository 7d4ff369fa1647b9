"""What a variable stands for that is bound to what a library defines: `off = torch.no_grad`, and the like."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from flake8_torchleak.model.aliases import known_as
from flake8_torchleak.model.remember import remembered

if TYPE_CHECKING:
    from flake8_torchleak.model.names import Names
    from flake8_torchleak.model.tree import Scope

_IMPORTERS = frozenset({"import_module", "optional_import", "try_import", "lazy_import", "import_optional_dependency"})
"""Functions that give the module whose name they are given (MONAI's `optional_import` takes `name=` for a part)."""


class Standing:
    """Follows variables and class attributes that are bound once, to what an import names."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._following: set[tuple[Scope, str]] = set()

    @remembered
    def of(self, name: str, scope: Scope) -> str:
        """The dotted name of what a name of a scope, bound once and by no import, always stands for; "" for others."""
        bound = [each for each in self.names.bindings.get(scope, {}).get(name, ()) if not self._is_none(each)]
        if len(bound) != 1 or not isinstance(bound[0], ast.Name) or (scope, name) in self._following:
            return ""
        holder = self.names.tree.parents[bound[0]]
        if isinstance(holder, ast.Tuple) and holder.elts[0] is bound[0]:  # `cv2, found = optional_import("cv2")`
            holder = self.names.tree.parents[holder]
            value = holder.value if isinstance(holder, ast.Assign) else None
            return self._given(value) if isinstance(value, ast.Call) else ""
        if not isinstance(holder, (ast.Assign, ast.AnnAssign)) or holder.value is None:
            return ""
        self._following.add((scope, name))
        found = self._expression(holder.value)
        self._following.discard((scope, name))
        return found

    def _is_none(self, node: ast.AST) -> bool:
        """Whether it binds a name to None, as where a library is missing."""
        holder = self.names.tree.parents[node]
        return isinstance(holder, ast.Assign) and isinstance(holder.value, ast.Constant) and holder.value.value is None

    def in_class(self, name: str, scope: Scope, attribute: str) -> str:
        """The dotted name of what an attribute stands for that the body of a class, known by a name, sets."""
        bound = self.names.bindings[scope][name]
        return self.of(attribute, bound[0]) if len(bound) == 1 and isinstance(bound[0], ast.ClassDef) else ""

    def _expression(self, node: ast.expr) -> str:
        if isinstance(node, ast.IfExp):
            arms = {self._expression(each) for each in (node.body, node.orelse) if not isinstance(each, ast.Constant)}
            return arms.pop() if len(arms) == 1 else ""
        rest: list[str] = []
        while isinstance(node, ast.Attribute):
            rest.insert(0, node.attr)
            node = node.value
        first = self._given(node) if isinstance(node, ast.Call) else self._name(node)
        return known_as(".".join([first, *rest])) if first else ""

    def _name(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Name):
            return ""
        found = self.names.qualname(node)
        return found if "." in found or self.names.scope_of(node.id, node) is not None or _is_builtin(node.id) else ""

    def _given(self, call: ast.Call) -> str:
        """What `getattr(torch, "no_grad")`, `import_module("torch")` or `partial(torch.no_grad)` gives."""
        name, args = getattr(call.func, "attr", getattr(call.func, "id", "")), call.args
        if name == "getattr" and len(args) > 1:
            first, part = self._expression(args[0]), getattr(args[1], "value", None)
            return f"{first}.{part}" if first and isinstance(part, str) else ""
        if name == "partial" and len(args) == 1 and not call.keywords:
            return self._expression(args[0])
        if name not in _IMPORTERS or not args:
            return ""
        within = next((k.value for k in call.keywords if k.arg == "name"), None)
        parts = [getattr(each, "value", "") for each in (args[0], within) if each is not None]
        return ".".join(parts) if all(isinstance(each, str) and each for each in parts) else ""


def _is_builtin(name: str) -> bool:
    return hasattr(builtins, name)
