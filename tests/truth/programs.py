"""Puts a step, a way of release, a holder, a form, a loop and an ending together into a program."""

from __future__ import annotations

import random

from tests.training.draft import Lines, block, function
from tests.truth import steps
from tests.truth.draft import Choices, keeping, making, renamed
from tests.truth.endings import ENDINGS, after_loop, differentiated, shown
from tests.truth.forms import Placed, Routed, place, routed
from tests.truth.holders import MAKERS, Holder
from tests.truth.inner import VALUE, binds, put
from tests.truth.loops import WEIGHTED, hooks, loop
from tests.truth.releases import Release, applied, choose
from tests.truth.steps import Step

KINDS = ("loss", "output", "metric", "batch", "view")
_GRAPH = ("loss", "output", "metric")
_KEPT = 0.68
"""The chance of a way that is meant not to release: endings that bound what is kept make up for the rest."""


def training(rng: random.Random, kind: str, holder: str, form: str) -> Choices:
    """A program that keeps something of every step."""
    d = Choices(rng, kind, holder, form)
    d.need("import torch", "import numpy as np")
    _staged(d)
    ending = _ending(d)
    d.always_self = d.stage == "method" and (d.cell["loop"] in ("hooks", "step function") or d.chance(0.5))
    if d.form in ("comprehension", "decorator") and d.stage == "method":
        d.always_self = True
    live = kind not in _GRAPH or ending == "differentiated" or d.chance(0.4)
    step = _step(d, kind, live)
    way = choose(d, step.of, 1.0 if ending == "differentiated" else _KEPT)
    while ending == "differentiated" and way.mode:
        way = choose(d, step.of, 1.0)
    if way.mode.startswith("with"):
        step.learn, step.live = [], True
    made = _holder(d, way.gives, lambda: applied(d, way, step.value, _elsewhere(d)), ending)
    _composed(d, step, *made, way.mode, ending)
    return d


def _step(d: Choices, kind: str, live: bool) -> Step:
    if kind == "batch":
        return steps.batch(d, kind)
    if kind == "view":
        return steps.view(d, kind)
    return steps.graph(d, kind, live)


def _staged(d: Choices) -> None:
    """Where the loop stands, and what loop it is."""
    way = d.rng.choice(WEIGHTED)
    if d.form == "comprehension":
        way = d.pick("comprehension", "comprehension", "epochs")
    elif d.form == "decorator" and way == "hooks":
        way = "for"
    d.cell["loop"] = way
    d.stage = d.pick("function", "function", "function", "script", "method")
    if d.form in ("method", "base class") or way == "hooks":
        d.stage = "method"
    if d.form == "decorator" and d.stage == "method":
        d.stage = "function"


def _ending(d: Choices) -> str:
    """What becomes of what is kept; only what the form and the loop can do."""
    ending = d.rng.choice(ENDINGS)
    if ending == "differentiated" and d.cell["kind"] not in _GRAPH:
        ending = "shown"
    if ending == "anew in epoch" and d.form != "comprehension":
        if d.cell["loop"] != "epochs":
            d.cell["loop"] = "epochs" if d.cell["loop"] != "hooks" else "hooks"
        if d.cell["loop"] == "hooks":
            ending = "dropped"
    if d.form == "comprehension" and ending in ("emptied", "anew in step", "bounded"):
        ending = d.pick("shown", "dropped", "returned", "anew in epoch") if ending != "bounded" else ending
    d.cell["ending"] = ending
    return ending


def _elsewhere(d: Choices) -> bool:
    """Whether other code than the loop's own statements keeps the value."""
    own = d.cell["holder"] in ("meter", "closure", "generator", "cache")
    return own or d.form in ("helper", "method", "base class", "callback", "decorator", "other module")


def _holder(d: Choices, gives: str, make: object, ending: str) -> tuple[Holder, Release]:
    """A holder that takes what the way gives, with the way applied somewhere."""
    assert callable(make)
    release: Release = make()
    while True:
        state = d.rng.getstate()
        holder = MAKERS[d.cell["holder"]](d, ending == "bounded", release.inside)
        if not holder.adds or gives != "other":
            return holder, release
        del state


def _composed(d: Choices, step: Step, holder: Holder, release: Release, mode: str, ending: str) -> None:
    index = ""
    if d.form in ("comprehension", "decorator"):
        way = _comprehended if d.form == "comprehension" else _decorated
        way(d, step, holder, release, mode, ending)
        return
    made = routed(d, holder, release)
    at = made.placed
    keep = _moded(mode if mode == "keep" else "", [*release.before, *put(made.keep, at.at, release.value)])
    forward = _moded(mode if mode.startswith("with") else "", step.forward)
    start, tail, epoch = Lines(), Lines(), Lines()
    ending = _possible(d, ending, at)
    if ending == "anew in step":
        start = at.make or at.empty
    elif ending == "anew in epoch":
        epoch = at.make or at.empty
    elif ending == "emptied" or (ending == "differentiated" and at.empty and d.chance(0.4)):
        index = d.new("index")
        body = differentiated(d, at.items, step.opt) if ending == "differentiated" else d.pick([], shown(d, at.items))
        if ending == "differentiated":
            d.cell["moment"] = "every"
        tail = block(f"if {index} % 4 == 3:", [*body, *at.empty])
    learn_first = d.chance(0.6)
    body = [*start, *forward, *(step.learn if learn_first else []), *keep, *([] if learn_first else step.learn), *tail]
    d.before += made.before
    after = after_loop(d, "dropped" if d.cell.get("moment") else ending, at.items, step.opt)
    finished(d, step, body, index, epoch, after)


def _possible(d: Choices, ending: str, at: Placed) -> str:
    """The ending, or what is left of it where nobody can read the holder."""
    reads = ending in ("differentiated", "returned")
    begins = ending in ("anew in step", "anew in epoch")
    if (reads and not at.items) or (begins and not (at.make or at.empty)) or (ending == "emptied" and not at.empty):
        ending = "dropped"
    if ending == "returned" and (d.stage == "script" or d.cell["loop"] == "hooks"):
        ending = "shown"
    d.cell["ending"] = ending
    return ending


def _moded(mode: str, lines: Lines) -> Lines:
    if mode == "keep":
        return block("with torch.no_grad():", lines)
    return block(mode, lines) if mode else lines


def _computed(d: Choices, step: Step, release: Release, mode: str, learn: bool) -> tuple[str, str, Lines]:
    """A function of a batch that returns the value: its name, its parameters, its text."""
    name = d.new("step")
    result = release.value if learn else step.value
    body = [*_moded(mode if mode.startswith("with") else "", step.forward), *step.learn, f"return {result}"]
    return name, step.source.each, body


def _comprehended(d: Choices, step: Step, holder: Holder, release: Release, mode: str, ending: str) -> None:
    """What is kept is made by a comprehension, a generator expression or `extend`."""
    name, given, body = _computed(d, step, release, mode, learn=True)
    simple = step.of in ("batch",) and d.chance(0.5) and "," in given
    if d.stage == "method":
        d.methods.append(function(name, f"self, {given}", body))
        call = f"self.{name}({given})"
    else:
        d.nested_before += d.nested(name, given, body)
        call = f"{name}({given})"
    if simple:
        call = release.value
    at = place(d, holder)
    each, source = step.source.each, step.source.iterable
    lines = _comprehension(d, holder, at, call, each, source)
    lines = _moded("keep" if mode == "keep" and not step.learn else "", lines)
    ending = _possible(d, ending, at)
    if d.cell["loop"] == "epochs" or ending == "anew in epoch":
        d.cell["loop"] = "epochs"
        start = (at.make or at.empty) if ending == "anew in epoch" else []
        lines = block(f"for {d.new('epoch')} in range(2):", [*start, *lines])
    after = after_loop(d, ending, at.items, step.opt)
    stage(d, [*d.opening, *d.nested_before, *lines], after)


def _comprehension(d: Choices, holder: Holder, at: Placed, call: str, each: str, source: str) -> Lines:
    """The one statement that draws and keeps, by what the holder is."""
    kind, p = d.cell["holder"], at.at
    loop_of = f"for {each} in {source}"
    counted = f"for {d.new('index')}, {_paired(each)} in enumerate({source})"
    count = counted.split()[1].rstrip(",")
    plain = " ".join(holder.keep)
    if holder.item:
        inner = f"[{holder.item.replace(VALUE, call)} {loop_of}]"
        way = d.pick("assigned", "assigned", "extended", "added")
        if way == "assigned" and kind in ("list", "NamedTuple"):
            return [f"{p} = {inner}  #@keep  #@holder  #@step"]
        if way == "added" and kind != "deque":
            return [f"{p} += {inner}  #@keep  #@step"]
        return [f"{p}.extend({inner if d.chance(0.5) else inner[1:-1]})  #@keep  #@step"]
    if kind == "dict" and not holder.adds and len(holder.keep) == 1 and "% 3" not in plain and "last" not in plain:
        made = f"{{{count}: {call} {counted}}}"
        return [d.pick(f"{p} = {made}  #@keep  #@holder  #@step", f"{p}.update({made})  #@keep  #@step")]
    if kind == "name" and holder.adds and d.chance(0.7):
        return [f"{p} = sum({call} {loop_of})  #@keep  #@step"]
    if kind == "name" and not holder.adds and holder.items == "PLACE":
        return [f"{p} = tuple({call} {loop_of})  #@keep  #@holder  #@step"]
    if holder.alone or holder.released:
        statement = put(holder.keep, p, call)[0]
        return [f"[{statement} {loop_of}]  #@keep  #@step"]
    # The values come out of a generator, one after the other.
    value = d.new("temp")
    return block(f"for {value} in ({call} {loop_of}):  #@step", keeping(put(holder.keep, p, value)))


def _paired(each: str) -> str:
    return f"({each})" if "," in each else each


def _decorated(d: Choices, step: Step, holder: Holder, release: Release, mode: str, ending: str) -> None:
    """A decorator keeps what the step's function returns."""
    name, given, body = _computed(d, step, release, mode, learn=False)
    value, decorator, inner, f = d.new("temp"), d.new("helper"), d.new("helper"), d.new("temp")
    own = not holder.alone and d.cell["holder"] != "global" and d.chance(0.4)
    wrap = release.inside
    kept = value if holder.released else wrap(value)
    if release.before or release.value != step.value:
        # Released by the decorator's own code: the name that was meant is the function's result.
        kept = renamed(release.value, step.value, value) if not release.before else value
    if own:
        a = d.new("losses")
        at = Placed("", [], "", [])
        keep = keeping(put(holder.keep, a, kept))
        head = [f"nonlocal {a}"] if binds(holder.keep) else []
        call = function(
            inner, "*args", [*head, f"{value} = {f}(*args)", *_moded(_at_keep(mode), keep), f"return {value}"]
        )
        lines = [making(f"{a} = {holder.make}"), *put(holder.prime, a, ""), *call.split("\n"), f"return {inner}"]
        called = _decorator(d, decorator, f, lines)
    else:
        at = place(d, holder)
        keep = keeping(put(holder.keep, at.at, kept))
        calling = [f"{value} = {f}(*args)", *_moded(_at_keep(mode), keep), f"return {value}"]
        lines = [*d.nested(inner, "*args", calling), f"return {inner}"]
        d.nested_before += function(decorator, f, lines).split("\n")
        called = decorator
    if release.before:
        body = [*body[:-1], *release.before, f"return {release.value}"]
    d.nested_before += [f"@{called}", *d.nested(name, given, body)]
    ending = _possible(d, ending, at)
    epoch = (at.make or at.empty) if ending == "anew in epoch" else []
    start = (at.make or at.empty) if ending == "anew in step" else []
    index = d.new("index") if ending == "emptied" else ""
    tail = block(f"if {index} % 4 == 3:", at.empty) if index else []
    after = after_loop(d, ending, at.items, step.opt)
    if d.cell["loop"] == "step function":
        d.cell["loop"] = "for"
    finished(d, step, [*start, f"{name}({given})  #@keep", *tail], index, epoch, after)


def _at_keep(mode: str) -> str:
    return "keep" if mode == "keep" else ""


def _decorator(d: Choices, name: str, f: str, lines: Lines) -> str:
    """A decorator at the top of this file or another, whose holder is its own."""
    needs = ["import torch", "import numpy as np", "import copy"]
    needs += [each for each in d.main.imports if "collections" in each or "types" in each]
    names = list(d.main.definitions)
    text = function(name, f, lines)
    if names and d.chance(0.7):
        d.define(text)
        return name
    return d.placed(name, text, needs) if not names else _here(d, name, text)


def _here(d: Choices, name: str, text: str) -> str:
    d.define(text)
    return name


def finished(d: Choices, step: Step, body: Lines, index: str, epoch: Lines, after: Lines) -> None:
    """The loop around the body, in its place."""
    if d.cell["loop"] == "hooks":
        d.inits += d.opening if all("self." in each for each in d.opening) else []
        call = hooks(d, step.source, body, index, after)
        _class(d, "", [], call)
        return
    lines = loop(d, step.source, body, index, epoch)
    stage(d, [*d.opening, *d.nested_before, *lines], after)


def stage(d: Choices, lines: Lines, after: Lines) -> None:
    """Into a function, a class or the module itself; and what calls it."""
    main = d.new("train")
    ending = [f"return {d.result}"] if d.result else []
    if d.stage == "script":
        d.main.statements += [*d.before, *lines, *after]
        return
    if d.stage == "function":
        given, arguments = d.given
        d.define("\n".join([*d.decorators, d.top(main, given, [*d.before, *lines, *after, *ending])]))
        _called(d, f"{main}({arguments})")
        return
    head = [f"global {each}" for each in d.globals if each in "\n".join(lines)]
    _class(d, main, [*head, *d.before, *lines, *after, *ending], "")


def _class(d: Choices, main: str, lines: Lines, call: str) -> None:
    """A class whose method has the loop, or whose methods a stub calls."""
    name, obj = d.new("trainer"), d.new("trainer").lower() + "_"
    given, arguments = d.given
    inits = [*d.inits, *(d.before if call else [])]
    if d.form == "base class":
        base = d.new("class")
        own = block("def __init__(self):", d.base_inits or ["pass"])
        text = "\n".join(block(f"class {base}:", [*own, *"\n".join(d.base_methods or ["pass"]).split("\n")]))
        movable = d.cell["holder"] in ("name", "list", "dict", "dict of lists", "deque")
        own = [each for each in d.main.imports if not any(_module(path) in each for path in d.others)]
        called = d.placed(base, text, own) if movable else _here(d, base, text)
        d.bases.append(called)
        inits = ["super().__init__()", *inits]
    methods = [function("__init__", ", ".join(["self", *([given] if given else [])]), inits or ["pass"]), *d.methods]
    if main:
        methods.insert(d.pick(1, len(methods)), function(main, "self", lines))
    bases = f"({', '.join(d.bases)})" if d.bases else ""
    d.define("\n".join(block(f"class {name}{bases}:", "\n".join(methods).split("\n"))))
    if call:
        d.main.statements += [f"{obj} = {name}({arguments})"]
        _called(d, call.replace("OBJECT", obj))
    else:
        _called(d, f"{name}({arguments}).{main}()")


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _called(d: Choices, call: str) -> None:
    caller = [each.replace("CALL", call) for each in d.caller] or [call]
    if d.chance(0.3):
        caller = block("if __name__ == '__main__':", caller)
    d.main.statements += caller


__all__ = ["KINDS", "Routed", "training"]
