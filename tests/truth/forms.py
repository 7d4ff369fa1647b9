"""The forms: by which code a value gets from the loop to its holder, and where the holder lives."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.training.draft import Lines, Source, block, function
from tests.truth.draft import Choices, keeping, making
from tests.truth.holders import Holder
from tests.truth.inner import VALUE, binds, put
from tests.truth.releases import Release

FORMS = ("inline", "helper", "method", "base class", "other module", "comprehension", "decorator", "callback")


@dataclass
class Placed:
    """A holder in its place. at: what to write for it where the loop stands, empty if it cannot be reached there.

    make: the statements that make it there. items: as in Holder, over `at`; empty: statements that begin anew.
    """

    at: str
    make: Lines
    items: str
    empty: Lines


@dataclass
class Routed:
    """How a value is kept. keep: statements of a step, over VALUE; before: statements ahead of the loop."""

    placed: Placed
    keep: Lines
    before: Lines = field(default_factory=list)


def place(d: Choices, holder: Holder) -> Placed:
    """The holder at a name of the loop's function, of its class, or of the module."""
    if holder.alone:
        return Placed(holder.make, [], holder.items, put(holder.empty, holder.make, ""))
    name = d.new("losses")
    at = f"self.{name}" if d.stage == "method" and d.cell["holder"] != "global" else name
    make = [making(f"{at} = {holder.make}"), *put(holder.prime, at, "")]
    if d.cell["holder"] == "global":
        d.main.statements += make
        d.globals.append(at)
    elif d.stage == "method" and d.form == "base class":
        d.base_inits += make
    elif d.stage == "method":
        d.inits += make
    else:
        d.before += make
    d.places.add(at)
    if binds(holder.keep) and at == name and d.cell["holder"] != "global":
        d.rebound.append(at)
    return Placed(at, make, put([holder.items], at, "")[0], put(holder.empty, at, ""))


def routed(d: Choices, holder: Holder, release: Release) -> Routed:
    """The value's way by the form of the program; `comprehension` and `decorator` are made elsewhere."""
    if d.form == "callback":
        return _callback(d, holder, release)
    if d.form == "other module" and d.cell["holder"] == "global":
        return _other_global(d, holder, release)
    placed = place(d, holder)
    if d.form in ("method", "base class"):
        return _method(d, holder, release, placed)
    if d.form == "helper" or (d.form == "other module" and not _lives_elsewhere(d)):
        return _helper(d, holder, release, placed)
    return Routed(placed, keeping(put(holder.keep, placed.at, _given(holder, release, VALUE))))


def _lives_elsewhere(d: Choices) -> bool:
    """The holder's own code is in another file already."""
    return bool(d.others) and d.cell["holder"] in _CODE


_CODE = ("meter", "closure", "generator", "cache", "attribute", "dataclass", "NamedTuple")


def _given(holder: Holder, release: Release, value: str) -> str:
    return value if holder.released else release.inside(value)


def _helper(d: Choices, holder: Holder, release: Release, placed: Placed) -> Routed:
    name, h, v = d.new("helper"), d.new("temp"), d.new("temp")
    given = _given(holder, release, v)
    text_of = put(holder.keep, h, given)
    if placed.at in d.globals and d.form == "helper":
        body = keeping(put(holder.keep, placed.at, given))
        d.define(d.top(name, v, body))
        return Routed(placed, keeping([f"{name}({VALUE})"]))
    if holder.rebinds:
        text = function(name, f"{h}, {v}", [*keeping(text_of), f"return {h}"])
        call = f"{placed.at} = NAME({placed.at}, {VALUE})"
    elif holder.alone:
        text = function(name, v, keeping(put(holder.keep, placed.at, given)))
        call = f"NAME({VALUE})"
        d.define(text)
        return Routed(placed, keeping([call.replace("NAME", name)]))
    else:
        text, call = function(name, f"{h}, {v}", keeping(text_of)), f"NAME({placed.at}, {VALUE})"
    if d.form == "other module":
        called = d.exported(name, text, ["import torch", "import numpy as np", "import copy"])
    else:
        d.define(text)
        called = name
    return Routed(placed, keeping([call.replace("NAME", called)]))


def _method(d: Choices, holder: Holder, release: Release, placed: Placed) -> Routed:
    name, v = d.new("helper"), d.new("temp")
    body = keeping(put(holder.keep, placed.at, _given(holder, release, v)))
    head = [f"global {each}" for each in d.globals if each in "\n".join(body)]
    text = function(name, f"self, {v}", [*head, *body])
    (d.base_methods if d.form == "base class" else d.methods).append(text)
    return Routed(placed, keeping([f"self.{name}({VALUE})"]))


def _other_global(d: Choices, holder: Holder, release: Release) -> Routed:
    """The holder is a global of another file, which a function of that file fills."""
    dotted, source = d.other()
    d.need("import torch", "import numpy as np", "import copy", source=source)
    name, push, v = d.new("losses"), d.new("helper"), d.new("temp")
    _global_in(source, name, holder)
    body = keeping(put(holder.keep, name, _given(holder, release, v)))
    head = [f"global {name}"] if binds(holder.keep) else []
    d.define(function(push, v, [*head, *body]), source)
    # What `collections` gives is made in that file, too.
    for each in [line for line in d.main.imports if "collections" in line]:
        d.need(each, source=source)
    if d.chance(0.6) or "." in dotted:
        d.need(f"from {dotted} import {push}")
        return Routed(Placed("", [], "", []), keeping([f"{push}({VALUE})"]))
    d.need(f"import {dotted}")
    at = f"{dotted}.{name}"
    return Routed(Placed("", [], put([holder.items], at, "")[0], []), keeping([f"{dotted}.{push}({VALUE})"]))


def _global_in(source: Source, name: str, holder: Holder) -> None:
    source.definitions.append(making(f"{name} = {holder.make}"))


def _callback(d: Choices, holder: Holder, release: Release) -> Routed:
    """A stub of a framework calls what was registered: a function, or a callback's method."""
    if holder.alone or d.cell["holder"] == "global" or d.chance(0.4):
        return _handler(d, holder, release)
    name, v = d.new("class"), d.new("temp")
    a, hook = d.new("losses"), d.pick("on_batch_end", "on_train_batch_end", "after_step")
    at = f"self.{a}"
    init = block("def __init__(self):", [making(f"{at} = {holder.make}"), *put(holder.prime, at, "")])
    lines = [
        *init,
        *block(f"def {hook}(self, trainer, {v}):", keeping(put(holder.keep, at, _given(holder, release, v)))),
    ]
    base = d.new("class")
    stub = "\n".join(block(f"class {base}:", block(f"def {hook}(self, trainer, outputs):", ["pass"])))
    called = d.placed(base, stub)
    d.define("\n".join(block(f"class {name}({called}):", lines)))
    each = d.new("temp")
    log = d.bind("meter", f"{name}()")
    loop = block(f"for {each} in [{log}]:", keeping([f"{each}.{hook}(None, {VALUE})"]))
    place = f"{log}.{a}"
    return Routed(Placed(place, [], put([holder.items], place, "")[0], put(holder.empty, place, "")), loop)


def _handler(d: Choices, holder: Holder, release: Release) -> Routed:
    placed = place(d, holder)
    name, fire, on = d.new("class"), d.pick("fire", "call_hooks", "emit"), d.pick("on", "register", "add_handler")
    lines = block("def __init__(self):", ["self.handlers = []"])
    lines += block(f"def {on}(self, handler):", ["self.handlers.append(handler)", "return handler"])
    lines += block(f"def {fire}(self, *values):", block("for handler in self.handlers:", ["handler(*values)"]))
    called = d.placed(name, "\n".join(block(f"class {name}:", lines)))
    engine = d.bind("trainer", f"{called}()")
    handler, v = d.new("helper"), d.new("temp")
    body = keeping(put(holder.keep, placed.at, _given(holder, release, v)))
    if d.stage == "method":
        head = [f"global {each}" for each in d.globals if each in "\n".join(body)]
        d.methods.append(function(handler, f"self, {v}", [*head, *body]))
        before = [f"{engine}.{on}(self.{handler})"]
    elif d.chance(0.5):
        before = [f"@{engine}.{on}", *d.nested(handler, v, body)]
    else:
        before = [*d.nested(handler, v, body), f"{engine}.{on}({handler})"]
    return Routed(placed, keeping([f"{engine}.{fire}({VALUE})"]), before)
