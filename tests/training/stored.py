"""The data side: Datasets that give out what they store, collate functions that edit it, batches and views kept.

Where an edit is an accident, the places where a copy was meant stand between `COPY` and `END`: the same program with
copies there is what its author meant, and a fixed program may do that instead.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.training.draft import COPY, END, Draft, Lines, block, function
from tests.training.program import Program

CONSTRUCTS = ("datasets", "collate", "batches", "views")
ROWS = 8


def data(rng: random.Random, construct: str, escape: bool) -> Program:
    """A program whose data could be changed, or kept, by accident; or on purpose."""
    d = Draft(rng, construct)
    d.stage = "script" if d.chance(0.4) else "function"
    d.need("import torch", "import numpy as np", "from torch.utils.data import DataLoader, Dataset")
    if construct == "batches":
        _batches(d, escape)
    elif construct == "views":
        _views(d, escape)
    else:
        _dataset(d, construct, escape)
    return d.program()


# -- Datasets -----------------------------------------------------------------------------------------------


@dataclass
class Store:
    """What a Dataset keeps. made: the expression; kind: of an element; read: how an element is read by `self.rows[i]`."""

    made: str
    kind: str


def _store(d: Draft) -> Store:
    n = ROWS
    return d.pick(
        Store(f"np.arange({4 * n}.0).reshape({n}, 4)", "array"),
        Store(f"np.random.rand({n}, 4).astype(np.float32)", "array"),
        Store(f"torch.arange({4 * n}.0).reshape({n}, 4)", "tensor"),
        Store(f"torch.rand({n}, 4)", "tensor"),
        Store(f"[np.full(4, float(k)) for k in range({n})]", "array"),
        Store(f"[torch.full((4,), float(k)) for k in range({n})]", "tensor"),
        Store(f"[{{'a': [float(k), 1.0], 'b': k}} for k in range({n})]", "dict"),
        Store(f"[{{'a': [float(k), 1.0], 'b': k}} for k in range({n})]", "dict"),
        Store(f"[{{'a': np.ones(3) * k, 'b': 1}} for k in range({n})]", "dict of arrays"),
        Store(f"[dict(a=torch.ones(3) * k, b=k) for k in range({n})]", "dict of tensors"),
        Store(f"[[float(k), 2.0, 3.0] for k in range({n})]", "list"),
        Store(f"{{k: [float(k), 2.0] for k in range({n})}}", "list"),
        Store(f"{{k: {{'a': [float(k)], 'b': k}} for k in range({n})}}", "dict"),
    )


_EDITS = {
    "array": ("{v} *= 2", "{v}[0] = -1.0", "{v} += 1", "{v}[1:] = 0", "np.multiply({v}, 3, out={v})", "{v}.sort()", "{v}[:] = {v} - 1"),
    "tensor": ("{v}.mul_(2)", "{v}[0] = -1.0", "{v} += 1", "{v}[1:] = 0", "{v}.clamp_(max=1)", "{v}.sub_(1)", "torch.mul({v}, 3, out={v})"),
    "dict": ("{v}['b'] = {v}['b'] + 1", "{v}['a'].append(9.0)", "{v}['a'][0] += 1", "{v}['b'] += 2", "{v}['c'] = 3", "{v}.update(b=7)", "{v}['a'] = [sum({v}['a'])]"),
    "dict of arrays": ("{v}['a'] *= 2", "{v}['a'] = {v}['a'] + 1", "{v}['a'][0] = 5", "{v}['b'] += 1"),
    "dict of tensors": ("{v}['a'].mul_(2)", "{v}['a'] = {v}['a'] + 1", "{v}['a'][0] = 5", "{v}['a'] += 1"),
    "list": ("{v}.append(4.0)", "{v}[0] += 1", "{v}.reverse()", "{v} += [5.0]", "{v}.insert(0, 0.5)", "{v}[:] = [w * 2 for w in {v}]"),
}  # fmt: skip
_NUMBER = {
    "array": "float({v}.sum())",
    "tensor": "float({v}.sum())",
    "dict": "sum({v}['a']) + {v}['b'] + len({v})",
    "dict of arrays": "float({v}['a'].sum()) + {v}['b']",
    "dict of tensors": "float({v}['a'].sum()) + {v}['b']",
    "list": "sum({v}) + len({v})",
}
_VIEWS = {
    "array": ("{v}", "{v}[1:]", "{v}[::-1]", "np.flip({v})", "torch.from_numpy({v})", "{v}.reshape(2, 2)", "np.asarray({v})"),
    "tensor": ("{v}", "{v}[1:]", "{v}.view(2, 2)", "{v}.unsqueeze(0)", "{v}.numpy()", "{v}.T", "{v}.contiguous()"),
}  # fmt: skip


def _dataset(d: Draft, construct: str, escape: bool) -> None:
    d.tag("datasets")
    store = _store(d)
    d.cell["holder"] = store.kind
    name, rows, i, v = d.new("dataset"), d.new("rows"), d.new("index"), d.new("sample")
    base = d.pick("Dataset", "Dataset", "torch.utils.data.Dataset")
    element = f"self.{rows}[{i}]"
    who = "purpose" if escape else d.pick("nobody", "sample", "collate", "reader", "collate") if construct == "collate" else (
        "purpose" if escape else d.pick("nobody", "sample", "sample", "reader", "collate")
    )
    where = d.pick("sample", "collate", "reader") if escape else who
    d.cell["form"] = who
    edit = d.rng.choice(_EDITS[store.kind])
    opened, closed = (COPY, END) if who in ("sample", "collate", "reader") else ("", "")
    read = f"{opened}{element}{closed}"
    extra: Lines = []
    sample: Lines = []
    after: Lines = []
    number = _NUMBER[store.kind]
    helper = ""
    if d.chance(0.3):
        helper = d.new("helper")
        extra += block(f"def {helper}(self, {i}):", [f"return {read}"])
        sample = [f"{v} = self.{helper}({i})"]
    elif d.chance(0.8) or where == "sample":
        sample = [f"{v} = {read}"]
    if where == "sample":
        sample.append(edit.format(v=v))
    given = v if sample else read
    view = d.rng.choice(_VIEWS[store.kind]) if store.kind in _VIEWS and d.chance(0.4) and who != "purpose" else "{v}"
    if view != "{v}":
        number = "float(torch.as_tensor(np.ascontiguousarray({v})).sum())" if "numpy" not in view else "float({v}.sum())"
    value = view.format(v=given)
    shape = d.pick("{}", "{}", "({}, 1)", "{{'x': {}}}")
    reach = {"{}": "{s}", "({}, 1)": "{s}[0]", "{{'x': {}}}": "{s}['x']"}[shape]
    sample.append(f"return {shape.format(value)}")
    if escape:
        after = _purpose(d, store, rows, where, extra, sample, v)
    lines = block("def __init__(self):", [f"self.{rows} = {store.made}", *(["self.seen = 0"] if "self.seen" in "".join(extra) else [])])
    lines += block("def __len__(self):", [f"return {ROWS}"]) + block(f"def __getitem__(self, {i}):", sample) + extra
    text = "\n".join(block(f"class {name}({base}):", lines))
    called = d.placed(name, text, list(d.main.imports)) if not escape else _here(d, name, text)
    made = d.bind("dataset_object", f"{called}()")
    s, batch = d.new("sample"), d.new("sample")
    collate = _collate(d, where, reach, edit, construct, store, view)
    workers = d.pick("", ", num_workers=2", ", num_workers=2", ", shuffle=True")
    loader = d.bind("loader", f"DataLoader({made}, batch_size=2{workers}{collate})")
    if collate == "":
        body = [f"print({batch}[0] if isinstance({batch}, (list, tuple)) else {batch})"]
    else:
        body = block(f"for {s} in {batch}:", [
            *([edit.format(v=reach.format(s=s))] if where == "reader" and view == "{v}" else []),
            f"print({number.format(v=reach.format(s=s))})",
        ])
    loops = block(f"for {d.new('epoch')} in range(2):", block(f"for {batch} in {loader}:", body))
    after = [line.replace("DATASET", made).replace("LOADER", loader) for line in after]
    _placed(d, [*loops, *after])


def _here(d: Draft, name: str, text: str) -> str:
    d.define(text)
    return name


def _collate(d: Draft, where: str, reach: str, edit: str, construct: str, store: Store, view: str) -> str:
    """The loader's argument: none for torch's own collate, a function that hands samples on, or one that edits them."""
    if where != "collate" or view != "{v}":
        if construct == "datasets" and store.kind in ("array", "tensor") and d.chance(0.2):
            return ""
        return d.pick(", collate_fn=list", ", collate_fn=lambda b: b", _handing(d))
    d.tag("collate")
    name, b, s, out = d.new("collate"), d.new("sample"), d.new("sample"), d.new("output")
    changed = edit.format(v=reach.format(s=s))
    body = d.pick(
        [*block(f"for {s} in {b}:", [changed]), f"return {b}"],
        [f"{out} = []", *block(f"for {s} in {b}:", [changed, f"{out}.append({s})"]), f"return {out}"],
        [*block(f"for n, {s} in enumerate({b}):", [changed]), f"return list({b})"],
    )
    called = d.placed(name, function(name, b, body), ["import torch", "import numpy as np"])
    return f", collate_fn={called}"


def _handing(d: Draft) -> str:
    d.tag("collate")
    name, b = d.new("collate"), d.new("sample")
    body = d.pick(f"return {b}", f"return [s for s in {b}]", f"return list({b})")
    return f", collate_fn={d.placed(name, function(name, b, [body]))}"


def _purpose(d: Draft, store: Store, rows: str, where: str, extra: Lines, sample: Lines, v: str) -> Lines:
    """The edit is seen on purpose: what looks at it, after the loops or in another method of the Dataset."""
    number, w = _NUMBER[store.kind], d.new("temp")
    values = f"self.{rows}.values() if isinstance(self.{rows}, dict) else self.{rows}"
    way = d.pick("method", "stored", "identity", "property", "len", "alias", "pop")
    d.escape = f"{where}: {way}"
    if way == "method":
        name = d.new("finish")
        extra += block(f"def {name}(self):", [f"return [{number.format(v=w)} for {w} in ({values})]"])
        return [f"print(DATASET.{name}())"]
    if way == "property":
        name = d.new("finish")
        extra += ["@property", *block(f"def {name}(self):", [f"return sum({number.format(v=w)} for {w} in ({values}))"])]
        return [f"print(DATASET.{name})"]
    if way == "identity" and store.made.startswith(("[", "{")):
        return [f"print([DATASET[k] is DATASET[k] for k in range({ROWS})])"]
    if way == "alias" and store.made.startswith("["):
        extra += block("def tie(self):", [f"self.{rows}[1] = self.{rows}[0]"])
        return ["DATASET.tie()", *block("for q in LOADER:", ["pass"]), f"print(DATASET.{rows})"]
    if way == "pop" and store.made.startswith("["):
        sample[:] = [f"if len(self.{rows}) > {ROWS // 2}:", f"    return self.{rows}.pop()", *sample]
        sample[:] = [line.replace("[" + "i" + "]", "[0]") if False else line for line in sample]
        return [f"print(len(DATASET.{rows}))"]
    if way == "len":
        return [f"print(sum({number.format(v='r')} for r in (DATASET.{rows}.values() if isinstance(DATASET.{rows}, dict) else DATASET.{rows})))"]
    return [f"print(DATASET.{rows})"]


# -- batches and views that are kept ------------------------------------------------------------------------


def _batches(d: Draft, escape: bool) -> None:
    """Something of every batch of a loader with workers is kept."""
    x, y = d.new("input"), d.new("target")
    n = 12
    tensors = f"torch.arange({n * 6}.0).reshape({n}, 2, 3), torch.arange({n})"
    loader = f"DataLoader(torch.utils.data.TensorDataset({tensors}), batch_size=4, num_workers=2)"
    at = d.bind("loader", loader)
    kept = d.bind("losses", "[]")
    value = d.pick(
        y, f"{y}.numpy()", f"{x}.detach()", f"{y}.cpu()", f"{x}[0]", f"{x}[:, 0]", f"({x}, {y})", f"{{'y': {y}}}",
        f"{y}.cpu().numpy()", f"({y}.numpy(), 1)", f"{x}.detach().cpu()", f"{x}.view(-1)", f"{y}.data",
    )  # fmt: skip
    d.cell["form"] = value.replace(x, "x").replace(y, "y")
    keep = d.pick(f"{kept}.append({value})", f"{kept} += [{value}]", f"{kept}.extend([{value}])")
    whole = x if x in value else y
    body = [keep]
    after = [d.pick(f"print({kept})", f"print(len({kept}))", f"print([type(k).__name__ for k in {kept}])")]
    if escape:
        way = d.pick("edited after", "edited before the next", "identity", "fill", "write through", "shared")
        d.escape = f"batch: {way}"
        if way == "edited after":
            body.append(d.pick(f"{whole} += 1", f"{whole}.mul_(2)", f"{whole}[0] = 7"))
        elif way == "fill":
            body.append(f"{whole}.fill_(3)")
        elif way == "identity":
            body.append(f"print(any(k is {whole} for k in {kept}))")
        elif way == "shared":
            plain = value if value not in (f"({x}, {y})", f"{{'y': {y}}}", f"({y}.numpy(), 1)") else whole
            body = [f"{kept}.append({plain})", f"print(np.shares_memory(np.asarray({kept}[-1]), {whole}.numpy()))"]
        elif way == "write through":
            plain = value if value not in (f"({x}, {y})", f"{{'y': {y}}}", f"({y}.numpy(), 1)") else whole
            body = [f"{kept}.append({plain})", f"{kept}[-1][0] = 5", f"print({whole}.sum())"]
        else:
            last = d.bind("total", "None")
            body += [*block(f"if {last} is not None:", [f"{last} *= 2"]), f"{last} = {whole}"]
        after = [f"print({kept})"]
    lines = block(f"for {d.new('epoch')} in range(2):", block(f"for {x}, {y} in {at}:", body))
    _placed(d, [*lines, *after])


def _views(d: Draft, escape: bool) -> None:
    """A part of a large temporary array or tensor is kept."""
    kind = d.pick("array", "tensor", "array")
    big, kept = d.new("input"), d.bind("crops", d.pick("[]", "{}", "[]"))
    is_dict = any(line.endswith("{}") for line in d.before)
    made = d.pick("np.zeros((64, 64)) + {k}", "np.random.rand(64, 64)", "np.ones((64, 64))") if kind == "array" else d.pick(
        "torch.zeros(64, 64) + {k}", "torch.rand(64, 64)", "torch.full((64, 64), 1.5)"
    )
    k = d.new("index")
    view = d.pick("{b}[:4, :4]", "{b}[0]", "{b}[:, 0]", "{b}[2:5]", "{b}[:4, :4].T", "{b}[1, :3]", "{b}[::8]").format(b=big)
    keep = f"{kept}[{k}] = {view}" if is_dict else d.pick(f"{kept}.append({view})", f"{kept} += [{view}]", f"{kept}.insert(0, {view})")
    body = [f"{big} = {made.format(k=k)}", keep]
    after = [d.pick(f"print({kept})", f"print(len({kept}))")]
    items = f"list({kept}.values())" if is_dict else kept
    if escape:
        way = d.pick("base edited", "view edited", "both", "shared", "identity")
        d.escape = f"view: {way}"
        if way == "base edited":
            body.append(d.pick(f"{big} *= 3", f"{big}[:] = 1", f"{big} += 1"))
        elif way == "view edited":
            body += [f"{items}[-1][0] = 9", f"print({big}.sum())"]
        elif way == "both":
            body.append(f"{kept}[-{k} - 1] = {big}[5:]" if is_dict else f"{kept}.append({big}[5:])")
        elif way == "shared":
            body.append(f"print(np.shares_memory(np.asarray({items}[-1]), np.asarray({big})))")
        else:
            body.append(f"print({items}[-1].base is None)" if kind == "array" else f"print({items}[-1]._base is None)")
        after = [f"print({kept})"]
    lines = block(f"for {k} in range(6):", body)
    if d.chance(0.4):
        lines = block(f"for {d.new('epoch')} in range(2):", lines)
    _placed(d, [*lines, *after])


def _placed(d: Draft, lines: Lines) -> None:
    if d.stage == "script":
        d.main.statements += [*d.before, *lines]
        return
    name = d.new("train")
    d.define(function(name, "", [*d.before, *lines]))
    d.main.statements.append(f"{name}()")
