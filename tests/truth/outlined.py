"""Forms in which the step is a function of a batch: comprehensions, and decorators that keep what it returns."""

from __future__ import annotations

from tests.training.draft import Lines, block, function
from tests.truth.draft import Choices, keeping, making, renamed
from tests.truth.endings import after_loop
from tests.truth.forms import Placed, place
from tests.truth.holders import Holder
from tests.truth.inner import VALUE, binds, put
from tests.truth.releases import Release
from tests.truth.stages import finished, here, moded, possible, stage
from tests.truth.steps import Step


def _computed(d: Choices, step: Step, release: Release, mode: str, learn: bool) -> tuple[str, str, Lines]:
    """A function of a batch that returns the value: its name, its parameters, its text."""
    name = d.new("step")
    result = release.value if learn else step.value
    body = [*moded(mode if mode.startswith("with") else "", step.forward), *step.learn, f"return {result}"]
    return name, step.source.each, body


def comprehended(d: Choices, step: Step, holder: Holder, release: Release, mode: str, ending: str) -> None:
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
    lines = moded("keep" if mode == "keep" and not step.learn else "", lines)
    ending = possible(d, ending, at)
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


def decorated(d: Choices, step: Step, holder: Holder, release: Release, mode: str, ending: str) -> None:
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
            inner, "*args", [*head, f"{value} = {f}(*args)", *moded(_at_keep(mode), keep), f"return {value}"]
        )
        lines = [making(f"{a} = {holder.make}"), *put(holder.prime, a, ""), *call.split("\n"), f"return {inner}"]
        called = _decorator(d, decorator, f, lines)
    else:
        at = place(d, holder)
        keep = keeping(put(holder.keep, at.at, kept))
        calling = [f"{value} = {f}(*args)", *moded(_at_keep(mode), keep), f"return {value}"]
        lines = [*d.nested(inner, "*args", calling), f"return {inner}"]
        d.nested_before += function(decorator, f, lines).split("\n")
        called = decorator
    if release.before:
        body = [*body[:-1], *release.before, f"return {release.value}"]
    d.nested_before += [f"@{called}", *d.nested(name, given, body)]
    ending = possible(d, ending, at)
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
    return d.placed(name, text, needs) if not names else here(d, name, text)
