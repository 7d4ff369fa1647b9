"""Who differentiates what was kept, and who looks at it: all that a wrong `.detach()` would cut or change."""

from __future__ import annotations

from collections.abc import Callable

from tests.training.draft import Draft, Lines, block, function
from tests.training.holders import Holder

Way = Callable[[Draft, Holder, str], Lines]
"""The statements, from the holder and the optimizer."""


def _train(opt: str, total: str) -> Lines:
    return [f"{opt}.zero_grad()", f"{total}.backward()", f"{opt}.step()"]


def inline(d: Draft, h: Holder, opt: str) -> Lines:
    t = d.new("total")
    return [f"{t} = {h.total}", *_train(opt, t)]


def helper(d: Draft, h: Holder, opt: str) -> Lines:
    """A function that gets the sum, or all of it, in this file or another."""
    name, o, t = d.new("finish"), d.new("optimizer"), d.new("temp")
    if d.chance(0.5):
        called = d.placed(name, function(name, f"{o}, {t}", _train(o, t)))
        return [f"{called}({opt}, {h.total})"]
    body = [f"{t} = {d.pick(f'sum({t})', f'torch.stack(list({t})).mean()')}", *_train(o, t)]
    called = d.placed(name, function(name, f"{o}, {t}", body), ["import torch"])
    return [
        d.pick(f"{called}({opt}, {h.items})", f"{called}({o}={opt}, {t}={h.items})", f"{called}(*[{opt}, {h.items}])")
    ]


def imported(d: Draft, h: Holder, opt: str) -> Lines:
    """A function of another file."""
    name = d.new("finish")
    body = [f"t = {d.pick('sum(values)', 'torch.stack(list(values)).mean()')}", *_train("opt", "t")]
    called = d.exported(name, function(name, "opt, values", body), ["import torch"])
    return [f"{called}({opt}, {h.items})"]


def inherited(d: Draft, h: Holder, opt: str) -> Lines:
    """A method of a base class, of this file or another."""
    base, method = d.new("class"), d.pick("backward_all", d.new("finish"))
    text = "\n".join(
        block(f"class {base}:", block(f"def {method}(self, opt, values):", ["t = sum(values)", *_train("opt", "t")]))
    )
    base = d.exported(base, text) if d.chance(0.6) else d.placed(base, text)
    if d.stage == "method":
        d.bases.append(base)
        return [f"self.{method}({opt}, {h.items})"]
    name = d.new("class")
    d.define("\n".join(block(f"class {name}({base}):", ["pass"])))
    return [f"{name}().{method}({opt}, {h.items})"]


def closure(d: Draft, h: Holder, opt: str) -> Lines:
    """A nested function, called here or by the optimizer."""
    d.tag("closures")
    name, t = d.new("finish"), d.new("temp")
    body = [f"{opt}.zero_grad()", f"{t} = {h.total}", f"{t}.backward()", f"return {t}"]
    calls = d.pick([f"{opt}.step({name})"], [f"{name}()", f"{opt}.step()"])
    return [*block(f"def {name}():", body), *calls]


def lambda_(d: Draft, h: Holder, opt: str) -> Lines:
    d.tag("closures")
    name = d.new("finish")
    return d.pick(
        [f"{name} = lambda: ({h.total}).backward()", f"{opt}.zero_grad()", f"{name}()", f"{opt}.step()"],
        [f"{name} = lambda v: sum(v).backward()", f"{opt}.zero_grad()", f"{name}({h.items})", f"{opt}.step()"],
    )


def partial(d: Draft, h: Holder, opt: str) -> Lines:
    d.need("import functools", "import torch")
    name = d.new("finish")
    call = d.pick(
        f"functools.partial(torch.autograd.backward, {h.total})", f"functools.partial(torch.Tensor.backward, {h.total})"
    )
    return [f"{name} = {call}", f"{opt}.zero_grad()", f"{name}()", f"{opt}.step()"]


def generator(d: Draft, h: Holder, opt: str) -> Lines:
    name, t, v = d.new("helper"), d.new("total"), d.new("temp")
    lines = block(
        f"def {name}():", d.pick([f"yield from {h.items}"], block(f"for {v} in {h.items}:", [f"yield {v} * 1"]))
    )
    total = d.pick(f"sum({name}())", f"torch.stack(list({name}())).sum()", f"sum(w for w in {name}())")
    return [*lines, f"{t} = {total}", *_train(opt, t)]


def method(d: Draft, h: Holder, opt: str) -> Lines:
    """Another method, which reads the attribute."""
    if d.stage != "method" or not (h.place.startswith("self.") and opt.startswith("self.")):
        return global_(d, h, opt)
    d.tag("methods")
    name = d.new("finish")
    d.methods.append(function(name, "self", [f"t = {h.total}", *_train(opt, "t")]))
    return [f"self.{name}()"]


def global_(d: Draft, h: Holder, opt: str) -> Lines:
    """A function of the module, which gets no argument; or one that is handed the method."""
    if d.stage == "script":
        name = d.new("finish")
        return [*block(f"def {name}():", [f"t = {h.total}", *_train(opt, "t")]), f"{name}()"]
    return bound(d, h, opt)


def bound(d: Draft, h: Holder, opt: str) -> Lines:
    """`backward` as a value, or by its name."""
    t = d.new("total")
    call = d.pick(
        [f"getattr({t}, 'backward')()"],
        ["import operator", f"operator.methodcaller('backward')({t})"],
        [f"go = {t}.backward", "go()"],
        [f"[f() for f in [{t}.backward]]"],
        [f"list(map(torch.Tensor.backward, [{t}]))"],
        [f"eval('{t}.backward()')"],
        ["import threading", f"job = threading.Thread(target={t}.backward)", "job.start()", "job.join()"],
    )
    d.need("import torch")
    return [f"{t} = {h.total}", f"{opt}.zero_grad()", *call, f"{opt}.step()"]


def returned(d: Draft, h: Holder, opt: str) -> Lines:
    """The sum, or all of it, is returned; the caller differentiates it: what that does is seen in the gradients."""
    if d.stage == "script" or d.result:
        return closure(d, h, opt)
    t = d.new("total")
    given, taken = d.pick(
        (h.total, t), (h.items, f"sum({t})"), (f"{{'loss': {h.total}}}", f"{t}['loss']"), (f"({h.total}, 1)", f"{t}[0]")
    )
    d.result = given
    d.caller = [f"{t} = CALL", f"({taken}).backward()"]
    return []


def yielded(d: Draft, h: Holder, opt: str) -> Lines:
    if d.stage == "script" or d.result:
        return lambda_(d, h, opt)
    t = d.new("total")
    d.result = f"YIELD {h.total}"
    d.caller = block(f"for {t} in CALL:", [f"{t}.backward()"])
    return []


def grad(d: Draft, h: Holder, opt: str) -> Lines:
    """`torch.autograd.grad`, and the step by hand."""
    d.need("import torch")
    g, p, ps = d.new("temp"), d.new("temp"), d.new("temp")
    step = d.pick(f"{p}.data.add_({g}, alpha=-0.1)", f"{p}.grad = {g}")
    lines = [f"{ps} = [w for group in {opt}.param_groups for w in group['params']]"]
    each = f"zip({ps}, torch.autograd.grad({h.total}, {ps}, allow_unused=True))"
    lines += block(f"for {p}, {g} in {each}:", block(f"if {g} is not None:", [step]))
    return [*lines, *([f"{opt}.step()"] if ".grad =" in step else [])]


def twice(d: Draft, h: Holder, opt: str) -> Lines:
    """retain_graph, and once more; or a gradient of a gradient."""
    d.need("import torch")
    t, g, ps = d.new("total"), d.new("temp"), d.new("temp")
    if d.chance(0.5):
        return [
            f"{t} = {h.total}",
            f"{opt}.zero_grad()",
            f"{t}.backward(retain_graph=True)",
            f"({t} * {t}).backward()",
            f"{opt}.step()",
        ]
    lines = [
        f"{ps} = [w for group in {opt}.param_groups for w in group['params']]",
        f"{t} = {h.total}",
        f"{opt}.zero_grad()",
    ]
    lines += [f"{g} = torch.autograd.grad({t}, {ps}, create_graph=True, allow_unused=True)"]
    return [*lines, f"({t} + sum(w.pow(2).sum() for w in {g} if w is not None)).backward()", f"{opt}.step()"]


def some(d: Draft, h: Holder, opt: str) -> Lines:
    """Only some of what is kept."""
    t, items = d.new("total"), f"list({h.items})"
    total = d.pick(
        f"sum({items}[::2])",
        f"{items}[-1]",
        f"{items}[0]",
        f"max({items}, key=float)",
        f"sum({items}[-3:])",
        f"{items}[0] + {items}[-1]",
    )
    name, o, v = d.new("finish"), d.new("optimizer"), d.new("temp")
    if d.chance(0.5):
        called = d.placed(name, function(name, f"{o}, {v}", _train(o, v)))
        return [f"{called}({opt}, {total})"]
    return [f"{t} = {total}", *_train(opt, t)]


def context(d: Draft, h: Holder, opt: str) -> Lines:
    """A context manager's end, a callback, an object's `__call__`."""
    name, v = d.new("class"), d.new("temp")
    way = d.pick("exit", "call", "callback", "property", "decorated")
    if way == "exit":
        lines = [
            "def __init__(self, opt, values): self.opt, self.values = opt, values",
            "def __enter__(self): return self",
        ]
        lines += block("def __exit__(self, *error):", [f"{v} = sum(self.values)", *_train("self.opt", v)])
        called = d.placed(name, "\n".join(block(f"class {name}:", lines)))
        return block(f"with {called}({opt}, {h.items}):", ["pass"])
    if way == "call":
        lines = block("def __call__(self, opt, *values):", [f"{v} = sum(values)", *_train("opt", v)])
        called = d.placed(name, "\n".join(block(f"class {name}:", lines)))
        return [f"{called}()({opt}, *{h.items})"]
    if way == "property":
        lines = ["def __init__(self, values): self.values = list(values)"]
        lines += ["@property", *block("def total(self):", ["return sum(self.values)"])]
        called = d.placed(name, "\n".join(block(f"class {name}:", lines)))
        return _train(opt, f"{called}({h.items}).total")
    if way == "decorated":
        d.need("import functools")
        text = function(name, "f", [*block("def g(*a):", ["t = f(*a)", "t.backward()", "return t"]), "return g"])
        called = d.placed(name, text)
        return [
            f"@{called}",
            *block(f"def {v}(values):", ["return sum(values)"]),
            f"{opt}.zero_grad()",
            f"{v}({h.items})",
            f"{opt}.step()",
        ]
    return [
        f"{name} = [lambda t: t.backward()]",
        f"{opt}.zero_grad()",
        *block(f"for {v} in {name}:", [f"{v}({h.total})"]),
        f"{opt}.step()",
    ]


def looked(d: Draft, h: Holder, opt: str) -> Lines:
    """Nobody differentiates it, but somebody sees that it has (or had) a history."""
    v = d.new("temp")
    items = f"list({h.items})"
    return d.pick(
        [f"print([{v}.requires_grad for {v} in {items}])"],
        [f"print(sum({v}.grad_fn is not None for {v} in {items}))"],
        [f"print([{v}.is_leaf for {v} in {items}])"],
        block(f"if {items}[-1].requires_grad:", ["print('learns')"]),
        [f"{items}[-1].register_hook(print)"],
        [f"print(type({items}[-1].grad_fn).__name__)"],
        [f"assert all({v}.grad_fn for {v} in {items})"],
        [f"print([{v} for {v} in {items} if {v}.requires_grad])"],
        [f"{items}[0].retain_grad()"],
        [f"print(len({{id({v}.grad_fn) for {v} in {items}}}))"],
    )


WAYS: dict[str, Way] = {
    "inline": inline,
    "helper": helper,
    "imported": imported,
    "inherited": inherited,
    "closure": closure,
    "lambda": lambda_,
    "partial": partial,
    "generator": generator,
    "method": method,
    "global": global_,
    "bound": bound,
    "returned": returned,
    "yielded": yielded,
    "grad": grad,
    "twice": twice,
    "some": some,
    "context": context,
}
