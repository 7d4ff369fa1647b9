"""What annotations and docstrings say of a parameter."""

from __future__ import annotations

import ast
import re

from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.values import NUMBER, STRING, UNKNOWN, Kind, Value
from flake8_torchleak.source import parse

_KINDS = {
    "list": Kind.LIST, "List": Kind.LIST, "Sequence": Kind.LIST, "MutableSequence": Kind.LIST,
    "dict": Kind.DICT, "Dict": Kind.DICT, "Mapping": Kind.DICT, "MutableMapping": Kind.DICT, "OrderedDict": Kind.DICT,
    "defaultdict": Kind.DICT, "DefaultDict": Kind.DICT,
    "set": Kind.SET, "Set": Kind.SET, "frozenset": Kind.SET, "FrozenSet": Kind.SET,
    "tuple": Kind.TUPLE, "Tuple": Kind.TUPLE, "deque": Kind.DEQUE, "Deque": Kind.DEQUE,
    "ndarray": Kind.ARRAY, "NDArray": Kind.ARRAY, "Tensor": Kind.TENSOR, "FloatTensor": Kind.TENSOR,
    "LongTensor": Kind.TENSOR, "TensorType": Kind.TENSOR, "DataFrame": Kind.FRAME, "Series": Kind.FRAME,
    "str": Kind.STRING, "bytes": Kind.STRING, "Path": Kind.PATH, "PathLike": Kind.PATH,
    "int": Kind.NUMBER, "float": Kind.NUMBER, "bool": Kind.NUMBER,
    "Module": Kind.MODULE, "DataLoader": Kind.LOADER, "Dataset": Kind.DATASET,
}  # fmt: skip
_TRANSPARENT = frozenset({"Optional", "Annotated", "Final"})
_SHAPED = frozenset({"Float", "Float16", "Float32", "Float64", "Int", "Int32", "Int64", "Bool", "Num", "Shaped"})
"""jaxtyping: `Float[Tensor, "batch classes"]`."""
_DOCUMENTED = {
    "list": Kind.LIST, "lists": Kind.LIST, "dict": Kind.DICT, "dictionary": Kind.DICT, "tuple": Kind.TUPLE,
    "sequence": Kind.LIST, "array": Kind.ARRAY, "ndarray": Kind.ARRAY, "tensor": Kind.TENSOR, "str": Kind.STRING,
    "string": Kind.STRING, "int": Kind.NUMBER, "float": Kind.NUMBER, "bool": Kind.NUMBER, "dataframe": Kind.FRAME,
}  # fmt: skip
_ELEMENT = {"str": STRING, "string": STRING, "strings": STRING, "int": NUMBER, "ints": NUMBER, "float": NUMBER,
            "dict": Value(Kind.DICT), "dicts": Value(Kind.DICT), "dictionaries": Value(Kind.DICT)}  # fmt: skip


def annotated(node: ast.expr) -> Value:
    """The value an annotation promises; Optional and unions with None are looked through."""
    node = _unquoted(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        found = [annotated(each) for each in _alternatives(node)]
        known = {v.kind for v in found if v.kind not in (Kind.UNKNOWN, Kind.NONE)}
        return next(v for v in found if v.kind in known) if len(known) == 1 else UNKNOWN
    if isinstance(node, ast.Subscript):
        name = last_name(node.value)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not inner:
            return UNKNOWN
        if name in _TRANSPARENT or name in _SHAPED:
            return annotated(inner[0])
        kind = _KINDS.get(name)
        if kind is None:
            return UNKNOWN
        last = inner[0] if kind is Kind.TUPLE else inner[-1]
        if kind is Kind.TUPLE and not (len(inner) == 2 and isinstance(inner[1], ast.Constant)):
            return Value(kind)
        return Value(kind, element=annotated(last))
    return Value(_KINDS.get(last_name(node), Kind.UNKNOWN))


def _unquoted(node: ast.expr) -> ast.expr:
    """The expression that an annotation in quotes holds."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            body = parse(node.value.strip()).body
        except SyntaxError:
            return node
        if len(body) == 1 and isinstance(body[0], ast.Expr):
            return body[0].value
    return node


def named_class(node: ast.expr) -> ast.expr | None:
    """The one class that an annotation names, behind quotes, Optional and unions with None; None if it names others."""
    node = _unquoted(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _only(_alternatives(node))
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        name = last_name(node.value)
        if name == "Union":
            return _only(inner)
        return named_class(inner[0]) if name in _TRANSPARENT and inner else None
    return node if isinstance(node, (ast.Name, ast.Attribute)) else None


def _only(alternatives: list[ast.expr]) -> ast.expr | None:
    found = [each for each in alternatives if not (isinstance(each, ast.Constant) and each.value is None)]
    return named_class(found[0]) if len(found) == 1 else None


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """`a`, `b` and `c` of `a | b | c`."""
    found: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


_TYPE = re.compile(
    r"[`*]*\s*(?:\(|:)\s*:?(?:class:)?[`~]*(?:an?\s+|the\s+)?(?:optional\s+)?"
    r"(?:np\.|numpy\.|torch\.|pd\.)?"
    r"(\w+)(?:\s*(?:\[|of)\s*`?(\w+))?"
)


def documented(name: str, docstring: str) -> Value:
    """The type a docstring gives to a parameter, in the Google, NumPy and reST styles."""
    if name not in docstring:
        return UNKNOWN
    match = _type_after(name, docstring)
    if match is None:
        return UNKNOWN
    kind = _DOCUMENTED.get(match[1].lower())
    if kind is None:
        return UNKNOWN
    return Value(kind, element=_ELEMENT.get((match[2] or "").lower()))


def _type_after(name: str, docstring: str) -> re.Match[str] | None:
    """The type that follows a parameter's name where the name begins a line or an item."""
    place = docstring.find(name)
    while place >= 0:
        before = docstring[place - 1 : place]
        if not before or before.isspace() or before in ":`*":
            found = _TYPE.match(docstring, place + len(name))
            if found is not None:
                return found
        place = docstring.find(name, place + 1)
    return None
