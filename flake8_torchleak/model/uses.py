"""Whether a variable is only shown: printed, formatted, logged, or counted into something that is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import Scope

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_SHOWS = frozenset({
    "print", "str", "repr", "float", "format", "info", "debug", "warning", "log", "write", "add_scalar", "add_scalars",
    "set_postfix", "set_description", "set_postfix_str", "log_metric", "log_metrics", "isnan", "isfinite", "isinf",
})  # fmt: skip
"""Functions that take a number or a tensor of one element alike, and keep neither."""
_COUNTS = frozenset({
    "round", "abs", "sum", "len", "max", "min", "numpy.mean", "numpy.sum", "numpy.average", "numpy.std", "numpy.median",
    "statistics.mean", "statistics.fmean", "math.sqrt", "math.exp", "math.log",
})  # fmt: skip
"""Functions whose result is a number if what they get is numbers."""
_MOST_VARIABLES = 8


class Uses:
    """What variables of one module are used for."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def other(self, key: str, own: ast.AST) -> ast.AST | None:
        """The first use of a variable of the file that could tell a number from a tensor; None if it is only shown.

        own: the statement that adds to the variable, whose own reading of it does not count.
        """
        if "." in key:
            return own
        others = self._others(key, self.module.names.scope_of(key, own))
        return next((each for each in others if not self.module.tree.inside(each, own)), None)

    @remembered
    def _others(self, key: str, owner: Scope | None) -> list[ast.Name]:
        """The uses that could tell a number from a tensor: of the variable, and of those that get its value."""
        queue, found = [(key, owner)], []
        seen = {queue[0]}
        while queue:
            for node in self.module.release.escapes.reads(*queue.pop()):
                where = _destination(self.module, node)
                if isinstance(where, ast.Name) and len(seen) < _MOST_VARIABLES:
                    variable = where.id, self.module.names.scope_of(where.id, where)
                    if variable not in seen:
                        seen.add(variable)
                        queue.append(variable)
                elif where is not None:
                    found.append(node)
        return found


def _destination(module: Module, node: ast.expr) -> ast.AST | None:
    """Where a value goes: None if it is shown, the variable it is assigned to, or the node that may do otherwise."""
    child: ast.AST = node
    while True:
        parent = module.tree.parents[child]
        if isinstance(parent, (ast.FormattedValue, ast.Compare, ast.Expr)):
            return None
        if isinstance(parent, ast.Call):
            if child is parent.func:
                return parent
            qualname = module.names.qualname(parent.func)
            if last_name(parent.func) in _SHOWS and not qualname.startswith("torch."):
                return None  # torch.isnan and torch.log want a tensor
            if qualname not in _COUNTS:
                return parent
        elif isinstance(parent, ast.Attribute):
            outer = module.tree.parents[parent]
            fills = isinstance(outer, ast.Call) and outer.func is parent and parent.attr in ("append", "clear")
            return None if fills else parent
        elif isinstance(parent, ast.Assign) and len(parent.targets) == 1:
            return parent.targets[0]
        elif isinstance(parent, ast.Subscript):
            read = child is parent.value and isinstance(parent.ctx, ast.Load)
            if not read or not module.infer.value(parent.value).is_container:
                return parent
        elif not isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict, ast.Tuple, ast.List, ast.keyword)):
            return parent
        child = parent
