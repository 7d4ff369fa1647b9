"""State that is made of its last value, exceptions, loaders that are kept, hooks and figures."""

from __future__ import annotations

import random

from tests.training.draft import Lines, block, function
from tests.training.parts import loss, model, optimizer
from tests.truth.case import HOLDER, KEEP, STEP, mark
from tests.truth.draft import STEPS, Choices, keeping, making, renamed
from tests.truth.endings import after_loop
from tests.truth.forms import routed
from tests.truth.holders import MAKERS
from tests.truth.inner import put
from tests.truth.programs import finished, stage
from tests.truth.releases import Release, Way
from tests.truth.steps import Step, shuffled, source

CARRIED = ("name", "attribute", "dict", "list", "NamedTuple", "global")
CARRIED_FORMS = ("inline", "helper", "method", "base class", "other module")
BUFFERS = ("attribute", "registered buffer", "dict", "list")
BUFFER_FORMS = ("inline", "helper", "method", "base class", "other module")
EXCEPTIONS = ("list", "dict", "attribute", "meter", "deque", "dict of lists")
EXCEPTION_FORMS = ("inline", "helper", "method", "other module")
LOADERS = ("list", "cycle", "tee", "dict", "name")
LOADER_FORMS = ("inline", "helper", "method", "other module")
HOOKS = ("module", "submodules")
HOOK_FORMS = ("inline", "helper", "method", "base class", "other module")
FIGURES = ("pyplot",)
FIGURE_FORMS = ("inline", "helper", "method", "base class", "other module")

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


def exception(rng: random.Random, kind: str, holder: str, form: str) -> Choices:
    """Steps that fail; what is kept of their exceptions."""
    d = Choices(rng, kind, holder, form)
    d.need("import torch", "import numpy as np", "from torch import nn")
    d.stage = "method" if form == "method" else d.pick("function", "function", "method")
    d.cell.update(loop=d.pick("for", "enumerate", "while", "epochs"))
    drawn = source(d)
    net = model(d)
    opt, value, e, step = optimizer(d, net), d.new("loss"), d.new("temp"), d.new("step")
    way = d.pick(
        Way("none"), Way("none"), Way("none"), Way("tuple", "(VAR, 1)"), Way("str", "str(VAR)", "other"),
        Way("repr", "repr(VAR)", "other"), Way("type", "type(VAR).__name__", "other"),
        Way("without traceback", "VAR.with_traceback(None)", "other"), Way("args", "VAR.args", "other"),
    )  # fmt: skip
    d.cell["release"], d.cell["where"] = way.name, "kept"
    ending = d.pick("dropped", "shown", "emptied", "bounded", "anew in step", "returned")
    d.cell["ending"] = ending
    while True:
        made = MAKERS[holder](d, ending == "bounded", _same)
        if not made.adds:
            break
    text = way.text.replace("VAR", e)
    route = routed(d, made, Release(way, [], text, _same))
    given = value if d.chance(0.25) else d.new("temp")
    check = d.pick(f"if {given} > -1:", f"if not torch.isnan({given}):", f"if {given}.item() < 1e9:")
    fails = block(check, ["raise ValueError('bad batch')"])
    body = [f"{value} = {loss(d, f'{net}({drawn.x})', drawn.y)}", *fails]
    if given != value:
        # The frame of the function that raises is the exception's, with what it holds.
        called = d.placed(step, function(step, given, [*fails, f"return {given}"]), ["import torch"])
        body = [body[0], f"{called}({value})"]
    tried = [*block("try:", [*drawn.opening, *body]), *block(f"except ValueError as {e}:", put(route.keep, "", text))]
    index = d.new("index") if ending == "emptied" and route.placed.empty else ""
    start = (route.placed.make or route.placed.empty) if ending == "anew in step" else []
    tail = block(f"if {index} % 4 == 3:", route.placed.empty) if index else []
    after = after_loop(
        d, "returned" if ending == "returned" and route.placed.items else "dropped", route.placed.items, opt
    )
    d.before += route.before
    finished(d, Step(drawn, [], [], e, "other", opt, net), [*start, *tried, *tail], index, [], after)
    return d


def _same(value: str) -> str:
    return value


def loader(rng: random.Random, kind: str, holder: str, form: str) -> Choices:
    """What keeps all batches of a loader with workers at once, and what only seems to."""
    d = Choices(rng, kind, holder, form)
    d.need("import torch", "import itertools", "from torch.utils.data import DataLoader, TensorDataset")
    d.stage = "method" if form == "method" else d.pick("function", "function", "script")
    d.cell.update(where="kept", ending="dropped", loop=d.pick("for", "epochs", "enumerate"))
    at = d.new("loader")
    workers = d.pick(", num_workers=2", ", num_workers=2", ", num_workers=4", "")
    made = f"DataLoader(TensorDataset(torch.randn({4 * STEPS}, 3), torch.randn({4 * STEPS}, 2)), batch_size=4{workers})"
    name, drawn, x, y = d.new("helper"), d.new("sample"), d.new("input"), d.new("target")
    kept, free = {
        "list": (["list(L)", "[each for each in L]", "sorted(L, key=len)"], ["L", "iter(L)", "(each for each in L)"]),
        "cycle": (["itertools.cycle(L)"], ["OWN(L)", "itertools.chain(L, L)", "itertools.chain.from_iterable([L, L])"]),
        "tee": (["itertools.tee(L)[0]"], ["itertools.islice(L, 99)", "map(list, L)"]),
        "dict": (["dict(enumerate(L)).values()"], ["enumerate(L)"]),
        "name": (["tuple(L)", "(*L,)"], ["iter(L)", "zip(L)"]),
    }[holder]
    way = d.rng.choice(kept if d.chance(0.65) else free if form != "other module" else free[-1:])
    d.cell["release"] = "no workers" if not workers else way.replace("L", "loader")
    if "OWN" in way:
        own, given = d.new("helper"), d.new("temp")
        d.define(function(own, given, block("while True:", [f"yield from {given}"])))
        way = way.replace("OWN", own)
    keep = way.replace("L", at)
    bound = f"{at} = {made}"
    where = at
    if form in ("helper", "other module"):
        given = d.new("temp")
        text = function(name, given, [mark(f"return {way.replace('L', given)}", KEEP)])
        called = d.exported(name, text, ["import itertools"]) if form == "other module" else name
        if form == "helper":
            d.define(text)
        keep = f"{called}({at})"
    elif form == "method":
        d.inits += [f"self.{at} = {made}"]
        d.methods.append(function(name, "self", [mark(f"return {way.replace('L', f'self.{at}')}", KEEP)]))
        keep, bound = f"self.{name}()", ""
    if bound:
        d.before.append(bound)
    batches = d.new("batches")
    prepare = [mark(f"{batches} = {keep}", KEEP, HOLDER)]
    if "tee" in way:
        prepare = [mark(f"{batches}, {drawn}_ = itertools.tee({where})", KEEP, HOLDER)] if form == "inline" else prepare
    index = d.new("index")
    each = d.new("sample")
    read = f"{each}[0] if isinstance({each}[0], list) else {each}" if "zip" in way else each
    unpack = f"{x}, {y} = {read}[1]" if way.startswith("enumerate") else f"{x}, {y} = {read}"
    stop = block(f"if {index} >= 40:", ["break"])
    body = [*stop, unpack, f"print({x}.shape, {y}.shape)"]
    lines = block(mark(f"for {index}, {each} in enumerate({batches}):", STEP), body)
    if "cycle" not in way and "OWN" not in way and d.cell["loop"] == "epochs":
        lines = block(f"for {d.new('epoch')} in range(2):", [*prepare, *lines])
    else:
        lines = [*prepare, *lines]
    d.cell["loop"] = "enumerate" if d.cell["loop"] == "for" else d.cell["loop"]
    stage(d, lines, [])
    return d


def hook(rng: random.Random, kind: str, holder: str, form: str) -> Choices:
    """Forward hooks that are registered in every step, and perhaps removed."""
    d = Choices(rng, kind, holder, form)
    d.need("import torch", "from torch import nn")
    d.stage = "method" if form in ("method", "base class") else d.pick("function", "function", "script")
    d.cell.update(where="kept", ending="dropped", loop=d.pick("for", "enumerate", "while", "epochs"))
    d.always_self = True
    drawn = source(d)
    net = d.bind("model", "nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))")
    name, m, handle = d.new("helper"), d.new("model"), d.new("temp")
    way = d.pick("none", "none", "none", "handle kept", ".remove()", ".remove()", "with", "once")
    d.cell["release"] = way
    target = f"{m}[0]" if holder == "submodules" else m
    kind_ = d.pick("register_forward_hook", "register_forward_hook", "register_forward_pre_hook")
    function_ = "lambda module, inputs, *output: None"
    if form != "other module" and d.chance(0.5):
        watch = d.new("helper")
        d.define(function(watch, "module, inputs, *output", [f"print({d.pick('len(inputs)', 'type(module)')})"]))
        function_ = watch
    register = f"{target}.{kind_}({function_})"
    kept = (
        [mark(f"{handle} = {register}", KEEP)]
        if way in (".remove()", "handle kept", "with")
        else [mark(register, KEEP)]
    )
    given = [f"return {handle}"] if way in (".remove()", "handle kept", "with") else []
    call, result = f"{name}({net})", d.new("temp")
    if form in ("helper", "other module"):
        text = function(name, m, [*kept, *given])
        call = f"{d.exported(name, text, ['import torch'])}({net})" if form == "other module" else call
        if form == "helper":
            d.define(text)
    elif form in ("method", "base class"):
        text = function(name, f"self, {m}", [*kept, *given])
        (d.base_methods if form == "base class" else d.methods).append(text)
        call = f"self.{name}({net})"
    out = d.new("output")
    run = [f"{out} = {net}({drawn.x})"]
    if form == "inline":
        first = [renamed(each, m, net) for each in kept]
        result = handle
    else:
        first = [mark(f"{result} = {call}" if given else call, KEEP)]
    if way == "once":
        body = [*drawn.opening, *run]
        (d.before if d.stage != "method" else d.opening).extend(first)
    elif way == "with":
        name_ = first[0].partition(" = ")[0]
        rest = first[0].partition(" = ")[2]
        body = [*drawn.opening, *block(mark(f"with {rest.partition('  #@')[0]} as {name_}:", KEEP), run)]
    else:
        body = [*drawn.opening, *first, *run, *([f"{result}.remove()"] if way == ".remove()" else [])]
    finished(d, Step(drawn, body, [], out, "tensor"), body, "", [], [])
    return d


def figure(rng: random.Random, kind: str, holder: str, form: str) -> Choices:
    """Figures that are drawn in every step, and perhaps closed."""
    d = Choices(rng, kind, holder, form)
    d.need("import matplotlib.pyplot as plt", "import torch")
    d.stage = "method" if form in ("method", "base class") else d.pick("function", "function", "script")
    d.cell.update(where="kept", ending="dropped", loop=d.pick("for", "enumerate", "while", "epochs"))
    name, fig, x = d.new("helper"), d.new("temp"), d.new("image")
    drawn = source(d)
    closed = ("plt.clf()", *["plt.close(fig)"] * 3, "plt.close()", "plt.close('all')", "same number", "once")
    way = d.pick(*["none"] * 5, *closed)
    d.cell["release"] = way
    make = f"{fig} = plt.figure({d.pick('', 'figsize=(4, 3)')})" if way != "same number" else f"{fig} = plt.figure(1)"
    draw = [mark(make, KEEP), d.pick(f"{fig}.suptitle('step')", f"{fig}.text(0.5, 0.5, str({x}.shape))")]
    if d.chance(0.8):
        draw.append(f"{fig}.savefig('step.png')")
    if way.startswith("plt."):
        draw.append(way.replace("fig", fig))
    needs = ["import matplotlib.pyplot as plt"]
    if form in ("helper", "other module"):
        text = function(name, x, draw)
        call = f"{d.exported(name, text, needs)}({drawn.x})" if form == "other module" else f"{name}({drawn.x})"
        if form == "helper":
            d.define(text)
        body = [mark(call, KEEP)]
    elif form in ("method", "base class"):
        (d.base_methods if form == "base class" else d.methods).append(function(name, f"self, {x}", draw))
        body = [mark(f"self.{name}({drawn.x})", KEEP)]
    else:
        body = [f"{x} = {drawn.x}", *draw]
    if way == "once":
        body = block(f"if {fig}_seen is None:", [f"{fig}_seen = 1", *body])
        d.before.append(f"{fig}_seen = None")
    body = [*drawn.opening, *body]
    finished(d, Step(drawn, body, [], fig, "other"), body, "", [], [])
    return d
