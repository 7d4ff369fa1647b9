"""Puts a step, a way of release, a holder, a form, a loop and an ending together into a program."""

from __future__ import annotations

import random

from tests.training.draft import Lines, block
from tests.truth import steps
from tests.truth.draft import Choices
from tests.truth.endings import ENDINGS, after_loop, differentiated, shown
from tests.truth.forms import routed
from tests.truth.holders import MAKERS, Holder
from tests.truth.inner import put
from tests.truth.loops import WEIGHTED
from tests.truth.outlined import comprehended, decorated
from tests.truth.releases import Release, applied, choose
from tests.truth.stages import finished, moded, possible
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
        way = comprehended if d.form == "comprehension" else decorated
        way(d, step, holder, release, mode, ending)
        return
    made = routed(d, holder, release)
    at = made.placed
    keep = moded(mode if mode == "keep" else "", [*release.before, *put(made.keep, at.at, release.value)])
    forward = moded(mode if mode.startswith("with") else "", step.forward)
    start, tail, epoch = Lines(), Lines(), Lines()
    ending = possible(d, ending, at)
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
