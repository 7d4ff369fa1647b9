"""Exceptions, loaders that are kept whole, hooks and figures."""

from __future__ import annotations

import random

from tests.training.draft import block, function
from tests.training.parts import loss, model, optimizer
from tests.truth.case import HOLDER, KEEP, STEP, mark
from tests.truth.draft import STEPS, Choices, renamed
from tests.truth.endings import after_loop
from tests.truth.forms import routed
from tests.truth.holders import MAKERS
from tests.truth.inner import put
from tests.truth.releases import Release, Way
from tests.truth.stages import finished, stage
from tests.truth.steps import Step, source

EXCEPTIONS = ("list", "dict", "attribute", "meter", "deque", "dict of lists")
EXCEPTION_FORMS = ("inline", "helper", "method", "other module")
LOADERS = ("list", "cycle", "tee", "dict", "name")
LOADER_FORMS = ("inline", "helper", "method", "other module")
HOOKS = ("module", "submodules")
HOOK_FORMS = ("inline", "helper", "method", "base class", "other module")
FIGURES = ("pyplot",)
FIGURE_FORMS = ("inline", "helper", "method", "base class", "other module")


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
