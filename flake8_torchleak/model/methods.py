"""What methods of known values give; those of tensors and arrays are in `tensors.py`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.effects import ARRAY_METHODS, FORWARDS
from flake8_torchleak.model.env import Env
from flake8_torchleak.model.names import last_name, mentions
from flake8_torchleak.model.tensors import Tensors
from flake8_torchleak.model.values import FLAG, NONE, NUMBER, STRING, UNKNOWN, Kind, Size, Value, shallow

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer

_MODULE_RETURNS_SELF = frozenset(
    {"to", "cuda", "cpu", "eval", "train", "half", "float", "double", "requires_grad_", "apply"}
)
_TEXT_TESTS = frozenset({"endswith", "startswith", "isdigit", "isalpha", "is_file", "exists", "is_dir"})
_PER_ELEMENT = frozenset({"astype", "fillna", "dropna", "replace"})
"""What a column of a table stays one by."""
_OF_TABLES = frozenset({
    "iterrows", "itertuples", "to_dict", "to_records", "reset_index", "set_index", "drop_duplicates", "sort_values",
    "dropna", "fillna",
})  # fmt: skip
"""Methods that only tables have, and their columns: whatever they are called on is one."""
_FILE_LINES = frozenset({"readlines", "splitlines"})
_CURSORS = frozenset({"cursor", "iternext", "fetchall"})
"""Methods of LMDB and of Python's database modules that go over what is stored."""


class Methods:
    """Values of method calls, by what the receiver is."""

    def __init__(self, infer: Infer, tensors: Tensors) -> None:
        self.infer, self.tensors = infer, tensors

    def value(self, node: ast.Call, func: ast.Attribute, env: Env) -> Value | None:
        base = self.infer.value(func.value, env)
        name = func.attr
        if base.kind is Kind.TENSOR or (base.kind is Kind.UNKNOWN and (base.graph is not None or base.origin)):
            found = self.tensors.tensor_method(node, base, name, env)
            if found is not None:
                return found
        if base.kind is Kind.ARRAY and name in ARRAY_METHODS:
            return self.tensors.array_method(node, base, name)
        if base.kind is Kind.MODULE:
            return self._module_method(node, name, env)
        if base.is_container or base.kind in (Kind.PICKLE, Kind.ITERATOR):
            return self._container_method(node, base, name, env)
        if base.kind is Kind.OBJECTS and name in ("item", "tolist"):
            return Value(Kind.JSON if name == "item" else Kind.LIST, size=Size.GROWS, why=base.why)
        if base.kind is Kind.FILE:
            return self._file_method(node, name)
        if base.kind is Kind.FRAME or (name in _OF_TABLES and base.kind is not Kind.INSTANCE):
            return self._frame_method(node, base, name)
        if base.kind is Kind.LOADER and name == "dataset":
            return Value(Kind.DATASET)
        return self._any_method(node, func, base, name, env)

    def _module_method(self, node: ast.Call, name: str, env: Env) -> Value:
        if name in _MODULE_RETURNS_SELF:
            return Value(Kind.MODULE)
        if name in FORWARDS or (hints.computes_loss(name)):
            return Value(graph=True)
        return UNKNOWN

    def _container_method(self, node: ast.Call, base: Value, name: str, env: Env) -> Value | None:
        if name in ("keys", "values", "items"):
            inner = base.element or UNKNOWN
            if base.origin and not inner.origin:
                inner = inner.but(origin=base.origin)
            key = NUMBER if base.kind is Kind.INDEX else UNKNOWN
            element = {"keys": key, "values": inner, "items": Value(Kind.TUPLE, items=(key, inner))}[name]
            return Value(Kind.ITERATOR, graph=base.graph, size=base.size, element=element, why=base.why)
        if name in ("get", "setdefault", "__getitem__"):
            return self.infer.parts.element(base, node)
        if name in ("pop", "popleft"):
            return self.infer.parts.element(base.but(origin=None), node).but(origin=None)  # the container lets go of it
        if name == "copy":
            return shallow(base)
        if base.kind is Kind.INDEX:
            origin = base.origin
            if name in ("getImgIds", "getAnnIds", "getCatIds", "get_img_ids", "get_ann_ids"):
                size = Size.SMALL if "Cat" in name or node.args or node.keywords else Size.GROWS
                return Value(Kind.LIST, size=size, element=NUMBER, why=base.why)
            return Value(Kind.LIST, size=Size.SMALL, element=Value(Kind.DICT, origin=origin), origin=None, why=base.why)
        if name in ("most_common", "namelist", "getnames", "getmembers"):
            return Value(Kind.LIST, size=base.size, why=base.why)
        return NONE if name in ("append", "extend", "update", "clear", "sort", "reverse", "insert", "remove") else None

    def _file_method(self, node: ast.Call, name: str) -> Value | None:
        if name in _FILE_LINES or name in ("keys", "namelist", "getnames"):
            return Value(
                Kind.LIST, size=Size.GROWS, element=STRING, why=((node, f"every line of a file, by `{name}`"),)
            )
        return STRING if name in ("read", "readline") else None

    def _frame_method(self, node: ast.Call, base: Value, name: str) -> Value:
        if name in ("tolist", "to_list"):
            unique = isinstance(node.func, ast.Attribute) and mentions(node.func.value, "unique")
            size = Size.UNKNOWN if unique else Size.GROWS
            return Value(Kind.LIST, size=size, why=((node, f"a column turned into a list by `{name}`"),))
        if name == "to_dict":
            kind = (
                Kind.LIST
                if any(getattr(a, "value", "") == "records" for a in [*node.args, *(k.value for k in node.keywords)])
                else Kind.DICT
            )
            return Value(
                kind,
                size=Size.GROWS,
                element=Value(Kind.DICT),
                why=((node, "a table turned into Python objects by `to_dict`"),),
            )
        if name in ("iterrows", "itertuples", "groupby", "items"):
            return Value(
                Kind.ITERATOR, size=Size.GROWS, element=UNKNOWN, why=((node, f"one entry per row, by `{name}`"),)
            )
        if name in ("unique", "to_numpy", "nunique"):
            return Value(Kind.ARRAY, ndim=base.ndim)
        return Value(Kind.FRAME, why=base.why, ndim=base.ndim if name in _PER_ELEMENT else None)

    def _any_method(self, node: ast.Call, func: ast.Attribute, base: Value, name: str, env: Env) -> Value | None:
        if name in ("glob", "rglob", "iterdir") and base.kind in (Kind.PATH, Kind.UNKNOWN, Kind.STRING):
            return Value(
                Kind.ITERATOR, size=Size.GROWS, element=Value(Kind.PATH), why=((node, f"lists files with `{name}`"),)
            )
        if name in _FILE_LINES and base.kind in (Kind.UNKNOWN, Kind.STRING):
            return Value(
                Kind.LIST, size=Size.GROWS, element=STRING, why=((node, f"every line of a file, by `{name}`"),)
            )
        if name in _CURSORS and base.kind is Kind.UNKNOWN:
            return Value(
                Kind.ITERATOR,
                size=Size.GROWS,
                element=UNKNOWN,
                why=((node, f"every entry of a database, by `{name}`"),),
            )
        if name == "read_text":
            return STRING
        if name in _TEXT_TESTS:
            return FLAG
        if name == "split" and all(self.infer.value(each, env).kind is Kind.STRING for each in node.args[:1]):
            whole = isinstance(func.value, ast.Call) and last_name(func.value.func) in ("read", "read_text")
            size = Size.GROWS if whole else Size.SMALL if base.kind is Kind.STRING else Size.UNKNOWN
            return Value(
                Kind.LIST, size=size, element=STRING, why=((node, "every line of a file, by `split`"),) if whole else ()
            )
        if (
            name in ("strip", "rstrip", "lstrip", "lower", "upper", "join", "replace", "decode", "format")
            and base.kind is Kind.STRING
        ):
            return STRING
        if name in ("getnames", "namelist", "getmembers"):
            return Value(
                Kind.LIST, size=Size.GROWS, element=STRING, why=((node, f"every member of an archive, by `{name}`"),)
            )
        if name in hints.PLACING and node.args:
            values = [self.infer.value(a, env) for a in node.args if not isinstance(a, ast.Starred)]
            placed = tuple(v.but(made=node) if v.kind is Kind.LOADER else v for v in values)
            return placed[0] if len(node.args) == 1 and placed else Value(Kind.TUPLE, items=placed)
        if name in ("list", "dict") and mentions(func.value, "anager"):
            return Value(Kind.SHARED)
        if base.kind is Kind.SHARED:
            return Value(Kind.SHARED)
        return None
