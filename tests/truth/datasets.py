"""What a Dataset stores: objects that its workers copy by reading them, or a packed form."""

from __future__ import annotations

import random
import re

from tests.training.draft import Lines, block, function
from tests.truth.case import HOLDER, KEEP, mark
from tests.truth.draft import Choices

ROWS = 4000
"""Rows of the files that programs read: `rows.json` and `rows.csv`, in the folder they run in."""

RECORDS = ("list of str", "list of dict", "list of tuple", "list of int", "dict", "tuple", "object array")
RECORD_FORMS = ("inline", "helper", "method", "base class", "other module", "comprehension")


def records(rng: random.Random, kind: str, holder: str, form: str) -> Choices:
    """A Dataset that stores many objects, in the form that a loader's workers copy, or packed."""
    d = Choices(rng, kind, holder, form)
    d.need("import json", "import numpy as np", "import torch", "from torch.utils.data import DataLoader, Dataset")
    rows, i = d.new("rows"), d.new("index")
    ways = [*_KEPT, *_PACKED.get(holder, ())] if d.chance(0.55) else [*_PACKED.get(holder, ()), *_UNREAD]
    way = d.rng.choice(ways)
    d.cell.update(release=way, where="kept", loop=d.pick("for", "epochs", "enumerate"))
    at = f"self.{rows}"
    made, extra, read = _stored(d, holder, way, at)
    if form == "comprehension":
        # The list is built where it is stored: reading and choosing are one expression.
        made = made.replace("ROWS", "json.load(open('rows.json'))")
        init = [mark(f"{at} = {made}", KEEP, HOLDER)]
    else:
        source, statements = _source(d, form)
        init = [*statements, mark(f"{at} = {made.replace('ROWS', source)}", KEEP, HOLDER)]
    init += extra
    item = _read(d, way, read, i)
    _dataset(d, form, init, item, rows, i, way)
    return d


_KEPT = ("none", "none", "none", "tuple", "sorted", "through numpy objects", "gc.freeze")
_PACKED = {
    "list of str": ("np.array", "np bytes", "packed", "membership only"),
    "list of dict": ("packed", "few objects"),
    "list of tuple": ("packed", "membership only"),
    "list of int": ("np.array", "torch.tensor", "small ints", "array.array"),
    "dict": ("np.array",),
    "tuple": ("np.array", "few objects"),
    "object array": ("np.array", "torch.tensor"),
}
_UNREAD = ("len only", "no workers")
_ELEMENT = {
    "list of str": "r['path']",
    "list of dict": "r",
    "list of tuple": "(r['path'], r['id'])",
    "list of int": "r['id'] + 1000",
    "dict": "r['path']",
    "tuple": "r['path']",
    "object array": "r['path']",
}


def _stored(d: Choices, holder: str, way: str, at: str) -> tuple[str, Lines, str]:
    """The expression that makes what is stored, statements after it, and how a row is read, over INDEX."""
    element = _ELEMENT[holder]
    every = f"[{element} for r in ROWS]"
    if way == "few objects":
        every = "[('car', 'bus', 'tram')[r['id'] % 3] for r in ROWS]"
    if way == "small ints":
        return "[r['id'] % 10 for r in ROWS]", [], f"{at}[INDEX]"
    if way in ("np.array", "torch.tensor", "array.array") and holder in ("list of int", "object array"):
        numbers = "[r['id'] for r in ROWS]"
        if way == "array.array":
            d.need("import array")
            return f"array.array('q', {numbers})", [], f"{at}[INDEX]"
        return f"{way}({numbers})", [], f"{at}[INDEX]"
    if way == "membership only":
        return d.pick(f"set({every})", f"frozenset({every})"), [], f"{at}[INDEX]"
    if way == "np.array":
        return "np.array([r['path'] for r in ROWS])", [], f"str({at}[INDEX])"
    if way == "np bytes":
        return "np.array([r['path'] for r in ROWS], dtype=np.bytes_)", [], f"{at}[INDEX].decode()"
    if way == "packed":
        d.need("import pickle")
        made = f"[np.frombuffer(pickle.dumps({element}), dtype=np.uint8) for r in ROWS]"
        ends, flat = f"{at}_ends", f"{at}"
        extra = [f"{ends} = np.cumsum([len(each) for each in {flat}])", f"{flat} = np.concatenate({flat})"]
        return made, extra, f"pickle.loads({flat}[({ends}[INDEX - 1] if INDEX else 0):{ends}[INDEX]].tobytes())"
    if way == "through numpy objects" or (holder == "object array" and way != "few objects"):
        return f"np.array({every}, dtype=object)", [], f"{at}[INDEX]"
    if way == "tuple" or holder == "tuple":
        return f"tuple({every})", [], f"{at}[INDEX]"
    if way == "sorted":
        return f"sorted({every}, key=str)", [], f"{at}[INDEX]"
    extra = []
    if way == "gc.freeze":
        d.need("import gc")
        extra = ["gc.freeze()"]
    if holder == "dict":
        return f"{{r['id']: {element} for r in ROWS}}", extra, f"{at}[INDEX]"
    return every, extra, f"{at}[INDEX]"


def _source(d: Choices, form: str) -> tuple[str, Lines]:
    """Where the rows come from: what to write for them, and statements before."""
    name = d.new("rows")
    opened = [*block("with open('rows.json') as f:", [f"{name} = json.load(f)"])]
    if d.chance(0.3):
        opened = [
            f"{name} = []",
            *block("with open('rows.csv') as f:", block("for line in f:", _parsed(name))),
        ]
    if form in ("helper", "other module"):
        helper = d.new("helper")
        text = function(helper, "", [*opened, f"return {name}"])
        called = d.exported(helper, text, ["import json"]) if form == "other module" else helper
        if form == "helper":
            d.define(text)
        return f"{called}()", []
    if form == "method":
        helper = d.new("helper")
        d.methods.append(function(helper, "self", [*opened, f"return {name}"]))
        return f"self.{helper}()", []
    return name, opened


def _parsed(name: str) -> Lines:
    return ["path, number = line.split(',')", f"{name}.append({{'path': path, 'id': int(number)}})"]


def _read(d: Choices, way: str, read: str, i: str) -> Lines:
    """The statements of `__getitem__`."""
    got = read.replace("INDEX", i)
    at = re.search(r"self\.\w+", got)
    assert at is not None
    if way == "len only":
        return [f"return {i} % len({at.group()})"]
    if way == "membership only":
        return [f"return int(f'images/{{{i}}}.jpg' in {at.group()})"]
    value = d.new("sample")
    number = d.pick(f"len(str({value}))", f"hash(str({value})) % 97")
    return [f"{value} = {got}", f"return {d.pick(number, f'torch.tensor({number})')}"]


def _dataset(d: Choices, form: str, init: Lines, item: Lines, rows: str, i: str, way: str) -> None:
    """The class, its loader, and a loop over it."""
    name = d.new("dataset")
    length = (
        [f"return {ROWS}"] if way in ("packed", "membership only") or d.chance(0.3) else [f"return len(self.{rows})"]
    )
    methods = [function("__len__", "self", length), function("__getitem__", f"self, {i}", item), *d.methods]
    if form == "base class":
        base = d.new("class")
        text = "\n".join(block(f"class {base}(Dataset):", function("__init__", "self", init).split("\n")))
        called = d.placed(base, text, list(d.main.imports))
        d.define("\n".join(block(f"class {name}({called}):", "\n".join(methods).split("\n"))))
    else:
        text = "\n".join([function("__init__", "self", init), *methods])
        d.define("\n".join(block(f"class {name}(Dataset):", text.split("\n"))))
    workers = "" if way == "no workers" else d.pick(", num_workers=2", ", num_workers=4, persistent_workers=True")
    reading_loop(d, f"{name}()", f"batch_size=64{workers}")


def reading_loop(d: Choices, made: str, options: str) -> None:
    loader, batch, main = d.new("loader"), d.new("sample"), d.new("train")
    lines = [f"{loader} = DataLoader({made}, {options})"]
    header = f"for {batch} in {loader}:"
    if d.cell["loop"] == "enumerate":
        header = f"for {d.new('index')}, {batch} in enumerate({loader}):"
    body = block(header, [d.pick(f"{batch}.float().mean()", "pass", f"print({batch}.shape)")])
    if d.cell["loop"] == "epochs":
        body = block(f"for {d.new('epoch')} in range(2):", body)
    d.cell["ending"] = "dropped"
    if d.chance(0.3):
        d.main.statements += [*lines, *body]
        return
    d.define(function(main, "", [*lines, *body]))
    d.main.statements.append(f"{main}()")
