"""The data side: Datasets that give out what they store, collate functions that edit it, batches and views kept.

Where an edit is an accident, the places where a copy was meant stand between `COPY` and `END`: the same program with
copies there is what its author meant, and a fixed program may do that instead.
"""

from __future__ import annotations

import random

from tests.training.draft import COPY, END, Draft, Lines, block, function
from tests.training.elements import EDITS, NUMBERS, ROWS, VIEWS, Store, store
from tests.training.holders import holder
from tests.training.program import Program

CONSTRUCTS = ("datasets", "collate", "batches", "views")


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


def _dataset(d: Draft, construct: str, escape: bool) -> None:
    """A Dataset, its collate function, and a loop over its loader that reads the samples."""
    d.tag("datasets")
    trap = escape and d.chance(0.4)
    stored = store(d, trap)
    name, rows, i, v = d.new("dataset"), d.new("rows"), d.new("index"), d.new("sample")
    places = (
        ["sample", "collate", "reader", "nobody"]
        if construct == "datasets"
        else ["collate", "collate", "reader", "sample"]
    )
    where = d.rng.choice(places)
    d.cell.update(holder=stored.kind, form=where, ending="trap" if trap else "purpose" if escape else "accident")
    edit = _through_helper(d, d.rng.choice(EDITS[stored.kind]))
    # A copy that was meant: what was edited by accident is the next reader's sample.
    read = (
        f"{COPY}self.{rows}[{i}]{END}"
        if where != "nobody" and not (escape and not stored.trap)
        else f"self.{rows}[{i}]"
    )
    extra: Lines = []
    sample: Lines = []
    number, view = NUMBERS[stored.kind], "{v}"
    if d.chance(0.3):
        helper, j = d.new("helper"), d.new("index")
        extra += block(f"def {helper}(self, {j}):", [f"return {read.replace(f'[{i}]', f'[{j}]')}"])
        sample = [f"{v} = self.{helper}({i})"]
    elif d.chance(0.8) or where == "sample":
        sample = [f"{v} = {read}"]
    if where == "sample":
        sample.append(edit.format(v=v))
    given = v if sample else read
    if stored.kind in VIEWS and where != "collate" and d.chance(0.4):
        view = d.rng.choice(VIEWS[stored.kind])
        number = "float({v}.sum())"
    shape, reach = d.pick(("{}", "{s}"), ("{}", "{s}"), ("({}, 1)", "{s}[0]"), ("{{'x': {}}}", "{s}['x']"))
    sample.append(f"return {shape.format(view.format(v=given))}")
    after: Lines = []
    if trap:
        d.escape = f"element: {stored.trap or 'object'}"
        if stored.trap.endswith("class"):
            number = "{v}.area()"
    elif escape:
        after = _purpose(d, stored, rows, where, extra, sample, f"{v}")
    whole = [f"self.whole = list(self.{rows})"] if any("self.whole" in line for line in sample) else []
    lines = block("def __init__(self):", [f"self.{rows} = {stored.made}", *whole])
    lines += block("def __len__(self):", [f"return {ROWS}"]) + block(f"def __getitem__(self, {i}):", sample) + extra
    base = d.pick("Dataset", "Dataset", "torch.utils.data.Dataset")
    text = "\n".join(block(f"class {name}({base}):", lines))
    if trap and stored.trap in ("list class", "dict class", "shared", "") or d.chance(0.7) and construct != "modules":
        d.define(text)
        called = name
    else:
        called = d.placed(name, text, list(d.main.imports))
    made = d.bind("dataset_object", f"{called}()")
    s, batch = d.new("sample"), d.new("sample")
    collate = _collate(d, where, reach, edit)
    workers = d.pick("", ", num_workers=2", ", num_workers=2", ", shuffle=True")
    loader = d.bind("loader", f"DataLoader({made}, batch_size=2{workers}{collate})")
    reading = [f"print({number.format(v=reach.format(s=s))})"]
    if where == "reader":
        reading.insert(
            0, EDITS[stored.kind][0].format(v=reach.format(s=s)) if view != "{v}" else edit.format(v=reach.format(s=s))
        )
    body = block(f"for {s} in {batch}:", reading)
    loops = block(f"for {d.new('epoch')} in range(2):", block(f"for {batch} in {loader}:", body))
    _placed(d, [*loops, *(line.replace("DATASET", made).replace("LOADER", loader) for line in after)])


def _through_helper(d: Draft, edit: str) -> str:
    """The edit as it is, or as a call of a function that makes it, in this file or another."""
    if not d.chance(0.2):
        return edit
    name, v = d.new("helper"), d.new("temp")
    called = d.placed(name, function(name, v, [edit.format(v=v)]), ["import torch", "import numpy as np"])
    return f"{called}({{v}})"


def _collate(d: Draft, where: str, reach: str, edit: str) -> str:
    """The loader's argument: a function that hands samples on, or one that edits them."""
    if where != "collate":
        return d.pick(", collate_fn=list", ", collate_fn=lambda b: b", _handing(d))
    d.tag("collate")
    name, b, s, out = d.new("collate"), d.new("sample"), d.new("sample"), d.new("output")
    changed = edit.format(v=reach.format(s=s))
    part = d.new("temp")
    through = [f"{part} = {reach.format(s=s)}", edit.format(v=part)]
    body = d.pick(
        [*block(f"for {s} in {b}:", [changed]), f"return {b}"],
        [*block(f"for {s} in {b}:", through), f"return {b}"],
        [f"{out} = []", *block(f"for {s} in {b}:", [changed, f"{out}.append({s})"]), f"return {out}"],
        [*block(f"for n, {s} in enumerate({b}):", [changed]), f"return list({b})"],
        [*block(f"for n in range(len({b})):", [f"{s} = {b}[n]", changed]), f"return list({b})"],
    )
    called = d.placed(name, function(name, b, body), ["import torch", "import numpy as np"])
    return f", collate_fn={called}"


def _handing(d: Draft) -> str:
    d.tag("collate")
    name, b = d.new("collate"), d.new("sample")
    body = d.pick(f"return {b}", f"return [s for s in {b}]", f"return list({b})")
    return f", collate_fn={d.placed(name, function(name, b, [body]))}"


def _purpose(d: Draft, stored: Store, rows: str, where: str, extra: Lines, sample: Lines, v: str) -> Lines:
    """The edit is seen on purpose: statements that look at it after the loops, perhaps through another method."""
    number, w = NUMBERS[stored.kind], d.new("temp")
    values = f"self.{rows}.values()" if stored.made.startswith("{") else f"self.{rows}"
    ways = ["method", "property", "outside", "sum outside", "iterated"]
    ways += ["tie", "pop", "identity", "exchange"] * stored.is_list
    ways += ["cache"] * (stored.kind == "dict")
    way = d.rng.choice(ways)
    d.escape = f"{where}: {way}"
    name = d.new("finish")
    if way == "method":
        extra += block(f"def {name}(self):", [f"return [{number.format(v=w)} for {w} in {values}]"])
        return [f"print(DATASET.{name}())"]
    if way == "property":
        extra += ["@property", *block(f"def {name}(self):", [f"return sum({number.format(v=w)} for {w} in {values})"])]
        return [f"print(DATASET.{name})"]
    if way == "iterated":
        extra += block("def __iter__(self):", [f"return iter({values})"])
        return [f"print([{number.format(v=w)} for {w} in DATASET])"]
    if way == "identity":
        return [f"print([DATASET[k] is DATASET[k] for k in range({ROWS})])"]
    if way == "tie":
        # From the first epoch on, two rows are one.
        extra += block(f"def {name}(self):", [f"self.{rows}[1] = self.{rows}[0]", "return self"])
        return [
            f"DATASET.{name}()",
            *block("for q in LOADER:", ["pass"]),
            f"print([{number.format(v=w)} for {w} in DATASET.{rows}])",
        ]
    if way == "exchange":
        extra += block(f"def {name}(self, k, row):", [f"self.{rows}[k] = row"])
        return [f"DATASET.{name}(0, DATASET[1])", f"print(DATASET.{rows}[0] is DATASET.{rows}[1])"]
    if way == "pop":
        # It has left its holder: a copy protects nobody.
        taken = d.pick("pop()", "pop(0)", "pop(-1)")
        at = "" if where == "sample" else "return "
        sample[:] = block(f"if not self.{rows}:", [f"self.{rows} = list(self.whole)"])
        sample += [f"return self.{rows}.{taken}"] if at else [f"{v} = self.{rows}.{taken}", f"return {v}"]
        extra += block(f"def {name}(self, row):", ["return any(row is each for each in self.whole)"])
        return [f"print([DATASET.{name}(DATASET[0]) for k in range({ROWS})])"]
    outside = values.replace("self.", "DATASET.")
    if way == "cache":
        # Drawn once for each row, and read from it ever after.
        if sample[0].startswith(v):
            sample.insert(-1, f"if 'f' not in {v}: {v}['f'] = np.random.rand()")
        return [f"print([{w}.get('f') for {w} in {outside}])"]
    if way == "outside":
        return [f"print([{number.format(v=w)} for {w} in {outside}])"]
    return [f"print(sum({number.format(v=w)} for {w} in {outside}))"]


# -- batches and views that are kept ------------------------------------------------------------------------


_OF_BATCHES = (
    "{v} += 1", "{v}.mul_(2)", "{v}[0] = 7", "{v}.fill_(3)", "{v}.numpy()[:] = 4", "{v}.data += 1",
    "{v}.view(-1)[0] = 5", "torch.add({v}, 1, out={v})", "torch.nn.init.zeros_({v}.data)", "{v}.data = {v} * 0",
)  # fmt: skip


def _batches(d: Draft, escape: bool) -> None:
    """Something of every batch of a loader with workers is kept."""
    x, y = d.new("input"), d.new("target")
    n = 12
    tensors = f"torch.arange({n * 6}.0).reshape({n}, 2, 3), torch.arange({n})"
    workers = d.pick("num_workers=2", "num_workers=4, persistent_workers=True", "num_workers=1, shuffle=True")
    at = d.bind("loader", f"DataLoader(torch.utils.data.TensorDataset({tensors}), batch_size=4, {workers})")
    value, whole = d.pick(
        (f"{y}.numpy()", y), (f"{y}.numpy()", y), (f"{y}.cpu().numpy()", y), (f"{y}.detach()", y), (f"{y}", y),
        (f"{x}.detach()", x), (f"{x}[0]", x), (f"{x}[:, 0]", x), (f"{x}.numpy()[0]", x), (f"{y}.cpu()", y),
        (f"{x}.detach().cpu()", x), (f"{x}.view(-1)", x), (f"{y}.data", y), (f"{x}.flatten(1)", x),
    )  # fmt: skip
    d.cell["form"] = value.replace(x, "x").replace(y, "y")
    place = holder(d, d.pick("list", "list", "list", "dict", "dict of lists", "record", "tuple", "nested", "deque"))
    d.cell["holder"] = place.kind
    kept = d.pick(value, value, value, f"({value}, 1)", f"[{value}]") if place.kind == "list" and not escape else value
    # What proves that batches are tensors.
    body = [
        d.pick(f"print({x}.unsqueeze(0).shape)", f"{x}.detach().mean()", f"print(({x}.softmax(1) * 2).sum())", "pass")
    ]
    body += place.keep(kept)
    last = f"list({place.items})[{0 if place.first else -1}]"
    if escape:
        way = d.pick("edited", "edited in the next", "identity", "shares memory", "written through", "pointer")
        d.escape = f"batch: {way}"
        if way == "edited":
            edit = d.pick(*_OF_BATCHES)
            body.append(_through_helper(d, edit).format(v=whole))
        elif way == "identity":
            body.append(f"print({last} is {whole})")
        elif way == "shares memory":
            body.append(f"print(np.shares_memory(np.asarray({last}), {whole}.numpy()))")
        elif way == "pointer":
            body.append(f"print({whole}.data_ptr() == torch.as_tensor({last}).data_ptr())")
        elif way == "written through":
            body += [f"{last}[0] = 5", f"print({whole}.sum())"]
        else:
            before = d.bind("total", "None")
            body += [*block(f"if {before} is not None:", [f"{before} *= 2"]), f"{before} = {whole}"]
    after = [d.pick(f"print({place.items})", f"print(len({place.items}))")] if not escape else [f"print({place.items})"]
    lines = block(f"for {x}, {y} in {at}:", body)
    if d.chance(0.6):
        lines = block(f"for {d.new('epoch')} in range(2):", lines)
    _placed(d, [*lines, *after])


def _views(d: Draft, escape: bool) -> None:
    """A part of a large temporary array or tensor is kept."""
    kind = d.pick("array", "tensor", "array")
    big, k, size = d.new("input"), d.new("index"), d.new("temp")
    place = holder(d, d.pick("list", "list", "list", "dict", "dict", "dict of lists", "deque", "tuple", "record"))
    d.cell.update(holder=place.kind, value=kind)
    made = {
        "array": ("np.zeros((64, 64)) + {k}", "np.random.rand(64, 64)", "np.ones((64, 64))", "np.full((64, 64), 2.5)"),
        "tensor": ("torch.zeros(64, 64)", "torch.rand(64, 64)", "torch.full((64, 64), 1.5)", "torch.ones(64, 64)"),
    }[kind]
    view = d.pick(
        "{b}[:{s}, :{s}]", "{b}[:, 8:20]", "{b}[{s}:40]", "{b}[:{s}]", "{b}[:16, :16]", "{b}[:{s}, :{s}].T", "{b}[::8]",
        "{b}[8:{s}, 3]",
    ).format(b=big, s=size)  # fmt: skip
    d.cell["form"] = view.replace(big, "b").replace(size, "s")
    body = [f"{size} = {d.pick('12', f'10 + {k}')}", f"{big} = {d.rng.choice(made).format(k=k)}"]
    cut = d.new("temp")
    body += [f"{cut} = {view}", *place.keep(cut)] if d.chance(0.4) else place.keep(view)
    last = f"list({place.items})[{0 if place.first else -1}]"
    if escape:
        way = d.pick("base edited", "view edited", "both parts", "shares memory", "base")
        d.escape = f"view: {way}"
        if way == "base edited":
            ways = ["{v} *= 3", "{v}[:] = 1", "{v} += 1", "{v}.reshape(-1)[:] = 4", "{v}.T[1:] = 2", "{v}.sort()"]
            ways += ["np.copyto({v}, 1)", "np.add({v}, 1, out={v})"] if kind == "array" else ["{v}.data.fill_(2)"]
            body.append(_through_helper(d, d.pick(*ways)).format(v=big))
        elif way == "view edited":
            body += [f"{last}[0] = 9", f"print({big}.sum())"]
        elif way == "both parts":
            # All of the base is kept anyway: a copy of one part is memory on top.
            body += place.keep(f"{big}[{size}:]")
        elif way == "shares memory":
            body.append(f"print(np.shares_memory(np.asarray({last}), np.asarray({big})))")
        else:
            body.append(f"print({last}.{'base' if kind == 'array' else '_base'} is None)")
    after = [f"print({place.items})" if escape else d.pick(f"print({place.items})", f"print(len({place.items}))")]
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
