"""Caches of Datasets, which grow in each worker."""

from __future__ import annotations

import random

from tests.training.draft import Lines, block, function
from tests.truth.case import HOLDER, KEEP, mark
from tests.truth.datasets import reading_loop
from tests.truth.draft import Choices

CACHES = ("dict", "list", "class attribute", "global", "lru_cache")
CACHE_FORMS = ("inline", "helper", "method", "base class", "other module", "decorator")


def cache(rng: random.Random, kind: str, holder: str, form: str) -> Choices:
    """A Dataset that remembers what it has read, in its worker's memory."""
    d = Choices(rng, kind, holder, form)
    d.need("import numpy as np", "import torch", "from torch.utils.data import DataLoader, Dataset")
    memo, i, x, name = d.new("cache"), d.new("index"), d.new("sample"), d.new("dataset")
    way = d.pick("none", "none", "none", "none", "bounded", "guarded", "few keys", "no workers", "emptied", "last only")
    d.cell.update(release=way, where="kept", loop=d.pick("for", "epochs"))
    load = f"np.full(16, {i})"
    if holder == "lru_cache" or form == "decorator":
        _memoized(d, holder, form, way, name, i, load)
    else:
        _remembering(d, holder, form, way, (name, memo, i, x, load))
    workers = "" if way == "no workers" else d.pick(", num_workers=2", ", num_workers=4, persistent_workers=True")
    reading_loop(d, f"{name}()", f"batch_size=16{workers}")
    return d


def _memoized(d: Choices, holder: str, form: str, way: str, name: str, i: str, load: str) -> None:
    d.need("import functools")
    size = {"bounded": "maxsize=32", "guarded": "16", "last only": "maxsize=1"}.get(way, d.pick("maxsize=None", "None"))
    key = f"{i} % 5" if way in ("few keys", "emptied") else i
    if way == "emptied":
        d.cell["release"] = "few keys"
    load_one, init = d.new("helper"), function("__init__", "self", ["self.size = 480"])
    decorated = [
        mark(f"@functools.lru_cache({size})", KEEP, HOLDER),
        *function(load_one, f"self, {i}", [f"return {load}"]).split("\n"),
    ]
    call = f"self.{load_one}({key})"
    own = decorated
    if form in ("helper", "other module", "inline"):
        text = "\n".join([decorated[0], *function(load_one, i, [f"return {load}"]).split("\n")])
        called = (
            d.exported(load_one, text, ["import functools", "import numpy as np"])
            if form == "other module"
            else load_one
        )
        if form != "other module":
            d.define(text)
        call, own = f"{called}({key})", []
    elif form == "base class":
        base = d.new("class")
        called = d.placed(base, "\n".join(block(f"class {base}(Dataset):", own)), list(d.main.imports))
        lines = [
            init,
            function("__len__", "self", ["return self.size"]),
            function("__getitem__", f"self, {i}", [mark(f"return {call}", KEEP)]),
        ]
        d.define("\n".join(block(f"class {name}({called}):", "\n".join(lines).split("\n"))))
        return
    lines = [init, function("__len__", "self", ["return self.size"]), *(["\n".join(own)] if own else [])]
    lines.append(function("__getitem__", f"self, {i}", [mark(f"return {call}", KEEP)]))
    d.define("\n".join(block(f"class {name}(Dataset):", "\n".join(lines).split("\n"))))


def _remembering(d: Choices, holder: str, form: str, way: str, names: tuple[str, str, str, str, str]) -> None:
    name, memo, i, x, load = names
    place = {"class attribute": f"self.{memo}", "global": memo}.get(holder, f"self.{memo}")
    start = "[]" if holder == "list" else "{}"
    key = f"{i} % 5" if way == "few keys" else i
    store = f"{place}.append({x})" if holder == "list" else f"{place}[{key}] = {x}"
    keep: Lines = [mark(store, KEEP)]
    if way == "bounded":
        keep += block(
            f"if len({place}) > 32:", [f"{place}.pop(0)" if holder == "list" else f"{place}.pop(next(iter({place})))"]
        )
    elif way == "guarded":
        keep = block(f"if len({place}) < 50:", keep)
    elif way == "emptied":
        keep += block(f"if len({place}) >= 8:", [f"{place}.clear()"])
    elif way == "last only":
        keep = [f"{place}.clear()", *keep]
    elif way == "few keys" and holder == "list":
        keep = block(f"if len({place}) < 5:", keep)
    lookup = [] if holder == "list" else block(f"if {key} in {place}:", [f"return {place}[{key}]"])
    body = [*lookup, f"{x} = {load}", *keep, f"return {x}"]
    making = mark(f"{place} = {start}", HOLDER)
    init = ["self.size = 480"]
    head: Lines = []
    if holder == "global":
        d.main.definitions.append(making)
    elif holder == "class attribute":
        head = [mark(f"{memo} = {start}", HOLDER)]
    else:
        init.append(making)
    methods = [function("__len__", "self", ["return self.size"])]
    bases = "Dataset"
    helper = d.new("helper")
    if form in ("method", "base class"):
        part = function(helper, f"self, {i}", body)
        methods.append(function("__getitem__", f"self, {i}", [f"return self.{helper}({i})"]))
        if form == "base class":
            base = d.new("class")
            first = [*head, *function("__init__", "self", init).split("\n"), *part.split("\n")]
            text = "\n".join(block(f"class {base}(Dataset):", first))
            bases = d.exported(base, text, list(d.main.imports)) if holder != "global" and d.chance(0.4) else base
            if bases == base and base not in "".join(d.main.imports):
                d.define(text)
            head, init = [], []
        else:
            methods.append(part)
    elif form in ("helper", "other module"):
        given = d.new("temp")
        text = function(helper, f"{given}, {i}, {x}", [each.replace(place, given) for each in keep])
        called = d.exported(helper, text) if form == "other module" else helper
        if form == "helper":
            d.define(text)
        call = mark(f"{called}({place}, {i}, {x})", KEEP)
        methods.append(function("__getitem__", f"self, {i}", [*lookup, f"{x} = {load}", call, f"return {x}"]))
    else:
        methods.append(function("__getitem__", f"self, {i}", body))
    first = [function("__init__", "self", init)] if init else []
    text = "\n".join([*head, *first, *methods])
    d.define("\n".join(block(f"class {name}({bases}):", text.split("\n"))))
