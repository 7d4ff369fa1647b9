"""What torch and numpy calls give, by the tables of `effects.py`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.effects import (
    ARRAY_METHODS,
    NUMPY_FUNCTIONS,
    TENSOR_METHODS,
    TORCH_FUNCTIONS,
    Effect,
    Sharing,
    apply,
)
from flake8_torchleak.model.env import Env
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.values import STRING, UNKNOWN, Kind, OriginKind, Size, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer

_DIM_REDUCTIONS = frozenset({"max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"})
_OF_DISTRIBUTIONS = frozenset({"log_prob", "entropy", "rsample", "sample"})
_OF_TEXT = frozenset({"str", "str_", "bytes", "bytes_"})
_SPLITS = frozenset({"split", "chunk", "unbind", "tensor_split"})


class Tensors:
    """Values of torch and numpy calls."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer

    def torch(self, node: ast.Call, head: str, last: str, env: Env) -> Value | None:
        if head in ("torch.nn", "torch.nn.modules", "torch.nn.modules.loss", "torch.nn.parallel"):
            if last.endswith("Loss") and last != "AdaptiveLogSoftmaxWithLoss":  # a layer: it gives output and loss
                return Value(Kind.LOSS, made=node)
            return Value(Kind.MODULE) if last[:1].isupper() else None
        if head == "torch.nn.functional":
            return Value(Kind.TENSOR, graph=self.graph(node, env))
        if last == "DataLoader":
            return Value(Kind.LOADER, made=node)
        if head in ("torch.utils.data", "torch.utils.data.dataset") and (last == "random_split" or last[:1].isupper()):
            made = self.infer.value(node.args[0], env).made if node.args else None
            inner = Value(Kind.DATASET, made=made)
            return Value(Kind.LIST, size=Size.SMALL, element=inner) if last == "random_split" else inner
        if head == "torch.distributions":
            return Value(graph=self.graph(node, env))
        if head == "torch" and last in _SPLITS and node.args:
            return _split(self.infer.value(node.args[0], env))
        effect = TORCH_FUNCTIONS.get(last) if head in ("torch", "torch.special") else None
        if effect is None:
            return None
        arguments = [self.infer.value(a, env) for a in node.args]
        first = arguments[0] if arguments else UNKNOWN
        if last in _DIM_REDUCTIONS and _reduces(node, arguments, 1):
            return _with_indices(first)
        if any(k.arg == "requires_grad" and getattr(k.value, "value", True) is not False for k in node.keywords):
            return Value(Kind.TENSOR)  # a leaf: it has no history, and all that is made of it has
        if last == "tensor":
            return Value(Kind.TENSOR, graph=False)
        if effect.sharing is Sharing.COPY:
            return Value(Kind.TENSOR, graph=self.graph(node, env) if effect.graph else False)
        if any(k.arg == "copy" and getattr(k.value, "value", None) is True for k in node.keywords):
            return Value(Kind.TENSOR, graph=self.graph(node, env))
        if (
            last in ("as_tensor", "asarray", "from_numpy")
            and first.kind in (Kind.ARRAY, Kind.TENSOR)
            and len(node.args) + len(node.keywords) == 1
        ):
            return apply(Effect(Kind.TENSOR, Sharing.VIEW, False), first)
        return apply(effect, first)

    def numpy(self, node: ast.Call, last: str, env: Env) -> Value | None:
        keywords = {k.arg: k.value for k in node.keywords}
        if last in ("load", "memmap", "open_memmap", "genfromtxt", "loadtxt", "fromfile", "load_npz"):
            pickled = keywords.get("allow_pickle")
            kind = Kind.OBJECTS if isinstance(pickled, ast.Constant) and pickled.value else Kind.ARRAY
            element = STRING if _is_text(keywords.get("dtype")) else None
            return Value(kind, size=Size.GROWS, why=((node, f"loaded with `np.{last}`"),), element=element)
        effect = NUMPY_FUNCTIONS.get(last)
        if effect is None:
            return Value(Kind.ARRAY, graph=False) if not last[:1].isupper() else UNKNOWN
        first = self.infer.value(node.args[0], env) if node.args else UNKNOWN
        if last in ("array", "asarray", "asanyarray"):
            dtype = keywords.get("dtype", node.args[1] if len(node.args) > 1 else None)
            if dtype is not None and (
                last_name(dtype) in ("object", "object_") or getattr(dtype, "value", "") == "object"
            ):
                return Value(Kind.OBJECTS, size=first.size, why=first.why)
            copies = keywords.get("copy")
            if isinstance(copies, ast.Constant):
                effect = NUMPY_FUNCTIONS["array" if copies.value is True else "asarray"]
            if effect.sharing is Sharing.DTYPE and first.origin and dtype is None and first.kind is not Kind.LIST:
                return apply(Effect(Kind.ARRAY, Sharing.VIEW, False), first)
        is_text = last in ("array", "asarray") and (
            _is_text(keywords.get("dtype")) or (first.element is not None and first.element.kind is Kind.STRING)
        )
        return apply(effect, first).but(ndim=_ndim(node, last, first), element=STRING if is_text else None)

    def tensor_method(self, node: ast.Call, base: Value, name: str, env: Env) -> Value | None:
        effect = TENSOR_METHODS.get(name)
        if effect is None:
            if name == "to":
                return self._moved(node, base)
            if name == "cuda":
                return Value(Kind.TENSOR, graph=base.graph, why=base.why)
            if name == "requires_grad_" and base.kind is Kind.TENSOR:
                return Value(Kind.TENSOR, graph=True if not node.args else None)
            if name in _SPLITS:
                return _split(base)
            if name.endswith("_") and base.kind is Kind.TENSOR:
                return Value(Kind.TENSOR, graph=base.graph or self.graph(node, env))
            if name in ("get", "pop") and base.kind is Kind.UNKNOWN:
                return self.infer.parts.element(base)
            if name in _OF_DISTRIBUTIONS and base.graph:
                return Value(Kind.TENSOR, graph=name != "sample")
            return None
        arguments = [self.infer.value(a, env) for a in node.args]
        if name in _DIM_REDUCTIONS and _reduces(node, [base, *arguments], 1):
            return _with_indices(base)
        if effect.graph and base.graph is False and any(a.graph is not False for a in arguments):
            return Value(Kind.TENSOR, graph=True if any(a.graph for a in arguments) else None)
        if name == "numpy" and base.graph and base.kind is Kind.UNKNOWN:
            return Value(Kind.ARRAY, graph=False)
        found = apply(effect, base)
        if base.kind is Kind.UNKNOWN and not base.graph and name in ARRAY_METHODS and _is_state(base):
            return found.but(kind=Kind.UNKNOWN)  # what a Dataset keeps is as often an array
        return found if base.kind is Kind.TENSOR or base.graph is not None or base.origin else None

    def _moved(self, node: ast.Call, base: Value) -> Value:
        """`.to(...)`: the same tensor for "cpu" (a batch is there already), new memory or unknown for the rest."""
        first = node.args[0] if node.args else None
        stays = isinstance(first, ast.Constant) and first.value == "cpu" and len(node.args) + len(node.keywords) == 1
        if stays:
            return apply(TENSOR_METHODS["cpu"], base)
        if first is not None and last_name(first) in ("long", "int", "int64", "int32", "bool", "uint8", "short"):
            return Value(Kind.TENSOR, graph=False)
        if first is not None and self.infer.value(first).kind is Kind.TENSOR:
            return Value(Kind.TENSOR, graph=None if base.graph else base.graph)
        return Value(base.kind if base.kind is Kind.TENSOR else Kind.UNKNOWN, graph=base.graph, why=base.why)

    def array_method(self, node: ast.Call, base: Value, name: str) -> Value:
        effect = ARRAY_METHODS[name]
        return apply(effect, base).but(ndim=1 if name in ("ravel", "flatten") else None)

    def graph(self, node: ast.Call, env: Env) -> bool | None:
        """Whether history reaches the result: yes if any argument brings it, no if none can."""
        values = [self.infer.value(a, env) for a in node.args] + [self.infer.value(k.value, env) for k in node.keywords]
        if any(v.graph for v in values):
            return True
        return False if values and all(v.graph is False for v in values) else None


def _is_text(dtype: ast.expr | None) -> bool:
    """Whether an array is one of text: `dtype=str`, `dtype="U9"`."""
    if isinstance(dtype, ast.Constant):
        return str(dtype.value).lstrip("<>=|").startswith(("str", "U", "S", "bytes"))
    return dtype is not None and last_name(dtype) in _OF_TEXT


def _split(whole: Value) -> Value:
    """The parts that a tensor is split into: views of it."""
    parts = Value(Kind.TENSOR, graph=whole.graph).within(whole)
    return Value(Kind.TUPLE, size=Size.SMALL, graph=whole.graph, element=parts)


def _is_state(value: Value) -> bool:
    return value.origin is not None and value.origin.kind is OriginKind.STATE


def _ndim(node: ast.Call, last: str, first: Value) -> int | None:
    """1 for what is one-dimensional for sure, else unknown."""
    if last in ("arange", "linspace", "ravel", "unique"):
        return 1
    if last in ("zeros", "ones", "empty", "full") and node.args:
        shape = node.args[0]
        plain = isinstance(shape, ast.Constant) or (isinstance(shape, ast.Call) and last_name(shape.func) == "len")
        return 1 if plain else None
    if last in ("array", "asarray", "asanyarray") and first.kind is Kind.FRAME:
        return first.ndim  # a column's
    if last in ("array", "asarray") and first.element is not None and first.element.kind in (Kind.NUMBER, Kind.STRING):
        return 1
    return None


def _reduces(node: ast.Call, arguments: list[Value], least: int) -> bool:
    """Whether a reduction is given a dimension rather than a second tensor."""
    by_keyword = any(k.arg in ("dim", "k", "axis") for k in node.keywords)
    return by_keyword or (len(arguments) > least and arguments[least].kind is not Kind.TENSOR)


def _with_indices(value: Value) -> Value:
    """`max(dim)`, `sort`, `topk`: values carry the graph, indices never do."""
    return Value(
        Kind.TUPLE,
        graph=value.graph,
        items=(Value(Kind.TENSOR, graph=value.graph), Value(Kind.TENSOR, graph=False)),
    )


def gives_one_batch(call: ast.Call) -> bool:
    """Whether a DataLoader is made whose one batch is all there is: `DataLoader(data, batch_size=len(data))`."""
    data = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "dataset"), None)
    size = call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "batch_size"), None)
    if data is None or not isinstance(size, ast.Call) or last_name(size.func) != "len" or len(size.args) != 1:
        return False
    counted = ast.unparse(size.args[0])
    return any(isinstance(each, ast.expr) and ast.unparse(each) == counted for each in ast.walk(data))
