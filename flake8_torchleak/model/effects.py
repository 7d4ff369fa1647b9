"""THE table of what an operation does to a value.

All knowledge about single torch and numpy operations stands here, and every row is checked in
`tests/test_values.py` against the installed libraries (`data_ptr`, `np.shares_memory`, `grad_fn`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from flake8_torchleak.model.values import NUMBER, Kind, Value


class Sharing(Enum):
    """Whether an operation's result shares memory with what it is applied to.

    VIEW always; STRIDED always, and the result is not contiguous; COPY never; DEVICE unless it moves to another device;
    DTYPE unless it changes the type; LAYOUT unless the memory is not contiguous.
    """

    VIEW = "view"
    STRIDED = "strided"
    COPY = "copy"
    DEVICE = "device"
    DTYPE = "dtype"
    LAYOUT = "layout"


@dataclass(frozen=True, slots=True)
class Effect:
    """What one operation does: the kind of its result, whose memory that is, and whether history goes through."""

    kind: Kind
    sharing: Sharing
    graph: bool


def _rows(kind: Kind, sharing: Sharing, graph: bool, names: str) -> dict[str, Effect]:
    return {name: Effect(kind, sharing, graph) for name in names.split()}


_T, _A, _N, _L = Kind.TENSOR, Kind.ARRAY, Kind.NUMBER, Kind.LIST

TENSOR_METHODS: dict[str, Effect] = {
    **_rows(_T, Sharing.VIEW, False, "detach detach_"),
    **_rows(_A, Sharing.VIEW, False, "numpy"),
    **_rows(_N, Sharing.COPY, False, "item"),
    **_rows(_L, Sharing.COPY, False, "tolist"),
    **_rows(
        _T, Sharing.STRIDED, True, "transpose t permute narrow select expand expand_as movedim swapaxes unfold diagonal"
    ),
    **_rows(_T, Sharing.VIEW, True, "view view_as squeeze unsqueeze"),
    **_rows(_T, Sharing.DEVICE, True, "cpu"),
    **_rows(_T, Sharing.DTYPE, True, "float half double bfloat16 type_as"),
    **_rows(_T, Sharing.DTYPE, False, "long int bool byte short"),
    **_rows(_T, Sharing.LAYOUT, True, "contiguous reshape flatten"),
    **_rows(
        _T,
        Sharing.COPY,
        True,
        "clone mean sum prod std var norm max min amax amin abs exp log sqrt pow sigmoid tanh relu softmax "
        "log_softmax clamp add sub mul div matmul mm bmm neg repeat flip roll gather index_select masked_select "
        "masked_fill cumsum square logsumexp",
    ),
    **_rows(_T, Sharing.COPY, False, "argmax argmin argsort eq ne gt lt ge le nonzero isnan isinf any all"),
    **_rows(_N, Sharing.COPY, False, "size dim numel stride nelement"),
}

TENSOR_ATTRIBUTES: dict[str, Effect] = {
    **_rows(_T, Sharing.VIEW, False, "data"),
    **_rows(_T, Sharing.STRIDED, True, "T mT"),
    **_rows(_N, Sharing.COPY, False, "shape ndim dtype device requires_grad is_cuda"),
}

TORCH_FUNCTIONS: dict[str, Effect] = {
    **_rows(
        _T,
        Sharing.COPY,
        True,
        "stack cat concat hstack vstack mean sum sigmoid tanh relu softmax log_softmax exp log sqrt abs clamp norm "
        "add sub mul div matmul mm bmm logsumexp max min flip roll clone maximum minimum where square",
    ),
    **_rows(_T, Sharing.STRIDED, True, "transpose permute narrow select movedim"),
    **_rows(_T, Sharing.VIEW, True, "squeeze unsqueeze"),
    **_rows(_T, Sharing.LAYOUT, True, "flatten reshape"),
    **_rows(
        _T,
        Sharing.COPY,
        False,
        "argmax argmin argsort eq ne gt lt ge le tensor zeros ones empty full "
        "zeros_like ones_like empty_like full_like rand randn randint randperm arange linspace eye",
    ),
    **_rows(_T, Sharing.VIEW, False, "from_numpy"),
    **_rows(_T, Sharing.DTYPE, True, "as_tensor asarray"),
}

ARRAY_METHODS: dict[str, Effect] = {
    **_rows(_A, Sharing.STRIDED, False, "transpose swapaxes diagonal"),
    **_rows(_A, Sharing.VIEW, False, "view squeeze"),
    **_rows(_A, Sharing.LAYOUT, False, "reshape ravel"),
    **_rows(
        _A,
        Sharing.COPY,
        False,
        "copy astype flatten mean sum max min std clip repeat take argmax argmin argsort round cumsum prod",
    ),
    **_rows(_L, Sharing.COPY, False, "tolist"),
    **_rows(_N, Sharing.COPY, False, "item"),
}

ARRAY_ATTRIBUTES: dict[str, Effect] = {
    **_rows(_A, Sharing.STRIDED, False, "T"),
    **_rows(_A, Sharing.VIEW, False, "real"),
    **_rows(_N, Sharing.COPY, False, "shape ndim dtype size nbytes"),
}

NUMPY_FUNCTIONS: dict[str, Effect] = {
    **_rows(_A, Sharing.STRIDED, False, "transpose swapaxes moveaxis flip fliplr flipud rot90 broadcast_to diagonal"),
    **_rows(_A, Sharing.VIEW, False, "squeeze expand_dims atleast_1d atleast_2d atleast_3d"),
    **_rows(_A, Sharing.DTYPE, False, "asarray asanyarray"),
    **_rows(_A, Sharing.LAYOUT, False, "ascontiguousarray ravel reshape"),
    **_rows(
        _A,
        Sharing.COPY,
        False,
        "array copy stack concatenate hstack vstack zeros ones empty full zeros_like ones_like arange linspace eye "
        "where take tile repeat roll pad clip sort mean sum abs sqrt exp log add subtract multiply maximum minimum "
        "argmax argmin unique cumsum",
    ),
}

CUTS = frozenset({"detach", "data", "item", "numpy", "tolist"})
"""What gives numbers, or a tensor without its graph, of a tensor: methods, and an attribute."""
MODULE_SELF = frozenset({
    "to", "cuda", "cpu", "eval", "train", "half", "float", "double", "bfloat16", "requires_grad_", "apply",
    "share_memory", "compile",
})  # fmt: skip
"""Methods of a network that give the network."""
FORWARDS = frozenset({
    "forward", "forward_train", "forward_features", "training_step", "encode", "decode", "log_prob", "rsample",
    "extract_features", "get_text_features", "get_image_features", "encode_image", "encode_text", "get_loss",
    "calculate_loss",
})  # fmt: skip
"""Methods of networks whose results carry history; of others nothing is known."""


def shares(effect: Effect) -> bool:
    """Whether the result certainly shares a contiguous CPU value's memory without a change of type."""
    return effect.sharing in (Sharing.VIEW, Sharing.STRIDED, Sharing.DEVICE, Sharing.LAYOUT)


def apply(effect: Effect, value: Value) -> Value:
    """The result of an operation on `value`."""
    graph = (value.graph if effect.graph else False) if effect.kind is Kind.TENSOR else False
    origin = None
    if value.origin is not None and shares(effect) and not (value.origin.strided and effect.sharing is Sharing.LAYOUT):
        strided = value.origin.strided or effect.sharing is Sharing.STRIDED
        origin = value.origin._replace(view=True, strided=strided)
    element = (value.element or NUMBER) if effect.kind is Kind.LIST else None
    return Value(effect.kind, graph=graph, origin=origin, element=element, why=value.why if origin or graph else ())
