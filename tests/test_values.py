"""The table of `model/effects.py` against the installed libraries, and the evaluator against running the code.

A view is told by memory: the result lies in the same allocation as the value that it was made from.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.model import effects
from flake8_torchleak.model.effects import Effect, Sharing
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.values import NONE, UNKNOWN, Kind, Size, Value, join
from flake8_torchleak.source import Source

# -- the table ------------------------------------------------------------------------------------------------

TABLES: dict[str, tuple[Mapping[str, Effect], str]] = {
    "tensor": (effects.TENSOR_METHODS, "t.{}({})"),
    "tensor attribute": (effects.TENSOR_ATTRIBUTES, "t.{}"),
    "torch": (effects.TORCH_FUNCTIONS, "torch.{}(t, {})"),
    "array": (effects.ARRAY_METHODS, "a.{}({})"),
    "array attribute": (effects.ARRAY_ATTRIBUTES, "a.{}"),
    "np": (effects.NUMPY_FUNCTIONS, "np.{}(a, {})"),
}
"""Each table with the form of its examples: name and arguments (none unless listed below) are filled in."""

OF_TENSORS = {
    "view": "t.shape", "view_as": "t", "unsqueeze": "0", "transpose": "0, 1", "permute": "(1, 0)", "narrow": "1, 0, 2",
    "select": "1, 0", "expand": "2, *t.shape", "expand_as": "t.new_empty(2, *t.shape)",
    "movedim": "0, 1", "swapaxes": "0, 1",
    "unfold": "0, 2, 1", "type_as": "torch.ones(1)", "reshape": "(-1,)", "pow": "2", "softmax": "0", "log_softmax": "0",
    "clamp": "0", "add": "0", "sub": "0", "mul": "1", "div": "1", "matmul": "t.T", "mm": "t.T", "repeat": "1, 1",
    "flip": "(0,)", "roll": "0", "gather": "0, t.argsort(0)", "index_select": "0, torch.tensor([0, 1])",
    "masked_select": "t > 0", "masked_fill": "t > 9, 0", "cumsum": "0", "logsumexp": "0", "maximum": "t",
    "minimum": "t", "full_like": "1", "as_tensor": "dtype=torch.float32", "asarray": "dtype=torch.float32",
    **dict.fromkeys(("eq", "ne", "gt", "lt", "ge", "le"), "t"),
}  # fmt: skip
OF_ARRAYS = {
    "transpose": "(1, 0)", "swapaxes": "0, 1", "moveaxis": "0, 1", "expand_dims": "0", "reshape": "-1",
    "clip": "None, 9", "take": "[0, 1], 0", "repeat": "1", "tile": "1", "roll": "0", "pad": "0", "astype": "a.dtype",
    "asarray": "dtype=np.float32", "asanyarray": "dtype=np.float32", "broadcast_to": "(2, *a.shape)",
    **dict.fromkeys(("mean", "sum", "max", "min", "std", "argmax", "argmin", "prod", "cumsum"), "0"),
    **dict.fromkeys(("add", "subtract", "multiply", "maximum", "minimum"), "a"),
}  # fmt: skip
ARGUMENTS = {"t": OF_TENSORS, "a": OF_ARRAYS, "n": OF_ARRAYS}
WHOLE = {
    **{f"torch.{name}": f"torch.{name}([t])" for name in ("stack", "cat", "concat", "hstack", "vstack")},
    **{f"torch.{name}": f"torch.{name}(2, 3)" for name in ("zeros", "ones", "empty", "rand", "randn")},
    **{f"torch.{name}": f"torch.{name}(3)" for name in ("randperm", "arange", "eye")},
    **{f"np.{name}": f"np.{name}([a])" for name in ("stack", "concatenate", "hstack", "vstack")},
    **{f"np.{name}": f"np.{name}(3)" for name in ("zeros", "ones", "empty", "arange", "eye")},
    "tensor.item": "t[0, 0].item()", "array.item": "a.item(0)", "tensor.bmm": "t[None].bmm(t.T[None])",
    "torch.bmm": "torch.bmm(t[None], t.T[None])", "torch.where": "torch.where(t > 0, t, t)",
    "torch.full": "torch.full((2, 3), 1)", "torch.randint": "torch.randint(9, (3,))",
    "torch.linspace": "torch.linspace(0, 1, 3)", "torch.tensor": "torch.tensor(t.tolist())",
    "torch.from_numpy": "torch.from_numpy(t.detach().numpy())", "np.where": "np.where(a > 0, a, a)",
    "np.full": "np.full((2, 3), 1)", "np.linspace": "np.linspace(0, 1, 3)",
}  # fmt: skip
"""Where more than the arguments differs: no tensor to begin with, a list of them, another number of dimensions."""

TYPES: dict[Kind, type | tuple[type, ...]] = {
    Kind.TENSOR: torch.Tensor, Kind.ARRAY: np.ndarray, Kind.LIST: list, Kind.TUPLE: tuple, Kind.DICT: dict,
    Kind.NUMBER: (int, float, tuple, torch.dtype, torch.device, np.dtype), Kind.STRING: str, Kind.NONE: type(None),
}  # fmt: skip


def memory(value: object) -> tuple[int, int]:
    """First and last address of the allocation (tensor) or elements (array); of anything else, an empty range."""
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    return np.lib.array_utils.byte_bounds(value) if isinstance(value, np.ndarray) else (0, 0)


def shares(one: object, other: object) -> bool:
    """Whether two values, both alive, lie in the same memory."""
    (low, high), (first, last) = memory(one), memory(other)
    return low < last and first < high


def is_contiguous(value: Any) -> bool:
    """Whether a tensor or array lies in memory in the order of its elements, without gaps."""
    return bool(value.is_contiguous() if isinstance(value, torch.Tensor) else value.flags.c_contiguous)


def carries(value: object) -> bool:
    """Whether a value, or a part of it, has autograd history."""
    value = value.grad_fn if isinstance(value, torch.Tensor) else value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return isinstance(value, torch.autograd.graph.Node) or any(carries(part) for part in parts)


def run(expression: str, value: Any) -> Any:
    """The expression's value, with `t` and `a` standing for `value`."""
    return eval(expression, {"copy": copy, "torch": torch, "np": np, "t": value, "a": value})


def inputs(expression: str) -> list[Any]:
    """Values to try a row on: both floating types, each contiguous and transposed."""
    kinds = [torch.rand(3, 4, dtype=dtype) + 0.1 for dtype in (torch.float32, torch.float64)]
    tensors = [form for each in kinds for form in (each, each.T.clone())]
    return [each.numpy() for each in tensors] if expression.startswith(("a", "np")) else tensors


ROWS = {
    f"{table}.{name}": (WHOLE.get(f"{table}.{name}") or form.format(name, ARGUMENTS[form[0]].get(name, "")), effect)
    for table, (rows, form) in TABLES.items()
    for name, effect in rows.items()
}


@pytest.mark.parametrize(("expression", "effect"), ROWS.values(), ids=ROWS)
def test_row_kind_and_memory(expression: str, effect: Effect) -> None:
    outcomes = set()
    for value in inputs(expression):
        first = run(expression, value)
        dtype = first.dtype if type(first) is type(value) else value.dtype
        for each in (value, value.type(dtype) if isinstance(value, torch.Tensor) else value.astype(dtype)):
            result = run(expression, each)
            assert isinstance(result, TYPES[effect.kind])
            contiguous = is_contiguous(each)
            conditions = {Sharing.COPY: False, Sharing.DTYPE: each.dtype == dtype, Sharing.LAYOUT: contiguous}
            assert shares(result, each) is conditions.get(effect.sharing, True)
            assert effect.sharing is not Sharing.DEVICE or result is each  # there is no other device here
            assert effect.sharing is not Sharing.STRIDED or not (contiguous and is_contiguous(result))
            outcomes.add(shares(result, each))
    assert len(outcomes) == 1 + (effect.sharing in (Sharing.DTYPE, Sharing.LAYOUT))


@pytest.mark.filterwarnings("ignore:torch.asarray")  # says that history came to go through it in torch 2.13
@pytest.mark.parametrize(("expression", "effect"), ROWS.values(), ids=ROWS)
def test_row_graph(expression: str, effect: Effect) -> None:
    if effect.kind is not Kind.TENSOR:
        assert not effect.graph
        return
    for value in inputs(expression):
        history = value.requires_grad_() * 1
        assert carries(history)
        assert carries(run(expression, history)) is effect.graph
        assert not carries(run(expression, value.detach()))


# -- facts beside the table -----------------------------------------------------------------------------------

BASIC = "0; -1; 0:2; ::2; ...; ..., 0; None; None, 0; 0, 1:; (0,)"
OTHER = "[0]; [0, 1]; [0], :; t > 0; t[:, 0] > 0; np.array([0]); torch.arange(2)"
SHARED = """
np.array(a, copy=None); np.array(a, copy=False); np.asarray(a); np.asanyarray(a); a.astype(a.dtype, copy=False)
torch.from_numpy(a); torch.as_tensor(a); torch.asarray(a); torch.from_numpy(a).double(); torch.from_numpy(a)[1:].numpy()
torch.DoubleTensor(a); list(a)[0]; np.split(a, 3)[0]; np.from_dlpack(torch.from_numpy(a)); np.frombuffer(a)
torch.from_numpy(a).chunk(2)[0]; torch.from_numpy(a).unbind()[0]; next(iter(torch.from_numpy(a)))
"""
COPIED = """
np.array(a); np.asarray(a, dtype=int); a.astype(int, copy=False); np.nan_to_num(a); torch.tensor(a); copy.copy(a)
torch.as_tensor(a, dtype=torch.int64); torch.from_numpy(a).long(); copy.deepcopy(a); torch.from_numpy(a).float()
"""


def split(text: str) -> list[str]:
    """The expressions of a list."""
    return [each for line in text.strip().splitlines() for each in line.split("; ")]


@pytest.mark.parametrize("index", [*split(BASIC), *split(OTHER)])
def test_basic_indices_share_and_others_copy(index: str) -> None:
    for value in (np.ones((3, 4)), torch.ones(3, 4)):
        assert shares(run(f"t[{index}]", value), value) is (index in split(BASIC))


def test_one_element_is_a_scalar_of_an_array_and_a_view_of_a_tensor() -> None:
    array, tensor = np.ones(3), torch.ones(3)
    assert type(array[0]) is np.float64
    assert shares(tensor[0], tensor)
    assert shares(array[0, ...], array)  # an ellipsis keeps it an array
    assert isinstance(array.mean(), np.generic)  # as a reduction of the whole is


@pytest.mark.parametrize("name", split("max; min; sort; median; mode; topk; kthvalue; cummax; cummin"))
@pytest.mark.parametrize("form", ["t.{}({})", "torch.{}(t, {})"])
def test_reductions_with_indices(name: str, form: str) -> None:
    history = torch.rand(3, 4, requires_grad=True) * 1
    found, indices = run(form.format(name, "1, 0" if name in ("topk", "kthvalue") else "0"), history)
    assert (carries(found), carries(indices), shares(found, history)) == (True, False, False)


@pytest.mark.parametrize("expression", split(SHARED) + split(COPIED))
def test_from_arrays(expression: str) -> None:
    array = np.ones((3, 4))
    assert shares(run(expression, array), array) is (expression in split(SHARED))


def test_the_same_tensor() -> None:
    history = torch.ones(2, requires_grad=True) * 1
    for same in (history.cpu(), history.to("cpu"), history.float(), history.contiguous(), torch.as_tensor(history)):
        assert same is history
    assert not shares(history.to("cpu", copy=True), history)
    with pytest.raises(RuntimeError, match="requires grad"):
        history.numpy()


# -- the evaluator: what it claims of an expression must be what running the code shows ------------------------

TENSORS = """\
import copy, torch, numpy as np, torch.nn as nn, torch.nn.functional as F
model, criterion = nn.Linear(3, 3), nn.CrossEntropyLoss()
x = torch.rand(2, 3)
t = model(x)
p, w = torch.rand(2, 3), torch.rand(2, 3)
w.requires_grad_()
y = torch.tensor([0, 2])
a = np.ones((2, 3), dtype=np.float32)
result = """
"""t has history, p and a have none, w is differentiated, y holds labels."""

GRAPHS = """
t; p; t.detach(); t.data; t.cpu().clone(); t[t > 0]; t.to(torch.float64); t.argmax(1); (t.argmax(1) == y).float()
(t > 0).float(); (t > 0) * t; -t; p @ t.T; t.max(1); t.max(1)[0]; t.max(1)[1]; t.max(1).indices; torch.max(t, p)
t.sort()[1]; t.topk(2, dim=1)[0]; float(t.sum()); bool(t.sum() > 0); t.sum().item(); t.sum().item() + t.sum()
t.tolist(); t.detach().numpy(); t.shape[0]; t.sum() / len(t); p.mul(2); p.masked_fill(t > 0, 0); p.clone().mul_(2)
w.detach(); torch.stack([t, t]).mean(); torch.stack([p, t]); torch.cat((t, p), dim=0)
torch.stack([each.detach() for each in t]); torch.as_tensor(t); torch.tensor([each.item() for each in t[0]])
torch.as_tensor(t, dtype=torch.float64); torch.asarray(t); torch.zeros_like(t) + t; torch.where(t > 0, t, p)
torch.add(p, other=t); torch.sigmoid(t) > 0.5; torch.from_numpy(t.detach().numpy()); torch.einsum("ij,ij->i", t, t)
F.cross_entropy(t, y); F.cross_entropy(p, y); F.softmax(t, dim=1).argmax(1); F.mse_loss(p, target=t)
F.linear(p, model.weight.detach()); F.linear(p, model.weight); criterion(t, y).item(); criterion(p, y)
nn.Softmax(dim=1)(p); nn.Softmax(dim=1)(t); nn.ReLU()(t.detach()).numpy(); nn.Dropout()(t); nn.Flatten()(p)
nn.Linear(3, 3)(p); model(x); model(x).max(1)[1]; model.weight * 2; model.weight.detach().clone(); model.state_dict()
sum([t, t]); sum(each.item() for each in t[0]); sum(t); [t, p][0]; [t.item() for t in t[0]]; (t.detach(), p)
{"loss": t, "n": 1}["n"]; {"loss": t, "n": 1}["loss"]; (None or t); copy.deepcopy(t.detach()); f"{t.sum()}"; t.grad_fn
np.mean([t.item() for t in t[0]]); t.clone().detach_(); (t.std(0), t.mean(0)); (z := t.detach()) + 1
p.detach().requires_grad_() * 2; p.detach().requires_grad_().sum(); t.to(torch.long); t.to(y); abs(t); t.max(p)
t.max(p)[1]; p.mul(t); p.add(t); p.matmul(t.T); p.clone().add_(t); p.clone().copy_(t); t if len(p) else p
model(x) if len(p) else p; p if not len(p) else t; 0.0 if not len(p) else model(x); (len(p) and t); 0 or t; copy.copy(t)
t.split(1)[0]; torch.split(t, 1)[0]; torch.split(p, [1, 2], dim=-1)[0]; torch.chunk(t.detach(), 2)[0]
torch.unbind(t)[0]
"""

DATASET = """\
import copy, torch, numpy as np
class Rows(torch.utils.data.Dataset):
    def __init__(self):
        self.data, self.big, self.labels = np.zeros((4, 3), dtype=np.float32), torch.zeros(4, 3), np.arange(4)
        self.parts = [np.zeros(3), np.ones(3)]
        self.named = {"a": np.zeros((2, 3)), "b": torch.zeros(3)}
    def __getitem__(self, i):
        a = self.data
        chosen, order, mask = [0, 1], np.argsort(self.data[:, 0]), self.data[:, 0] >= 0
        result = """

VIEWS = """
self.data; self.big; self.labels; self.data[i]; a[i]; a[i].T; self.data[i:i + 1]; self.data[i].ravel()
np.ascontiguousarray(self.data[i]); np.fliplr(self.data); np.asarray(self.data[i]); np.asarray(self.data); self.big[i]
self.big[i, 0]; torch.from_numpy(self.data[i])[None]; torch.as_tensor(self.data[i]); self.big[i].to("cpu")
self.big[i].detach(); self.labels[i:i + 1]; self.parts[i % 2]; self.parts[i % 2][1:]; self.named.get("b")
self.data[i] if len(a) else None; next(iter(self.data)); [row for row in self.data][0]; max(self.data, key=np.sum)
(row := self.data[i]); self.data[[i]]; self.data[chosen]; self.data[order]; self.data[np.where(mask)]
self.data[i].astype(np.float32); self.labels[i]; self.data[i] / 255; self.data[i].flatten(); np.array(self.data[i])
np.asarray(self.data[i], dtype=np.float64); np.where(mask, self.data[:, 0], 0); torch.from_numpy(self.data[i]).double()
torch.tensor(self.data[i]); self.big[self.big > 0]; self.big[i].clone(); self.big[i].to("cpu", copy=True)
self.big[i].max(0)[0]; self.parts[0][0]; copy.deepcopy(self.data[i]); abs(self.data[i])
self.data[i, 0]; self.data[i][0]; self.data[mask]; self.data[~mask]; self.data[mask & mask]; self.data.T.ravel()
np.ascontiguousarray(self.data.T); np.ascontiguousarray(np.fliplr(self.data)); self.big[:, i].contiguous()
np.ascontiguousarray(self.data[:, ::-1]); self.big.t().contiguous(); self.big[i].to("cpu", torch.float64)
self.data[range(2)]; np.ascontiguousarray(self.data.real)
"""

FALSE_GRAPHS = """
torch.max(p, t); w * 2; w.sum(); p.detach().requires_grad_()
"""
FALSE_VIEWS = """
max(self.data[i])
"""
"""Known false claims of either kind: whoever mends one moves it up."""


def both(true: str, false: str) -> list[Any]:
    """The expressions of two lists, the second marked as what fails."""
    fails = pytest.mark.xfail(reason="a false claim", raises=AssertionError)
    return [*split(true), *(pytest.param(each, marks=fails) for each in split(false))]


def inferred(module: str) -> Value:
    """What the evaluator says of what the module last assigns to a variable."""
    tree = ast.parse(module)
    last = max((each for each in ast.walk(tree) if isinstance(each, ast.Assign)), key=lambda each: each.lineno)
    return Module(Source(module), tree, DEFAULT).infer.value(last.value)


@pytest.mark.filterwarnings("ignore")  # float() of a tensor that requires grad, torch.asarray of one
@pytest.mark.parametrize("expression", both(GRAPHS, FALSE_GRAPHS))
def test_claims_about_graphs(expression: str) -> None:
    claim, names = inferred(TENSORS + expression), dict[str, Any]()
    exec(TENSORS + expression, names)
    assert claim.graph in (None, carries(names["result"]))
    scalar = claim.kind is Kind.ARRAY and isinstance(names["result"], np.generic)
    assert scalar or isinstance(names["result"], TYPES.get(claim.kind, object))


def test_most_claims_about_graphs_are_definite() -> None:
    assert [inferred(TENSORS + each).graph for each in split(GRAPHS)].count(None) < 0.2 * len(split(GRAPHS))


@pytest.mark.parametrize("expression", both(VIEWS, FALSE_VIEWS))
def test_claims_about_memory(expression: str) -> None:
    module = f"{DATASET}{expression}\n        return result\n"
    claim, names = inferred(module), dict[str, Any]()
    exec(module, names)
    result = (dataset := names["Rows"]())[1]
    stored = [dataset.data, dataset.big, dataset.labels, *dataset.parts, *dataset.named.values()]
    assert (claim.origin is not None) is any(shares(result, each) for each in stored)
    if claim.origin is not None and not claim.origin.view:
        assert any(result is each for each in stored)


# -- joining ----------------------------------------------------------------------------------------------------

KINDS = (Kind.UNKNOWN, Kind.NUMBER, Kind.TENSOR, Kind.ARRAY, Kind.LIST, Kind.TUPLE, Kind.DICT)
GRAPH, SIZE = st.sampled_from([None, False, True]), st.sampled_from(Size)


def of(kinds: tuple[Kind, ...]) -> st.SearchStrategy[Value]:
    """Values of these kinds, with and without an element."""

    def made(kind: Kind, graph: bool | None, size: Size, element: Value | None) -> Value:
        return Value(kind, graph, size, element)

    flat = st.builds(made, st.sampled_from(kinds), GRAPH, SIZE, st.none())
    return flat | st.builds(made, st.sampled_from(kinds), GRAPH, SIZE, flat)


@given(of(KINDS) | st.just(NONE), st.integers(1, 3))
def test_join_is_idempotent(value: Value, times: int) -> None:
    assert join([value] * times) == value


@given(of(KINDS))
def test_an_unknown_alternative_does_not_unsay_history(value: Value) -> None:
    for alternatives in ([value.but(graph=True), UNKNOWN], [UNKNOWN, value.but(graph=True)]):
        assert join(alternatives).graph is True


@pytest.mark.parametrize("kinds", [*((kind,) for kind in KINDS[1:]), KINDS])
@settings(max_examples=20)
@given(st.data())
def test_join_in_any_order(kinds: tuple[Kind, ...], data: st.DataObject) -> None:
    alternatives = data.draw(st.lists(of(kinds), min_size=1, max_size=3))
    one, other = join(alternatives), join(alternatives[::-1])
    assert (one.graph, one.size) == (other.graph, other.size)
    assert one.graph is True or not any(each.graph for each in alternatives)
