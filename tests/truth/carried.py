"""State that is made of its last value: the hidden state of a recurrent cell, the running mean of a module."""

from __future__ import annotations

import random

from tests.training.draft import Lines, block, function
from tests.training.parts import loss, optimizer
from tests.truth.draft import Choices, keeping, making, renamed
from tests.truth.endings import after_loop
from tests.truth.stages import finished
from tests.truth.steps import Step, shuffled, source

CARRIED = ("name", "attribute", "dict", "list", "NamedTuple", "global")
CARRIED_FORMS = ("inline", "helper", "method", "base class", "other module")
BUFFERS = ("attribute", "registered buffer", "dict", "list")
BUFFER_FORMS = ("inline", "helper", "method", "base class", "other module")
_TORCH = ["import torch", "from torch import nn"]
_CUTS = ("V.detach()", "V.detach()", "V.data", "V.detach().clone()", "torch.tensor(V.tolist())")
_NO_CUTS = ("V", "V", "V", "V.clone()", "V.cpu()", "V * 0.9", "torch.tanh(V)", "V.contiguous()")


def _named(cut: str) -> str:
    """The name of a way, for tables."""
    if cut.startswith("V."):
        return cut[1:]
    return {"V": "none", "torch.tensor(V.tolist())": ".tolist()"}.get(cut, "arithmetic")


def hidden(rng: random.Random, kind: str, holder: str, form: str) -> Choices:
    """A recurrent state that goes from step to step."""
    d = Choices(rng, kind, holder, form)
    d.need("import torch", "import numpy as np", "from torch import nn")
    d.stage = "method" if form in ("method", "base class") else d.pick("function", "function", "script", "method")
    d.cell.update(loop=d.pick("for", "enumerate", "while", "epochs", "zip"), where="kept")
    d.always_self = d.stage == "method"
    drawn = source(d)
    recurrent = d.pick("nn.RNNCell(3, 4)", "nn.GRUCell(3, 4)")
    cell, head = d.bind("model", recurrent), d.bind("model", "nn.Linear(4, 2)")
    opt = optimizer(d, cell, head)
    mode = d.pick("", "", "", "", "with torch.no_grad():")
    cut = d.rng.choice(_CUTS if d.chance(0.4) else _NO_CUTS)
    d.cell["release"] = "no_grad" if mode else _named(cut)
    at, read, make = _state(d)
    h, value = d.new("output"), d.new("loss")
    step = f"{cell}({drawn.x}, {read})"
    ending = d.pick("dropped", "dropped", "dropped", "returned", "anew in step", "anew in epoch", "emptied")
    if ending == "anew in epoch" and d.cell["loop"] != "epochs":
        ending = "dropped"
    if ending == "returned" and d.stage == "script":
        ending = "dropped"
    d.cell["ending"] = ending
    forward = [*drawn.opening, f"{h} = {step}"]
    learn: Lines = []
    if not mode and cut in _CUTS and d.chance(0.6):
        learn = [f"{value} = {loss(d, f'{head}({h})', drawn.y)}", *shuffled(d, cell, opt, value)]
    elif not mode and d.chance(0.5):
        learn = [f"{value} = {loss(d, f'{head}({h}.detach())', drawn.y)}", *shuffled(d, head, opt, value)]
    keep = _carried(d, form, at, h, cut)
    index = d.new("index") if ending == "emptied" else ""
    body = [*(make if ending == "anew in step" else []), *forward]
    body = block(mode, [*body, *keep]) if mode else [*body, *learn, *keep]
    body += block(f"if {index} % 4 == 3:", make) if index else []
    after = after_loop(d, ending if ending == "returned" else "dropped", read, opt)
    finished(
        d,
        Step(drawn, forward, learn, h, "tensor", opt, cell),
        body,
        index,
        make if ending == "anew in epoch" else [],
        after,
    )
    return d


def _state(d: Choices) -> tuple[str, str, Lines]:
    """Where the state lives: what to write to bind it, to read it, and the statements that make it."""
    zeros, holder = "torch.zeros(4, 4)", d.cell["holder"]
    name = d.new("output")
    at = f"self.{name}" if d.stage == "method" and holder != "global" else name
    start, inner = {
        "dict": ("{'h': ZEROS}", f"{at}['h']"),
        "list": ("[ZEROS]", f"{at}[0]"),
        "NamedTuple": ("STATE(ZEROS, 0)", f"{at}.h"),
        "attribute": ("types.SimpleNamespace(h=ZEROS)", f"{at}.h"),
    }.get(holder, ("ZEROS", at))
    if holder == "attribute":
        d.need("import types")
    if holder == "NamedTuple":
        record = d.new("class")
        d.need("from typing import NamedTuple")
        d.define("\n".join(block(f"class {record}(NamedTuple):", ["h: torch.Tensor", "step: int"])))
        start = start.replace("STATE", record)
    make = [making(f"{at} = {start.replace('ZEROS', zeros)}")]
    if holder == "global":
        d.main.statements += make
        d.globals.append(at)
    else:
        (d.base_inits if d.form == "base class" else d.inits if d.stage == "method" else d.before).extend(make)
    write = f"{at} = {record}(VALUE, {at}.step + 1)" if holder == "NamedTuple" else f"{inner} = VALUE"
    return write, inner, make


def _carried(d: Choices, form: str, write: str, h: str, cut: str) -> Lines:
    """The statements that carry the state on."""
    name, v = d.new("helper"), d.new("temp")
    kept = cut.replace("V", v)
    if form in ("helper", "other module"):
        text = function(name, v, d.pick([f"return {kept}"], [f"{v} = {kept}", f"return {v}"]))
        called = d.exported(name, text, ["import torch"]) if form == "other module" else name
        if form == "helper":
            d.define(text)
        return keeping([write.replace("VALUE", f"{called}({h})")])
    if form in ("method", "base class"):
        body = keeping([write.replace("VALUE", kept)])
        head = [f"global {each}" for each in d.globals if each in "\n".join(body)]
        (d.base_methods if form == "base class" else d.methods).append(function(name, f"self, {v}", [*head, *body]))
        return keeping([f"self.{name}({h})"])
    return keeping([write.replace("VALUE", cut.replace("V", h))])


def buffer(rng: random.Random, kind: str, holder: str, form: str) -> Choices:
    """A module that keeps a running mean of what goes through it."""
    d = Choices(rng, kind, holder, form)
    d.need("import torch", "import numpy as np", "from torch import nn")
    d.stage = d.pick("function", "function", "script")
    d.cell.update(loop=d.pick("for", "enumerate", "while", "epochs"), where="kept", ending="dropped")
    drawn = source(d)
    cut = d.rng.choice(_CUTS if d.chance(0.45) else _NO_CUTS)
    under = d.chance(0.15)
    d.cell["release"] = "no_grad" if under else _named(cut)
    name, mean, out = d.new("class"), d.new("total"), d.new("temp")
    at = f"self.{mean}"
    inner = {"dict": f"{at}['mean']", "list": f"{at}[0]"}.get(holder, at)
    start = {"dict": "{'mean': torch.zeros(4)}", "list": "[torch.zeros(4)]"}.get(holder, "torch.zeros(4)")
    make = making(f"self.register_buffer('{mean}', {start})" if holder == "registered buffer" else f"{at} = {start}")
    value = cut.replace("V", f"{out}.mean(0)")
    update = d.pick(f"{inner} = 0.9 * {inner} + 0.1 * VALUE", f"{inner} = {inner} + 0.1 * (VALUE - {inner})")
    layers = ["self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)"]
    own, base = _module(d, form, update, value, out)
    keep = block("with torch.no_grad():", own) if under else own
    init = function("__init__", "self", ["super().__init__()", *layers, make])
    forward = function("forward", "self, x", [f"{out} = torch.relu(self.a(x))", *keep, f"return self.b({out})"])
    parent = "nn.Module"
    if form == "base class":
        parent = d.new("class")
        parent = d.placed(
            parent, "\n".join(block(f"class {parent}(nn.Module):", base)), ["import torch", "from torch import nn"]
        )
    text = "\n".join(
        block(f"class {name}({parent}):", [*f"{init}\n{forward}".split("\n"), *(base if form == "method" else [])])
    )
    called = name
    if form == "other module":
        called = d.exported(name, text, ["import torch", "from torch import nn"])
    else:
        d.define(text)
    net = d.bind("model", f"{called}()")
    opt, value_ = optimizer(d, net), d.new("loss")
    made = loss(d, f"{net}({drawn.x})", drawn.y)
    learns = cut in _CUTS or under
    live = [f"{value_} = {made}"]
    body = [*drawn.opening, *live, *(shuffled(d, net, opt, value_) if learns else [])]
    finished(d, Step(drawn, body, [], value_, "scalar", opt, net), body, "", [], [])
    return d


def _module(d: Choices, form: str, update: str, value: str, out: str) -> tuple[Lines, Lines]:
    """The statements of `forward` that update the mean, and the methods of its class or a base class."""
    helper, v = d.new("helper"), d.new("temp")
    if form == "helper":
        d.define(function(helper, v, [f"return {renamed(value, out, v)}"]))
        return keeping([update.replace("VALUE", f"{helper}({out})")]), []
    if form in ("method", "base class"):
        text = function(helper, f"self, {v}", keeping([update.replace("VALUE", renamed(value, out, v))]))
        call = keeping([f"self.{helper}({out})"])
        return call, text.split("\n")
    return keeping([update.replace("VALUE", value)]), []
