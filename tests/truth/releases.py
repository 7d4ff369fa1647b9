"""The ways in which a value is released, or is not, before it is kept: those of FACTS.md, and what is taken for one.

Nothing here says which of them release: that is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.training.draft import Lines, block, function
from tests.truth.draft import Choices

V = "VAR"


@dataclass(frozen=True)
class Way:
    """name: for tables; text: over V, empty for a mode of the whole step. gives: "tensor", "number" or "other".

    mode: what the step, or the statement that keeps, is run under.
    """

    name: str
    text: str = V
    gives: str = "tensor"
    mode: str = ""
    needs: str = ""


_NONE = [Way("none")] * 4
_GRAPH_KEPT = (
    *_NONE,
    Way(".cpu()", f"{V}.cpu()"),
    Way(".clone()", f"{V}.clone()"),
    Way(".to('cpu')", f"{V}.to('cpu')"),
    Way(".float()", f"{V}.float()"),
    Way("view", f"{V}.view(-1)"),
    Way("arithmetic", f"{V} * 2"),
    Way("arithmetic", f"{V} / 4"),
    Way("reduction", f"{V}.mean()"),
    Way("reduction", f"{V}.sum()"),
    Way("stack", f"torch.stack([{V}])"),
    Way("no_grad at the keep", mode="keep"),
)
_GRAPH_RELEASED = (
    Way(".detach()", f"{V}.detach()"),
    Way(".detach()", f"{V}.detach()"),
    Way(".detach().cpu()", f"{V}.detach().cpu()"),
    Way(".detach().clone()", f"{V}.detach().clone()"),
    Way(".cpu().detach()", f"{V}.cpu().detach()"),
    Way(".data", f"{V}.data"),
    Way("no_grad", mode="with torch.no_grad():"),
    Way("no_grad", mode="with torch.no_grad():"),
    Way("inference_mode", mode="with torch.inference_mode():"),
    Way("set_grad_enabled", mode="with torch.set_grad_enabled(False):"),
    Way("copy.copy", f"copy.copy({V}.detach())", needs="import copy"),
)
_SCALAR_RELEASED = (
    Way(".item()", f"{V}.item()", "number"),
    Way(".item()", f"{V}.item()", "number"),
    Way(".item()", f"{V}.item()", "number"),
    Way("float()", f"float({V})", "number"),
    Way(".tolist()", f"{V}.tolist()", "number"),
    Way("numpy", f"{V}.detach().numpy()", "number"),
    Way("numpy", f"{V}.detach().cpu().numpy()", "number"),
    Way("round", f"round({V}.item(), 4)", "number"),
    Way("str", f"str({V})", "other"),
    Way("f-string", f"f'{{{V}:.4f}}'", "other"),
)
_TENSOR_RELEASED = (
    Way("argmax", f"{V}.argmax(1)"),
    Way("comparison", f"({V} > 0)"),
    Way("numpy", f"{V}.detach().cpu().numpy()"),
    Way("numpy", f"{V}.detach().numpy().copy()"),
    Way("numpy", f"{V}.data.numpy()"),
    Way(".item()", f"{V}.mean().item()", "number"),
    Way(".tolist()", f"{V}.tolist()", "other"),
    Way("len", f"len({V})", "number"),
    Way("shape", f"{V}.shape[0]", "number"),
)
_BATCH_KEPT = (
    *_NONE,
    Way(".numpy()", f"{V}.numpy()"),
    Way(".numpy()", f"{V}.numpy()"),
    Way(".cpu()", f"{V}.cpu()"),
    Way(".cpu().numpy()", f"{V}.cpu().numpy()"),
    Way(".detach()", f"{V}.detach()"),
    Way(".detach().cpu().numpy()", f"{V}.detach().cpu().numpy()"),
    Way("np.asarray", f"np.asarray({V})"),
    Way(".data", f"{V}.data"),
    Way("slice", f"{V}[0]"),
    Way("slice", f"{V}[:2]"),
    Way(".float()", f"{V}.float()"),
    Way(".to('cpu')", f"{V}.to('cpu')"),
    Way("view", f"{V}.view(-1)"),
    Way("view", f"{V}.flatten()"),
    Way("view", f"{V}.squeeze()"),
    Way("slice of numpy", f"{V}.numpy()[0]"),
)
_BATCH_RELEASED = (
    Way(".clone()", f"{V}.clone()"),
    Way(".clone()", f"{V}.clone()"),
    Way(".numpy().copy()", f"{V}.numpy().copy()"),
    Way(".numpy().copy()", f"{V}.cpu().numpy().copy()"),
    Way("np.array", f"np.array({V})"),
    Way(".tolist()", f"{V}.tolist()", "other"),
    Way(".item()", f"{V}[0, 0].item()", "number"),
    Way("reduction", f"{V}.sum()"),
    Way("reduction", f"{V}.mean()"),
    Way("argmax", f"{V}.argmax(1)"),
    Way("mask", f"{V}[{V} > 0]", "other"),
    Way("fancy index", f"{V}[[0]]"),
    Way(".double()", f"{V}.double()"),
    Way("arithmetic", f"{V} + 0"),
    Way("arithmetic", f"{V} / 2"),
    Way("stack", f"torch.cat([{V}, {V}])"),
    Way("deepcopy", f"copy.deepcopy({V})", needs="import copy"),
    Way("str", f"str({V})", "other"),
    Way("shape", f"{V}.shape[0]", "number"),
)
_ARRAY_KEPT = (
    Way("slice", f"{V}[:8, :8]"),
    Way("slice", f"{V}[:8, :8]"),
    Way("slice", f"{V}[4:12]"),
    Way("row", f"{V}[0]"),
    Way("strided slice", f"{V}[::32]"),
    Way("transposed slice", f"{V}[:, :4].T"),
    Way("reshaped slice", f"{V}[:2].reshape(-1)"),
    Way("asarray", f"np.asarray({V}[:4])"),
    Way("from_numpy", f"torch.from_numpy({V}[:4])"),
)
_ARRAY_RELEASED = (
    Way("slice.copy()", f"{V}[:8, :8].copy()"),
    Way("slice.copy()", f"{V}[4:12].copy()"),
    Way("np.array", f"np.array({V}[:4])"),
    Way("fancy index", f"{V}[[0, 1]]"),
    Way("arithmetic", f"{V}[:8, :8] / 255"),
    Way("astype", f"{V}[:4].astype(np.float32)"),
    Way("reduction", f"{V}.mean()"),
    Way("reduction", f"{V}.sum(0)[:4].copy()"),
    Way(".tolist()", f"{V}[0, :4].tolist()", "other"),
    Way("torch.tensor", f"torch.tensor({V}[:4])"),
    Way("number", f"{V}[0, 0].item()", "number"),
    Way("shape", f"{V}.shape[0]", "number"),
)
_IMAGE_KEPT = (
    Way("slice", f"{V}[:8, :8]"),
    Way("slice", f"{V}[4:12]"),
    Way("row", f"{V}[0]"),
    Way("strided slice", f"{V}[::32]"),
    Way(".numpy()", f"{V}[:4].numpy()"),
    Way(".detach()", f"{V}[:4].detach()"),
    Way(".contiguous()", f"{V}[:4].contiguous()"),
    Way("narrow", f"{V}.narrow(0, 0, 4)"),
    Way(".float()", f"{V}[:4].float()"),
)
_IMAGE_RELEASED = (
    Way("slice.clone()", f"{V}[:8, :8].clone()"),
    Way("slice.clone()", f"{V}[4:12].clone()"),
    Way(".contiguous()", f"{V}[:8, :8].contiguous()"),
    Way("fancy index", f"{V}[[0, 1]]"),
    Way("arithmetic", f"{V}[:8, :8] / 255"),
    Way(".numpy().copy()", f"{V}[:4].numpy().copy()"),
    Way("reduction", f"{V}.mean()"),
    Way(".tolist()", f"{V}[0, :4].tolist()", "other"),
    Way(".item()", f"{V}[0, 0].item()", "number"),
    Way(".double()", f"{V}[:4].double()"),
)
WAYS: dict[str, tuple[tuple[Way, ...], tuple[Way, ...]]] = {
    "scalar": (_GRAPH_KEPT, (*_GRAPH_RELEASED, *_SCALAR_RELEASED)),
    "tensor": (_GRAPH_KEPT, (*_GRAPH_RELEASED, *_TENSOR_RELEASED)),
    "batch": (_BATCH_KEPT, _BATCH_RELEASED),
    "array": (_ARRAY_KEPT, _ARRAY_RELEASED),
    "image": (_IMAGE_KEPT, _IMAGE_RELEASED),
}
"""By what is kept: the ways that are meant not to release, and those that are meant to."""

PLACES = ("kept", "kept", "kept", "before", "function", "inside")


@dataclass
class Release:
    """A way, and where it is applied. before: statements ahead of the one that keeps, over the value's name.

    inside: what the code of the holder applies to what it is given.
    """

    way: Way
    before: Lines
    value: str
    inside: Callable[[str], str]


def choose(d: Choices, of: str, kept: float) -> Way:
    """A way for that sort of value; with that chance, one of those that are meant not to release."""
    way = d.rng.choice(WAYS[of][0 if d.chance(kept) else 1])
    d.cell["release"] = way.name
    if way.needs:
        d.need(way.needs)
    return way


def applied(d: Choices, way: Way, value: str, may_be_inside: bool) -> Release:
    """The way at some place between the value and its holder. may_be_inside: other code than the loop's keeps it."""
    where = d.rng.choice(PLACES)
    if way.text == V or (where == "inside" and not may_be_inside):
        where = "kept"
    if where == "before" and d.form in ("comprehension",):
        where = "function"
    d.cell["where"] = where
    text = way.text.replace(V, value)
    if where == "before":
        name = d.new("temp")
        return Release(way, [f"{name} = {text}"], name, _same)
    if where == "function":
        name, given = d.new("helper"), d.new("temp")
        result = way.text.replace(V, given)
        lines = d.pick([f"return {result}"], [*block(f"if {given} is None:", ["return None"]), f"return {result}"])
        called = d.placed(
            name, function(name, given, lines), ["import torch", "import numpy as np", way.needs or "import torch"]
        )
        return Release(way, [], f"{called}({value})", _same)
    if where == "inside":
        return Release(way, [], value, lambda given: way.text.replace(V, given))
    return Release(way, [], text, _same)


def _same(value: str) -> str:
    return value
