"""What iterating, unpacking and subscripting a value give."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.env import Env
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.values import NUMBER, STRING, UNKNOWN, Kind, Origin, OriginKind, Value, shallow

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer


_MAKE_TENSORS = frozenset({
    "stack", "cat", "concat", "tensor", "as_tensor", "from_numpy", "pad_sequence", "default_collate", "Tensor",
    "LongTensor", "FloatTensor", "zeros", "ones", "full", "pad", "collate", "Collater",
})  # fmt: skip
"""Functions of collate functions whose result is, or holds, tensors."""


class Parts:
    """Elements and items of values."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer

    def element(self, value: Value, node: ast.AST | None = None) -> Value:
        """What iterating over (or subscripting) a value gives."""
        if value.kind is Kind.LOADER:
            made = value.made.func if isinstance(value.made, ast.Call) else None
            placed = made is not None and (
                last_name(made) in hints.PLACING or self.infer.names.qualname(made).startswith("dgl.")
            )
            kind = OriginKind.DEVICE if placed else OriginKind.BATCH
            if isinstance(value.made, ast.Call) and not placed and not self._makes_tensors(value.made):
                return Value(graph=False, made=value.made)
            return Value(graph=False, origin=Origin(kind, "batch", node or ast.Pass()), made=value.made)
        if value.kind is Kind.ARRAY and value.ndim == 1:
            return NUMBER
        if value.kind in (Kind.TENSOR, Kind.ARRAY):
            origin = value.origin._replace(view=True, element=True) if value.origin else None
            return Value(value.kind, graph=value.graph, origin=origin, why=value.why, element=value.element)
        if value.kind is Kind.FILE:
            return STRING
        if value.kind is Kind.JSON and value.element is None:
            return Value(Kind.JSON, why=value.why).within(value)
        if value.element is not None:
            return value.element.within(value)
        if value.kind is Kind.STRING:
            return STRING
        return Value(graph=value.graph if value.kind is Kind.UNKNOWN else None, why=value.why).within(value)

    def _makes_tensors(self, loader: ast.Call) -> bool:
        """Whether a DataLoader's batches are tensors: only those come in shared memory.

        They are by the default collate function, and by one in reach that calls what makes tensors.
        """
        given = next((k.value for k in loader.keywords if k.arg == "collate_fn"), None)
        if given is None or getattr(given, "value", 0) is None or last_name(given) == "default_collate":
            return True
        if isinstance(given, ast.Call) and last_name(given.func) == "partial" and given.args:
            given = given.args[0]
        found = given if isinstance(given, ast.Lambda) else self.infer.names.definition(given)
        owned = self.infer.classes.self_attribute(given)
        if owned is not None:
            found = owned[0].methods.get(owned[1])
        calls = (node for node in ast.walk(found) if isinstance(node, ast.Call)) if found is not None else ()
        return any(last_name(call.func) in _MAKE_TENSORS for call in calls)

    def part(self, value: Value, index: int) -> Value:
        """The item at a constant index, as in unpacking."""
        if value.items and -len(value.items) <= index < len(value.items):
            return value.items[index].within(value)
        if value.kind in (Kind.JSON, Kind.PICKLE):
            return value  # a file with several tables in it
        return self.element(value)

    def subscript(self, node: ast.Subscript, env: Env) -> Value:
        base = self.infer.value(node.value, env)
        index = node.slice
        if isinstance(index, ast.Constant) and isinstance(index.value, int) and base.items:
            return self.part(base, index.value)
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            for name, value in base.fields:
                if name == index.value:
                    return value.within(base)
            if base.graph and base.kind is Kind.UNKNOWN:
                return UNKNOWN if hints.is_plain_result(index.value) else base
            if base.kind in (Kind.JSON, Kind.PICKLE):
                return base.element or base
        if base.kind in (Kind.ARRAY, Kind.TENSOR):
            return self._indexed(base, index, env)
        if base.kind is Kind.LOADER and not isinstance(index, ast.Slice):
            return base
        if isinstance(index, ast.Slice) and (base.is_container or base.kind in (Kind.STRING, Kind.PICKLE)):
            return shallow(base).but(items=())
        if base.kind is Kind.FRAME:
            column = isinstance(index, ast.Constant) and isinstance(index.value, str)
            return Value(Kind.FRAME, why=base.why, ndim=1 if column else None)
        if base.kind is Kind.SHARED:
            return base  # a split of it, or a row: made anew at each read
        if base.kind is Kind.FILE:  # of HDF5: no other can be indexed; a slice reads
            reads = isinstance(index, (ast.Slice, ast.Tuple)) or getattr(index, "value", 0) is ...
            return Value(Kind.ARRAY, graph=False) if reads else base
        if (
            base.kind in (Kind.UNKNOWN, Kind.PICKLE, Kind.JSON)
            and base.origin is not None
            and self._is_fancy(index, env)
        ):
            return Value(graph=base.graph)
        return self.element(base, node)

    def _is_fancy(self, index: ast.expr, env: Env) -> bool:
        """Whether an index copies: an array, a list or a mask, alone or among slices."""
        for each in index.elts if isinstance(index, ast.Tuple) else [index]:
            if isinstance(each, (ast.List, ast.Compare, ast.ListComp)) or self._is_mask(each):
                return True
            if not isinstance(each, (ast.Slice, ast.Constant)):
                inner = self.infer.value(each, env)
                if inner.kind in (Kind.LIST, Kind.ARRAY, Kind.TENSOR, Kind.RANGE):
                    return True
        return False

    def _is_mask(self, index: ast.expr) -> bool:
        """Whether a variable may hold what a comparison gives: as an index that is a mask, and a number as seldom."""
        if not isinstance(index, ast.Name):
            return False
        return any(
            each.is_plain and isinstance(each.value, ast.Compare) for each in self.infer.flow.reaching(index.id, index)
        )

    def _indexed(self, base: Value, index: ast.expr, env: Env) -> Value:
        """`a[index]` of an array or tensor: a view for basic indices, a copy for arrays and lists of them."""
        if self._is_fancy(index, env):
            return Value(base.kind, graph=base.graph)
        if base.kind is Kind.ARRAY and base.ndim == 1 and not isinstance(index, (ast.Slice, ast.Tuple)):
            return NUMBER
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        whole = base.origin is not None and not base.origin.view
        if base.kind is Kind.ARRAY and not any(
            isinstance(p, ast.Slice) or getattr(p, "value", 0) in (..., None) for p in parts
        ):
            if len(parts) > 1 or not whole:
                return Value(Kind.ARRAY, graph=False)  # a scalar, unless there are more dimensions than indices
        found = self.element(base.but(ndim=None))  # a slice has as many
        stepped = any(isinstance(p, ast.Slice) and p.step is not None for p in parts)
        if found.origin is not None and (stepped or len(parts) > 1):
            return found.but(origin=found.origin._replace(strided=True))
        return found
