"""Values that are the same at each read of a sample: what is set to one is changed by the first read alone.

Such a value is small, or stands somewhere already: what is loaded or computed is another object each time, which takes
the place of the stored one, and stays in memory.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PLAIN = frozenset({"int", "str", "float", "bool", "len"})
_TEXT = frozenset({"format", "join", "split", "rsplit", "strip", "lstrip", "rstrip", "lower", "upper", "replace"})
_PARTS = (
    ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop, ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop, ast.IfExp,
    ast.JoinedStr, ast.FormattedValue, ast.Tuple, ast.expr_context,
)  # fmt: skip
_MOST_NODES = 60


def is_unchanging(module: Module, target: ast.Subscript, value: ast.expr) -> bool:
    """Whether what an entry is set to is made of what no edit of the function changes.

    `row["label"] = row["answer"]`, `row["id"] = i`, `row["tags"] = row.setdefault("tags", [])`.
    """
    function = module.tree.function(target)
    if function is None or not isinstance(target.slice, (ast.Constant, ast.Name)):
        return False
    return _Reads(module, target).is_same(value)


class _Reads:
    """What a value is made of, where some entries of a record are set."""

    def __init__(self, module: Module, target: ast.Subscript) -> None:
        self.module = module
        self.record, self.key = ast.unparse(target.value), ast.unparse(target.slice)
        function = module.tree.function(target)
        assert function is not None
        self.changed: set[str] = set()
        self.any_changed = False
        for each in module.tree.within(function):
            if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store):
                if isinstance(each.slice, ast.Constant):
                    self.changed.add(ast.unparse(each.slice))
                elif ast.unparse(each.value) == self.record:
                    self.any_changed = True
        self.changed.add(self.key)

    def is_same(self, value: ast.expr) -> bool:
        seen: set[ast.AST] = set()
        queue: list[ast.AST] = [value]
        while queue:
            node = queue.pop()
            if node in seen:
                continue
            seen.add(node)
            inner = self._inner(node)
            if inner is None or len(seen) > _MOST_NODES:
                return False
            queue += inner
        return True

    def _inner(self, node: ast.AST) -> list[ast.AST] | None:
        """What must be the same for an expression to be; None if it may be another thing each time."""
        if isinstance(node, ast.Constant):
            return []
        if isinstance(node, ast.Name):
            return self._bound(node)
        if isinstance(node, ast.Attribute):
            return self._of_self(node)
        if isinstance(node, ast.Subscript):
            key, own = ast.unparse(node.slice), ast.unparse(node.value) == self.record
            if key in self.changed or (own and (self.any_changed or not isinstance(node.slice, ast.Constant))):
                return None
            return [node.value] if isinstance(node.slice, ast.Slice) else [node.value, node.slice]
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, _PARTS):
            computed = isinstance(node, ast.BinOp) and self.module.infer.value(node).kind in (Kind.ARRAY, Kind.TENSOR)
            return None if computed else list(ast.iter_child_nodes(node))
        return None

    def _of_self(self, node: ast.Attribute) -> list[ast.AST] | None:
        """An attribute of the Dataset that is only set when it is built; the attribute of anything else."""
        owned = self.module.classes.self_attribute(node)
        if owned is None:
            return [node.value]
        bound = owned[0].attributes.get(f"self.{owned[1]}", [])
        built = all(each.how is not How.AUGMENT and self._is_built(each.node) for each in bound)
        return [] if built else None

    def _is_built(self, node: ast.AST) -> bool:
        function = self.module.tree.function(node)
        return function is None or function.name == "__init__"

    def _bound(self, node: ast.Name) -> list[ast.AST] | None:
        if node.id == self.record:
            return []
        found: list[ast.AST] = []
        reaching = self.module.flow.reaching(node.id, node)
        for each in reaching:
            if each.how is How.PARAMETER and isinstance(each.statement, FUNCTIONS):
                continue
            if not each.is_plain or each.value is None:
                return None
            found.append(each.value)
        return found if reaching else None

    def _called(self, node: ast.Call) -> list[ast.AST] | None:
        """The arguments of a function that gives the same for the same; its own default, for one of the record."""
        func = node.func
        if node.keywords:
            return None
        if isinstance(func, ast.Name):
            return list(node.args) if func.id in _PLAIN else None
        if not isinstance(func, ast.Attribute):
            return None
        if ast.unparse(func.value) == self.record and func.attr in ("get", "setdefault"):
            return [] if [ast.unparse(each) for each in node.args[:1]] == [self.key] else None
        if self.module.names.qualname(func).startswith("os.path."):
            return list(node.args)
        return [func.value, *node.args] if func.attr in _TEXT else None
